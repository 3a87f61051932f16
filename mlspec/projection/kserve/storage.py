"""How the model gets into the pod: by the storage initializer, by a mounted claim, or out of an image.

Sources (kserve/kserve): pkg/webhook/admission/pod/storage_initializer_injector.go, pkg/utils/storage.go,
pkg/credentials. Not projected is what hangs on the content of a Secret beyond the two keys that mark one for S3 and
one for Google's store, such as an endpoint; `predictor.storage` and `predictor.storageUris`, which mlspec does not
emit; and models that are cached on nodes.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from mlspec.k8s.projected import Body
from mlspec.projection.kserve import merge
from mlspec.projection.kserve.stock import CONTAINER, INITIALIZER, MODEL_PATH, Release

SOURCE: Final = "internal.serving.kserve.io/storage-initializer-sourceuri"
VARIABLE: Final = "STORAGE_URI"
"""Where a server of one's own says where its model is."""
_READ_ONLY: Final = "storage.kserve.io/readonly"
_VOLUME: Final = "kserve-provision-location"
_CLAIM_VOLUME: Final = "kserve-pvc-source"
_NATIVE: Final = "native"
_MODELCAR: Final = "modelcar"
_FALLBACK: Final = {"terminationMessagePolicy": "FallbackToLogsOnError"}
# Where they are missing, so that downloads are fast (AddDefaultHuggingFaceEnvVars, since 0.16).
_DOWNLOADS: Final = {
    "HF_HUB_ENABLE_HF_TRANSFER": "1",
    "HF_XET_HIGH_PERFORMANCE": "1",
    "HF_XET_NUM_CONCURRENT_RANGE_GETS": "8",
}
_TRANSFORMER: Final = "transformer-container"
_GOOGLE_VOLUME: Final = "user-gcp-sa"
_GOOGLE_PATH: Final = "/var/secrets/"


def initialize(pod: Body, release: Release, secrets: Mapping[str, str]) -> None:
    """Mount the claim, or add the storage initializer, unless the model comes out of an image."""
    uri = pod["metadata"]["annotations"].get(SOURCE)
    if uri is None or _image_mode(uri, release) is not None or _named(pod, INITIALIZER, "initContainers") is not None:
        return
    servers = [each for each in (_named(pod, CONTAINER), _named(pod, _TRANSFORMER)) if each is not None]
    if not servers:
        return
    spec, read_only = pod["spec"], pod["metadata"]["annotations"].get(_READ_ONLY) != "false"
    if uri.startswith("pvc://"):
        claim, _, path = uri.removeprefix("pvc://").partition("/")
        mount = _mount(_CLAIM_VOLUME, MODEL_PATH, read_only=read_only, sub_path=path)
        volume: Body = {"name": _CLAIM_VOLUME, "persistentVolumeClaim": {"claimName": claim}}
    else:
        mount, volume = _mount(_VOLUME, MODEL_PATH, read_only=read_only), {"name": _VOLUME, "emptyDir": {}}
    for server in servers:
        if _add_mount(server, mount):
            _add_volume(spec, volume)
    for variable in servers[0].get("env", ()):
        if variable["name"] == VARIABLE and variable.get("value"):
            variable["value"] = MODEL_PATH
    if not uri.startswith("pvc://"):
        container = _initializer(uri, release)
        authenticate(container, spec, secrets)
        spec["initContainers"] = [*spec.get("initContainers", ()), _finished(container, uri, release)]


def _initializer(uri: str, release: Release) -> Body:
    said = release.initializer
    return {
        "name": INITIALIZER,
        "image": said["image"],
        "args": [uri, MODEL_PATH],
        "resources": _resources(said["cpuRequest"], said["memoryRequest"], said["cpuLimit"], said["memoryLimit"]),
        "volumeMounts": [_mount(_VOLUME, MODEL_PATH)],
        **_FALLBACK,
    }


def _finished(container: Body, uri: str, release: Release) -> Body:
    """Return the initializer with what the storage container says of it, and the variables that are added last."""
    found = merge.merged(container, release.storage["container"]) if release.supports(uri) else container
    variables = list(found.get("env", ()))
    if release.number >= (0, 16):
        named = {each["name"] for each in variables}
        variables += [{"name": key, "value": value} for key, value in _DOWNLOADS.items() if key not in named]
    return {**found, **({"env": variables} if variables else {})}


def authenticate(container: Body, spec: Body, secrets: Mapping[str, str]) -> None:
    """Give a container the credentials that the pod's ServiceAccount names (service_account_credentials.go)."""
    for store, secret in sorted(secrets.items(), key=lambda item: item[1]):
        if store == "s3":
            keys = ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY")
            added: list[Body] = [
                {"name": key, "valueFrom": {"secretKeyRef": {"name": secret, "key": key}}} for key in keys
            ]
            others = [each for each in container.get("env", ()) if each["name"] not in keys]
            container["env"] = [*others, *added]
        elif store == "gs":
            _add_volume(spec, {"name": _GOOGLE_VOLUME, "secret": {"secretName": secret}})
            mounts = [*container.get("volumeMounts", ()), _mount(_GOOGLE_VOLUME, _GOOGLE_PATH, read_only=True)]
            container["volumeMounts"] = mounts
            path = f"{_GOOGLE_PATH}gcloud-application-credentials.json"
            container["env"] = [*container.get("env", ()), {"name": "GOOGLE_APPLICATION_CREDENTIALS", "value": path}]


