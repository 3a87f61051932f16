"""Plain values in, YAML text out that PyYAML, kustomize and Go read back as the same values.

PyYAML's own dumper leaves strings such as `1e3` and `08` bare, which kustomize reads as numbers
(PyYAML issue 860), so a scalar goes out bare only where no reader can take it for anything but a string.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
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


def scalar(value: object) -> str:
    """Return one value in one line; raises TypeError for a type that a manifest never holds."""
    if isinstance(value, str):
        if _BARE.fullmatch(value) and value.lower() not in _WORDS:
            return value
        return '"' + _ESCAPED.sub(_escape, value) + '"'
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Mapping) and not value:
        return "{}"
    if isinstance(value, Sequence) and not value:
        return "[]"
    raise TypeError(f"a manifest holds no {type(value).__name__}")


def _escape(match: re.Match[str]) -> str:
    char = match.group()
    return _SHORT.get(char) or (f"\\x{ord(char):02x}" if ord(char) < 256 else f"\\u{ord(char):04x}")


def _entry(lead: str, value: Any, pad: str) -> Iterator[str]:
    """Yield `lead` (a key with its colon) and its value; a list stands flush with its key."""
    if isinstance(value, str):
        if "\n" in value and _LITERAL.fullmatch(value):
            yield f"{lead} {_literal(value, pad + '  ')}"
        else:
            yield f"{lead} {scalar(value)}"
    elif isinstance(value, Mapping) and value:
        yield lead
        yield from _mapping(value, pad + "  ")
    elif isinstance(value, Sequence) and value:
        yield lead
        for item in value:
            yield from _item(item, pad)
    else:
        yield f"{lead} {scalar(value)}"


def _mapping(value: Mapping[str, Any], pad: str) -> Iterator[str]:
    for key, item in value.items():
        written = scalar(key)
        if len(written.encode()) > _LONGEST_KEY:
            yield f"{pad}? {written}"
            written = ""
        yield from _entry(f"{pad}{written}:", item, pad)


def _item(value: Any, pad: str) -> Iterator[str]:
    """Yield one list item; a collection inside starts on the line of its dash."""
    if isinstance(value, Mapping) and value:
        lines = _mapping(value, pad + "  ")
    elif isinstance(value, Sequence) and value and not isinstance(value, str):
        lines = (line for item in value for line in _item(item, pad + "  "))
    else:
        lines = _entry(pad + "  ", value, pad)
        yield f"{pad}-{next(lines)[len(pad) + 2 :]}"
        return
    yield f"{pad}- {next(lines)[len(pad) + 2 :]}"
    yield from lines


def _literal(value: str, pad: str) -> str:
    chomp = "" if value.endswith("\n") else "-"
    body = value.removesuffix("\n").split("\n")
    return f"|{chomp}\n" + "\n".join(pad + line if line else "" for line in body)


def dump(value: Mapping[str, Any]) -> str:
    """Return one document, insertion order kept, without a `---` line."""
    return "\n".join(_mapping(value, "")) + "\n" if value else "{}\n"


def dump_item(value: Mapping[str, Any]) -> str:
    """Return one item of a list at the left margin."""
    return "\n".join(_item(value, "")) + "\n"


def dump_all(documents: Iterable[Mapping[str, Any]]) -> str:
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
