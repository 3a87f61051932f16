"""A composite action run as GitHub's runner would, its own steps only: conditions, expressions, outputs, exit codes.

What `uses:` another action is left out; a test says what it would have done.
"""

from __future__ import annotations

import os
import re
import subprocess
import sysconfig
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml

from tests.support import REPOSITORY

ACTION = REPOSITORY / ".github" / "actions" / "mlspec"


@dataclass
class Step:
    """What came of a step."""

    code: int
    output: str
    summary: str
    outputs: dict[str, str] = field(default_factory=dict)


@dataclass
class Run:
    """What came of an action: its steps by name, those left out not among them, and its own outputs."""

    steps: dict[str, Step] = field(default_factory=dict)
    outputs: dict[str, str] = field(default_factory=dict)

    @property
    def failed(self) -> bool:
        """Say whether the job fails: one step is enough."""
        return any(step.code for step in self.steps.values())


def definition() -> dict[str, Any]:
    """Return the action as it is written."""
    found = yaml.safe_load((ACTION / "action.yml").read_text())
    assert isinstance(found, dict)
    return found


def run(workspace: Path, temporary: Path, inputs: dict[str, str], context: dict[str, str], **variables: str) -> Run:
    """Run the action in a folder; `context` is what expressions may ask for, `variables` the runner's."""
    action, found = definition(), Run()
    assert inputs.keys() <= action["inputs"].keys()
    known = {**context}
    for name, value in action["inputs"].items():
        known[f"inputs.{name}"] = inputs.get(name, _filled(str(value.get("default", "")), known))
    for number, step in enumerate(action["runs"]["steps"]):
        condition = str(step.get("if", "")).removeprefix("${{").removesuffix("}}").strip()
        if (found.failed and "!cancelled()" not in condition) or not _holds(condition, known) or "run" not in step:
            continue
        assert "${{" not in step["run"], "an expression in a script is an injection"
        own = {name: _filled(str(value), known) for name, value in step.get("env", {}).items()}
        result = _step(step["run"], workspace, temporary / str(number), {**variables, **own})
        found.steps[step["name"]] = result
        known |= (
            {f"steps.{step['id']}.outputs.{name}": value for name, value in result.outputs.items()}
            if "id" in step
            else {}
        )
    found.outputs = {name: _filled(value["value"], known) for name, value in action["outputs"].items()}
    return found


def _step(script: str, workspace: Path, folder: Path, variables: dict[str, str]) -> Step:
    folder.mkdir(parents=True)
    files = {name: folder / name for name in ("GITHUB_OUTPUT", "GITHUB_STEP_SUMMARY", "GITHUB_ENV", "GITHUB_PATH")}
    for path in files.values():
        path.touch()
    environment = {
        "PATH": os.environ["PATH"],
        "HOME": str(folder),
        "CI": "true",
        "GITHUB_ACTIONS": "true",
        "GITHUB_ACTION_PATH": str(ACTION),
        "GITHUB_WORKSPACE": str(workspace),
        # The packages that mlspec needs are here already: nothing is asked for over the network.
        "PYTHONPATH": sysconfig.get_paths()["purelib"],
        "PIP_NO_INDEX": "1",
        "PIP_NO_DEPS": "1",
        "PIP_NO_BUILD_ISOLATION": "0",  # pip takes it the other way round: this is --no-build-isolation
        "PIP_CONFIG_FILE": os.devnull,
        **{name: str(path) for name, path in files.items()},
        **variables,
    }
    result = subprocess.run(
        ["bash", "--noprofile", "--norc", "-eo", "pipefail", "-c", script],
        cwd=workspace,
        env=environment,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    outputs = dict(line.split("=", 1) for line in files["GITHUB_OUTPUT"].read_text().splitlines())
    return Step(result.returncode, result.stdout, files["GITHUB_STEP_SUMMARY"].read_text(), outputs)


def _filled(text: str, known: dict[str, str]) -> str:
    return re.sub(r"\$\{\{ *([\w.-]+) *\}\}", lambda found: known.get(found[1], ""), text)


def _holds(condition: str, known: dict[str, str]) -> bool:
    """Say whether a condition holds: comparisons with texts, joined by `&&`."""
    for term in filter(None, (term.strip() for term in condition.split("&&"))):
        if term == "!cancelled()":
            continue
        found = re.fullmatch(r"([\w.-]+) (==|!=) '([^']*)'", term)
        assert found is not None, f"what is `{term}`?"
        if (known.get(found[1], "") == found[3]) is not (found[2] == "=="):
            return False
    return True


def commands(output: str) -> list[tuple[str, dict[str, str], str]]:
    """Return the commands that the runner takes from a log: name, properties, text.

    As actions/runner reads them (src/Runner.Common/ActionCommand.cs): after `::` at the beginning of a line, white
    space left out, or after `##[` anywhere in it.
    """
    found = []
    for line in output.splitlines():
        second = re.match(r"::([^:]*?(?::(?!:)[^:]*?)*)::(.*)", line.lstrip())
        if second is not None:
            name, _, rest = second[1].partition(" ")
            pairs = (pair.partition("=") for pair in rest.split(",") if pair)
            found.append(
                (name, {key.strip(): _unescaped(value, ":,") for key, _, value in pairs}, _unescaped(second[2]))
            )
        elif "##[" in line and "]" in line[line.index("##[") :]:
            name = line[line.index("##[") + 3 :].partition("]")[0].partition(" ")[0]
            found.append((name, {}, line))
    return found


def _unescaped(text: str, more: str = "") -> str:
    for sign in ("\r", "\n", *more, "%"):
        text = text.replace(f"%{ord(sign):02X}", sign)
    return text
