"""The keys of sealed files: what a file says of its key, and where the key comes from.

A sealed file is encrypted page by page, and so are its journal and its copies. It begins with 16 bytes that are not
encrypted: how it was sealed, and a random name, by which the system's keyring has its key and which is the salt of a
passphrase. Keys and passphrases are in the memory of this process alone.
"""

import errno
import os
import struct
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, Literal

import apsw

from agent_cli import atomic_file
from agent_cli.errors import FileSealed, UsageError

Kind = Literal["keyring", "passphrase", "key file", "key command"]
VARIABLE = "AGENT_KEY"
_MARKS: dict[Kind, bytes] = {
    "keyring": b"agent K\n",
    "passphrase": b"agent P\n",
    "key file": b"agent F\n",
    "key command": b"agent C\n",
}
_LENGTH = 32  # bytes of a key
_HEAD = 16  # bytes at the beginning of a file that SQLite3 Multiple Ciphers leaves to the program
_SERVICE = "agent-cli"  # of the entries in the keyring
_TRIES = 3
_WAYS = (
    f"put it into {VARIABLE}, or name a file or command that has it in the settings (seal.key_file, seal.key_command)"
)
_NO_KEYRING = "the keyring cannot be used here (the package keyring is not installed: install agent-cli[keyring])"


@dataclass
class Keys:
    """The keys that this process has found, and where it looks for others."""

    variable: str = ""  # what AGENT_KEY said when the process began
    settings: Mapping[str, Any] = field(default_factory=dict)
    ask: Callable[[str], str | None] = lambda question: None  # None: nobody can be asked
    found: dict[bytes, bytes] = field(default_factory=dict)  # by what the file begins with

    def of(self, path: Path, fits: Callable[[bytes], bool]) -> bytes | None:
        """The key of a sealed file; None for another. Raises FileSealed where it is not to be found."""
        head = head_of(path)
        if head and head not in self.found:
            self.found[head] = self._find(path, head, fits)
        return self.found[head] if head else None

    def _find(self, path: Path, head: bytes, fits: Callable[[bytes], bool]) -> bytes:
        kind, wrong = kind_of(head), ""
        for where, secret in self._sources(path, head):
            try:
                found = secret()
            except FileSealed as error:
                wrong = wrong or str(error)
                continue
            if found and fits(key := derived(found, head)):
                return key
            wrong = f"{path}: the database is sealed, and {where} does not open it" if found else wrong
        why = {
            "keyring": f"its key is not in the keyring of this system ({_SERVICE}, {name_of(head)})",
            "passphrase": "there is no terminal to ask for its passphrase",
        }.get(kind, "it is not known where its key is")
        if wrong and not (kind == "passphrase" and found is None):
            raise FileSealed(wrong)
        raise FileSealed(f"{wrong or f'{path}: the database is sealed'}, and {why}: {_WAYS}")

    def _sources(self, path: Path, head: bytes) -> Iterator[tuple[str, Callable[[], str | None]]]:
        """Where a secret may be, as in "the key in AGENT_KEY", and how it is got; that may raise FileSealed."""
        if self.variable:
            yield f"the key in {VARIABLE}", lambda: self.variable
        for file in named(self.settings, "key_file"):
            yield f"the key in {file}", partial(read, Path(file))
        for command in named(self.settings, "key_command"):
            yield f"what {command!r} prints", partial(printed, command)
        if kind_of(head) == "keyring":
            yield "the key in the keyring", partial(_from_keyring, path, head)
        for before in ("", *["that is not it; "] * (_TRIES - 1)) if kind_of(head) == "passphrase" else ():
            yield "this passphrase", partial(self.ask, f"{before}passphrase of {path}: ")


KEYS = Keys()


@contextmanager
def os_errors() -> Iterator[None]:
    """Raise what SQLite says of reading a file as OSError."""
    try:
        yield
    except apsw.Error as error:
        raise OSError(errno.EIO, str(error)) from error


