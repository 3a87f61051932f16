"""Writes each component's Go module from components.toml: `python -m tests.cluster.modules.refresh [COMPONENT...]`.

In: components.toml. Out: `<component>/{go.mod,go.sum,tools.go}`. Needs Go and the module proxy. A program whose own
go.mod has `replace` lines is refused by `go install`; a module of our own that repeats its `require` lines, and those
`replace` lines that name a version, compiles the same code.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any, Final

HERE: Final = Path(__file__).parent
_ENVIRONMENT: Final = {"GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local", "GOWORK": "off"}
_KUBERNETES: Final = "k8s.io/kubernetes"


def main(names: list[str]) -> int:
    """Write the modules of the named components, or of all; returns the exit code."""
    rows: dict[str, dict[str, Any]] = tomllib.loads((HERE / "components.toml").read_text())
    for name in names or rows:
        sys.stderr.write(f"{name} ...\n")
        _write(HERE / name, rows[name])
    return 0


def _write(folder: Path, row: dict[str, Any]) -> None:
    folder.mkdir(exist_ok=True)
    for stale in ("go.mod", "go.sum"):
        (folder / stale).unlink(missing_ok=True)
    _go(folder, "mod", "init", f"mlspec.dev/cluster/{folder.name}")
    said = json.loads(_go(folder, "mod", "download", "-json", f"{row['module']}@{row['version']}"))
    theirs = json.loads(_go(folder, "mod", "edit", "-json", said["GoMod"]))
    changes = [f"-go={theirs['Go']}", f"-require={row['module']}@{row['version']}"]
    staged, ours = "v0." + row["version"].removeprefix("v1."), row.get("replace", {})
    for required in theirs.get("Require", []):
        changes.append(f"-require={required['Path']}@{required['Version']}")
        if row["module"] == _KUBERNETES and required["Version"] == "v0.0.0":
            changes.append(f"-replace={required['Path']}={required['Path']}@{staged}")
    changes += [f"-replace={module}={module}@{version}" for module, version in ours.items()]
    for replaced in theirs.get("Replace") or []:
        old, new = replaced["Old"], replaced["New"]
        if "Version" in new:
            old = old["Path"] + ("@" + old["Version"] if "Version" in old else "")
            changes.append(f"-replace={old}={new['Path']}@{new['Version']}")
    _go(folder, "mod", "edit", *changes)
    packages = [package for package in row["programs"].values() if package != "."]
    if packages:
        (folder / "tools.go").write_text(_tools(packages))
    _go(folder, "list", "-deps", *row["programs"].values())  # downloads what is compiled, and writes its checksums


def _tools(packages: list[str]) -> str:
    imports = "".join(f'\t_ "{package}"\n' for package in packages)
    return (
        "//go:build tools\n\n// Package tools names the programs that the harness builds, so that go.sum pins them.\n"
        f"package tools\n\nimport (\n{imports})\n"
    )


def _go(folder: Path, *arguments: str) -> str:
    command = ["go", *arguments]
    environment = {**os.environ, **_ENVIRONMENT}
    done = subprocess.run(  # our own words
        command, cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    if done.returncode:
        raise SystemExit(f"{folder.name}: {' '.join(command)[:200]}: {done.stderr[-1500:]}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
