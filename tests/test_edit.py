"""Edits in place: one text set, every other byte kept, and refused where that cannot be.

A case in `tests/promotions/<case>/` is before.yaml and after.yaml, and pin.txt where it is not the usual pin: document,
path and value.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mlspec import source
from mlspec.source.edit import CannotEditError, set_text
from tests.pages import Page, pages
from tests.support import check_golden

_FOLDER = Path(__file__).parent / "promotions"
CASES = sorted(path.name for path in _FOLDER.iterdir())
_PATH = ("environments", "prod", "services", "classifier", "model", "run")
_HASH = "0123abcd"
_HEAD = b"apiVersion: mlspec.dev/v1alpha1\nname: demo\n"
_BREAK = re.compile(rb"\r\n|\r|\n")
_NUMBERS = ("00000123", "12345678", "1e234567", "0123e456", "0b010101", "00000000", "99999999", "0e000000")
_WORDS = ("0123abcd", "abcdefab", "e1234567", "0b012345", "1e23456a", "00000e0f", "deadbeef")


def _pin(case: str) -> tuple[int, tuple[str, ...], str]:
    path = _FOLDER / case / "pin.txt"
    if not path.exists():
        return 0, _PATH, _HASH
    document, dotted, value = path.read_text().split()
    return int(document), tuple(dotted.split(".")), value


def _merged(tree: Any, path: tuple[str, ...], value: str) -> Any:
    """Return data with one text set; maps that are missing, or nothing, are added."""
    if not path:
        return value
    return {**(tree or {}), path[0]: _merged((tree or {}).get(path[0]), path[1:], value)}


def _strange(text: str) -> bool:
    """Say whether YAML 1.2 or Go (which takes prefixes and a leading zero) could read bare text as a number."""
    core = r"[-+]?[0-9]+|0o[0-7]+|0x[0-9a-fA-F]+|[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?"
    return re.fullmatch(core + r"|0b[01_]+|[0-9_]+", text) is not None


@pytest.mark.parametrize("case", CASES)
def test_case(case: str, update_golden: bool) -> None:
    document, path, value = _pin(case)
    before = (_FOLDER / case / "before.yaml").read_bytes()
    after = set_text("mlproject.yaml", before, document, path, value).decode()
    check_golden(_FOLDER / case / "after.yaml", after, update=update_golden)
    # PyYAML is the second opinion: it knows nothing of our reader.
    meant = list(yaml.safe_load_all(before))
    meant[document] = _merged(meant[document], path, value)
    found = list(yaml.safe_load_all(after))
    assert found == meant
    assert [list(tree) for tree in found] == [list(tree) for tree in meant]
    comments = re.compile(r"#.*")
    assert sorted(comments.findall(after)) == sorted(comments.findall(before.decode()))


@pytest.mark.parametrize("case", CASES)
def test_a_second_edit_changes_the_value_alone(case: str) -> None:
    document, path, value = _pin(case)
    once = set_text("f", (_FOLDER / case / "before.yaml").read_bytes(), document, path, value)
    assert set_text("f", once, document, path, value) == once
    other = "feedbeef"
    twice = set_text("f", once, document, path, other)
    assert twice.replace(other.encode(), value.encode()) == once


@pytest.mark.parametrize("line_break", ["\n", "\r\n", "\r"])
@pytest.mark.parametrize("begin", ["", "\ufeff"])
@pytest.mark.parametrize("end", ["", "\n", "\n\n", " # end"])
def test_line_breaks_marks_and_ends_are_kept(line_break: str, begin: str, end: str) -> None:
    pin = f"environments:\n  prod:\n    services:\n      classifier:\n        model:\n          run: {_HASH}"
    # A comment beside the last entry stays there; empty lines at the end stay at the end.
    beside, behind = (end, "") if end.startswith(" ") else ("", end)
    before = f"{begin}name: é😀\nservices: {{}}{beside}{behind}".replace("\n", line_break)
    after = f"{begin}name: é😀\nservices: {{}}{beside}\n{pin}{behind}".replace("\n", line_break)
    assert set_text("f", before.encode(), 0, _PATH, _HASH).decode() == after


@pytest.mark.parametrize("value", [*_NUMBERS, *_WORDS])
def test_a_hash_is_text_to_every_reader(value: str) -> None:
    for before in (b"", b"environments: {prod: {services: {classifier: {model: {run: 9999aaaa}}}}}\n"):
        after = set_text("f", _HEAD + before, 0, _PATH, value).decode()
        loaded = yaml.safe_load(after)
        assert loaded["environments"]["prod"]["services"]["classifier"]["model"]["run"] == value
        quoted = f'run: "{value}"' in after
        assert quoted == _strange(value)
        assert quoted == (value in _NUMBERS)


_BLOCK = "environments:\n  prod:\n    services:\n      classifier:\n        model:\n          run: |\n            x\n"
_MAP = "environments: {prod: {services: {classifier: {model: {run: {a: b}}}}}}\n"
_REFUSED = {
    "a block of text": (_BLOCK, "the value is a block of text"),
    "a list on the way": ("environments: [prod]\n", "`environments` is not a map"),
    "a text on the way": ("environments: {prod: small}\n", "`environments.prod` is not a map"),
    "a map as the value": (_MAP, "`environments.prod.services.classifier.model.run` is not a text"),
    "text without an end": ("environments:\n  prod:\n    owner: |\n      x", "would not read back"),
    "not YAML": ("environments: {\n", "not closed"),
    "a conflict": ("<<<<<<< HEAD\nowner: a\n=======\nowner: b\n>>>>>>> b\n", "merge conflict"),
    "a key without a colon": ("environments:\n  ? prod\n", "would not read back"),
}


@pytest.mark.parametrize("case", _REFUSED)
def test_what_cannot_be_done_in_place_is_refused(case: str) -> None:
    page, reason = _REFUSED[case]
    with pytest.raises(CannotEditError) as refused:
        set_text("f", _HEAD + page.encode(), 0, _PATH, _HASH)
    assert reason in refused.value.reason
    assert refused.value.span.file == "f"
    assert refused.value.span.line > 2


def test_a_file_that_would_be_too_large_is_refused() -> None:
    page = _HEAD + b"#" * (source.MAX_BYTES - len(_HEAD) - 1) + b"\n"
    with pytest.raises(CannotEditError, match="larger than"):
        set_text("f", page, 0, _PATH, _HASH)


def _plain(raw: object) -> object:
    """Return what the reader gave without what it knows of quotes."""
    if isinstance(raw, dict):
        return {key: _plain(value) for key, value in raw.items()}
    return [_plain(item) for item in raw] if isinstance(raw, list) else str(raw) if raw is not None else None


@given(page=pages(), value=st.sampled_from([*_NUMBERS, *_WORDS]))
def test_any_page_is_edited_in_place(page: Page, value: str) -> None:
    before = page.text.encode()
    after = set_text("f", before, page.document, page.path, value)
    documents, findings = source.read("f", after)
    assert not findings
    meant = list(page.trees)
    meant[page.document] = _merged(meant[page.document], page.path, value)
    assert [_plain(source.to_raw(tree)) for tree in documents] == meant
    old, new = _lines(before), _lines(after)
    assert len(_lost(old, new)) <= 1
    assert len(new) <= len(old) + len(page.path) + 1
    assert set(_BREAK.findall(after)) <= (set(_BREAK.findall(before)) or {b"\n"})
    for comment in page.comments:
        assert [line.endswith(comment.encode()) for line in new].count(True) == 1


def _lines(text: bytes) -> list[bytes]:
    return _BREAK.split(text)


def _lost(old: list[bytes], new: list[bytes]) -> list[bytes]:
    """Return the lines that are not there any more, in the order that they had."""
    lost, at = [], 0
    for line in old:
        if line in new[at:]:
            at = new.index(line, at) + 1
        else:
            lost.append(line)
    return lost
