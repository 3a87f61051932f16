"""The emitter and the reader of generated YAML, value by value; law 3 at large is in test_laws_strings.py."""

from __future__ import annotations

from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mlspec import yamltext


@pytest.mark.parametrize(
    ("value", "written"),
    [
        ("abc", "abc"),
        ("/opt/train.py", "/opt/train.py"),
        ("ghcr.io/acme/train:1.0@sha256:0a", "ghcr.io/acme/train:1.0@sha256:0a"),
        ("a b", '"a b"'),
        ("", '""'),
        ("no", '"no"'),
        ("Off", '"Off"'),
        ("1e3", '"1e3"'),
        ("a:", '"a:"'),
        ('say "hi" \\', '"say \\"hi\\" \\\\"'),
        ("\ttab\r\x01\x85\u2028\ufeff", '"\\ttab\\r\\x01\\x85\\u2028\\ufeff"'),
        ("é 😀", '"é 😀"'),
        (True, "true"),
        (False, "false"),
        (0, "0"),
        (-5, "-5"),
        ({}, "{}"),
        ([], "[]"),
    ],
)
def test_scalar(value: object, written: str) -> None:
    assert yamltext.scalar(value) == written


@pytest.mark.parametrize("value", [None, 1.5, {"a": 1}, [1], (), b"x", object()])
def test_what_a_manifest_never_holds_is_refused(value: object) -> None:
    with pytest.raises(TypeError, match="a manifest holds no"):
        yamltext.scalar(value)


def test_a_document_reads_like_a_manifest() -> None:
    body = {
        "kind": "Job",
        "spec": {
            "args": ["a", "no", "two\nlines\n", ["x", ["z"]]],
            "containers": [{"name": "main", "env": [{"name": "A", "value": "1"}]}, {}],
            "script": "#!/bin/sh\nset -e\n\necho '$1'  \nexit",
            "selector": {},
        },
    }
    assert yamltext.dump(body) == (
        "kind: Job\n"
        "spec:\n"
        "  args:\n"
        "  - a\n"
        '  - "no"\n'
        "  - |\n"
        "    two\n"
        "    lines\n"
        "  - - x\n"
        "    - - z\n"
        "  containers:\n"
        "  - name: main\n"
        "    env:\n"
        "    - name: A\n"
        '      value: "1"\n'
        "  - {}\n"
        "  script: |-\n"
        "    #!/bin/sh\n"
        "    set -e\n"
        "\n"
        "    echo '$1'  \n"
        "    exit\n"
        "  selector: {}\n"
    )


def test_documents_are_separated() -> None:
    assert yamltext.dump({}) == "{}\n"
    assert yamltext.dump_all([]) == ""
    assert yamltext.dump_all([{"a": 1}, {"b": 2}]) == "a: 1\n---\nb: 2\n"
    assert yamltext.dump_item({"op": "test", "value": ["x"]}) == "- op: test\n  value:\n  - x\n"


@pytest.mark.parametrize("text", ["a\nb\r\n", "a\n\x01", "\n", " a\nb", "a\n\n", "a\n\tb", "a\n\u2028", "a\nb\x85"])
def test_text_that_a_block_would_change_is_quoted(text: str) -> None:
    written = yamltext.dump({"a": text})
    assert written.startswith('a: "')
    assert yaml.safe_load(written) == {"a": text}


@pytest.mark.parametrize("length", [999, 1000, 1001, 1025, 5000])
@pytest.mark.parametrize("value", ["x", {"a": 1}, ["x", {"b": "two\nlines"}], {}, [], 3, "two\nlines"])
def test_a_long_key_is_written_in_its_explicit_form(length: int, value: Any) -> None:
    for key in ("k" * length, "é" * length, " " * length):
        document = {"before": 1, key: value, "after": [{key: value, "x": 1}]}
        assert yamltext.load_all(yamltext.dump(document)) == [document]


@given(st.dictionaries(st.text(), st.integers() | st.booleans() | st.none() | st.floats(), min_size=1))
def test_a_document_is_read_back_or_refused(document: dict[str, Any]) -> None:
    fits = all(value is not None and not isinstance(value, float) for value in document.values())
    if fits:
        assert yamltext.load_all(yamltext.dump(document)) == [document]
    else:
        with pytest.raises(TypeError):
            yamltext.dump(document)


def test_the_order_of_keys_is_kept() -> None:
    assert list(yamltext.load_all(yamltext.dump({"b": 1, "a": 2}))[0]) == ["b", "a"]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("a: =", {"a": "="}),
        ("a: <<", {"a": "<<"}),
        ("<<: {b: 1}", {"<<": {"b": 1}}),
        ("a: 2026-11-30", {"a": "2026-11-30"}),
        ("a: 2026-11-30T12:00:00Z", {"a": "2026-11-30T12:00:00Z"}),
        ('a: "08"', {"a": "08"}),
        ("a: 8", {"a": 8}),
        ("a: null", {"a": None}),
    ],
)
def test_what_kustomize_leaves_bare_is_read_as_text(text: str, value: object) -> None:
    assert yamltext.load_all(text) == [value]


def test_empty_documents_are_passed_over() -> None:
    assert yamltext.load_all("---\na: 1\n---\n---\n# nothing\n") == [{"a": 1}]
    assert yamltext.load_all("") == []


@pytest.mark.parametrize(
    "text",
    [
        "a: &x 1\nb: *x\n",
        "a: &x [b]\nc: {d: *x}\n",
        "a: &x {b: *x}\n",
        "a: &a [x, x]\nb: &b [*a, *a]\nc: &c [*b, *b]\nd: [*c, *c]\n",
        "a: !!python/object:os.system x\n",
        "a: [",
        "a: b: c",
        "\x01",
    ],
)
def test_what_mlspec_never_writes_is_refused(text: str) -> None:
    with pytest.raises(yaml.YAMLError):
        yamltext.load_all(text)
