"""Where the fields of a step's or service's own object come from, kind by kind."""

from __future__ import annotations

from typing import Final

from mlspec.ir import PartPath
from mlspec.k8s import meta
from mlspec.model.uris import location
from mlspec.provenance import pods
from mlspec.provenance.rows import Rows, Table, below, with_say
from mlspec.provenance.view import At, Origin, Path, View, environment, own, project

_KEPT: Final = "/runs onSupersede | @runs onSupersede"


_MARKS: Final = ("handoff", "output", "mounts", "script", "command")
"""What decides whether a run has a directory, and marks in it that it has succeeded."""


def _wave(at: At) -> Origin:
    """Return what a run's wave depends on: what it needs, and whether waiting is any help there."""
    step = at.view.step
    access = (project("volumes", name, "access") for name in (step.mounts if step is not None else ()))
    others = (each.workload.name for each in at.view.plan.steps)
    fields = (project("steps", name, field) for name in others for field in (*_MARKS, "gpu", "needs"))
    return (own(at, "needs"), own(at, "gpu", "count"), *(own(at, field) for field in _MARKS), *access, *fields)


LEVEL: Final = ("security", "patch", "nodes", "elastic", "roles", "image", "model", "replicas")
"""What decides on the containers of a pod and what they may do, and so on the level of security that it reaches."""


def security(at: At) -> Origin:
    """Return what decides on the level of the Pod Security Standards that pods reach."""
    return tuple(own(at, field) for field in LEVEL)


METADATA: Final[Rows] = {
    "metadata": ".",
    "metadata namespace": "@namespace pattern | /name + /name + /owner",
    "metadata labels app.kubernetes.io/part-of": "/name",
    f"metadata labels {meta.PROJECT}": "/name",
}
"""Fields of the metadata of every object."""
_RUN: Final[Rows] = {
    **METADATA,
    f"metadata labels {meta.QUEUE_NAME}": "queue | @kueue queue",
    f"metadata annotations {meta.SYNC_WAVE}": _wave,
    f"metadata annotations {meta.SYNC_OPTIONS}": _KEPT,
    f"metadata annotations {meta.COMPARE_OPTIONS}": _KEPT,
    f"metadata annotations {meta.INPUTS}": "needs",
    f"metadata annotations {meta.OUTPUT}": "output | mounts + handoff + mounts",
    f"metadata annotations {meta.GATE}": "gate",
    f"metadata annotations {meta.POD_SECURITY}": security,
}


def _volumes(at: At) -> Origin:
    """Return what decides on the claim of a run's directory."""
    names = at.view.step.mounts if at.view.step is not None else ()
    claims = (project("volumes", name, "claim") for name in names)
    writable = (own(at, "mounts", name, "readOnly") for name in names)
    return (own(at, "output"), *(own(at, field) for field in _MARKS), *claims, *writable)


RUN: Final[Rows] = {**_RUN, f"metadata annotations {meta.OUTPUT}": _volumes}
"""Fields of the metadata of runs."""

JOB: Final = Table(
    {
        **RUN,
        "spec backoffLimit": "retries",
        "spec activeDeadlineSeconds": "deadline",
        **below("spec template", pods.TEMPLATE),
    }
)
_REPLICA: Final[Rows] = {
    "": ".",
    "template": ".",
    "restartPolicy": "retries",
    "template spec activeDeadlineSeconds": "deadline",
    **below("template", pods.TEMPLATE),
}
_POLICY: Final[Rows] = {
    "spec runPolicy cleanPodPolicy": "cleanPodPolicy",
    "spec runPolicy activeDeadlineSeconds": "deadline",
}
PYTORCH: Final = Table(
    {
        **RUN,
        **_POLICY,
        "spec nprocPerNode": "processes | gpu count",
        "spec runPolicy backoffLimit": "retries + nodes + elastic max",
        **below("spec pytorchReplicaSpecs *", _REPLICA),
        "spec pytorchReplicaSpecs * template spec terminationGracePeriodSeconds": "env PET_SHUTDOWN_TIMEOUT",
        "spec pytorchReplicaSpecs *": "elastic | nodes",
        "spec pytorchReplicaSpecs * replicas": "elastic max | nodes",
        "spec elasticPolicy": "elastic",
        "spec elasticPolicy minReplicas": "elastic min + elastic max",
        "spec elasticPolicy maxReplicas": "elastic max",
        "spec elasticPolicy maxRestarts": "retries + elastic",
    }
)


