"""Rules in CEL: what is said here of an object is what the real server says of it, rule by rule.

The kinds that mlspec emits have rules about changes only, so the evaluator is tried on definitions of others that have
many, and on one of our own. A difference is listed in DIFFERENCES with its reason; one that no longer is fails.
"""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any, Final, NamedTuple

import jsonschema_rs
import pytest
import yaml

from mlspec.validation import lists, structure
from mlspec.validation.cel import judge_by
from mlspec.validation.structure import Structure
from tests.cluster.harness import crds
from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.control_plane import ControlPlane
from tests.cluster.mutants import changed_at, walk, words
from tests.cluster.report import Report
from tests.cluster.rules import definitions, functions
from tests.cluster.rules.twice import KEPT, TWICE

pytestmark = pytest.mark.api

_OBJECTS: Final[list[dict[str, Any]]] = yaml.safe_load((Path(definitions.__file__).parent / "objects.yaml").read_text())
_PROBE: Final = "functions"
_CASES: Final = {f"{row['release']} {row['object']['kind']}": row for row in _OBJECTS}
_DEFAULT_DECIDES: Final = (
    "The server fills in `type: IPAddress` before it asks the schema, whose oneOf goes by it; mlspec asks the "
    "schema of what is written. No schema that mlspec has goes by a default (tests/test_schemas.py)."
)
DIFFERENCES: Final[dict[str, str]] = {
    f"gateway-api Gateway spec.addresses[]{field} ('spec', 'addresses', {index}{more}) {what}": _DEFAULT_DECIDES
    for index in (0, 1)
    for field, more, what in (("", "", "empty"), (".type", ", 'type'", "missing"))
}
"""What we and the server say otherwise of, with the reason."""


class Said(NamedTuple):
    """A verdict: `rules` are the messages of broken rules; `other` that something else is wrong."""

    rules: frozenset[str]
    other: bool


@cache
def _judges(release: str) -> dict[tuple[str, str], tuple[Any, Structure]]:
    bodies = (functions.definition(),) if release == _PROBE else definitions.definitions(release)
    return {
        (version, kind): (jsonschema_rs.validator_for(schema), structure.of(schema))
        for version, kind, schema in definitions.schemas(bodies)
    }


def ours(release: str, body: Body) -> Said:
    """Return what mlspec says: schema first, and rules of what the schema accepts."""
    validator, its = _judges(release)[body["apiVersion"], body["kind"]]
    if not validator.is_valid(body):
        return Said(frozenset(), True)
    found = judge_by(its, body)
    return Said(
        frozenset(_rule(item.message.partition(": ")[2]) for item in found), bool(list(lists.judge_by(its, body)))
    )


def servers(api: Api, body: Body) -> Said:
    """Return what the server says in a strict dry run."""
    answer = api.create(body, dry_run=True)
    causes = (answer.body.get("details") or {}).get("causes") or []
    texts = [_cause(item["message"]) for item in causes]
    rules = frozenset(_rule(text) for text in texts if text is not None)
    return Said(rules, not answer.accepted and (not causes or None in texts))


_VALUE: Final = r'(?:"[a-z]*"|null)'


def _cause(message: str) -> str | None:
    """Return a rule's message without the kind of error before it; None where no rule is the cause."""
    found = re.match(rf"Invalid value: {_VALUE}: (?P<text>.*)", message, re.DOTALL)
    if found is not None and not re.search(r" in body (should|must)|should be ", found["text"]):
        return found["text"]
    if message.startswith("Duplicate value: ") and re.fullmatch(rf"Duplicate value: {_VALUE}", message):
        return "duplicate"
    found = re.match(r"(?P<kind>Required value|Forbidden): (?P<text>.*)", message, re.DOTALL)
    return found["text"] if found is not None else None


def _rule(message: str) -> str:
    """Return what names a rule, whoever says it and however an evaluation failed."""
    message = re.sub(r"^(required|forbidden): ", "", message)
    message = "duplicate" if message.startswith("duplicate: ") else message
    found = re.search(r"evaluating (the )?rule: (?P<rule>.*)", message, re.DOTALL)
    found = found or re.search(r"macro signature for rule: (?P<rule>.*)", message, re.DOTALL)
    text = f"cannot: {found['rule']}" if found else message
    return " ".join(text.split())


