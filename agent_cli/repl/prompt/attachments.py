"""Files that are sent along with a message: `@notes.txt`, `@"my notes.txt"`.

Only what a person typed names a file. Where there is none of that name the words stay what they are: an @ in prose is
nothing special. What stands in a file is no word of the person.
"""

import stat
from collections.abc import Sequence
from pathlib import Path

from agent_cli.errors import UsageError
from agent_cli.messages import Part, join_parts
from agent_cli.text import Pattern

LARGEST = 20_000_000  # bytes of one file; no model's context holds a tenth of it
_NAMED = Pattern(r"(?<![^\s(\[])@(?:\"([^\"\n]+)\"|([^\s\"]+))")
_MEANT = ("/", "./", "../", "~/")  # how a path begins that is nothing else


def attached(parts: Sequence[Part]) -> list[Part]:
    """The parts, before them the files that what was typed names, each once. Raises UsageError."""
    files: dict[Path, Part] = {}
    for part in parts:
        for match in _NAMED.finditer(part.text) if part.origin == "typed" else ():
            path = _meant(match[1] or match[2], quoted=bool(match[1]))
            if path and path not in files:
                files[path] = Part(_read(path), "file", str(path))
    return [*join_parts([*files.values(), Part("", "typed")])[:-1], *parts] if files else list(parts)


def told(parts: Sequence[Part]) -> str:
    """The files among the parts, for the person; empty when there are none."""
    files = [f"{part.name} ({len(part.text.rstrip()):,} characters)" for part in parts if part.origin == "file"]
    return f"sent along: {', '.join(files)}" if files else ""


def _meant(told: str, *, quoted: bool) -> Path | None:
    """The file of that name, also with a comma or the like behind it; None where nothing of the kind is meant."""
    for name in dict.fromkeys((told, told if quoted else told.rstrip(".,;:!?)]}'’”"))):
        try:
            path = Path(name).expanduser()
            if name and path.exists() and not (path.is_dir() and not quoted and not name.startswith(_MEANT)):
                return path
        except (OSError, ValueError, RuntimeError):  # longer than a name may be, a NUL, no such home
            continue
    if quoted or told.startswith(_MEANT):
        raise UsageError(f"there is no file {told}: nothing was sent; without the @ it is text")
    return None


def _read(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path} is no file: nothing was sent")
        with path.open("rb") as opened:
            raw = opened.read(LARGEST + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; nothing was sent") from error
    if len(raw) > LARGEST:
        raise UsageError(f"{path} is larger than {LARGEST // 1_000_000} MB: no model can read that at once")
    if b"\0" in raw[:8192]:
        raise UsageError(f"{path} is no text: nothing was sent")
    return raw.decode("utf-8", "replace").strip("\n")
