"""The formats of `mlspec check`: JSON by its schema, annotations within GitHub's limits, Markdown that does nothing."""

from __future__ import annotations

import copy
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from mlspec.codes import CODES
from mlspec.diagnostics import Accepted, Diagnostic, Related, Severity, Span
from mlspec.report import github, markdown
from mlspec.report.findings import Report, worst
from mlspec.report.inline import sentence
from mlspec.report.text import safe
from tests import actions
from tests.support import REPOSITORY, make_root, mlspec, write_tree
from tests.test_diff import commit
from tests.test_errors import _FOLDER, CASES

_SCHEMA = REPOSITORY / "schemas" / "findings.schema.json"
_HOSTILE = "a `b` | <img src=x> @team [l](http://x) ##[add-mask]x ::error::x www.x.y #1 _e_ \\| %0A\n::stop-commands::x"


def _closed(schema: Any) -> Any:
    """Return a schema in which nothing is that it does not name: what comes must be described."""
    found = copy.deepcopy(schema)
    for part in (found, *found["$defs"].values()):
        if part.get("type") == "object":
            part["additionalProperties"] = False
    return found


_JUDGE = jsonschema.Draft202012Validator(_closed(json.loads(_SCHEMA.read_text())))


def _many(number: int, severity: Severity = Severity.ERROR, files: int = 7) -> list[Diagnostic]:
    places = [Span(f"f{n % files}.yaml", n + 1, 1, n + 1, 5) for n in range(number)]
    return [Diagnostic("MLS102", f"unknown key `k{n}`", place, severity=severity) for n, place in enumerate(places)]


def _finding(text: str, file: str = "mlproject.yaml") -> Diagnostic:
    span = Span(file, 2, 3, 2, 9)
    return Diagnostic("MLS105", text, span, "steps.x", help=text, related=(Related(span, text),))


# --- JSON ---


@pytest.mark.parametrize("case", CASES)
def test_every_golden_error_is_what_the_schema_says(case: str) -> None:
    found = mlspec(_FOLDER / case, "check", "--output-format", "json", "--kustomize", "none").json()
    _JUDGE.validate(found)
    counted = {f"{severity}s": sum(d["severity"] == severity for d in found["diagnostics"]) for severity in Severity}
    assert found["summary"] == counted


def test_the_schema_is_valid_and_each_key_is_described() -> None:
    schema = json.loads(_SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)
    page = (REPOSITORY / "docs" / "output-formats.md").read_text()
    keys = {key for part in (schema, *schema["$defs"].values()) for key in part.get("properties", {})}
    assert [key for key in sorted(keys) if f"`{key}`" not in page] == []


def test_what_was_accepted_is_said_where_an_error_stops_the_check(tmp_path: Path) -> None:
    project = (REPOSITORY / "mlproject.yaml").read_text()
    environments = {f"environments/{p.name}": p.read_text() for p in (REPOSITORY / "environments").glob("*.yaml")}
    other = project.replace("name: image-classifier", "name: other").replace("needs: [preprocess]", "needs: [pre]")
    programs = [path for path in (REPOSITORY / "mlspec" / "training").iterdir() if path.is_file()]
    shipped = {f"{place}/mlspec/training/{path.name}": path.read_bytes() for place in "ab" for path in programs}
    root = write_tree(tmp_path, {**environments, **shipped, "a/mlproject.yaml": project, "b/mlproject.yaml": other})
    found = mlspec(root, "check", "--output-format", "json")
    assert found.code == 1
    assert {item["code"] for item in found.json()["accepted"]} == {"MLS410", "MLS421"}


# --- GitHub ---


def _commands(text: str) -> list[tuple[str, dict[str, str], str]]:
    return actions.commands(text)


