"""Definitions with rules in CEL, out of pinned modules: as servers take them, and as schemas/refresh.py makes them."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from types import ModuleType
from typing import Any, Final

from tests.cluster.harness import crds
from tests.cluster.harness.client import Body
from tests.support import REPOSITORY

SOURCES: Final[dict[str, dict[str, Any]]] = {
    "gateway-api": {
        "package": "sigs.k8s.io/gateway-api",
        "version": "v1.5.1",
        "digest": "h1:RqVRIlkhLhUO8wOHKTLnTJA6o/1un4po4/6M1nRzdd0=",
        "path": "config/crd/experimental",
        "files": [
            f"gateway.networking.k8s.io_{kind}.yaml"
            for kind in ("httproutes", "grpcroutes", "gateways", "backendtlspolicies", "tlsroutes")
        ],
    },
    "inference-extension": {
        "package": "sigs.k8s.io/gateway-api-inference-extension",
        "version": "v1.5.0",
        "digest": "h1:w9Awt60cmI1vM7Y6N81h8wDCBP0WkmxpdI7GKY0v070=",
        "path": "config/crd/bases",
        "files": ["inference.networking.k8s.io_inferencepools.yaml"],
    },
    "trainer": {
        "package": "github.com/kubeflow/trainer/v2",
        "version": "v2.2.0",
        "digest": "h1:whChZckEtycLo1UKH/M0hiNaCUozbLvf9JrgmMv+TAg=",
        "path": "manifests/base/crds",
        "files": ["trainer.kubeflow.org_trainjobs.yaml", "trainer.kubeflow.org_trainingruntimes.yaml"],
    },
    "jobset": {
        "package": "sigs.k8s.io/jobset",
        "version": "v0.11.0",
        "digest": "h1:1r2uTNQmylnqG/WCSSDADgNkHryvyUaCNCOgvSPWpN8=",
        "path": "config/components/crd/bases",
        "files": ["jobset.x-k8s.io_jobsets.yaml"],
    },
    "kueue": {
        "package": "sigs.k8s.io/kueue",
        "version": "v0.17.0",
        "digest": "h1:7hzb38M4eKGzYW+CFv2s1L+swzzacUCHOCXxZmAV90I=",
        "path": "config/components/crd/bases",
        "files": [
            f"kueue.x-k8s.io_{kind}.yaml" for kind in ("clusterqueues", "resourceflavors", "topologies", "workloads")
        ],
    },
    "keda": {
        "package": "github.com/kedacore/keda/v2",
        "version": "v2.20.2",
        "digest": "h1:SR60v8uIcelbveS8n/1jcl8tLdBBIbHMxmdOHw8tKqA=",
        "path": "config/crd/bases",
        "files": ["keda.sh_scaledobjects.yaml"],
    },
    "snapshots": {
        "package": "github.com/kubernetes-csi/external-snapshotter/client/v8",
        "version": "v8.6.0",
        "digest": "h1:FtGewu2k6HWw6evLGXY8JqUZ9eHpti1kd3e4amj+ilA=",
        "path": "config/crd",
        "files": [
            "snapshot.storage.k8s.io_volumesnapshots.yaml",
            "snapshot.storage.k8s.io_volumesnapshotcontents.yaml",
        ],
    },
    "llm": {
        "package": "github.com/kserve/kserve",
        "version": "v0.16.0",
        "digest": "h1:kDkcAU5VMiZf4zhdDXH+UdAIgzXhs10GMv0d9r4qvTs=",
        "path": "config/crd/full/llmisvc",
        "files": ["serving.kserve.io_llminferenceservices.yaml"],
    },
}
_OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_APPROVED: Final = {"api-approved.kubernetes.io": "unapproved, for a test"}


@cache
def definitions(release: str) -> tuple[Body, ...]:
    """Return the definitions of a row of SOURCES; the server wants a word of approval on some groups."""
    source = SOURCES[release]
    folder = crds.kept(f"rules-{release}", source, source["files"])
    found = [crds.read(folder, name) for name in source["files"]]
    return tuple(_plain(body) for body in found)


def _plain(body: Body) -> Body:
    """Return a definition without its conversion webhook, which is not there to be asked."""
    annotations = _APPROVED | (body["metadata"].get("annotations") or {})
    spec = {key: value for key, value in body["spec"].items() if key != "conversion"}
    return {**body, "metadata": {"name": body["metadata"]["name"], "annotations": annotations}, "spec": spec}


def schemas(bodies: tuple[Body, ...]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Yield apiVersion, kind and schema of definitions, made as those in `schemas/` are, but for metadata."""
    for body in bodies:
        spec = body["spec"]
        for version in spec["versions"]:
            raw, kind = version["schema"]["openAPIV3Schema"], spec["names"]["kind"]
            pool = {_OBJECT_META: {"type": "object"}}
            made = refresh().finish(refresh().tidy(raw), spec["group"], version["name"], kind, pool)
            yield f"{spec['group']}/{version['name']}", kind, json.loads(made)


@cache
def refresh() -> ModuleType:
    """Return schemas/refresh.py, which is no part of the package."""
    path = Path(REPOSITORY) / "schemas" / "refresh.py"
    spec = importlib.util.spec_from_file_location("refresh", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module
