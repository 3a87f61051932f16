"""Rebuild the vendored schemas: SOURCES.toml (pinned registry packages) in, `kubernetes/`, `crds/`, `catalogue/` out.

`kubernetes/` and `crds/` are what mlspec reads; `catalogue/` holds the same files under the names of public catalogues.

    python schemas/refresh.py                  download, rebuild, rewrite the files and their hashes
    python schemas/refresh.py --check          rebuild in memory; name each file that differs
    python schemas/refresh.py --offline-check  compare the files with their recorded hashes; no network

SOURCES.toml is the one home of pins. To move one, edit its version and digest and run this; to add a kind,
add a row under `files` with an empty sha256. Exit: 0 fine, 1 files differ, 2 no tool, package or such kind.
"""

import argparse
import hashlib
import json
import re
import shutil
import subprocess
import sys
import tempfile
import tomllib
from collections import Counter
from collections.abc import Callable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, Final

import yaml

Json = dict[str, Any]

HERE: Final = Path(__file__).resolve().parent
INDEX: Final = "SOURCES.toml"
OWNED: Final = ("catalogue", "crds", "kubernetes")

OBJECT_META: Final = "io.k8s.apimachinery.pkg.apis.meta.v1.ObjectMeta"
_NUMBER: Final = r"(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))"
# Upstream has no pattern for quantities, and two forms for integers or strings: these are the CRDs' forms.
# A number is refused as a quantity: the server turns it into a string, which Argo CD then reports as drift.
REPLACED: Final[dict[str, Json]] = {
    "io.k8s.apimachinery.pkg.api.resource.Quantity": {
        "type": "string",
        "pattern": rf"^(\+|-)?{_NUMBER}(([KMGTPE]i)|[numkMGTPE]|([eE](\+|-)?{_NUMBER}))?$",
    },
    "io.k8s.apimachinery.pkg.util.intstr.IntOrString": {
        "anyOf": [{"type": "integer"}, {"type": "string"}],
        "x-kubernetes-int-or-string": True,
    },
}
# Upstream asks for what the server fills in before it looks (until 1.34; defaults.go of its API group).
FILLED_IN: Final = {"io.k8s.api.batch.v1.PodFailurePolicyOnPodConditionsPattern": "status"}
COMBINERS: Final = {"allOf", "anyOf", "oneOf"}
NESTED: Final = COMBINERS | {"properties", "items", "not", "additionalProperties"}
KEPT: Final = re.compile(
    "required|enum|format|default|minimum|maximum|uniqueItems|(min|max)(Length|Items|Properties)"
    "|x-kubernetes-(int-or-string|preserve-unknown-fields|embedded-resource|list-map-keys)"
)
# All that decides whether a rule of CEL holds, and what the server says then.
RULE: Final = ("fieldPath", "message", "messageExpression", "optionalOldSelf", "reason", "rule")
DROPPED: Final = {"description", "title", "example", "externalDocs", "nullable", "$schema", "$id"}
# A smaller part is not worth the jump to its definition.
HOIST_FROM_BYTES: Final = 120


class RefreshError(Exception):
    """A message for the person who runs the script."""


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


def read_sources() -> list[Json]:
    tables: list[Json] = tomllib.loads((HERE / INDEX).read_text(encoding="utf-8"))["source"]
    return tables


def render_index(sources: list[Json], built: Mapping[str, bytes]) -> bytes:
    """SOURCES.toml with the hashes of what was built."""
    lines = ["# refresh.py reads the pins and rows below, and rewrites this file with each sha256.\n"]
    for source in sources:
        lines.append("\n[[source]]\n")
        lines += [f"{key} = {json.dumps(value)}\n" for key, value in source.items() if key != "files"]
        lines.append("[source.files]\n")
        for name, row in sorted(source["files"].items()):
            lines.append(f'"{name}" = {{ from = "{row["from"]}", sha256 = "{sha256(built[name])}" }}\n')
    return "".join(lines).encode()


