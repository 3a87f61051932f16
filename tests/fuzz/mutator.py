"""One spec in, another out: changed as bytes, or as the values that it holds."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, Final

import yaml

from mlspec import source
from mlspec.source import PlainText
from tests.flow import Plain, to_yaml
from tests.fuzz import words

NASTY: Final = tuple((Path(__file__).parent.parent / "nasty.txt").read_text(encoding="utf-8").splitlines())
HOSTILE: Final = (
    *("", " ", "\n", "a\n", "\x00", "\x01", "\x7f", "\u202e", "a\u200bb", "\u2028", "\ufeff", "\U000e0041", "é", "٣"),
    *("../../etc/passwd", "/etc/passwd", "a/../../b", "a\\b", "..", ".", "./a", "a//b", "~/x", "/dev/zero", "a\0b"),
    *("{{ x }}", "${HOME}", "$(HOME)", "$$", "{project}", "{project", "{owner}{environment}", "{0.__class__}", "%s"),
    *("s3://", "S3://b/x", "http://h/x", "file:///etc/passwd", "https://u:p@h/x", "https://[::1]/x", "pvc://a/../b"),
    *("https://h/%2e%2e/x", "s3://b/x?y#z", "oci://", "hf://a b", "image@sha256:00", "AKIAIOSFODNN7EXAMPLE", "😀"),
    *("system:masters", "-", "--", "-x", "=", "<<", "*", "**", "---", "...", "|", ">", "&a", "*a", "!x", "%x", "@x"),
    *("9" * 25, "9" * 5000, "-" + "9" * 400, "1e999999999", "0x" + "f" * 400, "1e-400", ".inf", ".nan", "1_0", "0o7"),
    *("a" * 64, "a" * 254, "a" * 5000, "-" * 5000, "a." * 3000, ":" * 5000, "A" * 60 + "!", "**a" * 40),
    *("1" * 5000 + "m", "x" * 140_000, "https://" + "-" * 5000 + "\n", "git@" + "a" * 5000),
)
"""Texts that mean harm, beside those of nasty.txt that only look like something else."""
_BITS: Final = (
    *(b"\0", b"\t", b"\r", b"\r\n", b"\xff", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\xe2\x80\xae"),
    *(b": ", b"- ", b"? ", b"{", b"}", b"[", b"]", b",", b"#", b"&a ", b"*a", b"!!int ", b"! ", b"<<: ", b"|", b">-"),
    *(b"\n---\n", b"\n...\n", b"%YAML 9.9\n---\n", b"%TAG ! tag:x,1:\n---\n", b"'", b'"', b"\\", b"\n<<<<<<< HEAD\n"),
    *(b"~", b"null", b"[" * 100, b"{a: " * 70, b"- " * 80, b"a: &a [*a]\n", b"\n=======\n", b'"\\ud800"', b'"\\0"'),
    *(b"%", b"@`", b"\xe2\x80\xa8"),
)
_ENCODINGS: Final = ("utf-16", "utf-16-le", "utf-32", "latin-1", "utf-8-sig", "cp037")
_GENTLE: Final = 0.4
"""Share of inputs with one value changed: what is broken twice seldom gets far."""
Way = tuple[Any, ...]


def mutate(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Return a spec changed one to four times, now as values and now as bytes; `others` lend what is spliced in."""
    if random.random() < _GENTLE:
        return _structure(random, data, others)
    for _ in range(random.choice((1, 1, 1, 2, 2, 3, 4))):
        change = random.choice(_STRUCTURE if random.random() < 0.7 else _BYTES)
        data = change(random, data, others)[: source.MAX_BYTES + 2]
    return data


# --- as values ---


def _values(data: bytes) -> list[Any]:
    """Return the documents of a spec as data that can be written again; what cannot be read is left out."""
    return [_plain(source.to_raw(document)) for document in source.read("", data)[0]]


def _plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {key: _plain(item) for key, item in value.items() if not key.startswith("\0")}
    if isinstance(value, list):
        return [_plain(item) for item in value]
    return Plain(value) if isinstance(value, PlainText) else value


def _ways(value: Any, way: Way = ()) -> list[Way]:
    """Return the way to every value inside data, itself included."""
    entries = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    return [way, *(found for key, item in entries for found in _ways(item, (*way, key)))]


def _at(value: Any, way: Way) -> Any:
    for key in way:
        value = value[key]
    return value


def _scalar(random: Random) -> Any:
    text = random.choice(NASTY if random.random() < 0.4 else HOSTILE)
    fits = text.isprintable() and text.isascii() and not set(text) & set(" #:,[]{}&*!|>'\"%@`?-<=~\\")
    return Plain(text) if fits and text and random.random() < 0.5 else text


def _any_value(random: Random) -> Any:
    scalar = _scalar(random)
    return random.choice((scalar, scalar, {}, [], None, True, 0, -1, 10**30, 1.5, {"a": 1}, [[]], {"kind": "job"}))


Edit = Callable[[Random, Any, Any, Any], None]


def _replace(random: Random, parent: Any, key: Any, _: Any) -> None:
    parent[key] = _any_value(random)


def _delete(_: Random, parent: Any, key: Any, __: Any) -> None:
    del parent[key]


def _rename(random: Random, parent: Any, key: Any, _: Any) -> None:
    if isinstance(parent, dict):
        entries = [(str(_scalar(random)) if name == key else name, item) for name, item in parent.items()]
        parent.clear()
        parent.update(entries)


def _repeat(random: Random, parent: Any, key: Any, _: Any) -> None:
    times = random.choice((1, 2, 20, 300))
    if isinstance(parent, list):
        parent[key:key] = [copy.deepcopy(parent[key]) for _ in range(times)]
    else:
        parent.update({f"{key[:20]}{number}": copy.deepcopy(parent[key]) for number in range(times)})


