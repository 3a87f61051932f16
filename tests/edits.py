"""Edits of one field of a step, by what they must do to the name of its run."""

from __future__ import annotations

from collections.abc import Callable

from tests.flow import Data, Plain

Edit = Callable[[Data], None]


def _set(name: str, value: object) -> Edit:
    return lambda step: step.__setitem__(name, value)


def _mounted(step: Data, mounts: Data) -> None:
    """Mount something else; what needs the former output goes with it."""
    step["mounts"] = mounts
    for name in ("output", "gate"):
        step.pop(name, None)


def _alone(step: Data) -> None:
    """Start the program without the wrapper; a gate needs the marker that nobody sets then."""
    step["handoff"] = "none"
    step.pop("gate", None)


def _reorder(step: Data) -> None:
    for key in sorted(step, reverse=True):
        step[key] = step.pop(key)


UNHASHED_EDITS: dict[str, Edit] = {
    "retries": _set("retries", 7),
    "deadline": _set("deadline", "11h"),
    "egress": _set("egress", ["mlflow"]),
    "key order": _reorder,
    "mounts order": lambda step: step.__setitem__("mounts", dict(reversed(step["mounts"].items()))),
}
HASHED_EDITS: dict[str, Edit] = {
    "image": _set("image", "other:2"),
    "args list": _set("args", ["--changed"]),
    "args map": _set("args", {"changed": "x"}),
    "env": lambda step: step.__setitem__("env", {**step.get("env", {}), "CHANGED": "1"}),
    "env secret": lambda step: step.__setitem__(
        "env", {**step.get("env", {}), "CHANGED": {"secret": "hub", "key": "token"}}
    ),
    "cpu": lambda step: step.__setitem__("resources", step["resources"] | {"cpu": "17"}),
    "memory": lambda step: step.__setitem__("resources", step["resources"] | {"memory": "170Gi"}),
    "shared memory": lambda step: step.__setitem__("resources", step["resources"] | {"sharedMemory": "17Mi"}),
    "extended": lambda step: step.__setitem__("resources", step["resources"] | {"rdma/ib": 17}),
    "gpu": _set("gpu", Plain("t4:3")),
    "mounts": lambda step: _mounted(step, {"outside": "/changed"}),
    "read only": lambda step: _mounted(step, {"outside": {"path": "/mnt/x", "readOnly": True}}),
    "rerun": _set("rerun", 17),
    "handoff": _alone,
    "queue": _set("queue", "changed"),
    "files": _set("files", {"src/train.py": "/changed.py"}),
    "patch": _set("patch", [{"op": "add", "path": "/metadata/annotations/example.com~1a", "value": "b"}]),
}
