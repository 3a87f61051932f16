"""Claims against those that were generated before: they grow, and change in nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.support import PROJECT, make_root, mlspec, snapshot

_ENVIRONMENT = """\
apiVersion: mlspec.dev/v1alpha1
kind: Environment
kubernetes: 1.34
storage: {nfs: {access: [ReadWriteMany, ReadWriteOnce]}, fast: {access: [ReadWriteMany]}}
argocd: {repoURL: "https://git.example.com/ml/models.git"}
"""
_BEFORE = """\
volumes: {data: {size: 10Gi, access: ReadWriteMany, class: nfs}, own: {size: 5Gi}}
environments:
  prod: {volumes: {data: {size: 100Gi}}}
"""


@pytest.fixture
def root(tmp_path: Path) -> Path:
    made = make_root(tmp_path, _BEFORE, {"dev": _ENVIRONMENT, "prod": _ENVIRONMENT})
    assert mlspec(made, "generate").code == 0
    return made


@pytest.mark.parametrize(
    ("old", "new", "findings"),
    [
        (
            "size: 10Gi",
            "size: 1Gi",
            ["5:24: error[MLS236] volume `data` in dev: a claim cannot shrink, from 10Gi to 1Gi"],
        ),
        (
            "size: 100Gi",
            "size: 99Gi",
            ["7:33: error[MLS236] volume `data` in prod: a claim cannot shrink, from 100Gi to 99Gi"],
        ),
        (
            "class: nfs",
            "class: fast",
            [
                f"volume `data` in {name}: the class of a claim cannot change, from nfs to fast"
                for name in ("dev", "prod")
            ],
        ),
        (
            "own: {size: 5Gi}",
            "own: {size: 5Gi, access: ReadWriteMany}",
            ["the access of a claim cannot change, from ReadWriteOnce to ReadWriteMany"],
        ),
    ],
)
def test_what_kubernetes_would_refuse_is_refused(root: Path, old: str, new: str, findings: list[str]) -> None:
    text = (root / "mlproject.yaml").read_text()
    (root / "mlproject.yaml").write_text(text.replace(old, new))
    before = snapshot(root)
    result = mlspec(root, "check", "--output-format", "concise")
    assert result.code == 1
    for finding in findings:
        assert finding in result.stdout
    assert mlspec(root, "generate").code == 1
    assert snapshot(root) == before


def test_claims_grow_come_and_go(root: Path) -> None:
    for text in (
        _BEFORE.replace("10Gi", "20Gi").replace("100Gi", "200Gi"),
        _BEFORE.replace("10Gi", "20Gi").replace(
            "  prod: {volumes: {data: {size: 100Gi}}}", "  prod: {volumes: {data: {size: 300Gi}}}"
        ),
        "volumes: {data: {size: 300Gi, access: ReadWriteMany, class: nfs}}\n",
        "volumes: {other: {size: 1Gi}}\n",
        "volumes: {}\n",  # alone: beside a new claim of the same kind it would look like a rename
        _BEFORE,
    ):
        (root / "mlproject.yaml").write_text(PROJECT + text)
        result = mlspec(root, "generate")
        assert result.code == 0, result.output
        assert mlspec(root, "check").stdout == ""


def test_a_claim_that_was_edited_by_hand_is_judged_as_it_stands(root: Path) -> None:
    overlay = root / "generated/demo/overlays/prod/foundation/kustomization.yaml"
    overlay.write_text("resources: 7\n")
    result = mlspec(root, "check", "--output-format", "concise")
    assert "error[MLS503] edited by hand" in result.stdout
    assert "internal" not in result.output
