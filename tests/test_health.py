"""Health checks, run on a real Lua 5.1 with no more than Argo CD gives them, against every status that was recorded."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import groupby
from pathlib import Path
from typing import Any, Final

import pytest
from hypothesis import given
from hypothesis import strategies as st
from lupa import lua51  # type: ignore[import-untyped]  # it carries no types

from mlspec.health import CHECKS, Check
from tests.cluster.harness.operators import observe

Body = dict[str, Any]
Verdict = tuple[str, str]
"""Status and message."""
_BY_KIND: Final = {check.kind: check for check in CHECKS}
_VERDICTS: Final = {"Healthy", "Degraded", "Progressing", "Suspended"}
_GIVEN: Final = {
    *("_G", "assert", "collectgarbage", "error", "getfenv", "getmetatable", "ipairs", "load", "loadstring", "next"),
    *("newproxy", "pairs", "pcall", "print", "rawequal", "rawget", "rawset", "select", "setfenv", "setmetatable"),
    *("table", "tonumber", "tostring", "type", "unpack", "xpcall"),
}
"""What Argo CD's Lua has: the libraries base and table, and nothing of string."""
_DONE: Final = {"Job": "Complete", "PyTorchJob": "Succeeded", "TFJob": "Succeeded"}

# Recorded


_UNCHECKED: Final = {"LocalQueue"}
"""Kinds with recorded conditions that mlspec has no check for."""
_ENDS: Final = {
    "Degraded": {
        *("job-fails", "job-late", "job-late-pending", "job-never", "pytorchjob-elastic-fails"),
        *(f"{kind}-{case}" for kind in ("pytorchjob", "tfjob") for case in ("fails", "fails-alone", "fails-keeping")),
        *(f"{kind}-{case}" for kind in ("pytorchjob", "tfjob") for case in ("late", "late-keeping", "late-pending")),
        *(f"{kind}-{case}" for kind in ("pytorchjob", "tfjob") for case in ("never", "never-keeping")),
    },
    "Healthy": {
        *("job-lost", "job-retried", "job-succeeds", "Job", "PyTorchJob", "pytorchjob-elastic-succeeds"),
        *(f"{kind}-{case}" for kind in ("pytorchjob", "tfjob") for case in ("cleans", "keeps")),
        *(f"{kind}-{case}" for kind in ("pytorchjob", "tfjob") for case in ("retried", "succeeds")),
    },
    # An operator that nothing wakes does not look at a deadline, and lost pods are counted by no limit.
    "Progressing": {
        *("job-pending", "pytorchjob-elastic-again", "pytorchjob-refused"),
        *(f"{kind}-{case}" for kind in ("pytorchjob", "tfjob") for case in ("pending", "late-unaided", "lost-again")),
    },
}
"""How each recorded case ends; a case that is recorded and not here fails."""


def _kind(path: Path, body: Body) -> str:
    """Return the kind that a recorded document is about: it says so, or its file's name does."""
    kinds = {kind.lower(): kind for kind in _BY_KIND}
    return str(body["kind"]) if "kind" in body else kinds[path.stem.partition("-")[0]]


def _recorded() -> Iterator[tuple[str, str, list[Any]]]:
    """Yield (case, kind, statuses one after another) of every object whose conditions were recorded over time."""
    for path in sorted(observe.FOLDER.glob("*/conditions/*.yaml")):
        bodies = observe.recorded(path) or [{}]  # an object that no operator has seen yet
        for (kind, _), group in groupby(bodies, lambda body: (_kind(path, body), str(body.get("metadata")))):  # noqa: B023
            if kind not in _UNCHECKED:
                yield path.stem, kind, [body.get("status") if "kind" in body else body for body in group]


_RECORDED: Final = list(_recorded())


def _statuses(value: Any) -> Iterator[tuple[str, Any]]:
    """Yield (kind, status) of every object of a checked kind inside a recorded document."""
    if isinstance(value, dict) and value.get("kind") in _BY_KIND and isinstance(value.get("status"), dict):
        yield value["kind"], value["status"]
    for inner in value.values() if isinstance(value, dict) else value if isinstance(value, list) else ():
        yield from _statuses(inner)


@pytest.mark.parametrize(("case", "kind", "statuses"), _RECORDED, ids=[f"{kind}-{case}" for case, kind, _ in _RECORDED])
def test_recorded_runs_wait_and_then_end(case: str, kind: str, statuses: list[Any]) -> None:
    """Not an end before the end, and no other one after it."""
    found = [verdict(_BY_KIND[kind], {"status": status})[0] for status in statuses]
    (end,) = (word for word, cases in _ENDS.items() if case in cases)
    assert found[-1] == end, found
    before = [word for word in found if word in {"Healthy", "Degraded"}]
    assert set(before) <= {end}
    assert found[len(found) - len(before) :] == before
    assert found == [expected(kind, status) for status in statuses]


def test_every_recorded_case_is_here_and_there() -> None:
    cases = [case for cases in _ENDS.values() for case in cases]
    assert len(cases) == len(set(cases))
    recorded = {path.stem for path in observe.FOLDER.glob("*/conditions/*.yaml")} - _UNCHECKED
    assert set(cases) == recorded == {case for case, _, _ in _RECORDED}
    assert {kind for _, kind, _ in _RECORDED} == set(_DONE)


