"""What `mlspec generate` does where something may have changed."""

from __future__ import annotations

import difflib
import json
from collections.abc import Iterator, Sequence
from pathlib import Path

import click

from mlspec import cache
from mlspec.commands import session
from mlspec.compiled import Compilation
from mlspec.diagnostics import Diagnostic, Severity, has_errors, whole_file
from mlspec.drift import drift
from mlspec.files import apply
from mlspec.files.fingerprint import fingerprint
from mlspec.layout import is_run_path
from mlspec.literals.redaction import redact
from mlspec.parallel import Wanted, compile_root
from mlspec.spec.discover import GENERATED


def generate(root: Path, chosen: Sequence[Path]) -> int:
    """Compile and write; returns the exit code."""
    compilation = compile_root(root, Wanted(chosen, builds=False))
    code = session.show(compilation.diagnostics, compilation.workspace.texts, err=True)
    if has_errors(compilation.diagnostics):
        return code
    return _write(compilation, root / GENERATED)


def preview(root: Path, chosen: Sequence[Path], *, diff: bool) -> int:
    """Compile and say what would change; returns the exit code."""
    compilation = compile_root(root, Wanted(chosen, builds=False))
    texts = compilation.workspace.texts
    code = session.show(compilation.diagnostics, texts, err=True)
    if has_errors(compilation.diagnostics):
        return code
    found = drift(compilation)
    if diff:
        click.echo("".join(_differences(compilation, root / GENERATED)), nl=False)
    # With --diff the data is the diff; the names of the files then go beside it.
    return session.show(found, texts, "concise", err=diff)


def _write(compilation: Compilation, generated: Path) -> int:
    refusals = [refusal for change in compilation.changes for refusal in change.refusals]
    if refusals:
        return session.show(refusals, {}, err=True)
    changes = [change for change in compilation.changes if change.any]
    problems = apply.apply(generated, changes)
    if problems:
        return session.show(problems, {}, err=True)
    for path in compilation.temporaries:
        (generated / path).unlink(missing_ok=True)
    notes = [note for change in changes for note in change.restored]
    message = "not written by mlspec, and left alone"
    notes += [
        Diagnostic("MLS504", message, whole_file(f"{GENERATED}/{path}"), severity=Severity.WARNING)
        for path in compilation.strays
    ]
    session.show(notes, {}, "concise", err=True)
    for line in _summary(compilation):
        click.echo(line, err=True)
    _remember(compilation, generated.parent)
    return 0


def _remember(compilation: Compilation, root: Path) -> None:
    """Remember a whole root without errors, as it is now on disk, and what is said about it."""
    if not compilation.workspace.complete or compilation.strays:
        return
    name = fingerprint(root)
    if name is not None:
        lines = (f"{c.project.name}: 0 of {len(c.layout.files)} files written\n" for c in compilation.projects)
        said = [
            session.told(compilation.diagnostics, compilation.workspace.texts, colour=colour)
            for colour in (False, True)
        ]
        cache.remember("roots", name, json.dumps({"found": said, "written": "".join(lines)}))


def _summary(compilation: Compilation) -> Iterator[str]:
    for compiled in compilation.projects:
        change = compiled.changes
        if change is None:
            continue
        written, total = len(change.writes), len(compiled.layout.files)
        removed = f", {len(change.removes)} removed" if change.removes else ""
        lock = "; its lock was renewed" if change.any and not (change.writes or change.removes) else ""
        yield f"{change.project}: {written} of {total} files written{removed}{lock}"
        for path in sorted(change.writes):
            if is_run_path(path) and path in change.fresh:
                environment = path.split("/")[2]
                yield f"  new run in {environment}: {Path(path).stem}"
    for change in compilation.gone:
        yield f"{change.project}: gone, {len(change.removes)} files removed"
    for path in sorted(compilation.admin.writes) if compilation.admin else ():
        yield f"{path}: written"
    for path in compilation.admin.removes if compilation.admin else ():
        yield f"{path}: removed, nothing needs it"


def _differences(compilation: Compilation, generated: Path) -> Iterator[str]:
    for change in compilation.changes:
        for path in sorted({*change.writes, *change.removes}):
            yield from _unified(path, _text(generated / path), change.writes.get(path, b"").decode())


def _text(path: Path) -> str:
    return path.read_text(errors="replace") if path.is_file() else ""


def _unified(path: str, before: str, after: str) -> Iterator[str]:
    old = f"{GENERATED}/{path}" if before else "/dev/null"
    new = f"{GENERATED}/{path}" if after else "/dev/null"
    was, now = (redact(text).splitlines(keepends=True) for text in (before, after))
    yield from difflib.unified_diff(was, now, old, new)
