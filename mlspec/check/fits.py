"""Law 6, fits: every name that an operator derives has its form and its length, and no budget of a pod is exceeded.

Nobody else asks before a run starts: the API server judges what an operator makes only when it makes it, and then the
run waits for a pod that never comes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Any, Final

from mlspec import names
from mlspec.check.objects import Fault
from mlspec.k8s.projected import Body, ProjectedPods
from mlspec.k8s.resource import Resource
from mlspec.names import Derived

ANNOTATIONS: Final = 256 * 1024
"""Bytes of all annotations of an object (k8s.io/apimachinery pkg/api/validation/objectmeta.go)."""
STRING: Final = 128 * 1024
"""Bytes of one argument or variable of a process, the zero behind it included (Linux, MAX_ARG_STRLEN)."""
_LONG: Final = "MLS210"
_MALFORMED: Final = "MLS105"
_TAKEN: Final = "MLS213"


def judge(resource: Resource) -> Iterator[Fault]:
    """Yield what of an object, and of the pods and Services that exist because of it, does not fit.

    Of the names that an object's own makes too long only the longest is told: what mends it mends the others.
    """
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
    """Yield what is wrong, and every name whose length has a limit."""
    if resource.body["kind"] == "Service":
        yield Derived("the Service", (resource.key.name,))
        yield from _service(resource.body)
    else:
        yield from _metadata(resource.body, "")
    if resource.projection is None:
        return
    # Names grow with the number, so the last of some pods has the longest.
    last = [(_what(pods), _last(pods)) for pods in resource.projection.pods if pods.count > 0]
    services = {service["metadata"]["name"] for service in resource.projection.services}
    for what, pod in last:
        name = pod["metadata"]["name"]
        yield Derived(what.replace("pod", "pod and Service", 1) if name in services else what, (name,))
    if services:
        yield Derived("a Service", (max(services, key=lambda name: (len(name), name)),))
    for name in resource.projection.names:
        yield Derived("what the operator makes of it", (name,))
    for what, pod in last:
        yield from _pod(pod, what)
    for service in resource.projection.services:
        yield from _service(service)


def _last(pods: ProjectedPods) -> Body:
    return pods.first if pods.count == 1 else pods.make(pods.count - 1)


def _what(pods: ProjectedPods) -> str:
    if not pods.role:
        return "the pod"
    return f"the pod of {pods.role} {pods.count - 1}" if pods.count > 1 else f"the pod of the {pods.role}"


def _pod(pod: Body, what: str) -> Iterator[Fault | Derived]:
    yield from _metadata(pod, what)
    spec = pod["spec"]
    for field in ("initContainers", "containers"):
        for container in _maps(spec.get(field)):
            name = container.get("name")
            if isinstance(name, str):
                yield from _named("a container", name)
                yield from _container(container, f"container `{name}`")
    for volume in _maps(spec.get("volumes")):
        if isinstance(volume.get("name"), str):
            yield from _named("a volume", volume["name"])
        sources = sorted(volume.keys() - {"name"})
        if len(sources) > 1:
            message = f"{what}: volume `{volume.get('name')}` is {' and '.join(sources)}"
            yield Fault(_MALFORMED, message, "a volume is one of them")
    yield from _twice(spec, what)


def _twice(spec: Body, what: str) -> Iterator[Fault]:
    """Yield names that stand twice: the API server refuses such a pod, and the run never starts."""
    fields = {"a container": ("initContainers", "containers"), "a volume": ("volumes",)}
    for sort, keys in fields.items():
        found = [item.get("name") for key in keys for item in _maps(spec.get(key))]
        for name in sorted({name for name in found if isinstance(name, str) and found.count(name) > 1}):
            yield Fault(_TAKEN, f"{what}: {sort} `{name}` stands there twice", "choose another name")


def _container(container: Body, what: str) -> Iterator[Fault | Derived]:
    for port in _maps(container.get("ports")):
        if isinstance(port.get("name"), str):
            yield from _port(port["name"], what)
    for variable in _maps(container.get("env")):
        name, value = variable.get("name"), variable.get("value", "")
        if not (isinstance(name, str) and isinstance(value, str)):
            continue
        if not _is_variable(name):
            message = f"{what}: `{name[:80]}` is not a name of an environment variable"
            yield Fault(_MALFORMED, message, "letters, digits, `_`, `-` and `.`, not beginning with a digit")
        yield from _string(f"{name}={value}", f"{what}: variable {name}")
    for field in ("command", "args"):
        words = container.get(field)
        for index, word in enumerate(words if isinstance(words, list) else ()):
            if isinstance(word, str):
                yield from _string(word, f"{what}: {field}[{index}]")


def _string(text: str, what: str) -> Iterator[Fault | Derived]:
    if len(text) * 4 < STRING:  # UTF-8 has no longer characters
        return
    size = len(text.encode(errors="replace")) + 1
    if size > STRING:
        message = f"{what} has {size} bytes, its end included, but a process is given at most {STRING} in one piece"
        yield Fault(_LONG, message, "put it into a file: `files:` ships one, a mounted claim holds more")


def _service(service: Body) -> Iterator[Fault | Derived]:
    name, spec = service["metadata"]["name"], service["spec"]
    what = f"Service `{name}`"
    yield from _metadata(service, what)
    yield from _labels(spec.get("selector"), f"{what}: the selector")
    if len(name) <= names.LABEL_LIMIT and not names.is_name(name):
        help = "lower-case letters, digits and `-`, beginning with a letter"
        yield Fault(_MALFORMED, f"`{name}` is not a name of a Service", help)
    for port in _maps(spec.get("ports")):
        if isinstance(port.get("name"), str):
            yield from _named(f"a port of {what}", port["name"])
        if isinstance(port.get("targetPort"), str):
            yield from _port(port["targetPort"], what)


def _port(name: str, what: str) -> Iterator[Fault | Derived]:
    yield Derived(f"{what}: the name of a port", (name,), names.PORT_LIMIT)
    if len(name) <= names.PORT_LIMIT and not names.is_port(name):
        help = "lower-case letters, digits and single `-`, with a letter among them"
        yield Fault(_MALFORMED, f"{what}: `{name}` is not a name of a port", help)


def _named(what: str, name: str) -> Iterator[Fault | Derived]:
    """Yield what is wrong with a name that is written as it is: of a container, a volume, a Service's port."""
    yield Derived(f"the name of {what}", (name,))
    if len(name) <= names.LABEL_LIMIT and not names.is_label(name):
        yield Fault(_MALFORMED, f"`{name[:80]}` is not a name of {what}", "lower-case letters, digits and `-`")


