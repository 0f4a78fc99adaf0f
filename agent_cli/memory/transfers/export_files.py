"""Reads the export files of ChatGPT and Claude.

Both send a .zip with conversations.json in it, or several when large (conversations-000.json and so on). The archive,
the unpacked folder or the file itself may be given. Nothing is unpacked to the disk.
"""

import io
import re
import zipfile
import zlib
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, Any

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.memory.transfers import json_array
from agent_cli.memory.transfers.transfer import ExternalSession
from agent_cli.text import one_line

_NAME = re.compile(r"(?:.*/)?conversations(?:-\d+)?\.json")
_MAX_UNPACKED = 20_000_000_000  # bytes of an archive: a small one may hold a thousand times its size
_DAMAGED = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    RuntimeError,
    NotImplementedError,
)  # RuntimeError: encrypted


def read_sessions(
    file: Path, row: Callable[[dict[str, Any]], dict[str, Any] | None], key: str, program: str, others: dict[str, str]
) -> Iterator[ExternalSession]:
    """The sessions in an export of `program`, whose conversations hold their messages under `key`.

    `others`: the keys of other programs, and their import commands. Raises UsageError when it is not this program's.
    """
    number = 0
    for name, conversations in _open_files(file):
        try:
            for conversation in conversations:
                number += 1
                place = f"conversation {number}"
                if not isinstance(conversation, dict):
                    broken = isinstance(conversation, json_array.BrokenElement)
                    yield ExternalSession(
                        place, 1, _raising(str(conversation) if broken else "it is not a JSON object")
                    )
                    continue
                if number == 1:
                    _refuse_other(file, conversation, key, program, others)
                title = conversation.get("title") or conversation.get("name")
                place += f" (“{one_line(title, 40)}”)" if isinstance(title, str) else ""
                yield ExternalSession(place, _size(conversation, key), lambda value=conversation: row(value))  # type: ignore[misc]
        except json_array.BrokenElement as error:
            if not number:
                raise UsageError(f"{name} is not an export of {program}: {error}") from error
            yield ExternalSession(f"what follows conversation {number} in {name}", 1, _raising(str(error)))


def parse_time(value: Any) -> datetime | None:
    """A time of an export (seconds since 1970 or ISO 8601) in UTC; None when missing or impossible."""
    found = None
    try:
        if isinstance(value, int | float) and value > 0:
            found = datetime.fromtimestamp(value, UTC)
        elif isinstance(value, str) and value:
            found = datetime.fromisoformat(value)
            found = (found if found.tzinfo else found.replace(tzinfo=UTC)).astimezone(UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return found if found and clock.EARLIEST <= found <= clock.LATEST else None


def path_to(parents: dict[str, Any], leaf: str) -> list[str]:
    """The ids from the first message to the leaf; `parents`: the parent id of each message."""
    path: dict[str, None] = {}
    at: Any = leaf
    while isinstance(at, str) and at in parents and at not in path:
        path[at] = None
        at = parents[at]
    return list(path)[::-1]


def _refuse_other(file: Path, conversation: dict[str, Any], key: str, program: str, others: dict[str, str]) -> None:
    for theirs, command in others.items():
        if theirs in conversation and key not in conversation:
            raise UsageError(f"{file} is not an export of {program}; try `agent import {command} {file}`")


def _size(conversation: dict[str, Any], key: str) -> int:
    messages = conversation.get(key)
    return len(messages) if isinstance(messages, dict | list) else 1


def _raising(why: str) -> Callable[[], dict[str, Any]]:
    def row() -> dict[str, Any]:
        raise ValueError(why)

    return row


def _open_files(file: Path) -> Iterator[tuple[str, Iterator[Any]]]:
    """(name, conversations) of each file. Raises UsageError."""
    with ExitStack() as opened:
        try:
            if file.is_dir():
                found = sorted(path for path in file.iterdir() if _NAME.fullmatch(path.name))
                for path in found:
                    yield path.name, _conversations(opened, path.open("rb"))
            elif zipfile.is_zipfile(file):
                archive = opened.enter_context(zipfile.ZipFile(file))
                names = sorted(name for name in archive.namelist() if _NAME.fullmatch(name))
                if sum(archive.getinfo(name).file_size for name in names) > _MAX_UNPACKED:
                    raise UsageError(f"{file} holds more than {_MAX_UNPACKED / 1e9:g} GB of conversations")
                found = [Path(name) for name in names]
                for name in names:
                    yield name, _conversations(opened, archive.open(name))
            else:
                found = [file]
                yield file.name, _conversations(opened, file.open("rb"))
        except _DAMAGED as error:
            raise UsageError(f"{file} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if not found:
        raise UsageError(f"there is no conversations.json in {file}: give the archive as it came, or that file")


def _conversations(opened: ExitStack, raw: IO[bytes]) -> Iterator[Any]:
    file = opened.enter_context(io.TextIOWrapper(raw, encoding="utf-8-sig", errors="replace"))

    def read(count: int) -> str:
        try:
            return file.read(count)
        except _DAMAGED as error:
            raise json_array.BrokenElement(f"it is damaged: {error}") from error

    return json_array.elements(read)
