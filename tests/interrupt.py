"""Kills and failures of the disk, put in at any call of the operating system that `generate` makes.

`python -m tests.interrupt N ARGUMENTS` runs mlspec in a process that ends at the N-th call, as a kill would.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Final
from unittest import mock

from mlspec import cli

CHANGING: Final = ("fsync", "mkdir", "replace", "rmdir", "unlink")
"""Calls of `os` through which a file below generated/ comes, moves or goes."""


class KilledError(BaseException):
    """The end of the process; nothing of mlspec catches it."""


@contextmanager
def at(number: int, stop: Callable[[], Any], names: tuple[str, ...] = CHANGING) -> Iterator[list[str]]:
    """Call `stop` before the N-th changing call, counted from 0; yields the calls that were begun."""
    begun: list[str] = []

    def wrapped(name: str, real: Callable[..., Any]) -> Callable[..., Any]:
        def call(*arguments: Any, **options: Any) -> Any:
            begun.append(name)
            if len(begun) > number:
                stop()
            # Nobody pulls the plug, so nothing has to reach the disk; waiting for it would be most of a test.
            return None if name == "fsync" else real(*arguments, **options)

        return call

    patches = [mock.patch.object(os, name, wrapped(name, getattr(os, name))) for name in names]
    for patch in patches:
        patch.start()
    try:
        yield begun
    finally:
        for patch in patches:
            patch.stop()


def main() -> None:
    """Run mlspec until the N-th call."""
    number, sys.argv = int(sys.argv[1]), ["mlspec", *sys.argv[2:]]
    with at(number, lambda: os._exit(137)):
        code = cli.run()
    sys.exit(code)


if __name__ == "__main__":
    main()
