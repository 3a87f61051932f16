"""Probes and hooks of containers.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (validateProbe, validateLivenessProbe,
validateReadinessProbe, validateStartupProbe, validateHandler, validateLifecycle, validateSleepAction).
"""

from __future__ import annotations

from typing import Any, Final

from mlspec.validation.native import forms
from mlspec.validation.native.found import INT64, Body, Found, child, children, number, strings, text
from mlspec.validation.objection import Path

CODE: Final = "MLS322"
_PORTS: Final = 65535
_ZERO_SINCE: Final = (1, 33)
"""Since when a hook may sleep for no time (feature PodLifecycleSleepActionAllowZero)."""
_TIMES: Final = ("initialDelaySeconds", "timeoutSeconds", "periodSeconds", "successThreshold", "failureThreshold")
_PROBES: Final = ("livenessProbe", "readinessProbe", "startupProbe")


def judge(found: Found, container: Body, path: Path, grace: int, *, initial: bool) -> None:
    """Judge probes and hooks; `grace` are the seconds that the pod has to end, `initial`: it is an init container."""
    given = [field for field in (*_PROBES, "lifecycle") if container.get(field) is not None]
    if given and initial and container.get("restartPolicy") != "Always":
        for field in given:
            found.add(CODE, (*path, field), "can be said of an init container only with `restartPolicy: Always`")
        return
    for field in given:
        value = child(container, field) or {}
        if field != "lifecycle":
            _probe(found, value, (*path, field))
            continue
        for hook in ("postStart", "preStop"):
            handler = child(value, hook)
            if handler is not None:
                _handler(found, handler, (*path, field, hook), ("exec", "httpGet", "tcpSocket", "sleep"), grace)


def _probe(found: Found, probe: Body, path: Path) -> None:
    _handler(found, probe, path, ("exec", "httpGet", "tcpSocket", "grpc"), 0)
    for field in _TIMES:
        found.between(CODE, (*path, field), number(probe, field), 0)
    ending = number(probe, "terminationGracePeriodSeconds")
    found.between(CODE, (*path, "terminationGracePeriodSeconds"), ending, 1, INT64)
    if path[-1] == "readinessProbe":
        if ending is not None:
            found.add(CODE, (*path, "terminationGracePeriodSeconds"), "cannot be said of a readiness probe")
    elif (number(probe, "successThreshold") or 1) > 1:
        found.add(CODE, (*path, "successThreshold"), "is 1 for this probe")


def _handler(found: Found, handler: Body, path: Path, sorts: tuple[str, ...], grace: int) -> None:
    given = [sort for sort in sorts if handler.get(sort) is not None]
    if len(given) != 1:
        names = ", ".join(f"`{sort}`" for sort in sorts)
        found.add(
            CODE, path, f"has {' and '.join(f'`{sort}`' for sort in given) or 'none of its actions'}", f"one of {names}"
        )
    for sort in given[:1]:
        action, place = child(handler, sort) or {}, (*path, sort)
        if sort == "exec":
            if not strings(action, "command"):
                found.add(CODE, (*place, "command"), "is missing")
        elif sort == "sleep":
            least = 0 if found.kubernetes >= _ZERO_SINCE else 1
            found.between(CODE, (*place, "seconds"), number(action, "seconds") or 0, least, grace)
        elif sort == "httpGet":
            _http(found, action, place)
        else:
            port(found, action.get("port"), (*place, "port"), CODE)


def _http(found: Found, action: Body, path: Path) -> None:
    port(found, action.get("port"), (*path, "port"), CODE)
    found.one_of(CODE, (*path, "scheme"), text(action, "scheme"), ("HTTP", "HTTPS"), "HTTP")
    for index, item in enumerate(children(action, "httpHeaders")):
        found.needed(CODE, (*path, "httpHeaders", index, "name"), text(item, "name"), forms.header)


def port(found: Found, value: Any, path: Path, code: str) -> None:
    """Judge a port that is a number or the name of one (ValidatePortNumOrName)."""
    if isinstance(value, str):
        found.form(code, path, value, forms.port_name)
    elif isinstance(value, int) or value is None:
        found.between(code, path, value or 0, 1, _PORTS)
