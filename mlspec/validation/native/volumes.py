"""Volumes of a pod, and how its containers mount them.

From k8s.io/kubernetes v1.34.4 pkg/apis/core/validation/validation.go (ValidateVolumes, validateVolumeSource and one
function a source, validateProjectionSources, ValidateVolumeMounts, ValidateVolumeDevices).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from mlspec.validation.native import claims, downward, forms, quantities
from mlspec.validation.native.found import Body, Found, below, child, children, number, strings, text
from mlspec.validation.objection import Path

CODE: Final = "MLS324"
_MODE: Final = 0o777
_HOST_TYPES: Final = frozenset(
    {"", "DirectoryOrCreate", "Directory", "FileOrCreate", "File", "Socket", "CharDevice", "BlockDevice"}
)
_PULLS: Final = frozenset({"Always", "IfNotPresent", "Never"})
_IMAGES_SINCE: Final = (1, 35)
"""Since when the server keeps volumes that are images (feature ImageVolume); before, it drops them and their mounts."""
_REQUIRED: Final[Mapping[str, tuple[str, ...]]] = {
    "awsElasticBlockStore": ("volumeID",),
    "azureDisk": ("diskName", "diskURI"),
    "azureFile": ("secretName", "shareName"),
    "cinder": ("volumeID",),
    "csi": ("driver",),
    "flexVolume": ("driver",),
    "gcePersistentDisk": ("pdName",),
    "gitRepo": ("repository",),
    "glusterfs": ("endpoints", "path"),
    "hostPath": ("path",),
    "iscsi": ("targetPortal", "iqn"),
    "nfs": ("server", "path"),
    "persistentVolumeClaim": ("claimName",),
    "photonPersistentDisk": ("pdID",),
    "portworxVolume": ("volumeID",),
    "quobyte": ("registry", "volume"),
    "rbd": ("image",),
    "secret": ("secretName",),
    "vsphereVolume": ("volumePath",),
}
"""Texts that a source cannot do without."""


def volumes(found: Found, pod: Body, spec: Body, path: Path) -> dict[str, Body]:
    """Judge the volumes of a pod; return those that containers may mount, by name."""
    known: dict[str, Body] = {}
    for index, volume in enumerate(children(spec, "volumes")):
        name, place = text(volume, "name"), (*path, "volumes", index)
        found.needed(CODE, (*place, "name"), name, forms.label)
        if name in known:
            found.add(CODE, (*place, "name"), f"`{name}` stands there twice", "choose another name")
        known[name] = volume
        sources = sorted(key for key, value in volume.items() if key != "name" and value is not None)
        if len(sources) > 1:
            found.add(CODE, place, f"is {' and '.join(f'`{key}`' for key in sources)}", "a volume is one of them")
        elif sources:  # without a source it is an emptyDir (pkg/apis/core/v1/defaults.go, SetDefaults_Volume)
            _source(found, pod, volume, sources[0], place)
    return known


def _source(found: Found, pod: Body, volume: Body, sort: str, path: Path) -> None:
    source, place = below(volume, sort), (*path, sort)
    for field in _REQUIRED.get(sort, ()):
        if not text(source, field):
            found.add(CODE, (*place, field), "is missing")
    if judge := _SOURCES.get(sort):
        judge(found, source, place)
    elif sort == "ephemeral":
        _ephemeral(found, pod, volume, source, place)


def _empty_dir(found: Found, source: Body, path: Path) -> None:
    limit = quantities.read(found, source.get("sizeLimit"), (*path, "sizeLimit"), CODE)
    if limit is not None and limit < 0:
        found.add(CODE, (*path, "sizeLimit"), f"{source['sizeLimit']} is negative")
    if found.kubernetes >= (1, 37):
        found.between(CODE, (*path, "mode"), number(source, "mode"), 0, 0o1777)


def _host_path(found: Found, source: Body, path: Path) -> None:
    found.form(CODE, (*path, "path"), text(source, "path"), forms.no_steps_up)
    if source.get("type") is not None and text(source, "type") not in _HOST_TYPES:
        found.one_of(CODE, (*path, "type"), source["type"], _HOST_TYPES)


def _git(found: Found, source: Body, path: Path) -> None:
    found.form(CODE, (*path, "directory"), text(source, "directory"), forms.descending)


def _nfs(found: Found, source: Body, path: Path) -> None:
    if text(source, "path") and not text(source, "path").startswith("/"):
        found.add(CODE, (*path, "path"), "is not absolute")


def _configuration(found: Found, source: Body, path: Path) -> None:
    if path[-1] == "configMap" and not text(source, "name"):
        found.add(CODE, (*path, "name"), "is missing")
    found.between(CODE, (*path, "defaultMode"), number(source, "defaultMode"), 0, _MODE)
    _items(found, source, path)


def _items(found: Found, source: Body, path: Path) -> list[str]:
    """Judge which keys become which files; return their paths (validateKeyToPath)."""
    for index, item in enumerate(children(source, "items")):
        place = (*path, "items", index)
        if not text(item, "key"):
            found.add(CODE, (*place, "key"), "is missing")
        _file(found, item, place)
    return [text(item, "path") for item in children(source, "items")]


def _file(found: Found, item: Body, path: Path) -> None:
    found.needed(CODE, (*path, "path"), text(item, "path"), forms.local_file)
    found.between(CODE, (*path, "mode"), number(item, "mode"), 0, _MODE)


def _downward(found: Found, source: Body, path: Path) -> None:
    found.between(CODE, (*path, "defaultMode"), number(source, "defaultMode"), 0, _MODE)
    for index, item in enumerate(children(source, "items")):
        place = (*path, "items", index)
        _file(found, item, place)
        downward.of_volume(found, item, place)


def _csi(found: Found, source: Body, path: Path) -> None:
    found.form(CODE, (*path, "driver"), text(source, "driver").lower(), forms.subdomain)
    secret = child(source, "nodePublishSecretRef")
    if secret is not None:
        found.needed(CODE, (*path, "nodePublishSecretRef", "name"), text(secret, "name"), forms.subdomain)


def _image(found: Found, source: Body, path: Path) -> None:
    if found.kubernetes < _IMAGES_SINCE:
        return
    if not text(source, "reference"):
        found.add(CODE, (*path, "reference"), "is missing")
    if text(source, "pullPolicy"):
        found.one_of(CODE, (*path, "pullPolicy"), source["pullPolicy"], _PULLS)


def _projected(found: Found, source: Body, path: Path) -> None:
    found.between(CODE, (*path, "defaultMode"), number(source, "defaultMode"), 0, _MODE)
    files: set[str] = set()
    for index, part in enumerate(children(source, "sources")):
        place = (*path, "sources", index)
        given = sorted(key for key, value in part.items() if value is not None)
        if len(given) > 1:
            found.add(CODE, place, f"is {' and '.join(f'`{key}`' for key in given)}", "a source is one of them")
        for sort in given:
            for file in _part(found, below(part, sort), sort, (*place, sort)):
                if file and file in files:
                    found.add(CODE, (*place, sort), f"`{file}` is the file of another source, too")
                files.add(file)


def _part(found: Found, part: Body, sort: str, path: Path) -> list[str]:
    """Judge one source of a projected volume; return the files that must be its own."""
    if sort in ("secret", "configMap"):
        if not text(part, "name"):
            found.add(CODE, (*path, "name"), "is missing")
        return _items(found, part, path)
    if sort == "downwardAPI":
        _downward(found, part, path)
        return [text(item, "path") for item in children(part, "items")]
    if sort == "serviceAccountToken":
        found.between(CODE, (*path, "expirationSeconds"), number(part, "expirationSeconds"), 600, 2**32)
        found.needed(CODE, (*path, "path"), text(part, "path"), forms.local_file)
    elif sort == "clusterTrustBundle" and found.kubernetes >= (1, 37):
        found.needed(CODE, (*path, "path"), text(part, "path"), forms.local_file)
        if (part.get("name") is None) == (part.get("signerName") is None):
            found.add(CODE, path, "has one of `name` and `signerName`")
        return [text(part, "path")]
    return []


def _ephemeral(found: Found, pod: Body, volume: Body, source: Body, path: Path) -> None:
    template = child(source, "volumeClaimTemplate")
    if template is None:
        found.add(CODE, (*path, "volumeClaimTemplate"), "is missing")
        return
    claims.template(found, template, (*path, "volumeClaimTemplate"))
    name = text(below(pod, "metadata"), "name")
    if name and (reason := forms.subdomain(f"{name}-{text(volume, 'name')}")):
        found.add(CODE, (*path[:-1], "name"), f"the claim `{name}-{text(volume, 'name')[:80]}` {reason}")


_SOURCES: Final[Mapping[str, Callable[[Found, Body, Path], None]]] = {
    "configMap": _configuration,
    "csi": _csi,
    "downwardAPI": _downward,
    "emptyDir": _empty_dir,
    "gitRepo": _git,
    "hostPath": _host_path,
    "image": _image,
    "nfs": _nfs,
    "projected": _projected,
    "secret": _configuration,
}


def mounts(found: Found, container: Body, path: Path, known: Mapping[str, Body]) -> None:
    """Judge what a container mounts, and which devices it is given."""
    devices = children(container, "volumeDevices")
    taken = {text(device, "devicePath"): "" for device in devices}
    for index, mount in enumerate(children(container, "volumeMounts")):
        place = (*path, "volumeMounts", index)
        name, where = text(mount, "name"), text(mount, "mountPath")
        if name not in known:
            found.add(CODE, (*place, "name"), f"there is no volume `{name[:80]}`")
        if not where:
            found.add(CODE, (*place, "mountPath"), "is missing")
        elif where in taken:
            found.add(CODE, (*place, "mountPath"), f"`{where}` is the place of another volume, too")
        taken[where] = name
        if any(text(device, "name") == name for device in devices):
            found.add(CODE, (*place, "name"), f"`{name}` is in `volumeDevices`, too")
        _mount(found, container, mount, place)
    for index, device in enumerate(devices):
        _device(found, device, (*path, "volumeDevices", index), known, devices[:index])


def _mount(found: Found, container: Body, mount: Body, path: Path) -> None:
    for field in ("subPath", "subPathExpr"):
        if text(mount, field):
            found.form(CODE, (*path, field), text(mount, field), forms.descending)
    if text(mount, "subPath") and text(mount, "subPathExpr"):
        found.add(CODE, (*path, "subPathExpr"), "excludes `subPath`")
    spread: Any = mount.get("mountPropagation")
    if spread is not None:
        found.one_of(CODE, (*path, "mountPropagation"), spread, ("Bidirectional", "HostToContainer", "None"))
        if spread == "Bidirectional" and below(container, "securityContext").get("privileged") is not True:
            found.add(CODE, (*path, "mountPropagation"), "`Bidirectional` needs a privileged container")
    recursive = mount.get("recursiveReadOnly")
    if recursive is not None:
        found.one_of(CODE, (*path, "recursiveReadOnly"), recursive, ("Disabled", "IfPossible", "Enabled"))
        if recursive in ("IfPossible", "Enabled") and mount.get("readOnly") is not True:
            found.add(CODE, (*path, "recursiveReadOnly"), "needs `readOnly: true`")
        if recursive in ("IfPossible", "Enabled") and spread not in (None, "None"):
            found.add(CODE, (*path, "recursiveReadOnly"), "excludes `mountPropagation`")


def _device(found: Found, device: Body, path: Path, known: Mapping[str, Body], before: list[Body]) -> None:
    name, where = text(device, "name"), text(device, "devicePath")
    if name not in known:
        found.add(CODE, (*path, "name"), f"there is no volume `{name[:80]}`")
    elif not {"persistentVolumeClaim", "ephemeral"} & known[name].keys():
        found.add(CODE, (*path, "name"), f"`{name}` is no claim, and only a claim can be a device")
    found.needed(CODE, (*path, "devicePath"), where, forms.no_steps_up)
    for field in ("name", "devicePath"):
        if text(device, field) in strings({"all": [text(item, field) for item in before]}, "all"):
            found.add(CODE, (*path, field), f"`{text(device, field)}` stands there twice")
