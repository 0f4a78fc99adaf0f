"""Imports and exports skills as NAME/SKILL.md, the layout of other programs, byte by byte.

Other files beside a SKILL.md, such as scripts, are not imported: a skill is text that a person has read.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_cli import atomic_file, clock
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.skills import skill_file, skills
from agent_cli.memory.skills.skills import Skill
from agent_cli.store.db import Database
from agent_cli.values import frozen

_MAX_BYTES = 4 * skill_file.LONGEST  # bytes
_EXAMPLES = Path(__file__).parents[2] / "examples"  # skills that come with the program, not installed by default


@frozen
class WrittenFile:
    path: Path
    new: bool  # False: the same file existed already


def files(path: Path) -> list[Path]:
    """The SKILL.md files of a path: a file, a folder with one, or a folder of such folders. Raises UsageError."""
    path = Path(os.path.expanduser(path))  # unlike Path.expanduser it accepts an unknown user
    try:
        if not path.exists():
            raise UsageError(f"there is no {path}")
        if not path.is_dir():
            return [path]
        folders = [path, *sorted(each for each in path.iterdir() if each.is_dir())]
        found = [folder / skill_file.FILE_NAME for folder in folders if (folder / skill_file.FILE_NAME).exists()]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if not found:
        raise UsageError(f"{path} holds no {skill_file.FILE_NAME}, and no folder with one")
    return found[:1] if found[0].parent == path else found


def example(name: str) -> str:
    """A skill that comes with the program. Raises UsageError when there is none of this name."""
    examples = {file.parent.name: file for file in files(_EXAMPLES)}
    if name not in examples:
        raise UsageError(f"no example is called {name!r}; there are {', '.join(examples)}")
    return text(examples[name])


def text(path: Path) -> str:
    """The text of a file. Raises UsageError when it cannot be a skill."""
    try:
        if not path.is_file():
            raise UsageError("it is not a file")
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise UsageError(f"a skill has at most {skill_file.LONGEST} characters, and this has more")
        return content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError("it is not UTF-8") from error


def other_files(path: Path) -> list[str]:
    """The names of the other files in the folder of a SKILL.md."""
    if path.name != skill_file.FILE_NAME:
        return []
    try:
        return sorted(f"{each.name}{'/' * each.is_dir()}" for each in path.parent.iterdir() if each.name != path.name)
    except OSError:  # a folder may be readable without being listable
        return []


def import_skill(
    db: Database, owner: str, words: str, time: clock.Clock, *, accepted: bool = False, batch: str = ""
) -> Skill | None:
    """Import a skill, or a change to one, as a proposal or as accepted; None when it says nothing new.

    Nothing is restored that was rejected, hidden or forgotten. A pending proposal with the same text is accepted when
    `accepted` is set. Raises UsageError like `skill_file.parse`.
    """
    with db.write():
        proposal = skills.propose(db, owner, words, time, origin="file", batch=batch)
        if not accepted:
            return proposal
        proposal = proposal or next((each for each in skills.pending(db, owner) if each.text == words), None)
        return skills.accept(db, proposal, time, batch=batch) if proposal else None


def write(folder: Path, chosen: Sequence[Skill], *, force: bool = False) -> Iterator[WrittenFile]:
    """Write NAME/SKILL.md for each. Raises UsageError, with nothing written, where a different file exists."""
    folder = Path(os.path.expanduser(folder))
    targets = [(folder / each.name / skill_file.FILE_NAME, each.text.encode()) for each in chosen]
    try:
        existing = {path: _existing_content(path) for path, _ in targets}
        for path, content in targets:
            if not force and existing[path] not in (None, content):
                raise UsageError(f"{path} exists already with other content; say --force to write over it")
        for path, content in targets:
            if existing[path] != content:
                _write(path, content)
            yield WrittenFile(path, existing[path] != content)
    except OSError as error:
        raise StoreError(f"{folder}: nothing can be written there ({error.strerror})") from error


def _existing_content(path: Path) -> bytes | None:
    """The content of a file, up to the size of a skill; None when the file does not exist."""
    if not path.exists():
        return None
    if not path.is_file():
        raise UsageError(f"{path} exists already and is not a file: move it away")
    with path.open("rb") as file:
        return file.read(_MAX_BYTES + 1)


def _write(path: Path, content: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    atomic_file.write(path, content)
