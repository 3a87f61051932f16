"""What a step takes from the repository and hands on: shipped files, and thresholds on its metrics."""

from __future__ import annotations

import math
import re
from typing import Annotated, Final

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from mlspec.model.base import SpecModel, field, refused, refused_inside, wrong_type
from mlspec.model.scalars import LONGEST, AbsolutePath, absolute_path, shown, text
from mlspec.source import PlainText

SCRIPTS: Final = "/mlspec"
"""Folder in the container below which shipped scripts stand, at their path in the repository."""


def _below_project(written: str) -> str:
    """Return a path relative to the project's folder without what means nothing; what it is on disk is seen later."""
    parts = written.split("/")
    if written.startswith("/"):
        raise refused(f"{shown(written)} is not a path in the repository", "write it relative to mlproject.yaml")
    if ".." in parts:
        raise refused(f"{shown(written)} contains `..`", "only files below the folder of mlproject.yaml are shipped")
    if parts[-1] in ("", ".") or len(written) > LONGEST or not written.isprintable() or "\\" in written:
        raise refused(f"{shown(written)} is not the path of a file", "write such as `training/train.py`")
    if "$" in written:
        raise refused(f"{shown(written)} holds a `$`, with which Kubernetes begins variables", "rename the file")
    return "/".join(part for part in parts if part not in ("", "."))


def repository_path(value: object) -> str:
    """Accept the path of a file below the project's folder, in its one spelling: overrides go by it as a key."""
    written = text(value)
    clean = _below_project(written)
    if clean != written:
        help = f"write {shown(clean)}: overrides go by the key"
        raise refused(f"{shown(written)} is another spelling of {shown(clean)}", help)
    return clean


def _script(value: object) -> str:
    """Accept a program in the image, or one of the repository, which is mounted at its own path."""
    written = text(value)
    if written.startswith("/"):
        return absolute_path(written)
    if ":" in written:
        message = f"{shown(written)} holds a `:`, which Kubernetes refuses in a path to mount at"
        raise refused(message, "rename the file")
    return _below_project(written)


RepositoryPath = Annotated[str, BeforeValidator(repository_path), WithJsonSchema({"type": "string"})]
Script = Annotated[str, BeforeValidator(_script), WithJsonSchema({"type": "string"})]
Files = dict[RepositoryPath, AbsolutePath]


def ships(script: str | None) -> bool:
    """Say whether a script lies in the repository, and not in the image."""
    return script is not None and not script.startswith("/")


def in_container(script: str) -> str:
    """Return where a script is in the container."""
    return f"{SCRIPTS}/{script}" if ships(script) else script


def mount_point(path: str) -> str:
    """Return an absolute path as it is compared with others: `//x/` is `/x`."""
    return "/" + "/".join(part for part in path.split("/") if part)


_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?([eE][-+]?[0-9]+)?")


def _number(value: object) -> float:
    if not isinstance(value, PlainText) or not _NUMBER.fullmatch(value) or not math.isfinite(float(value)):
        quoted = isinstance(value, str) and not isinstance(value, PlainText)
        raise wrong_type("expected a number", "remove the quotes" if quoted else "write such as `0.9`")
    return float(value)


Number = Annotated[float, BeforeValidator(_number), WithJsonSchema({"type": "number"})]


class Threshold(SpecModel):
    """What a metric must reach, or not exceed."""

    at_least: Number | None = field(None, "The least that passes.", "the gate Job of a service", "0.9")
    at_most: Number | None = field(None, "The most that passes.", "the gate Job of a service", "0.25")

    @model_validator(mode="after")
    def _can_pass(self) -> Threshold:
        if self.at_least is None and self.at_most is None:
            raise refused("a threshold needs `atLeast` or `atMost`", "write `{atLeast: 0.9}`")
        if self.at_least is not None and self.at_most is not None and self.at_least > self.at_most:
            least, most = (repr(bound).removesuffix(".0") for bound in (self.at_least, self.at_most))
            message = f"nothing passes: `atLeast` {least} is above `atMost` {most}"
            error = refused(message, "raise `atMost`, or leave one of them out")
            raise refused_inside([(("atMost",), error)])
        return self


def _metric(value: object) -> str:
    written = text(value)
    if not re.fullmatch(r"[A-Za-z_][-A-Za-z0-9_./@]{0,62}", written):
        raise refused(f"{shown(written)} is not the name of a metric", "letters, digits and `-_./@`")
    return written


Metric = Annotated[str, BeforeValidator(_metric), WithJsonSchema({"type": "string"})]
Gate = dict[Metric, Threshold]
