"""A projected pod in, the program that stands for it on this computer out: its words, its variables; starts nothing."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from mlspec import scripts
from mlspec.k8s import pod as pods
from mlspec.k8s.projected import Body
from mlspec.k8s.values import at, items, mapping, words
from mlspec.local import computer, launch
from mlspec.local.errors import CannotRunError
from mlspec.local.folders import Folders
from mlspec.local.graph import LocalRun
from mlspec.local.launch import Here
from mlspec.local.words import Places, expanded

_MAIN: Final = frozenset({"main", "pytorch", "tensorflow", "node", "gate"})
"""Names of the container that runs the program."""
_SHARED: Final = frozenset({pods.SCRATCH, pods.SHARED_MEMORY})
"""Folders that every computer has."""
_TERMINATION_LOG: Final = "/dev/termination-log"
_IDENTITY: Final = frozenset({"HOME", "LOGNAME", "USER"})
_THREADS: Final = "OMP_NUM_THREADS"
_INTERFACE: Final = "_SOCKET_IFNAME"
"""End of the variables that name a network interface, which is one of the pod's."""


@dataclass(frozen=True, slots=True)
class Program:
    """What is started for a pod."""

    name: str
    """Of the pod."""
    words: tuple[str, ...]
    env: Mapping[str, str]
    leads: bool
    folders: tuple[Path, ...]
    """What must be there when it starts."""


@dataclass(frozen=True, slots=True)
class Setting:
    """What a run is given beside its pods."""

    folders: Folders
    path: str
    """PATH."""
    here: Here
    ports: Mapping[str, int]
    """Of a TFJob, by `host:port` in the cluster."""
    gpus: bool
    """False: the program sees none."""


def program(run: LocalRun, pod: Body, setting: Setting) -> Program:
    """Return the program of a run's pod; raises CannotRunError for what exists only in a cluster."""
    container = _main(run, pod)
    places, needed = _places(run, pod, container, setting.folders)
    own = _variables(run, container, places, setting)
    told = {**own, **_local(run, own, setting), "HOSTNAME": pod["metadata"]["name"]}
    handover = scripts.text("handover.sh")
    spoken = [
        word if word == handover else expanded(places.here(word), own)
        for word in (*words(container, "command"), *words(container, "args"))
    ]
    name = str(pod["metadata"]["name"])
    found = Program(
        name, tuple(spoken), computer.environment(setting.path, told.items()), run.leads(pod), tuple(needed)
    )
    _check(run, container, places, found)
    return found


def _main(run: LocalRun, pod: Body) -> Body:
    containers = items(pod["spec"].get("containers"))
    container = next((one for one in containers if one.get("name") in _MAIN), containers[0])
    if not words(container, "command"):
        message = "starts the entry point of its image, and images are not used here"
        raise CannotRunError(f"step `{run.step}` {message}; write `script:` with a file of this repository")
    if container.get("envFrom"):
        raise CannotRunError(
            f"step `{run.step}` takes variables by `envFrom`, which only a cluster has; write them under `env`"
        )
    return container


def _places(run: LocalRun, pod: Body, container: Body, folders: Folders) -> tuple[Places, list[Path]]:
    """Return where the container's folders are here, and those that must be made."""
    volumes = {volume["name"]: volume for volume in items(pod["spec"].get("volumes"))}
    found, needed = {_TERMINATION_LOG: str(folders.logs(run.name) / "termination-log")}, list[Path]()
    for mount in items(container.get("volumeMounts")):
        volume, inside = mapping(volumes.get(mount["name"])), str(mount["mountPath"])
        if claim := at(volume, "persistentVolumeClaim", "claimName"):
            path = folders.volume_path(str(claim)) / str(mount.get("subPath", ""))
            needed.append(path)
        elif mount["name"] == pods.FILES_VOLUME:
            path = folders.image(run.name) / inside.lstrip("/")
        elif "emptyDir" in volume:
            if inside in _SHARED:
                continue
            path = folders.image(run.name) / inside.lstrip("/")
            needed.append(path)
        else:
            what = next((key for key in volume if key != "name"), "volume")
            raise CannotRunError(f"step `{run.step}` mounts a volume of type `{what}`, which only a cluster has")
        found[inside] = str(path)
    return Places(found), needed


