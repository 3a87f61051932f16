"""Fifteen public reports about strings, names, pods and networks of training and serving, as tests: a spec in, built
objects or a finding out. Those about a sync are in `test_public_reports.py`; what is proven elsewhere is named here.
"""

from __future__ import annotations

import ast
import re
from pathlib import Path
from typing import Any, Final

import pytest

from tests.support import ENVIRONMENT, IDENTITY, REPOSITORY, make_root, mlspec
from tests.test_public_reports import argocd, built, everything, generated, of, only, templates

_SCRIPTED: Final = 'image: "acme/train:1", command: [train]'


def found(folder: Path, project: str, environment: str = ENVIRONMENT) -> list[tuple[str, str]]:
    """Return code and message of every finding of a project in dev, drift left out."""
    root = make_root(folder, project, {"dev": environment})
    report = mlspec(root, "check", "--output-format", "json").json()
    return [(item["code"], item["message"]) for item in report["diagnostics"] if item["code"] < "MLS5"]


def patched(path: str, value: str, kind: str = "pytorch", op: str = "replace") -> str:
    """Return a project with one step whose pod template is patched."""
    return (
        f"steps:\n  train: {{kind: {kind}, {_SCRIPTED}, gpu: 1, patch: [{{op: {op}, path: {path}, value: {value}}}]}}\n"
    )


_MASTER: Final = "/spec/pytorchReplicaSpecs/Master/template/spec"


@pytest.mark.parametrize("value", ["25921e05", "6E01", "1e-4", "++x++", "10", "0o17", "08", "1:30", "no", "~"])
@pytest.mark.parametrize("kind", ["job", "pytorch"])
def test_01_and_02_pyyaml_860_kustomize_4472_a_string_stays_a_string(kind: str, value: str, tmp_path: Path) -> None:
    """PyYAML 860 and 886, kustomize 4472 and 3031: short commits, learning rates and signs become numbers."""
    project = f"steps:\n  train:\n    kind: {kind}\n    image: acme/train:1\n    command: [train]\n"
    root = generated(tmp_path, f"{project}    env: {{VALUE: {value!r}}}\n    args: {{value: {value!r}}}\n")
    run = of(built(root), {"job": "Job", "pytorch": "PyTorchJob"}[kind])
    (template,) = templates(run).values()
    container = only(template)
    assert {row["name"]: row.get("value") for row in container["env"]}["VALUE"] == value
    assert container["args"][-1] == value


@pytest.mark.parametrize("kind", ["pytorch", "tensorflow", "job"])
def test_03_trainer_1745_a_name_begins_with_a_letter(kind: str, tmp_path: Path) -> None:
    """Trainer 1745: the operator makes Services of a job's name, which must be DNS labels of RFC 1035."""
    roles = "roles: {worker: {}}, " if kind == "tensorflow" else ""
    ((code, message),) = found(tmp_path, f"steps:\n  9train: {{kind: {kind}, {roles}{_SCRIPTED}}}\n")
    assert code == "MLS105"
    assert "beginning with a letter" in message


def test_04_trainer_1101_a_long_name_is_refused_with_its_length(tmp_path: Path) -> None:
    """Trainer 1101, mlbatch 38: names of jobs that leave no room for what is made of them."""
    ((code, message),) = found(tmp_path, f"steps:\n  {'a' * 25}: {{kind: pytorch, {_SCRIPTED}}}\n")
    assert code == "MLS105"
    assert message.endswith("has 25 characters; at most 24 fit")


def test_05_kserve_4807_a_host_longer_than_63_is_refused_with_the_arithmetic(tmp_path: Path) -> None:
    """KServe 4807, odh-dashboard 3062: the label of a host is made of the service's name and its namespace's."""
    environment = ENVIRONMENT + 'namespace: {pattern: "a-namespace-of-forty-characters-{project}-{environment}"}\n'
    service = 'services:\n  t-44e43bb2-model: {kind: kserve, model: {format: sklearn, uri: "s3://m/a"}}\n'
    findings = found(tmp_path, service, environment)
    sums = [message for code, message in findings if code == "MLS210" and "the host of InferenceService" in message]
    assert [re.search(r"= (\d+) > 63$", message) is not None for message in sums] == [True]


