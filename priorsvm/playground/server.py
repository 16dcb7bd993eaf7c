"""Server of the playground: on this computer only, with a token in every address, and without files.

It answers three addresses: the page, its script, and POST of a state. Everything else is refused.
"""

from __future__ import annotations

import json
import secrets
import threading
from collections.abc import Callable
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib.resources import files
from typing import Any

from .answer import answer
from .presets import all_presets, start

HOST = "127.0.0.1"
# A state of the largest allowed size has about 20 kB.
LARGEST_BODY = 100_000
# Seconds without a byte after which a connection is closed.
PATIENCE = 30
HEADERS = {
    "Cache-Control": "no-store",
    "Content-Security-Policy": "default-src 'none'; script-src 'self'; style-src 'unsafe-inline'; "
    "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


@cache
def resource(name: str) -> bytes:
    """Return a file of this package."""
    return files(__package__).joinpath(name).read_bytes()


class PlaygroundServer(ThreadingHTTPServer):
    """Server on the loopback interface.

    Parameters
    ----------
    port : int, default=0
        Port; 0 is a free port.
    lesson : int, default=1
        Preset that is shown first.

    Attributes
    ----------
    token : str
        Random part of the address, which every request must have.
    url : str
        Address of the page.
    """

    daemon_threads = True

    def __init__(self, port: int = 0, lesson: int = 1) -> None:
        self.start = json.dumps(start(lesson)).encode()
        self.token = secrets.token_urlsafe(24)
        self.fit_lock = threading.Lock()
        super().__init__((HOST, port), Handler)

    @property
    def url(self) -> str:
        return f"http://{HOST}:{self.server_port}/{self.token}/"

    @property
    def hosts(self) -> tuple[str, str]:
        """Names under which a browser may address this server."""
        return f"{HOST}:{self.server_port}", f"localhost:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """One request: checks first, then one of four fixed addresses."""

    server: PlaygroundServer
    server_version = "priorsvm"
    sys_version = ""
    protocol_version = "HTTP/1.1"
    timeout = PATIENCE
    # Headers and content are one packet, sent at once: otherwise each answer waits 40 ms.
    wbufsize = -1
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
        pages: dict[str, tuple[str, Callable[[], bytes]]] = {
            "": ("text/html", lambda: resource("page.html")),
            "play.js": ("text/javascript", lambda: resource("play.js")),
            "start": ("application/json", lambda: self.server.start),
        }
        name = self._checked_name()
        if name is None:
            return
        if name not in pages:
            self._refuse(404, "There is no such page.")
            return
        kind, content = pages[name]
        self._send(200, kind, content())

    def do_POST(self) -> None:
        name = self._checked_name()
        if name is None:
            return
        if name != "answer":
            self._refuse(404, "There is no such page.")
            return
        body = self._body()
        if body is None:
            return
        try:
            state = json.loads(body)
        except (ValueError, RecursionError):
            self._refuse(400, "The body is not a JSON document.")
            return
        with self.server.fit_lock:
            found = answer(state)
        self._send(200, "application/json", json.dumps(found).encode())

    def _checked_name(self) -> str | None:
        """Return what follows the token in the address; refuse requests from elsewhere and return None."""
        host = self.headers.get("Host", "")
        origin = self.headers.get("Origin")
        if host not in self.server.hosts:
            self._refuse(403, "This address is for this computer only.")
            return None
        if origin is not None and origin != f"http://{host}":
            self._refuse(403, "Requests from other pages are refused.")
            return None
        empty, token, *rest = [*self.path.split("/", 2), ""][:3]
        if empty or not secrets.compare_digest(token.encode(), self.server.token.encode()):
            self._refuse(403, "The token in the address is wrong. Use the address that the command prints.")
            return None
        return rest[0]

    def _body(self) -> bytes | None:
        """Return the body of a request; refuse a body without a length or of a large one, and return None."""
        text = self.headers.get("Content-Length", "")
        if not (text.isascii() and text.isdecimal()):
            self._refuse(411, "The length of the body is missing.")
            return None
        if len(text) > 9 or int(text) > LARGEST_BODY:
            self._refuse(413, f"The body has more than {LARGEST_BODY} bytes.")
            return None
        return self.rfile.read(int(text))

    def _refuse(self, status: int, text: str) -> None:
        """Send a text, and close the connection, because the body is not read."""
        self.close_connection = True
        self._send(status, "text/plain", text.encode())

    def _send(self, status: int, kind: str, content: bytes) -> None:
        self.send_response(status)
        for name, value in HEADERS.items():
            self.send_header(name, value)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(content)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: Any) -> None:
        """Print nothing: addresses contain the token."""


def warm_up(server: PlaygroundServer) -> None:
    """Fit a model with a rule, so that the libraries are loaded before the first one is drawn."""
    with server.fit_lock:
        answer(next(preset["state"] for preset in all_presets() if preset["state"]["errors"]))


def serve(server: PlaygroundServer, browser: bool = True) -> None:
    """Print the address, open it in a browser, and serve until Ctrl+C."""
    import webbrowser

    with server:
        print(
            f"Playground: {server.url}\nIt is open to this computer only. Press Ctrl+C to end it.", flush=True
        )
        threading.Thread(target=warm_up, args=[server], daemon=True).start()
        if browser:
            threading.Timer(0.3, webbrowser.open, [server.url]).start()
        try:
            server.serve_forever()
        except KeyboardInterrupt:
            print()
