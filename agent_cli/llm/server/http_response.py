"""The response of an HTTP/1.1 server, read piece by piece from its socket and parsed by httptools.

Not with http.client, which imports the email package to read headers: 10 ms, and 30 modules, before the first word of
an answer.
"""

import socket

from httptools import HttpParserError, HttpResponseParser

_PIECE = 65_536  # bytes that are read at once
_LONGEST_HEAD = 65_536  # bytes of status and headers


class HttpResponse:
    """Its `status` is 0 until the head was read. Raises OSError, and ValueError for what is not HTTP or ends early."""

    def __init__(self, sock: socket.socket):
        self._sock = sock
        self._parser = HttpResponseParser(self)  # calls the methods below whose names begin with on_
        self.status = 0
        self._head_size = 0
        self._says_where_it_ends = False
        self._body: list[bytes] = []
        self._ended = False

    def read_head(self) -> int:
        """Read up to the body; returns the status."""
        while not self.status:
            self._receive()
        return self.status

    def read(self) -> bytes:
        """The bytes of the body that have arrived; empty at its end."""
        while not (self._body or self._ended):
            self._receive()
        piece = b"".join(self._body)
        self._body.clear()
        return piece

    def on_header(self, name: bytes, value: bytes) -> None:
        if name.lower() == b"content-length" or (name.lower(), value.lower()) == (b"transfer-encoding", b"chunked"):
            self._says_where_it_ends = True

    def on_headers_complete(self) -> None:
        status = self._parser.get_status_code()
        if status >= 200:  # below, as of Continue, the response comes after it
            self.status = status

    def on_body(self, piece: bytes) -> None:
        self._body.append(piece)

    def on_message_complete(self) -> None:
        self._ended = self.status > 0

    def _receive(self) -> None:
        data = self._sock.recv(_PIECE)
        if not data:
            if self._says_where_it_ends or not self.status:
                raise ValueError("the response ends before it is whole")
            self._ended = True
            return
        try:
            self._parser.feed_data(data)
        except HttpParserError as error:
            if not self._ended:  # what a server sends after its response counts for nothing
                raise ValueError(f"the response is not HTTP: {error}") from error
        self._head_size += len(data)
        if not self.status and self._head_size > _LONGEST_HEAD:
            raise ValueError("the head of the response is too long")
