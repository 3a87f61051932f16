"""What operators' webhooks refuse beyond the schemas of their kinds, and what their controllers refuse later for sure.

A rule is one function; its docstring, which `mlspec explain CODE` prints, says what is refused, why, and where the
operator's code says so. It is about one object as it would be created: what may not change of a stored one is for the
names of runs and for the reader of a diff.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from mlspec.codes.webhooks import WEBHOOKS
from mlspec.validation.declared import Declared
from mlspec.validation.objection import Objection
from mlspec.validation.webhooks import kserve, seldon, training

_JUDGES: Final[dict[tuple[str, str], Callable[[dict[str, Any], Declared], Iterator[Objection]]]] = {
    ("kubeflow.org/v1", "PyTorchJob"): training.judge,
    ("kubeflow.org/v1", "TFJob"): training.judge,
    ("serving.kserve.io/v1beta1", "InferenceService"): kserve.judge,
    ("machinelearning.seldon.io/v1", "SeldonDeployment"): seldon.judge,
}
_OPERATORS: Final = (
    ("Kubeflow's training operator", training.RULES),
    ("KServe", kserve.RULES),
    ("Seldon Core", seldon.RULES),
)
EXPLANATIONS: Final[dict[str, str]] = {rule.code: rule.explanation for _, rules in _OPERATORS for rule in rules}
"""What `mlspec explain` prints, by code."""


def judge(body: dict[str, Any], declared: Declared) -> Iterator[Objection]:
    """Yield what the webhooks of its operator have against an object that its schema accepts."""
    found = _JUDGES.get((body["apiVersion"], body["kind"]))
    if found is not None:
        yield from found(body, declared)


def explanation(code: str) -> str:
    """Return what a finding means, its paragraphs kept; raises KeyError for a code that is of no webhook."""
    return EXPLANATIONS[code]


def page() -> str:
    """Return all rules as one Markdown page."""
    lines = [
        "<!-- Made by `pytest tests/test_webhooks.py --update-golden` of the rules in mlspec/validation/webhooks/. -->",
        "",
        "# What operators refuse beyond their schemas",
        "",
        "Operators judge objects by webhooks, in code that no schema shows. mlspec judges them by the same rules, "
        "before anything is written or merged. `mlspec explain CODE` prints one.",
        "",
    ]
    for operator, rules in _OPERATORS:
        lines += [f"## {operator}", ""]
        for rule in rules:
            lines += [f"### {rule.code}: {WEBHOOKS[rule.code].title}", "", rule.explanation, ""]
    return "\n".join(lines)
