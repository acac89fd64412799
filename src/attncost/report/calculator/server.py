"""The page over HTTP, for this machine alone: one fixed answer, and no file of the disk.

GET / gives the page, anything else 404. Who asks by another name than this machine's is refused, so
that a page elsewhere cannot read this one through a name that it points here (DNS rebinding).
"""

import os
from collections.abc import Mapping
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import ClassVar, Final, final

from attncost.core.errors import StorageError

HOST: Final = "127.0.0.1"
_HEADERS: Final = {
    "Content-Type": "text/html; charset=utf-8",
    "Cache-Control": "no-store",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
}
_SECONDS: Final = 10  # that a client may take to say what it wants


def served(page: str, *, port: int, policy: str) -> ThreadingHTTPServer:
    """Return a server of one page that is bound and not yet running.

    Args:
        page: What it answers.
        port: Where; 0 for any that is free.
        policy: What the page may do, as a Content-Security-Policy.

    Raises:
        StorageError: If the port is taken or not allowed.
    """
    headers = {**_HEADERS, "Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
    asked = type("Asked", (_Asked,), {"page": page.encode(), "headers_sent": headers})
    try:
        return _Server((HOST, port), asked)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise StorageError(
            f"port {port} of {HOST} cannot be listened on ({reason}): give another --port, or 0 "
            "for any that is free."
        ) from error


@final
class _Server(ThreadingHTTPServer):
    """One thread a request, none of which outlives the server."""

    daemon_threads = True
    # A port that was just left may be taken again; on Windows two servers could then have one.
    allow_reuse_address = os.name != "nt"


class _Asked(BaseHTTPRequestHandler):
    page: ClassVar[bytes]
    headers_sent: ClassVar[Mapping[str, str]]
    timeout = _SECONDS
    server_version = "attncost"
    sys_version = ""

    def do_GET(self) -> None:
        self._answer(body=True)

    def do_HEAD(self) -> None:
        self._answer(body=False)

    def log_message(self, *_: object) -> None:
        """Say nothing: the terminal is the user's."""

    def _answer(self, *, body: bool) -> None:
        if not self._is_for_us():
            self.send_error(HTTPStatus.FORBIDDEN, "this page is for this machine alone")
            return
        if self.path != "/":
            self.send_error(HTTPStatus.NOT_FOUND)
            return
        self.send_response(HTTPStatus.OK)
        for name, value in self.headers_sent.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(self.page)))
        self.end_headers()
        if body:
            self.wfile.write(self.page)

    def _is_for_us(self) -> bool:
        # The server's own address, as numbers of IPv4.
        port = self.connection.getsockname()[1]
        return self.headers.get("Host", "") in (f"{HOST}:{port}", f"localhost:{port}")
