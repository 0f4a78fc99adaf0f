"""Where the model server is: read as Ollama itself reads OLLAMA_HOST.

The same value serves the server as what to listen on and us as what to call, so quotes, spaces, a bare host, a bare
port and an IPv6 address without brackets are taken. 0.0.0.0 means "every interface" to listen on; to call it, it is
this machine. Where Ollama warns and falls back to its default, we say what is wrong: a person who mistyped a port
should not wonder why another server answers.
"""

import re

from agent_cli.errors import ConfigError
from agent_cli.values import frozen

PORT = 11434

_NAME = re.compile(r"[\w.~%:-]+")  # also what IPv6 addresses are made of
_BRACKETED = re.compile(r"\[([^\[\]]+)\](?::(.*))?")
_PORTS = {"http": 80, "https": 443}  # only when the scheme was written
_ANY = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


@frozen
class Address:
    scheme: str
    host: str
    port: int
    path: str = ""  # of a server behind a prefix, without the last slash

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    @property
    def loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def parse(told: str) -> Address:
    """The address in a value such as OLLAMA_HOST takes; empty means this machine. Raises ConfigError."""
    value = told.strip().strip("\"'").strip()
    scheme, written, rest = value.partition("://")
    if not written:
        scheme, rest = "http", value
    place, _, path = rest.partition("/")
    host, port = _split(place)
    scheme = scheme.lower()
    if scheme not in _PORTS or (host and not _NAME.fullmatch(host)) or not _is_port(port) or re.search(r"[\s?#]", path):
        raise ConfigError(
            f"the address of the model server is {told!r}: write it like 127.0.0.1:11434 or http://my-server:11434 "
            "(in OLLAMA_HOST, or as the host in the config)"
        )
    default = _PORTS[scheme] if written else PORT
    path = path.strip("/")
    return Address(scheme, _ANY.get(host, host), int(port or default), f"/{path}" if path else "")


def _split(place: str) -> tuple[str, str]:
    bracketed = _BRACKETED.fullmatch(place)
    if bracketed:
        return bracketed[1], bracketed[2] or ""
    if place.count(":") > 1:
        return place, ""
    host, _, port = place.partition(":")
    return host, port


def _is_port(port: str) -> bool:
    return not port or (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536)
