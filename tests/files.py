"""What tests of generated/ share: a root with two projects, and the assertion that nothing was touched."""

from __future__ import annotations

from pathlib import Path

from tests.support import ENVIRONMENT, Result, make_root, mlspec, snapshot, write_tree

STEP = "steps: {a: {kind: job, image: 'i:1'}}\n"
SECOND = "apiVersion: mlspec.dev/v1alpha1\nkind: Project\nname: other\nowner: t\n" + STEP


def two_projects(folder: Path) -> Path:
    """Return a root, generated, with two projects and two environments."""
    made = make_root(folder, STEP, {"dev": ENVIRONMENT, "prod": ENVIRONMENT})
    write_tree(made, {"second/mlproject.yaml": SECOND})
    assert mlspec(made, "generate").code == 0
    return made


def generated(root: Path) -> dict[str, bytes]:
    """Return the files of generated/."""
    return snapshot(root / "generated")


def refused(root: Path, code: str, path: str) -> Result:
    """Assert that check and generate both name a file, and that nothing changes; returns generate's result."""
    before = generated(root)
    checked = mlspec(root, "generate", "--check")
    assert checked.code == 1
    assert f"generated/{path}:1:1: " in checked.stdout
    assert code in checked.stdout, checked.stdout
    result = mlspec(root, "generate")
    assert result.code == 1, result.output
    assert code in result.stderr
    assert f"generated/{path}" in result.stderr
    assert generated(root) == before
    return result