def _variables(run: LocalRun, container: Body, places: Places, setting: Setting) -> dict[str, str]:
    """Return the container's variables, those of the operator as they are here."""
    entries = items(container.get("env"))
    table = launch.table(run.kind, frozenset(str(entry["name"]) for entry in entries))
    known: dict[str, str] = {}
    for entry in entries:
        name, value = str(entry["name"]), str(entry.get("value", ""))
        local = table.get(name)
        if "valueFrom" in entry:
            secret = _secret(run, name, mapping(entry["valueFrom"]))
            known |= {name: secret} if secret is not None else {}
        elif local is not None:
            known[name] = local(setting.here)
        elif name in table and name == launch.TF_CONFIG:
            known[name] = launch.tf_config(value, setting.ports)
        elif name in _IDENTITY and value in {pods.SCRATCH, "mlspec"}:
            known[name] = os.environ.get(name, value)
        else:
            known[name] = expanded(places.here(value), known)
    return known


def _secret(run: LocalRun, name: str, source: Body) -> str | None:
    reference = mapping(source.get("secretKeyRef"))
    if not reference:
        what = next(iter(source), "valueFrom")
        raise CannotRunError(f"step `{run.step}` takes the variable {name} by `{what}`, which only a cluster has")
    value = os.environ.get(name)
    if value is None and reference.get("optional") is not True:
        where = f"key `{reference.get('key')}` of secret `{reference.get('name')}`"
        raise CannotRunError(f"step `{run.step}` needs the variable {name} ({where} in the cluster); set it before")
    return value


def _local(run: LocalRun, own: Mapping[str, str], setting: Setting) -> dict[str, str]:
    """Return variables that are this computer's business: threads, devices, interfaces, logs."""
    fit = max(1, computer.cores() // (setting.here.processes if run.distributed else len(run.pods)))
    written = own.get(_THREADS, "")
    # More threads than cores are several times as slow as one (every collective waits for the slowest).
    found = {_THREADS: str(min(int(written), fit) if written.isdecimal() and int(written) else fit)}
    found |= {name: computer.loopback() for name in own if name.endswith(_INTERFACE)}
    if not setting.gpus:
        found["CUDA_VISIBLE_DEVICES"] = ""
    if run.distributed:
        found["GLOO_SOCKET_IFNAME"] = computer.loopback()
        found |= {"PET_LOG_DIR": str(setting.folders.logs(run.name) / "ranks"), "PET_TEE": "3"}
    return found


def _check(run: LocalRun, container: Body, places: Places, found: Program) -> None:
    """Refuse a program that is not on this computer."""
    written = words(container, "command") + words(container, "args")
    start = written.index("--") + 1 if run.workload.run.wrapped and "--" in written else 0
    for word, here in _files(written[start:], list(found.words[start:])):
        if not _is_here(word, here, places, found.env["PATH"]):
            raise CannotRunError(
                f"step `{run.step}`: `{word}` exists only in the image, and images are not used here; "
                "write `script:` with a file of this repository"
            )


def _is_here(word: str, here: str, places: Places, path: str) -> bool:
    if word.startswith("/"):
        return places.covers(word) or Path(here).exists()
    if word in computer.LAUNCHERS:
        return True
    return "/" not in word and not word.endswith(".py") and shutil.which(word, path=path) is not None


def _files(written: list[str], here: list[str]) -> Iterator[tuple[str, str]]:
    """Yield the program and, where it is a launcher's, the script, as written and as it is here."""
    yield written[0], here[0]
    if Path(written[0]).name.startswith(("python", "torchrun")):
        for word, path in zip(written[1:], here[1:], strict=True):
            if word in {"-c", "-m"}:
                return
            if word.endswith(".py"):
                yield word, path
                return
