"""docs/spec.md is what the models say, and the models say everything about every field."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from pydantic import TypeAdapter

from mlspec.all_kinds import KINDS
from mlspec.diagnostics import has_errors
from mlspec.reference.fields import Definition, definitions, pairs
from mlspec.reference.page import page
from mlspec.reference.words import default_words, example_lines, type_words, yaml
from mlspec.source import read, to_raw
from mlspec.spec.environment import Environment
from mlspec.spec.json_schema import environment_schema, project_schema
from mlspec.spec.load import load
from mlspec.spec.project import Project
from tests.support import REPOSITORY, make_root, mlspec

_ALL = definitions()
_IDS = [f"{definition.owner.__name__}.{definition.name}" for definition in _ALL]
# Its type is what remains of an override when the project's own fields have been taken out of it.
_OVERRIDES = "environments"


def test_the_page_is_current(tmp_path: Path) -> None:
    result = mlspec(tmp_path, "explain", "--reference")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout == (REPOSITORY / "docs" / "spec.md").read_text(), (
        "run `mlspec explain --reference > docs/spec.md`"
    )


@pytest.mark.parametrize("definition", _ALL, ids=_IDS)
def test_every_field_says_everything(definition: Definition) -> None:
    assert definition.meaning, "what does it mean?"
    assert definition.goes, "where does it go?"
    assert definition.examples, "what does it look like?"
    assert type_words(definition.type)
    assert default_words(definition)
    assert "\n" not in definition.meaning + definition.goes
    assert not definition.goes.endswith(".")
    assert definition.meaning.endswith((".", "…")), definition.meaning


@pytest.mark.parametrize("definition", _ALL, ids=_IDS)
def test_every_example_is_what_the_field_takes(definition: Definition) -> None:
    for line in example_lines(definition):
        documents, findings = read("example", f"{line}\n".encode())
        assert not findings, line
        raw = to_raw(documents[0])
        assert isinstance(raw, dict)
        if definition.name == _OVERRIDES:
            continue
        name = definition.uses[0].path[-1]
        TypeAdapter(definition.type).validate_python(raw if name.startswith("<") else raw[name])


def test_the_example_of_overrides_is_one(tmp_path: Path) -> None:
    (definition,) = (found for found in _ALL if found.name == _OVERRIDES)
    project = "steps: {train: {kind: pytorch, image: i}}\n" + example_lines(definition)[0] + "\n"
    environment = (REPOSITORY / "environments" / "common.yaml").read_text()
    workspace = load(make_root(tmp_path, project, {"dev": environment, "staging": environment}))
    assert not has_errors(workspace.diagnostics)
    assert list(workspace.projects[0].variants) == ["dev"]


@pytest.mark.parametrize("definition", _ALL, ids=_IDS)
def test_an_example_is_not_the_default(definition: Definition) -> None:
    """What may be left out teaches nothing."""
    assert [f"`{yaml(example)}`" for example in definition.examples] != [default_words(definition)]


def test_examples_are_for_editors_and_places_are_not() -> None:
    for schema in (project_schema(), environment_schema()):
        text = json.dumps(schema, ensure_ascii=False)
        assert '"goes"' not in text
        assert "always written" not in text
        described = [node for node in _nodes(schema) if "description" in node and "const" not in node]
        assert sum("examples" in node for node in described) > len(described) / 2


def _nodes(node: object) -> list[dict[str, object]]:
    if isinstance(node, dict):
        return [node, *(found for value in node.values() for found in _nodes(value))]
    return [found for value in node for found in _nodes(value)] if isinstance(node, list) else []


def test_every_field_of_the_schemas_is_explained() -> None:
    """A model that the walk does not reach would be missing from the page without a word."""
    written = {part for _, use in pairs() for part in use.path}
    for schema in (project_schema(), environment_schema()):
        for node in _nodes(schema):
            properties = node.get("properties", {})
            assert isinstance(properties, dict)
            assert set(properties) <= written


def test_every_field_has_a_row() -> None:
    text = page()
    rows = [line for line in text.splitlines() if line.startswith("| `")]
    assert len(rows) == len(_ALL) + 1  # and the row that explains placeholders
    for row in rows:
        assert len(re.findall(r"(?<!\\)\|", row)) in (3, 7, 8), row


def test_every_kind_has_a_section_and_only_landed_kinds_have() -> None:
    text = page()
    assert re.findall(r"^### kind: (.*)$", text, re.MULTILINE) == sorted(
        KINDS, key=lambda tag: (tag in _serving(), tag)
    )
    for kind in KINDS.values():
        assert f"Becomes: {kind.GVK.kind} of {kind.GVK.api_version}." in text


def _serving() -> set[str]:
    return {use.kind for _, use in pairs() if use.path[0] == "services" and use.kind}


def test_every_field_of_the_models_is_walked() -> None:
    top = {(model, name) for model in (Project, Environment) for name in model.model_fields}
    found = {(model, definition.name) for definition in _ALL for model in (Project, Environment)
             if issubclass(model, definition.owner)}  # fmt: skip
    assert found == top
    for kind in KINDS.values():
        names = {definition.name for definition in _ALL if issubclass(kind.SPEC, definition.owner)}
        assert names == set(kind.SPEC.model_fields)


def test_the_readme_leads_to_the_page() -> None:
    assert "(docs/spec.md)" in (REPOSITORY / "README.md").read_text()
