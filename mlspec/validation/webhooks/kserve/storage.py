"""Rules of KServe's validating webhook about where models come from; and one of its controller, which comes later."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any, Final

from mlspec.model.scalars import shown
from mlspec.validation.objection import Objection
from mlspec.validation.webhooks.kserve.service import STORAGE_VARIABLE, Component, Service, first_variable
from mlspec.validation.webhooks.rule import Rule, maps

_TRANSFORMER: Final = "transformer-container"
_MOUNT: Final = "/mnt/models"
_SCHEMES: Final = ("gs", "s3", "pvc", "file", "https", "http", "hdfs", "webhdfs", "oci", "hf")
# KServe's expressions (of `\w+?://` what answers alike, and soon): any character stands for their unescaped dots.
_ANY_SCHEME: Final = re.compile(r"\w://", re.ASCII)
_BLOBS: Final = "blob.core.windows.net"
_BLOB: Final = re.compile(r"https://(.+?).blob.core.windows.net/(.+)")


def transformer(service: Service) -> Iterator[Objection]:
    """A container `transformer-container` beside the predictor's server loads no model: it has no variable
    `STORAGE_URI`.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0,
    pkg/apis/serving/v1beta1/inference_service_validation.go, validateCollocationStorageURI.
    """
    component = service.predictor
    for index, container in enumerate(maps(component.spec.get("containers"))):
        if container.get("name") == _TRANSFORMER:
            found = first_variable(container, STORAGE_VARIABLE)
            if found is not None:
                path, text = component.at("containers", index, "env", found[0])
                help = "give the variable to `kserve-container`"
                yield Objection("MLS352", f"{text}: a transformer beside the server loads no model", path, help)
            return


def several(service: Service) -> Iterator[Objection]:
    """`storageUris` (since KServe 0.16) is instead of `storageUri`, and of the variable `STORAGE_URI`. Each entry is
    mounted below /, not at it, without `..`. Two or more that are no claims need a folder in common, since one volume
    holds them; beside them no two claims are mounted in one place.

    Source: kserve/kserve v0.16.0, v0.17.0, v0.19.0, v0.20.0, pkg/apis/serving/v1beta1/inference_service_validation.go,
    validateMultipleStorageURIs, validateMultipleStorageURIsSpec; pkg/utils/storage.go, FindCommonParentPath.
    """
    for component in service.components if service.release >= (0, 16) else ():
        found = maps(component.spec.get("storageUris"))
        path, text = component.at("storageUris")
        if found and component.storage is not None:
            yield Objection("MLS353", f"{text}: the component has one `storageUri` already", path, "keep one of both")
        for index, entry in enumerate(found):
            mount = entry.get("mountPath", _MOUNT)
            if mount == "/" or not mount.startswith("/") or ".." in mount:
                path, text = component.at("storageUris", index, "mountPath")
                message = f"{text}: {shown(mount)} is no folder to mount a model at"
                yield Objection("MLS353", message, path, "write an absolute path below /, without `..`")
        yield from _together(component, found)


def _together(component: Component, entries: Sequence[dict[str, Any]]) -> Iterator[Objection]:
    """Yield what is wrong with several entries beside one another."""
    path, text = component.at("storageUris")
    claims: list[str] = []
    others: list[str] = []
    for entry in entries:
        (claims if str(entry.get("uri", "")).startswith("pvc://") else others).append(entry.get("mountPath", _MOUNT))
    if len(others) < 2:
        return
    if len(set(claims)) < len(claims):
        yield Objection("MLS353", f"{text}: two claims at one place", path, "give each a `mountPath` of its own")
    if len({mount.strip("/").split("/")[0] for mount in others}) > 1 or not others[0].strip("/"):
        help = f"mount them below one folder, such as {_MOUNT}"
        yield Objection("MLS353", f"{text}: models in folders that have none in common", path, help)


def scheme(service: Service) -> Iterator[Objection]:
    """A model's URI has a scheme that KServe loads: gs, s3, pvc, file, https, http, hdfs, webhdfs, oci, hf (and
    oci+native since 0.20), Azure's blob URLs, or none, which is a path in the pod. No webhook refuses another one: the
    controller does, in an event, and makes nothing, so that the service waits for ever. A ClusterStorageContainer of
    the cluster's own may take more schemes, which mlspec does not know.

    Source: kserve/kserve v0.15.2, v0.16.0, v0.17.0, v0.19.0, v0.20.0,
    pkg/controller/v1beta1/inferenceservice/utils/utils.go, ValidateStorageURI; config/storagecontainers/default.yaml.
    Seen on 0.16.0.
    """
    known = (*_SCHEMES, "oci+native") if service.release >= (0, 20) else _SCHEMES
    for component in service.components:
        found = component.storage
        if found is None or not _ANY_SCHEME.search(found[1]):
            continue
        path, uri = found
        taken = bool(_BLOB.search(uri)) if _BLOBS in uri else uri.startswith(tuple(f"{name}://" for name in known))
        # What the stock storage container takes; its expressions are searched for, too.
        taken = taken or bool(re.search(r"https://(.+?).file.core.windows.net/(.+)|https?://(.+)/(.+)", uri))
        if not taken:
            _, text = component.at(*path[2:])
            yield Objection(
                "MLS358", f"{text}: KServe loads nothing from {shown(uri)}", path, "write one of " + ", ".join(known)
            )


RULES: Final = (Rule("MLS352", transformer), Rule("MLS353", several), Rule("MLS358", scheme))
