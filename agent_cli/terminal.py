"""What is asked at the terminal that controls this process: a key, a typed line, or a text in the person's editor.

The program opens the terminal itself, so a pipe, a file or another terminal in the place of the keyboard answers
nothing. What was typed before the question stood there is thrown away, and several keys that come at once are a paste,
which decides nothing.
"""

import os
import select
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

from agent_cli.errors import AgentError, UsageError

_TOGETHER = 0.03  # seconds within which nobody presses two keys
_MOST = 4096  # bytes of one read
_SIGNALS = 0.2  # seconds between two looks at what signals have come
_PASTED = "  (a paste, or several keys at once, decide nothing; "

_DRAFTS = "agent-edit-"  # what the folders of edited texts begin with

NOT_OWN = (
    "the terminal here does not control this process (as after `setsid` or `su -c`), so what is typed at it could be "
    "anybody's: start a shell in it, and run it there"
)
OF_ASSISTANT = "the assistant started this process, and only you can say yes: run it at your own prompt"


class NoTerminal(Exception):
    """No terminal controls this process."""


def is_own(*streams: int) -> bool:
    """Whether these file descriptors are the terminal that controls this process."""
    if not all(map(os.isatty, streams)):
        return False
    try:
        for each in streams if hasattr(os, "tcgetpgrp") else ():  # Windows has no other terminals
            os.tcgetpgrp(each)
    except OSError:
        return False
    return True


def discard_typed(descriptor: int) -> None:
    """Throw away what was typed at a terminal and has not been read."""
    with suppress(ImportError, OSError):  # Windows has none, and another input is not a terminal
        import termios

        with suppress(termios.error):
            termios.tcflush(descriptor, termios.TCIFLUSH)


def key(question: str) -> str:
    """The key that was pressed after the question was drawn, in lower case; empty when the terminal went away.

    Raises NoTerminal, and KeyboardInterrupt on Ctrl-C.
    """
    with _opened() as terminal:
        while True:
            pressed = _pressed(terminal, question)
            _write(terminal, f"{pressed if pressed.isprintable() else ''}\n")
            if len(pressed) <= 1:
                return pressed.lower()
            _write(terminal, f"{_PASTED}press one)\n")


def line(question: str) -> str:
    """The line that was typed after the question was drawn, in lower case; empty when the terminal went away.

    Its Enter counts alone: one that comes together with other keys is a paste's. Raises NoTerminal, and
    KeyboardInterrupt on Ctrl-C.
    """
    with _opened() as terminal:
        while (typed := _typed(terminal, question)) is None:
            _write(terminal, f"\n{_PASTED}type it)\n")
        return typed.strip().lower()


def _typed(terminal: int, question: str) -> str | None:
    """A line, key by key; None for a paste."""
    typed, pressed = "", _pressed(terminal, question)
    while pressed not in ("", "\n", "\r"):
        if pressed in ("\x7f", "\b"):
            _write(terminal, "\b \b" * bool(typed))
            typed = typed[:-1]
        elif pressed.isprintable():
            _write(terminal, pressed)
            typed += pressed
        else:
            return None
        pressed = _read(terminal)
    _write(terminal, "\n")
    return typed if pressed else ""


@contextmanager
def _opened() -> Iterator[int]:
    """The controlling terminal, its keys unechoed and given one by one."""
    try:
        import termios  # there is none on Windows

        terminal = os.open("/dev/tty", os.O_RDWR | os.O_NOCTTY)
    except (ImportError, OSError):
        raise NoTerminal from None
    try:
        before = termios.tcgetattr(terminal)
        changed: list[Any] = termios.tcgetattr(terminal)
        changed[3] &= ~(termios.ICANON | termios.ECHO)
        changed[6][termios.VMIN], changed[6][termios.VTIME] = 1, 0  # a terminal of screen would not wait for a key
        termios.tcsetattr(terminal, termios.TCSADRAIN, changed)
        try:
            yield terminal
        finally:
            with suppress(termios.error):  # it has gone
                termios.tcsetattr(terminal, termios.TCSADRAIN, before)
    finally:
        os.close(terminal)


def _pressed(terminal: int, question: str) -> str:
    discard_typed(terminal)
    _write(terminal, question)
    return _read(terminal)


def _read(terminal: int) -> str:
    """What is typed at once; empty when the terminal goes away, and for Ctrl-D and Esc."""
    try:
        while not select.select([terminal], [], [], _SIGNALS)[0]:
            pass  # a Ctrl-C that came just before would else be noticed with the next key
        pressed = os.read(terminal, _MOST)
        while pressed and select.select([terminal], [], [], _TOGETHER)[0] and (more := os.read(terminal, _MOST)):
            pressed += more
    except OSError:
        return ""
    return "" if pressed in (b"\x04", b"\x1b") else pressed.decode(errors="replace")


def _write(terminal: int, text: str) -> None:
    os.write(terminal, text.encode())


def drafts() -> list[Path]:
    """Texts that were left in temporary files: by an editor that failed, or by a process that was killed meanwhile."""
    import tempfile  # with what edits: few runs do

    return sorted(path for path in Path(tempfile.gettempdir()).glob(f"{_DRAFTS}*/*") if path.is_file())


@contextmanager
def edited(text: str, setting: str) -> Iterator[str]:
    """The text as edited by the person. When the editor or the block fails, the error names the file that holds it.

    Line endings such as CRLF are kept.
    """
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
    try:
        code = subprocess.call([*shlex.split(command), str(file)])
        discard_typed(0)  # whoever typed it, it was not meant for what follows the editor
    except (OSError, ValueError) as error:
        raise UsageError(
            f"the editor {command!r} cannot be started: set VISUAL, EDITOR or `editor` in the settings"
        ) from error
    if code:
        raise AgentError(f"the editor ended with {code}; nothing was changed")
