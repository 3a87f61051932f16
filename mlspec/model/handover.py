"""What a step takes from the repository and hands on: shipped files, and thresholds on its metrics."""

from __future__ import annotations

import math
import re
from typing import Annotated, Final

from pydantic import BeforeValidator, WithJsonSchema, model_validator

from mlspec.model.base import SpecModel, field, refused, wrong_type
from mlspec.model.scalars import AbsolutePath, absolute_path, text
from mlspec.source import PlainText

SCRIPTS: Final = "/mlspec"
"""Folder in the container below which shipped scripts stand, at their path in the repository."""


def repository_path(value: object) -> str:
    """Accept a path relative to the project's folder, inside the root; what it is on disk is seen when it is read."""
    written = text(value)
    parts = written.split("/")
    if written.startswith("/"):
        raise refused(f"`{written}` is not a path in the repository", "write it relative to mlproject.yaml")
    if ".." in parts:
        raise refused(f"`{written}` contains `..`", "only files below the folder of mlproject.yaml are shipped")
    if not written or written.endswith("/") or re.search(r"[\x00-\x1f\\]", written):
        raise refused(f"`{written}` is not the path of a file", "write such as `training/train.py`")
    return "/".join(part for part in parts if part not in ("", "."))


def _script(value: object) -> str:
    written = text(value)
    return absolute_path(written) if written.startswith("/") else repository_path(written)


RepositoryPath = Annotated[str, BeforeValidator(repository_path), WithJsonSchema({"type": "string"})]
Script = Annotated[str, BeforeValidator(_script), WithJsonSchema({"type": "string"})]
Files = dict[RepositoryPath, AbsolutePath]


def ships(script: str | None) -> bool:
    """Say whether a script lies in the repository, and not in the image."""
    return script is not None and not script.startswith("/")


def in_container(script: str) -> str:
    """Return where a script is in the container."""
    return f"{SCRIPTS}/{script}" if ships(script) else script


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
    def _something(self) -> Threshold:
        if self.at_least is None and self.at_most is None:
            raise refused("a threshold needs `atLeast` or `atMost`", "write `{atLeast: 0.9}`")
        return self


def _metric(value: object) -> str:
    written = text(value)
    if not re.fullmatch(r"[A-Za-z_][-A-Za-z0-9_./@]{0,62}", written):
        raise refused(f"`{written[:80]}` is not the name of a metric", "letters, digits and `-_./@`")
    return written


Metric = Annotated[str, BeforeValidator(_metric), WithJsonSchema({"type": "string"})]
Gate = dict[Metric, Threshold]
