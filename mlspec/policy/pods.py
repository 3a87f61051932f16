"""Rules about the pods that will exist: what the namespace lets in, tokens, memory and limits."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from mlspec import pod_security
from mlspec.diagnostics import Severity, listed
from mlspec.ir_safety import PlannedSecurity
from mlspec.k8s import meta
from mlspec.k8s.resource import Body
from mlspec.k8s.values import at, items, numbered
from mlspec.model.levels import Level
from mlspec.model.quantity import parse_quantity
from mlspec.policy.added import containers, owner_of
from mlspec.policy.places import in_container, made_by, made_by_object, path_of, pods_of
from mlspec.policy.subject import Judged, Path, Rule, Subject, Violation
from mlspec.policy.weaker import weaker

_OF_THE_API: Final = re.compile(r"(https?://)?(api|kubernetes)([.:/]|\Z)")
"""Audiences that an API server takes as its own (its `--api-audiences`, which is its issuer's URL by default)."""
_FAULT: Final = "mlspec writes it, so this is a fault of its own: please report it"


def refused(subject: Subject) -> Iterator[Violation]:
    """The namespace enforces a level of the Pod Security Standards that these pods do not reach: the API server
    would refuse them, and all that can be seen is an operator that tries again, while Argo CD shows Progressing. A
    namespace that mlspec manages enforces the strictest level that all its pods reach, but never less than
    `namespace.podSecurity` of the environment; in one that others manage that field says what they enforce. Mend the
    pods, configure the operator whose container falls short, or lower `namespace.podSecurity`. A project cannot accept
    this with `allow` where mlspec manages the namespace, nor can `policy` make less of it: such pods never start,
    whatever the reason. Where others do, both can: they may have exempted it.
    """
    enforced = _enforced(subject) or "privileged"
    for judged in subject.judged():
        found = pod_security.judged(judged.pods, enforced, _minor(subject))
        if found:
            reached = pod_security.reached(judged.pods, _minor(subject))
            message = (
                f"{pods_of(judged)} would be refused: the namespace enforces {enforced}, and they reach {reached}: "
            )
            lower = f"write `namespace: {{podSecurity: {reached}}}` in {_file(subject)}"
            help = f"{_remedies(judged, found)}; or {lower}"
            certain = subject.plan.target.manage_namespace
            text = message + _reasons(judged, found)
            yield Violation(text, _first(subject, judged, found), help, at_field=True, for_certain=certain)


def less_strict(subject: Subject) -> Iterator[Violation]:
    """The namespace enforces less than restricted, because of what some pods hold: that is what the API server will
    let in, from whoever may create pods there. The note names whose container it is and what would make it meet
    restricted; everything that mlspec writes itself does. Runs that were superseded count while their files are
    there and Argo CD keeps them, since they may run still.
    """
    enforced = _enforced(subject)
    if not subject.plan.target.manage_namespace or not subject.resources:
        return
    if enforced is None:
        yield Violation(f"{_label(subject)} is missing: {_FAULT}", ("name",), severity=Severity.ERROR)
        return
    if "restricted" not in [at(each.body, "metadata", "labels", meta.POD_SECURITY_WARN) for each in subject.resources]:
        message = f"namespace {subject.plan.target.namespace} does not warn of what restricted would refuse: {_FAULT}"
        yield Violation(message, ("name",), severity=Severity.ERROR)
    if enforced == "restricted":
        return
    lowest: Level = "restricted"
    told: set[Path] = set()
    for judged in subject.judged():
        found = pod_security.judged(judged.pods, "restricted", _minor(subject))
        if not found:
            continue
        reached = pod_security.reached(judged.pods, _minor(subject))
        lowest = pod_security.lower(lowest, reached)
        is_refused = pod_security.higher(reached, enforced) != reached
        if judged.place not in told and not is_refused:
            told.add(judged.place)
            text = f"{pods_of(judged)} reach only {reached}, so the namespace cannot enforce restricted: "
            where, help = _first(subject, judged, found), _remedies(judged, found)
            yield Violation(text + _reasons(judged, found), where, help, at_field=True)
    of_runs, runs = subject.of_runs()
    if pod_security.higher(pod_security.lower(lowest, of_runs), enforced) != enforced:
        unneeded = f"{_label(subject)} is {enforced}, which no pod needs: {_FAULT}"
        yield Violation(unneeded, ("name",), severity=Severity.ERROR)
    elif pod_security.higher(lowest, enforced) != enforced:
        names = listed([f"`{run}`" for run in runs])
        message = f"superseded runs, which may run still, keep the namespace at {enforced} in {subject.name}: {names}"
        folder = f"generated/{subject.plan.project}/overlays/{subject.name}/pipeline/"
        yield Violation(message, ("name",), f"once they have ended, delete their files in {folder}, and generate")


def token(subject: Subject) -> Iterator[Violation]:
    """A token of the Kubernetes API is mounted into the pod: whoever gets into it can ask the API server as this
    ServiceAccount. Runs and models need no such thing, so mlspec switches it off on ServiceAccounts and pods. Tokens
    for clouds have an audience of their own and are no part of this.
    """
    accounts = {
        resource.key.name: resource.body.get("automountServiceAccountToken")
        for resource in subject.resources
        if resource.key.kind == "ServiceAccount"
    }
    for name, said in accounts.items():
        if said is not False:
            help = (
                "mlspec writes `automountServiceAccountToken: false`, so this is a fault of its own: please report it"
            )
            yield Violation(
                f"ServiceAccount {name} has a token mounted into pods that do not refuse it", ("name",), help
            )
    for judged in subject.judged():
        said = at(judged.pod, "spec", "automountServiceAccountToken")
        if said is None:
            said = accounts.get(str(at(judged.pod, "spec", "serviceAccountName")))
        volumes = {n: volume.get("name") for n, volume in numbered(judged.pod, "spec", "volumes") if _has_token(volume)}
        if said is not False or volumes:
            how = "" if said is not False else f" by volume {', '.join(map(str, volumes.values()))}"
            message = f"{pods_of(judged)} have a token of the Kubernetes API mounted{how}"
            help = "leave `automountServiceAccountToken: false`, and mount tokens with an `audience` of their own only"
            by_volume = ("spec", "volumes", next(iter(volumes), 0), "projected")
            field = by_volume if said is False else ("spec", "automountServiceAccountToken")
            yield Violation(message, made_by(subject, judged, field), help, at_field=True)


def memory_volume(subject: Subject) -> Iterator[Violation]:
    """A volume in memory counts against the memory limit of the container that fills it. Without a size limit, or
    with one beyond that limit, the container is killed for want of memory where a full volume would have been an
    error that says so.
    """
    for judged in subject.judged():
        for number, volume in numbered(judged.pod, "spec", "volumes"):
            if at(volume, "emptyDir", "medium") == "Memory":
                yield from _memory(subject, judged, volume, ("spec", "volumes", number, "emptyDir", "sizeLimit"))


def no_limits(subject: Subject) -> Iterator[Violation]:
    """A container without a limit of cpu or memory may take all that its node has, and pods beside it are evicted.
    mlspec writes limits for everything that a spec describes. Containers that operators add get theirs where the
    operator is configured, or from the LimitRange of a namespace with a `quota`; they are reported as notes.
    """
    filled = _has_limit_range(subject)
    for judged in subject.judged():
        names: dict[bool, list[str]] = {False: [], True: []}
        fields: list[Path] = []
        for name, container, added in containers(judged):
            missing = [what for what in ("cpu", "memory") if at(container, "resources", "limits", what) is None]
            if missing:
                names[added].append(f"{name} ({', '.join(missing)})")
                fields += [] if added else [in_container(judged.pod, name, "resources", "limits", missing[0])]
        if own := names[False]:
            message = f"{pods_of(judged)} have containers without limits: {listed(own)}"
            yield Violation(message, made_by(subject, judged, fields[0]), "write `resources.limits`", at_field=True)
        if names[True] and not filled:
            message = f"{pods_of(judged)} get containers without limits from the operator: {listed(names[True])}"
            help = "configure the operator, or give the environment a `quota`, whose LimitRange fills them in"
            yield Violation(message, path_of(judged), help, Severity.NOTE, at_field=True)


def weaker_than_written(subject: Subject) -> Iterator[Violation]:
    """Something about these pods is weaker than what mlspec writes, and neither `security` nor an operator says so:
    as a rule a `patch` that loosens it. `security` has fields for what programs really need, each with a finding of
    its own that can be accepted by name; a patch hides it among others.
    """
    for resource in subject.resources:
        if resource.body["kind"] == "ConfigMap" and resource.is_run and resource.body.get("immutable") is not True:
            message = f"{resource.key} can be changed in the cluster, and with it what a run does"
            yield Violation(message, resource.origin, "leave `immutable: true`", at_field=True)
    for judged in subject.judged():
        grouped: dict[Path, list[str]] = {}
        for text, field, of_object in weaker(judged, _security(subject, judged), _minor(subject)):
            path = (made_by_object if of_object else made_by)(subject, judged, field)
            grouped.setdefault(path, []).append(text)
        for path, texts in grouped.items():
            message = f"{pods_of(judged)} are weaker than mlspec writes them: {listed(texts, '; ')}"
            yield Violation(message, path, "leave it as it is, or write `security:`", at_field=True)


def _minor(subject: Subject) -> int:
    return pod_security.minor_of(subject.environment.kubernetes)


def _enforced(subject: Subject) -> Level | None:
    """Return the level of the namespace that is emitted, or, where others manage it, what they are said to enforce.

    None where the namespace that should be emitted is not, or says no level.
    """
    if not subject.plan.target.manage_namespace:
        return subject.plan.target.pod_security
    found = (each.body for each in subject.resources if each.key.kind == "Namespace")
    said = [at(body, "metadata", "labels", meta.POD_SECURITY_ENFORCE) for body in found]
    return next((level for level in pod_security.LEVELS if level in said), None)


def _first(subject: Subject, judged: Judged, found: Sequence[pod_security.Violation]) -> Path:
    """Return the field that makes the first fault of what a project describes; without one the workload."""
    for violation in found:
        for name in violation.containers or ("",):
            if name not in judged.pods.added:
                return made_by(subject, judged, in_container(judged.pod, name, *violation.field))
    return path_of(judged)


def _label(subject: Subject) -> str:
    return f"the level of namespace {subject.plan.target.namespace}"


def _file(subject: Subject) -> str:
    return f"environments/{subject.name}.yaml"


def _reasons(judged: Judged, found: Sequence[pod_security.Violation]) -> str:
    """Return who falls short and of what: of an operator's containers the controls, of others the fields."""
    grouped: dict[str, tuple[dict[str, None], dict[str, None]]] = {}
    for control, at_fault, message, _ in found:
        for name in at_fault or ("",):
            theirs = name in judged.pods.added
            who = f" of {owner_of(name).who}" if theirs else ""
            names, faults = grouped.setdefault(who if theirs else name, ({}, {}))
            names[f"`{name}`" if name else "the pod"] = None
            faults[control if theirs else message.removeprefix("securityContext.")] = None
    texts = []
    for key, (names, faults) in grouped.items():
        whose = key if key.startswith(" of ") else ""
        texts.append(f"{', '.join(names)}{whose} ({', '.join(faults)})")
    return listed(texts, "; ")


def _remedies(judged: Judged, found: Sequence[pod_security.Violation]) -> str:
    """Return what would mend all of it."""
    names = [name for violation in found for name in violation.containers or ("",)]
    remedies = [owner_of(name).remedy for name in names if name in judged.pods.added]
    own = any(name not in judged.pods.added for name in names)
    return ", and ".join(dict.fromkeys([*(["take back what `security` or `patch` loosens"] if own else []), *remedies]))


def _has_token(volume: Body) -> bool:
    """Say whether a volume holds a token for the API server itself: without an audience, or with one of its own."""
    tokens = (source.get("serviceAccountToken") for source in items(volume, "projected", "sources"))
    audiences = [str(token.get("audience") or "") for token in tokens if isinstance(token, dict)]
    return any(not audience or _OF_THE_API.match(audience) for audience in audiences)


def _memory(subject: Subject, judged: Judged, volume: Body, field: Path) -> Iterator[Violation]:
    name, written = str(volume.get("name")), at(volume, "emptyDir", "sizeLimit")
    size = parse_quantity(str(written))
    users = [(who, container) for who, container, _ in containers(judged) if _writes(container, name)]
    if not users:
        return
    where = f"volume {name} of {pods_of(judged).removeprefix('the ')} is in memory"
    told: list[tuple[str, str, Severity | None]] = []
    if size is None and not _is_written(judged.resource.body, name):
        help = "write `resources: {sharedMemory: …}`, whose volume takes its place"
        told.append((f"{where}, by the operator and without a size limit", help, Severity.NOTE))
    elif size is None:
        told.append((f"{where}, without a size limit", "write `sizeLimit`", None))
    for who, container in users if size is not None else ():
        memory = at(container, "resources", "limits", "memory")
        limit = parse_quantity(str(memory))
        if size is not None and limit is not None and size[0] > limit[0]:
            message = f"{where} and may grow to {written}, but `{who}` has a memory limit of {memory}"
            told.append((message, "make it smaller, or the memory larger", None))
    for message, help, severity in told:  # what made the volume is looked up for findings alone
        yield Violation(message, made_by(subject, judged, field), help, severity, at_field=True)


def _writes(container: Body, volume: str) -> bool:
    mounts = items(container, "volumeMounts")
    return any(mount.get("name") == volume and mount.get("readOnly") is not True for mount in mounts)


def _is_written(value: Any, volume: str) -> bool:
    """Say whether a volume is one of the object's own, not one that its operator adds."""
    if isinstance(value, list):
        return any(_is_written(item, volume) for item in value)
    if not isinstance(value, dict):
        return False
    own = any(item.get("name") == volume for item in items(value, "volumes"))
    return own or any(_is_written(item, volume) for item in value.values() if isinstance(item, dict | list))


def _has_limit_range(subject: Subject) -> bool:
    return any(resource.key.kind == "LimitRange" for resource in subject.resources)


def _security(subject: Subject, judged: Judged) -> PlannedSecurity:
    """Return what `security` asks for; of a gate, that it is safe."""
    if at(judged.resource.body, "metadata", "labels", meta.GATE_OF):
        return PlannedSecurity()
    found = (stated.workload for stated in subject.plan.workloads)
    return next(item.security for item in found if (item.section, item.name) == judged.place)


RULES: Final = (
    Rule("MLS409", refused, may_be_certain=True),
    Rule("MLS410", less_strict),
    Rule("MLS411", token),
    Rule("MLS412", memory_volume),
    Rule("MLS413", no_limits),
    Rule("MLS414", weaker_than_written),
)
