"""YAML bytes in, positioned nodes and findings out: what a spec may not use, and where each thing stands."""

from __future__ import annotations

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

from mlspec import source
from mlspec.diagnostics import Diagnostic, Span
from mlspec.source import Mapping, Node, Scalar, Sequence


def _read(text: str | bytes) -> tuple[list[Mapping], list[Diagnostic]]:
    return source.read("f.yaml", text.encode() if isinstance(text, str) else text)


def _raw(text: str) -> object:
    documents, diagnostics = _read(text)
    assert not diagnostics, diagnostics
    return source.to_raw(documents[0])


def _codes(text: str | bytes) -> list[str]:
    return [found.code for found in _read(text)[1]]


def _at(text: str, *path: str | int) -> Node:
    node: Node = _read(text)[0][0]
    for part in path:
        if isinstance(node, Mapping):
            node = node.entries[str(part)].value
        else:
            assert isinstance(node, Sequence)
            node = node.items[int(part)]
    return node


@pytest.mark.parametrize(
    "written", ["1e-4", "08", "007", "no", "off", "0o17", "=", "1:30", "0.20", "25921e05", "2026-01-01", "1_000", "é"]
)
def test_a_plain_scalar_keeps_its_text(written: str) -> None:
    assert _raw(f"a: {written}\n") == {"a": written}


@pytest.mark.parametrize(("written", "text"), [("'a''b'", "a'b"), (r'"a\tb"', "a\tb"), ('"no"', "no"), ("''", "")])
def test_a_quoted_scalar_is_unquoted_and_never_null(written: str, text: str) -> None:
    found = _at(f"a: {written}\n", "a")
    assert isinstance(found, Scalar)
    assert (found.text, found.plain, found.is_null) == (text, False, False)


@pytest.mark.parametrize("written", ["", "~", "null", "Null", "NULL"])
def test_null_is_none(written: str) -> None:
    assert _raw(f"a: {written}\n") == {"a": None}


def test_only_an_unquoted_scalar_is_plain() -> None:
    raw = _raw("a: 1\nb: '1'\n")
    assert isinstance(raw, dict)
    assert [isinstance(raw[key], source.PlainText) for key in "ab"] == [True, False]


def test_block_scalars_are_text() -> None:
    assert _raw("a: |\n  x: 1\n  y\nb: >-\n  one\n  two\n") == {"a": "x: 1\ny\n", "b": "one two"}


@pytest.mark.parametrize(
    ("path", "expected"),
    [
        (("a",), Span("f.yaml", 1, 4, 1, 7)),
        (("b", "c"), Span("f.yaml", 3, 6, 3, 9)),
        (("d", 1), Span("f.yaml", 4, 9, 4, 11)),
    ],
)
def test_positions(path: tuple[str | int, ...], expected: Span) -> None:
    assert _at('a: one\nb:\n  c: "x"\nd: [10, 20]\n', *path).span == expected


def test_a_key_has_its_own_position() -> None:
    document = _read("one:\n  two: 3\n")[0][0]
    inner = document.entries["one"].value
    assert isinstance(inner, Mapping)
    assert inner.entries["two"].key == Span("f.yaml", 2, 3, 2, 6)


def test_positions_count_characters_not_bytes() -> None:
    assert _at("é: ü\nb: {ß: x}\n", "b", "ß").span == Span("f.yaml", 2, 8, 2, 9)


@pytest.mark.parametrize("newline", ["\n", "\r\n", "\r"])
def test_line_endings(newline: str) -> None:
    text = newline.join(["a: 1", "b:", "  c: 2", ""])
    assert _at(text, "b", "c").span.line == 3


def test_a_byte_order_mark_is_no_text() -> None:
    documents, diagnostics = _read(b"\xef\xbb\xbfa: 1\n")
    assert not diagnostics
    assert documents[0].entries["a"].key == Span("f.yaml", 1, 1, 1, 2)


def test_documents() -> None:
    documents, diagnostics = _read("a: 1\n---\nb: 2\n...\n---\nc: 3\n")
    assert not diagnostics
    assert [source.to_raw(document) for document in documents] == [{"a": "1"}, {"b": "2"}, {"c": "3"}]


def test_a_syntax_error_ends_its_own_document_only() -> None:
    documents, diagnostics = _read("a: 1\n---\nb: [\n---\nc: 3\n---\nd: }\n---\ne: 5\n")
    assert [list(document.entries) for document in documents] == [["a"], ["c"], ["e"]]
    assert [(found.code, found.span.line) for found in diagnostics] == [("MLS101", 4), ("MLS101", 7)]
    assert documents[2].span.line == 9


def test_depth_ends_its_own_document_only() -> None:
    documents, diagnostics = _read("a: 1\n---\nb: " + "[" * 80 + "\n---\nc: 3\n")
    assert [list(document.entries) for document in documents] == [["a"], ["c"]]
    assert [(found.code, found.span.line) for found in diagnostics] == [("MLS108", 3)]


@pytest.mark.parametrize("depth", [source.MAX_DEPTH - 1, source.MAX_DEPTH, 1000])
def test_depth(depth: int) -> None:
    assert _codes("a: " + "[" * depth + "]" * depth) == ([] if depth < source.MAX_DEPTH else ["MLS108"])


