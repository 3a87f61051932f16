"""How a step hands its work on: where its run's directory lies, what it waits for, what it ships, when it starts."""

from __future__ import annotations

import hashlib
import itertools
import re
from collections.abc import Mapping
from typing import Any, Final

from mlspec import codes, names
from mlspec.ir import PlannedMount, PlannedVariable, PlannedWorkload, Stated
from mlspec.ir_runs import PlannedRun, ShippedFile, Thresholds, Upstream, gate_text
from mlspec.kind_specs import StepSpec
from mlspec.model.handover import in_container, mount_point, ships
from mlspec.plan.scope import Scope
from mlspec.spec.shipped import MOST

_WAVE: Final = 10
# Not in a key of a ConfigMap; nor is `.` alone, or `..` at its beginning (Kubernetes' IsConfigMapKey).
_KEY: Final = re.compile(r"^\.(?=\.|\Z)|[^-._A-Za-z0-9]")
_LONGEST_KEY: Final = 200


def output(name: str, spec: StepSpec, mounts: tuple[PlannedMount, ...], scope: Scope) -> PlannedMount | None:
    """Return the mount in which the run's directory lies; None where there is no directory."""
    writable = [mount for mount in mounts if not mount.read_only]
    path = ("steps", name, "output")
    if spec.output is None:
        known = all(program.known for program in spec.programs().values())
        if len(writable) > 1 and spec.handoff == "auto" and known:
            shown = ", ".join(f"`{mount.volume}`" for mount in writable)
            message = f"{shown} are mounted for writing: which of them holds the run's directory?"
            help = f"add `output: {writable[-1].volume}`, mount the others with `readOnly: true`, or `handoff: none`"
            scope.report("MLS239", message, ("steps", name, "mounts"), help, at_key=True)
        return writable[0] if len(writable) == 1 else None
    found = next((mount for mount in mounts if mount.volume == spec.output), None)
    if found is None and spec.output not in spec.mounts:
        scope.report("MLS239", f"volume `{spec.output}` is not mounted", path, f"add `{spec.output}: /…` to `mounts`")
    elif found is not None and found.read_only:
        help = "remove its `readOnly`, or name another volume"
        scope.report("MLS239", f"volume `{spec.output}` is mounted for reading only", path, help)
        return None
    return found


def directory(mount: PlannedMount, project: str, run: str) -> str:
    """Return where a run's directory is, seen through a mount of its volume."""
    return f"{mount.path.rstrip('/')}/{project}/{run}"


def is_wrapped(name: str, spec: StepSpec, *, has_directory: bool, waits: bool, scope: Scope) -> bool:
    """Say whether a wrapper is started in front of the program; it needs one, and something to do."""
    if spec.handoff == "none" or not (has_directory or waits):
        return False
    unknown = [path for path, program in spec.programs().items() if not program.known]
    if unknown:
        message = "the image's own entry point is not known, so nothing marks when this run has succeeded"
        help = "write `command:` or `script:`, or `handoff: none` to say that it is meant"
        place = ("steps", name, *unknown[0])
        scope.report("MLS242", message, place, help, severity=codes.severity("MLS242"), at_key=True)
    return not unknown


def upstream(
    spec: StepSpec,
    mounts: tuple[PlannedMount, ...],
    before: Mapping[str, Stated],
    project: str,
    one_node: frozenset[str],
) -> tuple[Upstream, ...]:
    """Return the runs that a step needs, with where it sees their directories, by name of the step.

    `one_node` are the claims that only one node can mount at a time.
    """
    found = []
    for need in sorted(set(spec.needs)):
        if need not in before:
            continue
        needed = before[need].workload
        seen = next((mount for mount in mounts if mount.claim == needed.run.claim), None)
        place = directory(seen, project, needed.object_name) if seen is not None else None
        awaited = place is not None and needed.run.marked
        # A volume of one node goes to whoever mounts it first: if that is the one that waits, both wait for ever.
        together = awaited and needed.run.claim not in one_node
        found.append(Upstream(need, needed.object_name, place, awaited, together))
    return tuple(found)


