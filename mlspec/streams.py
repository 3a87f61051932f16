"""Standard output and error that a reader may leave, so that what a command found out does not depend on who reads it.

With `mlspec check | head -1` the reader goes after the first line. Written on is then nothing, without an error: the
command runs to its end, and its exit code is what it would be with a patient reader. A script with `pipefail` would
take a findings' 1 for a 0, or a success for a failure otherwise.
"""

from __future__ import annotations

import io
import os
import sys
from typing import Any, Final, TextIO

_OUTPUT: Final = (("stdout", 1), ("stderr", 2))


class _Outlet(io.FileIO):
    """A file descriptor; what it cannot take is dropped, and why is kept."""

    problem: str | None = None
    """Set where writing failed for another reason than that nobody reads, such as a full disk."""

    def write(self, data: Any, /) -> int:
        """Write what can be written; says that all was."""
        try:
            return super().write(data)
        except BrokenPipeError:
            pass
        except OSError as error:
            self.problem = (error.strerror or "unknown error").lower()
        return memoryview(data).nbytes


def open_outlets() -> None:
    """Put patient streams in the place of stdout and stderr; what the caller has closed goes nowhere."""
    for name, descriptor in _OUTPUT:
        stream: TextIO | None = getattr(sys, name)
        if stream is None:
            setattr(sys, name, open(os.devnull, "w", encoding="utf-8"))  # noqa: SIM115, PTH123  # until the process ends
            continue
        buffer = io.BufferedWriter(_Outlet(descriptor, "w", closefd=False))
        line_buffering = name == "stderr" or stream.isatty()
        outlet = io.TextIOWrapper(buffer, stream.encoding, stream.errors, line_buffering=line_buffering)
        setattr(sys, name, outlet)


def close_outlets() -> str | None:
    """Write what is left; returns why stdout could not take everything, None where it could or nobody reads."""
    for name, _ in _OUTPUT:
        getattr(sys, name).flush()
    raw = getattr(getattr(sys.stdout, "buffer", None), "raw", None)
    return raw.problem if isinstance(raw, _Outlet) else None
