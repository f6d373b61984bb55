"""Receivers on 127.0.0.1 for what a run tells: a web hook and a mail server."""

import json
import socketserver
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any


@contextmanager
def serving(server: socketserver.BaseServer) -> Iterator[int]:
    """Serve from a thread; the port."""
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield int(server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()


@contextmanager
def web_hook(received: list[Any], status: int = 204, *, reason: str | None = None, moved_to: str = "") -> Iterator[str]:
    """The address of a hook that keeps the JSON it gets, and perhaps says why it refuses, or sends elsewhere."""

    class Hook(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            received.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
            self.send_response(status, reason)
            if moved_to:
                self.send_header("Location", moved_to)
            self.end_headers()

        def do_GET(self) -> None:  # what a redirected POST becomes
            received.append("GET")
            self.send_response(status)
            self.end_headers()

        def log_message(self, *_: object) -> None:
            pass

    with serving(HTTPServer(("127.0.0.1", 0), Hook)) as port:
        yield f"http://127.0.0.1:{port}/hook"


@contextmanager
def mail_server(received: list[str]) -> Iterator[str]:
    """The address of a mail server that keeps the lines of what it gets: as much of one as hands over a message."""

    class Mailbox(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.wfile.write(b"220 ready\r\n")
            is_data = False
            for raw in self.rfile:
                line = raw.decode().rstrip("\r\n")
                if is_data:
                    is_data = line != "."
                    received.append(line)
                    answer = b"" if is_data else b"250 taken\r\n"
                else:
                    is_data = line.upper() == "DATA"
                    answer = b"354 go on\r\n" if is_data else b"250 ok\r\n"
                if line.upper() == "QUIT":
                    self.wfile.write(b"221 bye\r\n")
                    return
                self.wfile.write(answer)

    with serving(socketserver.TCPServer(("127.0.0.1", 0), Mailbox)) as port:
        yield f"smtp://127.0.0.1:{port}"


@contextmanager
def babbling() -> Iterator[str]:
    """The address of a server that speaks no HTTP."""

    class Babble(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            self.rfile.readline()
            self.wfile.write(b"bleep bleep\r\n\r\n")

    with serving(socketserver.TCPServer(("127.0.0.1", 0), Babble)) as port:
        yield f"http://127.0.0.1:{port}/hook"
