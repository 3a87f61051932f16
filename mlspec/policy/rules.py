"""The table of policy rules, in the order of their codes."""

from __future__ import annotations

from typing import Final

from mlspec.codes.policy import POLICY
from mlspec.policy import images, literals, loosened, network, pods, tenancy
from mlspec.policy.subject import Rule

RULES: Final[tuple[Rule, ...]] = (
    *images.RULES,
    *loosened.RULES,
    *pods.RULES,
    *network.RULES,
    *literals.RULES,
    *tenancy.RULES,
)


def explanation(code: str) -> str:
    """Return what a policy finding means: the docstring of its rule, as one paragraph."""
    rule = next(rule for rule in RULES if rule.code == code)
    return " ".join((rule.judge.__doc__ or "").split())


def page() -> str:
    """Return the rules as a section of the reference, in Markdown."""
    lines = [
        "## Policy",
        "",
        "What works, but should not be, unless somebody says why. `policy.<CODE>` of an environment weighs a rule "
        "(`off`, `warn`, `error`); `allow.<CODE>` of a project, step or service accepts its findings with a reason, "
        "which `mlspec check` prints.",
        "",
    ]
    for rule in RULES:
        found = POLICY[rule.code]
        lines += [f"### {rule.code}: {found.title} ({found.severity})", "", explanation(rule.code), ""]
    return "\n".join(lines)