def open_to_read(path: Path | str) -> apsw.VFSFile:
    """Open a file for its bytes as SQLite does. To open and close it otherwise would end all locks that this process
    has on it, and another program could take its journal away. Raises OSError."""
    with os_errors():
        return apsw.VFSFile("", str(path), [apsw.SQLITE_OPEN_MAIN_DB | apsw.SQLITE_OPEN_READONLY, 0])


def head_of(path: Path | str) -> bytes | None:
    """What a sealed file begins with; None for any other file."""
    try:
        file = open_to_read(path)
        with os_errors():
            head = file.xRead(_HEAD, 0) if file.xFileSize() >= _HEAD else b""
            file.xClose()
    except (OSError, UnicodeError):
        return None
    return head if head[:8] in _MARKS.values() else None


def named(settings: Mapping[str, Any], entry: str) -> list[str]:
    """The files or commands of the settings: one, or while a key is changed the new one and the former."""
    value = settings.get(entry, [])
    return value if isinstance(value, list) else [value]


def kind_of(head: bytes) -> Kind:
    return next(kind for kind, mark in _MARKS.items() if head.startswith(mark))


def name_of(head: bytes) -> str:
    """The name of a key, by which the keyring has it."""
    return head[8:].hex()


def new_head(kind: Kind) -> bytes:
    return _MARKS[kind] + os.urandom(_HEAD - 8)


def derived(secret: str, head: bytes) -> bytes:
    """The key and the head of a file: the key as it is where the secret is 64 hexadecimal digits, else by scrypt."""
    secret = secret.strip()
    try:
        key = bytes.fromhex(secret)
    except ValueError:
        key = b""
    if len(key) != _LENGTH:
        import hashlib  # with a passphrase alone
        import unicodedata

        typed = unicodedata.normalize("NFC", secret).encode("utf-8", "surrogateescape")
        key = hashlib.scrypt(typed, salt=head, n=1 << 15, r=8, p=1, maxmem=1 << 26, dklen=_LENGTH)
    return key + head


def new_key() -> str:
    return os.urandom(_LENGTH).hex()


def read(file: Path) -> str:
    """The first line of a file with a key. Raises FileSealed."""
    try:
        return file.expanduser().read_text(encoding="utf-8").partition("\n")[0]
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "it is not text"
        raise FileSealed(
            f"{file}, which has the key of the database, cannot be read ({why}); nothing was opened"
        ) from None


def printed(command: str) -> str:
    """The first line that a command prints. Raises FileSealed."""
    import shlex
    import subprocess

    try:
        ended = subprocess.run(shlex.split(command), stdout=subprocess.PIPE, encoding="utf-8", timeout=120)
        line = "" if ended.returncode else ended.stdout.partition("\n")[0]
    except (OSError, ValueError, subprocess.TimeoutExpired):
        line = ""
    if not line.strip():
        raise FileSealed(
            f"key_command in the settings ({command}) gives no key: run it by hand to see why; nothing was opened"
        )
    return line


def _from_keyring(path: Path, head: bytes) -> str | None:
    with suppress(Exception):  # whatever it is, the package keyring finds it again, and may ask to unlock
        if sys.platform == "linux":
            return _from_secret_service(name_of(head))
    try:
        import keyring  # an extra, which takes a tenth of a second

        found: str | None = keyring.get_password(_SERVICE, name_of(head))
        return found
    except Exception as error:  # backends raise what they like
        why = f"the keyring cannot be used here ({str(error).partition('.')[0] or 'it is locked'}): unlock it"
        why = _NO_KEYRING if isinstance(error, ImportError) else why
        raise FileSealed(f"{path}: the database is sealed, and {why}, or {_WAYS}") from None