def mount_image(pod: Body, release: Release) -> frozenset[str]:
    """Let the server read the model out of its image; return the servers whose security context that replaces.

    Up to 0.17 nothing of it is left but the user; since 0.19 only the user is changed (ConfigureModelcarToContainer).
    """
    uri = pod["metadata"]["annotations"].get(SOURCE, "")
    mode = _image_mode(uri, release)
    image = uri.partition("://")[2]
    replaced = set()
    for name in (CONTAINER, _TRANSFORMER) if mode is not None else ():
        server = _named(pod, name)
        if server is None:
            continue
        if mode == _NATIVE:
            _mount_natively(pod["spec"], server, image)
            continue
        written = server.get("securityContext", {})
        _mount_modelcar(pod["spec"], server, image, release)
        replaced |= {name} if written.keys() - server.get("securityContext", {}).keys() else set()
    return frozenset(replaced)


def _image_mode(uri: str, release: Release) -> str | None:
    """Return how an image is used as a model (ResolveOciModelMode, ParseOciScheme); None: it is none."""
    scheme = uri.partition("://")[0]
    said = release.initializer
    if scheme.startswith("oci+") and release.number >= (0, 20):
        return scheme.removeprefix("oci+")
    if scheme != "oci":
        return None
    return str(said["ociModelMode"]) if said.get("ociModelMode") else _MODELCAR if said["enableModelcar"] else None


def _mount_natively(spec: Body, server: Body, image: str) -> None:
    name = MODEL_PATH.strip("/").replace("/", "-")
    _add_volume(spec, {"name": name, "image": {"reference": image, "pullPolicy": "IfNotPresent"}})
    _add_mount(server, _mount(name, MODEL_PATH, read_only=True, sub_path="models"))


def _mount_modelcar(spec: Body, server: Body, image: str, release: Release) -> None:
    """Start the model's image beside the server, which follows a link into its file system."""
    said, parent = release.initializer, MODEL_PATH.rpartition("/")[0]
    others = [each for each in server.get("env", ()) if each["name"] != "MODEL_INIT_MODE"]
    server["env"] = [*others, {"name": "MODEL_INIT_MODE", "value": "async"}]
    _add_volume(spec, {"name": _VOLUME, "emptyDir": {}})
    _add_mount(server, _mount(_VOLUME, parent))
    user: Body = {} if said.get("uidModelcar") is None else {"runAsUser": said["uidModelcar"]}
    if user:
        server["securityContext"] = {**(server.get("securityContext", {}) if release.number >= (0, 19) else {}), **user}
    if not any(each["name"] == _MODELCAR for each in spec["containers"]):
        amounts = (said.get("cpuModelcar") or "10m", said.get("memoryModelcar") or "15Mi")
        shared: Body = {"image": image, "resources": _resources(*amounts, *amounts), **_FALLBACK}
        # What the shell reads as $$ is its own process (pkg/utils/storage.go); a pod's args double the sign.
        link = f"ln -sf /proc/$$$$/root/models {MODEL_PATH} && sleep infinity"
        car = {"name": _MODELCAR, **shared, "args": ["sh", "-c", link], "volumeMounts": [_mount(_VOLUME, parent)]}
        spec["containers"].append({**car, **({"securityContext": user} if user else {})})
        first = {"name": f"{_MODELCAR}-init", **shared, "args": ["sh", "-c", _prefetch(image)]}
        spec["initContainers"] = [*spec.get("initContainers", ()), first]
    spec["shareProcessNamespace"] = True


def _prefetch(image: str) -> str:
    """Return what checks that there is a model in the image, in KServe's own words."""
    return (
        f"echo 'Pre-fetching modelcar {image}: ' && [ -d /models ] && [ \"$$(ls -A /models)\" ] && "
        "echo 'OK ... Prefetched and valid (/models exists)' || "
        "(echo 'NOK ... Prefetched but modelcar is invalid (/models does not exist or is empty)' && exit 1)"
    )


def _resources(cpu: str, memory: str, cpu_limit: str, memory_limit: str) -> Body:
    return {"limits": {"cpu": cpu_limit, "memory": memory_limit}, "requests": {"cpu": cpu, "memory": memory}}


def _named(pod: Body, name: str, field: str = "containers") -> Body | None:
    found: Any = next((each for each in pod["spec"].get(field, ()) if each["name"] == name), None)
    return found if isinstance(found, dict) else None


def _mount(volume: str, path: str, *, read_only: bool = False, sub_path: str = "") -> Body:
    found: Body = {"name": volume, "mountPath": path}
    if read_only:
        found["readOnly"] = True
    if sub_path:
        found["subPath"] = sub_path
    return found


def _add_mount(container: Body, mount: Body) -> bool:
    mounts = container.get("volumeMounts", [])
    if any(each["name"] == mount["name"] for each in mounts):
        return False
    container["volumeMounts"] = [*mounts, mount]
    return True


def _add_volume(spec: Body, volume: Body) -> None:
    volumes = spec.get("volumes", [])
    if not any(each["name"] == volume["name"] for each in volumes):
        spec["volumes"] = [*volumes, volume]
