"""Programs that type at the person's terminal (TIOCSTI): an editor, or what it leaves behind."""

import fcntl
import os
import pty
import shlex
import sys
import termios
from pathlib import Path

_TYPIST = """\
import fcntl, sys, termios, time
for key in sys.argv[1]:
    fcntl.ioctl(int(sys.argv[2]), termios.TIOCSTI, key.encode())
    time.sleep(0.03)
"""
EDIT_DRAFT = "\x18\x05"  # Ctrl-X Ctrl-E


def can_type() -> bool:
    """Whether the system lets a program type: many let only root."""
    ours, theirs = pty.openpty()
    try:
        fcntl.ioctl(theirs, termios.TIOCSTI, b"x")
    except (OSError, AttributeError):
        return False
    finally:
        os.close(ours)
        os.close(theirs)
    return True


def command(home: Path, keys: str, descriptor: int = 0) -> str:
    """A command that types these keys at the terminal which is open there."""
    file = home / "typist.py"
    file.write_text(_TYPIST)
    return f"{sys.executable} {file} {shlex.quote(keys)} {descriptor}"


def left_by_editor(home: Path, keys: str, draft: str = "") -> str:
    """A script of an editor that leaves a process, whose number is in the file `left`. It types the keys once the file
    `go` is there, and ends. Once the draft that the editor writes is on the screen, the editor has ended."""
    waits = f"while [ ! -e {home}/go ]; do sleep 0.05; done; {command(home, keys, 3)}"
    written = f'; printf %s {shlex.quote(draft)} >"$1"' if draft else ""
    return f"exec 3<&0; (sh -c {shlex.quote(waits)} & echo $! >{home}/left){written}"
