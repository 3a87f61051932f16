"""What KServe makes of an InferenceService (kserve/kserve 0.15 to 0.20), as it is installed by its own manifests.

Standard mode is equal, field by field, to what KServe 0.16 made on a cluster (tests/test_projection_kserve.py); so it
was with 0.15.2 and 0.20.0, which were tried once. In Knative mode the Knative Service is; what Knative makes of it is
read in Knative's source. Projected are predictors; transformers and explainers, which mlspec does not emit, are not.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from types import MappingProxyType
from typing import Final

from mlspec.k8s.projected import Body, ProjectedPods, Projection
from mlspec.k8s.values import copied
from mlspec.projection import templates
from mlspec.projection.kserve import knative, predictor, runtimes, scratch, shape, stock, webhook

HASH: Final = "0000000000"
"""Stands for the hash of a pod template in the names of its pods."""
_NO_SECRETS: Final[Mapping[str, str]] = MappingProxyType({})


def inference_service(body: Body, release: tuple[int, ...], secrets: Mapping[str, str] = _NO_SECRETS) -> Projection:
    """Return the pods and Services of an InferenceService, made by a release of KServe (major, minor).

    `secrets` are the Secrets of its ServiceAccount by what they are for, `s3` or `gs`; they reach the storage
    initializer. `added` of the pods also names a server whose own security context KServe replaces, which it does
    where the model comes out of an image (modelcar, up to 0.17): what then lowers the level is KServe's doing.
    Nothing is projected of an object that is no InferenceService any more, as a patch may have left it.
    """
    if not shape.is_read(body):
        return Projection()
    installed = stock.release(release)
    found = predictor.template(body, installed)
    if predictor.is_standard(body):
        predictor.for_deployment(found)
        services: tuple[Body, ...] = (predictor.service(body, found),)
        names: tuple[str, ...] = (predictor.name(body),)
    else:
        asked = knative.asked(body, found)
        services = knative.services(body, asked)
        names = knative.names(asked)
        found = knative.pod_template(asked)
    namespace = body["metadata"].get("namespace")
    owner = f"{names[-1]}-{HASH}-"
    pod = templates.pod(templates.generated(owner), namespace, found, {"pod-template-hash": HASH})
    pod["metadata"].setdefault("annotations", {})
    added = webhook.admit(pod, body["spec"]["predictor"], installed, secrets)
    if not predictor.is_standard(body):
        added |= {knative.QUEUE_PROXY}
    name = partial(_name, pod["metadata"]["name"])
    pods = ProjectedPods("predictor", predictor.most(body), partial(_numbered, pod), added, name=name)
    return Projection((pods,), services, names)


def _numbered(pod: Body, number: int) -> Body:
    """Return one of some pods, which differ in their names' last characters alone."""
    found: Body = copied(pod)
    found["metadata"]["name"] = _name(pod["metadata"]["name"], number)
    return found


def _name(name: str, number: int) -> str:
    ending = f"{number:0{len(templates.RANDOM)}}"
    return f"{name[: -len(templates.RANDOM)]}{ending[-len(templates.RANDOM) :]}"


def knative_service(body: Body, release: tuple[int, ...]) -> Body | None:
    """Return the Knative Service that KServe makes; None in Standard mode."""
    if not shape.is_read(body) or predictor.is_standard(body):
        return None
    return knative.asked(body, predictor.template(body, stock.release(release)))


def metrics_port(model: Body, release: tuple[int, ...]) -> int | None:
    """Return where the metrics of a model (`predictor.model`) are; None where its runtime is not a stock one."""
    return runtimes.metrics_port(model, stock.release(release))


def scratch_variables(model: Body, release: tuple[int, ...]) -> Mapping[str, str]:
    """Return the variables that make the stock runtime of a model (`predictor.model`) write below /tmp alone."""
    name = runtimes.select(model, stock.release(release))
    return scratch.VARIABLES.get(name or "", {})
