"""Kinds and concerns: a small spec in, the objects that they emit in environment dev out, read by a person.

`tests/kinds/<kind>/<case>/` shows the kind's own object; `tests/concerns/<concern>/<case>/` what a concern adds.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from mlspec import yamltext
from mlspec.all_kinds import KINDS
from mlspec.concerns import files, gate, monitoring, namespace, network, queue, rbac, secrets, storage
from mlspec.diagnostics import has_errors
from mlspec.emit import EMITTED, emit_argocd
from mlspec.k8s.resource import CLUSTER_SCOPED, Body
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.samples import sample
from tests.support import check_golden

_HERE = Path(__file__).parent
_CONCERNS = {
    "files": files.emit,
    "gate": gate.emit,
    "monitoring": monitoring.emit,
    "namespace": namespace.emit,
    "network": network.emit,
    "queue": queue.emit,
    "rbac": rbac.emit,
    "secrets": secrets.emit,
    "storage": storage.emit,
}


def _cases(folder: str) -> list[str]:
    return sorted(
        path.parent.relative_to(_HERE / folder).as_posix() for path in (_HERE / folder).glob("*/*/mlproject.yaml")
    )


@pytest.mark.parametrize("case", _cases("kinds"))
def test_kind(case: str, update_golden: bool) -> None:
    folder = _HERE / "kinds" / case
    compilation = compile_workspace(load(folder))
    assert not has_errors(compilation.diagnostics), compilation.diagnostics
    compiled = compilation.projects[0]
    kind = KINDS[case.split("/")[0]]
    bodies = [r.body for r in compiled.resources["dev"] if r.body["kind"] == kind.GVK.kind]
    assert bodies
    check_golden(folder / "expected.yaml", yamltext.dump_all(bodies), update=update_golden)


@pytest.mark.parametrize("case", _cases("concerns"))
def test_concern(case: str, update_golden: bool) -> None:
    folder = _HERE / "concerns" / case
    compilation = compile_workspace(load(folder))
    assert not has_errors(compilation.diagnostics), compilation.diagnostics
    compiled = compilation.projects[0]
    plan, concern = compiled.plans["dev"], case.split("/")[0]
    if concern == "argocd":
        bodies = emit_argocd(plan, compiled.resources["dev"])
    else:
        bodies = [resource.body for resource in _CONCERNS[concern](plan)]
    check_golden(folder / "expected.yaml", yamltext.dump_all(bodies), update=update_golden)


@pytest.mark.parametrize("kind", sorted(KINDS))
def test_every_kind_has_a_golden(kind: str) -> None:
    assert list((_HERE / "kinds" / kind).glob("*/expected.yaml"))


def test_the_project_permits_whatever_may_be_emitted() -> None:
    """A kind that is not permitted is neither applied nor, once it has left Git, pruned."""
    seen = set()
    for compilation in sample():
        for item in compilation.projects:
            for environment, resources in item.resources.items():
                permitted = {(row["group"], row["kind"]) for row in _whitelist(item.argocd[environment])}
                assert {kind for kind in EMITTED if kind[1] not in CLUSTER_SCOPED} <= permitted
                for resource in resources:
                    group = resource.body["apiVersion"].rpartition("/")[0]
                    assert (group, resource.body["kind"]) in EMITTED
                    seen.add(resource.body["kind"])
    assert {"PyTorchJob", "InferenceService", "ResourceQuota", "ServiceMonitor"} <= seen


def _whitelist(bodies: Sequence[Body]) -> list[Body]:
    (project,) = (body for body in bodies if body["kind"] == "AppProject")
    found: list[Body] = project["spec"]["namespaceResourceWhitelist"]
    return found
