"""Tools that read files: inside the folders that the person's settings name, and nowhere else.

A path counts as what it leads to: links are followed first, and what lies outside then is refused, as is all that is
hidden, for there keys and passwords stand. What is no plain file (a pipe would be waited for without end) or no text
is not read.
"""

import os
import stat
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from agent_cli.messages import ToolResult
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

_SECONDS = 20.0
_SEARCHING = 15.0  # seconds, after which what was found by then is told: a thread that is left behind reads on
_LARGEST = 5_000_000  # bytes of a file
_SHOWN = 6000  # characters of a file at once
_LISTED = 200  # names of a folder
_SEARCHED = 5000  # files
_FOUND = 50  # lines
_PATHS = ("path", "folder")  # arguments
_SKIPPED = {"node_modules", "__pycache__"}


def _open(context: ToolContext) -> bool:
    return bool(context.reach.folders)


def _ruled(context: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """A path as the person's rules read it: where it leads to."""
    return {
        name: resolved(context, told) if name in _PATHS and told.strip() else told for name, told in arguments.items()
    }


@tool(risk="read", offered=_open, source="files", seconds=_SECONDS, resolve=_ruled)
def read_file(context: ToolContext, path: str, line: Annotated[int, "where to begin"] = 1) -> str:
    """Read a text file of the person's folders."""
    lines = _text(_resolved(context, path)).splitlines()
    first = max(1, line)
    if first > max(1, len(lines)):
        raise ToolFailed(f"the file has {len(lines)} lines")
    kept, room = [], _SHOWN
    for each in lines[first - 1 :]:
        room -= len(each) + 1
        if room < 0:
            break
        kept.append(each)
    kept = kept or [lines[first - 1][:_SHOWN]] if lines else []
    last = first + len(kept) - 1
    told = "\n".join(kept)
    return (
        told if last >= len(lines) else f"{told}\n[lines {first} to {last} of {len(lines)}: go on with line {last + 1}]"
    )


@tool(risk="read", offered=_open, source="files", seconds=_SECONDS, resolve=_ruled)
def list_files(context: ToolContext, folder: Annotated[str, "empty: all of them"] = "") -> str:
    """List a folder of the person's."""
    if not folder.strip():
        return "\n".join(map(str, context.reach.folders))
    place = _resolved(context, folder)
    if not place.is_dir():
        raise ToolFailed(f"{place} is no folder; read_file reads a file")
    there = sorted(_seen(place), key=lambda each: (not each.is_dir(), each.name.casefold()))
    more = [f"and {len(there) - _LISTED} more"] if len(there) > _LISTED else []
    return "\n".join([*map(_entry, there[:_LISTED]), *more]) or "the folder is empty"


@tool(risk="read", offered=_open, source="files", seconds=_SECONDS, resolve=_ruled)
def search_files(
    context: ToolContext, words: Annotated[str, "exactly as they stand there"], folder: str = ""
) -> ToolResult:
    """Find lines in the files of the person's folders."""
    wanted = words.strip().casefold()
    if not wanted:
        raise ToolFailed("no words were given")
    places = [_resolved(context, folder)] if folder.strip() else list(context.reach.folders)
    found: list[str] = []
    looked, until = 0, time.monotonic() + _SEARCHING
    for file in (each for place in places for each in _files(place)):
        looked += 1
        if len(found) >= _FOUND or looked > _SEARCHED or time.monotonic() > until:
            break
        if not context.reach.barred(str(file)):
            found += _lines(file, wanted, _FOUND - len(found))
    cut = looked > _SEARCHED or time.monotonic() > until
    left = f"\n[only the first {looked - 1} files were searched: name a folder]" if cut else ""
    return ToolResult(("\n".join(found) or f"no line has {one_line(words)!r}") + left)


def resolved(context: ToolContext, told: str) -> str:
    """The path that a call names, as it is ruled on: where it leads to. What it names nothing is left as it is."""
    try:
        return str(_resolved(context, told))
    except ToolFailed:
        return told


def _resolved(context: ToolContext, told: str) -> Path:
    """What a path leads to. Raises ToolFailed when that is not there, is hidden or lies outside."""
    folders = context.reach.folders
    given = Path(told.strip()).expanduser()
    tries = [given] if given.is_absolute() else [folder / given for folder in folders]
    refused = False
    for each in tries:
        try:
            found = each.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # not there, links in a ring, a name that cannot be one
            continue
        inside = next((folder for folder in folders if found.is_relative_to(folder)), None)
        if inside is not None and not _hidden(found.relative_to(inside)):
            return found
        refused = True
    where = ", ".join(map(str, folders))
    if refused or (given.is_absolute() and not any(given.is_relative_to(folder) for folder in folders)):
        raise ToolFailed(f"{one_line(told)} may not be read: only what is not hidden in {where}")
    raise ToolFailed(f"there is no {one_line(told)} in {where}; list_files shows what there is")


def _hidden(inside: Path) -> bool:
    return any(part.startswith(".") for part in inside.parts)


def _text(file: Path) -> str:
    """What stands in a file. Raises ToolFailed when it is none that can be read."""
    try:
        handle = os.open(file, os.O_RDONLY | os.O_NONBLOCK | getattr(os, "O_NOFOLLOW", 0))
        try:
            _refuse(file, os.fstat(handle))
            data = os.read(handle, _LARGEST)
        finally:
            os.close(handle)
    except OSError as error:
        raise ToolFailed(f"{file} cannot be read: {error.strerror}") from error
    return _decoded(data, file)


def _refuse(file: Path, told: os.stat_result) -> None:
    """Raises ToolFailed for what is no plain file, or a large one."""
    if stat.S_ISDIR(told.st_mode):
        raise ToolFailed(f"{file} is a folder; list_files lists it")
    if not stat.S_ISREG(told.st_mode):
        raise ToolFailed(f"{file} is no plain file")
    if told.st_size > _LARGEST:
        raise ToolFailed(f"{file} is too large: {told.st_size / 1e6:.1f} MB of at most {_LARGEST / 1e6:.0f}")


def _decoded(data: bytes, file: Path) -> str:
    if data.startswith((b"\xff\xfe", b"\xfe\xff")):
        return data.decode("utf-16", "replace")
    if b"\0" in data:
        raise ToolFailed(f"{file} is no text")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError:
        return data.decode("cp1252", "replace")


def _seen(place: Path) -> Iterator[Path]:
    """What is in a folder, without what is hidden and links that lead elsewhere."""
    try:
        there = list(place.iterdir())
    except OSError as error:
        raise ToolFailed(f"{place} cannot be read: {error.strerror}") from error
    return (each for each in there if not each.name.startswith(".") and not each.is_symlink())


def _entry(each: Path) -> str:
    try:
        told = each.stat()
    except OSError:
        return one_line(each.name, 200)
    if stat.S_ISDIR(told.st_mode):
        return f"{one_line(each.name, 200)}/"
    return f"{one_line(each.name, 200)}  {told.st_size} bytes, {datetime.fromtimestamp(told.st_mtime):%d %b %Y}"


def _files(place: Path) -> Iterator[Path]:
    """The plain files in a folder and below it, or the file itself."""
    if place.is_file():
        yield place
        return
    waiting = [str(place)]  # no os.walk: folders may lie deeper in each other than it may call itself
    while waiting:
        try:
            with os.scandir(waiting.pop()) as there:
                entries = sorted((each for each in there if not each.name.startswith(".")), key=lambda each: each.name)
        except OSError:
            continue
        yield from (Path(each.path) for each in entries if each.is_file(follow_symlinks=False))
        below = [each for each in entries if each.is_dir(follow_symlinks=False) and each.name not in _SKIPPED]
        waiting += [each.path for each in reversed(below)]


def _lines(file: Path, wanted: str, most: int) -> list[str]:
    try:
        lines = _text(file).splitlines()
    except ToolFailed:  # one that is no text has no lines
        return []
    found = [
        f"{one_line(str(file), 300)}:{number}: {one_line(line, 200)}"
        for number, line in enumerate(lines, 1)
        if wanted in line.casefold()
    ]
    return found[:most]
