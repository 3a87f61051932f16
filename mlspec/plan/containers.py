"""What a container gets: the claims that it mounts and its environment variables; every reference is checked."""

from __future__ import annotations

import re
from collections.abc import Iterator, Set
from typing import Final

from mlspec.diagnostics import suggestion
from mlspec.ir import PartPath, PlannedMount, PlannedVariable
from mlspec.kind_specs import PodFields, StepSpec, WorkloadSpec
from mlspec.model.blocks import SecretKey
from mlspec.plan import graph
from mlspec.plan.scope import Path, Scope
from mlspec.spec.project import Project

_OWN: Final = "MLSPEC_"
_REFERENCE = re.compile(r"\$\(([A-Za-z_][A-Za-z0-9_]*)\)")


def mounts(name: str, spec: StepSpec, project: Project, scope: Scope) -> tuple[PlannedMount, ...]:
    """Return the claims that a step mounts, by volume."""
    found = []
    for volume_name, mount in sorted(spec.mounts.items()):
        volume = project.volumes.get(volume_name)
        if volume is None and scope.written("volumes", volume_name):
            continue
        if volume is None:
            help = suggestion(volume_name, project.volumes, "volumes") or f"add `{volume_name}` to `volumes`"
            path = ("steps", name, "mounts", volume_name)
            scope.report("MLS202", f"there is no volume `{volume_name}`", path, help, at_key=True)
            continue
        found.append(PlannedMount(volume_name, volume.claim or volume_name, mount.path, mount.read_only))
    return tuple(found)


def variables(
    place: Path, spec: WorkloadSpec, path: PartPath, own: PodFields, project: Project, scope: Scope
) -> tuple[PlannedVariable, ...]:
    """Return the variables of a part: the workload's, its own over them, in the order that expansion needs."""
    found = []
    for variable, value in (spec.env | own.env).items():
        if isinstance(value, SecretKey):
            where = (*place, *path) if variable in own.env else place
            _check_secret(value, (*where, "env", variable), project, scope)
            found.append(PlannedVariable(variable, None, value.secret, value.key))
        else:
            found.append(PlannedVariable(variable, value.value))
    return _in_order(found)


def _check_secret(reference: SecretKey, path: Path, project: Project, scope: Scope) -> None:
    secret = project.secrets.get(reference.secret)
    if secret is None and scope.written("secrets", reference.secret):
        return
    if secret is None:
        help = suggestion(reference.secret, project.secrets, "secrets") or f"add `{reference.secret}` to `secrets`"
        scope.report("MLS203", f"there is no secret `{reference.secret}`", (*path, "secret"), help)
    elif reference.key not in secret.keys:
        help = suggestion(reference.key, secret.keys, "its keys")
        scope.report("MLS203", f"secret `{reference.secret}` has no key `{reference.key}`", (*path, "key"), help)


def _in_order(variables: list[PlannedVariable]) -> tuple[PlannedVariable, ...]:
    """Return variables so that `$(NAME)` finds NAME before it, as Kubernetes expands them, else by name.

    The order in a map means nothing: two orders of the same map are the same run.
    """
    if len(variables) < 2:
        return tuple(variables)
    by_name = {variable.name: variable for variable in variables}
    uses = {name: _REFERENCE.findall(variable.value or "") for name, variable in by_name.items()}
    ordered = graph.order(uses)
    return tuple(by_name[name] for name in [*ordered, *sorted(set(by_name) - set(ordered))])


def check_own_variables(name: str, spec: StepSpec, known: Set[str], scope: Scope) -> None:
    """Report variables that mlspec sets itself, and references to such that this run does not have."""
    for path, own in ({(): spec} | dict(spec.parts())).items():
        for variable in own.env:
            if variable.startswith(_OWN):
                message = f"variables that begin with {_OWN} are set by mlspec"
                where = ("steps", name, *path, "env", variable)
                scope.report("MLS213", message, where, "choose another name", at_key=True)
    for where, word in _words(spec):
        for used in _REFERENCE.findall(word):
            if used.startswith(_OWN) and used not in known:
                shown = ", ".join(f"$({variable})" for variable in sorted(known))
                help = f"it has {shown}; a directory needs a volume that is mounted, and `needs`"
                scope.report("MLS244", f"`{name}` has no variable {used}", ("steps", name, *where), help)


def _words(spec: StepSpec) -> Iterator[tuple[Path, str]]:
    """Yield the texts in which Kubernetes expands `$(NAME)`, with their field."""
    for path, own in ({(): spec} | dict(spec.parts())).items():
        for field in ("command", "args"):
            yield from (((*path, field), word) for word in getattr(own, field, None) or ())
        for variable, value in own.env.items():
            if not isinstance(value, SecretKey):
                yield (*path, "env", variable), value.value
