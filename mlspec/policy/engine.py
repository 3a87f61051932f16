"""Runs the rules over one project in one environment: severities of the environment, findings that are accepted."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
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
    refused: dict[tuple[str, ...], str] = field(default_factory=dict)
    """Every `allow` for a finding that it cannot accept, by its path, with the reason."""


def judge(subject: Subject, project: Mapping, environment: Mapping) -> Opinion:
    """Return the findings of all rules, located in the project's or the environment's file."""
    opinion = Opinion()
    for rule in RULES:
        written = subject.environment.policy.get(rule.code)
        for violation in rule.judge(subject) if written != "off" or rule.may_be_certain else ():
            if written == "off" and not violation.for_certain:
                continue
            # What the cluster will do is no matter of opinion, so that it weighs what it does.
            weight = "error" if violation.for_certain else written
            accepted = _accepted(subject, rule.code, violation)
            reason = _unacceptable(subject, rule.code, violation)
            if accepted is not None and reason is None:
                opinion.accepted.append(accepted)
                continue
            if accepted is not None and reason is not None:
                opinion.refused[accepted.path] = reason
            severity = _WEIGHTS.get(weight or "") or violation.severity or codes.severity(rule.code)
            tree = environment if violation.of_environment else project
            opinion.diagnostics.append(
                Diagnostic(
                    rule.code,
                    violation.message,
                    _span(tree, violation),
                    ".".join(map(str, _path(tree, violation))),
                    violation.help,
                    severity,
                )
            )
    return opinion


def _path(tree: Mapping, violation: Violation) -> Path:
    """Return the field at fault as it is written: of two forms the one that is there."""
    if violation.otherwise and len(locate(tree, violation.path).path) < len(violation.path):
        return violation.otherwise
    return violation.path


def _span(tree: Mapping, violation: Violation) -> Span:
    path = _path(tree, violation)
    found = locate(tree, path)
    short = len(found.path) < len(path) and not isinstance(found.node, Scalar)
    whole = violation.at_field and not isinstance(found.node, Scalar)
    return found.key_span if violation.at_key or whole or short else found.value_span


def _accepted(subject: Subject, code: str, violation: Violation) -> Accepted | None:
    """Return what accepts a finding, or would: the step or service that it is about, or the whole project."""
    for path, allow in _allows(subject, violation.path):
        if code in allow:
            return Accepted(code, violation.message, allow[code], (*path, "allow", code))
    return None


def _unacceptable(subject: Subject, code: str, violation: Violation) -> str | None:
    """Return why a project cannot accept a finding; None where it can."""
    if violation.of_environment:
        return f"what {code} reports stands in environments/{subject.name}.yaml, whose `policy` decides about it"
    return f"{code} says what the cluster will do, and no reason changes that" if violation.for_certain else None


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


def unused(tree: Mapping, allows: Sequence[tuple[str, ...]], opinions: Iterable[Opinion]) -> Iterator[Diagnostic]:
    """Yield every `allow` that accepts nothing in any environment."""
    reached: set[tuple[str, ...]] = set()
    refused: dict[tuple[str, ...], str] = {}
    for opinion in opinions:
        reached |= {accepted.path for accepted in opinion.accepted}
        refused |= opinion.refused
    for path in allows:
        if path not in reached:
            message = refused.get(path, f"nothing that {path[-1]} is about is reported here, in any environment")
            span = locate(tree, path).key_span
            severity = codes.severity("MLS252")
            yield Diagnostic("MLS252", message, span, ".".join(path), "remove it", severity)
