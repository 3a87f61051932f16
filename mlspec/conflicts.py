"""Projects against one another: who claims a namespace, or an object in a shared one, that is another's already."""

from __future__ import annotations

from collections.abc import Iterator

from mlspec import names
from mlspec.compiled import Compilation, Compiled
from mlspec.diagnostics import Diagnostic, Related, Severity
from mlspec.ir import Target
from mlspec.k8s.resource import CLUSTER_SCOPED, Key
from mlspec.spec.cluster import IN_CLUSTER


def conflicts(compilation: Compilation) -> Iterator[Diagnostic]:
    """Yield projects that claim one namespace, and objects of one name in a shared one."""
    namespaces: dict[tuple[str, str], tuple[Compiled, str, Target]] = {}
    app_projects: dict[tuple[str, str], Compiled] = {}
    objects: dict[tuple[str, str, Key], Compiled] = {}
    for compiled in compilation.projects:
        for name, plan in compiled.plans.items():
            target = plan.target
            where = (target.server, target.namespace or "")
            first, environment, before = namespaces.setdefault(where, (compiled, name, target))
            if first is compiled and environment != name:
                yield _two_environments(compiled, environment, name)
            if first is compiled or first.project.name == compiled.project.name:
                pass  # another project of the same name is said already, and the cause of what would follow
            elif target.manage_namespace or before.manage_namespace:
                yield _claimed_twice(compiled, name, first)
            yield from _same_app_project(compiled, name, app_projects)
            if not target.manage_namespace:
                yield from _same_objects(compiled, name, objects)


def _two_environments(compiled: Compiled, first: str, second: str) -> Diagnostic:
    """Two environments that share a namespace fight over every object, unless they are two clusters.

    Each cluster may have an Argo CD of its own, for which all of them have the same address: then it is a warning.
    """
    target = compiled.plans[second].target
    message = f"namespace `{target.namespace}` is that of {first} and {second}, on the same server"
    help = f"put {{environment}} into `namespace.pattern` in environments/{second}.yaml"
    weight = Severity.WARNING if target.server == IN_CLUSTER else Severity.ERROR
    if weight is Severity.WARNING:
        help += ", unless each has a cluster of its own"
    return Diagnostic("MLS221", message, compiled.span(second, ("name",)), "name", help, weight)


def _same_app_project(
    compiled: Compiled, name: str, app_projects: dict[tuple[str, str], Compiled]
) -> Iterator[Diagnostic]:
    """`<project>-<environment>` may be the same for two pairs: rec-eu in prod, and rec in eu-prod."""
    argocd = compiled.plans[name].target.argocd
    if argocd is None:
        return
    own = names.app_project(compiled.project.name, name)
    first = app_projects.setdefault((argocd.namespace, own), compiled)
    if first is not compiled and first.project.name != compiled.project.name:
        message = f"AppProject {own} in {name} is that of project {first.project.name} too"
        yield Diagnostic("MLS222", message, compiled.span(name, ("name",)), "name", "rename one of them")


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
