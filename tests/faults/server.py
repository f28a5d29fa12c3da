"""A server that speaks OpenAI's API and misbehaves as it is told, for tests of what comes of it."""

from __future__ import annotations

import contextlib
import io
import json
import socket
import struct
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Lock, Thread
from typing import Any, Literal

Request = dict[str, Any]
Call = tuple[str, str]
"""A tool's name, and its arguments as the text that goes over the wire."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What the server does with one request.

    `cut` ends it early: `before` resets the connection without a word, `middle` resets it within
    the body, `short` closes it in good order before the body is as long as was announced.
    """

    body: bytes
    status: int = 200
    headers: Mapping[str, str] = field(default_factory=dict)
    cut: Literal["", "before", "middle", "short"] = ""
    delay_s: float = 0.0


@dataclass(slots=True)
class FaultyServer:
    """Where it listens, how it answers, and what it was asked."""

    url: str
    answer: Callable[[Request], Reply]
    requests: list[Request] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    keys: list[str] = field(default_factory=list)

    def answers(self, *replies: Reply) -> None:
        """Answer with these replies, in order; what is asked beyond them is a fault of the test."""
        left = list(replies)
        self.answer = lambda _: left.pop(0)


def call(name: str, **arguments: Any) -> Call:
    return name, json.dumps(arguments)


def said(
    text: str | None = "",
    *calls: Call,
    usage: tuple[int, int] | None = (10, 5),
    finish_reason: str | None = None,
    **message: Any,
) -> Reply:
    """A whole reply that says a text and calls tools."""
    tool_calls = [
        {
            "id": f"call_{i}",
            "type": "function",
            "function": {"name": name, "arguments": arguments},
        }
        for i, (name, arguments) in enumerate(calls)
    ]
    made = {"tool_calls": tool_calls} if calls else {}
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": text, **made, **message},
        "finish_reason": finish_reason or ("tool_calls" if calls else "stop"),
    }
    return whole([choice], usage)


def whole(choices: Any, usage: tuple[int, int] | None = (10, 5)) -> Reply:
    """A reply of OpenAI's shape with these choices."""
    body: dict[str, Any] = {"id": "x", "object": "chat.completion", "created": 0, "model": "small"}
    body["choices"] = choices
    body["usage"] = usage and {
        "prompt_tokens": usage[0],
        "completion_tokens": usage[1],
        "total_tokens": sum(usage),
    }
    return Reply(json.dumps(body).encode())


def calls(*made: Call, **more: Any) -> Reply:
    """A whole reply that says nothing and calls tools."""
    return said(None, *made, **more)


def refusal(status: int, message: str = "no luck", **more: Any) -> Reply:
    """An error in OpenAI's shape; `headers` go beside it, all else stands in it."""
    headers = more.pop("headers", {})
    return Reply(json.dumps({"error": {"message": message, **more}}).encode(), status, headers)


class _Handler(BaseHTTPRequestHandler):
    state: FaultyServer
    asking = Lock()

    def do_POST(self) -> None:
        request = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        with self.asking:
            self.state.requests.append(request)
            self.state.paths.append(self.path)
            self.state.keys.append(self.headers.get("Authorization", ""))
            reply = self.state.answer(request)
        time.sleep(reply.delay_s)
        if reply.cut == "before":
            self._reset()
            return
        with contextlib.suppress(ConnectionError):  # a client that timed out has left
            self._send(reply)
        if reply.cut == "middle":
            self._reset()

    def _send(self, reply: Reply) -> None:
        self.send_response(reply.status)
        for name, value in {"Content-Type": "application/json", **reply.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(reply.body)))
        self.end_headers()
        self.wfile.write(reply.body[: len(reply.body) // 2] if reply.cut else reply.body)
        self.wfile.flush()

    def _reset(self) -> None:
        """Close so that the other side gets a reset, not an end."""
        self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.connection.close()
        self.wfile = io.BytesIO()  # what is left to be flushed goes nowhere

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        pass


def _unanswered(request: Request) -> Reply:
    raise AssertionError(f"nobody said what to answer to {request}")


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 64


@contextlib.contextmanager
def faulty_server() -> Iterator[FaultyServer]:
    """Serve on the loopback for as long as the block lasts."""
    state = FaultyServer("", _unanswered)
    handler = type("Handler", (_Handler,), {"state": state})
    http = _Server(("127.0.0.1", 0), handler)
    state.url = f"http://127.0.0.1:{http.server_address[1]}/v1"
    thread = Thread(target=http.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield state
    finally:
        http.shutdown()
        http.server_close()
        thread.join()


def texts(request: Request, role: str) -> Sequence[str]:
    """What was sent under a role, in order."""
    return [str(each["content"]) for each in request["messages"] if each["role"] == role]
