"""Where schemas lie, in a checkout and in an installed wheel, and which versions there are."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path


@cache
def folder() -> Path:
    """Return the folder of schemas: inside an installed package, beside the package in a checkout."""
    package = Path(__file__).parent
    installed = package / "_schemas"
    return installed if installed.is_dir() else package.parent / "schemas"


@cache  # one and the same Path each time: it is compared with itself for every object
def kubernetes_folder(version: str) -> Path:
    """Return the folder of the core kinds of a Kubernetes version; only its minor counts."""
    return folder() / "kubernetes" / f"v{'.'.join(version.split('.')[:2])}.0-standalone-strict"


@cache
def operator_folder(name: str) -> Path:
    """Return the folder of an operator's kinds; `name` is `<operator>-<minor>`."""
    return folder() / "crds" / name


@cache
def kubernetes_versions() -> tuple[str, ...]:
    """Return the Kubernetes minors that schemas exist for, oldest first."""
    found = (re.fullmatch(r"v(\d+\.\d+)\.0-.*", path.name) for path in (folder() / "kubernetes").iterdir())
    return tuple(sorted((match[1] for match in found if match), key=_order))


@cache
def operator_versions(operator: str) -> tuple[str, ...]:
    """Return the minors of an operator that schemas exist for, oldest first."""
    found = (re.fullmatch(re.escape(operator) + r"-(\d+\.\d+)", path.name) for path in (folder() / "crds").iterdir())
    return tuple(sorted((match[1] for match in found if match), key=_order))


def releases() -> list[Path]:
    """Return the folder of every release that schemas exist for: operators by name, then Kubernetes; oldest first."""
    folders = [path for top in ("crds", "kubernetes") for path in (folder() / top).iterdir() if path.is_dir()]
    return sorted(
        folders, key=lambda path: (path.parent.name, re.sub(r"\d+", lambda part: part[0].zfill(4), path.name))
    )


def _order(minor: str) -> tuple[int, ...]:
    return tuple(map(int, minor.split(".")))
