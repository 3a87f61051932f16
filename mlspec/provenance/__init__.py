"""Provenance: a field of a manifest in, the field of the spec that makes it out.

What a value comes from is stated in tables, one a kind of object, and looked up only where there is a finding. That no
field is forgotten, tests/test_provenance.py shows: it changes every field that is written, and asks the tables about
everything that changes in the manifests.
"""

from mlspec.ir_sources import Source
from mlspec.provenance.origins import Found, find, origin
from mlspec.provenance.pointing import Seen, is_about, made_by, once, seen, span
from mlspec.provenance.view import Origin, Path, View

__all__ = [
    "Found",
    "Origin",
    "Path",
    "Seen",
    "Source",
    "View",
    "find",
    "is_about",
    "made_by",
    "once",
    "origin",
    "seen",
    "span",
]
