"""What a kubelet makes of a container's spec: its words and variables, expanded, and its volumes, as folders.

Not played: users (everything is root of its cell), security but for a read-only root, limits, images.
"""

from __future__ import annotations

import base64
import re
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from tests.cluster.harness.client import Api, Body
from tests.cluster.harness.errors import HarnessError

_REFERENCE: Final = re.compile(r"\$(?:(?P<dollar>\$)|\((?P<name>[^)]*)\))")
_EMPTY: Final = ("emptyDir", "projected", "downwardAPI")
"""Volumes that begin without files; nobody here reads a token or its own labels."""
_KINDS: Final = {"configMap": ("ConfigMap", "name"), "secret": ("Secret", "secretName")}
_SHELLS: Final = ("sh", "bash", "dash")
Bind = tuple[str, str, bool]
"""A file or folder, where the container has it, and whether it can only be read there."""


class NotReady(Exception):  # noqa: N818  # nothing is wrong yet
    """A container cannot start yet: what it mounts is not there."""


def expand(text: str, variables: Mapping[str, str]) -> str:
    """Replace each $(NAME) by its variable; one that is unknown stays as it is, and $$ is a dollar.

    The rules of Kubernetes' own expansion (third_party/forked/golang/expansion).
    """

    def one(match: re.Match[str]) -> str:
        return "$" if match["dollar"] else variables.get(match["name"], match[0])

    return _REFERENCE.sub(one, text)


@dataclass(frozen=True)
class Claims:
    """The folders of claims: one a claim, whoever mounts it.

    A claim that was deleted and made again is another one, and empty: each is a link to the folder of its volume.
    """

    folder: Path
    api: Api

    def path(self, namespace: str, name: str) -> Path:
        """Return a claim's folder, made when it is first asked for.

        Raises:
            NotReady: it is not there, or not bound.
        """
        claim = self.api.get("v1", "PersistentVolumeClaim", namespace, name) or {"spec": {}}
        volume = str(claim["spec"].get("volumeName", ""))
        if not volume:
            raise NotReady(f"claim {name} is not bound")
        stored = self.folder / "volumes" / volume
        stored.mkdir(parents=True, exist_ok=True)
        link = self.folder / "claims" / namespace / name
        if not link.is_symlink() or link.readlink() != stored:
            link.parent.mkdir(parents=True, exist_ok=True)
            fresh = link.with_name(f"{name}.{threading.get_ident()}")  # several pods may be the first at once
            fresh.symlink_to(stored)
            fresh.replace(link)
        return stored


def environment(pod: Body, container: Body, api: Api) -> dict[str, str]:
    """Return a container's variables, in the order in which they may refer to one another."""
    found: dict[str, str] = {}
    for source in container.get("envFrom", []):
        for key, (kind, _) in {"configMapRef": _KINDS["configMap"], "secretRef": _KINDS["secret"]}.items():
            if key in source:
                data = _data(api, kind, pod["metadata"]["namespace"], source[key]["name"]) or {}
                found |= {source.get("prefix", "") + name: value.decode() for name, value in data.items()}
    for entry in container.get("env", []):
        value = _value(pod, entry["valueFrom"], api) if "valueFrom" in entry else expand(entry.get("value", ""), found)
        if value is not None:
            found[entry["name"]] = value
    return found


def _value(pod: Body, source: Body, api: Api) -> str | None:
    """Return the value of a variable that is somewhere else, None if there is none."""
    for key, kind in (("secretKeyRef", "Secret"), ("configMapKeyRef", "ConfigMap")):
        if key in source:
            data = _data(api, kind, pod["metadata"]["namespace"], source[key]["name"]) or {}
            value = data.get(source[key]["key"])
            return None if value is None else value.decode()
    if "fieldRef" in source:
        path, _, key = source["fieldRef"]["fieldPath"].partition("['")
        found: Any = pod
        for name in path.split("."):
            found = found.get(name, {})
        return str(found.get(key.removesuffix("']"), "") if key else found or "")
    return None  # resourceFieldRef: there are no limits


