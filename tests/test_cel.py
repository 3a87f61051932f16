"""Rules in CEL, without a server: tests/cluster/test_cel.py holds each of these verdicts against the real one."""

from __future__ import annotations

import builtins
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from mlspec.validation import cel, structure
from mlspec.validation.cel import evaluate, text, values
from mlspec.validation.lists import judge_by as lists_of
from mlspec.validation.objection import Objection
from mlspec.validation.structure import Structure
from tests.cluster.rules import functions

_CASES = [(name, row, value) for name, row in functions.ROWS.items() for value in row["values"]]


def _structure(rule: dict[str, Any] | str, schema: dict[str, Any]) -> Structure:
    field = {**schema, "x-kubernetes-validations": [rule if isinstance(rule, dict) else {"rule": rule}]}
    return structure.of({"type": "object", "properties": {"spec": field}})


def _judged(rule: dict[str, Any] | str, schema: dict[str, Any], value: Any) -> list[Objection]:
    return list(cel.judge_by(_structure(rule, schema), {"spec": value}))


@pytest.mark.parametrize(("name", "row", "value"), _CASES, ids=[f"{name}-{value!r}" for name, _, value in _CASES])
def test_verdicts(name: str, row: dict[str, Any], value: Any) -> None:
    its = _structure(row["rule"], row["schema"])
    refused = [*cel.judge_by(its, {"spec": value}), *lists_of(its, {"spec": value})]
    assert bool(refused) == any(value == bad and type(value) is type(bad) for bad in row["refused"]), refused


_PAIR = {"type": "object", "properties": {"a": {"type": "string"}, "b": {"type": "integer"}}}


def test_the_message_is_the_definitions_own_at_the_field_that_it_points_to() -> None:
    rule = {"rule": "has(self.a)", "message": " a is missing ", "fieldPath": ".a", "reason": "FieldValueRequired"}
    assert _judged(rule, _PAIR, {}) == [Objection("MLS314", "spec.a: required: a is missing", ("spec", "a"))]
    keyed = {"rule": "false", "message": "no", "fieldPath": "['b/c'].d"}
    assert _judged(keyed, _PAIR, {})[0].path == ("spec", "b/c", "d")


def test_a_rule_without_words_speaks_for_itself() -> None:
    assert _judged(" self.b > 1 ", _PAIR, {"b": 1})[0].message == "spec: failed rule: self.b > 1"


def test_a_computed_message_is_used_where_it_is_one_line() -> None:
    rule = {"rule": "self.b > 1", "message": "written", "messageExpression": "'b is ' + string(self.b)"}
    assert _judged(rule, _PAIR, {"b": 1})[0].message == "spec: b is 1"
    for expression in (
        "''",
        "'a\\nb'",
        "self.a",
        "1",
        "'0123456789'.replace('', '0123456789').replace('', '" + "x" * 50 + "')",
    ):
        assert _judged({**rule, "messageExpression": expression}, _PAIR, {"b": 1})[0].message == "spec: written"


def test_a_rule_that_cannot_be_computed_refuses() -> None:
    (found,) = _judged({"rule": "self.a == 'x'", "message": "a is x"}, _PAIR, {})
    assert (found.code, found.path) == ("MLS314", ("spec",))
    assert found.message == 'spec: Key not found in map : "a", evaluating the rule: a is x'


def test_a_rule_that_is_not_known_here_refuses_in_clear_words() -> None:
    (found,) = _judged("self.all(i, item, true)", {"type": "array", "items": {"type": "string"}}, ["x"])
    assert "it cannot be evaluated here" in found.message
    assert evaluate.problem({"rule": "self.all(i, item, true)"})
    assert not evaluate.problem({"rule": "self.all(item, true)"})


