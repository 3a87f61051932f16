"""Text of a container on this computer: `$(NAME)` as Kubernetes expands it, paths below mounts exchanged."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlspec.local.words import Places, expanded

_KNOWN = {"RUN": "/here/run", "EMPTY": "", "DOLLAR": "$(RUN)"}
_PLACES = Places({"/data": "/here/volumes/data", "/data/raw": "/here/raw", "/models/": "/here/volumes/models"})


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("$(RUN)/x", "/here/run/x"),
        ("a$(RUN)b$(EMPTY)c", "a/here/runbc"),
        ("$$(RUN)", "$(RUN)"),
        ("$$$(RUN)", "$/here/run"),
        ("$(UNKNOWN)", "$(UNKNOWN)"),
        ("$(DOLLAR)", "$(RUN)"),
        ("$RUN ${RUN} $", "$RUN ${RUN} $"),
        ("$(RUN", "$(RUN"),
    ],
)
def test_expansion(written: str, found: str) -> None:
    """The cases of expand_test.go of k8s.io/kubernetes that a program's words may hold."""
    assert expanded(written, _KNOWN) == found


@pytest.mark.parametrize(
    ("written", "found"),
    [
        ("/data", "/here/volumes/data"),
        ("/data/x.csv", "/here/volumes/data/x.csv"),
        ("/data/raw/x", "/here/raw/x"),
        ("--out=/models/a", "--out=/here/volumes/models/a"),
        ("/data:/models", "/here/volumes/data:/here/volumes/models"),
        ("/database", "/database"),
        ("/data-2", "/data-2"),
        ("/data.old/x", "/data.old/x"),
        ("/other/data/x", "/other/data/x"),
        ("s3://data/x", "s3://data/x"),
        ("~/data", "~/data"),
        ("data/x", "data/x"),
    ],
)
def test_places(written: str, found: str) -> None:
    assert _PLACES.here(written) == found


def test_what_is_put_in_is_neither_exchanged_nor_expanded() -> None:
    """A root may itself lie below a folder that is called like a mount, or hold a `$(`."""
    places = Places({"/data": "/data/$(RUN)/volumes"})
    assert expanded(places.here("/data/x"), _KNOWN) == "/data/$(RUN)/volumes/x"


@given(st.text(alphabet="$()RUNx/", max_size=12))
def test_without_references_nothing_changes(written: str) -> None:
    doubled = written.replace("$", "$$")
    assert expanded(doubled, _KNOWN) == written
    assert Places({}).here(written) == written