def wave(name: str, spec: StepSpec, run: PlannedRun, before: Mapping[str, Stated], scope: Scope) -> int:
    """Return the sync wave: a new one only where GPUs would be held idle, or where waiting would be no help."""
    needed = {need: before[need].workload for need in spec.needs if need in before}
    if not needed:
        return 0
    highest = max(workload.wave for workload in needed.values())
    trainings = sorted(_trainings(needed, before))
    if asks_for_gpus(spec) and trainings:
        message = f"`{name}` and `{trainings[0]}` ask for GPUs: the sync waits for one before it starts the other"
        help = "commits that come meanwhile are applied when it ends; one step for both would not wait"
        scope.report("MLS243", message, ("steps", name, "needs"), help, severity=codes.severity("MLS243"))
    together = {item.step for item in run.upstream if item.together} if run.wrapped else set()
    return highest + _WAVE if asks_for_gpus(spec) or needed.keys() - together else highest


def _trainings(needed: Mapping[str, PlannedWorkload], before: Mapping[str, Stated]) -> set[str]:
    """Return the steps that ask for GPUs among those needed, directly or not."""
    found, waiting, seen = set[str](), list(needed.values()), set(needed)
    while waiting:
        workload = waiting.pop()
        if asks_for_gpus(workload.spec):
            found.add(workload.name)
        further = {item.step for item in workload.run.upstream} - seen
        seen |= further
        waiting += (before[step].workload for step in further)
    return found


def asks_for_gpus(spec: Any) -> bool:
    """Say whether any pod of a step asks for GPUs; a part that says nothing has the step's."""
    parts = spec.parts().values()
    return any(gpu is not None and gpu.count > 0 for part in parts for gpu in (part.gpu or spec.gpu,))


def thresholds(spec: StepSpec) -> Thresholds:
    """Return the gate as it is handed on."""
    dumped: Thresholds = {
        name: threshold.model_dump(by_alias=True, exclude_none=True) for name, threshold in sorted(spec.gate.items())
    }
    return dumped


def shipped(spec: StepSpec, contents: Mapping[str, bytes]) -> tuple[ShippedFile, ...]:
    """Return the files that travel with a run, by path in the repository."""
    paths: dict[str, list[str]] = {}
    for program in spec.programs().values():
        if ships(program.script):
            paths.setdefault(str(program.script), []).append(in_container(str(program.script)))
    for source, path in spec.files.items():
        paths.setdefault(source, []).append(mount_point(path))
    keys: dict[str, str] = {}
    for source in sorted(paths):
        key = _KEY.sub("_", source[-_LONGEST_KEY:])
        hashed = f"{key}-{hashlib.sha256(source.encode()).hexdigest()[: names.HASH_LENGTH]}"
        # A file may well be called what another's key becomes with its hash.
        choices = itertools.chain((key, hashed), (f"{hashed}-{number}" for number in itertools.count(2)))
        keys[source] = next(choice for choice in choices if choice not in keys.values())
    return tuple(
        ShippedFile(source, keys[source], contents[source], tuple(sorted(set(paths[source]))))
        for source in sorted(paths)
        if source in contents
    )


def check_size(name: str, files: tuple[ShippedFile, ...], spec: StepSpec, scope: Scope) -> None:
    """Report files that do not fit into one ConfigMap together; one that is too large alone is said already."""
    total = sum(len(file.content) for file in files)
    if total > MOST:
        shown = " + ".join(f"{len(file.content)} ({file.source})" for file in files)
        message = f"the run's files are {shown} = {total} > {MOST} bytes, which is what a ConfigMap holds"
        path = ("steps", name, "files" if spec.files else "script")
        scope.report("MLS246", message, path, "put the largest into the image, or on a volume", at_key=True)


def check_gate(name: str, run: PlannedRun, scope: Scope) -> None:
    """Report thresholds on metrics that the run has no place for."""
    if run.gate and not run.marked:
        message = f"`{name}` has a gate, but no run directory for metrics.json, or nothing that marks its success"
        help = "mount a volume for writing, and give the step `command:` or `script:` without `handoff: none`"
        scope.report("MLS245", message, ("steps", name, "gate"), help, at_key=True)


def variables(name: str, run: PlannedRun) -> tuple[PlannedVariable, ...]:
    """Return what tells a container which run it is, where its directory is, and where those of its inputs are."""
    found = [PlannedVariable("MLSPEC_RUN", name)]
    found += [PlannedVariable("MLSPEC_RUN_DIR", run.directory)] if run.directory is not None else []
    for item in run.upstream:
        if item.directory is not None:
            found.append(PlannedVariable(names.input_variable(item.step), item.directory))
    found += [PlannedVariable("MLSPEC_GATE", gate_text(run.gate))] if run.gate else []
    return tuple(found)
