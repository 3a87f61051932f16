"""What a run is named after, as text for a terminal; secrets are hidden."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from mlspec.changes.naming import Naming
from mlspec.changes.values import Field
from mlspec.literals.redaction import redact_field
from mlspec.report.changes.sections import reason
from mlspec.report.text import safe

_ALSO = "labels, comments, the order of keys, everything in environments/, and the version of mlspec"


@dataclass(frozen=True, slots=True)
class Since:
    """The same step at a revision; `run` is None where it was not there."""

    against: str
    commit: str
    run: str | None
    changed: tuple[Field, ...] = ()


def render(project: str, environment: str, found: Naming, since: Since | None) -> str:
    """Return the text: what is part of the name, what is not, and what has changed."""
    lines = [f"{found.run} in {environment}, of project {project}", "", "part of its name"]
    lines += _table(found.inputs)
    lines += ["", "not part of its name", *_table(found.ignored), f"  {_ALSO}"]
    lines += ["", *_since(found.run, since)] if since is not None else []
    return "".join(f"{line}\n" for line in lines)


def _table(rows: Sequence[tuple[str, str]]) -> Iterator[str]:
    width = max((len(name) for name, _ in rows), default=0)
    yield from (f"  {safe(name):<{width}}  {safe(redact_field(name, value))}" for name, value in rows)


def _since(run: str, since: Since) -> Iterator[str]:
    revision = f"since {safe(since.against)} ({since.commit[:7]})"
    if since.run is None:
        yield f"{revision}: there was no such step"
    elif since.run == run:
        yield f"{revision}: the same name"
    else:
        yield f"{revision}: it was {since.run}"
        yield from (f"  {reason(field).shown(safe)}" for field in since.changed)
