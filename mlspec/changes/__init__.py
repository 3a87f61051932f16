"""Two plans with their objects in, what is different by meaning out: frozen values, no I/O, no words for people.

One module a subject. Every object that differs is in one of the subjects, or counted among the others: where nothing
is reported, nothing differs.
"""