def test_rules_about_the_old_object_are_not_asked() -> None:
    assert text.asked_on_creation({"rule": "self == 'oldSelf'"})
    assert text.asked_on_creation({"rule": "self.oldSelf == 1"})
    assert text.asked_on_creation({"rule": "oldSelf.hasValue()", "optionalOldSelf": True})
    assert not text.asked_on_creation({"rule": "self == oldSelf"})
    assert not text.asked_on_creation({"rule": 'self.matches(r"""a"b""") || oldSelf == 1'})


def test_rules_stand_deep_and_in_combiners() -> None:
    item = {
        "type": "object",
        "properties": {"a": {"type": "string", "x-kubernetes-validations": [{"rule": "self != 'x'"}]}},
    }
    schema = {
        "type": "object",
        "definitions": {"item": item},
        "properties": {
            "maps": {
                "type": "object",
                "additionalProperties": {"type": "array", "items": {"$ref": "#/definitions/item"}},
            },
            "both": {"type": "string", "allOf": [{"x-kubernetes-validations": [{"rule": "self != 'x'"}]}]},
        },
    }
    found = cel.judge_by(structure.of(schema), {"maps": {"k": [{"a": "y"}, {"a": "x"}]}, "both": "x"})
    assert [objection.path for objection in found] == [("maps", "k", 1, "a"), ("both",)]


def test_defaults_are_filled_in_before_and_the_object_stays_as_it_is() -> None:
    inner = {"type": "object", "default": {}, "properties": {"n": {"type": "integer", "default": 3}}}
    body: dict[str, Any] = {"spec": {}}
    its = _structure("self.inner.n == 3", {"type": "object", "properties": {"inner": inner}})
    assert list(cel.judge_by(its, body)) == []
    assert body == {"spec": {}}


def test_of_metadata_rules_see_the_name() -> None:
    schema = {
        "type": "object",
        "properties": {"metadata": {"type": "object", "properties": {"labels": {"type": "object"}}}},
        "x-kubernetes-validations": [{"rule": "size(self.metadata.name) < 3 && !has(self.metadata.labels)"}],
    }
    its = structure.of(schema)
    assert list(cel.judge_by(its, {"metadata": {"name": "ab", "labels": {"a": "b"}}})) == []
    assert len(list(cel.judge_by(its, {"metadata": {"name": "abc"}}))) == 1


@pytest.mark.parametrize(
    ("name", "seen"),
    [
        ("a", "a"),
        ("namespace", "__namespace__"),
        ("a-b.c/d__e", "a__dash__b__dot__c__slash__d__underscores__e"),
        ("1a", None),
        ("ä", None),
    ],
)
def test_names_are_escaped(name: str, seen: str | None) -> None:
    assert values.escaped(name) == seen


def test_the_library_is_not_imported_for_schemas_without_such_rules() -> None:
    """`check` of every golden kind costs nothing for it: importing it is 14 MB."""
    script = (
        "import sys; from pathlib import Path; from mlspec import schemas; from mlspec.validation import cel\n"
        "for path in schemas.folder().rglob('*.json'):\n"
        "    if path.parent.parent.name in ('crds', 'kubernetes'):\n"
        "        assert list(cel.judge(path, {})) == []\n"
        "assert not [name for name in sys.modules if name.startswith('cel_expr_python')]\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)


def test_a_missing_library_is_no_skip(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "kind.json"
    path.write_text(json.dumps({"type": "object", "x-kubernetes-validations": [{"rule": "true"}], "properties": {}}))
    for name in [name for name in sys.modules if name.startswith(("mlspec.validation.cel.", "cel_expr_python"))]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.delattr(cel, "evaluate")
    real = builtins.__import__

    def without(name: str, *rest: Any) -> Any:
        if name.startswith("mlspec.validation.cel") and rest[2] and "evaluate" in rest[2]:
            raise ModuleNotFoundError("No module named 'cel_expr_python'", name="cel_expr_python")
        return real(name, *rest)

    monkeypatch.setattr(builtins, "__import__", without)
    (found,) = cel.judge(path, {})
    assert found.code == "MLS314"
    assert found.help == "pip install 'mlspec-gitops[cel]'"