def _data(api: Api, kind: str, namespace: str, name: str) -> dict[str, bytes] | None:
    body = api.get("v1", kind, namespace, name)
    if body is None:
        return None
    coded = body.get("binaryData" if kind == "ConfigMap" else "data") or {}
    found = {key: base64.b64decode(value) for key, value in coded.items()}
    plain = body.get("data") or {} if kind == "ConfigMap" else {}
    return found | {key: value.encode() for key, value in plain.items()}


def binds(pod: Body, container: Body, variables: Mapping[str, str], folder: Path, claims: Claims) -> list[Bind]:
    """Return what a container mounts, outer folders first; the pod's own volumes are below `folder`.

    Raises:
        NotReady: a claim, ConfigMap or Secret is not there.
        HarnessError: a volume is of a kind that is not played.
    """
    volumes = {volume["name"]: volume for volume in pod["spec"].get("volumes", [])}
    found = []
    for mount in container.get("volumeMounts", []):
        volume = volumes[mount["name"]]
        source = _volume(pod, volume, folder, claims)
        inside = mount.get("subPath") or expand(mount.get("subPathExpr", ""), variables)
        if inside:
            source /= inside
            if not source.exists():
                source.mkdir(parents=True, exist_ok=True)  # as a kubelet does, for every kind of volume
        fixed = not {"persistentVolumeClaim", "emptyDir"} & volume.keys()
        read_only = fixed or mount.get("readOnly", False) or volume.get("persistentVolumeClaim", {}).get("readOnly")
        found.append((str(source), mount["mountPath"].rstrip("/"), bool(read_only)))
    return sorted(found, key=lambda bind: bind[1].count("/"))


def _volume(pod: Body, volume: Body, folder: Path, claims: Claims) -> Path:
    """Return the folder of a volume; those of the pod's own are made once."""
    namespace = pod["metadata"]["namespace"]
    if "persistentVolumeClaim" in volume:
        return claims.path(namespace, volume["persistentVolumeClaim"]["claimName"])
    target = folder / "volumes" / str(volume["name"])
    source = next((key for key in _KINDS if key in volume), "")
    if not source and not any(key in volume for key in _EMPTY):
        kinds = ", ".join(key for key in volume if key != "name")
        raise HarnessError(str(volume["name"]), f"volumes of {kinds} are not played")
    if source and not target.exists():
        kind, key = _KINDS[source]
        _write(target, volume[source], _data(claims.api, kind, namespace, volume[source][key]), kind)
    target.mkdir(parents=True, exist_ok=True)
    return target


def _write(target: Path, stated: Body, data: Mapping[str, bytes] | None, kind: str) -> None:
    """Write the keys of a ConfigMap or Secret as files: all, or those that are named, at their paths."""
    if data is None:
        if not stated.get("optional"):
            raise NotReady(f"{kind} {stated.get('name') or stated.get('secretName')} is not there")
        return
    items = stated.get("items") or [{"key": key, "path": key} for key in data]
    missing = [item["key"] for item in items if item["key"] not in data]
    if missing and not stated.get("optional"):
        raise NotReady(f"{kind} has no key {', '.join(missing)}")
    for item in items:
        if item["key"] in data:
            path = target / item["path"]
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(data[item["key"]])
            path.chmod(item.get("mode") or stated.get("defaultMode") or 0o644)


def missing_program(words: list[str]) -> str:
    """Return the word of a container's command for which there must be a stand-in, "" if all of it is real.

    Shells are real, and what a wrapper of ours runs after `--` is not; Python with a text (`-c`) is.
    """
    if words and Path(words[0]).name in _SHELLS:
        rest = words[3:]  # the shell, -c, its text
        words = rest[rest.index("--") + 1 :] if "--" in rest else []
        return words[0] if words and Path(words[0]).name not in _SHELLS else ""
    return "" if not words or is_python_text(words) else words[0]


def is_python_text(words: list[str]) -> bool:
    """Say whether a command is Python with its program in it."""
    return len(words) > 1 and Path(words[0]).name in {"python", "python3"} and words[1] == "-c"
