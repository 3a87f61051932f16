"""Differences in, text, Markdown or JSON out."""
