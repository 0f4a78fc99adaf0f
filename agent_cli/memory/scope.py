"""Who owns a row, and the place it belongs to. No owner sees rows of another."""

import re
from pathlib import Path

from agent_cli.text import clean
from agent_cli.values import frozen

PERSON = "person"
CALLER_PLACE = "http:"  # prefix of the place of a caller's messages


@frozen
class Scope:
    owner: str
    place: str


def carried_place(scope: Scope, *, everywhere: bool) -> str | None:
    """The place from which a session here carries over; None: from all folders. A caller has its own place alone."""
    return None if everywhere and not scope.place.startswith(CALLER_PLACE) else scope.place


def place_of(folder: Path) -> str:
    """The project of a folder: the address of its git remote, else the repository, else the folder itself."""
    for parent in (folder, *folder.parents):
        config = _git_config(parent / ".git")
        if config is not None:
            return _remote(config) or str(parent)
    return str(folder)


def _git_config(git: Path) -> Path | None:
    """The configuration file of a repository; for a worktree or submodule, that of its repository."""
    try:
        if git.is_file():
            git = (git.parent / git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()).resolve()
            common = git / "commondir"
            if common.exists():
                git = (git / common.read_text(encoding="utf-8").strip()).resolve()
        return git / "config" if (git / "config").is_file() else None
    except (OSError, ValueError):  # not UTF-8, or not a valid path
        return None


def _remote(config: Path) -> str:
    try:
        lines = config.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError):
        return ""
    sections = re.findall(r'(?ms)^[ \t]*\[remote "origin"\](.*?)(?=^[ \t]*\[|\Z)', lines)
    urls = re.findall(r"(?mi)^[ \t]*url[ \t]*=(.*)$", "\n".join(sections))
    url = re.sub(r"^\w+://", "", urls[-1].strip()) if urls else ""
    url = re.sub(r"^[^/@]*@", "", url)  # drop a user name or token before the host
    return re.sub(r"^([^/:]+):(?!\d+/)", r"\1/", url).removesuffix("/").removesuffix(".git")


def short_path(path: str) -> str:
    """A path to show, with ~ for the home folder."""
    home = str(Path.home())
    shown = f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path
    return clean(shown).replace("\n", " ").replace("\t", " ")


def file_location(path: str, line: int, page: int | None) -> str:
    """A line or page of a file, as in ~/notes/router.md:14."""
    return f"{short_path(path)}, page {page}" if page else f"{short_path(path)}:{line}"
