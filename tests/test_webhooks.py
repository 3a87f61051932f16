"""The rules of operators' webhooks: each takes one object and refuses nearly the same, in the field at fault."""

from __future__ import annotations

import copy
import re

import pytest
from click.testing import CliRunner

from mlspec.check import objects
from mlspec.codes.webhooks import WEBHOOKS
from mlspec.commands.explain import command as explain
from mlspec.validation import webhooks
from mlspec.validation.declared import Declared
from mlspec.validation.webhooks.kserve.defaults import defaulted
from tests.support import REPOSITORY, check_golden
from tests.webhook_cases import CASES, OWN, PYTORCH, STANDARD, Case, Changes, changed

_PREDICTOR = ("spec", "predictor")


@pytest.mark.parametrize("case", CASES, ids=str)
def test_one_is_taken_and_one_is_refused(case: Case) -> None:
    assert list(objects.judge_accepted(case.folders, case.accepted)) == []
    found = list(objects.judge_accepted(case.folders, case.refused))
    assert {(fault.code, fault.path) for fault in found} >= {(case.code, case.path)}
    assert {fault.code for fault in found} == {case.code}, "one fault, one finding"
    for fault in found:
        assert fault.help, "says what to write instead"


def test_every_rule_has_a_case_and_every_code_a_rule() -> None:
    assert {case.code for case in CASES} == set(WEBHOOKS) == set(webhooks.EXPLANATIONS)


@pytest.mark.parametrize("code", WEBHOOKS)
def test_explained_with_its_source(code: str) -> None:
    done = CliRunner().invoke(explain, [code])
    assert done.exit_code == 0
    assert re.search(
        r"Source: (kubeflow/training-operator|kserve/kserve|seldonio/seldon-core/operator) v\d", done.output
    )
    assert ".go, " in " ".join(done.output.split())
    assert ("Read, not run" in " ".join(done.output.split())) == (code >= "MLS360"), "of Seldon no server was asked"


def test_the_page_is_current(update_golden: bool) -> None:
    check_golden(REPOSITORY / "docs" / "webhooks.md", webhooks.page(), update=update_golden)


@pytest.mark.parametrize(
    ("release", "codes"),
    [((0, 15), set()), ((0, 16), {"MLS342"}), ((0, 17), {"MLS342"}), ((0, 19), {"MLS342", "MLS355"})],
)
def test_releases_of_kserve_differ(release: tuple[int, int], codes: set[str]) -> None:
    model: Changes = {
        (*_PREDICTOR, "model", "name"): "it",
        (*_PREDICTOR, "model", "env"): [{"name": "PYTHONPATH", "value": "/a"}],
    }
    mode: Changes = (
        {("metadata", "annotations", "serving.kserve.io/deploymentMode"): "RawDeployment"} if release < (0, 16) else {}
    )
    body = changed(STANDARD, {**model, **mode})
    assert {found.code for found in webhooks.judge(body, Declared((1, 34), {"kserve": release}))} == codes


@pytest.mark.parametrize(("release", "found"), [((0, 15), set()), ((0, 16), {"MLS345", "MLS359"}), ((0, 17), set())])
def test_the_old_name_of_the_mode(release: tuple[int, int], found: set[str]) -> None:
    """0.15 knows no other, 0.16 takes it for Knative's rules and is then stuck, 0.17 exchanges it."""
    mode = ("metadata", "annotations", "serving.kserve.io/deploymentMode")
    body = changed(STANDARD, {mode: "RawDeployment", (*_PREDICTOR, "scaleMetric"): "cpu"})
    assert {item.code for item in webhooks.judge(body, Declared((1, 34), {"kserve": release}))} == found


@pytest.mark.parametrize(("release", "codes"), [((1, 8), set()), ((1, 9), {"MLS335", "MLS336"})])
def test_releases_of_the_training_operator_differ(release: tuple[int, int], codes: set[str]) -> None:
    elastic: Changes = {("spec", "elasticPolicy"): {"maxReplicas": 2}, ("spec", "pytorchReplicaSpecs", "Worker"): None}
    no_worker: Changes = {("spec", "pytorchReplicaSpecs", "Worker", "replicas"): 0}
    declared = Declared((1, 34), {"training-operator": release})
    found = [
        item.code for changes in (elastic, no_worker) for item in webhooks.judge(changed(PYTORCH, changes), declared)
    ]
    assert set(found) == codes


def test_defaults_change_nothing_that_was_given() -> None:
    body = changed(OWN, {(*_PREDICTOR, "containers", 0, "name"): "server"})
    before = copy.deepcopy(body)
    found = defaulted(body, (0, 16)).body["spec"]["predictor"]["containers"][0]
    assert body == before
    assert found["name"] == "kserve-container"
    assert found["resources"] == {key: {"cpu": "1", "memory": "2Gi"} for key in ("requests", "limits")}


@pytest.mark.parametrize(("framework", "protocol"), [("sklearn", None), ("triton", "v2"), ("onnx", "v2")])
def test_a_framework_becomes_a_model(framework: str, protocol: str | None) -> None:
    body = changed(STANDARD, {(*_PREDICTOR, framework): {"storageUri": "gs://models/other"}})
    found = defaulted(body, (0, 16))
    assert found.framework == framework
    assert found.body["spec"]["predictor"]["model"]["modelFormat"] == {"name": framework}
    assert found.body["spec"]["predictor"]["model"]["storageUri"] == "gs://models/other", "what was written is replaced"
    assert found.body["spec"]["predictor"]["model"].get("protocolVersion") == protocol


def test_defaults_of_later_releases() -> None:
    vllm: Changes = {(*_PREDICTOR, "model"): {"modelFormat": {"name": "vLLM"}}}
    assert "protocolVersion" not in defaulted(changed(STANDARD, vllm), (0, 19)).body["spec"]["predictor"]["model"]
    newest = defaulted(changed(STANDARD, vllm), (0, 20)).body
    assert newest["spec"]["predictor"]["model"]["protocolVersion"] == "v2"
    assert newest["metadata"]["annotations"]["modelFormat"] == "vLLM"
