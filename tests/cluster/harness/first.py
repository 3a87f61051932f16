"""The first process of a cell: brings loopback up, says so, and lives as long as its standard input is open."""

from __future__ import annotations

import fcntl
import os
import signal
import socket
import struct
import sys

_SET_FLAGS = 0x8914  # SIOCSIFFLAGS, linux/sockios.h
_UP_AND_RUNNING = 0x41  # IFF_UP | IFF_RUNNING, linux/if.h


def main() -> None:
    """Run until the harness is gone; the kernel then ends every other process of the cell."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)  # orphans are reaped by the kernel
    with socket.socket() as control:
        fcntl.ioctl(control, _SET_FLAGS, struct.pack("16sh14x", b"lo", _UP_AND_RUNNING))
    os.write(1, b"ready\n")
    while sys.stdin.buffer.read(4096):
        pass


if __name__ == "__main__":
    main()
