"""The image of the training steps: pinned, small, run as nobody, and what the extra `train` says."""

from __future__ import annotations

import re
import tomllib
from typing import Final

from packaging.requirements import Requirement

from tests.support import REPOSITORY

FILE: Final = REPOSITORY / "mlspec" / "training" / "Dockerfile"


def _instructions() -> list[tuple[str, str]]:
    """Return the instructions with their words: comments left out, continued lines joined."""
    lines = [line for line in FILE.read_text().splitlines() if not line.lstrip().startswith("#")]
    joined = re.sub(r"\\\n\s*", "", "\n".join(lines))
    found = [line.partition(" ") for line in joined.splitlines() if line.strip()]
    return [(name, rest.strip()) for name, _, rest in found]


def test_instructions_are_few_and_copy_nothing() -> None:
    """One layer of packages; programs come with each run, so an image that holds one would hold an old one."""
    assert [name for name, _ in _instructions()] == ["FROM", "RUN", "ENV", "USER", "CMD"]


def test_the_base_has_a_version() -> None:
    base = dict(_instructions())["FROM"]
    assert re.fullmatch(r"python:3\.\d+(\.\d+)?-slim(@sha256:[0-9a-f]{64})?", base)


def test_it_runs_as_the_user_of_the_pods() -> None:
    assert dict(_instructions())["USER"] == "65532:65532"


def test_packages_are_pinned_within_what_the_extra_allows() -> None:
    words = dict(_instructions())["RUN"].split()
    assert words[:3] == ["pip", "install", "--no-cache-dir"]
    pinned = dict(word.split("==") for word in words[3:])
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    extra = {wanted.name: wanted for wanted in map(Requirement, project["optional-dependencies"]["train"])}
    assert pinned.keys() == extra.keys() | {"numpy"}  # evaluate.py imports it
    for name, wanted in extra.items():
        assert wanted.specifier.contains(pinned[name]), f"{name} {pinned[name]} is not {wanted.specifier}"
