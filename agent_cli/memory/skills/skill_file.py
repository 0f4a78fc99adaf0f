"""The open format of a skill: SKILL.md, with a name and a description as front matter, and the steps below.

A file is stored character by character, so that an export equals the import. Files are read and written as
NAME/SKILL.md, the layout of other programs; other files beside a SKILL.md, such as scripts, are not imported: a skill
is text that a person has read.
"""

import os
import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from agent_cli import atomic_file, limits
from agent_cli.errors import StoreError, UsageError
from agent_cli.limits import LimitExceeded
from agent_cli.text import Pattern, one_line, visible
from agent_cli.values import frozen

FILE_NAME = "SKILL.md"
LONGEST = 20_000  # characters of a skill; a small model cannot follow more
_MAX_BYTES = 4 * LONGEST  # bytes
_EXAMPLES = Path(__file__).parents[2] / "examples"  # skills that come with the program, not installed by default
_SMALL, _SECONDS = 5_000, 10.0  # characters that take less than a second, whatever they are; and for all others
_NAME, _DESCRIPTION = 64, 1024  # characters, the limits of the format
_FRONT = Pattern(r"\A\ufeff?---[ \t]*\r?\n(.*?)^---[ \t]*(?:\r?\n|\Z)", re.DOTALL | re.MULTILINE)
_HANDLE = Pattern(r"k?\d+")  # no name may look like a handle: `agent skills rm k3` must be unambiguous
_SHAPE = Pattern(r"[a-z0-9]+(?:-[a-z0-9]+)*")


@frozen
class SkillFile:
    name: str
    description: str  # what it does and when to use it, on one line
    body: str  # the steps
    text: str  # the whole file

    @property
    def invisible_count(self) -> int:
        """How many characters no screen shows. They are never given to a model: nobody could approve them."""
        words = self.text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")
        return len(words) - len(visible(words))


def parse(text: str) -> SkillFile:
    """The parts of a file. Raises UsageError with what is wrong."""
    if len(text) > LONGEST:
        raise UsageError(f"a skill has at most {LONGEST} characters, and this has {len(text)}")
    if "\0" in text:
        raise UsageError("a skill is text, and this holds a zero byte")
    front = _FRONT.match(text)
    if front is None:
        raise UsageError("a skill begins with a line ---, then name: and description:, then another line ---")
    values = _front_matter(front[1])
    name, description = (values.get(key) for key in ("name", "description"))
    if not isinstance(name, str) or not isinstance(description, str) or not (name and _clean_description(description)):
        raise UsageError("the front matter of a skill must have a name and a description, both texts")
    if not body(text):
        raise UsageError("a skill needs steps: write them below its front matter")
    return SkillFile(check_name(name), _clean_description(description), body(text), text)


def body(text: str) -> str:
    """The steps of a valid file, without parsing its front matter."""
    return _FRONT.sub("", text, 1).strip()


def compose(name: str, description: str, body: str) -> str:
    """The text of a new file. Raises UsageError like `parse`."""
    import yaml  # 27 ms, and few starts of the program read or write a skill

    front = yaml.safe_dump(
        {"name": check_name(name), "description": _clean_description(description)},
        allow_unicode=True,
        sort_keys=False,
        width=1000,
    )
    text = f"---\n{front}---\n\n{body.strip()}\n"
    return parse(text).text


def check_name(name: str) -> str:
    """The name, stripped. Raises UsageError when the format does not allow it."""
    name = name.strip()
    if len(name) > _NAME or not _SHAPE.fullmatch(name):
        raise UsageError(
            f"{one_line(name, 70)!r} is not a valid name of a skill: use lower-case letters, digits and single "
            f"hyphens, at most {_NAME}, as in deploy-site"
        )
    if _HANDLE.fullmatch(name):
        raise UsageError(f"{name!r} is the form of a handle: give the skill a name in words")
    return name


def _clean_description(description: str) -> str:
    line = " ".join(visible(description).split())
    if len(line) > _DESCRIPTION:
        raise UsageError(f"the description of a skill has at most {_DESCRIPTION} characters, and this has {len(line)}")
    return line


def _front_matter(words: str) -> dict[str, Any]:
    import yaml

    def parse() -> Any:
        return yaml.load(words, Loader=yaml.BaseLoader)  # every value stays text: no dates, tags or merges

    try:
        values = parse() if len(words) <= _SMALL else limits.run(parse, _SECONDS)
    except (LimitExceeded, RecursionError) as error:
        why = str(error) if isinstance(error, LimitExceeded) else limits.TOO_DEEP
        raise UsageError(f"the front matter of the skill cannot be read: {why}") from error
    except (yaml.YAMLError, ValueError, OverflowError) as error:
        where = getattr(error, "problem_mark", None)
        line = f" (line {where.line + 2})" if where else ""
        raise UsageError(f"the front matter of the skill is not YAML{line}: quote a text with a colon in it") from error
    if not isinstance(values, dict):
        raise UsageError("the front matter of a skill must have lines name: and description:")
    return values


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
        found = [folder / FILE_NAME for folder in folders if (folder / FILE_NAME).exists()]
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    if not found:
        raise UsageError(f"{path} holds no {FILE_NAME}, and no folder with one")
    return found[:1] if found[0].parent == path else found


def example(name: str) -> str:
    """A skill that comes with the program. Raises UsageError when there is none of this name."""
    examples = {file.parent.name: file for file in files(_EXAMPLES)}
    if name not in examples:
        raise UsageError(f"no example is called {name!r}; there are {', '.join(examples)}")
    return read_text(examples[name])


def read_text(path: Path) -> str:
    """The text of a file. Raises UsageError when it cannot be a skill."""
    try:
        if not path.is_file():
            raise UsageError("it is not a file")
        with path.open("rb") as file:
            content = file.read(_MAX_BYTES + 1)
        if len(content) > _MAX_BYTES:
            raise UsageError(f"a skill has at most {LONGEST} characters, and this has more")
        return content.decode("utf-8")
    except OSError as error:
        raise UsageError(f"it cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError("it is not UTF-8") from error


def other_files(path: Path) -> list[str]:
    if path.name != FILE_NAME:
        return []
    try:
        return sorted(f"{each.name}{'/' * each.is_dir()}" for each in path.parent.iterdir() if each.name != path.name)
    except OSError:  # a folder may be readable without being listable
        return []


def write(folder: Path, texts: Mapping[str, str], *, force: bool = False) -> Iterator[WrittenFile]:
    """Write NAME/SKILL.md with each text. Raises UsageError, with nothing written, where a different file exists."""
    folder = Path(os.path.expanduser(folder))
    targets = [(folder / name / FILE_NAME, text.encode()) for name, text in texts.items()]
    try:
        existing = {path: _existing_content(path) for path, _ in targets}
        for path, content in targets:
            if not force and existing[path] not in (None, content):
                raise UsageError(f"{path} exists already with other content; say --force to write over it")
        for path, content in targets:
            if existing[path] != content:
                atomic_file.make_folder(path.parent)
                atomic_file.write(path, content)
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
