"""The only place that makes and measures Kubernetes names; names are checked, never truncated.

Limits: DNS-1123 and DNS-1035 labels 63 characters, label values 63, port names 15 (Kubernetes' API conventions). The
forms are those of k8s.io/apimachinery pkg/util/validation/validation.go.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final

LABEL_LIMIT: Final = 63
PORT_LIMIT: Final = 15
SUBDOMAIN_LIMIT: Final = 253
STEP_LIMIT: Final = 24
HASH_LENGTH: Final = 8

NAME: Final = r"[a-z]([-a-z0-9]*[a-z0-9])?"
RESERVED_PROJECTS: Final = frozenset({"argocd"})
ADMIN: Final = "admin"
"""Folder of `generated/argocd/` for what is applied once for all environments."""
RESERVED_ENVIRONMENTS: Final = frozenset({ADMIN, "common"})

_NAME = re.compile(NAME)
_LABEL = re.compile(r"[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_SUBDOMAIN = re.compile(rf"{_LABEL.pattern}(\.{_LABEL.pattern})*")
_QUALIFIED = re.compile(r"[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_PORT = re.compile(r"(?=.*[a-z])(?!.*--)[a-z0-9]([-a-z0-9]*[a-z0-9])?")
_VARIABLE = re.compile(r"(?!\.$|\.\.)[-._a-zA-Z][-._a-zA-Z0-9]*")


def is_name(text: str) -> bool:
    """Say whether `text` is a name as the spec wants it: a DNS-1035 label."""
    return _NAME.fullmatch(text) is not None


def is_label(text: str) -> bool:
    """Say whether `text` has the form of a DNS-1123 label, as names of pods and containers do; its length apart."""
    return _LABEL.fullmatch(text) is not None


def is_label_value(text: str) -> bool:
    """Say whether `text` has the form of the value of a label; its length apart."""
    return not text or _QUALIFIED.fullmatch(text) is not None


def is_key(text: str) -> bool:
    """Say whether `text` is the key of a label or an annotation: a name, behind a domain and `/` or alone."""
    domain, slash, name = text.rpartition("/")
    fits = len(domain) <= SUBDOMAIN_LIMIT and len(name) <= LABEL_LIMIT
    formed = _QUALIFIED.fullmatch(name) is not None and (not slash or _SUBDOMAIN.fullmatch(domain) is not None)
    return fits and formed


def is_port(text: str) -> bool:
    """Say whether `text` has the form of a port's name, with a letter in it; its length apart."""
    return _PORT.fullmatch(text) is not None


def is_variable(text: str) -> bool:
    """Say whether every Kubernetes takes `text` for the name of an environment variable."""
    return _VARIABLE.fullmatch(text) is not None


def problem_with_environment(name: str) -> tuple[str, str, str] | None:
    """Return (code, message, help) for a name that an environment cannot have; None for one that it can."""
    if name in RESERVED_ENVIRONMENTS:
        help = f"rename the file: generated/argocd/{name}/ is for what all environments share"
        return "MLS213", f"the name `{name}` is reserved", help
    if not is_name(name) or len(name) > LABEL_LIMIT:
        help = f"rename it: lower-case letters, digits and `-`, beginning with a letter, at most {LABEL_LIMIT}"
        return "MLS105", "the file's name is not a name of an environment", help
    return None


@dataclass(frozen=True, slots=True)
class Derived:
    """A name that something derives from ours, in parts, with the limit that it must fit."""

    what: str
    parts: tuple[str, ...]
    limit: int = LABEL_LIMIT

    @property
    def name(self) -> str:
        """The name as it will be."""
        return "".join(self.parts)

    @property
    def fits(self) -> bool:
        """Say whether the name is short enough."""
        return len(self.name) <= self.limit

    def arithmetic(self) -> str:
        """Return the sum that explains the length, for example `chat (4) + -predictor (10) = 14 > 63`."""
        summands = " + ".join(f"{part} ({len(part)})" for part in self.parts)
        return f"{summands} = {len(self.name)} > {self.limit}"


def summands(name: str, known: Iterable[str]) -> tuple[str, ...]:
    """Return a derived name as the parts that its length is made of: names that are known, and what is between them."""
    chosen = "|".join(re.escape(word) for word in sorted(set(known), key=len, reverse=True) if word)
    if not chosen:
        return (name,)
    # A known name begins and ends where a word does: `train` is no part of `retrain-0`.
    parts = re.split(rf"(?<![a-z0-9])((?:{chosen}))(?![a-z0-9])", name)
    return tuple(part for part in parts if part)


def run(step: str, digest: str) -> str:
    """Return the name of a run: `<step>-<hash8>`."""
    return f"{step}-{digest}"


def is_run_of(name: str, step: str) -> bool:
    """Say whether `name` is the name of some run of `step`."""
    return re.fullmatch(re.escape(step) + rf"-[0-9a-f]{{{HASH_LENGTH}}}", name) is not None


def files(run: str) -> str:
    """Return the name of the ConfigMap that travels with a run."""
    return f"{run}-files"


def peers(run: str) -> str:
    """Return the name of the NetworkPolicy that lets a run's pods reach one another.

    No workload's policy can have it: names of steps and services have no dot.
    """
    return f"{run}.peers"


def gate(service: str) -> str:
    """Return the name of a service's gate Job: one for ever, so that Argo CD deletes the one before."""
    return f"{service}-gate"


def input_variable(step: str) -> str:
    """Return the name of the variable that tells where a needed run's directory is."""
    return f"MLSPEC_INPUT_{step.upper().replace('-', '_')}"


def default_deny(project: str) -> str:
    """Return the name of a project's default-deny NetworkPolicy."""
    return f"{project}-default-deny"


def viewer(project: str) -> str:
    """Return the name of the Role that reads a project's objects."""
    return f"{project}-viewer"


def operator(project: str) -> str:
    """Return the name of the Role that may also delete runs and pods."""
    return f"{project}-operator"


def quota(project: str) -> str:
    """Return the name of the ResourceQuota and LimitRange."""
    return f"{project}-quota"


def metrics(service: str) -> str:
    """Return the name of a service's metrics Service and ServiceMonitor."""
    return f"{service}-metrics"


def app_project(project: str, environment: str) -> str:
    """Return the name of the Argo CD AppProject of one project in one environment."""
    return f"{project}-{environment}"


def application(project: str, environment: str, place: str) -> str:
    """Return the name of the Argo CD Application of one folder."""
    return f"{project}-{environment}-{place}"
