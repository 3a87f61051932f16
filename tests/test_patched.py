"""What a `patch` might bring in that no field of the spec knows: each is refused, and none is a traceback."""

from __future__ import annotations

from pathlib import Path
from typing import Any, Final

import pytest

from mlspec.diagnostics import Severity
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.flow import to_yaml
from tests.support import ENVIRONMENT, make_root

Operations = list[dict[str, Any]]
_POD: Final = "/spec/template/spec"
_MAIN: Final = f"{_POD}/containers/0"
_AMOUNTS: Final = {"cpu": "1", "memory": "1Gi"}
_SAFE: Final[dict[str, Any]] = {
    "name": "other",
    "image": "python:3.12-slim",
    "resources": {"limits": _AMOUNTS, "requests": dict(_AMOUNTS)},
    "securityContext": {
        "allowPrivilegeEscalation": False,
        "capabilities": {"drop": ["ALL"]},
        "readOnlyRootFilesystem": True,
        "runAsNonRoot": True,
        "seccompProfile": {"type": "RuntimeDefault"},
    },
}
"""A container that has all that is asked for."""


def _volume(**source: Any) -> Operations:
    return [{"op": "add", "path": f"{_POD}/volumes/-", "value": {"name": "more", **source}}]


def _pod(field: str, value: Any) -> Operations:
    return [{"op": "add", "path": f"{_POD}/{field}", "value": value}]


def _set(field: str, value: Any) -> Operations:
    return [{"op": "replace", "path": f"{_POD}/{field}", "value": value}]


def _annotation(key: str, value: str) -> Operations:
    return [{"op": "add", "path": f"/spec/template/metadata/annotations/{key.replace('/', '~1')}", "value": value}]


def _token(audience: str | None) -> Operations:
    token = {"path": "token", **({"audience": audience} if audience else {})}
    return _volume(projected={"sources": [{"serviceAccountToken": token}]})


def _all_of(reference: str) -> Operations:
    return [{"op": "add", "path": f"{_MAIN}/envFrom", "value": [{reference: {"name": "other"}}]}]


_OF_A_JOB: Final[dict[str, tuple[str, Operations]]] = {
    "a Secret as a volume": ("MLS303", _volume(secret={"secretName": "other"})),
    "a Secret among others in a volume": ("MLS303", _volume(projected={"sources": [{"secret": {"name": "other"}}]})),
    "all of a Secret as variables": ("MLS303", _all_of("secretRef")),
    "all of a ConfigMap as variables": ("MLS303", _all_of("configMapRef")),
    "a Secret to pull with": ("MLS303", _pod("imagePullSecrets", [{"name": "other"}])),
    "what looks like a reference": ("MLS301", [{"op": "add", "path": "/spec/roleRef", "value": "x"}]),
    "a volume that is an image": ("MLS403", _volume(image={"reference": "evil.example/x:1"})),
    "another image": ("MLS403", _pod("initContainers", [_SAFE | {"image": "evil.example/x:1"}])),
    "an ephemeral container": ("MLS310", _pod("ephemeralContainers", [_SAFE])),
    "a token": ("MLS411", _token(None)),
    "a token by the API's audience": ("MLS411", _token("https://kubernetes.default.svc.cluster.local")),
    "a token by its short audience": ("MLS411", _token("api")),
    "the token of the account": ("MLS411", _set("automountServiceAccountToken", True)),
    "another account": ("MLS310", _set("serviceAccountName", "default")),
    "another account by its old name": ("MLS310", _pod("serviceAccount", "default")),
    "another network": ("MLS414", _annotation("k8s.v1.cni.cncf.io/networks", "host")),
    "a sidecar of Istio": ("MLS414", _annotation("sidecar.istio.io/inject", "true")),
    "a sidecar of Linkerd": ("MLS414", _annotation("linkerd.io/inject", "enabled")),
    "a node": ("MLS414", _pod("nodeName", "control-plane")),
    "a priority of the system": ("MLS414", _pod("priorityClassName", "system-node-critical")),
    "a container twice": ("MLS322", _pod("initContainers", [_SAFE | {"name": "main"}])),
    "a volume of two sorts": ("MLS324", _volume(hostPath={"path": "/"}, emptyDir={"medium": "Memory"})),
    "a folder of the node": ("MLS414", _volume(hostPath={"path": "/"})),
    "the network of the node": ("MLS310", _pod("hostNetwork", True)),
    "the processes of the node": ("MLS414", _pod("hostPID", True)),
    "root beside it": ("MLS414", _pod("initContainers", [_SAFE | {"securityContext": {"runAsUser": 0}}])),
    "a writable root": ("MLS414", _set("containers/0/securityContext/readOnlyRootFilesystem", False)),
}
_KSERVE: Final = "internal.serving.kserve.io"
_OF_A_SERVICE: Final[dict[str, Operations]] = {
    "KServe's logger": [{"op": "add", "path": f"/metadata/annotations/{_KSERVE}~1logger", "value": "true"}],
    "KServe's batcher": [{"op": "add", "path": "/spec/predictor/annotations", "value": {f"{_KSERVE}/batcher": "true"}}],
    "another model": [{"op": "add", "path": "/spec/predictor/model/storage", "value": {"key": "other", "path": "a"}}],
}


def _codes(folder: Path, project: dict[str, Any]) -> set[str]:
    environment = ENVIRONMENT.replace("digests: off", "digests: off, registries: [docker.io]")
    text = "".join(f"{field}: {to_yaml(value)}\n" for field, value in project.items())
    found = compile_workspace(load(make_root(folder, text, {"dev": environment}))).diagnostics
    return {finding.code for finding in found if finding.severity is Severity.ERROR}


def _job(patch: Operations) -> dict[str, Any]:
    return {"steps": {"train": {"kind": "job", "image": "python:3.12-slim", "command": ["python"], "patch": patch}}}


def _service(patch: Operations) -> dict[str, Any]:
    model = {"format": "sklearn", "uri": "s3://models/a"}
    return {"services": {"chat": {"kind": "kserve", "model": model, "patch": patch}}}


@pytest.mark.parametrize(("code", "patch"), _OF_A_JOB.values(), ids=list(_OF_A_JOB))
def test_what_a_patch_brings_is_refused(code: str, patch: Operations, tmp_path: Path) -> None:
    assert code in _codes(tmp_path, _job(patch))


@pytest.mark.parametrize("patch", _OF_A_SERVICE.values(), ids=list(_OF_A_SERVICE))
def test_what_a_patch_of_a_service_brings_is_refused(patch: Operations, tmp_path: Path) -> None:
    assert "MLS310" in _codes(tmp_path, _service(patch))


@pytest.mark.parametrize(
    "patch", [_pod("initContainers", [_SAFE]), _token("sts.amazonaws.com"), _annotation("example.com/a", "b"), []]
)
def test_what_is_safe_is_not_refused(patch: Operations, tmp_path: Path) -> None:
    """The cases above are about what they say, not about their surroundings."""
    assert _codes(tmp_path, _job(patch)) == set()


def test_the_service_itself_is_not_refused(tmp_path: Path) -> None:
    assert _codes(tmp_path, _service([])) == set()
