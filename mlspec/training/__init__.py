"""Reference programs of the living example: they run in pods, import nothing of mlspec, and nothing imports them."""