@pytest.mark.parametrize(
    ("text", "codes"),
    [
        ("a: &x 1\n", ["MLS107"]),
        ("a: &x [1]\nb: *x\n", ["MLS107", "MLS107"]),
        ("a: *x\n", ["MLS107"]),
        ("a: {<<: {b: 1}}\n", ["MLS107"]),
        ("a: !!str 1\n", ["MLS107"]),
        ("a: !own {b: 1}\n", ["MLS107"]),
        ("1: a\n", ["MLS107"]),
        ("1.5: a\n", ["MLS107"]),
        ("true: a\n", ["MLS107"]),
        ("~: a\n", ["MLS107"]),
        ("[a]: b\n", ["MLS107"]),
        ("? {a: b}\n: c\n", ["MLS107"]),
        ("*x : a\n", ["MLS107"]),
        ("a: 1\na: 2\n", ["MLS106"]),
        ("a: {b: 1, 'b': 2}\n", ["MLS106"]),
        ("<<<<<<< HEAD\na: 1\n", ["MLS101"]),
        ("a: 1\n=======\nb: 2\n", ["MLS101"]),
        ("a: 1\n>>>>>>> other\n", ["MLS101"]),
        ("\ta: 1\n", ["MLS101"]),
        ("a: b: c\n", ["MLS101"]),
        ("a: @b\n", ["MLS101"]),
        ("a: 'b\n", ["MLS101"]),
        ('a: "\\ud800"\n', ["MLS101"]),
        ("", ["MLS110"]),
        ("# only a comment\n", ["MLS110"]),
        ("---\n", ["MLS110"]),
        ("a: 1\n---\n", ["MLS110"]),
        ("- a\n", ["MLS104"]),
        ("text\n", ["MLS104"]),
        (b"a: \x00\n", ["MLS109"]),
        (b"a: \x1b[0m\n", ["MLS109"]),
        (b"a: \xff\n", ["MLS109"]),
        (b"\xff\xfea\x00", ["MLS109"]),
        (b"a: \xed\xa0\x80\n", ["MLS109"]),
        (b"a: " + b"x" * source.MAX_BYTES, ["MLS108"]),
    ],
)
def test_refused(text: str | bytes, codes: list[str]) -> None:
    assert _codes(text) == codes


@pytest.mark.parametrize("key", ["no", "off", "yes", "y", "null-model", "'1'", '"true"', "=", "<"])
def test_keys_that_are_text(key: str) -> None:
    assert not _codes(f"{key}: a\n")


def test_the_first_of_two_keys_is_kept() -> None:
    assert source.to_raw(_read("a: 1\na: 2\n")[0][0]) == {"a": "1"}


@pytest.mark.parametrize(
    ("text", "line", "column"),
    [
        ("a: [1, 2\nb: 3\n", 2, 2),
        ("a: {b: 1\n", 1, 4),
        ('a: "b\nc: d\n', 1, 4),
        ("a\nb: 1\n", 2, 2),
        ("x: 1\na\nb:\n  c: 1\n", 2, 1),
        ("a: [", 1, 5),
        ("a: *.csv\n", 1, 4),
        ("a: 1\n\tb: 2\n", 2, 1),
        ("a: x: y\n", 1, 5),
        ("a: {b: c: d}\n", 1, 9),
        ("a: %x\n", 1, 4),
        ("a: - b\n", 1, 4),
    ],
)
def test_a_syntax_error_points_at_what_must_be_mended(text: str, line: int, column: int) -> None:
    (found,) = _read(text)[1]
    assert (found.code, found.span.line, found.span.column) == ("MLS101", line, column)
    assert found.help


def test_too_many_values() -> None:
    assert _codes("a: [" + "1," * source.MAX_NODES + "]\n") == ["MLS108"]


def test_too_many_documents_and_findings() -> None:
    assert _codes("---\na: 1\n" * 1100)[-1] == "MLS108"
    assert len(_codes("a: 1\n" * 10_000)) == 9_999
    assert _codes("a: 1\n" * 15_000)[-1] == "MLS108"


# What nobody writes by hand, and everybody's editor produces some day.
_noise = st.text(alphabet=st.sampled_from("[]{}:,-#&*!|>'\"%@`? \n\tab1~<"), max_size=60)


@settings(max_examples=300, deadline=None)
@given(_noise)
def test_any_text_is_read_or_refused(text: str) -> None:
    documents, diagnostics = _read(text)
    assert documents or diagnostics
    lines = source.LINE_BREAK.split(text)
    for found in diagnostics:
        assert 1 <= found.span.line <= len(lines)
        assert 1 <= found.span.column <= len(lines[found.span.line - 1]) + 1
        assert "yaml." not in found.message


@settings(max_examples=200, deadline=None)
@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused(data: bytes) -> None:
    documents, diagnostics = _read(data)
    assert documents or diagnostics


_values = st.recursive(
    st.text(alphabet="ab 1:#'\"\n-é", max_size=8) | st.none(),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text("abc", min_size=1, max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@settings(max_examples=100, deadline=None)
@given(st.dictionaries(st.text("abc", min_size=1, max_size=3), _values, min_size=1, max_size=3), st.booleans())
def test_what_pyyaml_writes_is_read_back(value: dict[str, object], flow: bool) -> None:
    text = yaml.safe_dump(value, default_flow_style=flow, allow_unicode=True)
    if "&" not in text:
        assert _raw(text) == value
