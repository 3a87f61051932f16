"""One hostile file in a root, read and judged in this process as `mlspec check` does; no program is started.

What comes back is how long it took, how much memory, which findings, and what should not have been: an exception, a
finding without a place, output that cannot be printed.
"""

from __future__ import annotations

import json
import resource
import signal
import sys
import time
import traceback
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from mlspec import source
from mlspec.codes import CODES
from mlspec.diagnostics import Diagnostic, has_errors, ordered
from mlspec.drift import drift
from mlspec.pipeline import compile_workspace
from mlspec.report import json as as_json
from mlspec.report import text as as_text
from mlspec.spec.load import load
from tests.fuzz import corpus
from tests.fuzz.corpus import Kind
from tests.support import write_tree

LIMIT: Final = 20
"""Seconds of CPU after which an input counts as one that does not come to an end."""
_PLACES: Final[Mapping[Kind, str]] = {"project": "mlproject.yaml", "environment": "environments/dev.yaml"}
_SHIPPED: Final[dict[str, str | bytes]] = {"src/train.py": "print('trains')\n", "src/odd.bin": b"\x00\xff\r\nodd"}


class EndlessError(Exception):
    """The time is up."""


@dataclass(frozen=True, slots=True)
class Outcome:
    """What came of one input; `failure` is empty where all is as it should be."""

    codes: tuple[str, ...] = ()
    failure: str = ""
    seconds: float = 0.0
    megabytes: float = 0.0


class Target:
    """A root on disk, in which one file is exchanged for each input."""

    def __init__(self, root: Path) -> None:
        """Write what every input meets: a project, two environments, the files that steps ship."""
        self.root = root
        everything = (corpus.folder("environment") / "everything.yaml").read_bytes()
        self._common: dict[str, bytes] = {
            "mlproject.yaml": (corpus.folder("project") / "pipeline-to-kserve.yaml").read_bytes(),
            "environments/dev.yaml": everything,
            "environments/prod.yaml": everything,
        }
        self._current = dict(self._common)
        write_tree(root, {**self._common, **_SHIPPED})

    def run(self, kind: Kind, data: bytes) -> Outcome:
        """Judge one input."""
        for name, content in {**self._common, _PLACES[kind]: data}.items():
            if self._current.get(name) != content:
                (self.root / name).write_bytes(content)
                self._current[name] = content
        _forget_peak()
        began = time.process_time()
        failure, codes = "", tuple[str, ...]()
        try:
            with _time_limit():
                codes = self._judge()
        except Exception:  # noqa: BLE001  # this is what is looked for
            failure = traceback.format_exc()
        return Outcome(codes, failure, time.process_time() - began, _peak())

    def _judge(self) -> tuple[str, ...]:
        workspace = load(self.root)
        compilation = compile_workspace(workspace)
        found = list(compilation.diagnostics)
        if not has_errors(found):
            found += drift(compilation, each_file=False)
        findings = ordered(found)
        _check_places(findings, workspace.texts)
        _check_output(findings, workspace.texts)
        return tuple(sorted({finding.code for finding in findings}))


def _check_places(findings: list[Diagnostic], texts: Mapping[str, str]) -> None:
    """Fail unless every finding has a code of ours, a message in one piece, and a place inside of its file."""
    lines = {name: source.LINE_BREAK.split(text) for name, text in texts.items()}
    for finding in findings:
        assert finding.code in CODES, finding
        assert 0 < len(finding.message) < 4000, f"{finding.code}: {len(finding.message)} characters"
        assert len(finding.path) < 100 * source.MAX_KEY
        span = finding.span
        here = lines.get(span.file)
        if here is not None:
            assert 1 <= span.line <= len(here), finding
            assert 1 <= span.column <= len(here[span.line - 1]) + 1, finding


def _check_output(findings: list[Diagnostic], texts: Mapping[str, str]) -> None:
    """Fail unless what is printed can be, and moves no cursor."""
    for shown in (as_text.full(findings, texts, colour=False), as_text.concise(findings)):
        shown.encode()
        assert not set(shown) & set("\x1b\x07\x08\r\x00\u202e\u2066"), "it would move the cursor, or turn text around"
    document: Any = json.loads(as_json.render(findings))
    assert len(document["diagnostics"]) == len(findings)


@contextmanager
def _time_limit() -> Iterator[None]:
    def stop(*_: object) -> None:
        raise EndlessError(f"no end within {LIMIT} seconds")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
        signal.signal(signal.SIGPROF, before)


def _forget_peak() -> None:
    """Let the kernel count the most memory anew (Linux' proc(5), clear_refs)."""
    if sys.platform == "linux":
        Path("/proc/self/clear_refs").write_text("5")


def _peak() -> float:
    """Return the most memory since then in MiB; where it cannot be counted anew, since the process began."""
    if sys.platform == "linux":
        for line in Path("/proc/self/status").read_text().splitlines():
            if line.startswith("VmHWM:"):
                return int(line.split()[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
