"""A program of a container that is not there: it says that it was started, and does what the harness answers.

Its first line, which names the interpreter, is written by the harness. Packets hold texts with NULs between them; it
imports only what costs nothing, since it is started once a pod.
"""

from __future__ import annotations

import _signal as signal  # type: ignore[import-not-found]  # signal itself costs half a start
import _socket
import os
import sys

HOME = "/.mlspec-tests"
"""Where a container has what the harness put there."""
_LIMIT = 1 << 20


def main() -> int:
    """Do what the harness says; returns the exit status."""
    harness = _socket.socket(_socket.AF_UNIX, _socket.SOCK_SEQPACKET)
    harness.connect(f"{HOME}/socket")
    signal.signal(signal.SIGTERM, lambda *_: _say(harness, "term"))
    with open(f"{HOME}/container") as file:  # noqa: PTH123  # pathlib is half the time of a start
        name = file.read()
    marked = [key for key, value in os.environ.items() if key.startswith("MLSPEC_INPUT_") and _is_marked(value)]
    variables = [f"{key}={value}" for key, value in os.environ.items()]
    _say(harness, "start", name, str(len(sys.argv)), *sys.argv, str(len(marked)), *marked, *variables)
    while True:
        word, *rest = harness.recv(_LIMIT).decode().split("\0")
        if word == "exit":
            code = _end(int(rest[0]), rest[1:])
            _say(harness, "ended", str(code))
            harness.recv(1)  # the end is written down before anybody can act on it
            return code
        if word == "die" and os.getpid() != 1:  # the first process of a container is not ended by a signal it ignores
            signal.signal(signal.SIGTERM, signal.SIG_DFL)
            os.kill(os.getpid(), signal.SIGTERM)
        if not word:
            return 1


def _is_marked(folder: str) -> bool:
    return os.path.exists(f"{folder}/_SUCCESS")  # noqa: PTH110


def _say(harness: _socket.socket, *words: str) -> None:
    harness.send("\0".join(words).encode())


def _end(code: int, files: list[str]) -> int:
    """Write the files, a name and a text in turn, below the run's directory, if it has one."""
    folder = os.environ.get("MLSPEC_RUN_DIR")
    try:
        for name, text in zip(files[::2], files[1::2], strict=True) if folder else ():
            path = f"{folder}/{name}"
            os.makedirs(os.path.dirname(path), exist_ok=True)  # noqa: PTH103, PTH120
            with open(path, "w") as file:  # noqa: PTH123
                file.write(text)
    except OSError as error:
        sys.stderr.write(f"cannot write {error.filename}: {error.strerror}\n")
        return 1
    return code


if __name__ == "__main__":
    sys.exit(main())
