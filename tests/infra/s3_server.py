"""A small S3 on 127.0.0.1 that holds one bucket, `lake`, in memory, for pyarrow to talk to."""

from __future__ import annotations

import io
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import IO, Any
from urllib.parse import parse_qs, unquote, urlsplit
from xml.sax.saxutils import escape

BUCKET = "lake"


class S3Server(ThreadingHTTPServer):
    """The server.

    Attributes:
        objects: The contents of each key of the bucket.
        written: The keys that were written, in order.
        allowed: The key id of who may do anything at all.
    """

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.objects: dict[str, bytes] = {}
        self.uploads: dict[str, dict[int, bytes]] = {}
        self.written: list[str] = []
        self.allowed = "somebody"

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"


class Handler(BaseHTTPRequestHandler):
    """What S3 answers, as far as it is asked here."""

    server: S3Server
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True

    def do_HEAD(self) -> None:
        self._serve()

    do_GET = do_PUT = do_POST = do_DELETE = do_HEAD  # noqa: N815 - the names that it looks for

    def _serve(self) -> None:
        body = self._body()
        parts = urlsplit(self.path)
        bucket, _, key = unquote(parts.path).lstrip("/").partition("/")
        query = {name: values[0] for name, values in parse_qs(parts.query, True).items()}
        if f"Credential={self.server.allowed}/" not in self.headers.get("Authorization", ""):
            self._refuse(403, "AccessDenied")
        elif bucket != BUCKET:
            self._refuse(404, "NoSuchBucket")
        elif not key:
            self._bucket(query)
        else:
            self._object(key, query, body)

    def _object(self, key: str, query: dict[str, str], body: bytes) -> None:
        objects, uploads = self.server.objects, self.server.uploads
        if self.command in ("HEAD", "GET"):
            if key not in objects:
                self._refuse(404, "NoSuchKey")
            else:
                self._answer(200, objects[key])
        elif self.command == "DELETE":
            objects.pop(key, None)
            self._answer(204)
        elif "uploads" in query:
            uploads[key] = {}
            self._answer(200, _xml("InitiateMultipartUploadResult", UploadId="1", Key=key))
        elif "partNumber" in query:
            uploads[key][int(query["partNumber"])] = body
            self._answer(200, ETag='"e"')
        else:
            whole = self.command == "PUT"
            parts = {1: body} if whole else uploads.pop(key)
            objects[key] = b"".join(parts[number] for number in sorted(parts))
            self.server.written.append(key)
            done = b"" if whole else _xml("CompleteMultipartUploadResult", Key=key, ETag="e")
            self._answer(200, done, ETag='"e"')

    def _bucket(self, query: dict[str, str]) -> None:
        prefix = query.get("prefix", "")
        keys = [key for key in sorted(self.server.objects) if key.startswith(prefix)]
        contents = "".join(
            f"<Contents><Key>{escape(key)}</Key><Size>{len(self.server.objects[key])}</Size>"
            "<LastModified>2020-01-01T00:00:00.000Z</LastModified></Contents>"
            for key in keys
        )
        head = f"<KeyCount>{len(keys)}</KeyCount><IsTruncated>false</IsTruncated>"
        page = f"<ListBucketResult>{head}{contents}</ListBucketResult>"
        self._answer(200, page.encode() if self.command == "GET" else b"")

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding") == "chunked":
            body = _unchunked(self.rfile)
        else:
            body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        chunked = "aws-chunked" in self.headers.get("Content-Encoding", "")
        return _unchunked(io.BytesIO(body)) if chunked else body

    def _refuse(self, status: int, code: str) -> None:
        self._answer(status, _xml("Error", Code=code, Message=code))

    def _answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


def _unchunked(stream: IO[bytes]) -> bytes:
    """Read chunks, as HTTP and S3 alike write them: size in hex, bytes; at the end 0, trailers."""
    whole = b""
    while size := int(stream.readline().partition(b";")[0], 16):
        whole += stream.read(size)
        stream.readline()
    while stream.readline().strip():
        pass
    return whole


def _xml(root: str, **elements: str) -> bytes:
    inside = "".join(f"<{name}>{escape(text)}</{name}>" for name, text in elements.items())
    return f"<{root}>{inside}</{root}>".encode()


@contextmanager
def s3_server() -> Iterator[S3Server]:
    """Serve as long as the context lasts."""
    server = S3Server()
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield server
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
