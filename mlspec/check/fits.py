"""Law 6, fits: every name that an operator derives has its length, and no budget of a process is exceeded.

Nobody else asks before a run starts: the API server judges what an operator makes only when it makes it, and then the
run waits for a pod that never comes. What is written, and has no sum to be told, is judged by the server's own rules
(mlspec/validation/native/, mlspec/check/projected.py).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any, Final

from mlspec import names
from mlspec.check.objects import Fault
from mlspec.k8s.projected import Body, ProjectedPods
from mlspec.k8s.resource import Resource
from mlspec.k8s.values import items
from mlspec.names import Derived

STRING: Final = 128 * 1024
"""Bytes of one argument or variable of a process, the zero behind it included (Linux, MAX_ARG_STRLEN)."""
_NEARLY: Final = STRING - 1024
"""From here on the number of a pod, which stands in its variables, may decide."""
_LONG: Final = "MLS210"
_TAKEN: Final = "MLS213"


def judge(resource: Resource) -> Iterator[Fault]:
    """Yield what of the pods and Services that exist because of an object does not fit.

    Of the names that an object's own makes too long only the longest is told: what mends it mends the others.
    """
    if resource.projection is None:
        return
    metadata = resource.body["metadata"]
    long: list[Derived] = []
    seen: set[str] = set()
    for found in _found(resource):
        if isinstance(found, Fault):
            if found.message not in seen:
                seen.add(found.message)
                yield found
        elif not found.fits and found.name not in seen:
            seen.add(found.name)
            parts = names.summands(found.name, (metadata["name"], metadata.get("namespace", "")))
            long.append(replace(found, parts=parts))
    longest = max((one for one in long if metadata["name"] in one.parts), key=_excess, default=None)
    for derived in long:
        if derived is longest or metadata["name"] not in derived.parts:
            yield Fault(_LONG, f"{derived.what} {_told(derived)}", f"shorten the name by {_excess(derived)}")


def _excess(derived: Derived) -> int:
    return len(derived.name) - derived.limit


def _told(derived: Derived) -> str:
    """Return the sum; of what a patch can make a megabyte of, the length alone."""
    if len(derived.name) > names.SUBDOMAIN_LIMIT:
        return f"would have {len(derived.name)} characters > {derived.limit}"
    return f"would be `{derived.name}`: {derived.arithmetic()}"


def judge_services(resources: Sequence[Resource]) -> Iterator[tuple[Resource, Fault]]:
    """Yield objects whose Service would be another's, too: it would lead to the pods of whoever came last."""
    made: dict[str, Resource] = {}
    for resource in resources:
        for service in _services(resource):
            other = made.setdefault(service, resource)
            if other is not resource:
                message = f"its Service `{service}` would also be the one of {other.key}"
                yield resource, Fault(_TAKEN, message, "choose another name")
                break


def _services(resource: Resource) -> Iterator[str]:
    if resource.body["kind"] == "Service":
        yield resource.key.name
    for service in resource.projection.services if resource.projection is not None else ():
        yield service["metadata"]["name"]


def _found(resource: Resource) -> Iterator[Fault | Derived]:
    """Yield budgets that are exceeded, and names that are derived."""
    projection = resource.projection
    groups = [pods for pods in projection.pods if pods.count > 0] if projection is not None else []
    for pods in groups:
        yield from _strings(pods)
    if projection is None or resource.body["kind"] == "Job":  # whose name and labels the server's rules judge
        return
    services = {service["metadata"]["name"] for service in projection.services}
    for pods in groups:
        # Names grow with the number, so the last of some pods has the longest.
        what, name = _what(pods), pods.name_of(pods.count - 1)
        yield Derived(what.replace("pod", "pod and Service", 1) if name in services else what, (name,))
    if services:
        yield Derived("a Service", (max(services, key=lambda name: (len(name), name)),))
    for name in projection.names:
        yield Derived("what the operator makes of it", (name,))
    for pods in groups:
        yield from _labels(pods.first["metadata"].get("labels"), f"{_what(pods)}: the labels")
    for service in projection.services:
        yield from _labels(service["metadata"].get("labels"), f"Service `{service['metadata']['name']}`: the labels")
        yield from _labels(service["spec"].get("selector"), f"Service `{service['metadata']['name']}`: the selector")


def _what(pods: ProjectedPods) -> str:
    if not pods.role:
        return "the pod"
    return f"the pod of {pods.role} {pods.count - 1}" if pods.count > 1 else f"the pod of the {pods.role}"


def _labels(labels: Any, what: str) -> Iterator[Derived]:
    for key, value in labels.items() if isinstance(labels, Mapping) else ():
        if isinstance(value, str) and len(value) > names.LABEL_LIMIT:
            yield Derived(f"{what}: the value of `{key}`", (value,))


def _strings(pods: ProjectedPods) -> Iterator[Fault]:
    """Yield strings that no process can be given; pods are alike but for their number."""
    found = list(_long_strings(pods.first, _NEARLY))
    if found and pods.count > 1:
        found = list(_long_strings(pods.make(pods.count - 1), _NEARLY))
    for what, size in found:
        if size > STRING:
            message = f"{what} has {size} bytes, its end included, but a process is given at most {STRING} in one piece"
            yield Fault(_LONG, message, "put it into a file: `files:` ships one, a mounted claim holds more")


def _long_strings(pod: Body, least: int) -> Iterator[tuple[str, int]]:
    """Yield variables and arguments of at least some bytes, with their bytes."""
    for field in ("initContainers", "containers"):
        for container in items(pod, "spec", field):
            what = f"container `{container.get('name')}`"
            for variable in items(container, "env"):
                name, value = variable.get("name"), variable.get("value", "")
                if isinstance(name, str) and isinstance(value, str) and _may_be(len(name) + len(value) + 1, least):
                    yield from _long_string(f"{name}={value}", f"{what}: variable {name}", least)
            for part in ("command", "args"):
                words = container.get(part)
                for index, word in enumerate(words if isinstance(words, list) else ()):
                    if isinstance(word, str) and _may_be(len(word), least):
                        yield from _long_string(word, f"{what}: {part}[{index}]", least)


def _long_string(text: str, what: str, least: int) -> Iterator[tuple[str, int]]:
    size = len(text.encode(errors="replace")) + 1
    if size >= least:
        yield what, size


def _may_be(characters: int, least: int) -> bool:
    """Say whether a text of some characters may have so many bytes: UTF-8 has no longer ones than of four."""
    return characters * 4 >= least