def test_other_recorded_statuses() -> None:
    """Wherever else a status of these kinds was recorded, the check gives what its conditions say."""
    paths = observe.FOLDER.rglob("*.yaml")
    found = [pair for path in paths for body in observe.recorded(path) for pair in _statuses(body)]
    assert {"Job", "PyTorchJob"} <= {kind for kind, _ in found} <= set(_DONE)
    for kind, status in found:
        assert verdict(_BY_KIND[kind], {"status": status})[0] == expected(kind, status)


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("Job", ["Progressing", "Suspended", "Suspended", "Progressing", "Progressing", "Healthy"]),
        ("PyTorchJob", ["Progressing", "Suspended", "Suspended", "Progressing", "Progressing", "Healthy"]),
    ],
)
def test_a_run_that_kueue_resumes_is_not_done(kind: str, words: list[str]) -> None:
    first, _ = (statuses for case, _, statuses in _RECORDED if case == kind)
    assert [verdict(_BY_KIND[kind], {"status": status})[0] for status in first] == words


# By hand


def condition(word: str, status: object = "True", **more: object) -> Body:
    """Return a condition of a type."""
    return {"type": word, "status": status, **more}


_RUNS: Final = [
    ([], "Progressing"),
    ([condition("Suspended", "False")], "Progressing"),
    ([condition("Suspended")], "Suspended"),
    ([condition("Suspended"), condition("(done)", "False")], "Suspended"),
    ([condition("Suspended", "False"), condition("(done)")], "Healthy"),
    ([condition("Suspended"), condition("(done)")], "Healthy"),
    ([condition("(done)", "False")], "Progressing"),
    ([condition("(done)", "Unknown"), condition("Failed", "Unknown")], "Progressing"),
    ([condition("(done)", True)], "Progressing"),
    ([condition("Failed", "False"), condition("(done)")], "Healthy"),
    ([condition("Failed")], "Degraded"),
    ([condition("Failed"), condition("Suspended")], "Degraded"),
    ([condition("Failed"), condition("(done)")], "Degraded"),
    ([condition("(done)"), condition("Failed")], "Degraded"),
    ([condition("FailureTarget"), condition("SuccessCriteriaMet", "False")], "Progressing"),
    ([condition("SuccessCriteriaMet")], "Progressing"),
    ([condition("Created"), condition("Running")], "Progressing"),
    ([condition("Restarting")], "Progressing"),
]


@pytest.mark.parametrize("kind", _DONE)
@pytest.mark.parametrize(("conditions", "word"), _RUNS)
def test_conditions_of_a_run(kind: str, conditions: list[Body], word: str) -> None:
    written = [{**row, "type": row["type"].replace("(done)", _DONE[kind])} for row in conditions]
    assert verdict(_BY_KIND[kind], {"status": {"conditions": written}})[0] == word


@pytest.mark.parametrize("kind", _DONE)
@pytest.mark.parametrize(("word", "found"), [("Failed", "Degraded"), ("(done)", "Healthy"), ("Suspended", "Suspended")])
def test_the_message_is_that_of_the_condition(kind: str, word: str, found: str) -> None:
    own = word.replace("(done)", _DONE[kind])
    rows = [condition("Other", message="no"), condition(own, message="it said: ümlaut\n2")]
    assert verdict(_BY_KIND[kind], {"status": {"conditions": rows}}) == (found, "it said: ümlaut\n2")
    assert verdict(_BY_KIND[kind], {"status": {"conditions": [condition(own)]}}) == (found, own)


@pytest.mark.parametrize(
    ("status", "found"),
    [
        ({"state": "Available"}, ("Healthy", "available")),
        ({"state": "Available", "description": "old"}, ("Healthy", "available")),
        ({"state": "Creating"}, ("Progressing", "waits for its deployments")),
        ({"state": "Creating", "description": "slow"}, ("Progressing", "slow")),
        ({"state": "Failed", "description": "no such server"}, ("Degraded", "no such server")),
        ({"state": "Failed", "description": ""}, ("Degraded", "failed")),
        ({"state": "Failed"}, ("Degraded", "failed")),
        ({"state": "available"}, ("Progressing", "waits for its deployments")),
        ({"conditions": [condition("Ready")]}, ("Progressing", "waits for its deployments")),
    ],
)
def test_the_state_of_a_seldon_deployment(status: Body, found: Verdict) -> None:
    assert verdict(_BY_KIND["SeldonDeployment"], {"status": status}) == found


_STRANGE: Final[list[Any]] = [
    None,
    "text",
    "",
    3,
    -1.5,
    True,
    False,
    [],
    {},
    [[]],
    ["Failed"],
    [None],
    [{}],
    {"Failed": "True"},
]


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.kind)
def test_nothing_strange_is_an_error_or_an_end(check: Check) -> None:
    """A status that is absent, empty, or not what it should be, at any level."""
    objects: list[Body] = [{}, {"metadata": {"name": "a"}, "spec": {"suspend": True}}]
    for value in _STRANGE:
        objects += [{"status": value}, {"status": {"conditions": value}}, {"status": {"conditions": [value, value]}}]
        objects += [{"status": {"conditions": [{"type": value, "status": "True"}]}}]
        objects += [{"status": {"conditions": [{"type": "Failed", "status": value}]}}, {"status": {"state": value}}]
    for item in objects:
        assert verdict(check, item)[0] == "Progressing", item


