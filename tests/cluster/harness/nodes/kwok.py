"""kwok's Stages: what it writes into the status of a pod, by the fate that stands on it, and when.

At most one Stage matches at any time: where several do, kwok draws lots.
"""

from __future__ import annotations

import json
from textwrap import indent
from typing import Any, Final

from tests.cluster.harness.client import Body
from tests.cluster.harness.nodes.fates import PREFIX, RUNS


def stages() -> list[Body]:
    """Return the Stages of pods."""
    return [
        _body("pod-delete", [_DELETED, {"key": f'{_FATE} == "play"', **_NOT}], {"next": {"delete": True}}),
        _stage("pod-start", f"{_FRESH} and (({_OWNED} | not) or ({_FATE} | IN({_STARTING})))", _STARTED),
        _stage("pod-pend", f'{_FRESH} and {_FATE} == "pend" and .status.containerStatuses == null', _PENDING),
        _stage("pod-succeed", f'{_RUNNING} and {_FATE} == "succeed"', _SUCCEEDED, after=_AFTER),
        _stage("pod-lose", f'{_RUNNING} and {_FATE} == "lose"', _FAILED, after=_AFTER),
        _stage("pod-late", f"{_HANGS} and .spec.activeDeadlineSeconds != null", _LATE, after=_DEADLINE),
        _stage("pod-fail", f"{_FAILS} and {_ENDS}", _FAILED, after=_AFTER),
        _stage("pod-restart", f"{_FAILS} and ({_ENDS} | not) and ({_SPENT} | not)", _RESTARTED, after=_AFTER),
        _stage("pod-recover", f"{_FAILS} and ({_ENDS} | not) and {_SPENT}", _SUCCEEDED, after=_AFTER),
    ]


def _stage(name: str, query: str, template: str, *, after: str = "") -> Body:
    """Return a Stage for pods that are not being deleted; `after` says where on the pod its delay is."""
    expressions: list[Body] = [
        {"key": ".metadata.deletionTimestamp", "operator": "DoesNotExist"},
        {"key": query, "operator": "In", "values": ["true"]},
    ]
    delay = {"delay": {"durationFrom": {"expressionFrom": after}}} if after else {}
    # kwok patches by name, and the training operator gives a new pod the name of a lost one: with the uid in it, a late
    # patch for the old pod is refused.
    whole = f"metadata: {{uid: {{{{ .metadata.uid | Quote }}}}}}\nstatus:\n{indent(template, '  ')}"
    patch = {"subresource": "status", "template": whole}
    return _body(name, expressions, {**delay, "next": {"patches": [patch]}})


def _body(name: str, expressions: list[Body], rest: Body) -> Body:
    """Return a Stage.

    A pod that is being deleted goes at once, or when its container has ended, if it has one (`containers.py`); whoever
    put a finalizer on it (Jobs do) takes it off itself.
    """
    spec: dict[str, Any] = {"resourceRef": {"apiGroup": "v1", "kind": "Pod"}}
    spec |= {"selector": {"matchExpressions": expressions}, **rest}
    return {"apiVersion": "kwok.x-k8s.io/v1alpha1", "kind": "Stage", "metadata": {"name": name}, "spec": spec}


def _annotation(name: str) -> str:
    return f".metadata.annotations[{json.dumps(PREFIX + name)}]"


_DELETED: Final = {"key": ".metadata.deletionTimestamp", "operator": "Exists"}
_NOT: Final = {"operator": "NotIn", "values": ["true"]}
_AFTER: Final = _annotation("after")
_DEADLINE: Final = '((.spec.activeDeadlineSeconds | tostring) + "s")'
"""A kubelet fails a pod so long after it took it on, whatever its containers do (pkg/kubelet/active_deadline.go)."""
_FATE: Final = _annotation("fate")
_STARTING: Final = ", ".join(map(json.dumps, ("succeed", "fail", "lose", "run", "play")))
_OWNED: Final = f"(.metadata.ownerReferences[0].kind | IN({', '.join(map(json.dumps, RUNS))}))"
_FRESH: Final = ".status.podIP == null"
_RUNNING: Final = '.status.phase == "Running"'
_WAITS: Final = f'.status.phase == "Pending" and .status.startTime != null and {_FATE} == "pend"'
_HANGS: Final = f'(({_RUNNING} and ({_FATE} | IN("run", "play"))) or ({_WAITS}))'
_FAILS: Final = f'{_RUNNING} and {_FATE} == "fail"'
_ENDS: Final = '.spec.restartPolicy == "Never"'
_TIMES: Final = _annotation("times")
_SPENT: Final = f"({_TIMES} != null and .status.containerStatuses[0].restartCount >= ({_TIMES} | tonumber))"


