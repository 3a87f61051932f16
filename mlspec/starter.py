"""A template of `mlspec init` in, the files of a new root out: a project, its environments, schemas for editors."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

from mlspec import names, schemas, source, yamltext

_TEMPLATES: Final = Path(__file__).parent / "templates"
TEMPLATES: Final = ("default", "image-classifier")
# What a template has besides its own files: where they come from, and the folder they go to. They are the living
# example's own, so that what is copied is what runs here.
_COPIED: Final = {"image-classifier": (Path(__file__).parent / "training", "training")}
_SCHEMAS: Final = ".mlspec"
PROJECT: Final = "mlproject.yaml"
ATTRIBUTES: Final = ".gitattributes"
# Output is compared byte for byte, so Git must not rewrite the ends of its lines.
ATTRIBUTES_LINE: Final = "generated/** linguist-generated text eol=lf"
# `model-predictor-<project>-staging`, the host of the template's service, is the longest name that comes of it.
LONGEST_NAME: Final = names.LABEL_LIMIT - len("model-predictor-") - len("-staging")
_FALLBACK: Final = "my-project"


def files(name: str, template: str = TEMPLATES[0]) -> dict[str, bytes]:
    """Return the files of a new root by their paths."""
    found: dict[str, bytes] = {}
    for folder in (_TEMPLATES / TEMPLATES[0], _TEMPLATES / template):  # what it does not have is the default's
        found |= {path.relative_to(folder).as_posix(): path.read_bytes() for path in sorted(folder.rglob("*.*"))}
    found[PROJECT] = _named(found[PROJECT], name)
    if template in _COPIED:
        source_folder, target = _COPIED[template]
        found |= {f"{target}/{path.name}": path.read_bytes() for path in sorted(source_folder.iterdir()) if _own(path)}
    for schema in ("mlproject", "environment"):
        file = f"{schema}.schema.json"
        found[f"{_SCHEMAS}/{file}"] = (schemas.folder() / file).read_bytes()
    return found


def _own(path: Path) -> bool:
    return path.is_file() and path.name != "__init__.py"


def _named(template: bytes, name: str) -> bytes:
    """Return the project with its name exchanged: the one scalar, at its place, quoted where YAML needs it."""
    node = source.read(PROJECT, template)[0][0].get("name")
    assert isinstance(node, source.Scalar)  # noqa: S101  # the template is ours
    lines = template.decode().splitlines(keepends=True)
    line, span = lines[node.span.line - 1], node.span
    lines[span.line - 1] = line[: span.column - 1] + yamltext.scalar(name) + line[span.end_column - 1 :]
    return "".join(lines).encode()


def name_for(folder: str) -> str:
    """Return the name of a folder made a valid name, or `my-project` where nothing of it can be kept."""
    words = re.sub(r"[^a-z0-9]+", "-", folder.lower()).lstrip("-0123456789")[:LONGEST_NAME].strip("-")
    return words if words and problem_with(words) is None else _FALLBACK


def problem_with(name: str) -> str | None:
    """Return why a name cannot be that of the project; None where it can."""
    if not names.is_name(name):
        return "lower-case letters, digits and `-`, beginning with a letter and not ending with `-`"
    if name in names.RESERVED_PROJECTS:
        return "the name is reserved"
    if len(name) > LONGEST_NAME:
        return f"at most {LONGEST_NAME} characters, so that every name that comes of it fits"
    return None
