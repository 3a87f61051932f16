"""No regular expression of mlspec can be made to try for ever: texts that are hard for it take time in proportion."""

from __future__ import annotations

import re
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest
from hypothesis import given
from hypothesis import strategies as st

from mlspec.spec.globs import Globs, globs
from tests.patterns import Use, hostile, uses

_LENGTH = 2000
# A pattern that looks at each letter once needs about a tenth of a millisecond; one that tries all pairs, a tenth of
# a second. Between the two a loaded machine cannot tell a lie.
_MOST = 0.03
USES = {use.where: use for use in uses()}


class _TooLongError(Exception):
    """The time is up."""


@contextmanager
def _limit(seconds: float) -> Iterator[None]:
    def stop(*_: object) -> None:
        raise _TooLongError

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def slow(use: Use, length: int) -> str | None:
    """Return a text that takes an expression too long, twice; None if there is none."""
    for text in hostile(use.pattern, length):
        took = []
        for _ in range(2):
            began = time.process_time()
            try:
                with _limit(5):
                    use.run(text)
            except _TooLongError:
                return text
            took.append(time.process_time() - began)
            if took[-1] < _MOST:
                break
        else:
            return text
    return None


def test_every_expression_is_known() -> None:
    names = {where.split(":")[0] for where in USES}
    assert {"mlspec.source.reader", "mlspec.model.scalars", "mlspec.spec.surroundings", "mlspec.names"} <= names
    assert len(USES) > 120


@pytest.mark.parametrize("where", USES)
def test_an_expression_is_fast_for_any_text(where: str) -> None:
    text = slow(USES[where], _LENGTH)
    assert text is None, f"{USES[where].pattern.pattern!r} on {text[:40]!r}…{text[-10:]!r}"


@pytest.mark.parametrize(
    "pattern",
    [
        r"(a+)+",
        r"[A-Za-z]+([_+-]?[A-Za-z0-9]+)*(/[A-Za-z0-9_+-]+)*",
        r"https://[^\s@]*[^\s]*",
        r"[a-z]+://[^/@]*:[^/@]*@",
    ],
)
def test_a_slow_expression_is_found(pattern: str) -> None:
    """The first everybody knows; the others once stood in mlspec, and each held up `check` for ever."""
    assert slow(Use("", re.compile(pattern), anywhere=False), 4 * _LENGTH) is not None


_WILDCARDS = {"**": r".*", ".**": r"(?:\..*)?", "**.": r"(?:.*\.)?", "*": r"[^.]*"}
_PATTERNS = st.lists(st.sampled_from(["a", "b", ".", *_WILDCARDS]), max_size=6).map("".join)


@given(st.lists(_PATTERNS, max_size=3), st.text("ab.", max_size=8))
def test_globs_mean_what_their_expressions_would(patterns: list[str], path: str) -> None:
    wanted = False
    for pattern in patterns:
        parts = re.split(r"(\.\*\*|\*\*\.|\*\*|\*)", pattern)
        expression = "".join(_WILDCARDS.get(part, re.escape(part)) for part in parts)
        wanted |= re.fullmatch(expression, path, re.DOTALL) is not None
    found = Globs(tuple(patterns))
    assert found.match(found.read(found.start, path)) == wanted
    half = found.read(found.start, path[: len(path) // 2])
    assert found.match(found.read(half, path[len(path) // 2 :])) == wanted, "paths are read part by part"
    assert (globs(tuple(patterns)) is None) == ("**" in patterns)


def test_globs_need_no_longer_for_many_wildcards() -> None:
    found = Globs(("**a" * 60 + "b", "*a" * 60 + "b"))
    began = time.process_time()
    assert not found.match(found.read(found.start, "a" * 20_000))
    assert time.process_time() - began < 2
