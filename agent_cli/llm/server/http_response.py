"""The response of an HTTP/1.1 server, read piece by piece from its socket.

Not with http.client, which imports the email package to read headers: 10 ms, and 30 modules, before the first word of
an answer. What is read here is what a model server sends: a status, headers, and a body in chunks, of a given length or
up to the end of the connection.
"""

import socket

_PIECE = 65_536  # bytes that are read at once
_LONGEST = 65_536  # bytes of a line
_MOST_HEADERS = 100


class HttpResponse:
    """Its `status` is 0 until the head was read. Raises OSError, and ValueError for what is not HTTP or ends early."""

    def __init__(self, sock: socket.socket):
        self._file = sock.makefile("rb")
        self.status = 0
        self._chunked = False
        self._left: int | None = None  # bytes still to be read, of the body or its chunk; None where it is not known

    def read_head(self) -> int:
        """Read up to the body; returns the status."""
        status, headers = self._read_status(), self._read_headers()
        while status == 100:  # Continue: the response comes after it
            status, headers = self._read_status(), self._read_headers()
        self.status = status
        if status in (204, 304):
            self._left = 0
        elif headers.get(b"transfer-encoding", b"").lower() == b"chunked":
            self._chunked = True
        elif length := headers.get(b"content-length"):
            self._left = _number(length, 10)
        return status

    def read(self) -> bytes:
        """The bytes of the body that have arrived; empty at its end."""
        if self._chunked and not self._left:
            self._left = self._open_chunk()
            self._chunked = self._left > 0  # an empty chunk is the last
        if self._left == 0:
            return b""
        piece = self._file.read1(min(_PIECE, self._left or _PIECE))
        if self._left is not None:
            if not piece:
                raise ValueError("the response ends before its body is whole")
            self._left -= len(piece)
        return piece

    def close(self) -> None:
        self._file.close()

    def _open_chunk(self) -> int:
        """The size of the next chunk."""
        if self._left == 0 and self._read_line():
            raise ValueError("a chunk of the response is longer than it says")
        return _number(self._read_line().partition(b";")[0], 16)

    def _read_status(self) -> int:
        version, _, rest = self._read_line().partition(b" ")
        if not version.startswith(b"HTTP/1."):
            raise ValueError("the response is not HTTP")
        return _number(rest.strip()[:3], 10)

    def _read_headers(self) -> dict[bytes, bytes]:
        """By name, in lower case."""
        headers: dict[bytes, bytes] = {}
        for _ in range(_MOST_HEADERS):
            line = self._read_line()
            if not line:
                return headers
            name, _, value = line.partition(b":")
            headers.setdefault(name.strip().lower(), value.strip())
        raise ValueError(f"the response has more than {_MOST_HEADERS} headers")

    def _read_line(self) -> bytes:
        """A line without its end; that of a chunk is empty."""
        line = self._file.readline(_LONGEST)
        if not line.endswith(b"\n"):
            raise ValueError("a line of the response is cut off or too long")
        return line.rstrip(b"\r\n")


def _number(digits: bytes, base: int) -> int:
    number = int(digits, base)
    if number < 0:
        raise ValueError(f"the response has a length of {number}")
    return number
