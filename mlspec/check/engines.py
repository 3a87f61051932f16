"""Who judges objects by their schemas, and whether kubeconform, the other program, can.

The embedded engine always judges: nothing is generated that it refuses. The option says what kubeconform is asked for.
"""

from __future__ import annotations

import os
import re
from enum import StrEnum
from pathlib import Path
from typing import Final, NamedTuple

from mlspec import cache
from mlspec.check import tools
from mlspec.check.tools import Tool

NAME: Final = "kubeconform"
OLDEST: Final = (0, 7)
"""The first release whose messages lead to the field: older ones name the outermost part that does not fit."""
HOW_TO_GET: Final = (
    f"put kubeconform {tools.KUBECONFORM_VERSION} or later on PATH "
    f"(`go install github.com/yannh/kubeconform/cmd/kubeconform@{tools.KUBECONFORM_VERSION}`)"
)
WITHOUT: Final = "`--engine embedded` does without"
_PROBE_SECONDS: Final = 20


class Engine(StrEnum):
    """What is asked for; where nothing is, kubeconform gives a second opinion if it is there."""

    EMBEDDED = "embedded"
    KUBECONFORM = "kubeconform"
    ALL = "all"


class Found(NamedTuple):
    """kubeconform, ready to judge; or why not: `problem` is a fault, `absent` only says so."""

    tool: Tool | None = None
    problem: str = ""
    absent: str = ""


def second(engine: Engine | None) -> Found:
    """Return the program that gives the second opinion, or why there is none."""
    if engine is Engine.EMBEDDED:
        return Found(absent="not asked, since --engine is embedded")
    tool = tools.find_kubeconform()
    if tool is None:
        if engine is not None:
            return Found(problem=f"there is no kubeconform{_beside()}")
        return Found(absent="not asked, there is none (optional; --engine all requires it)")
    tool, problem = _probed(tool)
    return Found(problem=problem) if problem else Found(tool)


def _beside() -> str:
    """Say whether a file of that name is there and cannot be run."""
    for folder in os.environ.get("PATH", "").split(os.pathsep):
        path = Path(folder) / NAME
        if folder and path.is_file():
            return f": {path} is not executable"
    return ""


def _probed(tool: Tool) -> tuple[Tool, str]:
    """Return the program with its version, and what is wrong with it; an answer is remembered for its file."""
    key = cache.key((NAME, tool.identity))
    version = cache.recall("versions", key)
    if version is None:
        result = tools.run([*tool.prefix, "-v"], seconds=_PROBE_SECONDS)
        version = result.stdout.strip()
        if result.returncode != 0:
            reason = (result.stderr.strip().splitlines() or ["it says nothing"])[0][:200]
            return tool, f"{tool.path} does not tell its version: exit {result.returncode}, {reason}"
        if not re.fullmatch(r"[\w.()+-]{1,60}", version):
            return tool, f"{tool.path} is not kubeconform: it gives no version"
        cache.remember("versions", key, version)
    return Tool(NAME, tool.path, tool.prefix, version), _age(version)


def _age(version: str) -> str:
    """Say that a release is too old; a build that does not tell its release is tried."""
    parts = re.match(r"v?(\d+)\.(\d+)", version)
    if parts is None or (int(parts[1]), int(parts[2])) >= OLDEST:
        return ""
    return f"kubeconform {version} is too old, v{'.'.join(map(str, OLDEST))} or later is needed"