def test_the_worst_ten_of_each_severity() -> None:
    findings = [*_many(5000), *_many(30, Severity.WARNING), *_many(3, Severity.NOTE)]
    shown = github.render(Report(findings), str, elsewhere=True)
    names = [name for name, _, _ in _commands(shown)]
    assert {name: names.count(name) for name in set(names)} == {"error": 10, "warning": 10, "notice": 3}
    assert shown.splitlines()[-1] == (
        "and 4,990 errors and 20 warnings more, without an annotation: the step summary shows all"
    )
    assert {properties["file"] for _, properties, _ in _commands(shown)} == {f"f{n}.yaml" for n in range(7)}


def test_without_a_summary_the_rest_follows() -> None:
    shown = github.render(Report(_many(12)), str, elsewhere=False)
    assert len(_commands(shown)) == 10
    assert len(shown.splitlines()) == 13


def test_the_worst_are_spread_and_earlier_kinds_come_first() -> None:
    many = [Diagnostic("MLS301", f"m{n}", Span("a.yaml", n)) for n in range(20)]
    other = [Diagnostic("MLS401", "policy", Span("b.yaml", 1)), Diagnostic("MLS101", "shape", Span("c.yaml", 1))]
    assert {finding.span.file for finding in worst([*many, *other], 3)} == {"a.yaml", "b.yaml", "c.yaml"}
    assert [finding.code for finding in worst([*many[:1], *other], 2)] == ["MLS301", "MLS101"]
    warning = replace(other[1], severity=Severity.WARNING)
    assert warning not in worst([*many, warning], 20)


@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=20))
@example("100%0A::error::x", "a,b:c%2C.yaml")
def test_a_command_says_what_the_finding_does(text: str, file: str) -> None:
    shown = github.render(Report([_finding(text, file)]), str, elsewhere=False)
    (line,) = shown.splitlines() if "\u2028" not in shown else [shown.rstrip("\n")]
    ((name, properties, message),) = _commands(line)
    assert name == "error"
    assert properties["title"] == f"MLS105 {CODES['MLS105'].title}"
    assert (properties["line"], properties["col"], properties["endColumn"]) == ("2", "3", "8")
    assert properties["file"] == safe(file)
    assert message.split("\n") == [safe(text), f"{safe(file)}:2: {safe(text)}", f"help: {safe(text)}"]


@given(
    st.lists(st.sampled_from(["##[", "::", "#", "]", "error", "x=y", " ", "[", ":", "\u00a0"]), max_size=9).map("".join)
)
@example("##[add-mask]x")
@example("###[error]x")
@example("  ::error::x")
def test_no_line_of_a_log_is_a_command(text: str) -> None:
    assert _commands(github.harmless(text)) == []


def test_columns_only_within_a_line() -> None:
    several = replace(_finding("text"), span=Span("a.yaml", 2, 3, 4, 1))
    ((_, properties, _),) = _commands(github.render(Report([several]), str, elsewhere=False))
    assert properties.keys() == {"file", "line", "endLine", "title"}
    nowhere = replace(_finding("text"), span=Span("", 0, 0, 0, 0))
    ((_, properties, _),) = _commands(github.render(Report([nowhere]), str, elsewhere=False))
    assert properties.keys() == {"title"}


def _bad_root(folder: Path) -> Path:
    return make_root(folder, "steps: {train: {kind: job, image: i, imag: j}}\n")


@pytest.mark.parametrize("versioned", [True, False])
def test_paths_are_from_the_top_of_the_repository(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, versioned: bool
) -> None:
    root = _bad_root(tmp_path / "ml" / "root")
    if versioned:
        commit(tmp_path)
    else:
        monkeypatch.setenv("GITHUB_WORKSPACE", str(tmp_path))
    result = mlspec(root, "check", "--output-format", "github")
    assert result.code == 1
    assert {properties["file"] for _, properties, _ in _commands(result.stdout)} == {"ml/root/mlproject.yaml"}


def test_the_summary_of_the_step_has_everything(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    root = _bad_root(tmp_path / "root")
    path = tmp_path / "summary.md"
    path.write_text("before\n")
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(path))
    assert mlspec(root, "check", "--output-format", "github").code == 1
    text = path.read_text()
    assert text.startswith("before\n\n**mlspec check: ")
    assert "unknown key `imag`" in text
    path.write_text("x" * 1_048_000)
    assert "is full" in mlspec(root, "check", "--output-format", "github").stderr
    assert path.stat().st_size == 1_048_000
    monkeypatch.setenv("GITHUB_STEP_SUMMARY", str(tmp_path / "nothing" / "here"))
    result = mlspec(root, "check", "--output-format", "github")
    assert result.code == 1
    assert "cannot be written" in result.stderr