def _from_secret_service(name: str) -> str:
    """What the keyring of Linux answers over D-Bus, in 2 ms; a library for these four calls takes 6 to import. Raises
    whatever is wrong, also where the key is locked. Sources: D-Bus Specification, chapter "Message Protocol"; Secret
    Service API Draft, chapter "Sessions"."""
    import socket

    secrets = partial(_call, "org.freedesktop.secrets", "org.freedesktop.Secret.Service")
    address = os.environ["DBUS_SESSION_BUS_ADDRESS"].partition(":")[2]
    where = dict(part.split("=", 1) for part in address.split(","))
    entries = _strings("username", name, after=_padded(_strings("service", _SERVICE), 8))
    with socket.socket(socket.AF_UNIX) as bus, bus.makefile("rb") as answers:
        bus.connect(where["path"] if "path" in where else "\0" + where["abstract"])
        bus.sendall(
            b"\0AUTH EXTERNAL %b\r\nBEGIN\r\n" % str(os.getuid()).encode().hex().encode()
            + _call("org.freedesktop.DBus", "org.freedesktop.DBus", "Hello", "", b"", 1)
            + secrets("OpenSession", "sv", _strings("", after=_strings("plain") + b"\1s\0"), 2)
            + secrets("SearchItems", "a{ss}", struct.pack("<II", len(entries), 0) + entries, 3)
        )
        answers.readline()  # whether the bus takes this user: where it does not, nothing follows
        _, session, found = (_answer(answers) for _ in range(3))
        if not any(found[:4]):
            raise LookupError("there is no such key, or it is locked")
        item = _strings(found[8:].partition(b"\0")[0].decode())  # the first of the unlocked ones
        both = _strings(session[16:-1].decode(), after=struct.pack("<I", len(item)) + item)
        bus.sendall(secrets("GetSecrets", "aoo", both, 4))
        answer = _answer(answers)
        start = answer.rindex(struct.pack("<I", 2 * _LENGTH)) + 4  # a passphrase has another length
        return str(answer[start : start + 2 * _LENGTH], "ascii")


def _call(to: str, interface: str, method: str, types: str, body: bytes, number: int) -> bytes:
    """The bytes of a D-Bus method call to the object whose path is the name of its service."""
    fields = b""
    path = f"/{to.replace('.', '/')}"
    for start, value in {b"\1\1o\0": path, b"\2\1s\0": interface, b"\3\1s\0": method, b"\6\1s\0": to}.items():
        fields = _strings(value, after=_padded(fields, 8) + start)
    fields = _padded(fields, 8) + b"\x08\1g\0%c%b\0" % (len(types), types.encode())
    return _padded(struct.pack("<cBBBIII", b"l", 1, 0, 1, len(body), number, len(fields)) + fields, 8) + body


def _answer(stream: BinaryIO) -> bytes:
    """The body of the next reply. Raises OSError where it is an error, and struct.error where the bus has closed."""
    kind = 0
    while kind != 2:  # signals come between the replies
        kind, size, fields = struct.unpack("<xBxxIxxxxI", stream.read(16))
        stream.read(fields + -fields % 8)
        body = stream.read(size)
        if kind == 3:
            raise OSError(body)
    return body


def _strings(*values: str, after: bytes = b"") -> bytes:
    """Strings as D-Bus writes them, each from a multiple of four bytes on."""
    for value in values:
        after = _padded(after, 4) + struct.pack("<I", len(value.encode())) + value.encode() + b"\0"
    return after


def _padded(data: bytes, to: int) -> bytes:
    return data + b"\0" * (-len(data) % to)


def put_in_keyring(head: bytes, secret: str) -> None:
    """Keep a key under its name, and read it back. Raises UsageError."""
    why = "the keyring of this system takes no key"
    try:
        import keyring

        keyring.set_password(_SERVICE, name_of(head), secret)
        if keyring.get_password(_SERVICE, name_of(head)) == secret:
            return
    except Exception as error:
        why = _NO_KEYRING if isinstance(error, ImportError) else why
    raise UsageError(f"{why}: seal with --passphrase, --key-file or --command")


def make_key_file(file: Path) -> None:
    """See to it that there is a file with a key, a new one for its owner alone. Raises UsageError."""
    try:
        if not file.exists():
            atomic_file.make_folder(file.parent)
            atomic_file.write(file, f"{new_key()}\n".encode())
    except OSError as error:
        raise UsageError(f"{file} cannot be written ({error.strerror}); nothing was changed") from None
