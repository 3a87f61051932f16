"""Small projects for scripts, and edits of them; every container asks for the same, so that text stays short."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Final

from tests.support import ENVIRONMENT

_IMAGE: Final = 'image: "ghcr.io/acme/a:1.0"'
_ASKS: Final = "resources: {cpu: 1, memory: 1Gi}"

PAIR: Final = f"""\
steps:
  prepare: {{kind: job, {_IMAGE}, command: [prepare], retries: 0, {_ASKS}}}
  after: {{kind: job, needs: [prepare], {_IMAGE}, command: [after], {_ASKS}}}
"""
"""Two Jobs, one after the other."""

CHAIN: Final = f"""\
steps:
  prepare: {{kind: job, {_IMAGE}, command: [prepare], {_ASKS}}}
  train: {{kind: pytorch, needs: [prepare], {_IMAGE}, command: [train], retries: 0, {_ASKS}}}
  evaluate: {{kind: job, needs: [train], {_IMAGE}, command: [evaluate], {_ASKS}}}
"""
"""A training between two Jobs."""

OTHER: Final = f"  other: {{kind: kserve, model: {{format: onnx, uri: s3://models/o}}, {_ASKS}, replicas: 1}}\n"
SERVICE: Final = f"""\
services:
  model: {{kind: kserve, model: {{format: onnx, uri: s3://models/m}}, {_ASKS}, replicas: 1}}
"""
SERVED: Final = f"""\
volumes:
  data: {{size: 1Gi, access: ReadWriteMany}}
steps:
  prepare: {{kind: job, {_IMAGE}, command: [prepare], mounts: {{data: /data}}, {_ASKS}}}
{SERVICE}{OTHER}"""
"""A claim, a Job that mounts it, two services."""

CLAIMS: Final = f"""\
volumes:
  late: {{size: 1Gi, access: ReadWriteOnce, class: late}}
  early: {{size: 1Gi, access: ReadWriteOnce, class: early}}
steps:
  use: {{kind: job, {_IMAGE}, command: [use], mounts: {{early: /early}}, {_ASKS}}}
  after: {{kind: job, needs: [use], {_IMAGE}, command: [after], {_ASKS}}}
"""
"""A claim that nobody mounts, and one that a Job mounts; their classes bind late and at once."""


def replaced(*pairs: tuple[str, str], file: str = "mlproject.yaml") -> Callable[[Path], None]:
    """Return an edit of a file of the root: each text, which must be there, by another."""

    def edit(root: Path) -> None:
        text = (root / file).read_text()
        for old, new in pairs:
            assert old in text, f"{file} has no {old!r}"
            text = text.replace(old, new)
        (root / file).write_text(text)

    return edit


HANDED: Final = f"""\
volumes:
  data: {{size: 1Gi, access: ReadWriteMany}}
  models: {{size: 1Gi, access: ReadWriteMany}}
steps:
  prepare: {{kind: job, {_IMAGE}, command: [prepare], mounts: {{data: /data}}, {_ASKS}}}
  train:
    kind: pytorch
    needs: [prepare]
    {_IMAGE}
    command: [train]
    gpu: 1
    retries: 0
    mounts: {{data: {{path: /data, readOnly: true}}, models: /models}}
    {_ASKS}
  evaluate:
    kind: job
    needs: [train]
    {_IMAGE}
    command: [evaluate]
    retries: 0
    mounts: {{models: /models}}
    gate: {{accuracy: {{atLeast: 0.9}}}}
    {_ASKS}
services:
  model: {{kind: kserve, model: {{format: onnx, from: train, path: export}}, {_ASKS}, replicas: 1}}
"""
"""A training on a GPU between two Jobs, one run handing its work to the next, and a service that serves its model."""

FOLLOWED: Final = f"{ENVIRONMENT}promotion: follow\n"
"""The environment in which services serve the newest run that has passed."""

TRAINED_AGAIN: Final = ("command: [train]", "command: [train, --again]")
SERVED_OTHERWISE: Final = ("replicas: 1}", "replicas: 2}")
_RETRY: Final = re.compile(r"( +)retry:\n(?:\1 +.*\n)+")


def retried(limit: int, seconds: int, place: str = "serving") -> Callable[[Path], None]:
    """Return an edit of the generated Application of a place: as many retries, each after as many seconds."""

    def edit(root: Path) -> None:
        paths = [path for path in root.glob("generated/argocd/dev/*.yaml") if f"-{place}\n" in path.read_text()]
        assert len(paths) == 1, f"one Application of the {place}"
        head, separator, rest = paths[0].read_text().partition(f"-{place}\n")
        text, count = _RETRY.subn(
            rf"\1retry:\n\1  limit: {limit}\n\1  refresh: true\n"
            rf'\1  backoff:\n\1    duration: "{seconds}s"\n\1    factor: 1\n\1    maxDuration: "{seconds}s"\n',
            rest,
            count=1,
        )
        assert count == 1
        paths[0].write_text(head + separator + text)

    return edit


def prompt(root: Path) -> None:
    """Have serving retried each second: what is generated waits a minute at last, and a story would, too."""
    retried(-1, 1)(root)


def pinned(step: str, *, former: bool = False) -> Callable[[Path], None]:
    """Return an edit that pins the one service to the run of a step that was committed last, or to the one before."""

    def edit(root: Path) -> None:
        (listed,) = root.glob("generated/*/overlays/dev/pipeline/kustomization.yaml")
        now = listed.read_text()
        runs = [path for path in listed.parent.glob(f"{step}-*.yaml") if (path.name in now) != former]
        (digest,) = (path.stem.rpartition("-")[2] for path in runs)
        project = root / "mlproject.yaml"
        text, count = re.subn(rf"from: {step},( run: \w+,)?", f"from: {step}, run: {digest},", project.read_text())
        assert count == 1, "one service follows it"
        project.write_text(text)

    return edit


def edits(*changes: Callable[[Path], object]) -> Callable[[Path], None]:
    """Return several edits as one."""

    def edit(root: Path) -> None:
        for change in changes:
            change(root)

    return edit
