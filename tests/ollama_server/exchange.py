"""HTTP/1.1 over one socket, by hand.

http.server would do for answers, but not for the faults: a chunk that is cut in the middle, a
line split inside a character, and noticing during a silence that the client has hung up.
"""

import json
import select
import socket
import struct
import time
from http import HTTPStatus
from threading import Event
from typing import Any
from urllib.parse import urlsplit

from tests.ollama_server import go
from tests.ollama_server.record import Request

JSON = "application/json; charset=utf-8"
NDJSON = "application/x-ndjson"
LOOK = 0.01  # seconds between two looks at a client that cannot be waited for in one go


class Gone(Exception):
    """The client has hung up."""


class Malformed(Exception):
    """What arrived is not HTTP."""


class Wire:
    """A connected socket, read with a buffer of our own so that peeking tells the truth."""

    def __init__(self, sock: socket.socket, stopping: Event):
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self._sock = sock
        self._stopping = stopping
        self._buffer = b""

    def read_request(self) -> Request | None:
        """The next request, or None when the client has closed. Raises Gone, Malformed."""
        head = self._until(b"\r\n\r\n")
        if head is None:
            return None
        first, *rest = head.decode("latin-1").split("\r\n")
        headers = {name.strip().lower(): value.strip() for name, _, value in (line.partition(":") for line in rest)}
        words = first.split(" ")
        if len(words) != 3 or not words[2].startswith("HTTP/1."):
            raise Malformed(first)
        raw = self._exactly(int(headers.get("content-length") or 0))
        path = urlsplit(words[1]).path
        return Request(words[0], path, headers, raw, _parsed(raw), received_at=time.monotonic())

    def _until(self, mark: bytes) -> bytes | None:
        while mark not in self._buffer:
            if not self._receive():
                return None
        found, _, self._buffer = self._buffer.partition(mark)
        return found

    def _exactly(self, size: int) -> bytes:
        parts, left = [], size
        while left > len(self._buffer):
            parts.append(self._buffer)
            left -= len(self._buffer)
            self._buffer = b""
            if not self._receive():
                raise Gone
        parts.append(self._buffer[:left])
        self._buffer = self._buffer[left:]
        return b"".join(parts)

    def _receive(self) -> bool:
        try:
            data = self._sock.recv(1 << 16)
        except OSError as error:
            raise Gone from error
        self._buffer += data
        return bool(data)

    def send(self, data: bytes) -> None:
        try:
            self._sock.sendall(data)
        except OSError as error:
            raise Gone from error

    def wait(self, seconds: float | Event) -> None:
        """Wait, or for an event, but no longer than the client does: raises Gone the moment it hangs up."""
        if isinstance(seconds, Event):
            while not seconds.is_set():
                self.look()
                seconds.wait(LOOK)
            return
        deadline = time.monotonic() + seconds
        while (left := deadline - time.monotonic()) > 0:
            if self._talking(left):  # poll has no more news of it, so look now and then
                self._stopping.wait(min(left, LOOK))
        self.look()

    def look(self) -> None:
        """Raises Gone if the client has hung up."""
        self._talking(0)

    def _talking(self, seconds: float) -> bool:
        """Whether the client has sent more. Waits so long for it; raises Gone."""
        try:
            poll = select.poll()  # not select(), which knows no more than 1024 files; and one poll per thread
            poll.register(self._sock, select.POLLIN)
            ready = poll.poll(seconds * 1000)
            if ready and not self._sock.recv(1, socket.MSG_PEEK):
                raise Gone
        except (OSError, ValueError) as error:  # ValueError: closed by us
            raise Gone from error
        return bool(ready)

    def reset(self) -> None:
        """Make the close that follows a reset (RST) in place of an orderly end."""
        self._sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))


class Exchange:
    """One request and its answer.

    The last bytes of an answer are held back until `close`, when the model is released and all is
    written down: a test that has its answer finds the counters as they should be.
    """

    stream_type = NDJSON

    def __init__(self, wire: Wire, request: Request):
        self.wire = wire
        self.request = request
        self.streaming = False
        self.keep = request.headers.get("connection", "").lower() != "close"
        self.retry_after = 0
        self._last: list[bytes] = []

    def json(self, status: int, value: Any) -> None:
        self.whole(status, JSON, go.encode(value))

    def text(self, status: int, words: str) -> None:
        self.whole(status, "text/plain", words.encode())

    def whole(self, status: int, content_type: str, body: bytes) -> None:
        """An answer in one piece."""
        self.request.status = status
        data = b"" if self.request.method == "HEAD" else body
        length = f"Content-Length: {len(body)}"
        asked = f"\r\nRetry-After: {self.retry_after}" if status in (429, 503) and self.retry_after else ""
        self._last.append(self._head(status, content_type, length + asked) + data)

    def line(self, value: dict[str, Any]) -> None:
        """One line of a stream, as one chunk."""
        data = go.encode(value) + b"\n"
        if value.get("done"):
            self._last.append(self._chunked(data))
        else:
            self.chunk(data)
        self.request.lines_sent += 1

    def chunk(self, data: bytes) -> None:
        """Bytes of a stream, as one chunk in one segment. The head goes with the first."""
        self.wire.send(self._chunked(data))

    def _chunked(self, data: bytes) -> bytes:
        return self._opening() + b"%x\r\n%s\r\n" % (len(data), data)

    def end(self) -> None:
        """End a stream in order."""
        self._last.append(self._opening() + b"0\r\n\r\n")

    def close(self) -> None:
        """Send what was held back. Who hangs up after the first of it has missed nothing."""
        if not self._last:
            return
        self.wire.look()
        self.request.finished = True
        for data in self._last:
            self.wire.send(data)

    def cut(self, data: bytes, reset: bool) -> None:
        """Send the first half of this and hang up."""
        self.wire.send(self._opening() + b"%x\r\n" % len(data) + data[: len(data) // 2])
        self.hang_up(reset)

    def panic(self) -> None:
        """What a crash in a handler looks like."""
        self.keep = False
        if not self.streaming:
            self.whole(500, "", b"")
            self.close()

    def hang_up(self, reset: bool = False) -> None:
        if reset:
            self.wire.reset()
        self.keep = False

    def _opening(self) -> bytes:
        if self.streaming:
            return b""
        self.streaming = True
        self.request.status = 200
        return self._head(200, self.stream_type, "Transfer-Encoding: chunked")

    def _head(self, status: int, content_type: str, length: str) -> bytes:
        lines = [f"HTTP/1.1 {status} {HTTPStatus(status).phrase}"]
        lines += [f"Content-Type: {content_type}"] if content_type else []
        lines += [f"Date: {go.DATE}", length]
        lines += [] if self.keep else ["Connection: close"]
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def _parsed(raw: bytes) -> Any:
    try:
        return json.loads(raw)
    except ValueError:
        return None
