"""Concern files: the immutable ConfigMap of every run that ships files of the repository."""

from __future__ import annotations

import base64
import re
from collections.abc import Iterator
from typing import Final

from mlspec import names
from mlspec.ir import Place, Plan, PlannedWorkload
from mlspec.k8s import meta
from mlspec.k8s.resource import Resource, compact

KINDS: Final = (("", "ConfigMap"),)
"""(group, kind) of everything that this concern may emit."""

# What kustomize refuses or changes on its way through YAML (tests/test_shipped.py tries all bytes).
_UNFIT: Final = re.compile(r"[^\t\n\r\x20-\x7e\xa0-\u2027\u202a-\ud7ff\ue000-\ufefe\uff00-\ufffd\U00010000-\U0010ffff]")


def emit(plan: Plan) -> Iterator[Resource]:
    """Yield a ConfigMap into the file of each run that needs one: it comes and goes with the run."""
    for stated in plan.steps:
        workload = stated.workload
        if not workload.run.files:
            continue
        annotations = meta.run_annotations(workload.wave, keep=workload.run.keep)
        metadata = meta.metadata(names.files(workload.object_name), plan.target.namespace, workload.labels, annotations)
        body = compact({"apiVersion": "v1", "kind": "ConfigMap", "metadata": metadata, "immutable": True})
        yield Resource(body | _contents(workload), Place.PIPELINE, ("steps", workload.name), run=workload.object_name)


def _contents(workload: PlannedWorkload) -> dict[str, dict[str, str]]:
    """Return text as text, so that a reviewer can read it, and everything else in base64."""
    data: dict[str, str] = {}
    binary: dict[str, str] = {}
    for file in workload.run.files:
        try:
            text = file.content.decode()
        except UnicodeDecodeError:
            text = "\0"
        if _UNFIT.search(text):
            binary[file.key] = base64.b64encode(file.content).decode()
        else:
            data[file.key] = text
    return compact({"data": data, "binaryData": binary})
