"""One thing that the API server takes and one that it refuses, a rule of mlspec/validation/native/.

tests/test_native.py judges them with mlspec, tests/cluster/test_native_pods.py with a real server, too.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any, Final

Body = dict[str, Any]
ABSENT: Final = object()
"""Stands for a field that is not there."""


@dataclass(frozen=True)
class Case:
    """A field of an object with a value that is fine, and one that is refused with a code."""

    code: str
    kind: str
    path: str
    good: Any
    bad: Any
    ours: str = ""
    """Why mlspec alone refuses it, where it does."""
    since: tuple[int, int] = (1, 31)
    """The first release that refuses it."""

    @property
    def name(self) -> str:
        """How a test calls it."""
        return f"{self.kind} {self.path} {'absent' if self.bad is ABSENT else str(self.bad)[:60]}"


_IMAGE: Final = "ghcr.io/acme/train:1"
_METADATA: Final = {"name": "demo", "namespace": "demo"}
_POD: Final = {
    "serviceAccountName": "default",
    "restartPolicy": "Never",
    "containers": [
        {
            "name": "main",
            "image": _IMAGE,
            "ports": [{"name": "http", "containerPort": 80}],
            "env": [{"name": "A", "value": "1"}],
            "volumeMounts": [{"name": "scratch", "mountPath": "/scratch"}],
        },
        {"name": "other", "image": _IMAGE},
    ],
    "initContainers": [{"name": "first", "image": _IMAGE}],
    "volumes": [{"name": "scratch", "emptyDir": {}}],
}
_TEMPLATE: Final = {"metadata": {"labels": {"app": "demo"}}, "spec": _POD}


def _object(api_version: str, kind: str, **fields: Any) -> Body:
    return {"apiVersion": api_version, "kind": kind, "metadata": dict(_METADATA), **copy.deepcopy(fields)}


BASES: Final[dict[str, Body]] = {
    "Pod": _object("v1", "Pod", spec=_POD),
    "Job": _object("batch/v1", "Job", spec={"template": _TEMPLATE}),
    "Service": _object("v1", "Service", spec={"ports": [{"port": 80}], "selector": {"app": "demo"}}),
    "NetworkPolicy": _object("networking.k8s.io/v1", "NetworkPolicy", spec={"podSelector": {}}),
    "ConfigMap": _object("v1", "ConfigMap", data={"a": "b"}),
    "PersistentVolumeClaim": _object(
        "v1",
        "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}},
    ),
    "ResourceQuota": _object("v1", "ResourceQuota", spec={"hard": {"pods": "4"}}),
    "LimitRange": _object("v1", "LimitRange", spec={"limits": [{"type": "Container", "max": {"cpu": "4"}}]}),
    "Role": _object(
        "rbac.authorization.k8s.io/v1",
        "Role",
        rules=[{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
    ),
    "RoleBinding": _object(
        "rbac.authorization.k8s.io/v1",
        "RoleBinding",
        roleRef={"apiGroup": "rbac.authorization.k8s.io", "kind": "Role", "name": "demo"},
        subjects=[{"kind": "Group", "name": "team", "apiGroup": "rbac.authorization.k8s.io"}],
    ),
}


def changed(base: Body, path: str, value: Any) -> Body:
    """Return an object with one field set or, with ABSENT, left out; `spec.containers.0.name` leads to a field."""
    body = copy.deepcopy(base)
    *way, last = path.split(".")
    at: Any = body
    for part in way:
        at = at[int(part)] if isinstance(at, list) else at.setdefault(part, {})
    last = last.replace("~", ".")
    if value is ABSENT:
        at.pop(last, None)
    else:
        at[last] = copy.deepcopy(value)
    return body


def _main(code: str, field: str, good: Any, bad: Any, **more: Any) -> Case:
    return Case(code, "Pod", f"spec.containers.0.{field}", good, bad, **more)


def _pod(code: str, field: str, good: Any, bad: Any, **more: Any) -> Case:
    return Case(code, "Pod", f"spec.{field}", good, bad, **more)


def _of(kind: str, code: str, path: str, good: Any, bad: Any, **more: Any) -> Case:
    return Case(code, kind, path, good, bad, **more)


_OWNER: Final = {"apiVersion": "v1", "kind": "Pod", "name": "a", "uid": "1"}
_GPU: Final = "nvidia.com/gpu"
_HOOK: Final = {"preStop": {"sleep": {"seconds": 5}}}
_PROBE: Final = {"httpGet": {"port": 80}}
_TERM: Final = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"a": "b"}}}
_SPREAD: Final = {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule"}
_REQUIRED: Final = "requiredDuringSchedulingIgnoredDuringExecution"
_PREFERRED: Final = "preferredDuringSchedulingIgnoredDuringExecution"
_APPARMOR: Final = "container~apparmor~security~beta~kubernetes~io/main"


def _volume(sort: str, **source: Any) -> list[Body]:
    return [{"name": "scratch", sort: source}]


def _projected(*sources: Body) -> list[Body]:
    return _volume("projected", sources=list(sources))


def _nodes(*expressions: Body) -> Body:
    return {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": [{"matchExpressions": list(expressions)}]}}}


def _claim(**spec: Any) -> list[Body]:
    return _volume("ephemeral", volumeClaimTemplate={"spec": spec})


_METADATA_CASES: Final = (
    _of("Pod", "MLS320", "metadata.name", "a.b-c", "a_b"),
    _of("Role", "MLS320", "metadata.name", "A:b", "a/b"),
    _of("Service", "MLS210", "metadata.name", "x" * 63, "x" * 64),
    _of("Job", "MLS210", "metadata.name", "x" * 63, "x" * 64),
    _of("Job", "MLS320", "metadata.name", "a.b", "a..b"),
    _of("ConfigMap", "MLS320", "metadata.labels", {"a.b/c": ""}, {"a/b/c": ""}),
    _of("ConfigMap", "MLS320", "metadata.labels", {"a": "B_c.d"}, {"a": "b "}),
    _of("ConfigMap", "MLS320", "metadata.annotations", {"A.b/c": " "}, {"a b": ""}),
    _of("ConfigMap", "MLS320", "metadata.annotations", {"a": "x" * 262143}, {"a": "x" * 262144}),
    _of("ConfigMap", "MLS320", "metadata.finalizers", ["a.b/c"], ["c"]),
    _of("ConfigMap", "MLS320", "metadata.finalizers", ["orphan"], ["orphan", "foregroundDeletion"]),
    _of("ConfigMap", "MLS320", "metadata.ownerReferences", [_OWNER], [{**_OWNER, "uid": ""}]),
    _of(
        "ConfigMap",
        "MLS320",
        "metadata.ownerReferences",
        [{**_OWNER, "controller": True}],
        [{**_OWNER, "controller": True}, {**_OWNER, "name": "b", "uid": "2", "controller": True}],
    ),
)
_POD_CASES: Final = (
    _pod("MLS321", "restartPolicy", "OnFailure", "Sometimes"),
    _pod("MLS321", "dnsPolicy", "Default", "Google"),
    _pod("MLS321", "serviceAccountName", "default", "De fault"),
    _pod("MLS321", "nodeName", "node-1.a", "node_1"),
    _pod("MLS321", "hostname", "a-b", "a.b"),
    _pod("MLS321", "subdomain", "a-b", "a.b"),
    _pod("MLS321", "priorityClassName", ABSENT, "A"),
    _pod("MLS321", "runtimeClassName", ABSENT, "A"),
    _pod("MLS321", "activeDeadlineSeconds", 1, 0),
    _pod("MLS321", "preemptionPolicy", ABSENT, "Maybe"),
    _pod("MLS321", "hostAliases", [{"ip": "10.0.0.1", "hostnames": ["a.b"]}], [{"ip": "10.0.0", "hostnames": ["a"]}]),
    _pod("MLS321", "hostAliases", [{"ip": "::1", "hostnames": ["a"]}], [{"ip": "::1", "hostnames": ["a_b"]}]),
    _pod("MLS321", "dnsConfig", {"nameservers": ["10.0.0.1"]}, {"nameservers": ["one"]}),
    _pod("MLS321", "dnsConfig", {"nameservers": ["10.0.0.1"] * 3}, {"nameservers": ["10.0.0.1"] * 4}),
    _pod("MLS321", "dnsConfig", {"searches": ["a.b."]}, {"searches": ["a b"]}),
    _pod("MLS321", "dnsConfig", {"searches": ["a"] * 32}, {"searches": ["a"] * 33}),
    _pod("MLS321", "dnsConfig", {"options": [{"name": "ndots", "value": "1"}]}, {"options": [{"value": "1"}]}),
    _pod("MLS321", "dnsPolicy", "ClusterFirst", "None"),
    _pod("MLS321", "readinessGates", [{"conditionType": "a.b/c"}], [{"conditionType": "a b"}]),
    _pod("MLS321", "schedulingGates", [{"name": "a.b/c"}], [{"name": "a"}, {"name": "a"}]),
    _pod("MLS321", "ephemeralContainers", ABSENT, [{"name": "debug", "image": _IMAGE}]),
    _pod("MLS321", "hostnameOverride", "a.b", "a_b", since=(1, 35)),
    _pod("MLS323", "resources", {"requests": {"cpu": "1"}}, {"requests": {"storage": "1"}}, since=(1, 34)),
    _pod(
        "MLS323",
        "resources",
        {"limits": {"cpu": "2"}},
        {"requests": {"cpu": "2"}, "limits": {"cpu": "1"}},
        since=(1, 34),
    ),
    _pod(
        "MLS321",
        "resourceClaims",
        [{"name": "a", "resourceClaimName": "b"}],
        [{"name": "a"}],
        since=(1, 34),
    ),
    _of(
        "Pod",
        "MLS321",
        "metadata.annotations",
        {"controller.kubernetes.io/pod-deletion-cost": "-1"},
        {"controller.kubernetes.io/pod-deletion-cost": "+1"},
    ),
    _of("Pod", "MLS321", f"metadata.annotations.{_APPARMOR}", "runtime/default", "best"),
    _of(
        "Pod",
        "MLS321",
        "metadata.annotations",
        {"container.apparmor.security.beta.kubernetes.io/other": "unconfined"},
        {"container.apparmor.security.beta.kubernetes.io/none": "unconfined"},
    ),
)
_CONTAINER_CASES: Final = (
    _pod("MLS322", "containers", [{"name": "a", "image": "b"}], []),
    _pod("MLS322", "containers.1.name", "b", "main"),
    _pod("MLS322", "initContainers.0.name", "b", "main"),
    _main("MLS322", "name", "1-a", "a.b"),
    _main("MLS322", "image", "a", " a"),
    _main("MLS322", "image", "a", ABSENT),
    _main("MLS322", "imagePullPolicy", "Never", "Sometimes"),
    _main("MLS322", "terminationMessagePolicy", "File", "Paper"),
    _main("MLS322", "ports", [{"containerPort": 65535}], [{"containerPort": 65536}]),
    _main("MLS322", "ports", [{"containerPort": 1, "name": "a"}], [{"containerPort": 1, "name": "1"}]),
    _main(
        "MLS322",
        "ports",
        [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "b"}],
        [{"containerPort": 1, "name": "a"}, {"containerPort": 2, "name": "a"}],
    ),
    _main("MLS322", "ports", [{"containerPort": 1, "protocol": "UDP"}], [{"containerPort": 1, "protocol": "udp"}]),
    _main("MLS322", "ports", [{"containerPort": 1, "hostPort": 1}], [{"containerPort": 1, "hostPort": -1}]),
    _main(
        "MLS322",
        "ports",
        [{"containerPort": 1, "hostPort": 1}, {"containerPort": 2, "hostPort": 1, "protocol": "UDP"}],
        [{"containerPort": 1, "hostPort": 1}, {"containerPort": 2, "hostPort": 1}],
    ),
    _main("MLS322", "env", [{"name": "a-b.C_1"}], [{"name": "a=b"}]),
    _main("MLS322", "env", [{"name": "A"}], [{"name": "A=B"}]),
    _main("MLS322", "env", [{"name": "A"}], [{"name": "A", "valueFrom": {}}]),
    _main(
        "MLS322",
        "env",
        [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
        [{"name": "A", "value": "1", "valueFrom": {"fieldRef": {"fieldPath": "status.podIP"}}}],
    ),
    _main(
        "MLS322",
        "env",
        [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels['a.b/c']"}}}],
        [{"name": "A", "valueFrom": {"fieldRef": {"fieldPath": "metadata.labels"}}}],
    ),
    _main(
        "MLS322",
        "env",
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1m"}}}],
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.cpu", "divisor": "1k"}}}],
    ),
    _main(
        "MLS322",
        "env",
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "limits.memory", "divisor": "1Mi"}}}],
        [{"name": "A", "valueFrom": {"resourceFieldRef": {"resource": "memory"}}}],
    ),
    _main(
        "MLS322",
        "env",
        [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b_C"}}}],
        [{"name": "A", "valueFrom": {"secretKeyRef": {"name": "a", "key": "b c"}}}],
    ),
    _main(
        "MLS322",
        "env",
        [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "a", "key": "b"}}}],
        [{"name": "A", "valueFrom": {"configMapKeyRef": {"name": "A", "key": "b"}}}],
    ),
    _main("MLS322", "envFrom", [{"secretRef": {"name": "a"}}], [{"prefix": "A"}]),
    _main("MLS322", "envFrom", [{"configMapRef": {"name": "a"}}], [{"configMapRef": {"name": "A"}}]),
    _main("MLS322", "livenessProbe", _PROBE, {}),
    _main("MLS322", "livenessProbe", _PROBE, {**_PROBE, "exec": {"command": ["a"]}}),
    _main("MLS322", "livenessProbe", {"exec": {"command": ["a"]}}, {"exec": {}}),
    _main("MLS322", "livenessProbe", {**_PROBE, "periodSeconds": 0}, {**_PROBE, "periodSeconds": -1}),
    _main("MLS322", "livenessProbe", {**_PROBE, "successThreshold": 1}, {**_PROBE, "successThreshold": 2}),
    _main(
        "MLS322",
        "startupProbe",
        {**_PROBE, "terminationGracePeriodSeconds": 1},
        {**_PROBE, "terminationGracePeriodSeconds": 0},
    ),
    _main("MLS322", "readinessProbe", _PROBE, {**_PROBE, "terminationGracePeriodSeconds": 1}),
    _main("MLS322", "readinessProbe", {"tcpSocket": {"port": "http"}}, {"tcpSocket": {"port": "h_p"}}),
    _main("MLS322", "readinessProbe", {"grpc": {"port": 1}}, {"grpc": {"port": 0}}),
    _main("MLS322", "readinessProbe", _PROBE, {"httpGet": {"port": 80, "scheme": "http"}}),
    _main(
        "MLS322",
        "readinessProbe",
        {"httpGet": {"port": 80, "httpHeaders": [{"name": "A-b", "value": "c"}]}},
        {"httpGet": {"port": 80, "httpHeaders": [{"name": "A b", "value": "c"}]}},
    ),
    _main("MLS322", "lifecycle", _HOOK, {"preStop": {}}),
    _main("MLS322", "lifecycle", _HOOK, {"preStop": {"sleep": {"seconds": 31}}}),
    _main(
        "MLS322",
        "resizePolicy",
        [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        [{"resourceName": "gpu", "restartPolicy": "NotRequired"}],
        since=(1, 33),
    ),
    _main(
        "MLS322",
        "resizePolicy",
        [{"resourceName": "cpu", "restartPolicy": "NotRequired"}],
        [{"resourceName": "cpu", "restartPolicy": "RestartContainer"}],
        since=(1, 33),
    ),
    _main("MLS322", "restartPolicy", ABSENT, "Perhaps", since=(1, 35)),
    _pod("MLS322", "initContainers.0.restartPolicy", "Always", "Perhaps", since=(1, 35)),
    _pod("MLS322", "initContainers.0.livenessProbe", ABSENT, _PROBE),
)
_RESOURCE_CASES: Final = (
    _main("MLS323", "resources", {"limits": {"cpu": "1"}}, {"limits": {"cpus": "1"}}),
    _main("MLS323", "resources", {"limits": {"cpu": "1"}}, {"limits": {"pods": "1"}}),
    _main("MLS323", "resources", {"limits": {"cpu": "1"}}, {"limits": {"cpu": "-1"}}),
    _main(
        "MLS323",
        "resources",
        {"requests": {"cpu": "1000m"}, "limits": {"cpu": "1"}},
        {"requests": {"cpu": "1001m"}, "limits": {"cpu": "1"}},
    ),
    _main("MLS323", "resources", {"limits": {_GPU: "1"}}, {"requests": {_GPU: "1"}}),
    _main("MLS323", "resources", {"limits": {_GPU: "1"}}, {"limits": {_GPU: "500m"}}),
    _main(
        "MLS323",
        "resources",
        {"requests": {_GPU: "1"}, "limits": {_GPU: "1"}},
        {"requests": {_GPU: "1"}, "limits": {_GPU: "2"}},
    ),
    _main("MLS323", "resources", {"limits": {"a.b/c": "1"}}, {"limits": {"requests.a.b/c": "1"}}),
    _main(
        "MLS323", "resources", {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}}, {"limits": {"hugepages-2Mi": "4Mi"}}
    ),
    _main(
        "MLS323",
        "resources",
        {"limits": {"hugepages-2Mi": "4Mi", "cpu": "1"}},
        {"limits": {"hugepages-2Mi": "3Mi", "cpu": "1"}},
    ),
    _main("MLS323", "resources", {"limits": {"cpu": "1"}}, {"claims": [{"name": "a"}]}, since=(1, 34)),
    _of("ResourceQuota", "MLS323", "spec.hard", {"requests.nvidia.com/gpu": "4"}, {"gpus": "4"}),
    _of("ResourceQuota", "MLS323", "spec.hard", {"count/jobs.batch": "4"}, {"storage": "4"}),
    _of("ResourceQuota", "MLS323", "spec.hard", {"pods": "4"}, {"pods": "4500m"}),
    _of("ResourceQuota", "MLS323", "spec.hard", {"pods": "0"}, {"pods": "-1"}),
    _of("ResourceQuota", "MLS323", "spec.scopes", ["NotBestEffort"], ["Best"]),
    _of("ResourceQuota", "MLS323", "spec.scopes", ["BestEffort"], ["BestEffort", "NotBestEffort"]),
    _of("ResourceQuota", "MLS323", "spec.scopes", ["Terminating"], ["VolumeAttributesClass"]),
    _of(
        "ResourceQuota",
        "MLS323",
        "spec.scopeSelector",
        {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In", "values": ["a"]}]},
        {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "In"}]},
    ),
    _of(
        "ResourceQuota",
        "MLS323",
        "spec.scopeSelector",
        {"matchExpressions": [{"scopeName": "BestEffort", "operator": "Exists"}]},
        {"matchExpressions": [{"scopeName": "BestEffort", "operator": "DoesNotExist"}]},
    ),
    _of("LimitRange", "MLS323", "spec.limits.0.type", "Pod", "Deployment"),
    _of("LimitRange", "MLS323", "spec.limits.0.max", {"memory": "1Gi"}, {"pods": "4"}),
    _of("LimitRange", "MLS323", "spec.limits.0.min", {"cpu": "4"}, {"cpu": "5"}),
    _of("LimitRange", "MLS323", "spec.limits.0.default", {"cpu": "4"}, {"cpu": "5"}),
    _of("LimitRange", "MLS323", "spec.limits.0.defaultRequest", {"cpu": "4"}, {"cpu": "5"}),
    _of("LimitRange", "MLS323", "spec.limits.0.maxLimitRequestRatio", {"cpu": "1"}, {"cpu": "0"}),
    _of(
        "LimitRange",
        "MLS323",
        "spec.limits",
        [{"type": "Pod", "max": {"cpu": 1}}],
        [{"type": "Pod", "default": {"cpu": 1}}],
    ),
    _of(
        "LimitRange",
        "MLS323",
        "spec.limits",
        [{"type": "PersistentVolumeClaim", "max": {"storage": 1}}],
        [{"type": "PersistentVolumeClaim", "default": {"storage": 1}}],
    ),
    _of(
        "LimitRange",
        "MLS323",
        "spec.limits",
        [{"type": "Container", "default": {_GPU: 1}, "defaultRequest": {_GPU: 1}}],
        [{"type": "Container", "default": {_GPU: 2}, "defaultRequest": {_GPU: 1}}],
    ),
    _of("LimitRange", "MLS323", "spec.limits", [{"type": "Pod"}], [{"type": "Pod"}, {"type": "Pod"}]),
)
_VOLUME_CASES: Final = (
    _pod("MLS324", "volumes.0.name", "scratch", "Scratch"),
    _pod("MLS324", "volumes", _volume("emptyDir"), [{"name": "scratch", "emptyDir": {}}] * 2),
    _pod("MLS324", "volumes.0.emptyDir", {}, {"sizeLimit": "-1"}),
    _pod("MLS324", "volumes.0.hostPath", ABSENT, {"path": "/a"}),
    _pod("MLS324", "volumes", _volume("hostPath", path="/a"), _volume("hostPath", path="/a/../b")),
    _pod("MLS324", "volumes", _volume("hostPath", path="/a", type="File"), _volume("hostPath", path="/a", type="Any")),
    _pod("MLS324", "volumes", _volume("secret", secretName="a"), _volume("secret")),
    _pod(
        "MLS324",
        "volumes",
        _volume("secret", secretName="a", defaultMode=0o777),
        _volume("secret", secretName="a", defaultMode=0o1000),
    ),
    _pod("MLS324", "volumes", _volume("configMap", name="a"), _volume("configMap")),
    _pod(
        "MLS324",
        "volumes",
        _volume("configMap", name="a", items=[{"key": "a", "path": "b/c"}]),
        _volume("configMap", name="a", items=[{"key": "a", "path": "../c"}]),
    ),
    _pod(
        "MLS324",
        "volumes",
        _volume("configMap", name="a", items=[{"key": "a", "path": "b", "mode": 1}]),
        _volume("configMap", name="a", items=[{"key": "", "path": "b"}]),
    ),
    _pod(
        "MLS324",
        "volumes",
        _volume("persistentVolumeClaim", claimName="a"),
        _volume("persistentVolumeClaim", claimName=""),
    ),
    _pod("MLS324", "volumes", _volume("nfs", server="a", path="/b"), _volume("nfs", server="a", path="b")),
    _pod("MLS324", "volumes", _volume("csi", driver="a.b"), _volume("csi", driver="a b")),
    _pod(
        "MLS324",
        "volumes",
        _volume("iscsi", targetPortal="a", iqn="iqn.2001-04.com.a:b", lun=1),
        _volume("iscsi", targetPortal="", iqn="iqn.2001-04.com.a:b", lun=1),
    ),
    _pod("MLS324", "volumes", _volume("image", reference="a"), _volume("image", reference=""), since=(1, 35)),
    _pod(
        "MLS324",
        "volumes",
        _volume("downwardAPI", items=[{"path": "a", "fieldRef": {"fieldPath": "metadata.labels"}}]),
        _volume("downwardAPI", items=[{"path": "a", "fieldRef": {"fieldPath": "status.podIP"}}]),
    ),
    _pod(
        "MLS324",
        "volumes",
        _volume(
            "downwardAPI",
            items=[{"path": "a", "resourceFieldRef": {"resource": "limits.cpu", "containerName": "main"}}],
        ),
        _volume("downwardAPI", items=[{"path": "a", "resourceFieldRef": {"resource": "limits.cpu"}}]),
    ),
    _pod("MLS324", "volumes", _projected({"secret": {"name": "a"}}), _projected({"secret": {"name": ""}})),
    _pod(
        "MLS324",
        "volumes",
        _projected({"secret": {"name": "a"}}, {"configMap": {"name": "a"}}),
        _projected({"secret": {"name": "a"}, "configMap": {"name": "a"}}),
    ),
    _pod(
        "MLS324",
        "volumes",
        _projected({"serviceAccountToken": {"path": "a", "expirationSeconds": 600}}),
        _projected({"serviceAccountToken": {"path": "a", "expirationSeconds": 599}}),
    ),
    _pod(
        "MLS324",
        "volumes",
        _projected(*({"secret": {"name": "a", "items": [{"key": "a", "path": path}]}} for path in "ab")),
        _projected(*({"secret": {"name": "a", "items": [{"key": "a", "path": "a"}]}} for _ in "ab")),
    ),
    _pod(
        "MLS329",
        "volumes",
        _claim(accessModes=["ReadWriteOnce"], resources={"requests": {"storage": "1Gi"}}),
        _claim(accessModes=["ReadWriteOnce"]),
    ),
    _pod(
        "MLS324",
        "volumes",
        _claim(accessModes=["ReadWriteOnce"], resources={"requests": {"storage": "1Gi"}}),
        _volume("ephemeral"),
    ),
    _main("MLS324", "volumeMounts.0.name", "scratch", "scratches"),
    _main("MLS324", "volumeMounts.0.mountPath", "/a", ""),
    _main(
        "MLS324",
        "volumeMounts",
        [{"name": "scratch", "mountPath": "/a"}, {"name": "scratch", "mountPath": "/b"}],
        [{"name": "scratch", "mountPath": "/a"}, {"name": "scratch", "mountPath": "/a"}],
    ),
    _main("MLS324", "volumeMounts.0.subPath", "a/b", "a/../b"),
    _main("MLS324", "volumeMounts.0.subPath", "a", "/a"),
    _main(
        "MLS324",
        "volumeMounts",
        [{"name": "scratch", "mountPath": "/a", "subPathExpr": "$(A)"}],
        [{"name": "scratch", "mountPath": "/a", "subPathExpr": "$(A)", "subPath": "a"}],
    ),
    _main("MLS324", "volumeMounts.0.mountPropagation", "HostToContainer", "Bidirectional"),
    _main("MLS324", "volumeMounts.0.mountPropagation", "None", "Both"),
    _main("MLS324", "volumeMounts.0.recursiveReadOnly", "Disabled", "Enabled"),
    _main("MLS324", "volumeDevices", ABSENT, [{"name": "scratch", "devicePath": "/dev/a"}]),
    _main("MLS324", "volumeDevices", ABSENT, [{"name": "none", "devicePath": "/dev/a"}]),
)
_PLACE_CASES: Final = (
    _pod("MLS325", "nodeSelector", {"a.b/c": "d"}, {"a.b/c": "d e"}),
    _pod("MLS325", "tolerations", [{"operator": "Exists"}], [{"operator": "Equal"}]),
    _pod("MLS325", "tolerations", [{"key": "a", "value": "b"}], [{"key": "a b"}]),
    _pod(
        "MLS325",
        "tolerations",
        [{"key": "a", "operator": "Exists"}],
        [{"key": "a", "operator": "Exists", "value": "b"}],
    ),
    _pod("MLS325", "tolerations", [{"key": "a", "effect": "NoSchedule"}], [{"key": "a", "effect": "Never"}]),
    _pod("MLS325", "tolerations", [{"key": "a", "operator": "Equal"}], [{"key": "a", "operator": "Like"}]),
    _pod(
        "MLS325",
        "tolerations",
        [{"key": "a", "effect": "NoExecute", "tolerationSeconds": 1}],
        [{"key": "a", "effect": "NoSchedule", "tolerationSeconds": 1}],
    ),
    _pod(
        "MLS325",
        "affinity",
        _nodes({"key": "a", "operator": "Exists"}),
        {"nodeAffinity": {_REQUIRED: {"nodeSelectorTerms": []}}},
    ),
    _pod(
        "MLS325",
        "affinity",
        _nodes({"key": "a", "operator": "In", "values": ["b"]}),
        _nodes({"key": "a", "operator": "In"}),
    ),
    _pod(
        "MLS325",
        "affinity",
        _nodes({"key": "a", "operator": "Gt", "values": ["1"]}),
        _nodes({"key": "a", "operator": "Gt"}),
    ),
    _pod("MLS325", "affinity", _nodes({"key": "a", "operator": "Exists"}), _nodes({"key": "a", "operator": "Is"})),
    _pod(
        "MLS325",
        "affinity",
        _nodes({"key": "a", "operator": "Exists"}),
        _nodes({"key": "a", "operator": "Exists", "values": ["b"]}),
    ),
    _pod(
        "MLS325",
        "affinity",
        {
            "nodeAffinity": {
                _REQUIRED: {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["a"]}]}
                    ]
                }
            }
        },
        {
            "nodeAffinity": {
                _REQUIRED: {
                    "nodeSelectorTerms": [{"matchFields": [{"key": "metadata.uid", "operator": "In", "values": ["a"]}]}]
                }
            }
        },
    ),
    _pod(
        "MLS325",
        "affinity",
        {"nodeAffinity": {_PREFERRED: [{"weight": 1, "preference": {}}]}},
        {"nodeAffinity": {_PREFERRED: [{"weight": 101, "preference": {}}]}},
    ),
    _pod(
        "MLS325",
        "affinity",
        {"podAffinity": {_REQUIRED: [_TERM]}},
        {"podAffinity": {_REQUIRED: [{**_TERM, "topologyKey": ""}]}},
    ),
    _pod(
        "MLS325",
        "affinity",
        {"podAntiAffinity": {_REQUIRED: [_TERM]}},
        {"podAntiAffinity": {_REQUIRED: [{**_TERM, "namespaces": ["A"]}]}},
    ),
    _pod(
        "MLS325",
        "affinity",
        {"podAntiAffinity": {_PREFERRED: [{"weight": 100, "podAffinityTerm": _TERM}]}},
        {"podAntiAffinity": {_PREFERRED: [{"weight": 0, "podAffinityTerm": _TERM}]}},
    ),
    _pod(
        "MLS325",
        "affinity",
        {"podAffinity": {_REQUIRED: [{**_TERM, "matchLabelKeys": ["c"]}]}},
        {"podAffinity": {_REQUIRED: [{"topologyKey": "zone", "matchLabelKeys": ["c"]}]}},
    ),
    _pod("MLS325", "topologySpreadConstraints", [_SPREAD], [{**_SPREAD, "maxSkew": 0}]),
    _pod("MLS325", "topologySpreadConstraints", [_SPREAD], [_SPREAD, _SPREAD]),
    _pod("MLS325", "topologySpreadConstraints", [_SPREAD], [{**_SPREAD, "whenUnsatisfiable": "Wait"}]),
    _pod(
        "MLS325",
        "topologySpreadConstraints",
        [{**_SPREAD, "minDomains": 1}],
        [{**_SPREAD, "minDomains": 1, "whenUnsatisfiable": "ScheduleAnyway"}],
    ),
    _pod(
        "MLS325",
        "topologySpreadConstraints",
        [{**_SPREAD, "nodeTaintsPolicy": "Honor"}],
        [{**_SPREAD, "nodeTaintsPolicy": "No"}],
    ),
    _pod(
        "MLS325",
        "topologySpreadConstraints",
        [{**_SPREAD, "labelSelector": {"matchLabels": {"a": "b"}}}],
        [{**_SPREAD, "labelSelector": {"matchLabels": {"a": "b "}}}],
    ),
)
_SECURITY_CASES: Final = (
    _pod("MLS326", "securityContext", {"runAsUser": 0}, {"runAsUser": -1}),
    _pod("MLS326", "securityContext", {"runAsGroup": 2**31 - 1}, {"runAsGroup": 2**31}),
    _pod("MLS326", "securityContext", {"fsGroup": 1}, {"fsGroup": -1}),
    _pod("MLS326", "securityContext", {"supplementalGroups": [1]}, {"supplementalGroups": [1, -1]}),
    _pod("MLS326", "securityContext", {"fsGroupChangePolicy": "Always"}, {"fsGroupChangePolicy": "Never"}),
    _pod(
        "MLS326",
        "securityContext",
        {"supplementalGroupsPolicy": "Merge"},
        {"supplementalGroupsPolicy": "Any"},
        since=(1, 33),
    ),
    _pod("MLS326", "securityContext", {"seccompProfile": {"type": "Unconfined"}}, {"seccompProfile": {"type": "None"}}),
    _pod(
        "MLS326",
        "securityContext",
        {"seccompProfile": {"type": "Localhost", "localhostProfile": "a"}},
        {"seccompProfile": {"type": "Localhost"}},
    ),
    _pod(
        "MLS326",
        "securityContext",
        {"appArmorProfile": {"type": "RuntimeDefault"}},
        {"appArmorProfile": {"type": "RuntimeDefault", "localhostProfile": "a"}},
    ),
    _pod(
        "MLS326",
        "securityContext",
        {"sysctls": [{"name": "net.a", "value": "1"}]},
        {"sysctls": [{"name": "net a", "value": "1"}]},
    ),
    _pod(
        "MLS326",
        "securityContext",
        {"sysctls": [{"name": "net.a", "value": "1"}]},
        {"sysctls": [{"name": "net.a", "value": "1"}] * 2},
    ),
    _pod("MLS326", "os", {"name": "linux"}, {"name": "plan9"}),
    _main("MLS326", "securityContext", {"runAsUser": 1}, {"runAsUser": -1}),
    _main("MLS326", "securityContext", {"procMount": "Default"}, {"procMount": "Unmasked"}, since=(1, 33)),
    _main(
        "MLS326",
        "securityContext",
        {"allowPrivilegeEscalation": True, "privileged": True},
        {"allowPrivilegeEscalation": False, "privileged": True},
    ),
    _main("MLS326", "securityContext", {"seccompProfile": {"type": "RuntimeDefault"}}, {"seccompProfile": {}}),
)
_JOB_CASES: Final = (
    _of("Job", "MLS327", "spec.template.spec.restartPolicy", "OnFailure", "Always"),
    _of("Job", "MLS327", "spec.template.spec.restartPolicy", "Never", ABSENT),
    _of("Job", "MLS324", "spec.template.spec.containers.0.volumeMounts.0.name", "scratch", "none"),
    *(
        _of("Job", "MLS327", f"spec.{field}", 0, -1)
        for field in ("parallelism", "completions", "activeDeadlineSeconds", "backoffLimit", "ttlSecondsAfterFinished")
    ),
    _of(
        "Job",
        "MLS327",
        "spec",
        {"template": _TEMPLATE, "completionMode": "Indexed"},
        {"template": _TEMPLATE, "completionMode": "Indexed", "parallelism": 1},
    ),
    _of("Job", "MLS327", "spec.completionMode", "NonIndexed", "Any"),
    _of("Job", "MLS327", "spec.maxFailedIndexes", ABSENT, 1),
    _of("Job", "MLS327", "spec.backoffLimitPerIndex", ABSENT, 1),
    _of("Job", "MLS327", "spec.podReplacementPolicy", "Failed", "Never"),
    _of("Job", "MLS327", "spec.managedBy", "a.b/c", "a", since=(1, 32)),
    _of("Job", "MLS327", "spec.selector", ABSENT, {"matchLabels": {"app": "demo"}}),
    _of(
        "Job",
        "MLS327",
        "spec.podFailurePolicy",
        {"rules": [{"action": "Ignore", "onPodConditions": [{"type": "DisruptionTarget", "status": "True"}]}]},
        {"rules": [{"action": "Ignore"}]},
    ),
    _of(
        "Job",
        "MLS327",
        "spec.podFailurePolicy",
        {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [1, 2]}}]},
        {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "In", "values": [2, 1]}}]},
    ),
    _of(
        "Job",
        "MLS327",
        "spec.podFailurePolicy",
        {"rules": [{"action": "FailJob", "onExitCodes": {"operator": "NotIn", "values": [0]}}]},
        {"rules": [{"action": "FailIndex", "onExitCodes": {"operator": "In", "values": [0]}}]},
    ),
    _of(
        "Job",
        "MLS327",
        "spec.podFailurePolicy",
        {"rules": [{"action": "Count", "onExitCodes": {"operator": "In", "values": [1], "containerName": "main"}}]},
        {"rules": [{"action": "Count", "onExitCodes": {"operator": "In", "values": [1], "containerName": "none"}}]},
    ),
)
_INGRESS: Final = {"from": [{"ipBlock": {"cidr": "10.0.0.0/8"}}], "ports": [{"port": 80}]}
_NETWORK_CASES: Final = (
    _of("Service", "MLS328", "spec.ports", [{"port": 80}], []),
    _of("Service", "MLS328", "spec.ports.0.port", 65535, 0),
    _of("Service", "MLS328", "spec.ports.0.targetPort", "http", "h_p"),
    _of("Service", "MLS328", "spec.ports.0.targetPort", 80, 65536),
    _of("Service", "MLS328", "spec.ports.0.protocol", "UDP", "udp"),
    _of("Service", "MLS328", "spec.ports.0.name", "a-b", "A"),
    _of("Service", "MLS328", "spec.ports.0.appProtocol", "a.b/c", "a b"),
    _of("Service", "MLS328", "spec.ports.0.nodePort", ABSENT, 30000),
    _of(
        "Service",
        "MLS328",
        "spec.ports",
        [{"port": 1, "name": "a"}, {"port": 2, "name": "b"}],
        [{"port": 1, "name": "a"}, {"port": 2}],
    ),
    _of(
        "Service",
        "MLS328",
        "spec.ports",
        [{"port": 1, "name": "a"}, {"port": 1, "name": "b", "protocol": "UDP"}],
        [{"port": 1, "name": "a"}, {"port": 1, "name": "b"}],
    ),
    _of("Service", "MLS328", "spec.selector", {"a": "b"}, {"a": "b c"}),
    _of("Service", "MLS328", "spec.type", "ClusterIP", "External"),
    _of("Service", "MLS328", "spec.clusterIP", "None", "none"),
    _of("Service", "MLS328", "spec.sessionAffinity", "ClientIP", "Cookie"),
    _of(
        "Service",
        "MLS328",
        "spec",
        {"ports": [{"port": 1}], "sessionAffinity": "ClientIP"},
        {
            "ports": [{"port": 1}],
            "sessionAffinity": "ClientIP",
            "sessionAffinityConfig": {"clientIP": {"timeoutSeconds": 0}},
        },
    ),
    _of("Service", "MLS328", "spec.externalTrafficPolicy", ABSENT, "Local"),
    _of("Service", "MLS328", "spec.internalTrafficPolicy", "Local", "Near"),
    _of("Service", "MLS328", "spec.trafficDistribution", "PreferClose", "PreferFar"),
    _of("Service", "MLS328", "spec.externalIPs", ["10.0.0.1"], ["10.0.0"]),
    _of("Service", "MLS328", "spec.loadBalancerClass", ABSENT, "a.b/c"),
    _of("Service", "MLS328", "spec.ipFamilies", ["IPv4"], ["IPv5"]),
    _of("Service", "MLS328", "spec.ipFamilyPolicy", "SingleStack", "Stack"),
    _of("NetworkPolicy", "MLS328", "spec.podSelector", {"matchLabels": {"a": "b"}}, {"matchLabels": {"a": "b "}}),
    _of("NetworkPolicy", "MLS328", "spec.policyTypes", ["Ingress"], ["In"]),
    _of("NetworkPolicy", "MLS328", "spec.ingress", [_INGRESS], [{"from": [{}]}]),
    _of("NetworkPolicy", "MLS328", "spec.ingress", [_INGRESS], [{"ports": [{"port": 0}]}]),
    _of("NetworkPolicy", "MLS328", "spec.ingress", [_INGRESS], [{"ports": [{"port": 80, "protocol": "tcp"}]}]),
    _of(
        "NetworkPolicy",
        "MLS328",
        "spec.ingress",
        [{"ports": [{"port": 1, "endPort": 2}]}],
        [{"ports": [{"port": 2, "endPort": 1}]}],
    ),
    _of(
        "NetworkPolicy",
        "MLS328",
        "spec.ingress",
        [{"ports": [{"port": "a"}]}],
        [{"ports": [{"port": "a", "endPort": 1}]}],
    ),
    _of(
        "NetworkPolicy",
        "MLS328",
        "spec.egress",
        [{"to": [{"ipBlock": {"cidr": "::/0"}}]}],
        [{"to": [{"ipBlock": {"cidr": "10.0.0.0"}}]}],
    ),
    _of(
        "NetworkPolicy",
        "MLS328",
        "spec.egress",
        [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.1.0.0/16"]}}]}],
        [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8", "except": ["10.0.0.0/8"]}}]}],
    ),
    _of(
        "NetworkPolicy",
        "MLS328",
        "spec.egress",
        [{"to": [{"podSelector": {}, "namespaceSelector": {}}]}],
        [{"to": [{"podSelector": {}, "ipBlock": {"cidr": "10.0.0.0/8"}}]}],
    ),
    _of(
        "NetworkPolicy",
        "MLS328",
        "spec.egress",
        [{"to": [{"ipBlock": {"cidr": "10.0.0.0/8"}}]}],
        [{"to": [{"ipBlock": {"cidr": "10.0.0.1/8"}}]}],
        since=(1, 36),
    ),
    _of(
        "NetworkPolicy",
        "MLS328",
        "spec.podSelector",
        {"matchExpressions": [{"key": "a", "operator": "In", "values": ["b"]}]},
        {"matchExpressions": [{"key": "a", "operator": "In"}]},
    ),
)
_OTHER_CASES: Final = (
    _of("ConfigMap", "MLS329", "data", {"a_B.c": "x"}, {"a b": "x"}),
    _of("ConfigMap", "MLS329", "data", {"a": "x" * 2**20}, {"a": "x" * (2**20 + 1)}),
    _of("ConfigMap", "MLS329", "binaryData", {"b": "eHg="}, {"b": "eHg"}),
    _of("ConfigMap", "MLS329", "binaryData", {"b": "eHg="}, {"a": "eHg="}),
    _of(
        "PersistentVolumeClaim",
        "MLS329",
        "spec.accessModes",
        ["ReadWriteOncePod"],
        ["ReadWriteOncePod", "ReadWriteMany"],
    ),
    _of("PersistentVolumeClaim", "MLS329", "spec.accessModes", ["ReadOnlyMany"], ["ReadMany"]),
    _of("PersistentVolumeClaim", "MLS329", "spec.accessModes", ["ReadOnlyMany"], []),
    _of(
        "PersistentVolumeClaim",
        "MLS329",
        "spec.resources",
        {"requests": {"storage": "1"}},
        {"requests": {"storage": "0"}},
    ),
    _of("PersistentVolumeClaim", "MLS329", "spec.storageClassName", "a.b", "A"),
    _of("PersistentVolumeClaim", "MLS329", "spec.volumeMode", "Block", "File"),
    _of(
        "PersistentVolumeClaim",
        "MLS329",
        "spec.dataSourceRef",
        {"kind": "PersistentVolumeClaim", "name": "a"},
        {"kind": "Secret", "name": "a"},
    ),
    _of(
        "Role",
        "MLS329",
        "rules",
        [{"apiGroups": [""], "resources": ["pods"], "verbs": ["get"]}],
        [{"resources": ["pods"], "verbs": ["get"]}],
    ),
    _of("Role", "MLS329", "rules", [], [{"nonResourceURLs": ["/"], "verbs": ["get"]}]),
    _of("RoleBinding", "MLS329", "roleRef.kind", "ClusterRole", "Group"),
    _of("RoleBinding", "MLS329", "roleRef.apiGroup", "rbac.authorization.k8s.io", "a.b"),
    _of("RoleBinding", "MLS329", "roleRef.name", "a:b", "a/b"),
    _of("RoleBinding", "MLS329", "subjects.0.kind", "User", "Robot"),
    _of("RoleBinding", "MLS329", "subjects.0.apiGroup", "rbac.authorization.k8s.io", "a.b"),
    _of(
        "RoleBinding",
        "MLS329",
        "subjects",
        [{"kind": "ServiceAccount", "name": "a", "namespace": "b"}],
        [{"kind": "ServiceAccount", "name": "A", "namespace": "b"}],
    ),
)
CASES: Final[tuple[Case, ...]] = (
    *_METADATA_CASES,
    *_POD_CASES,
    *_CONTAINER_CASES,
    *_RESOURCE_CASES,
    *_VOLUME_CASES,
    *_PLACE_CASES,
    *_SECURITY_CASES,
    *_JOB_CASES,
    *_NETWORK_CASES,
    *_OTHER_CASES,
)
