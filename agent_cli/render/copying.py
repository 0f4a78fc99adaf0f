"""What is taken from an answer to be used elsewhere: its code, exactly as it is meant to be run, and the clipboard.

A clipboard program of the system reports whether it worked. Over ssh it would fill the clipboard of the wrong machine:
there, and where no such program exists, the terminal is asked with an OSC 52 sequence, which gives no answer and may be
refused. The sequence holds base64, so nothing that a model writes can become one.
"""

import base64
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from typing import TextIO

from agent_cli.errors import UsageError
from agent_cli.values import frozen

_FENCE = re.compile(r"(?P<indent> *)(?P<fence>`{3,}|~{3,})(?P<info>.*)")


@frozen
class CodeBlock:
    language: str
    code: str  # ends with a newline, unless it is empty
    closed: bool  # whether its closing fence was found


def code_blocks(text: str) -> list[CodeBlock]:
    """The fenced blocks, in order. As in CommonMark, a fence is closed by one of the same character that is at least
    as long, and the indentation of an opening fence (in a list) is removed from each line."""
    blocks: list[CodeBlock] = []
    opening: re.Match[str] | None = None
    lines: list[str] = []
    for line in text.split("\n"):
        fence = _FENCE.fullmatch(line.rstrip())
        if opening is None:
            if fence and not (fence["fence"][0] == "`" and "`" in fence["info"]):
                opening, lines = fence, []
        elif fence and fence["fence"].startswith(opening["fence"]) and not fence["info"].strip():
            blocks.append(_block(opening, lines, closed=True))
            opening = None
        else:
            lines.append(line)
    if opening:
        blocks.append(_block(opening, lines, closed=False))
    return blocks


def _block(opening: re.Match[str], lines: list[str], *, closed: bool) -> CodeBlock:
    margin = len(opening["indent"])
    code = [line[min(margin, len(line) - len(line.lstrip(" "))) :] for line in lines]
    if not closed:
        while code and not code[-1].strip():
            code.pop()
    language = (opening["info"].split() or [""])[0]
    return CodeBlock(language, "".join(f"{line}\n" for line in code), closed)


_MAX_BASE64 = 74_994  # characters; some terminals silently drop longer sequences
_TIMEOUT = 3.0  # seconds
_ALTERNATIVES = "/raw shows it to be selected, /export FILE writes the session"


def copy(text: str, environ: Mapping[str, str], out: TextIO) -> str:
    """Copy the text and return by what means, as in "with xclip". Raises UsageError when nothing can copy."""
    for command in _programs(environ):
        if shutil.which(command[0]) and _run(command, text):
            return f"with {command[0]}"
    return _copy_by_terminal(text, environ, out)


def _programs(environ: Mapping[str, str]) -> list[list[str]]:
    """The commands that may work here, the most reliable first."""
    commands = [["tmux", "load-buffer", "-w", "-"]] if environ.get("TMUX") else []  # also to the clipboard outside
    if environ.get("SSH_CONNECTION") or environ.get("SSH_TTY"):
        return commands
    if sys.platform == "darwin":
        commands.append(["pbcopy"])
    if environ.get("WAYLAND_DISPLAY"):
        commands.append(["wl-copy"])
    if environ.get("DISPLAY"):
        commands += [["xclip", "-selection", "clipboard"], ["xsel", "--clipboard", "--input"]]
    if environ.get("WSL_DISTRO_NAME"):
        commands.append(["clip.exe"])
    return commands


def _run(command: list[str], text: str) -> bool:
    encoded = text.encode("utf-16" if command[0] == "clip.exe" else "utf-8", "replace")
    null = subprocess.DEVNULL  # some programs stay running to serve the text, and would hold a pipe open
    try:
        completed = subprocess.run(
            command,
            input=encoded,
            stdout=null,
            stderr=null,
            timeout=_TIMEOUT,
            check=False,
            start_new_session=True,  # it needs no terminal
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return completed.returncode == 0


def _copy_by_terminal(text: str, environ: Mapping[str, str], out: TextIO) -> str:
    if not out.isatty() or environ.get("TERM", "dumb") == "dumb" or environ.get("STY"):
        raise UsageError(f"there is nothing here to copy with: {_ALTERNATIVES}")
    encoded = base64.b64encode(text.encode("utf-8", "replace")).decode("ascii")
    if len(encoded) > _MAX_BASE64:
        raise UsageError(f"{len(text):,} characters are more than a terminal takes at once: {_ALTERNATIVES}")
    sequence = f"\x1b]52;c;{encoded}\x07"
    if environ.get("TMUX"):  # an old tmux without load-buffer -w: pass the sequence through
        sequence = f"\x1bPtmux;{sequence.replace(chr(27), chr(27) * 2)}\x1b\\"
    out.write(sequence)
    out.flush()
    return "through the terminal; if nothing arrives, it is set to refuse that: /raw shows the words to be selected"
