"""How much a project may hold, so that a file that was made to waste time ends in a finding instead.

The limits are far above what people write. What `kustomize build` needs grows with the square of the objects in a
folder: 400 steps take it ten seconds.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from itertools import islice
from typing import Final

from mlspec.diagnostics import Diagnostic, Span
from mlspec.source import MAX_FINDINGS, Mapping, Node

MAX_WORKLOADS: Final = 200
"""Steps, services and further predictors of one project in one environment."""
MAX_FILES: Final = 500
"""Files of one step: each is a mount of its own, compared with every other."""
_Entries = list[tuple[tuple[str, ...], Span]]


def too_many(tree: Mapping) -> list[Diagnostic]:
    """Return a finding at the first workload or file that is one too many; nothing where all fit."""
    steps, services = _entries(tree, "steps"), _entries(tree, "services")
    predictors = [_entries(tree, *path, "predictors") for path, _ in services]
    workloads = [*steps, *services, *(entry for found in predictors for entry in found[1:])]
    what = "steps, services and predictors in one project"
    findings = _beyond(workloads, MAX_WORKLOADS, what, "split it into several projects")
    for path, _ in steps:
        files = _entries(tree, *path, "files")
        findings += _beyond(files, MAX_FILES, "files in one step", "put them into the image, or on a volume")
    return findings


def _entries(tree: Mapping, *path: str) -> _Entries:
    """Return the path and the place of every key of a map inside; nothing where there is none."""
    node: Node | None = tree
    for key in path:
        node = node.get(key) if isinstance(node, Mapping) else None
    entries = node.entries if isinstance(node, Mapping) else {}
    return [((*path, name), entry.key) for name, entry in entries.items()]


def _beyond(entries: _Entries, most: int, what: str, help: str) -> list[Diagnostic]:
    if len(entries) <= most:
        return []
    path, span = entries[most]
    return [Diagnostic("MLS108", f"{len(entries)} {what}; at most {most} fit", span, ".".join(path), help)]


def at_most(found: Iterable[Diagnostic], tree: Mapping) -> Iterator[Diagnostic]:
    """Yield findings about a document, and, where they are more than a file can have, that there are more."""
    findings = iter(found)
    yield from islice(findings, MAX_FINDINGS)
    if next(findings, None) is not None:
        span = tree.span._replace(end_line=tree.span.line, end_column=tree.span.column)
        yield Diagnostic("MLS108", f"more than {MAX_FINDINGS} faults in one document: the others are left out", span)
