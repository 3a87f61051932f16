"""Leads connections from a socket that was opened outside a cell to a port inside it: `forward.py FD PORT`.

A socket stays in the network where it was opened, whoever accepts on it: no address of the cell is needed outside.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import sys


async def _copy(source: asyncio.StreamReader, target: asyncio.StreamWriter) -> None:
    with contextlib.suppress(OSError):
        while data := await source.read(1 << 16):
            target.write(data)
            await target.drain()
    with contextlib.suppress(OSError):
        target.close()


async def main(descriptor: int, port: int) -> None:
    """Serve for ever."""

    async def lead(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            inner_reader, inner_writer = await asyncio.open_connection("127.0.0.1", port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(_copy(reader, inner_writer), _copy(inner_reader, writer))

    server = await asyncio.start_server(lead, sock=socket.socket(fileno=descriptor))
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main(int(sys.argv[1]), int(sys.argv[2])))
