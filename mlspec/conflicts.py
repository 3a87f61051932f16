"""Projects against one another: who claims a namespace, or an object in a shared one, that is another's already."""

from __future__ import annotations

from collections.abc import Iterator

from mlspec.compiled import Compilation, Compiled
from mlspec.diagnostics import Diagnostic, Related
from mlspec.ir import Target
from mlspec.k8s.resource import CLUSTER_SCOPED, Key
from mlspec.spec.cluster import IN_CLUSTER


def conflicts(compilation: Compilation) -> Iterator[Diagnostic]:
    """Yield projects that claim one namespace, and objects of one name in a shared one."""
    namespaces: dict[tuple[str, str, str], tuple[Compiled, str, Target]] = {}
    objects: dict[tuple[str, str, Key], Compiled] = {}
    for compiled in compilation.projects:
        for name, plan in compiled.plans.items():
            target = plan.target
            # Each cluster may have an Argo CD of its own, for which all of them have the same address.
            where = (target.server, target.namespace or "", name if target.server == IN_CLUSTER else "")
            first, environment, before = namespaces.setdefault(where, (compiled, name, target))
            if first is compiled and environment != name:
                message = f"namespace `{target.namespace}` is that of {environment} and {name}, on the same server"
                help = f"put {{environment}} into `namespace.pattern` in environments/{name}.yaml"
                yield Diagnostic("MLS221", message, compiled.span(name, ("name",)), "name", help)
            if first is compiled or first.project.name == compiled.project.name:
                pass  # another project of the same name is said already, and the cause of what would follow
            elif target.manage_namespace or before.manage_namespace:
                yield _claimed_twice(compiled, name, first)
            if not target.manage_namespace:
                yield from _same_objects(compiled, name, objects)


def _claimed_twice(compiled: Compiled, name: str, first: Compiled) -> Diagnostic:
    namespace = compiled.plans[name].target.namespace
    message = f"namespace `{namespace}` in {name} belongs to project {first.project.name}"
    place = next(iter(first.project.variants))
    related = (Related(first.span(place, ("name",)), "this project"),)
    help = f"put {{project}} into `namespace.pattern` in environments/{name}.yaml, or `manage: false` there"
    return Diagnostic("MLS221", message, compiled.span(name, ("name",)), "name", help, related=related)


def _same_objects(compiled: Compiled, name: str, objects: dict[tuple[str, str, Key], Compiled]) -> Iterator[Diagnostic]:
    """Yield each field that causes an object which another project has already; one finding a field."""
    target = compiled.plans[name].target
    said = set()
    for resource in compiled.resources.get(name, ()):
        if resource.body["kind"] in CLUSTER_SCOPED:
            continue
        other = objects.setdefault((target.server, target.namespace or "", resource.key), compiled)
        if other is not compiled and resource.origin not in said:
            said.add(resource.origin)
            message = f"{resource.key} in namespace `{target.namespace}` is project {other.project.name}'s already"
            span = compiled.span(name, resource.origin)
            yield Diagnostic("MLS222", message, span, ".".join(resource.origin), "rename one of them")
