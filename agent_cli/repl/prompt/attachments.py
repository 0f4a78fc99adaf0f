"""Files that are sent along with a message: `@notes.txt`, `@"my notes.txt"`.

Only typed text can name a file. Where no such file exists the text is left as it is: an @ in prose is nothing special.
The contents of a file do not count as the person's own words.
"""

import stat
from collections.abc import Sequence
from pathlib import Path

from agent_cli.errors import UsageError
from agent_cli.messages import Part, join_parts
from agent_cli.text import Pattern

MAX_BYTES = 20_000_000  # bytes of one file; no model's context holds a tenth of it
_REFERENCE = Pattern(r"(?<![^\s(\[])@(?:\"([^\"\n]+)\"|([^\s\"]+))")
_PATH_PREFIXES = ("/", "./", "../", "~/")  # prefixes of what can only be a path


def attach(parts: Sequence[Part]) -> list[Part]:
    """The parts, preceded by the files that the typed ones name, each once. Raises UsageError."""
    files: dict[Path, Part] = {}
    for part in parts:
        for match in _REFERENCE.finditer(part.text) if part.origin == "typed" else ():
            path = _resolve(match[1] or match[2], quoted=bool(match[1]))
            if path and path not in files:
                files[path] = Part(_read(path), "file", str(path))
    return [*join_parts([*files.values(), Part("", "typed")])[:-1], *parts] if files else list(parts)


def summary(parts: Sequence[Part]) -> str:
    """A line about the files among the parts; empty when there are none."""
    files = [f"{part.name} ({len(part.text.rstrip()):,} characters)" for part in parts if part.origin == "file"]
    return f"sent along: {', '.join(files)}" if files else ""


def _resolve(typed: str, *, quoted: bool) -> Path | None:
    """The file of that name, also when punctuation follows it; None when the text names no file. Raises UsageError."""
    for name in dict.fromkeys((typed, typed if quoted else typed.rstrip(".,;:!?)]}'’”"))):
        try:
            path = Path(name).expanduser()
            if name and path.exists() and not (path.is_dir() and not quoted and not name.startswith(_PATH_PREFIXES)):
                return path
        except (OSError, ValueError, RuntimeError):  # longer than a name may be, a NUL, no such home
            continue
    if quoted or typed.startswith(_PATH_PREFIXES):
        raise UsageError(f"there is no file {typed}: nothing was sent; without the @ it is text")
    return None


def _read(path: Path) -> str:
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise UsageError(f"{path} is not a file: nothing was sent")
        with path.open("rb") as opened:
            raw = opened.read(MAX_BYTES + 1)
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}; nothing was sent") from error
    if len(raw) > MAX_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BYTES // 1_000_000} MB: no model can read that at once")
    if b"\0" in raw[:8192]:
        raise UsageError(f"{path} is not text: nothing was sent")
    return raw.decode("utf-8", "replace").strip("\n")
