"""Which files a collection has: those of a folder, of a glob, or the file itself, each with its size and time.

Left out are hidden files and folders, those that hold what programs made (node_modules, __pycache__, an environment of
Python, a folder marked as a cache by a CACHEDIR.TAG), and links that lead out of the folder. A link to a folder is not
followed: what lies within is there anyway, and so no loop is walked. What a .gitignore names is not left out.
"""

import os
import re
from collections.abc import Callable, Iterator
from stat import S_ISREG

from agent_cli.text import without_surrogates
from agent_cli.values import frozen

File = tuple[str, str, int, int]
"""Path as it is kept, path as it is opened, size, time in nanoseconds."""

LEFT_OUT = frozenset(("node_modules", "__pycache__", "site-packages", "$RECYCLE.BIN"))
_MADE = ("CACHEDIR.TAG", "pyvenv.cfg")  # a folder that holds one of these was made by a program
_WILD = re.compile(r"[*?\[]")
_PIECE = re.compile(r"\*+|\[([!^])?(\]?[^\]]+)\]|.", re.DOTALL)  # of a name in a glob


@frozen
class Gone:
    """A place that cannot be looked into: what was known of it stays."""

    path: str
    why: str


def absolute(told: str, folder: str) -> str:
    """What was typed, as it is kept: absolute, links resolved up to the first wildcard."""
    path = os.path.join(folder, os.path.expanduser(told))
    if os.path.lexists(path) or not _WILD.search(told):
        return without_surrogates(os.path.realpath(path))
    base, pattern = _parted(os.path.normpath(path))
    return without_surrogates(os.path.join(os.path.realpath(base), pattern))


def base(pattern: str) -> str:
    """The file or folder that is walked for it."""
    return pattern if os.path.lexists(pattern) else _parted(pattern)[0]


def covers(pattern: str) -> Callable[[str], bool]:
    """Whether a path belongs to it: the file itself, what lies in the folder, what the glob names."""
    if _WILD.search(pattern) and not os.path.lexists(pattern):
        return _matching(pattern)
    inside = pattern.rstrip("/") + "/"
    return lambda path: path == pattern or path.startswith(inside)


def walk(pattern: str) -> Iterator[File | Gone]:
    """The files, in order of their names; and what could not be looked into. A missing root is told as Gone."""
    root = base(pattern)
    try:
        found = os.stat(root)
    except OSError as error:
        yield Gone(root, error.strerror or "it is not there")
        return
    if S_ISREG(found.st_mode):
        yield without_surrogates(root), root, found.st_size, found.st_mtime_ns
        return
    wanted = None if root == pattern else _matching(pattern)
    for each in _folder(root):
        if wanted is None or isinstance(each, Gone) or wanted(each[0]):
            yield each


def _folder(root: str) -> Iterator[File | Gone]:
    """Folders may lie deeper in each other than Python may call itself."""
    entered = [_entries(root, root)]
    while entered:
        each = next(entered[-1], None)
        if each is None:
            entered.pop()
        elif isinstance(each, str):
            entered.append(_entries(each, root))
        else:
            yield each


def _entries(folder: str, root: str) -> Iterator[File | Gone | str]:
    """What stands in a folder; a string is a folder in it."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield Gone(without_surrogates(folder), error.strerror or "the disk refused")
        return
    if folder != root and any(entry.name in _MADE for entry in entries):
        return
    for entry in entries:
        name = entry.name
        if name[0] == ".":
            continue
        try:
            if entry.is_dir(follow_symlinks=False):
                if name not in LEFT_OUT:
                    yield entry.path
            elif entry.is_symlink():
                yield from _linked(entry.path, root)
            elif entry.is_file(follow_symlinks=False):
                told = entry.stat(follow_symlinks=False)
                path = entry.path if entry.path.isascii() else without_surrogates(entry.path)
                yield path, entry.path, told.st_size, told.st_mtime_ns
        except OSError as error:  # it went meanwhile, or its folder may be listed and not entered
            yield Gone(without_surrogates(entry.path), error.strerror or "the disk refused")


def _linked(path: str, root: str) -> Iterator[File]:
    """The file that a link leads to, where that lies in the folder too."""
    target = os.path.realpath(path)
    if target.startswith(root.rstrip("/") + "/") and os.path.isfile(target):
        told = os.stat(target)
        yield without_surrogates(target), target, told.st_size, told.st_mtime_ns


def _parted(pattern: str) -> tuple[str, str]:
    """The folder before the first wildcard, and the rest."""
    parts = pattern.split("/")
    first = next((n for n, part in enumerate(parts) if _WILD.search(part)), len(parts))
    return "/".join(parts[:first]) or "/", "/".join(parts[first:])


def _matching(pattern: str) -> Callable[[str], bool]:
    """Of a glob: * within a name, ** over any number of folders."""
    folder, rest = _parted(pattern)
    told = "".join("(?:.*/)?" if part == "**" else _one(part) + "/" for part in rest.split("/")).removesuffix("/")
    if rest.endswith("**"):
        told = told.removesuffix("(?:.*/)?") + ".*"
    compiled = re.compile(re.escape(folder.rstrip("/") + "/") + told, re.DOTALL)
    return lambda path: compiled.fullmatch(path) is not None


def _one(part: str) -> str:
    """The regular expression of one name, in which no wildcard stands for a slash."""
    return "".join(_piece(found) for found in _PIECE.finditer(part))


def _piece(found: re.Match[str]) -> str:
    if found[2] is not None:
        letters = re.sub(r"([\\\[\]^])", r"\\\1", found[2])  # but for the - of a range
        return f"[{'^/' if found[1] else ''}{letters}]"
    return {"*": "[^/]*", "?": "[^/]"}.get(found[0][0]) or re.escape(found[0])
