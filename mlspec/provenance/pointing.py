"""What was found in a manifest, said at the line that made it, and once for all environments that share the line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from mlspec.diagnostics import Diagnostic, Related, Span, listed, sentence
from mlspec.ir_sources import Source
from mlspec.k8s import patch
from mlspec.k8s.resource import Patched
from mlspec.provenance.origins import Found, among, find
from mlspec.provenance.view import Path, View, walk
from mlspec.source import Scalar
from mlspec.spec.problems import locate
from mlspec.validation.objection import Objection


@dataclass(frozen=True, slots=True)
class Seen:
    """A finding in one environment; what it is about is said apart, so that environments can share the rest."""

    diagnostic: Diagnostic
    subject: str = ""
    """The object; empty where the message says all, and the same in every environment."""
    environment: str = ""

    @property
    def alone(self) -> Diagnostic:
        """The finding by itself."""
        return _said(self.diagnostic, [self]) if self.subject else self.diagnostic


def seen(
    view: View,
    fault: Objection,
    operation: int | None = None,
    *,
    because: tuple[Source, ...] = (),
    general: bool = False,
) -> Seen:
    """Return a fault at the field that made it, or at the operation of a patch that did.

    `because` are the fields that are known to make it, the one at fault first; without them it is looked up what the
    field of the manifest comes from. It is `general` where the message says all without the object.
    """
    if operation is not None:
        found = _operation(view, fault.path, operation, fault.key)
    else:
        found = among(view, tuple((source,) for source in because)) if because else find(view, fault.path)
    body, name = view.body, view.environment.name
    source, related = found.source, _related(view, found)
    named = bool(fault.key) and source.path[-1:] == (str(fault.key[-1]),)
    diagnostic = Diagnostic(
        fault.code, fault.message, span(view, source, named=named), ".".join(source.path), fault.help, related=related
    )
    if general:
        return Seen(diagnostic)
    # What an environment's file makes is the same in every project, so none of them is named.
    subject = body["kind"] if source.of_environment else f"{body['kind']} {body['metadata']['name']}"
    return Seen(diagnostic, subject, name)


def span(view: View, source: Source, *, named: bool = False) -> Span:
    """Return the place of a field: its value where that is a scalar and not its name at fault, else its key."""
    tree = view.environment.tree if source.of_environment else view.variant.tree
    found = locate(tree, source.path)
    return found.value_span if isinstance(found.node, Scalar) and not named else found.key_span


def _related(view: View, found: Found) -> tuple[Related, ...]:
    """Return the second place that makes a value, where it is in the other of the two files."""
    source = found.source
    other = next((one for one in found.others if one.of_environment != source.of_environment), None)
    if source.of_environment:
        message = f"{view.body['kind']} {view.body['metadata']['name']} is made of this, too"
        return (Related(span(view, other or Source(view.origin)), message),)
    if other is None:
        return ()
    return (Related(span(view, other), f"`{'.'.join(other.path)}` has a say in it"),)


def _operation(view: View, path: Path, operation: int, key: Path) -> Found:
    """Return what of an operation of a patch is at fault: what it writes, a field in that, or its path.

    Where the fault is of what is around the field that it writes, a map is at fault by being there, a scalar by what
    it is.
    """
    spec = view.spec
    if spec is None or operation >= len(spec.patch):
        return Found(Source(_part(view, operation, None)))
    pointer = spec.patch[operation].path
    deeper = patch.below(pointer, key or path)
    if key and not deeper:
        return Found(Source(_part(view, operation, None)))
    if deeper is None and path and patch.around(pointer, path):
        value = walk(view.variant.tree, (*view.origin[:2], "patch", str(operation), "value"))
        deeper = () if isinstance(locate(view.variant.tree, value).node, Scalar) else None
    return Found(Source(_part(view, operation, deeper)))


def _part(view: View, operation: int, below: Path | None) -> tuple[str, ...]:
    """Return what of an operation is at fault: its value, or a field in it; its path where nothing of the value is."""
    place = (*view.origin[:2], "patch", str(operation))
    value = walk(view.variant.tree, (*place, "value", *map(str, below or ())))
    return value if below is not None and len(value) > len(place) else walk(view.variant.tree, (*place, "path"))


def made_by(view: View, patched: Patched | None, path: Path) -> tuple[str, ...]:
    """Return the field of the project that makes a field of an object: of its patch the part that wrote it.

    What the environment alone decides, or mlspec itself, is the step's or service's as a whole.
    """
    applied = patched is not None and patched.refusal is None
    written = patch.wrote(patched.before, patched.operations, path) if patched is not None and applied else None
    if written is not None:
        return _part(view, written.operation, written.below)
    found = find(view, path)
    of_project = (source.path for source in (found.source, *found.others) if not source.of_environment)
    return next(of_project, view.origin)


def once(found: Iterable[Seen]) -> list[Diagnostic]:
    """Return findings, one for all environments in which the same is said of the same line."""
    grouped: dict[object, list[Seen]] = {}
    for one in found:
        same = (one.diagnostic.code, one.diagnostic.span, one.diagnostic.message, bool(one.subject))
        grouped.setdefault(same, []).append(one)
    return [
        _said(group[0].diagnostic, group) if group[0].subject else group[0].diagnostic for group in grouped.values()
    ]


def _said(diagnostic: Diagnostic, group: Sequence[Seen]) -> Diagnostic:
    """Return a finding with its objects and environments in front."""
    by_subject: dict[str, list[str]] = {}
    for one in group:
        by_subject.setdefault(one.subject, []).append(one.environment)
    names = [f"{subject} in {sentence(list(dict.fromkeys(where)))}" for subject, where in by_subject.items()]
    return replace(diagnostic, message=f"{listed(names)}: {diagnostic.message}")


def is_about(diagnostic: Diagnostic, kind: str, name: str, environment: str) -> bool:
    """Say whether a finding is one of an object in an environment, be it together with others."""
    head = diagnostic.message.partition(": ")[0]
    ours = f"{kind} {name} in " in f"{head} " or head.startswith(f"{kind} in ")
    return ours and environment in head.replace(",", " ").split()
