"""Edits text in the person's editor, for the commands and for the session."""

import os
import shlex
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from agent_cli import terminal
from agent_cli.errors import AgentError, UsageError

_PREFIX = "agent-edit-"


def drafts() -> list[Path]:
    """Texts that were left in temporary files: by an editor that failed, or by a process that was killed meanwhile."""
    return sorted(path for path in Path(tempfile.gettempdir()).glob(f"{_PREFIX}*/*") if path.is_file())


@contextmanager
def edited(text: str, setting: str) -> Iterator[str]:
    """The text as edited by the person. When the editor or the block fails, the error names the file that holds it.

    Line endings such as CRLF are kept.
    """
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX))
    file = folder / "agent.md"  # .md, so that editors highlight it
    file.touch(0o600)
    file.write_text(text, encoding="utf-8", errors="replace")
    try:
        open_editor(file, setting)
        with file.open(encoding="utf-8", errors="replace", newline="" if "\r" in text else None) as reopened:
            result = reopened.read()
        yield result
    except AgentError as error:
        if file.read_text(encoding="utf-8", errors="replace").strip() not in ("", text.strip()):
            raise type(error)(f"{error}; your text is kept in {file}") from error
        shutil.rmtree(folder)
        raise
    shutil.rmtree(folder)


def open_editor(file: Path, setting: str) -> None:
    """Run the editor until the person closes it. The command may have arguments, as in `code --wait`."""
    command = setting or os.environ.get("AGENT_EDITOR") or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.call([*shlex.split(command), str(file)])
        terminal.discard_typed(0)  # whoever typed it, it was not meant for what follows the editor
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the editor {command!r} cannot be started: set VISUAL, EDITOR or `editor` in the settings"
        ) from error
    if code:
        raise AgentError(f"the editor ended with {code}; nothing was changed")
