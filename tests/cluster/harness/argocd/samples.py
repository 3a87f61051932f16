"""Small projects for scripts, and edits of them; every container asks for the same, so that text stays short."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Final

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