def _nest(random: Random, parent: Any, key: Any, _: Any) -> None:
    for _ in range(random.choice((1, 2, 10, 70))):
        parent[key] = {str(key): parent[key]} if random.random() < 0.5 else [parent[key]]


def _splice(random: Random, parent: Any, key: Any, other: Any) -> None:
    found = copy.deepcopy(_at(other, random.choice(_ways(other))))
    if isinstance(parent[key], dict) and isinstance(found, dict) and random.random() < 0.5:
        parent[key].update(found)
    else:
        parent[key] = found


def _exchange(random: Random, parent: Any, key: Any, other: Any) -> None:
    """Put in what another document has under the same name: it fits, and may mean something else."""
    found = [_at(other, way) for way in _ways(other) if way and way[-1] == key]
    if found:
        parent[key] = copy.deepcopy(random.choice(found))


def _override(random: Random, parent: Any, key: Any, other: Any) -> None:
    """Put part of a document below `environments:`, which merges it over the rest."""
    source_of = other if random.random() < 0.3 else parent
    if isinstance(source_of, dict):
        inner = {name: copy.deepcopy(item) for name, item in source_of.items() if random.random() < 0.7}
        parent[key] = {random.choice(("dev", "prod", "common", "zz")): inner}


def _known(random: Random, parent: Any, key: Any, _: Any) -> None:
    """Add a field that the program knows, or give one a value that it knows."""
    target = parent[key]
    if isinstance(target, dict) and random.random() < 0.7:
        target[random.choice(words.words())] = words.value(random)
    elif isinstance(target, list) and random.random() < 0.7:
        target.insert(random.randint(0, len(target)), words.value(random))
    else:
        parent[key] = words.value(random)


def _patch(random: Random, parent: Any, key: Any, _: Any) -> None:
    """Patch a step or service with fields that Kubernetes' objects have."""
    if isinstance(parent[key], dict):
        parent[key]["patch"] = [words.operation(random) for _ in range(random.choice((1, 1, 2, 5)))]


_EDITS: Final[tuple[Edit, ...]] = (
    *(_exchange, _exchange, _exchange, _replace, _replace, _replace, _delete, _delete, _rename, _rename),
    *(_repeat, _nest, _splice, _splice, _override, _known, _known),
)


def _structure(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Change one value somewhere, and write everything again."""
    documents = _values(data)
    if not documents:
        return _bytes(random, data, others)
    borrowed = _values(random.choice(others)) or [{}]
    document = random.choice(documents)
    if random.random() < 0.1 and isinstance(document, dict):
        _override(random, document, "environments", random.choice(borrowed))
    elif random.random() < 0.15 and (workloads := [way for way in _ways(document) if _is_workload(way)]):
        way = random.choice(workloads)
        _patch(random, _at(document, way[:-1]), way[-1], {})
    else:
        way = random.choice(_ways(document)[1:] or [()])
        if way:
            random.choice(_EDITS)(random, _at(document, way[:-1]), way[-1], random.choice(borrowed))
    return _written(random, documents)


def _is_workload(way: Way) -> bool:
    return len(way) == 2 and way[0] in ("steps", "services")


def _written(random: Random, documents: list[Any]) -> bytes:
    if random.random() < 0.8:
        return "---\n".join(map(to_yaml, documents)).encode("utf-8", "surrogatepass")
    plain = [_without_plain(document) for document in documents]
    return yaml.safe_dump_all(plain, allow_unicode=True, sort_keys=random.random() < 0.5).encode()


def _without_plain(value: Any) -> Any:
    if isinstance(value, dict):
        return {str(key): _without_plain(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_without_plain(item) for item in value]
    return str(value) if isinstance(value, Plain) else value


# --- as bytes ---


def _bytes(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    """Change some bytes somewhere."""
    start = random.randint(0, len(data))
    end = min(len(data), start + random.choice((0, 1, 1, 3, 10, 100)))
    bits = random.choice(_BITS)
    put = random.choice((b"", b"", bits, bits, data[start:end] * 2, random.randbytes(3)))
    return data[:start] + put + data[end:]


def _truncate(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    return data[: random.randint(0, len(data))]


def _join(random: Random, data: bytes, others: Sequence[bytes]) -> bytes:
    other = random.choice(others)
    joint = random.choice((b"", b"\n---\n", b"\n"))
    return data[: random.randint(0, len(data))] + joint + other[random.randint(0, len(other)) :]


def _lines(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    """Swap, repeat, lose or indent a line."""
    lines = data.split(b"\n")
    at = random.randrange(len(lines))
    other = random.randrange(len(lines))
    action = random.randrange(4)
    if action == 0:
        lines[at], lines[other] = lines[other], lines[at]
    elif action == 1:
        lines[at:at] = [lines[at]] * random.choice((1, 2, 500))
    elif action == 2:
        del lines[at]
    else:
        lines[at] = random.choice((b" ", b"    ", b"\t", b"- ")) + lines[at]
    return b"\n".join(lines)


def _encode(random: Random, data: bytes, _: Sequence[bytes]) -> bytes:
    text = data.decode("utf-8", "replace")
    if random.random() < 0.5:
        return text.replace("\n", random.choice(("\r\n", "\r", "\x85", "\u2028", "\n\n"))).encode()
    return text.encode(random.choice(_ENCODINGS), "replace")


Change = Callable[[Random, bytes, Sequence[bytes]], bytes]
_STRUCTURE: Final[tuple[Change, ...]] = (_structure,)
_BYTES: Final[tuple[Change, ...]] = (_bytes, _bytes, _bytes, _bytes, _truncate, _join, _lines, _lines, _encode)