# --- Markdown ---


def test_the_worst_file_first_and_what_was_accepted() -> None:
    found = [*_many(3, Severity.WARNING, 1), *[replace(d, span=d.span._replace(file="z.yaml")) for d in _many(9)]]
    accepted = [
        Accepted("MLS410", "it reaches only baseline", "a reason | with a bar", ("steps", "a", "allow", "MLS410"))
    ]
    text = markdown.render(Report(found, accepted, ("checked 1 project", "  said before")))
    assert text.startswith(
        "**mlspec check: 9 errors and 3 warnings in 2 files.**\n\n<details><summary><code>z.yaml</code>"
    )
    assert text.index("z.yaml") < text.index("f0.yaml") < text.index("Accepted with a reason: 1 finding")
    assert "| `a reason \\| with a bar` |" in text
    assert text.rstrip().endswith("- checked 1 project")


@pytest.mark.parametrize("most", [3_000, 60_000, 250_000])
def test_markdown_is_cut_by_rows_and_says_so(most: int) -> None:
    found = _many(5000, files=40)
    text = markdown.render(Report(found, [], ("checked 1 project",)), most)
    assert len(text) <= most
    shown = len(re.findall(r"^\| \d", text, re.MULTILINE))
    (number,) = re.findall(r"^([\d,]+) more findings left out: ", text, re.MULTILINE)
    assert shown + int(number.replace(",", "")) == 5000
    assert text.count("<details>") == text.count("</details>")
    assert text.rstrip().endswith("- checked 1 project")


_ACTIVE = re.compile(r"[<>@\[\]*_~#|]|://|www\.", re.IGNORECASE)


def _outside_code(text: str) -> str:
    """Return what stands outside of code spans, as CommonMark finds them."""
    shown, at = "", 0
    while (ticks := re.compile("`+").search(text, at)) is not None:
        end = re.compile(rf"(?<!`){ticks[0]}(?!`)").search(text, ticks.end())
        shown += text[at : ticks.start()] + ("" if end else ticks[0])
        at = end.end() if end else ticks.end()
    return shown + text[at:]


@settings(max_examples=400)
@given(st.text(alphabet=st.one_of(st.sampled_from("`|<>@[]()*_~#:/\\ w.a1-"), st.characters()), max_size=60))
def test_a_sentence_does_nothing(text: str) -> None:
    shown = sentence(text)
    assert "\n" not in shown
    assert not _ACTIVE.search(_outside_code(shown)), shown
    assert not re.search(r"(?<!\\)\|", shown)


def test_a_hostile_finding_is_shown_and_does_nothing() -> None:
    found = _finding(_HOSTILE, "a|<b>`@team`.yaml")
    accepted = [Accepted("MLS410", _HOSTILE, _HOSTILE, ("steps", _HOSTILE))]
    text = markdown.render(
        Report([found] * 9 + [replace(found, span=found.span._replace(file="b"))], accepted, (_HOSTILE,))
    )
    for line in text.splitlines():
        ours = re.sub(r"</?(?:details|summary|code|b)>|<br>|\*\*(?=\w|`|$|:)|\*help:\*|\*note:\*", "", line)
        outside = _outside_code(ours.replace("\\|", ""))
        assert not re.search(r"[<>@\[\]~#]|://|www\.", outside.replace("@team`.yaml", "")), line
    log = github.render(Report([found]), str, elsewhere=False)
    assert [name for name, _, _ in _commands(log)] == ["error"]


def test_nothing_found() -> None:
    assert markdown.render(Report()) == "**mlspec check: nothing found.**\n\n"
    assert github.render(Report(), str, elsewhere=True) == ""
