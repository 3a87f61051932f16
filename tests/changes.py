"""A root with several projects, and what may happen to it: edits that a change may consist of."""

from __future__ import annotations

import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.support import ENVIRONMENT, PROJECT, mlspec, write_tree
from tests.test_diff import git

_STEP = 'steps: {{train: {{kind: job, image: "train:{number}", script: train.py}}}}\n'


def project(name: str, number: int = 1, owner: str = "team") -> str:
    """Return the text of a project with one step that ships train.py."""
    head = PROJECT.replace("name: demo", f"name: {name}").replace("owner: team", f"owner: {owner}")
    return head + _STEP.format(number=number)


def make(folder: Path, *, shared: bool = False) -> Path:
    """Write a root with four projects in three environments; `shared`: those of an owner share a namespace in dev."""
    dev = "namespace: {pattern: 'ml-{owner}', manage: false}\n" if shared else ""
    files: dict[str, str | bytes] = {
        "environments/common.yaml": ENVIRONMENT,
        "environments/dev.yaml": "apiVersion: mlspec.dev/v1alpha1\nkind: Environment\n" + dev,
        "environments/eu-prod.yaml": "apiVersion: mlspec.dev/v1alpha1\nkind: Environment\n",
        "environments/prod.yaml": "apiVersion: mlspec.dev/v1alpha1\nkind: Environment\n",
    }
    for index, name in enumerate(("rec", "ads", "tags", "search")):
        files[f"{name}/mlproject.yaml"] = project(name, owner=f"team-{index % 2}")
        files[f"{name}/train.py"] = f"print('{name}')\n"
    return write_tree(folder, files)


# What may happen to a root in a change; each takes the root and two numbers that choose where.
Edit = Callable[[Path, int, int], None]


def _pick(paths: list[Path], number: int) -> Path | None:
    return sorted(paths)[number % len(paths)] if paths else None


def _specs(root: Path) -> list[Path]:
    return [path for path in root.rglob("mlproject.yaml") if "generated" not in path.parts]


def _generated(root: Path) -> list[Path]:
    return [path for path in (root / "generated").rglob("*") if path.is_file()]


def replace(path: Path | None, old: str, new: str) -> None:
    """Replace the first match of a pattern in a file; nothing where there is no file."""
    if path is not None:
        path.write_text(re.sub(old, new, path.read_text(errors="replace"), count=1))


def _rename(root: Path, first: int, second: int) -> None:
    names = ["rec", "ads", "tags", "search", "rec-eu", "fresh"]
    replace(_pick(_specs(root), first), r"name: [a-z-]+", f"name: {names[second % len(names)]}")


def _move(root: Path, first: int, second: int) -> None:
    found, target = _pick(_specs(root), first), root / f"moved-{second % 3}"
    if found is not None and not target.exists():
        shutil.move(found.parent, target)


def _delete(root: Path, first: int, _: int) -> None:
    found = _pick(_specs(root), first)
    if found is not None:
        shutil.rmtree(found.parent)


def _add(root: Path, first: int, second: int) -> None:
    name = ["new", "rec-eu", "ads"][second % 3]
    write_tree(root, {f"added-{first}/mlproject.yaml": project(name), f"added-{first}/train.py": "print(1)\n"})


def _edit_environment(root: Path, first: int, second: int) -> None:
    found = _pick(list((root / "environments").iterdir()), first)
    if found is None:
        return
    if second % 5 == 0 and found.stem not in ("common", "dev"):
        found.unlink()
    elif second % 5 == 1:
        found.with_name(f"stage-{first}.yaml").write_bytes(found.read_bytes())
    else:
        more = ["access: {viewers: [all]}\n", "defaults: {cpu: 2}\n", "unknown: 1\n"][second % 3]
        found.write_text(found.read_text() + more)


def _ship_more(root: Path, first: int, second: int) -> None:
    found = _pick(_specs(root), first)
    if found is not None and second % 2:
        replace(found, r"script: train.py", "script: other.py")
    elif found is not None:
        (found.parent / "other.py").write_text(f"print({second})\n")


def _edit_generated(root: Path, first: int, second: int) -> None:
    found = _pick(_generated(root), first * 37 + second)
    if found is None:
        return
    if second % 3 == 0:
        found.unlink()
    elif second % 3 == 1:
        found.write_text(found.read_text() + "# by hand\n")
    else:
        (found.parent / f"stray-{first}.yaml").write_text("a: 1\n")


def _drop_locks(root: Path, first: int, second: int) -> None:
    found = _pick(list((root / "generated").glob("**/mlspec.lock")), first)
    if found is not None:
        found.unlink() if second % 2 else found.write_text("{}")


EDITS: dict[str, Edit] = {
    "image": lambda root, first, second: replace(_pick(_specs(root), first), r"train:\d+", f"train:{second}"),
    "owner": lambda root, first, second: replace(_pick(_specs(root), first), r"team-\d", f"team-{second % 3}"),
    "break": lambda root, first, _: replace(_pick(_specs(root), first), "image:", "imge:"),
    "quote": lambda root, first, _: replace(_pick(_specs(root), first), r"name: ([a-z-]+)", r'"name": "\1"'),
    "script": lambda root, first, second: replace(
        _pick(list(root.glob("*/train.py")), first), "print", f"print;{second}"
    ),
    "ship": _ship_more,
    "rename": _rename,
    "move": _move,
    "delete": _delete,
    "add": _add,
    "environment": _edit_environment,
    "generated": _edit_generated,
    "lock": _drop_locks,
    "generate": lambda root, *_: generate(root),
    "commit": lambda root, *_: commit(root),
    "stage": lambda root, *_: stage(root),
}


def generate(root: Path) -> None:
    """Write generated/."""
    mlspec(root, "generate")


def stage(root: Path) -> None:
    """Put everything into the index."""
    git(root, "add", "--all")


def commit(root: Path) -> None:
    """Commit everything that is not ignored."""
    if not (root / ".git").exists():
        git(root, "init", "--quiet")
    git(root, "add", "--all")
    git(root, "commit", "--quiet", "--allow-empty", "-m", "x")
