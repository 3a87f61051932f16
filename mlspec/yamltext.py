"""Plain values in, YAML text out that PyYAML, kustomize and Go read back as the same values.

PyYAML's own dumper leaves strings such as `1e3` and `08` bare, which kustomize reads as numbers
(PyYAML issue 860), so a scalar goes out bare only where no reader can take it for anything but a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache
from typing import Any

import yaml

_BARE = re.compile(r"[A-Za-z_/][A-Za-z0-9_./-]*(?:[:@][A-Za-z0-9_./-]+)*")
_WORDS = frozenset(("y", "n", "yes", "no", "on", "off", "true", "false", "null", "none", "nan", "inf"))
_UNPRINTABLE = "\x00-\x1f\x7f-\xa0\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
_ESCAPED = re.compile(f'["\\\\{_UNPRINTABLE}]')
_SHORT = {'"': '\\"', "\\": "\\\\", "\n": "\\n", "\t": "\\t", "\r": "\\r"}
# A key of more than 1024 characters is read only in its explicit form (YAML 1.2, section 7.4.2).
_LONGEST_KEY = 1000
# A literal block is exact if no line holds an unprintable character and the first starts flush and visible.
_LITERAL = re.compile(f"[^\\s{_UNPRINTABLE}][^{_UNPRINTABLE}]*(?:\n[^{_UNPRINTABLE}]*)*[^{_UNPRINTABLE}]\n?")


@lru_cache(maxsize=1 << 14)
def _string(value: str) -> str:
    """Return text bare or in double quotes; the same few thousand strings make up every manifest."""
    if _BARE.fullmatch(value) and value.lower() not in _WORDS:
        return value
    return '"' + _ESCAPED.sub(_escape, value) + '"'


def scalar(value: object) -> str:
    """Return one value in one line; raises TypeError for a type that a manifest never holds."""
    if isinstance(value, str):
        return _string(value)
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if value == {}:
        return "{}"
    if value == []:
        return "[]"
    raise TypeError(f"a manifest holds no {type(value).__name__}")


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _SHORT.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")


@lru_cache(maxsize=1 << 10)
def _key(key: str) -> str:
    """Return a key as it begins its line, with its colon; it ends a line of its own where it is too long for that."""
    written = _string(key)
    if len(written) > _LONGEST_KEY // 4 and len(written.encode()) > _LONGEST_KEY:
        return f"? {written}\n"
    return f"{written}:"


def _value(lines: list[str], lead: str, value: Any, pad: str) -> None:
    """Add `lead` (a key with its colon, or a dash) and its value; a list stands flush with its key."""
    if isinstance(value, str):
        lines.append(f"{lead} {_block(value, pad + '  ') or _string(value)}")
    elif isinstance(value, dict) and value:
        lines.append(lead)
        _mapping(lines, value, pad + "  ")
    elif isinstance(value, list) and value:
        lines.append(lead)
        _list(lines, value, pad)
    else:
        lines.append(f"{lead} {scalar(value)}")


def _mapping(lines: list[str], value: dict[str, Any], pad: str) -> None:
    inner = pad + "  "
    for key, item in value.items():
        written = _key(key)
        if written[-1] == "\n":
            lines.append(f"{pad}{written[:-1]}")
            written = ":"
        kind = item.__class__  # what most are, without another call
        if kind is str and "\n" not in item:
            lines.append(f"{pad}{written} {_string(item)}")
        elif kind is dict and item:
            lines.append(f"{pad}{written}")
            _mapping(lines, item, inner)
        elif kind is list and item:
            lines.append(f"{pad}{written}")
            _list(lines, item, pad)
        else:
            _value(lines, f"{pad}{written}", item, pad)


def _list(lines: list[str], value: list[Any], pad: str) -> None:
    """Add the items of a list; a collection inside starts on the line of its dash."""
    inner = pad + "  "
    for item in value:
        if item.__class__ is str and "\n" not in item:
            lines.append(f"{pad}- {_string(item)}")
            continue
        if not item or not (item.__class__ is dict or isinstance(item, dict | list)):
            _value(lines, f"{pad}-", item, pad)
            continue
        first = len(lines)
        if isinstance(item, dict):
            _mapping(lines, item, inner)
        else:
            _list(lines, item, inner)
        lines[first] = f"{pad}- {lines[first][len(inner) :]}"


@lru_cache(maxsize=1 << 6)
def _block(value: str, pad: str) -> str:
    """Return text of several lines as a literal block, nothing where it cannot be one; runs ship the same scripts."""
    if "\n" not in value or not _LITERAL.fullmatch(value):
        return ""
    chomp = "" if value.endswith("\n") else "-"
    body = value.removesuffix("\n").split("\n")
    return f"|{chomp}\n" + "\n".join(pad + line if line else "" for line in body)


def dump(value: dict[str, Any]) -> str:
    """Return one document, insertion order kept, without a `---` line."""
    if not value:
        return "{}\n"
    lines: list[str] = []
    _mapping(lines, value, "")
    lines.append("")
    return "\n".join(lines)


def dump_item(value: dict[str, Any]) -> str:
    """Return one item of a list at the left margin."""
    lines: list[str] = []
    _list(lines, [value], "")
    return "\n".join(lines) + "\n"


def dump_all(documents: Iterable[dict[str, Any]]) -> str:
    """Return several documents, separated by `---`."""
    return "---\n".join(map(dump, documents))


class _Loader(yaml.CSafeLoader):
    """Reads what kustomize and we write: nothing is a date, `=` and `<<` are text, and there are no aliases."""

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        """Refuse a node that was read before: aliases of aliases would grow without limit."""
        if node in self.constructed_objects:
            raise yaml.constructor.ConstructorError(None, None, "an alias is not allowed", node.start_mark)
        return super().construct_object(node, deep)

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        """Merge nothing."""


_TEXT = {f"tag:yaml.org,2002:{tag}" for tag in ("timestamp", "value", "merge")}
_Loader.yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in resolvers if tag not in _TEXT]
    for first, resolvers in yaml.CSafeLoader.yaml_implicit_resolvers.items()
}


def load_all(text: str) -> list[Any]:
    """Return the documents of generated YAML; raises yaml.YAMLError for what is none."""
    return [document for document in yaml.load_all(text, Loader=_Loader) if document is not None]  # a safe loader
