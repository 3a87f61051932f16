"""A compiled root in, how `generated/` differs from what it should be out, as findings; nothing is written."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Final

from mlspec.compiled import Compilation
from mlspec.diagnostics import Diagnostic, listed, whole_file
from mlspec.files.compare import Changes
from mlspec.files.marks import ROOT, lock_path
from mlspec.spec.discover import GENERATED

_NAMED: Final = 3
"""Files that a finding about many names."""


def drift(
    compilation: Compilation, *, each_file: bool = True, concerns: Callable[[Diagnostic], bool] = lambda _: True
) -> list[Diagnostic]:
    """Return how generated/ differs from what it should be, by file; nothing is written.

    Without `each_file`, a project that was never generated is one finding, and so is what is the same of many files of
    a project, of those that are asked for.
    """
    found: list[Diagnostic] = []
    part = compilation.part
    for change in compilation.changes:
        if change.project == ROOT and part is not None and not part.concerns_root:
            continue
        alone = not (change.writes or change.removes or change.refusals) and len(change.drift) == 1
        if change.project == ROOT and found and alone and change.drift[0].code == "MLS501":
            continue  # its lock lists the environments, too: what was found of projects says enough
        asked = [finding for finding in change.drift if concerns(finding)]
        if each_file:
            found += asked
        elif not _is_told(change, found):
            found += _together(change, asked)
        found += (refusal for refusal in change.refusals if concerns(refusal))
    return [*found, *(finding for finding in _strangers(compilation, found) if concerns(finding))]


def _is_told(change: Changes, found: Sequence[Diagnostic]) -> bool:
    """Say whether the root's own files are missing because nothing was ever generated: they come with the projects."""
    never = change.project == ROOT and _was_never(change)
    return never and any("never generated" in finding.message for finding in found)


def _was_never(change: Changes) -> bool:
    lock_file = f"{GENERATED}/{lock_path(change.project)}"
    return any(finding.code == "MLS502" and finding.span.file == lock_file for finding in change.drift)


def _together(change: Changes, asked: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield drift of a project, one finding for what is the same of many files."""
    whose = "what belongs to the root" if change.project == ROOT else f"project {change.project}"
    if _was_never(change):
        missing = [finding for finding in change.drift if finding.code == "MLS502"]
        message = f"{whose} was never generated: {len(missing)} files are missing"
        message = "the lock is missing" if len(missing) == 1 else message
        file = whole_file(f"{GENERATED}/{lock_path(change.project)}")
        yield Diagnostic("MLS502", message, file, help="run `mlspec generate`")
        asked = [finding for finding in asked if finding not in missing]
    groups: dict[tuple[str, str], list[Diagnostic]] = {}
    for finding in asked:
        groups.setdefault((finding.code, finding.message), []).append(finding)
    for same in (sorted(group, key=lambda finding: finding.span) for group in groups.values()):
        if len(same) <= _NAMED:
            yield from same
            continue
        names = [finding.span.file.removeprefix(f"{GENERATED}/") for finding in same]
        message = f"{same[0].message}: {len(same)} files of {whose}: {listed(names, most=_NAMED)}"
        gone = change.lock is None and change.project != ROOT
        place = whole_file(f"{GENERATED}/{lock_path(change.project)}") if gone else same[0].span
        yield replace(same[0], message=message, span=place)


def _strangers(compilation: Compilation, found: Sequence[Diagnostic]) -> Iterator[Diagnostic]:
    """Yield files that are nobody's, unless they were refused where something of ours belongs."""
    refused = {finding.span.file for finding in found}
    for path in compilation.strays:
        if f"{GENERATED}/{path}" in refused:
            continue
        help = "move it away: only mlspec writes here"
        yield Diagnostic("MLS504", "not written by mlspec", whole_file(f"{GENERATED}/{path}"), help=help)
    for path in compilation.temporaries:
        help = "run `mlspec generate`"
        yield Diagnostic("MLS505", "left by an interrupted generate", whole_file(f"{GENERATED}/{path}"), help=help)
