"""The address of a model server, parsed as Ollama itself parses OLLAMA_HOST.

The server listens on the same value that we call, so quotes, spaces, a bare host, a bare port and an IPv6 address
without brackets are accepted, and 0.0.0.0 ("every interface") means this machine. Where Ollama warns and falls back to
its default, an error is raised: after a mistyped port the person must not reach another server.
"""

import re
from dataclasses import field

from agent_cli.errors import ConfigError
from agent_cli.values import frozen

PORT = 11434

_HOST_NAME = re.compile(r"[\w.~%:-]+")  # IPv6 addresses too
_BRACKETED = re.compile(r"\[([^\[\]]+)\](?::(.*))?")
_DEFAULT_PORTS = {"http": 80, "https": 443}  # used only when the scheme is given
_LOOPBACK_OF = {"": "127.0.0.1", "0.0.0.0": "127.0.0.1", "::": "::1"}


@frozen
class ServerKind:
    """What a kind of server is called in sentences, how one is started, and the setting that holds its address."""

    name: str
    start: str
    setting: str
    example: str


OLLAMA = ServerKind("Ollama", "start it with `ollama serve`", "OLLAMA_HOST", "127.0.0.1:11434")


@frozen
class Address:
    scheme: str
    host: str
    port: int
    path: str = ""  # of a server behind a prefix, without the last slash
    kind: ServerKind = OLLAMA
    private_only: bool = False  # whether a host on the internet is refused
    key: str = field(default="", repr=False)  # sent as a bearer token

    @property
    def url(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{self.scheme}://{host}:{self.port}{self.path}"

    @property
    def netloc(self) -> str:
        """As the header Host names it. Raises UnicodeError where the name cannot be encoded."""
        host = self.host if self.host.isascii() else self.host.encode("idna").decode()
        host = f"[{host}]" if ":" in host else host
        return host if self.port == _DEFAULT_PORTS[self.scheme] else f"{host}:{self.port}"

    @property
    def is_loopback(self) -> bool:
        return self.host in ("localhost", "::1") or self.host.startswith("127.")


def parse(value: str, kind: ServerKind = OLLAMA) -> Address:
    """The address in a value of OLLAMA_HOST, or of the setting `host`; empty means this machine. Raises ConfigError."""
    cleaned = value.strip().strip("\"'").strip()
    scheme, written, rest = cleaned.partition("://")
    if not written:
        scheme, rest = "http", cleaned
    netloc, _, path = rest.partition("/")
    host, port = _split_port(netloc)
    scheme = scheme.lower()
    if (
        scheme not in _DEFAULT_PORTS
        or (host and not _HOST_NAME.fullmatch(host))
        or not _is_port(port)
        or re.search(r"[\s?#]", path)
    ):
        raise ConfigError(
            f"the address of the model server is {value!r}: write it like {kind.example} or http://my-server:11434 "
            f"(in {kind.setting}, or as host in the settings)"
        )
    default = _DEFAULT_PORTS[scheme] if written else PORT
    path = path.strip("/")
    return Address(scheme, _LOOPBACK_OF.get(host, host), int(port or default), f"/{path}" if path else "", kind)


def _split_port(netloc: str) -> tuple[str, str]:
    bracketed = _BRACKETED.fullmatch(netloc)
    if bracketed:
        return bracketed[1], bracketed[2] or ""
    if netloc.count(":") > 1:
        return netloc, ""
    host, _, port = netloc.partition(":")
    return host, port


def _is_port(port: str) -> bool:
    return not port or (port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536)
