"""How fast mlspec is: corpora, a plain program to compare with, and the table of the README (`make bench`)."""
