"""Serves bare repositories at the very URLs that generated Applications name: an HTTPS proxy that is also the host.

Run as a program in the cell: `git_server.py PORT FOLDER CERTIFICATES`. Git's clients are told of it by `HTTPS_PROXY`:
they ask it for a connection to the host of the URL, and it answers as that host, with `git http-backend` behind. So no
name is resolved, no port below 1024 is needed, and not a byte of the generated objects is changed for the harness.
"""

from __future__ import annotations

import os
import ssl
import subprocess
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any


class Handler(BaseHTTPRequestHandler):
    """One connection: first a CONNECT, then Git's requests within TLS."""

    protocol_version = "HTTP/1.1"
    certificates: ssl.SSLContext
    folder: Path

    def do_CONNECT(self) -> None:  # http.server finds methods by this spelling
        """Become the host that was asked for."""
        self.send_response(200)
        self.end_headers()
        self.connection = self.certificates.wrap_socket(self.connection, server_side=True)
        self.rfile = self.connection.makefile("rb")
        self.wfile = self.connection.makefile("wb", buffering=0)  # as socketserver makes its own

    def do_GET(self) -> None:
        """Advertise the refs."""
        self._answer(b"")

    def do_POST(self) -> None:
        """Send objects."""
        self._answer(self.rfile.read(int(self.headers.get("Content-Length", 0))))

    def _answer(self, body: bytes) -> None:
        path, _, query = self.path.partition("?")
        environment = {
            **os.environ,
            "GIT_PROJECT_ROOT": str(self.folder),
            "GIT_HTTP_EXPORT_ALL": "1",
            "GIT_PROTOCOL": self.headers.get("Git-Protocol", ""),
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REQUEST_METHOD": self.command,
            "CONTENT_TYPE": self.headers.get("Content-Type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("Content-Encoding", ""),
        }
        done = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=False)
        head, _, content = done.stdout.partition(b"\r\n\r\n")
        headers = [line.partition(": ") for line in head.decode().splitlines()]
        status = next((value for name, _, value in headers if name == "Status"), "200")
        self.send_response(int(status.split()[0]))
        for name, _, value in headers:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002  # the name that http.server gives it
        """Log without the address, which is always loopback."""
        sys.stderr.write(format % args + "\n")


def main(port: str, folder: str, certificates: str) -> None:
    """Serve until the harness ends."""
    Handler.folder = Path(folder)
    Handler.certificates = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    Handler.certificates.load_cert_chain(Path(certificates) / "tls.crt", Path(certificates) / "tls.key")
    ThreadingHTTPServer(("127.0.0.1", int(port)), Handler).serve_forever()


if __name__ == "__main__":
    main(*sys.argv[1:])
