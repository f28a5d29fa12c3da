"""Serves a report on this machine's loopback, made anew as its runs go on."""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Final

from bothends.eval.report.html import render_html
from bothends.eval.report.load import load_reports, run_directories
from bothends.infra.errors import BothendsError, UsageError

__all__ = ["Viewer"]

_HOST: Final = "127.0.0.1"
_WATCHED: Final = ("manifest.json", "trials.jsonl", "gold.jsonl")


class Viewer:
    """A server of one report: `/` is the page, `/version` says which one is the latest.

    It listens on the loopback alone, and answers to that name alone, so that no page of another
    site can read it.

    Args:
        directories: Run directories, and directories that hold them.
        port: The port; 0 for one that is free.

    Raises:
        RecordError: If a directory is none, or cannot be read.
        UsageError: If the port is taken.
    """

    def __init__(self, directories: Sequence[Path], port: int = 0) -> None:
        self._directories = directories
        self._making = threading.Lock()
        self._made: tuple[str, bytes] | None = None
        self.page()
        viewer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                viewer._answer(self)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002
                """Say nothing: the terminal is for the address."""

        try:
            self._server = ThreadingHTTPServer((_HOST, port), Handler)
        except OSError as error:
            raise UsageError(
                f"port {port} cannot be used: {error.strerror}; give another with --port"
            ) from None
        self._server.daemon_threads = True

    @property
    def address(self) -> str:
        """Where the page is."""
        return f"http://{_HOST}:{self._server.server_port}/"

    def serve(self) -> None:
        """Serve until `close` is called from another thread, or an interrupt."""
        self._server.serve_forever(poll_interval=0.2)

    def close(self) -> None:
        """End the server."""
        self._server.shutdown()
        self._server.server_close()

    def version(self) -> str:
        """Return what changes whenever a run's files do."""
        files = [
            run / name
            for path in self._directories
            for run in run_directories(path)
            for name in _WATCHED
        ]
        stats = [(str(file), file.stat()) for file in files if file.exists()]
        seen = [(name, stat.st_size, stat.st_mtime_ns) for name, stat in stats]
        return hashlib.sha256(repr(seen).encode()).hexdigest()[:16]

    def page(self) -> bytes:
        """Return the page as the runs are now.

        Raises:
            RecordError: If a run cannot be read.
        """
        with self._making:
            version = self.version()
            if self._made is None or self._made[0] != version:
                page = render_html(load_reports(self._directories), version=version)
                self._made = (version, page)
            return self._made[1]

    def _answer(self, request: BaseHTTPRequestHandler) -> None:
        known = {f"{name}:{self._server.server_port}" for name in (_HOST, "localhost")}
        if request.headers.get("Host") not in known:
            return request.send_error(403)
        try:
            if request.path == "/version":
                return _send(request, self.version().encode(), "text/plain")
            if request.path == "/":
                return _send(request, self.page(), "text/html; charset=utf-8")
        except BothendsError as error:
            return request.send_error(500, explain=str(error))
        return request.send_error(404)


def _send(request: BaseHTTPRequestHandler, content: bytes, kind: str) -> None:
    request.send_response(200)
    request.send_header("Content-Type", kind)
    request.send_header("Content-Length", str(len(content)))
    request.send_header("Cache-Control", "no-store")
    request.end_headers()
    request.wfile.write(content)
