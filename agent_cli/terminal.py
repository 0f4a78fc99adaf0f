"""The terminal that controls this process, and the person's editor."""

import errno
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from agent_cli.errors import AgentError, UsageError

_DRAFTS = "agent-edit-"  # what the folders of edited texts begin with

NOT_OWN = (
    "the terminal here does not control this process (as after `setsid` or `su -c`), so what is typed at it could be "
    "anybody's: start a shell in it, and run it there"
)
OF_ASSISTANT = "the assistant started this process, and only you can say yes: run it at your own prompt"


class NoTerminal(Exception):
    """No terminal controls this process."""


def is_own(*streams: int) -> bool:
    if not all(map(os.isatty, streams)):
        return False
    try:
        for each in streams if hasattr(os, "tcgetpgrp") else ():  # Windows has no other terminals
            os.tcgetpgrp(each)
    except OSError:
        return False
    return True


def has_gone(stream: int) -> bool:
    """Whether this stream was a terminal that is closed, perhaps in a process that received no signal for it."""
    try:
        return not os.tcgetpgrp(stream)
    except OSError as error:
        return error.errno == errno.EIO


def secret(question: str) -> str | None:
    """What is typed at the terminal of this process, unseen; None without a terminal."""
    import getpass  # only a passphrase needs it

    try:
        os.close(os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY))
    except (OSError, AttributeError):  # Windows has neither
        if not (os.name == "nt" and os.isatty(0)):
            return None
    with suppress(EOFError):
        return getpass.getpass(question)
    return ""


def discard_typed(descriptor: int) -> None:
    with suppress(ImportError, OSError):  # Windows has none, and another input is not a terminal
        import termios

        with suppress(termios.error):
            termios.tcflush(descriptor, termios.TCIFLUSH)


def drafts() -> list[Path]:
    """Texts that were left in temporary files: by an editor that failed, or by a process that was killed meanwhile."""
    import tempfile  # with what edits: few runs do

    return sorted(path for path in Path(tempfile.gettempdir()).glob(f"{_DRAFTS}*/*") if path.is_file())


@contextmanager
def edited(text: str, setting: str) -> Iterator[str]:
    """The text as edited by the person. When the editor or the block fails, the error names the file that holds it."""
    import shutil
    import tempfile

    folder = Path(tempfile.mkdtemp(prefix=_DRAFTS))
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
    import shlex
    import subprocess

    command = setting or os.environ.get("AGENT_EDITOR") or os.environ.get("VISUAL") or os.environ.get("EDITOR") or "vi"
    if command == "vi" and not sys.stdin.isatty():
        raise UsageError("there is no terminal for an editor; set one, as in EDITOR='code --wait'")
    try:
        code = subprocess.call([*shlex.split(command), str(file)])
        discard_typed(0)  # whoever typed it, it was not meant for what follows the editor
    except (OSError, ValueError) as error:
        what_to_do = "set VISUAL, EDITOR or `editor` in the settings"
        raise UsageError(f"the editor {command!r} cannot be started: {what_to_do}") from error
    if code:
        raise AgentError(f"the editor ended with {code}; nothing was changed")
