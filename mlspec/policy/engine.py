"""Runs the rules over one project in one environment: severities of the environment, findings that are accepted."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Final

from mlspec import codes
from mlspec.diagnostics import Accepted, Diagnostic, Severity, Span
from mlspec.policy.rules import RULES
from mlspec.policy.subject import Path, Subject, Violation
from mlspec.source import Mapping, Scalar
from mlspec.spec.problems import locate
from mlspec.spec.project import Project

_WEIGHTS: Final = {"warn": Severity.WARNING, "error": Severity.ERROR}


@dataclass(slots=True)
class Opinion:
    """What the policy has against a project in one environment."""

    diagnostics: list[Diagnostic] = field(default_factory=list)
    accepted: list[Accepted] = field(default_factory=list)


def judge(subject: Subject, project: Mapping, environment: Mapping) -> Opinion:
    """Return the findings of all rules, located in the project's or the environment's file."""
    opinion = Opinion()
    for rule in RULES:
        weight = subject.environment.policy.get(rule.code)
        if weight == "off":
            continue
        for violation in rule.judge(subject):
            accepted = _accepted(subject, rule.code, violation)
            if accepted is not None:
                opinion.accepted.append(accepted)
                continue
            severity = _WEIGHTS.get(weight or "") or violation.severity or codes.severity(rule.code)
            tree = environment if violation.of_environment else project
            opinion.diagnostics.append(
                Diagnostic(
                    rule.code,
                    violation.message,
                    _span(tree, violation),
                    ".".join(map(str, violation.path)),
                    violation.help,
                    severity,
                )
            )
    return opinion


def _span(tree: Mapping, violation: Violation) -> Span:
    found = locate(tree, violation.path)
    short = len(found.path) < len(violation.path) and not isinstance(found.node, Scalar)
    return found.key_span if violation.at_key or short else found.value_span


def _accepted(subject: Subject, code: str, violation: Violation) -> Accepted | None:
    """Return what accepts a finding: the step or service that it is about, or the whole project.

    What is wrong with the environment is for its own `policy` to say; a project cannot accept it.
    """
    if violation.of_environment:
        return None
    for path, allow in _allows(subject, violation.path):
        if code in allow:
            return Accepted(code, violation.message, allow[code], (*path, "allow", code))
    return None


def _allows(subject: Subject, path: Path) -> Iterator[tuple[tuple[str, ...], dict[str, str]]]:
    for place, spec in subject.specs():
        if path[:2] == place:
            yield place, spec.allow
    yield (), subject.project.allow


def allows(project: Project) -> list[tuple[str, ...]]:
    """Return the path of every `allow` of a project."""
    steps = [("steps", name, "allow", code) for name, step in project.steps.items() for code in step.allow]
    services = [("services", name, "allow", code) for name, spec in project.services.items() for code in spec.allow]
    return [*(("allow", code) for code in project.allow), *steps, *services]


def unused(tree: Mapping, allows: Sequence[tuple[str, ...]], used: Sequence[Accepted]) -> Iterator[Diagnostic]:
    """Yield every `allow` that accepts nothing in any environment."""
    reached = {accepted.path for accepted in used}
    for path in allows:
        if path not in reached:
            message = f"nothing that {path[-1]} is about is reported here, in any environment"
            span = locate(tree, path).key_span
            severity = codes.severity("MLS252")
            yield Diagnostic("MLS252", message, span, ".".join(path), "remove it", severity)
