"""What KServe refuses of a stored object or too late, and what becomes of objects while its webhooks are away.

What its webhook refuses of a new object is in test_webhooks.py.
"""

from __future__ import annotations

from typing import Any, Final

import pytest

from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.operators.kserve import API_VERSION, KServe
from tests.cluster.harness.operators.served import Served, cases
from tests.cluster.harness.process import poll

pytestmark = pytest.mark.operators

_MODEL: Final = {"modelFormat": {"name": "sklearn"}, "protocolVersion": "v1", "storageUri": "gs://models/it"}
_SECONDS: Final = 40


def _service(name: str, mode: str = "Standard", **changes: Any) -> Body:
    """Return an InferenceService that KServe takes, but for the changes of its predictor; None takes a field away."""
    predictor = {"minReplicas": 1, "maxReplicas": 2, "model": _MODEL, **changes}
    annotations = {"serving.kserve.io/deploymentMode": mode}
    if mode == "Standard":
        annotations["serving.kserve.io/autoscalerClass"] = "hpa"
    return {
        "apiVersion": API_VERSION,
        "kind": "InferenceService",
        "metadata": {"name": name, "namespace": "default", "annotations": annotations},
        "spec": {"predictor": {key: value for key, value in predictor.items() if value is not None}},
    }


def _noted_mode(api: Api, name: str) -> str:
    """Wait until the controller has noted the mode of a service; returns it."""

    def mode() -> str:
        found = api.get(API_VERSION, "InferenceService", "default", name) or {}
        return str(found.get("status", {}).get("deploymentMode", ""))

    poll("the mode in the status", lambda: bool(mode()), _SECONDS)
    return mode()


def test_the_mode_cannot_be_changed(kserve_manager: KServe) -> None:
    """Once the controller has noted the mode, another one is refused."""
    api, body = kserve_manager.plane.api, _service("moded")
    assert api.create(body).accepted
    assert _noted_mode(api, "moded") == "Standard"
    answer = api.patch(body, {"metadata": {"annotations": {"serving.kserve.io/deploymentMode": "Knative"}}})
    assert "deploymentMode cannot be changed from 'Standard' to 'Knative'" in answer.message
    assert api.delete(body).accepted


def test_the_old_name_of_the_mode_is_a_trap(kserve_manager: KServe) -> None:
    """From 0.16 on `RawDeployment` is taken, is noted as Standard, and then nothing can be changed or deleted."""
    api, body = kserve_manager.plane.api, _service("trapped", mode="RawDeployment")
    assert api.create(body).accepted
    assert _noted_mode(api, "trapped") == "Standard"
    for change in ({"labels": {"a": "b"}}, {"finalizers": None}):
        answer = api.patch(body, {"metadata": change})
        assert "deploymentMode cannot be changed from 'Standard' to 'RawDeployment'" in answer.message


def _said(api: Api, namespace: str, words: str) -> None:
    """Wait for an event."""
    poll(words, lambda: any(words in each.get("message", "") for each in api.list("v1", "Event", namespace)), _SECONDS)


def test_an_unknown_scheme_is_refused_too_late(kserve_manager: KServe) -> None:
    """No webhook refuses a storage URI: the controller does, in an event, and makes nothing."""
    api, body = kserve_manager.plane.api, _service("lost", model={**_MODEL, "storageUri": "ftp://models/it"})
    assert api.create(body).accepted
    _said(api, "default", "StorageURI not supported")
    assert api.get("apps/v1", "Deployment", "default", "lost-predictor") is None
    assert api.delete(body).accepted


def test_a_missing_storage_secret_keeps_the_pods_away(kserve_manager: KServe) -> None:
    """The pod mutator refuses every pod of a service whose ServiceAccount names a Secret that is not there."""
    api = kserve_manager.plane.api
    (golden,) = (golden for golden in cases(mode="Standard") if golden.name.startswith("kinds/kserve/scaled-gpu"))
    item = Served(golden, "kserve-no-secret")
    item.prepare(api, secrets=False)
    (service,) = item.inference_services
    assert api.apply(service).accepted
    _said(api, item.namespace, 'pod-mutator" denied the request: secrets "s3-credentials" not found')
    assert not api.list("v1", "Pod", item.namespace)
    assert api.delete(service).accepted


def test_nothing_is_written_while_the_webhook_is_down(kserve_manager: KServe) -> None:
    """Where KServe is not there, its objects can neither be made nor changed, not even in a dry run."""
    api, body = kserve_manager.plane.api, _service("stored")
    assert api.create(body).accepted
    kserve_manager.stop()
    try:
        answers = [api.apply(body, dry_run=True), api.create(_service("new"), dry_run=True)]
    finally:
        kserve_manager.start()
        kserve_manager.wait()
    assert all("failed calling webhook" in answer.message for answer in answers)
    assert api.apply(body, dry_run=True).accepted
    assert api.delete(body).accepted
