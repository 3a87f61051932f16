"""Containers of a pod: image, ports, variables, what they ask for.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (validateContainerCommon, validateContainers,
validateInitContainers, validateContainerPorts, ValidateEnv, ValidateEnvFrom, validateResizePolicy).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from mlspec.validation.native import downward, forms, probes, quantities, restarts, security, volumes
from mlspec.validation.native.found import Body, Form, Found, child, children, number, text
from mlspec.validation.objection import Path

CODE: Final = "MLS322"
PORTS: Final = 65535
_PROTOCOLS: Final = frozenset({"TCP", "UDP", "SCTP"})
_FILES_SINCE: Final = (1, 35)
"""Since when a variable may come out of a file (feature EnvFiles)."""
_RELAXED_SINCE: Final = (1, 32)
"""Since when nearly any text is the name of a variable (feature RelaxedEnvironmentVariableValidation)."""


def judge(found: Found, spec: Body, path: Path, known: Mapping[str, Body]) -> None:
    """Judge all containers of a pod; `known` are its volumes."""
    devices = frozenset(text(item, "name") for item in children(spec, "resourceClaims"))
    names: set[str] = set()
    main = children(spec, "containers")
    if not main:
        found.add(CODE, (*path, "containers"), "is missing")
    grace = number(spec, "terminationGracePeriodSeconds")
    grace = 30 if grace is None else grace
    for sort, items in (("containers", main), ("initContainers", children(spec, "initContainers"))):
        for index, item in enumerate(items):
            place = (*path, sort, index)
            name = text(item, "name")
            if name and name in names:
                found.add(CODE, (*place, "name"), f"`{name}` stands there twice", "choose another name")
            names.add(name)
            _container(found, item, place, spec, known, devices)
            restarts.judge(found, item, place, spec, initial=sort == "initContainers")
            probes.judge(found, item, place, grace, initial=sort == "initContainers")
            _host_ports(found, [item], (*path, sort), spec, index)
    _host_ports(found, main, (*path, "containers"), spec, None)


def _container(
    found: Found, item: Body, path: Path, spec: Body, known: Mapping[str, Body], devices: frozenset[str]
) -> None:
    found.needed(CODE, (*path, "name"), text(item, "name"), forms.label)
    _image(found, item, path)
    if "ports" in item:
        _ports(found, children(item, "ports"), (*path, "ports"))
    form = _form_of_variables(found)
    for index, variable in enumerate(children(item, "env")):
        # Pods have dozens, nearly all with a sound name and a plain value: no path is made for these.
        if not text(variable, "name") or "valueFrom" in variable or form(variable["name"]):
            _variable(found, variable, (*path, "env", index))
    for index, source in enumerate(children(item, "envFrom")):
        _variables_from(found, source, (*path, "envFrom", index))
    if "volumeMounts" in item or "volumeDevices" in item:
        volumes.mounts(found, item, path, known)
    resources, context = child(item, "resources"), child(item, "securityContext")
    if resources:
        quantities.requirements(found, resources, (*path, "resources"), devices)
    if context:
        security.container(found, context, (*path, "securityContext"), spec)


def _image(found: Found, item: Body, path: Path) -> None:
    image = text(item, "image")
    if not image:
        if not found.projected:
            found.add(CODE, (*path, "image"), "is missing")
    elif image != image.strip():
        found.add(CODE, (*path, "image"), f"`{image[:80]}` has spaces around it")
    if "terminationMessagePolicy" in item and text(item, "terminationMessagePolicy"):
        allowed = ("File", "FallbackToLogsOnError")
        found.one_of(CODE, (*path, "terminationMessagePolicy"), item["terminationMessagePolicy"], allowed)
    if "imagePullPolicy" in item and text(item, "imagePullPolicy"):
        found.one_of(CODE, (*path, "imagePullPolicy"), item["imagePullPolicy"], ("Always", "IfNotPresent", "Never"))


def _ports(found: Found, ports: list[Body], path: Path) -> None:
    seen = set()
    for index, port in enumerate(ports):
        name, place = text(port, "name"), (*path, index)
        if name:
            found.form(CODE, (*place, "name"), name, forms.port_name)
            if name in seen:
                found.add(CODE, (*place, "name"), f"`{name}` stands there twice", "choose another name")
            seen.add(name)
        found.between(CODE, (*place, "containerPort"), number(port, "containerPort") or 0, 1, PORTS)
        if number(port, "hostPort"):
            found.between(CODE, (*place, "hostPort"), number(port, "hostPort"), 1, PORTS)
        found.one_of(CODE, (*place, "protocol"), text(port, "protocol"), _PROTOCOLS, "TCP")


def _host_ports(found: Found, items: list[Body], path: Path, spec: Body, alone: int | None) -> None:
    """Judge ports of the node, which are there once; of an init container (`alone`) for itself."""
    on_node = spec.get("hostNetwork") is True
    if alone is not None and path[-1] == "containers":
        return
    seen: set[tuple[str, str, int]] = set()
    for offset, item in enumerate(items):
        for index, port in enumerate(children(item, "ports")):
            inside = number(port, "containerPort") or 0
            outside = number(port, "hostPort") or (inside if on_node else 0)
            if not outside:
                continue
            place = (*path, offset if alone is None else alone, "ports", index, "hostPort")
            key = (text(port, "protocol") or "TCP", text(port, "hostIP"), outside)
            if key in seen:
                found.add(CODE, place, f"{outside} of the node is taken twice")
            seen.add(key)
            if on_node and outside != inside and alone is None:
                found.add(CODE, place, f"{outside} is not {inside}, the `containerPort`, which `hostNetwork` wants")


def _form_of_variables(found: Found) -> Form:
    return forms.relaxed_variable if found.kubernetes >= _RELAXED_SINCE else forms.variable


def _variable(found: Found, variable: Body, path: Path) -> None:
    found.needed(CODE, (*path, "name"), text(variable, "name"), _form_of_variables(found))
    source = child(variable, "valueFrom")
    if source is None:
        return
    place = (*path, "valueFrom")
    given = sorted(key for key, value in source.items() if value is not None)
    if found.kubernetes < _FILES_SINCE:
        given = [key for key in given if key != "fileKeyRef"]
    if not given:
        found.add(CODE, place, "has no source")
    elif text(variable, "value"):
        found.add(CODE, place, "is said beside a `value`")
    elif len(given) > 1:
        found.add(CODE, place, f"is {' and '.join(f'`{key}`' for key in given)}", "a variable has one source")
    for field in ("configMapKeyRef", "secretKeyRef"):
        reference = child(source, field)
        if reference is not None:
            found.needed(CODE, (*place, field, "name"), text(reference, "name"), forms.subdomain)
            found.needed(CODE, (*place, field, "key"), text(reference, "key"), forms.key_of_data)
    if "fieldRef" in source or "resourceFieldRef" in source:
        downward.of_variable(found, source, place)


def _variables_from(found: Found, source: Body, path: Path) -> None:
    if text(source, "prefix"):
        found.form(CODE, (*path, "prefix"), text(source, "prefix"), _form_of_variables(found))
    given = [field for field in ("configMapRef", "secretRef") if child(source, field) is not None]
    if len(given) != 1:
        found.add(CODE, path, "has one of `configMapRef` and `secretRef`")
    for field in given:
        reference = child(source, field) or {}
        found.needed(CODE, (*path, field, "name"), text(reference, "name"), forms.subdomain)