@pytest.mark.parametrize("kind", _DONE)
def test_an_end_beside_something_strange_is_seen(kind: str) -> None:
    for value in _STRANGE:
        rows = [value, condition("Failed", message=value), value]
        status, message = verdict(_BY_KIND[kind], {"status": {"conditions": rows}})
        assert status == "Degraded"
        assert message == (value if isinstance(value, str) else "Failed")
    assert verdict(_BY_KIND["SeldonDeployment"], {"status": {"state": "Failed", "description": [3]}})[1] == "failed"


# For any status

_WORDS: Final = st.sampled_from(["Complete", "Succeeded", "Failed", "Suspended", "Running", "Created", "FailureTarget"])
_TRUTHS: Final = st.sampled_from(["True", "False", "Unknown", "true", "", True, None, 1])
_ROWS: Final = st.lists(
    st.fixed_dictionaries({"type": _WORDS | st.text(), "status": _TRUTHS}, optional={"message": st.text() | st.none()})
)
_ANY: Final = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**31), 2**31) | st.floats(allow_nan=False) | st.text() | _TRUTHS,
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(["conditions", "type", "status", "message", "state", "description"]) | st.text(), inner
        )
    ),
    max_leaves=12,
)


@pytest.mark.parametrize("kind", _DONE)
@given(rows=_ROWS)
def test_any_conditions_have_a_verdict_and_ends_win(kind: str, rows: list[Body]) -> None:
    status, _ = verdict(_BY_KIND[kind], {"status": {"conditions": rows}})
    assert status == expected(kind, {"conditions": rows})


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.kind)
@given(status=_ANY)
def test_any_status_has_a_verdict(check: Check, status: Any) -> None:
    assert verdict(check, {"status": status})[0] in _VERDICTS


def expected(kind: str, status: Any) -> str:
    """Return the verdict on a run in our words: ends first, failure before success."""
    rows = (status or {}).get("conditions", [])
    true = {row["type"] for row in rows if row["status"] == "True" and isinstance(row["status"], str)}
    for own, word in (("Failed", "Degraded"), (_DONE[kind], "Healthy"), ("Suspended", "Suspended")):
        if own in true:
            return word
    return "Progressing"


# The machine


def test_the_machine_has_no_more_than_argo_cds() -> None:
    """The tests can fail: what a check must not use is not there."""
    lua = _machine()
    for text in ("return string.len('x')", "return ('x').y", "return math.abs(1)", "return io.read", "return os.exit"):
        with pytest.raises(lua51.LuaError, match="attempt to index"):
            lua.execute(text)
    assert lua.execute("return type(table.concat) .. type(pairs)") == "functionfunction"


def _machine() -> Any:
    lua = lua51.LuaRuntime(register_eval=False, register_builtins=False)
    assert lua.lua_implementation.startswith("Lua 5.1")
    lua.execute("getmetatable('').__index = nil")
    for name in set(map(str, lua.globals())) - _GIVEN:
        lua.globals()[name] = None
    return lua


def _table(lua: Any, value: Any) -> Any:
    """Return a value of a manifest as Argo CD gives it to Lua: null is nil, also inside a list."""
    if isinstance(value, Mapping):
        return lua.table_from({key: _table(lua, item) for key, item in value.items() if item is not None})
    if isinstance(value, list):
        return lua.table_from({place: _table(lua, item) for place, item in enumerate(value, 1) if item is not None})
    return value


_MACHINE: Final = _machine()
_COMPILED: Final = {check: _MACHINE.compile(check.text()) for check in CHECKS}


def verdict(check: Check, body: Body) -> Verdict:
    """Run a check on an object; asserts what Argo CD wants of its answer, and that it leaves nothing behind."""
    held = _MACHINE.globals()
    held.obj = _table(_MACHINE, body)
    answer = dict(_COMPILED[check]())
    assert set(map(str, held)) <= {*_GIVEN, "obj"}
    assert set(answer) == {"status", "message"}
    assert answer["status"] in _VERDICTS
    assert isinstance(answer["message"], str)
    return answer["status"], answer["message"]


# The table


def test_every_check_is_a_row_and_every_file_is_used() -> None:
    folder = Path(__file__).parent.parent / "mlspec" / "health"
    assert {path.name for path in folder.glob("*.lua")} == {check.file for check in CHECKS}
    assert len({check.key for check in CHECKS}) == len(CHECKS)


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.kind)
def test_the_text_is_plain(check: Check) -> None:
    """So that it stands in YAML as it is written here."""
    text = check.text()
    assert text.isascii()
    assert text.endswith("return hs\n")
    assert all(line == line.rstrip() and len(line) <= 116 for line in text.splitlines())