def test_06_kubernetes_64023_nothing_is_made_whose_pods_carry_a_longer_label() -> None:
    """Kubernetes 64023, lws 410: StatefulSets and LeaderWorkerSets put a hash into a label of their pods."""
    assert {body["kind"] for body in everything()}.isdisjoint({"StatefulSet", "LeaderWorkerSet"})
    names = [body["metadata"]["name"] for body in everything() if body["kind"] in ("Job", "PyTorchJob", "TFJob")]
    assert names
    assert max(map(len, names)) <= 33


def test_07_kserve_5373_who_lowers_the_level_is_named(tmp_path: Path) -> None:
    """KServe 5373 and 2096: the storage initializer has no security context, so restricted namespaces refuse it."""
    ((code, message),) = found(
        tmp_path / "baseline", 'services:\n  m: {kind: kserve, model: {format: sklearn, uri: "s3://m/a"}}\n'
    )
    assert code == "MLS410"
    assert "`storage-initializer` of KServe" in message
    strict = ENVIRONMENT + "namespace: {podSecurity: restricted}\n"
    refused = found(
        tmp_path / "restricted", 'services:\n  m: {kind: kserve, model: {format: sklearn, uri: "s3://m/a"}}\n', strict
    )
    assert [code for code, _ in refused] == ["MLS409"]


@pytest.mark.parametrize(
    ("kind", "template"), [("pytorch", f"{_MASTER}/containers/0"), ("job", "/spec/template/spec/containers/0")]
)
def test_08_kyverno_16477_a_privileged_pod_is_found_in_its_owner(kind: str, template: str, tmp_path: Path) -> None:
    """Kyverno 16477: policies about pods are not applied to the templates in PyTorchJobs and JobSets."""
    findings = found(tmp_path, patched(f"{template}/securityContext", "{privileged: true}", kind))
    assert [code for code, message in findings if "privileged" in message] == ["MLS409", "MLS414"]


@pytest.mark.parametrize(
    ("path", "field"),
    [
        ("/spec/runPolicy/cleanPodPolicyy", "spec.runPolicy"),
        ("/specc", "the object"),
        ("/metadata/anotations", "metadata"),
        (f"{_MASTER}/containers/0/imagePullPolicyy", "spec.pytorchReplicaSpecs.Master.template.spec.containers[0]"),
    ],
)
def test_09_kubeconform_171_a_misspelt_field_of_a_custom_resource_is_refused(
    path: str, field: str, tmp_path: Path
) -> None:
    """kubeconform 171 and 304: strict mode passes unknown fields of CRDs, at the root and in metadata above all."""
    findings = found(tmp_path, patched(path, "text", op="add"))
    assert [(code, f"{field}: unknown field `{path.rpartition('/')[2]}`" in text) for code, text in findings] in (
        [("MLS301", True)],
        [("MLS310", False)],  # who may not be patched at all is told that
    )


def test_11_trainer_2794_no_proxy_in_a_training(tmp_path: Path) -> None:
    """Trainer 2794, pytorch-operator 258 and 329: Istio's proxy never ends, and breaks the rendezvous."""
    root = generated(tmp_path, f"steps:\n  train: {{kind: pytorch, {_SCRIPTED}, nodes: 2}}\n")
    for template in templates(of(built(root), "PyTorchJob")).values():
        assert template["metadata"]["labels"]["sidecar.istio.io/inject"] == "false"


def test_11_knative_6520_the_port_of_the_model_is_closed_to_all_but_the_proxy(tmp_path: Path) -> None:
    """Knative 6520: a policy that opens the user's port lets requests pass by the queue proxy."""
    environment = ENVIRONMENT.replace("mode: Standard", "mode: Knative")
    service = 'services:\n  m: {kind: kserve, model: {format: sklearn, uri: "s3://m/a"}}\n'
    root = make_root(tmp_path, service, {"dev": environment})
    assert mlspec(root, "generate").code == 0
    policies = [body for body in built(root) if body["kind"] == "NetworkPolicy" and body["metadata"]["name"] == "m"]
    ports = {rule["port"] for body in policies for peer in body["spec"]["ingress"] for rule in peer["ports"]}
    assert ports
    assert 8080 not in ports


