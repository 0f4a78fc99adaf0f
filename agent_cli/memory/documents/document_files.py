"""Lists the files of a collection (a folder, a glob or a file), each with its size and time.

Left out are hidden files and folders, generated folders (node_modules, __pycache__, Python environments, caches marked
by a CACHEDIR.TAG), and links that lead out of the folder. Links to folders are not followed, which also avoids loops.
Files named in a .gitignore are included.
"""

import os
import re
from collections.abc import Callable, Iterator
from stat import S_ISREG

from agent_cli.text import without_surrogates
from agent_cli.values import frozen

File = tuple[str, str, int, int]
"""(path as stored, path to open, size in bytes, time in nanoseconds)."""

LEFT_OUT = frozenset(("node_modules", "__pycache__", "site-packages", "$RECYCLE.BIN"))
_GENERATED_MARKERS = ("CACHEDIR.TAG", "pyvenv.cfg")  # a folder with one of these is generated
_WILDCARD = re.compile(r"[*?\[]")
_PIECE = re.compile(r"\*+|\[([!^])?(\]?[^\]]{1,255})\]|.", re.DOTALL)  # token of a glob


@frozen
class Unreachable:
    """A path that cannot be read; its documents are kept."""

    path: str
    why: str


def absolute(typed: str, folder: str) -> str:
    """A typed path or glob as stored: absolute, links resolved up to the first wildcard."""
    path = os.path.join(folder, os.path.expanduser(typed))
    if os.path.lexists(path) or not _WILDCARD.search(typed):
        return without_surrogates(os.path.realpath(path))
    base, pattern = _split_glob(os.path.normpath(path))
    return without_surrogates(os.path.join(os.path.realpath(base), pattern))


def base(pattern: str) -> str:
    """The file or folder to walk for a pattern."""
    return pattern if os.path.lexists(pattern) else _split_glob(pattern)[0]


def covers(pattern: str) -> Callable[[str], bool]:
    """A test whether a path belongs to a pattern: the file itself, in the folder, or matching the glob."""
    if _WILDCARD.search(pattern) and not os.path.lexists(pattern):
        return _glob_matcher(pattern)
    inside = pattern.rstrip("/") + "/"
    return lambda path: path == pattern or path.startswith(inside)


def walk(pattern: str) -> Iterator[File | Unreachable]:
    """The files in order of name, and unreachable paths, among them a missing root."""
    root = base(pattern)
    try:
        found = os.stat(root)
    except OSError as error:
        yield Unreachable(root, error.strerror or "it does not exist")
        return
    if S_ISREG(found.st_mode):
        yield without_surrogates(root), root, found.st_size, found.st_mtime_ns
        return
    wanted = None if root == pattern else _glob_matcher(pattern)
    for each in _folder(root):
        if wanted is None or isinstance(each, Unreachable) or wanted(each[0]):
            yield each


def _folder(root: str) -> Iterator[File | Unreachable]:
    """Walks without recursion, because folders may be nested deeper than the recursion limit."""
    entered = [_entries(root, root)]
    while entered:
        each = next(entered[-1], None)
        if each is None:
            entered.pop()
        elif isinstance(each, str):
            entered.append(_entries(each, root))
        else:
            yield each


def _entries(folder: str, root: str) -> Iterator[File | Unreachable | str]:
    """The entries of a folder; a string is a subfolder."""
    try:
        with os.scandir(folder) as found:
            entries = sorted(found, key=lambda entry: entry.name)
    except OSError as error:
        yield Unreachable(without_surrogates(folder), error.strerror or "the disk cannot be read")
        return
    if folder != root and any(entry.name in _GENERATED_MARKERS for entry in entries):
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
                yield from _link_target(entry.path, root)
            elif entry.is_file(follow_symlinks=False):
                status = entry.stat(follow_symlinks=False)
                path = entry.path if entry.path.isascii() else without_surrogates(entry.path)
                yield path, entry.path, status.st_size, status.st_mtime_ns
        except OSError as error:  # deleted meanwhile, or no permission to enter its folder
            yield Unreachable(without_surrogates(entry.path), error.strerror or "the disk cannot be read")


def _link_target(path: str, root: str) -> Iterator[File]:
    """The target of a link, if it is a file within the root."""
    target = os.path.realpath(path)
    if target.startswith(root.rstrip("/") + "/") and os.path.isfile(target):
        status = os.stat(target)
        yield without_surrogates(target), target, status.st_size, status.st_mtime_ns


def _split_glob(pattern: str) -> tuple[str, str]:
    """The folder before the first wildcard, and the rest."""
    parts = pattern.split("/")
    first = next((n for n, part in enumerate(parts) if _WILDCARD.search(part)), len(parts))
    return "/".join(parts[:first]) or "/", "/".join(parts[first:])


def _glob_matcher(pattern: str) -> Callable[[str], bool]:
    """A test for a glob: * within a name, ** over any number of folders."""
    folder, rest = _split_glob(pattern)
    pattern_text = "".join(
        "(?:.*/)?" if part == "**" else _name_regex(part) + "/" for part in rest.split("/")
    ).removesuffix("/")
    if rest.endswith("**"):
        pattern_text = pattern_text.removesuffix("(?:.*/)?") + ".*"
    compiled = re.compile(re.escape(folder.rstrip("/") + "/") + pattern_text, re.DOTALL)
    return lambda path: compiled.fullmatch(path) is not None


def _name_regex(part: str) -> str:
    """The regular expression of one path component; no wildcard matches a slash."""
    return "".join(_piece_regex(found) for found in _PIECE.finditer(part))


def _piece_regex(found: re.Match[str]) -> str:
    if found[2] is not None:
        letters = re.sub(r"([\\\[\]^])", r"\\\1", found[2])  # except the - of a range
        return f"[{'^/' if found[1] else ''}{letters}]"
    return {"*": "[^/]*", "?": "[^/]"}.get(found[0][0]) or re.escape(found[0])
