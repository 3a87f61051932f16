"""Names that say that they hold a secret, and the value behind them, in text of no known grammar.

YAML with errors in it, programs, command lines and manifests are all read with the same few rules: `NAME: value`,
`NAME = "value"`, `--name value`, and `name: NAME` with `value: …` beside it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final, NamedTuple

from mlspec.literals.found import Found
from mlspec.literals.keys import FIELDS, Level, Meaning, could_be, meaning

_NOUN: Final = re.compile(r"token|secret|pass|pwd|credential|creds|key|auth|jwt|_pat\b")
_NAME: Final = re.compile(r"[A-Za-z0-9_.-]{0,60}")
_LONGEST: Final = 80
"""Characters of a name."""
_ASSIGNS: Final = re.compile(
    r"[\"']?\]?[ \t]*(?:: *(?:str|Optional\[str\]|str \| None) *)?(=(?![=~>])|:=?(?!:)|=>)[ \t]*"
)
_NAMED: Final = re.compile(r"name[\"']?[ \t]*:[ \t]*[\"']?\Z")
_VALUE: Final = re.compile(r"\bvalue[\"']?[ \t]*:[ \t]*|\bname[\"']?[ \t]*:")
_PAIR: Final = 400
"""Characters between the name of a variable and its value, where something stands between them."""
_BESIDE: Final = re.compile(r"[\"']?[ \t]*+(?:,[ \t]*+)?(?:\n[ \t]*+)?[\"']?value[\"']?[ \t]*+:[ \t]*")
_BEFORE: Final = re.compile(
    r"value[\"']?[ \t]*+:[ \t]*+([^\n,}]{1,200}?)[ \t]*+[,\n][ \t]*[\"']?name[\"']?[ \t]*:[ \t]*[\"']?\Z"
)
_FLAG: Final = re.compile(
    r"[ \t]+(?![-|&<>])|[\"'][ \t]*,[ \t]*(?=[\"'])|,[ \t]*(?=[^\s-])"  # on one line, in a list of texts, in a list
    r"|[\"']?,?[ \t]*\n[ \t]*(?:[-?&!]\w*[ \t]+){0,3}(?=[^\s-])"  # the next item of a list, also of one with errors
)
_KEY_OF_MAP: Final = re.compile(r"[ \t]*(?:- |[\"']?[\w./~-]+[\"']?[ \t]*:(?:\s|$))")
_BLOCK: Final = re.compile(r"[|>][-+0-9]*[ \t]*(?=\n)|(?=\n)")
_OBJECT: Final = re.compile(r"[a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?")


_NAMES: Final = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789_.-")
_LONG: Final = 256
_MOST: Final = 4096
"""Characters of a value."""
_QUOTED: Final = {
    '"': re.compile(r"[^\\\"]*+(?:\\.[^\\\"]*+)*+", re.DOTALL),
    "'": re.compile(r"[^']*+(?:''[^']*+)*+"),
}
_CALL: Final = re.compile(r"[A-Za-z_][\w.]*[(\[]")
_WORD: Final = re.compile(r"[^\s\"'`,;&)\]}]*")
_IN_FLOW: Final = re.compile(r"[^\n,}\]]*")
_IN_BACKTICKS: Final = re.compile(r"[^\n`]*")
_TO_LINE_END: Final = re.compile(r"(?:(?! #)[^\n])*")


_LOWER: Final = {code: code + 32 for code in range(ord("A"), ord("Z") + 1)}


class _Place(NamedTuple):
    """Where a name stands and how it goes on."""

    text: str
    start: int
    end: int
    says: Meaning

    @property
    def name(self) -> str:
        """The name itself."""
        return self.text[self.start : self.end]

    @property
    def is_flag(self) -> bool:
        """Say whether it is one of a command line."""
        return self.text.startswith("-", self.start)

    @property
    def line(self) -> int:
        """Where its line begins."""
        first = max(0, self.start - _MOST)
        return max(first, self.text.rfind("\n", first, self.start) + 1)


class _Value(NamedTuple):
    start: int
    end: int
    quoted: bool
    how: str = ":"
    """What stands before it: `:`, `=`, or `-` for a flag."""


def mentions(text: str) -> bool:
    """Say whether a text may hold such a name at all."""
    return _NOUN.search(text.lower()) is not None


def find(text: str) -> Iterator[Found]:
    """Yield the values of names that say that they hold a secret."""
    for place, value in _pairs(text):
        yield Found(value.start, value.end, place.says.what)


def find_sure(text: str, bare: str) -> Iterator[Found]:
    """Yield those of which it is safe to say that they are secrets, so that they can be refused.

    The value looks random where the name is not sure. It stands in quotes, or behind one of the signs in `bare`: in a
    program `token = other` is no secret, on a command line it is.
    """
    for place, value in _pairs(text):
        plain = value.quoted or value.how in bare
        if plain and _surely(text[value.start : value.end], place.says.level):
            yield Found(value.start, value.end, place.says.what)


def _pairs(text: str) -> Iterator[tuple[_Place, _Value]]:
    covered = 0
    for place in _places(text):
        for value in _values(place) if place.start >= covered else ():
            written = text[value.start : value.end]
            if could_be(written, place.says.level) and not _refers(place, written, value):
                yield place, value
                # What is long is searched once: with a name in each part of it, it would be for all of them.
                covered = value.end if value.end - value.start > _LONG else covered


def _surely(written: str, level: Level) -> bool:
    """Say whether a value is more than a word of a program."""
    if len(written) < 4 or re.search(r"[\s(){}\[\]<>$%]", written):
        return False
    return level is Level.SURE or (len(written) >= 16 and bool(re.search(r"\d", written)) and "/" not in written)


def _refers(place: _Place, written: str, value: _Value) -> bool:
    if place.name not in FIELDS or not _OBJECT.fullmatch(written):
        return False
    return place.name == "secret" or place.text[value.end : value.end + 60].lstrip().startswith("remoteRef")


def _places(text: str) -> Iterator[_Place]:
    """Yield every name that says something, once."""
    lowered = text.lower()
    if len(lowered) != len(text):  # a few letters become two
        lowered = text.translate(_LOWER)
    last = -1
    for noun in _NOUN.finditer(lowered):
        if noun.start() < last:
            continue
        start, first = noun.start(), max(last, noun.start() - _LONGEST, 0)
        while start > first and text[start - 1] in _NAMES:
            start -= 1
        behind = _NAME.match(text, noun.start())
        end = last = behind.end() if behind else noun.end()
        says = meaning(text[start:end].lstrip("-").rpartition(".")[2])
        quote = text[end : end + 1]
        whole = quote not in _QUOTED or text[start - 1 : start] == quote  # else a part of some text in quotes
        if says is not None and whole:
            yield _Place(text, start, end, says)


def _values(place: _Place) -> Iterator[_Value]:
    """Yield the values of a name: as a rule one, and what stands in its place where the text is not well-formed."""
    text = place.text
    if _NAMED.search(text, max(0, place.start - 20), place.start):
        yield from _named(place)
        return
    beside = _BESIDE.match(text, place.end)
    assigns = _ASSIGNS.match(text, place.end)
    if beside is not None and beside.end() > place.end:
        yield from _extent(place, beside.end(), ":")
    elif assigns is not None:
        yield from _extent(place, assigns.end(), ":" if assigns[1] == ":" else "=")
    elif place.is_flag and (flag := _FLAG.match(text, place.end)):
        yield from _extent(place, flag.end(), "-")


def _named(place: _Place) -> Iterator[_Value]:
    """Yield the values that stand beside `name: NAME`, as Kubernetes has them: behind it, or just before it."""
    text, at = place.text, place.end
    while (found := _VALUE.search(text, at, place.end + _PAIR)) and not found[0].startswith("name"):
        yield from _extent(place, found.end(), ":")
        at = found.end()
    before = _BEFORE.search(text, max(0, place.start - 300), place.start)
    if before is not None:
        start, end = before.span(1)
        quoted = text[start] in "\"'"
        yield _Value(start + quoted, end - (quoted and text[end - 1] == text[start]), quoted)


def _extent(place: _Place, start: int, how: str) -> Iterator[_Value]:
    """Yield the value that begins at `start`; none for a map, a list or a call."""
    text = place.text
    if how == ":" and (block := _BLOCK.match(text, start)):
        yield from _indented(place, block.end())
        return
    if how == ":" and text[start - 1] == ":" and text[place.start - 1 : place.start] == ":":
        return  # a part of a name with colons: arn:aws:secretsmanager:…:secret:hub
    first = text[start : start + 1]
    call = how == "=" and text[start - 1] == " " and _CALL.match(text, start)
    if first in ("", "\n", "{", "[", "(", "`") or call:
        return
    if first in _QUOTED:
        found = _QUOTED[first].match(text, start + 1, start + 1 + _MOST)
        yield _Value(start + 1, found.end() if found else start + 1, quoted=True, how=how)
        return
    end = _WORD
    if how == ":":
        inside = "{" in text[place.line : place.start] or text[place.start - 1 : place.start] == '"'
        end = _IN_FLOW if inside else _TO_LINE_END
    if text[place.start - 1 : place.start] == "`":
        end = _IN_BACKTICKS  # in a message of ours
    found = end.match(text, start, start + _MOST)
    written = found[0].rstrip() if found else ""
    yield _Value(start, start + len(written), quoted=False, how=how)


def _indented(place: _Place, at: int) -> Iterator[_Value]:
    """Yield the lines below a name that stand deeper than it; nothing where they are a map or a list."""
    text = place.text
    depth = len(text[place.line : place.start]) - len(text[place.line : place.start].lstrip(" -"))
    start = end = -1
    while at < len(text) and text[at] == "\n":
        stop = text.find("\n", at + 1)
        line = text[at + 1 : stop if stop >= 0 else len(text)]
        if line.strip() and len(line) - len(line.lstrip()) <= depth:
            break
        if start < 0 and _KEY_OF_MAP.match(line):
            return
        if line.strip():
            start = at + 1 + len(line) - len(line.lstrip()) if start < 0 else start
            end = at + 1 + len(line.rstrip())
        at = stop if stop >= 0 else len(text)
    if start >= 0:
        yield _Value(start, end, quoted=True)