def faulty(row: dict[str, Any]) -> Iterator[tuple[str, Body]]:
    """Yield the object of a row as it is, and with one fault each."""
    body = row["object"]
    yield "as it is", body
    for pointer, value in row["faults"]:
        yield f"{pointer} {value!r}", _pointed(body, pointer, value)
    for path, value in walk(body):
        if len(path) > 1 and path != ("metadata", "name"):
            for what, changed in _spoiled(value):
                yield f"{words(path)} {path} {what}", changed_at(body, path, changed)
            if isinstance(path[-1], str):
                yield f"{words(path)} {path} missing", _pointed(body, "/" + "/".join(map(str, path)), None)


def _spoiled(value: Any) -> Iterator[tuple[str, Any]]:
    if isinstance(value, dict):
        yield "empty", {}
    elif isinstance(value, list):
        yield "empty", []
        yield "doubled", [*value, *value[:1]]
    elif isinstance(value, bool):
        yield "turned", not value
    elif isinstance(value, int):
        yield from (("zero", 0), ("negative", -1), ("large", 1_000_000))
    else:
        yield from (("blank", ""), ("other", "other"), ("long", "x" * 70), ("with a slash", "/a"))


def _pointed(body: Body, pointer: str, value: Any) -> Body:
    """Return a copy of an object with the value at a pointer set, or taken away where it is None."""
    changed = copy.deepcopy(body)
    parent: Any
    parent, *steps = changed, *pointer.strip("/").split("/")
    for step in steps[:-1]:
        parent = parent[int(step)] if isinstance(parent, list) else parent[step]
    key: Any = int(steps[-1]) if isinstance(parent, list) else steps[-1]
    if value is None:
        del parent[key]
    elif isinstance(parent, list) and key == len(parent):
        parent.append(value)
    else:
        parent[key] = value
    return changed


@pytest.fixture(scope="module", autouse=True)
def _definitions(api_plane: ControlPlane) -> None:
    for release in definitions.SOURCES:
        crds.establish(api_plane.api, definitions.definitions(release))
    crds.establish(api_plane.api, [functions.definition()])


@pytest.mark.parametrize("case", _CASES)
def test_others(case: str, api_plane: ControlPlane, report: Report) -> None:
    row = _CASES[case]
    assert servers(api_plane.api, row["object"]) == Said(frozenset(), False)
    _compare(api_plane.api, row["release"], case, list(faulty(row)), report)


def test_functions(api_plane: ControlPlane, report: Report) -> None:
    _compare(api_plane.api, _PROBE, "Probe", functions.objects(), report)


def test_lists_of_sets_and_maps(api_plane: ControlPlane) -> None:
    """What tests/test_lists.py says of the same objects, said by server-side apply."""
    crds.establish(api_plane.api, crds.definitions("training-operator-1.9"))
    accepted = {name for name, (body, _) in TWICE.items() if api_plane.api.apply(body, dry_run=True).accepted}
    refused = {name for name, body in KEPT.items() if not api_plane.api.apply(body, dry_run=True).accepted}
    assert (accepted, refused) == (set(), set())


def _compare(api: Api, release: str, case: str, objects: list[tuple[str, Body]], report: Report) -> None:
    unlisted: list[str] = []
    broken: set[str] = set()
    different: set[str] = set()
    counts = [0] * 4
    for what, body in objects:
        here, there = ours(release, body), servers(api, body)
        broken |= there.rules
        refused = bool(here.rules or here.other), bool(there.rules or there.other)
        rules = here.rules == there.rules or here.other or there.other
        if refused[0] != refused[1] or not rules:
            different.add(f"{case} {what}")
            text = f"{case} {what}: ours {sorted(here.rules)} {here.other}; server {sorted(there.rules)} {there.other}"
            unlisted += [text] if f"{case} {what}" not in DIFFERENCES else []
        counts[0] += 1
        counts[1] += bool(there.rules)
        counts[2] += all(refused)
    columns = ("objects", "broken rules on the server", "both refuse", "different rules broken")
    counts[3] = len(broken)
    report.counter("Rules in CEL", ("kind",), columns).add((case,), tuple(counts))
    assert not unlisted, "\n".join(unlisted)
    assert {name for name in DIFFERENCES if name.startswith(f"{case} ")} == different
