"""Makes containers, in a cell: `runtime.py SOCKET` starts, signals and reports what the harness asks for.

A container is a process that is the first of its process table, in a mount table of its own: a root of its own on a
tmpfs, with the host's programs in it read-only. When it ends, the kernel ends what it left and forgets its mounts, so
nothing of it is ever on the host. Messages are JSON, one a packet; containers are forked off, as an interpreter's start
would cost more than all the rest. Only the standard library: it is run without a path to anything else.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import signal
import socket
import sys
from typing import Any, NoReturn

LIMIT = 1 << 20
"""Bytes of the longest message."""
NOT_STARTED = 128
"""The status of a container that could not be started, as containerd gives it (StartError)."""
# linux/sched.h, linux/mount.h, linux/prctl.h
_NEW_MOUNTS, _NEW_PROCESSES = 0x00020000, 0x20000000
_READ_ONLY, _REMOUNT, _BIND, _MOVE, _RECURSIVE, _PRIVATE = 0x1, 0x20, 0x1000, 0x2000, 0x4000, 0x40000
_LOCKED = 0x2 | 0x4 | 0x8 | 0x400 | 0x800 | 0x200000  # nosuid, nodev, noexec, noatime, nodiratime, relatime
_DIE_WITH_PARENT = 1
_DEVICES = ("null", "zero", "full", "random", "urandom")
_LINKS = {"fd": "/proc/self/fd", "stdin": "fd/0", "stdout": "fd/1", "stderr": "fd/2"}
_LIBC = ctypes.CDLL(None, use_errno=True)


def main(path: str) -> None:
    """Serve until the harness hangs up."""
    with socket.socket(socket.AF_UNIX, socket.SOCK_SEQPACKET) as harness:
        harness.connect(path)
        trouble = _trouble()
        _tell(harness, {"trouble": trouble})
        if not trouble:
            _Runtime(harness).serve()


def _tell(harness: socket.socket, message: dict[str, Any]) -> None:
    harness.sendall(json.dumps(message).encode())


def _trouble() -> str:
    """Return why no container can be made here, "" where it can: tried in a child, which ends."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        try:
            _call("unshare", _NEW_MOUNTS | _NEW_PROCESSES)
            _mount(None, "/", None, _RECURSIVE | _PRIVATE)
        except OSError as error:
            os.write(writing, str(error.strerror).encode())
        os._exit(0)
    os.close(writing)
    with open(reading, "rb") as pipe:
        words = pipe.read().decode()
    os.waitpid(child, 0)
    return words


class _Runtime:
    """The containers that run."""

    def __init__(self, harness: socket.socket) -> None:
        self._harness = harness
        self._running: dict[int, str] = {}
        self._own = os.open("/proc/self/ns/pid", os.O_RDONLY)
        self._ended, wake = os.pipe()
        os.set_blocking(wake, False)
        signal.set_wakeup_fd(wake)
        signal.signal(signal.SIGCHLD, lambda *_: None)

    def serve(self) -> None:
        """Do what is asked, and say which containers ended."""
        while True:
            ready, _, _ = select.select([self._harness.fileno(), self._ended], [], [])
            if self._ended in ready:
                os.read(self._ended, 4096)
                self._reap()
            if self._harness.fileno() in ready:
                message = self._harness.recv(LIMIT)
                if not message:
                    return
                self._do(json.loads(message))

    def _do(self, request: dict[str, Any]) -> None:
        if "signal" in request:
            for process, name in self._running.items():
                if name == request["name"]:
                    with contextlib.suppress(ProcessLookupError):
                        os.kill(process, request["signal"])
            return
        _call("unshare", _NEW_PROCESSES)  # of children to come; this process stays where it is
        process = os.fork()
        if not process:
            _become(request)
        _call("setns", self._own, _NEW_PROCESSES)
        self._running[process] = request["name"]

    def _reap(self) -> None:
        while self._running:
            process, status = os.waitpid(-1, os.WNOHANG)
            if not process:
                return
            code = os.waitstatus_to_exitcode(status)
            # A shell's and a kubelet's way to say that a signal ended it.
            _tell(self._harness, {"ended": self._running.pop(process), "code": 128 - code if code < 0 else code})


def _become(request: dict[str, Any]) -> NoReturn:
    """Be a container, from here on."""
    try:
        signal.set_wakeup_fd(-1)
        for number in (signal.SIGCHLD, signal.SIGPIPE):
            signal.signal(number, signal.SIG_DFL)
        _call("prctl", _DIE_WITH_PARENT, signal.SIGKILL)
        os.setsid()
        log = os.open(request["log"], os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o644)
        for target in (1, 2):
            os.dup2(log, target)
        os.dup2(os.open("/dev/null", os.O_RDONLY), 0)
        _enter(request)
        words = request["argv"]
        os.execvpe(words[0], words, request["env"])  # noqa: S606  # it is what a container is for
    except OSError as error:
        about = f": {error.filename}" if error.filename else ""
        os.write(2, f"cannot start the container: {error.strerror}{about}\n".encode())
    finally:
        os._exit(NOT_STARTED)


def _enter(request: dict[str, Any]) -> None:
    """Make the container's root and be in it."""
    _call("unshare", _NEW_MOUNTS)
    _mount(None, "/", None, _RECURSIVE | _PRIVATE)
    root = request["root"]
    _mount("tmpfs", root, "tmpfs", 0, "mode=755")
    for name in ("proc", "dev/shm", "tmp"):  # below the root
        os.makedirs(f"{root}/{name}")
    os.chmod(f"{root}/tmp", 0o1777)  # noqa: S103, S108  # as everywhere
    _mount("proc", f"{root}/proc", "proc", 0)
    for name in _DEVICES:
        _bind(f"/dev/{name}", f"{root}/dev/{name}", read_only=False)
    links = {**{f"/dev/{name}": target for name, target in _LINKS.items()}, **request["links"]}
    for name, target in links.items():
        os.makedirs(os.path.dirname(root + name), exist_ok=True)
        os.symlink(target, root + name)
    for source, target, read_only in request["binds"]:
        _bind(source, root + target, read_only=read_only)
    os.makedirs(root + request["cwd"], exist_ok=True)
    if request["read_only"]:
        _mount(None, root, None, _REMOUNT | _BIND | _READ_ONLY)
    os.chdir(root)
    _mount(".", "/", None, _MOVE)
    os.chroot(".")
    os.chdir(request["cwd"])


def _bind(source: str, target: str, *, read_only: bool) -> None:
    """Show a file or folder at a second place."""
    if os.path.isdir(source):
        os.makedirs(target, exist_ok=True)
    elif not os.path.exists(target):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY))
    _mount(source, target, None, _BIND | _RECURSIVE)
    if read_only:
        # In a user namespace, the flags that the mount has must stay.
        _mount(None, target, None, _REMOUNT | _BIND | _READ_ONLY | (os.statvfs(target).f_flag & _LOCKED))


def _mount(source: str | None, target: str, kind: str | None, flags: int, options: str | None = None) -> None:
    words = [None if word is None else os.fsencode(word) for word in (source, target, kind, options)]
    _call("mount", words[0], words[1], words[2], ctypes.c_ulong(flags), words[3], about=target)


def _call(name: str, *arguments: object, about: str = "") -> None:
    if getattr(_LIBC, name)(*arguments) < 0:
        number = ctypes.get_errno()
        raise OSError(number, f"{name}: {os.strerror(number)}", about or None)


if __name__ == "__main__":
    main(sys.argv[1])
