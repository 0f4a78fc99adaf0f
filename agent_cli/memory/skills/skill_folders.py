"""Skills from and to folders, as other programs keep them: NAME/SKILL.md, taken in and given out byte by byte.

What stands beside a SKILL.md, as scripts, is not taken in: a skill here is words that a person has read.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path

from agent_cli import clock
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.skills import skill_adoption, skill_file, skills
from agent_cli.memory.skills.skills import Skill
from agent_cli.store.db import Database
from agent_cli.values import frozen

_MAX_BYTES = 4 * skill_file.LONGEST  # bytes
_EXAMPLES = Path(__file__).parents[2] / "examples"  # skills that come with the program, for whoever wants them


@frozen
class WrittenFile:
    path: Path
    new: bool  # or the same file was there already


def files(path: Path) -> list[Path]:
    """The skills of a file, of a folder with one, or of a folder of such. Raises UsageError when there is none."""
    path = Path(os.path.expanduser(path))  # unlike Path's own it leaves what is nobody's home
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
    there = {file.parent.name: file for file in files(_EXAMPLES)}
    if name not in there:
        raise UsageError(f"no example is called {name!r}; there are {', '.join(there)}")
    return text(there[name])


def text(path: Path) -> str:
    """A file as it is. Raises UsageError when it is none that could hold a skill."""
    try:
        if not path.is_file():
            raise UsageError("it is no file")
        with path.open("rb") as file:
            held = file.read(_MAX_BYTES + 1)
        if len(held) > _MAX_BYTES:
            raise UsageError(f"a skill has at most {skill_file.LONGEST} characters, and this has more")
        return held.decode("utf-8")
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError("it is no UTF-8") from error


def other_files(path: Path) -> list[str]:
    """What else stands in the folder of a SKILL.md."""
    if path.name != skill_file.FILE_NAME:
        return []
    try:
        return sorted(f"{each.name}{'/' * each.is_dir()}" for each in path.parent.iterdir() if each.name != path.name)
    except OSError:  # a folder from which one may read without listing it
        return []


def import_skill(
    db: Database, owner: str, words: str, time: clock.Clock, *, accepted: bool = False, batch: str = ""
) -> Skill | None:
    """A skill or the change to one, into the queue or, after the person's yes, accepted; None when it says nothing new.

    Nothing comes back that was rejected, hidden or forgotten. What waits already is accepted when it comes again so.
    Raises UsageError like `skill_file.read`.
    """
    with db.write():
        taken = skill_adoption.propose(db, owner, words, time, origin="file", batch=batch)
        if not accepted:
            return taken
        waiting = taken or next((each for each in skills.pending(db, owner) if each.text == words), None)
        return skill_adoption.accept(db, waiting, time, batch=batch) if waiting else None


def write(folder: Path, chosen: Sequence[Skill], *, force: bool = False) -> Iterator[WrittenFile]:
    """Write NAME/SKILL.md for each. Raises UsageError, before anything is written, where another file is in the way."""
    folder = Path(os.path.expanduser(folder))
    targets = [(folder / each.name / skill_file.FILE_NAME, each.text.encode()) for each in chosen]
    try:
        there = {path: _existing_content(path) for path, _ in targets}
        for path, held in targets:
            if not force and there[path] not in (None, held):
                raise UsageError(f"{path} is there already and says something else; say --force to write over it")
        for path, held in targets:
            if there[path] != held:
                _write(path, held)
            yield WrittenFile(path, there[path] != held)
    except OSError as error:
        raise StoreError(f"{folder}: nothing can be written there ({error.strerror})") from error


def _existing_content(path: Path) -> bytes | None:
    """What a file holds, as far as it could be a skill; None when there is none."""
    if not path.exists():
        return None
    if not path.is_file():
        raise UsageError(f"{path} is there already and is no file: move it away")
    with path.open("rb") as file:
        return file.read(_MAX_BYTES + 1)


def _write(path: Path, held: bytes) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    part.touch(0o600)
    part.write_bytes(held)
    os.replace(part, path)