def _metadata(body: Body, what: str) -> Iterator[Fault | Derived]:
    metadata = body["metadata"]
    before = f"{what}: " if what else ""
    yield from _labels(metadata.get("labels"), f"{before}the labels")
    annotations = metadata.get("annotations")
    if not isinstance(annotations, Mapping):
        return
    size = 0
    for key, value in annotations.items():
        if not _is_key(key.lower()):  # those of annotations may have capitals in the domain, too
            yield _bad_key(key, f"{before}the annotations")
        size += len(key.encode(errors="replace")) + len(str(value).encode(errors="replace"))
    if size > ANNOTATIONS:
        message = f"{before}the annotations have {size} bytes, but an object has at most {ANNOTATIONS}"
        yield Fault(_LONG, message, f"shorten them by {size - ANNOTATIONS} bytes")


def _labels(labels: Any, what: str) -> Iterator[Fault | Derived]:
    if not isinstance(labels, Mapping):
        return
    for key, value in labels.items():
        if not _is_key(key):
            yield _bad_key(key, what)
        if isinstance(value, str) and not _is_value(value):
            if len(value) > names.LABEL_LIMIT:
                yield Derived(f"{what}: the value of `{key}`", (value,))
            else:
                help = "letters, digits, `-`, `_` and `.`, with a letter or digit at both ends"
                yield Fault(_MALFORMED, f"{what}: `{value}` is not a value of label `{key[:330]}`", help)


def _bad_key(key: str, what: str) -> Fault:
    message = f"{what}: `{key[:330]}` is not a key: {len(key.rpartition('/')[2])} characters behind its domain"
    help = f"at most {names.LABEL_LIMIT} letters, digits, `-`, `_` and `.`, behind `a-domain.example/` or alone"
    return Fault(_MALFORMED, message, help)


@lru_cache(maxsize=4096)
def _is_key(key: str) -> bool:
    return names.is_key(key)


@lru_cache(maxsize=4096)
def _is_variable(name: str) -> bool:
    return names.is_variable(name)


@lru_cache(maxsize=4096)
def _is_value(value: str) -> bool:
    return len(value) <= names.LABEL_LIMIT and names.is_label_value(value)


def _maps(value: Any) -> list[Body]:
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []
