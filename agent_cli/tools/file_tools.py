"""Tools that read files, only inside the folders that the person's settings name. Links are followed first; what then
lies outside is refused, and so is anything hidden. Only plain text files are read: a pipe, for one, would block
forever."""

import stat
import time
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Annotated, Any

from agent_cli.messages import ToolResult
from agent_cli.text import one_line
from agent_cli.tools.tool import ToolContext, ToolFailed, tool

_TIMEOUT = 20.0
_SEARCH_TIMEOUT = 15.0  # seconds, then what was found by then is returned: the abandoned thread would go on reading
_MAX_BYTES = 5_000_000  # bytes of a file
_MAX_CHARACTERS = 6000  # of a file at once
_MAX_ENTRIES = 200  # listed of a folder
_MAX_FILES = 5000  # searched
_MAX_LINES = 50  # found
_PATHS = ("path", "folder")  # arguments that are paths


def _resolve_arguments(context: ToolContext, arguments: dict[str, Any]) -> dict[str, Any]:
    """The arguments with paths replaced by what they lead to, as the person's rules see them."""
    resolved = dict(arguments)
    for name in _PATHS:
        with suppress(ToolFailed):  # one that leads nowhere that may be read stays as it is
            if arguments.get(name, "").strip():
                resolved[name] = str(_resolve(context, arguments[name]))
    return resolved


_OPTIONS: dict[str, Any] = {"risk": "read", "source": "files", "seconds": _TIMEOUT, "resolve": _resolve_arguments}
_OPTIONS["offered"] = lambda context: bool(context.access.folders)


@tool(**_OPTIONS)
def read_file(context: ToolContext, path: str, line: Annotated[int, "where to begin"] = 1) -> str:
    """Read a text file of the person's folders."""
    lines = _text(_resolve(context, path)).splitlines()
    first = max(1, line)
    if first > max(1, len(lines)):
        raise ToolFailed(f"the file has {len(lines)} lines")
    shown, room = [], _MAX_CHARACTERS
    for each in lines[first - 1 :]:
        room -= len(each) + 1
        if room < 0:
            break
        shown.append(each)
    more = ""
    if lines and not shown:
        shown = [lines[first - 1][:_MAX_CHARACTERS]]
        more = f"\n[line {first} is cut off here: {len(lines[first - 1]) - _MAX_CHARACTERS} more characters]"
    last = first + len(shown) - 1
    if last < len(lines):
        more += f"\n[lines {first} to {last} of {len(lines)}: go on with line {last + 1}]"
    return "\n".join(shown) + more


@tool(**_OPTIONS)
def list_files(context: ToolContext, folder: Annotated[str, "empty: all of them"] = "") -> str:
    """List a folder of the person's."""
    if not folder.strip():
        return "\n".join(map(str, context.access.folders))
    place = _resolve(context, folder)
    if not place.is_dir():
        raise ToolFailed(f"{place} is not a folder; read_file reads a file")
    try:
        entries = [each for each in place.iterdir() if not each.name.startswith(".") and not each.is_symlink()]
    except OSError as error:
        raise ToolFailed(f"{place} cannot be read: {error.strerror}") from error
    entries.sort(key=lambda each: (not each.is_dir(), each.name.casefold()))
    more = [f"and {len(entries) - _MAX_ENTRIES} more"] if len(entries) > _MAX_ENTRIES else []
    return "\n".join([*map(_entry, entries[:_MAX_ENTRIES]), *more]) or "the folder is empty"


@tool(**_OPTIONS)
def search_files(
    context: ToolContext, words: Annotated[str, "exactly as they stand there"], folder: str = ""
) -> ToolResult:
    """Find lines in the files of the person's folders, but those that programs have made (node_modules, .venv)."""
    from agent_cli.memory.documents import documents  # few turns search files

    wanted = words.strip().casefold()
    if not wanted:
        raise ToolFailed("no words were given")
    places = [_resolve(context, folder)] if folder.strip() else context.access.folders
    files = (each[1] for place in places for each in documents.walk(str(place)) if isinstance(each, tuple))
    found, searched, left, deadline = list[str](), set[str](), "", time.monotonic() + _SEARCH_TIMEOUT
    for file in files:
        if len(searched) == _MAX_FILES or time.monotonic() > deadline:
            left = f"\n[only the first {len(searched)} files were searched: name a folder]"
        if left or len(found) >= _MAX_LINES:
            break
        if file in searched or context.access.is_denied(file):  # searched: a link to it was followed
            continue
        searched.add(file)
        with suppress(ToolFailed):  # not a text file
            lines, name = enumerate(_text(Path(file)).splitlines(), 1), one_line(file, 300)
            found += [f"{name}:{number}: {one_line(line, 200)}" for number, line in lines if wanted in line.casefold()]
    return ToolResult(("\n".join(found[:_MAX_LINES]) or f"no line has {one_line(words)!r}") + left)


def _resolve(context: ToolContext, path: str) -> Path:
    """What a path leads to. Raises ToolFailed when it does not exist, is hidden or lies outside the folders."""
    folders = context.access.folders
    given = Path(path.strip()).expanduser()
    candidates = [given] if given.is_absolute() else [folder / given for folder in folders]
    refused = False
    for each in candidates:
        try:
            found = each.resolve(strict=True)
        except (OSError, RuntimeError, ValueError):  # missing, a loop of links, an invalid name
            continue
        inside = next((folder for folder in folders if found.is_relative_to(folder)), None)
        if inside is not None and not any(part.startswith(".") for part in found.relative_to(inside).parts):
            return found
        refused = True
    where = ", ".join(map(str, folders))
    if refused or (given.is_absolute() and not any(given.is_relative_to(folder) for folder in folders)):
        raise ToolFailed(f"{one_line(path)} may not be read: only files that are not hidden, in {where}")
    raise ToolFailed(f"there is no {one_line(path)} in {where}; list_files shows what there is")


def _text(file: Path) -> str:
    from agent_cli.memory.documents import document_sections

    if file.is_dir():
        raise ToolFailed(f"{file} is a folder; list_files lists it")
    try:
        if document_sections.kind(str(file)) == "pdf":
            raise document_sections.UnreadableFile("it is not text but PDF")
        return document_sections.decode(document_sections.read(str(file), _MAX_BYTES))
    except document_sections.UnreadableFile as error:
        raise ToolFailed(f"{file} is not read: {error}") from error


def _entry(each: Path) -> str:
    try:
        status = each.stat()
    except OSError:
        return one_line(each.name, 200)
    if stat.S_ISDIR(status.st_mode):
        return f"{one_line(each.name, 200)}/"
    return f"{one_line(each.name, 200)}  {status.st_size} bytes, {datetime.fromtimestamp(status.st_mtime):%d %b %Y}"