def run(command: list[str], folder: Path) -> str:
    """Standard output of a command; its last words if it fails."""
    if shutil.which(command[0]) is None:
        raise RefreshError(f"{command[0]} is not on PATH; the registry packages are downloaded with it")
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode:
        raise RefreshError(f"{' '.join(command)} failed: {(done.stderr or done.stdout).strip()[-300:]}")
    return done.stdout


def fetch(source: Json, folder: Path) -> Path:
    """The folder of an unpacked package, digest verified."""
    package, version, wheel = source["package"], source["version"], None
    if source["ecosystem"] == "go":
        said = json.loads(run(["go", "mod", "download", "-json", f"{package}@{version}"], folder))
        root, digest = Path(said["Dir"]), said["Sum"]
    else:
        pip = [sys.executable, "-m", "pip", "download", "--quiet", "--disable-pip-version-check", "--no-deps"]
        run([*pip, "--only-binary=:all:", "--dest=.", f"{package}=={version}"], folder)
        (wheel,) = folder.glob("*.whl")
        root, digest = folder, "sha256:" + sha256(wheel.read_bytes())
    if digest != source["digest"]:
        raise RefreshError(f"{package} {version}: digest is {digest}, {INDEX} says {source['digest']}")
    if wheel:
        shutil.unpack_archive(wheel, folder, "zip")
    return root / str(source["path"])


def map_children(node: Json, label: str, visit: Callable[[str, str, Json], Any]) -> Json:
    """A copy with each subschema replaced by visit(keyword, nearest property name, subschema)."""
    copy = dict(node)
    for key in sorted(node):
        value = node[key]
        if key in ("properties", "definitions"):
            copy[key] = {name: visit(key, name, value[name]) for name in sorted(value)}
        elif key in COMBINERS:
            copy[key] = [visit(key, label, child) for child in value]
        elif key in NESTED and isinstance(value, dict):
            copy[key] = visit(key, label, value)
    return copy


def portable(pattern: str) -> str:
    """A Go pattern that Python and Rust read alike: flags go first; what Go alone knows is refused."""
    moved = re.sub(r"^\^(\(\?[a-z]+\))", r"\1^", pattern)
    if re.search(r"\\[CEPQpz]|\[\[:|.\(\?[a-zA-Z]", moved):
        raise RefreshError(f"pattern {pattern!r} means something else to Python or Rust")
    return moved


def keywords(node: Json) -> Json:
    """A node's own constraints, prose left out."""
    kept: Json = {}
    for key, value in node.items():
        if key == "type":
            # Upstream's optional fields allow null; what we emit has none.
            types = [t for t in value if t != "null"] if isinstance(value, list) else [value]
            kept[key] = types[0] if len(types) == 1 else types
        elif key == "pattern":
            kept[key] = portable(value)
        elif key == "x-kubernetes-validations":
            kept[key] = [{k: rule[k] for k in RULE if k in rule} for rule in value]
        elif key == "x-kubernetes-list-type":
            kept |= {key: value} if value != "atomic" else {}  # as good as none
        elif KEPT.fullmatch(key):
            kept[key] = value
        elif key not in DROPPED | NESTED and not key.startswith("x-kubernetes-"):
            raise RefreshError(f"schema keyword {key!r} is unknown to this script")
    return kept


def tidy(node: Json, key: str = "", label: str = "", closed: bool = True) -> Json:
    """The strict form of a schema: no prose, no unknown fields, metadata typed."""
    if "$ref" in node:
        return {"$ref": "#/definitions/" + node["$ref"].rpartition("/")[2]}
    if (key, label) == ("properties", "metadata") and node.keys() - DROPPED == {"type"}:
        return {"$ref": f"#/definitions/{OBJECT_META}"}

    def child(key: str, label: str, value: Json) -> Json:
        # A combiner's branch also sees its siblings' fields, so a closed one would refuse them.
        return tidy(value, key, label, closed and key != "not" and key not in COMBINERS)

    deep = map_children(node, label, child)
    strict = keywords(node) | {name: deep[name] for name in deep.keys() & NESTED}
    if closed and "properties" in strict and not strict.get("x-kubernetes-preserve-unknown-fields"):
        strict.setdefault("additionalProperties", False)
    return strict


