"""An address is read as Ollama reads OLLAMA_HOST, and a response as HTTP/1.1 has it, in whatever pieces it arrives."""

import socket
import time
from dataclasses import replace
from itertools import chain, repeat

import pytest

from agent_cli.errors import ConfigError
from agent_cli.llm import http
from agent_cli.llm.http import HttpResponse, ServerFault
from tests.tables import columns, for_each, listed


@for_each(
    ("value", "url"),
    [
        *((blank, "http://127.0.0.1:11434") for blank in ("", "  ")),
        *columns("""
            "127.0.0.1:8080" → http://127.0.0.1:8080
            1.2.3.4 → http://1.2.3.4:11434 | 1.2.3.4: → http://1.2.3.4:11434 | :56789 → http://127.0.0.1:56789
            http://1.2.3.4 → http://1.2.3.4:80 | https://example.com → https://example.com:443
            HTTPS://example.com:8443/ → https://example.com:8443
            example.com:56789/ollama/ → http://example.com:56789/ollama
            ::1 → http://[::1]:11434 | [::1] → http://[::1]:11434 | http://[::1]/ → http://[::1]:80
            [0001:002:003:0004::1]:56789 → http://[0001:002:003:0004::1]:56789
        """),
        (" 'my-server' ", "http://my-server:11434"),
    ],
)
def test_address_is_read_as_ollama_reads_it(value, url):
    assert http.parse_address(value).url == url


@for_each(
    ("value", "url"),
    columns("""0.0.0.0 → http://127.0.0.1:11434 | 0.0.0.0:8080 → http://127.0.0.1:8080
        http://0.0.0.0:8080 → http://127.0.0.1:8080 | :: → http://[::1]:11434 | [::]:8080 → http://[::1]:8080"""),
)
def test_every_interface_to_listen_on_is_this_machine_to_call(value, url):
    assert http.parse_address(value).url == url


@for_each(
    "value",
    [
        *listed("""localhost:port | localhost:0 | localhost:65536 | localhost:123456789 | localhost:-1 | localhost:١٢
        ftp://localhost | my server | me:secret@host | http://me@host:80 | [::1 | host/with?query"""),
        "ho\nst",
    ],
)
def test_address_that_cannot_be_meant_is_refused_with_an_example(value):
    with pytest.raises(ConfigError) as raised:
        http.parse_address(value)
    assert repr(value) in str(raised.value)
    assert "127.0.0.1:11434" in str(raised.value)


OK = b"HTTP/1.1 200 OK\r\n"


def answered(sent):
    """The status and the body of a response that a server sends before it hangs up."""
    ours, theirs = socket.socketpair()
    with ours, theirs:
        theirs.sendall(sent)
        theirs.close()
        response = HttpResponse(ours)
        body = b"".join(iter(response.read, b""))
        return response.status, body


@for_each(
    ("sent", "expected"),
    [
        (OK + b"Content-Length: 5\r\n\r\nhello, and more", (200, b"hello")),
        (OK + b"content-length:0\r\n\r\n", (200, b"")),
        (OK + b"\r\nup to the end", (200, b"up to the end")),
        (b"HTTP/1.0 200\r\n\r\nhello", (200, b"hello")),
        (
            OK + b"Transfer-Encoding: Chunked\r\n\r\n5\r\nhello\r\nB;x=y\r\n, all of it\r\n0\r\n\r\n",
            (200, b"hello, all of it"),
        ),
        (b"HTTP/1.1 100 Continue\r\n\r\n" + OK + b"Content-Length: 2\r\n\r\nhi", (200, b"hi")),
        (b"HTTP/1.1 204 No Content\r\n\r\n", (204, b"")),
        (b"HTTP/1.1 404 Not Found\r\nContent-Length: 4\r\n\r\nnone", (404, b"none")),
    ],
)
def test_a_response_is_read_to_its_end(sent, expected):
    assert answered(sent) == expected


@for_each(
    "sent",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 none\r\n\r\n",
        b"HTTP/1.1 200",
        OK + b"Content-Length: 5\r\n\r\nhell",
        OK + b"Content-Length: -5\r\n\r\nhello",
        OK + b"Content-Length: many\r\n\r\nhello",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\nhello\r\n",
        OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhello2\r\n0\r\n\r\n",
        OK + b"Transfer-Encoding: chunked\r\nContent-Length: 3\r\n\r\n5\r\nhello\r\n0\r\n\r\n",
        OK + b"Long: " + b"x" * 150_000 + b"\r\n\r\n",
    ],
)
def test_what_is_cut_off_or_not_http_is_an_error(sent):
    with pytest.raises(ValueError, match="the response"):
        answered(sent)


def test_a_piece_is_given_as_soon_as_it_is_there():
    ours, theirs = socket.socketpair()
    with ours, theirs:
        ours.settimeout(5)
        theirs.sendall(OK + b"Transfer-Encoding: chunked\r\n\r\n5\r\nhel")
        response = HttpResponse(ours)
        assert response.read() == b"hel"
        theirs.sendall(b"lo")
        assert response.read() == b"lo"
        theirs.sendall(b"\r\n0\r\n\r\n")
        assert response.read() == b""
        assert response.read() == b""


def test_ctrl_c_while_a_piece_is_parsed_is_no_fault_of_the_server(monkeypatch):
    def interrupted(response, piece):
        raise KeyboardInterrupt

    monkeypatch.setattr(HttpResponse, "on_body", interrupted)
    with pytest.raises(KeyboardInterrupt):
        answered(OK + b"Content-Length: 5\r\n\r\nhello")


@for_each(
    ("value", "host"),
    columns("""127.0.0.1 → 127.0.0.1:11434 | ::1 → [::1]:11434 | http://my-server → my-server
        https://my-server → my-server | https://bücher.example:8443 → xn--bcher-kva.example:8443"""),
)
def test_the_request_names_the_host_as_its_address_does(value, host):
    assert f"\r\nHost: {host}\r\n".encode() in http._request(http.parse_address(value), "/api/tags", None)


def test_a_key_cannot_add_a_header():
    with pytest.raises(ValueError, match="control character"):
        http._request(replace(http.parse_address(""), key="secret\r\nHost: elsewhere"), "/v1/models", None)


def test_a_line_is_read_in_time_that_grows_with_its_length_and_only_up_to_a_limit():
    piece = b"x" * 65_536

    def lines(pieces):
        return http.split_lines(chain([b"a\nb"], pieces, [b"", b"never read"]).__next__)

    began = time.monotonic()
    assert [len(line) for line in lines([piece] * 512)] == [1, 1 + 512 * len(piece)]
    assert time.monotonic() - began < 2
    with pytest.raises(ServerFault, match="a line of more than 64 MiB"):
        list(lines(repeat(piece)))
    assert list(lines([b"c\n", b"\n", b"d", b"e\nf"])) == [b"a", b"bc", b"", b"de", b"f"]