# Go templates: `$root` is the pod as it was.
_EXIT: Final = f'{{{{ index $root.metadata.annotations "{PREFIX}exit-code" }}}}'
_REASON: Final = f'{{{{ index $root.metadata.annotations "{PREFIX}reason" }}}}'
_COUNT: Final = "(index $root.status.containerStatuses $index).restartCount"
_NOW: Final = "{{ Now | Quote }}"
_ADDRESS: Final = '( or .spec.hostNetwork false ) ( or .metadata.uid "" ) .metadata.name .metadata.namespace'


def _terminated(code: str, reason: str) -> str:
    return f"{{terminated: {{exitCode: {code}, reason: {reason}, startedAt: {_NOW}, finishedAt: {_NOW}}}}}"


def _containers(restarts: str, *states: str, ready: bool = False) -> str:
    """Return the statuses of all containers."""
    lines = [
        "{{ $root := . }}",
        "containerStatuses:",
        "{{ range $index, $item := .spec.containers }}",
        "- name: {{ $item.name | Quote }}",
        "  image: {{ $item.image | Quote }}",
        f"  ready: {json.dumps(ready)}",
        f"  started: {json.dumps(ready)}",
        f"  restartCount: {restarts}",
        *(f"  {state}" for state in states),
        "{{ end }}",
    ]
    return "\n".join([*lines, ""])


def _pod(phase: str, unready: str = "") -> str:
    """Return a pod's phase and conditions; `unready` is the reason why it is not ready."""
    lines = [f"phase: {phase}", "conditions:"]
    for name in ("Initialized", "Ready", "ContainersReady"):
        status = not unready or name == "Initialized"
        lines += [f"- type: {name}", f'  status: "{status}"', f"  lastTransitionTime: {_NOW}"]
        lines += [] if status else [f"  reason: {unready}"]
    return "\n".join([*lines, ""])


_STARTED: Final = f"""\
{_pod("Running")}\
startTime: {_NOW}
hostIP: {{{{ NodeIPWith .spec.nodeName | Quote }}}}
podIP: {{{{ PodIPWith .spec.nodeName {_ADDRESS} | Quote }}}}
{_containers("0", f"state: {{running: {{startedAt: {_NOW}}}}}", ready=True)}\
{{{{ if .spec.initContainers }}}}
initContainerStatuses:
{{{{ range .spec.initContainers }}}}
- name: {{{{ .name | Quote }}}}
  image: {{{{ .image | Quote }}}}
  ready: true
  restartCount: 0
  state: {_terminated("0", "Completed")}
{{{{ end }}}}
{{{{ end }}}}
"""
_PENDING: Final = f"""\
{_pod("Pending", "ContainersNotReady")}\
startTime: {_NOW}
{_containers("0", f"state: {{waiting: {{reason: {_REASON}}}}}")}
"""
_LATE: Final = f"{_pod('Failed', 'PodFailed')}reason: DeadlineExceeded\n" + _containers(
    f"{{{{ {_COUNT} }}}}", f"state: {_terminated('137', 'Error')}"
)
_SUCCEEDED: Final = _pod("Succeeded", "PodCompleted") + _containers(
    f"{{{{ {_COUNT} }}}}", f"state: {_terminated('0', 'Completed')}"
)
_FAILED: Final = _pod("Failed", "PodFailed") + _containers(
    f"{{{{ {_COUNT} }}}}", f"state: {_terminated(_EXIT, _REASON)}"
)
_RESTARTED: Final = _containers(
    f"{{{{ add 1 {_COUNT} }}}}",
    f"lastState: {_terminated(_EXIT, _REASON)}",
    f"state: {{running: {{startedAt: {_NOW}}}}}",
    ready=True,
)
