"""Where the fields of pod templates come from, whatever object holds the template."""

from __future__ import annotations

from typing import Any, Final

from mlspec.ir_runs import ShippedFile
from mlspec.ir_sources import Source
from mlspec.k8s import meta, pod
from mlspec.model.served import STORAGE_VARIABLE
from mlspec.plan import defaults
from mlspec.provenance.rows import Rows, below, said
from mlspec.provenance.view import At, Origin, View, environment, is_written, node_at, own, project
from mlspec.source import Mapping, PlainText, Scalar, Sequence

MODEL: Final = "model uri | model from + model path + model run + /name"
"""Where a model lies."""
_PROGRAM: Final = ("script", "command", "handoff")
"""What decides whether a run marks its success: only a program that is known can be wrapped."""


def gpu_type(at: At) -> str | None:
    """Return the type of GPU that pods ask for; None where they ask for none."""
    spec, fields = at.view.environment.model, at.view.spec
    if fields is None:
        return None
    part = fields.parts().get(at.part)
    wanted = part.gpu if part is not None and part.gpu is not None else fields.gpu
    return defaults.gpu_name(wanted, spec) if wanted is not None and wanted.count else None


def _of_gpu(at: At) -> Origin:
    """Return what chooses the type of GPU: its count, its name, and the environment's default."""
    return (own(at, "gpu", "count"), own(at, "gpu", "type"), environment("defaults", "gpu"))


def placement(at: At) -> Origin:
    """Return what places pods: the entry of their GPU type, or what the environment says of pods without GPU."""
    found = gpu_type(at)
    place = ("gpus", found) if found is not None else ("placement",)
    field = ("nodeSelector", at.key) if _is_selector(at) else _toleration(at)
    return (environment(*place, *field), *_of_gpu(at), *_queue(at))


def placements(at: At) -> Origin:
    """Return what decides that pods are placed at all."""
    found = gpu_type(at)
    place = environment("gpus", found) if found is not None else environment("placement")
    return (place, *_of_gpu(at), *_queue(at))


def _queue(at: At) -> Origin:
    """Return what leaves the place of a run's pods to Kueue."""
    return (own(at, "queue"), environment("kueue", "queue")) if at.view.step is not None else ()


def _is_selector(at: At) -> bool:
    """Say whether it is about a node selector, which is a map, and not about tolerations, which are a list."""
    return isinstance(at.stars[-1], str)


def _toleration(at: At) -> tuple[str, ...]:
    return ("tolerations", *map(str, (*at.stars[-1:], *at.rest)))


def gate_placement(at: At) -> Origin:
    """Return what places the pods of gates: as any without GPU."""
    field = ("nodeSelector", at.key) if _is_selector(at) else _toleration(at)
    return (environment("placement", *field),)


def amount(at: At) -> Origin:
    """Return where an extended resource is asked for: by its own name, or as a GPU."""
    tree = at.view.variant.tree
    if any(is_written(tree, source.path) for source in own(at, "resources", at.key)):
        return (own(at, "resources", at.key),)
    kind = gpu_type(at)
    return (*_of_gpu(at), *((environment("gpus", kind, "resource"),) if kind is not None else ()))


_LAUNCHING: Final = {
    "OMP_NUM_THREADS": "resources cpu | @defaults cpu + processes | gpu count + env OMP_NUM_THREADS",
    "NCCL_DEBUG": "gpu count + env NCCL_DEBUG",
}
"""Variables of trainings, which mlspec tells where `env` does not, by what they depend on."""


def variable(at: At) -> Origin:
    """Return where an environment variable comes from: from `env`, or from what mlspec tells by it."""
    name = str(at.node.get("name")) if isinstance(at.node, dict) else ""
    fields = own(at, "env", name)
    if any(is_written(at.view.variant.tree, source.path) for source in fields):
        reference = at.rest[:2] == ("valueFrom", "secretKeyRef") and len(at.rest) > 2
        deeper = {"name": ("secret",), "key": ("key",)}.get(str(at.rest[-1]), ()) if reference else ()
        return (own(at, "env", name, *deeper),)
    if name in _LAUNCHING:
        return said(_LAUNCHING[name], at)
    if name == STORAGE_VARIABLE:
        return said(MODEL, at) + _of_run(at)
    if name == "MLSPEC_RUN_DIR":
        return (*_mounts(at), own(at, "output"), project("name"))
    if name == "MLSPEC_GATE":
        return (own(at, "gate"),)
    if name.startswith("MLSPEC_INPUT_"):
        return (own(at, "needs"), *_mounts(at), project("name"), *_outputs(at.view))
    also = ("model implementation", "model format", "model protocol", "protocol")
    return (own(at), own(at, "env", name), *(own(at, *field.split()) for field in also))


def _mounts(at: At) -> Origin:
    step = at.view.step
    names = step.mounts if step is not None else ()
    return tuple(own(at, "mounts", name, field) for name in names for field in ("path", "readOnly"))


def _outputs(view: View) -> Origin:
    """Return which volume the directories of other runs lie on."""
    found = [each.workload.name for each in view.plan.steps]
    return tuple(project("steps", name, field) for name in found for field in ("output", "mounts"))


def _marking(view: View) -> Origin:
    """Return what decides on the markers of other runs that a wrapper waits for."""
    names = [each.workload.name for each in view.plan.steps]
    return (*_outputs(view), *(project("steps", name, field) for name in names for field in _PROGRAM))


def _of_run(at: At) -> Origin:
    """Return what the place of a run's directory on its claim depends on."""
    claims = (project("volumes", name, "claim") for name in at.view.variant.model.volumes)
    return (*_outputs(at.view), *claims)


def model(at: At) -> Origin:
    """Return where a model comes from: its URI, or the run that made it."""
    return said(MODEL, at) + _of_run(at)