def test_12_browsertrix_2121_a_private_store_is_opened_by_what_is_declared(tmp_path: Path) -> None:
    """browsertrix 2121: "the internet but private networks" shuts out the MinIO of one's own."""
    root = generated(tmp_path, f"steps:\n  train: {{kind: job, {_SCRIPTED}, egress: [s3]}}\n")
    policies = {body["metadata"]["name"]: body for body in built(root) if body["kind"] == "NetworkPolicy"}
    blocks = [
        (peer["ipBlock"]["cidr"], [port["port"] for port in rule["ports"]])
        for rule in policies["train"]["spec"]["egress"]
        for peer in rule.get("to", ())
        if "ipBlock" in peer
    ]
    assert blocks == [("10.0.0.0/8", [443])]


def test_12_llmkube_480_a_selector_that_matches_nothing_is_flagged(tmp_path: Path) -> None:
    """LLMKube 480: a policy whose labels no pod has; here of a destination in the project's own namespace."""
    destination = "    minio: {namespace: demo-dev, podLabels: {app: minio}, ports: [9000]}\n"
    environment = ENVIRONMENT.replace("    s3:", f"{destination}    s3:")
    findings = found(tmp_path, f"steps:\n  train: {{kind: job, {_SCRIPTED}, egress: [minio]}}\n", environment)
    assert [code for code, _ in findings] == ["MLS303"]


@pytest.mark.parametrize("amount", ["0.4", "-1", "1Gi", "one", "1.0"])
def test_14_kthena_576_devices_come_whole(amount: str, tmp_path: Path) -> None:
    """kthena 576, volcano 822: a part of a GPU is accepted in the custom resource and refused in its pods."""
    ((code, _),) = found(tmp_path, f"steps:\n  train: {{kind: pytorch, {_SCRIPTED}, gpu: {amount}}}\n")
    assert code == "MLS105"


def test_14_kthena_576_devices_are_requested_as_they_are_limited(tmp_path: Path) -> None:
    """A patch that says otherwise is refused: the API server would refuse every pod, not the job."""
    path = f"{_MASTER}/containers/0/resources/requests/nvidia.com~1gpu"
    findings = found(tmp_path, patched(path, '"2"'))
    assert [code for code, message in findings if "nvidia.com/gpu" in message and code.startswith("MLS32")], findings


def test_15_vllm_46734_a_user_without_an_entry_has_a_home(tmp_path: Path) -> None:
    """vllm 46734: libraries ask for the name and the home of a UID that the image's /etc/passwd does not know."""
    root = generated(tmp_path, f"steps:\n  train: {{kind: pytorch, {_SCRIPTED}, nodes: 2}}\n")
    for template in templates(of(built(root), "PyTorchJob")).values():
        variables = {row["name"]: row.get("value") for row in only(template)["env"]}
        assert {name: variables[name] for name in IDENTITY} == IDENTITY


def test_15_seldon_core_2811_nothing_in_a_list_is_ignored_by_argocd(tmp_path: Path) -> None:
    """seldon-core 2811: defaults inside `volumeMounts` are a difference for ever; here they are written out."""
    service = 'services:\n  m: {kind: seldon, model: {implementation: SKLEARN_SERVER, uri: "s3://m/a"}}\n'
    root = generated(tmp_path, service)
    ignored: list[Any] = [
        rule
        for body in argocd(root)
        if body["kind"] == "Application"
        for rule in body["spec"].get("ignoreDifferences", ())
        if rule["kind"] == "SeldonDeployment"
    ]
    assert ignored == []


_ELSEWHERE: Final = {
    "test_public_reports.py": {
        "test_case_04_kust_5690_references_have_full_names_and_one_namespace",
        "test_case_07_argo_5882_another_image_is_another_job_and_the_old_file_stays",
        "test_case_08_kserve_2232_a_format_is_rendered_as_model",
    },
    "test_source.py": {"test_depth", "test_refused", "test_too_many_values"},
    "test_laws_strings.py": {"test_kustomize_reads_values_keys_and_items"},
}
"""Cases 9 (kserve 2232), 10 (argo-cd 13851), 13 (PyYAML 235 and 895, js-yaml 738: bombs, depth), the rest of 14."""


@pytest.mark.parametrize("file", _ELSEWHERE)
def test_what_is_proven_elsewhere_is_still_there(file: str) -> None:
    tree = ast.parse((REPOSITORY / "tests" / file).read_text())
    names = {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}
    assert _ELSEWHERE[file] - names == set()
