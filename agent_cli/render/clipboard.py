"""Words on their way to the clipboard, by the surest way there is.

A program of the system says whether it worked. Over ssh it would fill the clipboard of the wrong machine: then, and
where there is none, the terminal is asked (OSC 52), which says nothing and may be set to refuse. The sequence is
written by the program alone and holds base64: nothing a model says can become one.
"""

import base64
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import TextIO

from agent_cli.errors import UsageError

_LARGEST = 74_994  # characters of base64: more some terminals drop without a word
_PATIENCE = 3.0  # seconds
_OTHERWISE = "/raw shows it to be selected, /export FILE writes the session"


def copy(words: str, environ: Mapping[str, str], out: TextIO) -> str:
    """Put words on the clipboard and say what did it. Raises UsageError when nothing can."""
    for command in _programs(environ):
        if shutil.which(command[0]) and _run(command, words):
            return f"with {command[0]}"
    return _by_terminal(words, environ, out)


def _programs(environ: Mapping[str, str]) -> list[list[str]]:
    """What may do it here, the surest first."""
    found = [["tmux", "load-buffer", "-w", "-"]] if environ.get("TMUX") else []  # also to the clipboard outside
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return found
    if sys.platform == "darwin":
        found.append(["pbcopy"])
    if environ.get("WAYLAND_DISPLAY"):
        found.append(["wl-copy"])
    if environ.get("DISPLAY"):
        found += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    if environ.get("WSL_DISTRO_NAME"):
        found.append(["clip.exe"])
    return found


def _run(command: list[str], words: str) -> bool:
    encoded = words.encode("utf-16" if command[0] == "clip.exe" else "utf-8", "replace")
    nowhere = subprocess.DEVNULL  # some stay behind, to hand the words out, and would hold a pipe open
    try:
        done = subprocess.run(command, input=encoded, stdout=nowhere, stderr=nowhere, timeout=_PATIENCE, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def _by_terminal(words: str, environ: Mapping[str, str], out: TextIO) -> str:
    if not out.isatty() or environ.get("TERM", "dumb") == "dumb" or environ.get("STY"):
        raise UsageError(f"there is nothing here to copy with: {_OTHERWISE}")
    told = base64.b64encode(words.encode("utf-8", "replace")).decode("ascii")
    if len(told) > _LARGEST:
        raise UsageError(f"{len(words):,} characters are more than a terminal takes at once: {_OTHERWISE}")
    sequence = f"\x1b]52;c;{told}\x07"
    if environ.get("TMUX"):  # an older one, through which it has to be handed
        sequence = f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"
    out.write(sequence)
    out.flush()
    return "through the terminal; if nothing arrives, it is set to refuse that: /raw shows the words to be selected"
