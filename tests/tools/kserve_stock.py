"""Writes what each release of KServe installs by itself: `python -m tests.tools.kserve_stock`.

In: the Go modules of KServe, whose versions stand in `mlspec/projection/kserve/stock/SOURCES.toml`, through Go's own
proxy. Out: `kserve-<minor>.json` beside that file, and the file itself with each digest. Kept are facts only: the
runtimes, the storage container and the configuration, as `config/` installs them, without prose. A release script of
KServe turns the tag `latest` of its own images into the release's (hack/generate-install.sh, which is what
`kubectl apply` of a release brings); so does this one, and where the module ships the result, it is compared with it.
"""

from __future__ import annotations

import hashlib
import json
import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import yaml

from tests.tools import golang

STOCK: Final = Path(__file__).parents[2] / "mlspec/projection/kserve/stock"
MODULE: Final = "github.com/kserve/kserve"
VERSIONS: Final = ("v0.15.2", "v0.16.0", "v0.17.0", "v0.19.0", "v0.20.0")
"""The newest of each minor that the proxy has; there is no 0.18."""
_CONFIGURED: Final = ("agent", "inferenceService", "logger", "metricsAggregator", "storageInitializer")
_MULTI_NODE: Final = "workerSpec"
Body = dict[str, Any]


def main() -> int:
    """Write every release, and the notice of their origin; returns the exit code."""
    go = golang.find()
    if go is None:
        sys.stderr.write("this needs Go\n")
        return 1
    STOCK.mkdir(exist_ok=True)
    rows = []
    for version in VERSIONS:
        done = golang.run(go, STOCK, "mod", "download", "-json", f"{MODULE}@{version}")
        if done.returncode:
            sys.stderr.write(f"{version}: {done.stderr or done.stdout}\n")
            return 1
        said = json.loads(done.stdout)
        name = f"kserve-{'.'.join(version.removeprefix('v').split('.')[:2])}.json"
        text = rendered(stock(Path(said["Dir"]), version))
        (STOCK / name).write_text(text)
        rows.append(_row(version, said["Sum"], name, hashlib.sha256(text.encode()).hexdigest()))
    head = "# Made by `python -m tests.tools.kserve_stock` from these modules of the Go proxy.\n"
    (STOCK / "SOURCES.toml").write_text(head + "".join(rows))
    tomllib.loads((STOCK / "SOURCES.toml").read_text())
    return 0


def _row(version: str, digest: str, name: str, sha256: str) -> str:
    fields = {
        "ecosystem": "go",
        "package": MODULE,
        "version": version,
        "licence": "Apache-2.0",
        "digest": digest,
        "path": "config",
        "file": name,
        "sha256": sha256,
    }
    return "\n[[source]]\n" + "".join(f'{key} = "{value}"\n' for key, value in fields.items())


def rendered(found: Body) -> str:
    """Return a release as JSON, one runtime a line, so that a change of one can be read."""
    runtimes = ",\n".join(f"  {json.dumps(name)}: {_line(body)}" for name, body in sorted(found["runtimes"].items()))
    rest = "".join(f'"{key}": {_line(found[key])},\n' for key in ("configuration", "storage"))
    return f'{{\n{rest}"runtimes": {{\n{runtimes}\n}}\n}}\n'


def _line(value: object) -> str:
    return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))


def stock(module: Path, version: str) -> Body:
    """Return what a release installs: `configuration`, `storage` (the storage container) and `runtimes`.

    Raises:
        ValueError: the release's own manifests, where the module has them, say something else.
    """
    config = module / "config"
    (configuration,) = _loaded(config / "configmap/inferenceservice.yaml")
    data = {key: json.loads(configuration["data"][key]) for key in _CONFIGURED}
    found: Body = {"configuration": data, "runtimes": {}}
    for folder in ("runtimes", "storagecontainers"):
        for body in _built(config / folder):
            if body["kind"] == "ClusterServingRuntime":
                found["runtimes"][body["metadata"]["name"]] = _runtime(body)
            else:
                found["storage"] = body["spec"]
    found = json.loads(re.sub(r":latest", f":{version}", json.dumps(found)))
    _compare(found, module / "install" / version, version)
    return found


def _runtime(body: Body) -> Body:
    """Return a runtime's spec; of the second sort of node only that there is one."""
    return {**body["spec"], **({_MULTI_NODE: {}} if _MULTI_NODE in body["spec"] else {})}


def _built(folder: Path) -> Iterator[Body]:
    """Yield what the kustomization of a folder lists, images filled in: `NAME:replace` names one of its images."""
    (kustomization,) = _loaded(folder / "kustomization.yaml")
    images = {f"{row['name']}:replace": f"{row['newName']}:{row['newTag']}" for row in kustomization["images"]}
    # The storage container is one document, whose image the kustomization replaces through its `configurations`.
    for name in kustomization["resources"]:
        for body in _loaded(folder / name):
            spec = body["spec"]
            for container in spec.get("containers", [spec.get("container")]):
                container["image"] = images[container["image"]]
            yield body


def _compare(found: Body, folder: Path, version: str) -> None:
    """Compare with the manifests that the release ships; 0.17.0 ships none."""
    if not folder.is_dir():
        sys.stderr.write(f"{version}: ships no manifests to compare with\n")
        return
    shipped = [*_loaded(folder / "kserve.yaml"), *_loaded(folder / "kserve-cluster-resources.yaml")]
    runtimes = {body["metadata"]["name"]: _runtime(body) for body in shipped if body["kind"] == "ClusterServingRuntime"}
    (storage,) = (body["spec"] for body in shipped if body["kind"] == "ClusterStorageContainer")
    (data,) = (
        body["data"]
        for body in shipped
        if body["kind"] == "ConfigMap" and body["metadata"]["name"] == "inferenceservice-config"
    )
    said = {
        "configuration": {key: json.loads(data[key]) for key in _CONFIGURED},
        "runtimes": runtimes,
        "storage": storage,
    }
    for key, value in said.items():
        if value != found[key]:
            raise ValueError(f"{version}: `{key}` of config/ is not what the release ships")


def _loaded(path: Path) -> list[Body]:
    return [body for body in yaml.load_all(path.read_text(), Loader=yaml.CSafeLoader) if body]  # a safe loader, in C


if __name__ == "__main__":
    raise SystemExit(main())
