"""Law 8, quiet: no plan breaks it, and no patch makes one that does and is written all the same."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from mlspec import yamltext
from mlspec.check import quiet
from mlspec.check.schema import check_schema
from mlspec.check.versions import schema_folders
from mlspec.codes.native import NATIVE
from mlspec.codes.policy import POLICY
from mlspec.codes.webhooks import WEBHOOKS
from mlspec.compiled import Compilation
from mlspec.diagnostics import has_errors
from mlspec.k8s.resource import Body
from mlspec.pipeline import compile_workspace
from mlspec.spec.load import load
from tests.flow import NASTY_TEXT, PLAIN_TEXT, Data, to_yaml
from tests.samples import bodies, compiled
from tests.strategies import Root, roots
from tests.support import ENVIRONMENT, write_tree

_ENVIRONMENT = ENVIRONMENT + "seldon: {version: 1.16}\n"
_TEMPLATE: Data = {"image": "i:1", "env": {"A": "b"}, "mounts": {"data": "/data"}}
_MODEL = {"implementation": "SKLEARN_SERVER", "uri": "s3://b/m"}
_WORKLOADS: dict[tuple[str, str], Data] = {
    ("steps", "job"): {"kind": "job", "script": "/opt/a.py", **_TEMPLATE},
    ("steps", "pytorch"): {"kind": "pytorch", "script": "/opt/a.py", "nodes": 2, **_TEMPLATE},
    ("steps", "tensorflow"): {"kind": "tensorflow", "script": "/opt/a.py", "roles": {"worker": {}}, **_TEMPLATE},
    ("services", "kserve"): {"kind": "kserve", "model": {"format": "onnx", "uri": "s3://b/m"}, "env": {"A": "b"}},
    ("services", "seldon"): {"kind": "seldon", "model": _MODEL, "env": {"A": "b"}},
}
_KEYS = (
    *("ttlSecondsAfterFinished", "suspend", "generateName", "status", "selector", "configMap", "secretKeyRef", "env"),
    *("serviceAccountName", "claimName", "storageUri", "labels", "limits", "ports", "nodeSelector", "emptyDir", "a/b"),
    *("argocd.argoproj.io/hook", "argocd.argoproj.io/sync-options", "mlspec.dev/x", "name", "value", "-", "0", "~"),
)
_texts = st.sampled_from([*NASTY_TEXT, *PLAIN_TEXT, "Replace=true", "2000m", "data", "Job"])
_values = st.recursive(
    _texts | st.integers(-2, 2**40) | st.booleans(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(_KEYS), inner, max_size=3),
    max_leaves=6,
)


def _compiled(section: str, kind: str, patch: list[Data]) -> Compilation:
    project: Data = {"apiVersion": "mlspec.dev/v1alpha1", "kind": "Project", "name": "demo", "owner": "team"}
    project |= {"volumes": {"data": {"size": "1Gi", "access": "ReadWriteMany"}}}
    project |= {section: {"w": _WORKLOADS[section, kind] | {"patch": patch}}}
    with tempfile.TemporaryDirectory() as folder:
        files: dict[str, str | bytes] = {"environments/dev.yaml": _ENVIRONMENT, "mlproject.yaml": to_yaml(project)}
        return compile_workspace(load(write_tree(Path(folder), files)))


def _patched(compilation: Compilation) -> Body:
    resources = compilation.projects[0].resources["dev"]
    return next(resource.body for resource in resources if resource.patched is not None)


def _escape(key: object) -> str:
    return "/" + str(key).replace("~", "~0").replace("/", "~1")


def _places(value: Any, path: str = "") -> Iterator[tuple[str, Any]]:
    """Yield every path of an object with what is there, and one more in each map and list."""
    pairs = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, item in pairs:
        yield path + _escape(key), item
        yield from _places(item, path + _escape(key))
    if isinstance(value, dict | list):
        yield path + ("/-" if isinstance(value, list) else "/new"), None


@cache
def _paths(section: str, kind: str) -> list[tuple[str, Any]]:
    name = _patched(_compiled(section, kind, [{"op": "test", "path": "/spec", "value": {}}]))
    return sorted(_places(name), key=lambda place: place[0])


@st.composite
def _operations(draw: st.DrawFn, section: str, kind: str) -> list[Data]:
    found: list[Data] = []
    for _ in range(draw(st.integers(1, 4))):
        if draw(st.booleans()):  # what nobody minds, so that much is accepted
            texts = [path for path, _ in _paths(section, kind) if path.endswith(("/annotations", "/labels"))]
            path = draw(st.sampled_from(texts)) + _escape(draw(st.sampled_from(["a", "example.com/b", "suspend"])))
            found.append({"op": draw(st.sampled_from(["add", "test", "add"])), "path": path, "value": draw(_texts)})
            continue
        maps = [(path, there) for path, there in _paths(section, kind) if isinstance(there, dict)]
        inside = draw(st.booleans())
        path, there = draw(st.sampled_from(maps if inside else _paths(section, kind)))
        if inside:
            path, there = path + _escape(draw(st.sampled_from(_KEYS))), None
        op = draw(st.sampled_from(["add", "add", "add", "replace", "remove", "test"]))
        value = there if op == "test" and there and draw(st.booleans()) else draw(_values)
        found.append({"op": op, "path": path} | ({} if op == "remove" else {"value": value}))
    return found


_cases = st.sampled_from(sorted(_WORKLOADS)).flatmap(
    lambda case: st.tuples(st.just(case[0]), st.just(case[1]), _operations(*case))
)


@given(roots())
@settings(max_examples=25)
def test_every_plan_is_quiet(root: Root) -> None:
    found = [(body["kind"], finding) for body in bodies(compiled(root)) for finding in quiet.check(body)]
    assert found == []


@given(_cases)
@settings(max_examples=400)
def test_a_patch_is_refused_or_keeps_every_law(case: tuple[str, str, list[Data]]) -> None:
    compilation = _compiled(*case)
    if has_errors(compilation.diagnostics):
        own = [found for found in compilation.diagnostics if found.code in _CODES or found.code in POLICY]
        assert own == compilation.diagnostics
        assert all(found.message and found.span.line > 1 and found.path for found in own)
        return
    body = _patched(compilation)
    folders = schema_folders(compilation.workspace.environments["dev"].model)
    assert list(check_schema(folders, body)) == []
    _assert_quiet(body, ())
    assert compilation.projects[0].layout.files


_CODES = {"MLS104", "MLS105", "MLS210", "MLS301", "MLS303", "MLS308", "MLS309", "MLS310", "MLS311", "MLS312", "MLS318"}
_CODES |= NATIVE.keys() | WEBHOOKS.keys()
_OWNED = {"ttlSecondsAfterFinished", "suspend", "generateName", "status", "finalizers", "ownerReferences"}
_FREE = {"labels", "annotations", "nodeSelector", "matchLabels", "data"}


def _assert_quiet(value: Any, way: tuple[str | int, ...]) -> None:
    """Say law 8 in other words than the rules do."""
    assert value is not None, way
    free = bool(_FREE & set(way))
    if isinstance(value, dict | list) and not value:
        assert way[-1] in ("emptyDir", "selector", "podSelector", "namespaceSelector", "labelSelector"), way
    if isinstance(value, dict):
        assert free or not _OWNED & value.keys(), way
        assert not (way[-2:-1] == ("env",) and value.get("value") == ""), way
        assert "Replace=true" not in str(value.get("argocd.argoproj.io/sync-options")), way
        assert way != ("metadata", "annotations") or "argocd.argoproj.io/hook" not in value
    if way[-2:-1] in (("limits",), ("requests",)):
        assert isinstance(value, str), way
        assert re.fullmatch("0|[1-9][0-9]*[a-zA-Z]*", value), way
        assert not re.fullmatch("[0-9]+000m", value), way
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        _assert_quiet(item, (*way, key))


@given(st.dictionaries(st.sampled_from(["a", "b/c", "d"]), _texts, min_size=1))
@settings(max_examples=30)
def test_a_string_in_a_patch_stays_a_string(notes: dict[str, str]) -> None:
    operations = [{"op": "add", "path": "/metadata/annotations" + _escape(key), "value": notes[key]} for key in notes]
    compilation = _compiled("steps", "job", operations)
    assert not has_errors(compilation.diagnostics), compilation.diagnostics
    files = compilation.projects[0].layout.files
    written = next(content for path, content in files.items() if "/pipeline/w-" in path)
    annotations = yamltext.load_all(written.decode())[0]["metadata"]["annotations"]
    assert {key: annotations[key] for key in notes} == notes


def test_random_patches_are_refused_and_accepted() -> None:
    """The law above would say nothing if one of the two never happened."""
    seen: set[str] = set()

    @settings(max_examples=300, derandomize=True, database=None)
    @given(_cases)
    def collect(case: tuple[str, str, list[Data]]) -> None:
        seen.update({found.code for found in _compiled(*case).diagnostics} or {"accepted"})

    collect()
    assert seen >= {"accepted", "MLS301", "MLS308", "MLS309", "MLS310"}, seen
