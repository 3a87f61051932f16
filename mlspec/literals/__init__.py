"""Secrets that are written down: found in text by what they look like and by what they are called, and hidden.

Text in, findings out; nothing here knows a spec. A finding never holds the value, only where it stands and what kind of
secret it looks like. `places` finds what is to be refused, `redaction` what is to be hidden, which is more.
"""
