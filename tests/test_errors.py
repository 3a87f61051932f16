"""Every finding that a user can cause: a broken root in `tests/errors/<code>-<case>/`, the printed frames out.

A case holds mlproject.yaml (or other files), an environments/ of its own, and expected.txt. Nothing is written.
"""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from mlspec.codes import CODES
from mlspec.codes.policy import POLICY
from mlspec.policy.rules import RULES, explanation
from mlspec.validation import webhooks
from tests.support import check_golden, mlspec, snapshot

_FOLDER = Path(__file__).parent / "errors"
CASES = sorted(path.name for path in _FOLDER.iterdir() if path.is_dir())


@pytest.mark.parametrize("case", CASES)
def test_finding(case: str, tmp_path: Path, update_golden: bool) -> None:
    root = Path(shutil.copytree(_FOLDER / case, tmp_path / "root", symlinks=True))
    (root / "expected.txt").unlink(missing_ok=True)
    before = snapshot(root)
    result = mlspec(root, "check")
    check_golden(_FOLDER / case / "expected.txt", f"{result.stdout}exit {result.code}\n", update=update_golden)
    assert snapshot(root) == before
    code = case.split("-")[0]
    assert f"[{code}]" in result.stdout, "the case does not show the code it is named after"
    generated = mlspec(root, "generate")
    # A warning stops nothing, and drift (5xx) is what generate is for; an error leaves no file behind.
    if re.search(r"^error\[MLS[1-4]", result.stdout, re.MULTILINE):
        assert generated.code == result.code
        assert snapshot(root) == before


def test_every_code_has_a_title_and_explanation() -> None:
    for code, found in CODES.items():
        assert found.title, code
        told = explanation(code) if code in POLICY else webhooks.EXPLANATIONS.get(code, found.explanation)
        assert told.endswith((".", "`")), code


def test_every_policy_is_one_rule() -> None:
    assert [rule.code for rule in RULES] == list(POLICY)
    assert len({rule.judge for rule in RULES}) == len(RULES)


def test_every_code_that_a_spec_can_cause_has_a_case() -> None:
    shown = {case.split("-")[0] for case in CASES}
    # A file that cannot be read, and a root inside a Git repository, are made by tests of their own; no spec can give
    # rights to a workload (tests/test_tenancy.py changes what is emitted).
    elsewhere = {"MLS112", "MLS229", "MLS236", "MLS248", "MLS249", "MLS250", "MLS442"}
    assert {code for code in CODES if code[3] in "124"} - shown == elsewhere
