"""What both tools say of every golden project, of custom resources, and of objects that are made worse: in one go."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.cluster.harness.goldens import goldens
from tests.policy_tools import running
from tests.policy_tools.findings import Finding
from tests.policy_tools.mutants import WEAKENED, dangerous, weakened
from tests.policy_tools.running import Failed, Report
from tests.policy_tools.seen import BLIND, Subject, custom_resources, separate, subject

Body = dict[str, Any]
CHECKOV: Final = "checkov"
KUBE_SCORE: Final = "kube-score"
EXAMPLE: Final = "image-classifier/prod"
"""The golden that is made worse: runs of all kinds of steps but one, and a service."""
_ALONE: Final = "-containers"


@dataclass(frozen=True)
class Blind:
    """Custom resources of one kind: how many there are, and what is said of them and of what they become."""

    kind: str
    objects: int
    said: dict[str, Report]
    """Of those that mlspec writes, by tool."""
    dangerous: dict[str, Report]
    """Of one whose pods are privileged, root and in the node's network."""
    projected: dict[str, Report]
    """Of those pods."""


@dataclass(frozen=True)
class Judged:
    """What was shown to the tools, and what they said."""

    subjects: tuple[Subject, ...]
    weakened: dict[str, Subject]
    blind: tuple[Blind, ...]
    checkov: dict[str, Report]
    """By the subject's file; behind `-containers` each container of pods that have several, alone."""
    kube_score: dict[str, Report]

    @property
    def findings(self) -> list[Finding]:
        """Everything that the tools have against what will be there."""
        return [finding for each in self.subjects for finding in self.of(each)]

    def of(self, each: Subject) -> Iterator[Finding]:
        """Yield what the tools have against a subject."""
        yield from _findings(CHECKOV, each, self._of_containers(each))
        yield from _findings(KUBE_SCORE, each, self.kube_score[each.file].failed)

    def _of_containers(self, each: Subject) -> Iterator[Failed]:
        """Yield what checkov has against a subject, and each container that fails: it names only the first of a pod."""
        alone = self.checkov.get(f"{each.file}{_ALONE}")
        failed = {(item.check, item.name) for item in alone.failed if item.container is not None} if alone else set()
        for item in self.checkov[each.file].failed:
            if item.container is None:
                yield item
                continue
            names = [container for pod, container in each.containers if pod == item.name]
            failing = [name for name in names if (item.check, separate(item.name, name)) in failed]
            failing = names if len(names) == 1 else failing
            assert failing, f"{item} fails, and none of its containers alone"
            for name in failing:
                yield Failed(item.check, item.kind, item.name, name)


def judge(folder: Path) -> Judged:
    """Let both tools judge everything, in a folder that is empty."""
    subjects = tuple(sorted(subject(golden) for golden in goldens()))
    example = next(each for each in subjects if each.name == EXAMPLE)
    worse = {name: weakened(example, name) for name in WEAKENED}
    whole = {each.file: each.bodies for each in (*subjects, *worse.values())}
    assert len(whole) == len(subjects) + len(worse)
    alone = {f"{each.file}{_ALONE}": found for each in (*subjects, *worse.values()) if (found := each.alone())}
    blind = _blind_files()
    versions = dict.fromkeys(blind, example.kubernetes) | {
        each.file: each.kubernetes for each in (*subjects, *worse.values())
    }
    checkov = running.checkov(folder, {**whole, **alone, **blind})
    kube_score = running.kube_score(folder, {**whole, **blind}, versions)
    return Judged(
        subjects, worse, tuple(_blind(kind, blind, checkov, kube_score) for kind in BLIND), checkov, kube_score
    )


def _blind_files() -> dict[str, list[Body]]:
    files: dict[str, list[Body]] = {}
    for golden in goldens():
        for body in custom_resources(golden):
            files.setdefault(f"{body['kind']}-written", []).append(body)
        for kind, (body, pods) in dangerous(golden).items():
            files.setdefault(f"{kind}-dangerous", [body])
            files.setdefault(f"{kind}-projected", pods)
    return files


def _blind(
    kind: str, files: Mapping[str, list[Body]], checkov: Mapping[str, Report], kube_score: Mapping[str, Report]
) -> Blind:
    def both(what: str) -> dict[str, Report]:
        return {CHECKOV: checkov[f"{kind}-{what}"], KUBE_SCORE: kube_score[f"{kind}-{what}"]}

    return Blind(kind, len(files[f"{kind}-written"]), both("written"), both("dangerous"), both("projected"))


def _findings(tool: str, each: Subject, failed: Iterable[Failed]) -> Iterator[Finding]:
    for item in failed:
        if item.kind != "Pod":
            on = item.kind
        elif item.container is None:
            on = each.pods[item.name]
        else:
            on = each.containers[item.name, item.container]
        where = " ".join(word for word in (each.name, item.kind, item.name, item.container) if word)
        yield Finding(tool, item.check, on, where)
