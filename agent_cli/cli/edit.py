"""The person's editor."""

import os
import shlex
import subprocess
import tempfile
from pathlib import Path

from agent_cli.errors import AgentError, UsageError


def edit_text(text: str, setting: str) -> str:
    """The text as the person leaves it in their editor. Raises AgentError when the editor fails."""
    with tempfile.TemporaryDirectory() as folder:
        file = Path(folder, "agent.md")  # .md, so that editors highlight it
        file.touch(0o600)
        file.write_text(text, encoding="utf-8", errors="replace")
        open_editor(file, setting)
        return file.read_text(encoding="utf-8", errors="replace")


def open_editor(file: Path, setting: str) -> None:
    """Wait until the person has left the editor; it may have arguments, as in `code --wait`."""
    told = setting or os.environ.get("AGENT_EDITOR") or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    try:
        code = subprocess.call([*shlex.split(told), str(file)])
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the editor {told!r} cannot be started: set VISUAL, EDITOR or `editor` in the settings"
        ) from error
    if code:
        raise AgentError(f"the editor ended with {code}; nothing was changed")