def text_of(node: Json) -> str:
    return json.dumps(node, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def reachable(schema: Json, pool: dict[str, Json]) -> dict[str, Json]:
    """The definitions that a schema needs, directly or not."""
    needed: dict[str, Json] = {}
    waiting = [schema]
    while waiting:
        for name in re.findall(r'"#/definitions/([^"]+)"', text_of(waiting.pop())):
            if name not in needed:
                needed[name] = pool[name]
                waiting.append(pool[name])
    return needed


def hoist(schema: Json) -> Json:
    """The same schema with repeated parts in `definitions`, named after the field that has them first."""
    seen: Counter[str] = Counter()
    names: dict[str, str] = {}
    bodies: dict[str, Json] = {}

    def count(_key: str, label: str, child: Json) -> None:
        text = text_of(child)
        seen[text] += 1
        if seen[text] == 1:
            map_children(child, label, count)

    def replace(key: str, label: str, child: Json) -> Json:
        text = text_of(child)
        if seen[text] == 1 or len(text) < HOIST_FROM_BYTES or key == "definitions":
            return map_children(child, label, replace)
        if text not in names:
            names[text] = f"{label}.{len(names)}"
            bodies[names[text]] = map_children(child, label, replace)
        return {"$ref": f"#/definitions/{names[text]}"}

    map_children(schema, "", count)
    slim = map_children(schema, "", replace)
    return slim | {"definitions": slim["definitions"] | bodies}


@cache
def core_definitions(folder: Path) -> dict[str, Json]:
    """The strict form of one Kubernetes minor's types."""
    raw = json.loads((folder / "_definitions.json").read_text(encoding="utf-8"))["$defs"]
    for name, field in FILLED_IN.items():
        raw[name]["required"] = [each for each in raw[name].get("required", ()) if each != field]
    return {name: tidy(REPLACED.get(name, node)) for name, node in raw.items()}


def finish(schema: Json, group: str, version: str, kind: str, pool: dict[str, Json]) -> bytes:
    """A kind's file: root pinned and closed, metadata typed, status refused."""
    properties = {name: node for name, node in schema["properties"].items() if name != "status"} | {
        "apiVersion": {"enum": [f"{group}/{version}".removeprefix("/")], "type": "string"},
        "kind": {"enum": [kind], "type": "string"},
        "metadata": pool[OBJECT_META] | {"required": ["name"]},
    }
    root = schema | {"$schema": "http://json-schema.org/draft-07/schema#", "properties": properties}
    root["required"] = sorted({"apiVersion", "kind", "metadata", *schema.get("required", ())})
    return (text_of(hoist(root | {"definitions": reachable(root, pool)})) + "\n").encode()


def build_file(name: str, origin: Path, newest: Path) -> bytes:
    """One schema file from the upstream file that its row names."""
    version = Path(name).stem.rpartition("-")[2]
    if origin.suffix == ".json":
        raw = json.loads(origin.read_bytes())
        (gvk,) = raw["x-kubernetes-group-version-kind"]
        group, kind, found = gvk["group"], gvk["kind"], {gvk["version"]: raw}
    else:
        spec = yaml.load(origin.read_bytes(), Loader=yaml.CSafeLoader)["spec"]
        group, kind = spec["group"], spec["names"]["kind"]
        # Another version is converted before it is stored, or warned about: the API server's text is then not ours.
        stored = [v for v in spec["versions"] if v["served"] and v["storage"] and not v.get("deprecated")]
        found = {v["name"]: v["schema"]["openAPIV3Schema"] for v in stored}
    stem = "-".join(filter(None, (kind.lower(), group.split(".")[0], version)))
    if version not in found or Path(name).stem != stem:
        raise RefreshError(f"{name}: {origin.name} stores {kind} of {group or 'core'} in {', '.join(found)}")
    pool = core_definitions(origin.parent if origin.suffix == ".json" else newest)
    return finish(tidy(found[version]), group, version, kind, pool)


def catalogued(name: str, content: bytes) -> str:
    """A file's other name: the whole group as a folder, so that no two groups can meet.

    `crds/kserve-0.16/inferenceservice-serving-v1beta1.json` is
    `catalogue/kserve-0.16/serving.kserve.io/inferenceservice_v1beta1.json`. kubeconform calls the core group v1.
    """
    properties = json.loads(content)["properties"]
    (api_version,), (kind,) = properties["apiVersion"]["enum"], properties["kind"]["enum"]
    group, _, version = api_version.rpartition("/")
    release = name.split("/")[1]
    if name.startswith("kubernetes/"):
        release = "kubernetes-" + release.removeprefix("v").removesuffix(".0-standalone-strict")
    return f"catalogue/{release}/{group or version}/{kind.lower()}_{version}.json"


def with_catalogue(files: Mapping[str, bytes]) -> dict[str, bytes]:
    """Files, each under both of its names."""
    return dict(files) | {catalogued(name, content): content for name, content in files.items()}


def build() -> dict[str, bytes]:
    """Every file that this script owns, SOURCES.toml included, by path below schemas/."""
    sources = read_sources()
    origins: dict[str, Path] = {}
    with tempfile.TemporaryDirectory() as work:
        for source in sources:
            root = fetch(source, Path(tempfile.mkdtemp(dir=work)))
            origins |= {name: root / row["from"] for name, row in source["files"].items()}
        # A CRD names no Kubernetes minor; its metadata is judged by the newest.
        newest = max(origin.parent for origin in origins.values() if origin.suffix == ".json")
        built = {name: build_file(name, origin, newest) for name, origin in sorted(origins.items())}
    return with_catalogue(built) | {INDEX: render_index(sources, built)}


def compare(wanted: Mapping[str, str]) -> int:
    """Prints each owned path whose hash is not the wanted one; the exit status."""
    paths = [path for top in (INDEX, *OWNED) for path in (HERE / top, *(HERE / top).rglob("*"))]
    found = {p.relative_to(HERE).as_posix(): sha256(p.read_bytes()) for p in paths if p.is_file()}
    different = [name for name in sorted(wanted.keys() | found.keys()) if wanted.get(name) != found.get(name)]
    for name in different:
        word = "missing" if name not in found else "differs" if name in wanted else f"not in {INDEX}"
        print(f"schemas/{name}: {word}")
    return 1 if different else 0


def main() -> int:
    parser = argparse.ArgumentParser(description="Rebuild or check the vendored schemas.")
    mode = parser.add_mutually_exclusive_group()
    mode.add_argument("--check", action="store_true", help="rebuild in memory; name what differs")
    mode.add_argument("--offline-check", action="store_true", help="compare with the recorded hashes")
    chosen = parser.parse_args()
    try:
        if chosen.offline_check:
            rows = {name: row["sha256"] for source in read_sources() for name, row in source["files"].items()}
            found = {name: (HERE / name).read_bytes() for name in rows if (HERE / name).is_file()}
            rows |= {catalogued(name, content): rows[name] for name, content in found.items()}
            return compare(rows | {INDEX: sha256((HERE / INDEX).read_bytes())})
        built = build()
    except (RefreshError, OSError) as error:
        print(f"refresh.py: {error}", file=sys.stderr)
        return 2
    if chosen.check:
        return compare({name: sha256(content) for name, content in built.items()})
    for top in OWNED:
        shutil.rmtree(HERE / top, ignore_errors=True)
    for name, content in built.items():
        (HERE / name).parent.mkdir(parents=True, exist_ok=True)
        (HERE / name).write_bytes(content)
    return 0


if __name__ == "__main__":
    sys.exit(main())
