"""Law 3, a string stays a string: through our text, PyYAML, kustomize, and from a spec to the built overlay."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from mlspec import yamltext
from mlspec.check import tools
from tests.flow import MISLEADING, UNFIT, Plain, characters, to_yaml
from tests.support import ENVIRONMENT, IDENTITY, make_root, mlspec

_WORDS = (Path(__file__).parent / "nasty.txt").read_text().splitlines()
_SPACED = [
    "", " ", "  ", " a", "a ", "\ta", "a\t", "a\tb", "# x", "a #x", "a # x", "a: b", "- a", "? a", ": a",
    "{a: b}", "[a, b]", "! t", "& a", "\n", "\n\n", "a\n", "\na", "a\nb", "a\nb\n", "a\n\n", "a\n\n\nb\n\n",
    " a\nb", "a\n b", "a\n  b\n c\n", "a \nb", "a\n ", "a\n \n", "a\n\t", "a\n\tb", "\ta\nb", "---\na",
    "a\n---\nb", "a\n...\n", "# a\nb", "- a\n- b\n", "a: b\nc: d", "a\r\nb", "a\rb", "a\r\n", "\r", "a\u2028b",
    "a\u2029b", "\u2028", "a\ufeffb", "\ufeff", "a\xa0b", "\xa0", "\x01", "\x07\x08", "\x1b[31m", "a\x0cb",
    "a\x0bb", "\u200b", "\xad", "\ue000", "\U0010ffff", "é\n日本\n", "|\n  a\n", ">-\na", "'", "''", '"', '""',
    "'a", '"a', "\\", "a\\", "\\\n", "x" * 5000, "x " * 2000, "y\n" * 500, "🙂" * 300, "a" * 1023 + ":",
    "%YAML 1.1",
]  # fmt: skip
NASTY = list(dict.fromkeys([*_WORDS, *_SPACED]))
_IN_SPECS = [text for text in NASTY if not MISLEADING & set(text)]
_FRAME: dict[str, Any] = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "nasty"}}
values = st.recursive(
    st.text(characters) | st.sampled_from(NASTY) | st.integers(-(2**63), 2**63 - 1) | st.booleans(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text() | st.sampled_from(NASTY), inner, max_size=4),
    max_leaves=12,
)
documents = st.dictionaries(st.text() | st.sampled_from(NASTY), values, max_size=5)


def exact(left: object, right: object) -> bool:
    """Say whether two values are equal in value and type, to the leaves, in order."""
    return json.dumps(left) == json.dumps(right)


def build(folder: Path, *bodies: dict[str, Any]) -> list[Any]:
    """Return what kustomize makes of some objects."""
    tool = tools.find_kustomize()
    assert tool is not None, "tests need the extra `kustomize`"
    (folder / "resources.yaml").write_text(yamltext.dump_all(bodies))
    (folder / "kustomization.yaml").write_text("resources: [resources.yaml]\n")
    result = tools.run([*tool.prefix, str(folder)])
    assert result.returncode == 0, result.stderr
    return yamltext.load_all(result.stdout)


def test_there_are_enough_nasty_strings() -> None:
    assert len(NASTY) > 200


@pytest.mark.parametrize("loader", [yaml.CSafeLoader, yaml.SafeLoader])
def test_pyyaml_reads_values_keys_and_items(loader: type[yaml.SafeLoader]) -> None:
    document = {
        "values": {f"k{i}": text for i, text in enumerate(NASTY)},
        "keys": dict.fromkeys(NASTY, 1),
        "items": NASTY,
    }
    text = yamltext.dump(document)
    assert exact(yaml.load(text, loader), document)  # noqa: S506  # both are safe loaders
    assert exact(yamltext.load_all(text), [document])


def test_kustomize_reads_values_keys_and_items(tmp_path: Path) -> None:
    """Keys go through an annotation-like map of a custom resource, which kustomize does not restrict."""
    data = {f"k{index:03}": text for index, text in enumerate(NASTY)}
    custom = {"apiVersion": "example.com/v1", "kind": "Any", "metadata": {"name": "nasty"}}
    # Two keys kustomize loses, neither of which the API would take: "<<", and one of more than 1024 characters.
    keys = {key: "x" for key in NASTY if key != "<<" and len(key) < 1000}
    built = build(tmp_path, {**_FRAME, "data": data}, {**custom, "spec": {"keys": keys, "items": NASTY}})
    assert {body["kind"]: body for body in built} == {
        "ConfigMap": {**_FRAME, "data": data},
        "Any": {**custom, "spec": {"keys": keys, "items": NASTY}},
    }


@given(documents)
def test_any_document_comes_back(document: dict[str, Any]) -> None:
    text = yamltext.dump(document)
    assert exact(yaml.load(text, yaml.CSafeLoader), document)
    assert exact(yamltext.load_all(yamltext.dump_all([document, document])), [document, document])
    item = yaml.load(yamltext.dump_item({"a": document}), yaml.CSafeLoader)
    assert exact(item, [{"a": document}])


@given(st.text(characters))
def test_any_text_comes_back(text: str) -> None:
    for document in ({"a": text}, {"a": [text]}, {"a": {"b": text, text: "c"}}, {text: [[text], {"x": text}]}):
        assert yaml.load(yamltext.dump(document), yaml.CSafeLoader) == document
        assert yaml.load(yamltext.dump(document), yaml.SafeLoader) == document


def test_any_text_comes_back_through_kustomize(tmp_path: Path) -> None:
    """One build for many random strings, values and list items."""
    found: list[str] = []

    @given(st.lists(st.text(characters, min_size=1), min_size=20, max_size=30))
    def collect(texts: list[str]) -> None:
        found.extend(texts)

    collect()
    data = {f"k{index}": text for index, text in enumerate(dict.fromkeys(found))}
    [built] = build(tmp_path, {**_FRAME, "data": data})
    assert len(data) > 300
    assert built["data"] == data


def _through(root: Path, environment: str) -> tuple[list[str], dict[str, str]]:
    tool = tools.find_kustomize()
    assert tool is not None
    result = tools.run([*tool.prefix, str(root / "generated/demo/overlays" / environment)])
    assert result.returncode == 0, result.stderr
    [job] = [body for body in yamltext.load_all(result.stdout) if body["kind"] == "Job"]
    container = job["spec"]["template"]["spec"]["containers"][0]
    variables = {entry["name"]: entry.get("value", "") for entry in container["env"] if entry["name"] not in IDENTITY}
    assert variables.pop("MLSPEC_RUN") == job["metadata"]["name"]
    return container["args"], variables


def _plain(text: str) -> bool:
    """Say whether YAML reads the text without quotes as it is, inside a flow map."""
    try:
        [node] = [e for e in yaml.parse("{a: " + text + "}", yaml.CSafeLoader) if isinstance(e, yaml.ScalarEvent)][1:]
    except (yaml.YAMLError, ValueError):
        return False
    return not node.style and node.value == text and text not in ("", "~", "null", "Null", "NULL", "true", "false")


def test_arguments_and_variables_reach_the_overlay(tmp_path: Path) -> None:
    """Quoted, and without quotes where YAML allows it, since text fields take the scalar as written."""
    # Ends of lines that only some programs see, and marks that nobody does, are written as escapes alone.
    bare = [text for text in _IN_SPECS if _plain(text) and not set("\u2028\u2029\ufeff") & set(text)]
    written = [*_IN_SPECS, *map(Plain, bare)]
    assert sum(isinstance(text, Plain) for text in written) > 100
    variables = {f"V{index}": text for index, text in enumerate(written)}
    step = {"kind": "job", "image": "python:3.12-slim", "args": written, "env": variables}
    root = make_root(tmp_path, "steps: " + to_yaml({"a": step}))
    result = mlspec(root, "generate")
    assert result.code == 0, result.output
    assert _through(root, "dev") == (written, variables)


def test_flags_reach_the_overlay(tmp_path: Path) -> None:
    flags = {f"f{index}": text for index, text in enumerate(_IN_SPECS)} | {
        "yes": True,
        "no": False,
        "lr": Plain("1e-4"),
    }
    step = {"kind": "job", "image": "python:3.12-slim", "args": flags, "env": {"X": "1"}}
    root = make_root(tmp_path, "steps: " + to_yaml({"a": step}))
    assert mlspec(root, "generate").code == 0
    words = [word for index, text in enumerate(_IN_SPECS) for word in (f"--f{index}", text)]
    assert _through(root, "dev")[0] == [*words, "--yes", "--lr", "1e-4"]


@pytest.mark.parametrize("character", ["\x7f", "\x85", "\x9f", "\ufffe", "\uffff"])
def test_what_kustomize_cannot_carry_is_an_error(character: str, tmp_path: Path) -> None:
    assert character in UNFIT
    step = {"kind": "job", "image": "python:3.12-slim", "args": [f"a{character}b"]}
    result = mlspec(make_root(tmp_path, "steps: " + to_yaml({"a": step}), {"dev": ENVIRONMENT}), "check")
    assert result.code == 1
    assert "error[" in result.stdout
