"""Files in memory and files on disk: what differs, and how one becomes the other."""