def _role(view: View, stars: Path) -> PartPath:
    return ("roles", str(stars[0]).lower()) if stars else ()


def _restarts(at: At) -> Origin:
    """Return what limits the restarts of all roles: `retries` times their pods."""
    parts = at.view.spec.parts() if at.view.spec is not None else {}
    return (own(at, "retries"), *(own(at, *part, "replicas") for part in parts))


TENSORFLOW: Final = Table(
    {
        **RUN,
        **_POLICY,
        "spec runPolicy backoffLimit": _restarts,
        **below("spec tfReplicaSpecs *", _REPLICA),
        "spec tfReplicaSpecs * replicas": "replicas",
    },
    _role,
)


def _target(at: At) -> Origin:
    """Return what the autoscaler aims at."""
    return (own(at, "replicas", "target", str(at.view.body["spec"]["predictor"].get("scaleMetric"))),)


_MODE: Final = "@kserve mode + @kserve version"
_PREDICTOR: Final[Rows] = {
    **pods.POD,
    "minReplicas": "replicas min",
    "maxReplicas": "replicas max | replicas min",
    "scaleMetric": _target,
    "scaleTarget": _target,
    "canaryTrafficPercent": "canary",
    "securityContext": "security + @kserve mode + model uri",
    "securityContext runAsUser": "security user + @kserve mode + model uri",
    "securityContext runAsGroup": "security user + @kserve mode + model uri",
    **below("model", pods.CONTAINER),
    "model modelFormat name": "model format",
    "model modelFormat version": "model version",
    "model protocolVersion": "model protocol | model format",
    "model runtime": "model runtime",
    "model storageUri": pods.model,
}
_SCALER: Final = "serving.kserve.io/autoscalerClass"
KSERVE: Final = Table(
    {
        **METADATA,
        "metadata annotations serving.kserve.io/deploymentMode": _MODE,
        "metadata annotations autoscaling.knative.dev/class": _MODE,
        f"metadata annotations {_SCALER}": "replicas max | replicas min + replicas min + @kserve mode",
        **below("spec predictor", _PREDICTOR),
    }
)


def _predictor(view: View, stars: Path) -> PartPath:
    parts = list(view.spec.parts()) if view.spec is not None else []
    index = stars[0] if stars else None
    return parts[index] if isinstance(index, int) and index < len(parts) else ()


def _credentials(at: At) -> Origin:
    """Return the destination whose Secret opens the place of a model."""
    uri = at.view.body["spec"]["predictors"][at.stars[0]]["graph"].get("modelUri")
    destination = location(uri).destination if isinstance(uri, str) else None
    return (environment("network", "destinations", str(destination), "secret"), own(at, "model", "uri"))


def _parameter(at: At) -> Origin:
    return (own(at, "model", "parameters", str(at.node.get("name")) if isinstance(at.node, dict) else ""),)


_SERVERS: Final = "protocol + model implementation"
"""What decides which containers serve a model, and how they are started."""
SELDON: Final = Table(
    {
        **METADATA,
        "spec protocol": "protocol",
        "spec predictors *": ".",
        "spec predictors * replicas": "replicas",
        "spec predictors * traffic": "traffic",
        "spec predictors * shadow": "shadow",
        "spec predictors * graph": "model",
        "spec predictors * graph implementation": "model implementation",
        "spec predictors * graph modelUri": pods.model,
        "spec predictors * graph envSecretRefName": _credentials,
        "spec predictors * graph parameters *": _parameter,
        **with_say(below("spec predictors * componentSpecs *", {"": ".", **pods.TEMPLATE}), _SERVERS),
    },
    _predictor,
)
