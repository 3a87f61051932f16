"""YAML bytes in, positioned nodes out.

Nodes keep the scalar as written, so that `1e-4`, `0.20` and `no` reach a text field unchanged, and every
node carries its own span, so that merging trees merges positions with them.
"""

from mlspec.source.composer import LINE_BREAK, MAX_DEPTH, MAX_FINDINGS, MAX_KEY, MAX_NODES, MAX_TEXT
from mlspec.source.nodes import Entry, Mapping, Node, PlainText, Scalar, Sequence, to_raw
from mlspec.source.reader import MAX_BYTES, is_binary, read

__all__ = [
    "LINE_BREAK",
    "MAX_BYTES",
    "MAX_DEPTH",
    "MAX_FINDINGS",
    "MAX_KEY",
    "MAX_NODES",
    "MAX_TEXT",
    "Entry",
    "Mapping",
    "Node",
    "PlainText",
    "Scalar",
    "Sequence",
    "is_binary",
    "read",
    "to_raw",
]
