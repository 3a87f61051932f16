"""The embedded engine and kubeconform, by the same schemas: one verdict on every golden object and every mutant.

What differs would have to be listed here by name, with its reason; nothing does. The API server's verdict is in
tests/cluster/test_mutants.py, kubectl-validate's in tests/cluster/test_kubectl_validate.py.
"""

from __future__ import annotations

import itertools
import json
from collections import Counter
from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Final

from mlspec import yamltext
from mlspec.check import kubeconform, tools
from mlspec.check.kubeconform import Refusal, Sheet
from mlspec.check.schema import check_schema
from mlspec.check.tools import Tool
from mlspec.check.versions import schema_folders
from mlspec.model.operators import minor
from mlspec.schemas import kubernetes_folder, operator_folder
from mlspec.spec.load import load
from tests.cluster.harness.control_plane import DEFAULT_MINOR
from tests.cluster.harness.goldens import goldens, roots
from tests.cluster.mutants import NEWEST, Mutant, mutants_of, samples
from tests.conftest import KUBECONFORM
from tests.differences import Row, unexplained

_FOLDERS: Final = (kubernetes_folder(DEFAULT_MINOR), *(operator_folder(release) for release in NEWEST))
_DIFFERENCES: Final[list[Row]] = []
"""Where the two disagree. Patterns and formats are where they could: one reads Rust's, the other Go's."""
_UNREADABLE: Final = {"wrong type (text) metadata"}
"""Faults that keep kubeconform from reading who an object is: it names no field then."""


def _tool() -> Tool:
    assert KUBECONFORM is not None, "run `make tools`"
    return KUBECONFORM


@cache
def _mutants() -> Sequence[Mutant]:
    return [mutant for kind in samples() for _, mutant in mutants_of(kind)]


@cache
def _refusals() -> Sequence[Sequence[Refusal]]:
    """Return what kubeconform has against each mutant; a file holds one of each kind, so that names tell them apart."""
    by_kind = [list(group) for _, group in itertools.groupby(_mutants(), lambda mutant: mutant.kind)]
    rows = [[mutant for mutant in row if mutant is not None] for row in itertools.zip_longest(*by_kind)]
    sheets = [Sheet([mutant.body for mutant in row]) for row in rows]
    kubeconform.judge(_tool(), DEFAULT_MINOR, _FOLDERS, sheets)
    found: dict[int, list[Refusal]] = {id(mutant): [] for mutant in _mutants()}
    for row, sheet in zip(rows, sheets, strict=True):
        for refusal in sheet.refusals:
            found[id(row[refusal.number])].append(refusal)
    return [found[id(mutant)] for mutant in _mutants()]


def test_there_are_mutants_of_every_fault() -> None:
    faults = Counter(mutant.fault.split(" (")[0] for mutant in _mutants())
    assert len(_mutants()) >= 2000
    wanted = ("typing error", "missing field", "extra field", "wrong type", "bad value")
    assert min(faults[fault] for fault in wanted) > 200


def test_both_engines_judge_every_mutant_alike() -> None:
    found = []
    for mutant, refusals in zip(_mutants(), _refusals(), strict=True):
        ours = [objection.message for objection in check_schema(_FOLDERS, mutant.body)]
        theirs = [refusal.message for refusal in refusals]
        if bool(ours) != bool(theirs):
            found.append((mutant, "embedded" if ours else "kubeconform", (ours or theirs)[0]))
    wrong = unexplained(_DIFFERENCES, found)
    assert not wrong, "\n".join(wrong)
    refused = sum(map(bool, _refusals()))
    assert 1000 < refused < len(_mutants()) - 1000, "a judge that refuses everything, or nothing, proves nothing"


def test_both_engines_name_the_same_fields() -> None:
    """The field is what a finding's place in the spec is looked up by."""
    for mutant, refusals in zip(_mutants(), _refusals(), strict=True):
        if refusals and str(mutant).removeprefix(f"{mutant.kind} ") not in _UNREADABLE:
            ours = {objection.path for objection in check_schema(_FOLDERS, mutant.body)}
            assert {refusal.path for refusal in refusals} == ours, mutant


def test_both_engines_accept_every_golden_object() -> None:
    """As many valid as there are, and none skipped: an object without a verdict would be a refusal."""
    total = 0
    for golden in goldens():
        assert not [found for body in golden.bodies for found in check_schema(golden.schemas, body)]
    for schemas in sorted({golden.schemas for golden in goldens()}):
        version = schemas[0].name.removeprefix("v").split("-")[0].removesuffix(".0")
        sheets = [Sheet(golden.bodies) for golden in goldens() if golden.schemas == schemas]
        kubeconform.judge(_tool(), version, schemas, sheets)
        assert [refusal for sheet in sheets for refusal in sheet.refusals] == []
        total += sum(len(sheet.bodies) for sheet in sheets)
    assert total > 1000


def test_kubeconform_finds_every_committed_object_of_argo_cd_valid() -> None:
    """Those are no overlay's: tests/test_repository.py asks about what is built."""
    total = 0
    for root in roots():
        for folder in sorted((root / "generated" / "argocd").glob("*")):
            if folder.name == "admin":
                continue
            model = load(root).environments[folder.name].model
            text = "---\n".join(path.read_text() for path in sorted(folder.glob("*.yaml")))
            expected = len(yamltext.load_all(text))
            assert _summary(text, minor(model.kubernetes), schema_folders(model)) == {
                "valid": expected,
                "invalid": 0,
                "errors": 0,
                "skipped": 0,
            }
            total += expected
    assert total > 50


def _summary(text: str, version: str, folders: Sequence[Path]) -> dict[str, int]:
    command = [*_tool().prefix, *kubeconform.arguments(version, folders), "-"]
    summary: dict[str, int] = json.loads(tools.run(command, stdin=text).stdout)["summary"]
    return summary
