"""Hostile specs without end: `python -m tests.fuzz --count 100000` changes known ones at random and reads each.

`corpus/` holds the specs to begin with, each named by what it is about, and every input that ever failed.
"""
