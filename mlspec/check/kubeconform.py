"""kubeconform, the second opinion: the same objects, the same schemas, another program.

It judges in one process and says its verdict of each object by name; an object without one has not been judged, and
that is a fault as well. What it cannot do its work for at all is `UnusableError`.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache as once
from pathlib import Path
from typing import Any, Final, NamedTuple

from mlspec import cache, yamltext
from mlspec.check import tools
from mlspec.check.schema import schema_file
from mlspec.check.tools import Tool
from mlspec.k8s.resource import Body
from mlspec.validation.objection import Path as Field
from mlspec.validation.objection import words

_START_SECONDS: Final = 60
_OBJECTS_A_SECOND: Final = 50
"""A hundredth of what two processors do: what takes longer than that hangs."""
_AT: Final = re.compile(r"- at '(?P<path>(?:/[^']*)?)': (?P<words>.*?)(?=\s+- at '|$)")
_OUTER: Final = re.compile(r"validation failed|(all|any|one)Of failed.*")
_SEVERAL: Final = 20
"""Objections that are told of one object."""


class UnusableError(Exception):
    """kubeconform did not do its work; the text says why."""


class Refusal(NamedTuple):
    """An objection to an object, or that it was not judged: its number on the sheet, from 0, and the field."""

    number: int
    message: str
    path: Field = ()


@dataclass(frozen=True, slots=True)
class Sheet:
    """The objects of one project in one environment; no two have the same version, kind and name."""

    bodies: Sequence[Body]
    refusals: list[Refusal] = field(default_factory=list)
    """What came of it."""


def judge(tool: Tool, kubernetes: str, folders: tuple[Path, ...], sheets: Iterable[Sheet]) -> None:
    """Fill in what kubeconform has against each object; sheets that it found valid before cost no process.

    Raises:
        UnusableError: it gave no verdict.
    """
    rules = [f"v{kubernetes}.0", *_contents(folders)]
    keys = [(tools.content_key(tool, [*rules, json.dumps(sheet.bodies)]), sheet) for sheet in sheets if sheet.bodies]
    asked = [(key, sheet) for key, sheet in keys if cache.recall("kubeconform", key) is None]
    if not asked:
        return
    verdicts = _verdicts(tool, kubernetes, folders, [sheet for _, sheet in asked])
    for number, (key, sheet) in enumerate(asked):
        sheet.refusals.extend(_refusals(sheet, verdicts.get(number, ()), folders))
        if not sheet.refusals:
            cache.remember("kubeconform", key, str(len(sheet.bodies)))


@once
def _contents(folders: tuple[Path, ...]) -> tuple[str, ...]:
    """Return a digest a folder of schemas: a verdict holds for these schemas alone."""
    return tuple(
        cache.key(part for path in sorted(folder.glob("*.json")) for part in (path.name, path.read_bytes()))
        for folder in folders
    )


def arguments(kubernetes: str, folders: Iterable[Path]) -> list[str]:
    """Return the options under which kubeconform judges what mlspec judges, with the same schemas and no network."""
    options = ["-strict", "-summary", "-verbose", "-output", "json", "-kubernetes-version", f"{kubernetes}.0"]
    for folder in folders:
        options += ["-schema-location", f"{folder}/{{{{.ResourceKind}}}}{{{{.KindSuffix}}}}.json"]
    return options


def _verdicts(
    tool: Tool, kubernetes: str, folders: Sequence[Path], sheets: Sequence[Sheet]
) -> Mapping[int, Sequence[Mapping[str, Any]]]:
    """Run kubeconform once; returns its verdicts by the number of the sheet.

    Each sheet is a file: a name says what a verdict is about only within one project.
    """
    with tempfile.TemporaryDirectory(prefix="mlspec-") as folder:
        for number, sheet in enumerate(sheets):
            (Path(folder) / f"{number}.yaml").write_text(yamltext.dump_all(sheet.bodies), "utf-8")
        seconds = _START_SECONDS + sum(len(sheet.bodies) for sheet in sheets) // _OBJECTS_A_SECOND
        command = [*tool.prefix, *arguments(kubernetes, folders), folder]
        # It lives long enough for its collector: without, it would hold all it ever read.
        result = tools.run(command, seconds=seconds, collects=True)
    found: dict[int, list[Mapping[str, Any]]] = {}
    try:
        for item in json.loads(result.stdout)["resources"]:
            number = int(Path(item["filename"]).stem)
            found.setdefault(number, []).append({name: str(item[name]) for name in _FIELDS})
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        said = (result.stderr.strip() or result.stdout.strip()).splitlines() or ["it said nothing"]
        raise UnusableError(f"{tool.path} gave no verdict: exit {result.returncode}, {said[0][:200]}") from None
    return found


_FIELDS: Final = ("version", "kind", "name", "status", "msg")


def _refusals(sheet: Sheet, verdicts: Iterable[Mapping[str, str]], folders: tuple[Path, ...]) -> Iterator[Refusal]:
    """Yield what is against each object; one verdict `valid` an object is the only success."""
    by_name: dict[tuple[str, str, str], Mapping[str, str]] = {}
    for verdict in verdicts:
        by_name[verdict["version"], verdict["kind"], verdict["name"]] = verdict
    for index, body in enumerate(sheet.bodies):
        metadata = body.get("metadata")
        name = metadata.get("name") if isinstance(metadata, dict) else ""
        found = by_name.get((body["apiVersion"], body["kind"], str(name or "")))
        if found is None:
            yield Refusal(index, "it gave no verdict")
        elif found["status"] == "statusInvalid":
            yield from (Refusal(index, message, path) for path, message in objections(found["msg"]))
        elif found["status"] != "statusValid":
            yield Refusal(index, _unjudged(body, found, folders))


def _unjudged(body: Body, verdict: Mapping[str, str], folders: tuple[Path, ...]) -> str:
    """Say why an object was not judged. A schema that does not compile is one that kubeconform does not find."""
    if verdict["status"] == "statusSkipped":
        return "it was skipped, so nothing judged it"
    if "could not find schema" in verdict["msg"]:
        path = schema_file(folders, body["apiVersion"], body["kind"])
        return f"it cannot use the schema {path.parent.name}/{path.name}" if path else "it finds no schema"
    return f"it could not be judged: {verdict['msg'][:300]}"


def objections(message: str) -> list[tuple[Field, str]]:
    """Return the innermost objections of a message, each with the field that it is about."""
    found = [(_path(match["path"]), match["words"].strip()) for match in _AT.finditer(message)]
    inner = [(path, text) for path, text in found if not _OUTER.fullmatch(text)] or found
    if not inner:
        return [((), message[:300])]
    return [(path, f"{words(path)}: {text}") for path, text in list(dict.fromkeys(inner))[:_SEVERAL]]


def _path(pointer: str) -> Field:
    parts = [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]
    return tuple(int(part) if part.isdecimal() else part for part in parts)
