"""`mlspec explain FIELD`: every way to say a field leads to it, and what is said about it is true."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from mlspec.all_kinds import KINDS, STEP_KINDS
from mlspec.kind_specs import StepSpec
from mlspec.plan import identity
from mlspec.reference.fields import pairs
from mlspec.reference.find import find, suggestion
from mlspec.reference.words import example_lines, yaml
from mlspec.source import Mapping, read, to_raw
from tests.support import mlspec

_PAIRS = pairs()
_PATHS = sorted({use.dotted for _, use in _PAIRS})


def _raw(text: str) -> dict[str, Any]:
    documents, findings = read("test", text.encode())
    assert not findings, text
    found = to_raw(documents[0])
    assert isinstance(found, dict)
    return found


def test_a_field(tmp_path: Path) -> None:
    result = mlspec(tmp_path, "explain", "steps.train.nodes")
    assert (result.code, result.stderr) == (0, "")
    assert result.stdout == (
        "steps.<name>.nodes\n"
        "\n"
        "Pods, the Master counted in, as torchrun counts them.\n"
        "\n"
        "type      int ≥ 1\n"
        "default   `1`\n"
        "kinds     pytorch\n"
        "run       part of its name: another value is another run\n"
        "goes to   `replicas`: 1 Master, the rest Workers\n"
        "example   nodes: 4\n"
    )


@pytest.mark.parametrize(
    ("question", "path"),
    [
        ("steps.<name>.nodes", "steps.<name>.nodes"),
        ("steps.*.nodes", "steps.<name>.nodes"),
        ("steps.a-b.nodes", "steps.<name>.nodes"),
        ("steps.nodes", "steps.<name>.nodes"),
        ("nodes", "steps.<name>.nodes"),
        ("environments.dev.steps.train.nodes", "steps.<name>.nodes"),
        ("environments.<env>.steps.<name>.nodes", "steps.<name>.nodes"),
        (" steps.train.nodes. ", "steps.<name>.nodes"),
        ("steps.train", "steps"),
        ("steps", "steps"),
        ("steps.train.needs[0]", "steps.<name>.needs"),
        ("steps.train.env.NCCL_DEBUG", "steps.<name>.env"),
        ("steps.train.env.TOKEN.secret", "steps.<name>.env.<NAME>.secret"),
        ("steps.train.args.learning.rate", "steps.<name>.args"),
        ("steps.train.mounts.data", "steps.<name>.mounts"),
        ("steps.train.mounts.data.readOnly", "steps.<name>.mounts.<volume>.readOnly"),
        ("readOnly", "steps.<name>.mounts.<volume>.readOnly"),
        ("resources", "steps.<name>.resources"),
        ("resources.cpu", "steps.<name>.resources.cpu"),
        ("services.chat.resources.cpu", "services.<name>.resources.cpu"),
        ("steps.train.resources.rdma/ib", "steps.<name>.resources.<vendor/resource>"),
        ("services.chat.resources.vendor.com/fpga", "services.<name>.resources.<vendor/resource>"),
        ("services.<name>.model.uri", "services.<name>.model.uri"),
        ("services.model.uri", "services.<name>.model.uri"),
        ("replicas.target.rps", "services.<name>.replicas.target.rps"),
        ("environment.gpus.<type>.perNode", "environment.gpus.<type>.perNode"),
        ("environment.gpus.t4.perNode", "environment.gpus.<type>.perNode"),
        ("gpus.t4.perNode", "environment.gpus.<type>.perNode"),
        ("perNode", "environment.gpus.<type>.perNode"),
        ("gpus.t4", "environment.gpus"),
        ("gpus.t4.tolerations.0.key", "environment.gpus.<type>.tolerations.<n>.key"),
        ("gpus.t4.tolerations[].key", "environment.gpus.<type>.tolerations.<n>.key"),
        ("gpus.t4.nodeSelector.nvidia.com/gpu.product", "environment.gpus.<type>.nodeSelector"),
        ("environment.network.destinations.s3.cidrs", "environment.network.destinations.<name>.cidrs"),
        ("kind", "kind"),
        ("environment.kind", "environment.kind"),
        ("kubernetes", "environment.kubernetes"),
        ("namespace", "environment.namespace"),
        ("kserve.mode", "environment.kserve.mode"),
        ("environments", "environments"),
        ("environments.dev", "environments"),
        ("environments.dev.enabled", "environments.<env>.enabled"),
        ("volumes.data.class", "volumes.<name>.class"),
    ],
)
def test_ways_to_say_a_field(tmp_path: Path, question: str, path: str) -> None:
    result = mlspec(tmp_path, "explain", question)
    assert result.code == 0, result.stderr
    assert result.stdout.startswith(f"{path}\n\n")


@pytest.mark.parametrize("path", _PATHS)
def test_every_path_explains_its_own_fields(path: str) -> None:
    wanted = {(d.owner, d.name) for d, use in _PAIRS if use.dotted == path}
    assert {(d.owner, d.name) for d in find(path).definitions} == wanted
    filled = re.sub(r"<vendor/resource>", "a.b/c", path)
    filled = re.sub(r"<[^>]*>", "0", filled)
    assert {(d.owner, d.name) for d in find(filled).definitions} == wanted


@pytest.mark.parametrize("path", _PATHS)
def test_every_page_fits_a_terminal(tmp_path: Path, path: str) -> None:
    result = mlspec(tmp_path, "explain", path)
    assert result.code == 0, result.stderr
    for line in result.stdout.splitlines():
        assert len(line) <= 100 or " " not in line[10:].strip(), line
    for label in ("type", "default", "goes to", "example"):
        assert re.search(rf"^{label} +\S", result.stdout, re.MULTILINE), label


def test_kinds_that_differ_are_each_explained(tmp_path: Path) -> None:
    shown = mlspec(tmp_path, "explain", "steps.train.kind").stdout
    assert re.findall(r"^kinds +(.*)", shown, re.MULTILINE) == [kind.TAG for kind in STEP_KINDS]
    shown = mlspec(tmp_path, "explain", "services.chat.replicas").stdout
    assert re.findall(r"^kinds +(.*)", shown, re.MULTILINE) == ["kserve", "seldon"]


def test_other_paths_to_the_same_field_are_named(tmp_path: Path) -> None:
    shown = mlspec(tmp_path, "explain", "services.chat.gpu").stdout
    assert "steps.<name>.gpu" in shown.partition("\nalso ")[2]


@pytest.mark.parametrize(
    ("question", "options"),
    [
        ("gpu", ["steps.<name>.gpu", "environment.defaults.gpu", "environment.quota.gpu"]),
        ("cpu", ["steps.<name>.resources.cpu", "environment.quota.cpu"]),
        ("model", ["services.<name>.model", "services.<name>.predictors.<name>.model"]),
    ],
)
def test_a_word_that_means_several_is_2_and_names_them(tmp_path: Path, question: str, options: list[str]) -> None:
    result = mlspec(tmp_path, "explain", question)
    assert (result.code, result.stdout) == (2, "")
    for option in options:
        assert option in result.stderr


@pytest.mark.parametrize(
    ("question", "match"),
    [
        ("nods", "nodes"),
        ("steps.train.nods", "steps.train.nodes"),
        ("steps.*.retrys", "steps.*.retries"),
        ("steps.train.resources.cpus", "steps.train.resources.cpu"),
        ("service.chat.model.uri", "services.chat.model.uri"),
        ("environment.gpus.t4.pernode", "environment.gpus.t4.perNode"),
        ("kubernets", "kubernetes"),
        ("MSL201", "MLS201"),
        ("mls99", "MLS509"),
    ],
)
def test_what_does_not_exist_is_2_with_the_nearest(tmp_path: Path, question: str, match: str) -> None:
    result = mlspec(tmp_path, "explain", question)
    assert (result.code, result.stdout) == (2, "")
    assert f"did you mean {match}?" in result.stderr


@pytest.mark.parametrize("question", ["x.y.z", "§", "", ".", "steps.train.needs.0.1", "(", "steps..", "a" * 10_000])
def test_nonsense_is_2_without_a_traceback(tmp_path: Path, question: str) -> None:
    result = mlspec(tmp_path, "explain", question)
    assert result.code in (0, 2)
    assert "internal error" not in result.stderr


@pytest.mark.parametrize("arguments", [("nodes", "--reference"), ("a", "b")])
def test_one_thing_is_explained(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = mlspec(tmp_path, "explain", *arguments)
    assert (result.code, result.stdout) == (2, "")


def test_a_suggestion_is_never_the_question_itself() -> None:
    for _, use in _PAIRS:
        assert suggestion(use.dotted) != use.dotted


# --- what is said is true ---

_TOP = {
    (kind.TAG, use.path[2]): (definition, use)
    for definition, use in _PAIRS
    for kind in STEP_KINDS
    if use.path[0] == "steps" and len(use.path) == 3 and use.kind == kind.TAG
}
_BASE = {"job": "kind: job\nimage: i\n", "pytorch": "kind: pytorch\nimage: i\n"}
_BASE["tensorflow"] = "kind: tensorflow\nimage: i\nroles: {worker: {}}\n"


def _digest(kind: str, text: str) -> str:
    spec = KINDS[kind].SPEC.model_validate(_raw(text))
    assert isinstance(spec, StepSpec)
    return identity.digest(identity.inputs("dev", KINDS[kind], spec, dict.fromkeys(spec.needs, "")))


@pytest.mark.parametrize(("kind", "name"), [key for key in _TOP if key[1] != "kind"])
def test_whether_a_field_names_the_run(tmp_path: Path, kind: str, name: str) -> None:
    definition, use = _TOP[kind, name]
    base = "".join(line for line in _BASE[kind].splitlines(keepends=True) if not line.startswith(f"{name}:"))
    changed = _digest(kind, f"{base}{example_lines(definition)[0]}\n") != _digest(kind, _BASE[kind])
    assert changed is (use.hashed or name == "needs")
    shown = mlspec(tmp_path, "explain", f"steps.{name}").stdout
    assert ("not part of its name" in shown) is not changed
    assert ("part of its name" in shown) is True


def test_every_kind_of_step_is_tried() -> None:
    assert set(_BASE) == {kind.TAG for kind in STEP_KINDS}


def test_services_and_environments_have_no_run() -> None:
    assert all(use.hashed is None for _, use in _PAIRS if use.path[0] != "steps")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ("a", "a"),
        ("null", '"null"'),
        ("", '""'),
        ("a: b", '"a: b"'),
        ("a b", "a b"),
        ("a #b", '"a #b"'),
        ("{project}", '"{project}"'),
        ("10", "10"),
        ("s3://a/b", "s3://a/b"),
        ("a:", '"a:"'),
        (True, "true"),
        (3, "3"),
        ({"a": [1, "b"], "c/d": {}}, "{a: [1, b], c/d: {}}"),
    ],
)
def test_values_are_shown_as_users_write_them(value: object, text: str) -> None:
    assert yaml(value) == text
    node = read("test", f"x: {text}\n".encode())[0][0]
    assert isinstance(node, Mapping)
