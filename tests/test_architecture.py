"""Budgets and tables that keep the shape of the code: sizes, registrations, words that must not appear."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from mlspec.all_kinds import KINDS
from mlspec.emit import CONCERNS
from tests.support import REPOSITORY

_MODULES = sorted((REPOSITORY / "mlspec").rglob("*.py"))
_LINES = 300
_FUNCTION_LINES = 40
# A longer file needs a row here, with its reason.
_LONGER: dict[str, str] = {
    "mlspec/training/ddp.py": "one file that is copied; tests/training/test_ddp_script.py has its budget",
    "mlspec/training/preprocess.py": "one file that is shipped alone",
}
# Programs that are not part of the compiler: they import late what they can do without.
_PROGRAMS = REPOSITORY / "mlspec" / "training"


@pytest.mark.parametrize("path", _MODULES, ids=lambda path: path.relative_to(REPOSITORY).as_posix())
def test_module_fits_its_budget(path: Path) -> None:
    text = path.read_text()
    name = path.relative_to(REPOSITORY).as_posix()
    assert len(text.splitlines()) <= _LINES or name in _LONGER
    tree = ast.parse(text)
    assert ast.get_docstring(tree) or not tree.body, "a module says what goes in and what comes out"
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef):
            length = (node.end_lineno or node.lineno) - node.lineno + 1
            assert length <= _FUNCTION_LINES, f"{node.name} has {length} lines"
    for node in _public(tree):
        assert ast.get_docstring(node), f"{node.name} has no docstring"


def _public(tree: ast.Module) -> Iterator[ast.FunctionDef | ast.ClassDef]:
    """Yield functions and classes of a module, and public methods; what is nested in a function needs no docstring."""
    for node in tree.body:
        if isinstance(node, ast.FunctionDef | ast.ClassDef) and not node.name.startswith("_"):
            yield node
        if isinstance(node, ast.ClassDef):
            yield from (
                inner for inner in node.body if isinstance(inner, ast.FunctionDef) and not inner.name.startswith("_")
            )


def _late_imports() -> set[str]:
    found = set()
    for path in _MODULES:
        for node in () if path.is_relative_to(_PROGRAMS) else ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.FunctionDef):
                for inner in ast.walk(node):
                    if isinstance(inner, ast.Import | ast.ImportFrom):
                        names = [alias.name for alias in inner.names]
                        module = inner.module if isinstance(inner, ast.ImportFrom) else names[0]
                        found.add(f"{path.relative_to(REPOSITORY).as_posix()}: {module}")
    return found


def test_late_imports_are_for_start_up_time_and_listed() -> None:
    assert _late_imports() == {
        "mlspec/__main__.py: mlspec",
        "mlspec/__main__.py: mlspec.cli",
        "mlspec/cli.py: mlspec.literals.redaction",
        "mlspec/commands/explain.py: mlspec.commands.explaining",
        "mlspec/commands/explain.py: mlspec.commands.explaining_run",
        "mlspec/commands/explain.py: mlspec.policy.rules",
        "mlspec/commands/explain.py: mlspec.validation.webhooks",
        "mlspec/commands/generate.py: mlspec.commands.generating",
        "mlspec/commands/reporting.py: mlspec.report",
        "mlspec/judge.py: concurrent.futures",
        "mlspec/k8s/patch.py: jsonpatch",
        "mlspec/model/scalars.py: ipaddress",
        "mlspec/parallel.py: concurrent.futures",
        "mlspec/locating.py: mlspec",
        "mlspec/report/hidden.py: mlspec.literals.redaction",
        "mlspec/report/json.py: mlspec.literals.redaction",
        "mlspec/validation/cel/__init__.py: mlspec.validation.cel",
        "mlspec/second_opinion.py: mlspec.provenance",
        "mlspec/validation/native/addresses.py: ipaddress",
    }


def test_every_kind_is_a_file_and_a_row() -> None:
    files = {path.stem for path in (REPOSITORY / "mlspec" / "kinds").glob("*.py")} - {"__init__"}
    assert files == set(KINDS)


def test_every_concern_is_a_file_and_a_row() -> None:
    files = {path.stem for path in (REPOSITORY / "mlspec" / "concerns").glob("*.py")} - {"__init__"}
    rows = {concern.__name__.rsplit(".", 1)[-1] for concern in CONCERNS} | {"argocd"}
    assert files == rows


def test_label_keys_are_spelled_in_one_place() -> None:
    home = REPOSITORY / "mlspec" / "k8s" / "meta.py"
    for path in _MODULES:
        if path != home:
            assert not re.search(
                r"\"mlspec\.dev/[a-z]|argocd\.argoproj\.io/", _code(path).replace("mlspec.dev/v1", "")
            ), path


def _code(path: Path) -> str:
    """Return a module without comments and docstrings."""
    tree = ast.parse(path.read_text())
    for node in ast.walk(tree):
        if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef) and ast.get_docstring(node):
            node.body[0] = ast.Pass()
    return ast.unparse(tree).replace("'", '"')


def test_help_and_version_import_nothing_heavy() -> None:
    script = (
        "import sys; sys.argv = ['mlspec', '--help']\n"
        "from mlspec.__main__ import main\n"
        "try:\n    main()\nexcept SystemExit as end:\n    assert end.code == 0\n"
        "heavy = {'pydantic', 'jsonschema_rs', 'yaml', 'asyncio'} & set(sys.modules)\n"
        "sys.exit(' '.join(sorted(heavy)) or 0)\n"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 0, result.stderr
    assert "generate" in result.stdout
