"""Whose a row is and where it was said. No owner ever sees another's rows."""

import re
from pathlib import Path

from agent_cli.text import clean
from agent_cli.values import frozen

PERSON = "person"


@frozen
class Scope:
    owner: str
    place: str


def place_of(folder: Path) -> str:
    """The project a folder belongs to: the address of its git remote, else the folder of the repository, else itself.

    `git@host:me/thing.git` and `https://host/me/thing` are one place. Git itself is not run: it would cost more than
    the rest of the start.
    """
    for parent in (folder, *folder.parents):
        config = _git_config(parent / ".git")
        if config is not None:
            return _remote(config) or str(parent)
    return str(folder)


def _git_config(git: Path) -> Path | None:
    """The configuration of a repository; of a worktree or submodule that of what its `.git` file points to."""
    try:
        if git.is_file():
            told = git.read_text(encoding="utf-8").removeprefix("gitdir:").strip()
            git = (git.parent / told).resolve()
            common = git / "commondir"
            if common.exists():
                git = (git / common.read_text(encoding="utf-8").strip()).resolve()
        config = git / "config"
        return config if config.is_file() else None
    except (OSError, ValueError):  # not UTF-8, or no path at all
        return None


def _remote(config: Path) -> str:
    import configparser  # 3 ms, and needed only inside a repository

    parser = configparser.RawConfigParser(strict=False, allow_no_value=True)
    try:
        parser.read_string(re.sub(r"(?m)^\s+", "", config.read_text(encoding="utf-8")))
    except (OSError, UnicodeDecodeError, configparser.Error):
        return ""
    url = parser.get('remote "origin"', "url", fallback="") or ""
    url = re.sub(r"^\w+://", "", url.strip())
    url = re.sub(r"^[^/@]*@", "", url)  # a name or a token before the host is nobody's business
    return re.sub(r"^([^/:]+):(?!\d+/)", r"\1/", url).removesuffix("/").removesuffix(".git")


def short(path: str) -> str:
    """A path for a person: the home folder as ~."""
    home = str(Path.home())
    shown = f"~{path[len(home) :]}" if path == home or path.startswith(f"{home}/") else path
    return clean(shown).replace("\n", " ").replace("\t", " ")


def where(path: str, line: int, page: int | None) -> str:
    """A place in a file, as in ~/notes/router.md:14."""
    return f"{short(path)}, page {page}" if page else f"{short(path)}:{line}"
