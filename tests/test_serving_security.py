"""What mlspec writes so that the servers which KServe ships run with a read-only root, and as a numeric user."""

from __future__ import annotations

from pathlib import Path

import pytest

from mlspec.diagnostics import has_errors
from mlspec.k8s.projected import Body
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.support import ENVIRONMENT, make_root


def _predictor(folder: Path, service: str, more: str = "") -> Body:
    """Return the predictor that is emitted for a service."""
    project = f"services:\n  chat: {{kind: kserve, {service}}}\n{more}"
    compilation = compile_workspace(load(make_root(folder, project, {"dev": ENVIRONMENT})))
    assert not has_errors(compilation.diagnostics), compilation.diagnostics
    (found,) = (
        resource.body["spec"]["predictor"]
        for item in compilation.projects
        for resource in item.resources["dev"]
        if resource.body["kind"] == "InferenceService"
    )
    assert isinstance(found, dict)
    return found


def _variables(predictor: Body) -> dict[str, str]:
    return {each["name"]: each.get("value", "") for each in predictor["model"]["env"]}


@pytest.mark.parametrize(
    ("model", "wanted"),
    [
        ("format: sklearn, protocol: v2", {"MLSERVER_METRICS_DIR": "/tmp/metrics", "NUMBA_CACHE_DIR": "/tmp/numba"}),  # noqa: S108
        ("format: pytorch", {"LOG_LOCATION": "/tmp/logs", "TEMP": "/tmp"}),  # noqa: S108
        ("format: sklearn", {}),
        ("format: onnx", {}),
        ("format: sklearn, runtime: ours", {}),
    ],
)
def test_servers_write_below_tmp(model: str, wanted: dict[str, str], tmp_path: Path) -> None:
    """Each stock server that writes to a folder of its image is told to write below /tmp."""
    predictor = _predictor(tmp_path, f'model: {{{model}, uri: "oci://ghcr.io/acme/chat:1"}}')
    found = _variables(predictor)
    assert wanted.items() <= found.items()
    assert bool(wanted) == bool(found.keys() - {"HOME", "LOGNAME", "USER"})


def test_a_variable_of_ones_own_is_kept(tmp_path: Path) -> None:
    """What is written in `env` is not written again."""
    service = 'model: {format: pytorch, uri: "oci://ghcr.io/acme/chat:1"}, env: {TEMP: /dev/shm}'
    predictor = _predictor(tmp_path, service)
    assert [each for each in predictor["model"]["env"] if each["name"] == "TEMP"] == [
        {"name": "TEMP", "value": "/dev/shm"}  # noqa: S108
    ]


def test_a_writable_root_needs_no_variables(tmp_path: Path) -> None:
    """Where the image's files may be written, its server writes where it does by itself."""
    service = 'model: {format: pytorch, uri: "oci://ghcr.io/acme/chat:1"}, security: {writableRoot: true}, '
    service += 'allow: {MLS407: "its handler writes beside itself"}'
    assert not _variables(_predictor(tmp_path, service)).keys() & {"LOG_LOCATION", "METRICS_LOCATION", "TEMP"}


@pytest.mark.parametrize(("uri", "wanted"), [("oci://ghcr.io/acme/chat:1", 65532), ("pvc://models/chat", None)])
def test_user_of_the_pod(uri: str, wanted: int | None, tmp_path: Path) -> None:
    """Images of models name no user: without one of the pod, the first container of theirs would run as root.

    KServe's own images name one, who can read their files; it is left to them.
    """
    volumes = "" if uri.startswith("oci") else "volumes:\n  models: {claim: models}\n"
    predictor = _predictor(tmp_path, f'model: {{format: sklearn, uri: "{uri}"}}', volumes)
    context = predictor["securityContext"]
    assert context["runAsNonRoot"] is True
    assert context.get("runAsUser") == wanted
    assert predictor["model"]["securityContext"]["runAsUser"] == 65532