def volume(at: At) -> Origin:
    """Return where a volume of a pod comes from, or its mount in a container."""
    name = str(at.node.get("name")) if isinstance(at.node, dict) else ""
    step = at.view.step
    if name == pod.SHARED_MEMORY_VOLUME:
        return said("resources sharedMemory | resources memory | @defaults memory + resources memory", at)
    if name == pod.SCRATCH_VOLUME:
        return (own(at, "security", "writableRoot"), *_mounts(at))
    if name == pod.FILES_VOLUME:
        return _shipped(at)
    if step is None or name not in step.mounts:
        return (own(at),)
    if at.rest[-1:] == ("claimName",):
        return (project("volumes", name, "claim"), own(at, "mounts", name))
    field = {"mountPath": ("path",), "readOnly": ("readOnly",)}.get(str(at.rest[-1]), ()) if at.rest else ()
    return (own(at, "mounts", name, *field),)


def _shipped(at: At) -> Origin:
    key = at.node.get("subPath") if isinstance(at.node, dict) else None
    found = (chain for file in files(at.view) if key in (None, file.key) for chain in shipped(at, file))
    return tuple(found) or (own(at, "files"),)


def files(view: View) -> tuple[ShippedFile, ...]:
    """Return the files that travel with a run."""
    return view.stated.workload.run.files if view.stated is not None else ()


def shipped(at: At, file: ShippedFile) -> Origin:
    """Return the fields that ship a file: an entry of `files`, and every script that it is."""
    step = at.view.step
    parts = step.programs() if step is not None else {}
    scripts = (
        own(at._replace(part=path), "script") for path, program in parts.items() if program.script == file.source
    )
    return (*((own(at, "files", file.source),) if step is not None and file.source in step.files else ()), *scripts)


def command(at: At) -> Origin:
    """Return where a word of a command comes from: the program, or the wrapper in front of it."""
    wrapper = (own(at, "handoff"), own(at, "needs"), own(at, "mounts"), *_mounts(at), *_marking(at.view))
    wrapper = (*wrapper, project("name"))
    wrapper = wrapper if at.view.step is not None else said("protocol + model implementation", at)
    programs = tuple(source for place in own(at) for source in (_below(place, "command"), _below(place, "script")))
    tree = at.view.variant.tree
    number = next((number for number, source in enumerate(programs) if is_written(tree, source.path)), None)
    if number is None or at.view.step is None:
        return (programs, *wrapper)
    before, written = programs[:number], programs[number]
    node = node_at(tree, written.path)
    index = at.rest[0] if at.rest and isinstance(at.rest[0], int) else None
    if index is None or not isinstance(at.node, list):
        return ((*before, written), *wrapper)
    words = len(node.items) if isinstance(node, Sequence) else 2  # a script stands behind its launcher
    if index < len(at.node) - words:
        return wrapper
    item = (str(index - len(at.node) + words),) if isinstance(node, Sequence) else ()
    return ((*before, _below(written, *item)),)


def _below(source: Source, *fields: str) -> Source:
    return source._replace(path=(*source.path, *fields))


def argument(at: At) -> Origin:
    """Return where a word of the arguments is written: an item of the list, or a flag of the map."""
    index = at.rest[0] if at.rest and isinstance(at.rest[0], int) else None
    for source in own(at, "args"):
        node = node_at(at.view.variant.tree, source.path)
        if node is None:
            continue
        if index is None:
            return ((source,),)
        if isinstance(node, Sequence):
            return ((source._replace(path=(*source.path, str(index))),),)
        flags = (
            [name for name, entry in node.entries.items() for _ in range(_words(entry.value))]
            if isinstance(node, Mapping)
            else []
        )
        return ((source._replace(path=(*source.path, *flags[index : index + 1])),),)
    return (own(at, "args"),)


def _words(value: Any) -> int:
    """Return how many words a flag is: none for false, the flag alone for true."""
    if isinstance(value, Scalar) and value.plain and PlainText(value.text) in ("true", "false"):
        return int(value.text == "true")
    return 2


_SECURITY: Final[Rows] = {
    "": "security",
    "capabilities": "security capabilities",
    "readOnlyRootFilesystem": "security writableRoot",
    **dict.fromkeys(("runAsUser", "runAsGroup", "runAsNonRoot", "fsGroup"), "security user"),
}
_AMOUNTS: Final[Rows] = {
    "": "resources",
    "*": amount,
    "cpu": "resources cpu | @defaults cpu",
    "memory": "resources memory | @defaults memory",
}
_VOLUMES: Final = "mounts + files + script + security writableRoot + resources sharedMemory + resources memory"
CONTAINER: Final[Rows] = {
    "image": "image",
    "command": command,
    "args": argument,
    "env *": variable,
    "ports": "port",
    "resources": "resources",
    **below("resources requests", _AMOUNTS),
    **below("resources limits", _AMOUNTS),
    "volumeMounts": _VOLUMES,
    "volumeMounts *": volume,
    **below("securityContext", _SECURITY),
}
"""Fields of a container that the spec describes."""
POD: Final[Rows] = {
    "nodeSelector": placements,
    "tolerations": placements,
    "nodeSelector *": placement,
    "tolerations *": placement,
    "volumes": _VOLUMES,
    "volumes *": volume,
    **below("securityContext", _SECURITY),
    **below("containers *", CONTAINER),
}
"""Fields of a pod."""
_LABELS: Final[Rows] = {
    "labels app.kubernetes.io/part-of": "/name",
    f"labels {meta.PROJECT}": "/name",
}
TEMPLATE: Final[Rows] = {**below("metadata", _LABELS), **below("spec", POD)}
"""Fields of a pod template."""
