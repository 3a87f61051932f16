"""The process that makes containers (`runtime.py`), as the harness sees it: started, asked, listened to."""

from __future__ import annotations

import json
import select
import signal
import socket
import sys
import threading
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

from tests.cluster.harness.cell import Cell
from tests.cluster.harness.client import Body
from tests.cluster.harness.errors import HarnessError
from tests.cluster.harness.nodes import runtime

PYTHON: Final = Path(getattr(sys, "_base_executable", sys.executable)).resolve()
"""The interpreter without a virtual environment; containers have it, too."""
_LONGEST_PATH: Final = 107  # of a socket: sun_path, unix(7)


class Runtime:
    """The process that makes containers, as this process sees it."""

    def __init__(self, cell: Cell, path: Path) -> None:
        """Start it in a cell; `path` is for a socket.

        Raises:
            HarnessError: it cannot make containers here.
        """
        self._waiting: dict[str, Callable[[int], None]] = {}
        self._lock = threading.Lock()
        with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as server:
            server.bind(str(path))
            server.listen(1)
            server.settimeout(0)
            process = cell.start("containers", [PYTHON, "-IS", runtime.__file__, path])
            process.wait_until(lambda: bool(select.select([server], [], [], 0)[0]), 30)
            self._socket, _ = server.accept()
        self._socket.setblocking(True)
        trouble = json.loads(self._socket.recv(runtime.LIMIT))["trouble"]
        if trouble:
            self._socket.close()
            words = f"no private mount and process tables can be made here, so no pod can be played: {trouble}"
            raise HarnessError("containers", words)
        threading.Thread(target=self._listen, name="containers", daemon=True).start()

    def ask(self, request: Body, ended: Callable[[int], None]) -> None:
        """Start a container, and say when it has ended."""
        self._waiting[request["name"]] = ended
        self._send(request)

    def signal(self, name: str, number: int) -> None:
        """Signal the first process of a container; one that has ended meanwhile needs none."""
        self._send({"signal": number, "name": name})

    def close(self) -> None:
        """Hang up: it ends."""
        with suppress(OSError):  # it has hung up itself
            self._socket.shutdown(socket.SHUT_RDWR)

    def _send(self, message: Body) -> None:
        with self._lock:
            self._socket.sendall(json.dumps(message).encode())

    def _listen(self) -> None:
        with self._socket, suppress(ConnectionError):  # it may have been killed
            while data := self._socket.recv(runtime.LIMIT):
                message = json.loads(data)
                self._waiting.pop(message["ended"])(message["code"])
        for ended in self._waiting.values():  # it is gone, and all containers with it
            ended(128 + signal.SIGKILL)


def short(path: Path) -> Path:
    """Return the path of a socket.

    Raises:
        HarnessError: it is longer than a socket's may be.
    """
    if len(str(path)) > _LONGEST_PATH:
        raise HarnessError("containers", f"{path} is too long for a socket: set TMPDIR to a shorter folder")
    return path
