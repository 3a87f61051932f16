"""Fields that somebody wrote, as a plan carries them along with what it made of them: frozen, no I/O."""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple


class Source(NamedTuple):
    """A field that a value comes from: of the project, or, `of_environment`, of the environment's file."""

    path: tuple[str, ...]
    of_environment: bool = False

    def below(self, *fields: str) -> Source:
        """Return a field inside this one."""
        return self._replace(path=(*self.path, *fields))


def mended(sources: tuple[Source, ...], *fields: str) -> tuple[Source, ...]:
    """Return the fields that made a value as a finding is to name them whose remedy is in the environment's file.

    Those of the environment stand first, each with the field inside it that is to be mended.
    """
    return (*_inside(sources, *fields), *(source for source in sources if not source.of_environment))


def _inside(sources: tuple[Source, ...], *fields: str) -> Iterator[Source]:
    return (source.below(*fields) for source in sources if source.of_environment)
