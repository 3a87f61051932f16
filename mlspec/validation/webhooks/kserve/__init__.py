"""What KServe refuses of an InferenceService: the rules of its validating webhook, after those that fill in defaults.

Sources: github.com/kserve/kserve, pkg/apis/serving/v1beta1, read at v0.15.2, v0.16.0, v0.17.0, v0.19.0 and v0.20.0.
The rules for one framework each (`predictor_*.go`, Validate) are met in ModelMesh mode alone, which mlspec does not
write and a `patch` cannot: elsewhere the key of the framework has become `model` before.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Final

from mlspec.validation.declared import Declared, Release
from mlspec.validation.objection import Objection
from mlspec.validation.webhooks.kserve import nodes, scaling, servers, storage
from mlspec.validation.webhooks.kserve.defaults import defaulted
from mlspec.validation.webhooks.kserve.service import Service
from mlspec.validation.webhooks.rule import Rule

_NEWEST: Final[Release] = (0, 20)
_MODEL: Final = ("spec", "predictor", "model")
RULES: Final[tuple[Rule[Service], ...]] = tuple(
    sorted((*servers.RULES, *scaling.RULES, *storage.RULES, *nodes.RULES), key=lambda rule: rule.code)
)


def judge(body: dict[str, Any], declared: Declared) -> Iterator[Objection]:
    """Yield what KServe has against an InferenceService, each in the field that the object has."""
    release = declared.operators.get("kserve", _NEWEST)
    found = defaulted(body, release)
    service = Service(found.body, release)
    for rule in RULES:
        for objection in rule.judge(service):
            yield _as_written(objection, found.framework)


def _as_written(objection: Objection, framework: str | None) -> Objection:
    """Return an objection to `predictor.model` as one to the key of the framework that was written."""
    if framework is None or objection.path[:3] != _MODEL:
        return objection
    message = objection.message.replace("spec.predictor.model", f"spec.predictor.{framework}", 1)
    return objection._replace(path=("spec", "predictor", framework, *objection.path[3:]), message=message)
