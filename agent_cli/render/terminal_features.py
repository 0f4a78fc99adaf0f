"""What a terminal can do besides showing text, by what it says of itself, and the control sequences for it.

A terminal names itself in TERM (over ssh in that alone), TERM_PROGRAM or a variable of its own; one that says nothing
gets text alone. A multiplexer hands down the variables of the terminal around it, so it is looked for first. Under the
keyboard protocol of kitty Ctrl-C and others are sequences too: they are translated into what prompt-toolkit knows.
"""

import os
import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Literal
from urllib.parse import quote

from agent_cli.text import Pattern, clean
from agent_cli.values import frozen

_END = "\x1b\\"
_ADDRESS = Pattern(r"https?://[^\s\x1b<>\"'`|\\^{}\[\]]*[^\s\x1b<>\"'`|\\^{}\[\].,:;!?)*_~]")
_PATH = Pattern(r"(?<![\w/.:@+-])/(?:[\w.@+-]+/)+[\w.@+-]*\w")

Modes = tuple[str, str]
"""What switches something on, and off again; both are empty where a terminal has no such thing."""
_TITLE: Modes = ("\x1b[22;2t", "\x1b[23;2t")
_AT_ONCE: Modes = ("\x1b[?2026h", "\x1b[?2026l")
_FOCUS: Modes = ("\x1b[?1004h", "\x1b[?1004l")
KITTY_KEYS: Modes = ("\x1b[>1u", "\x1b[<u")
OTHER_KEYS: Modes = ("\x1b[>4;1m", "\x1b[>4m")
_NOTIFIES = {"9": "\x1b]9;{}" + _END, "777": "\x1b]777;notify;agent;{}" + _END, "bell": "\a"}


@frozen
class Features:
    links: bool = False
    marks: bool = False
    title: Modes = ("", "")  # keeps the title that the window has, and brings it back
    at_once: Modes = ("", "")  # several writes are shown together
    focus: Modes = ("", "")  # it says when its window gets and loses the focus
    notify: Literal["", "9", "777", "bell"] = ""
    keys: Modes = ("", "")  # Shift-Enter differs from Enter

    def link(self, address: str, words: str) -> str:
        """The words as a link; as they are where there are no links, or the address is neither web nor file."""
        if not self.links or not address.startswith(("http://", "https://", "file://")):
            return words
        return f"\x1b]8;;{quote(address, safe='%/:?#[]@!$&()*+,;=~-._')}{_END}{words}\x1b]8;;{_END}"

    def mark(self, letter: Literal["A", "B", "C", "D"]) -> str:
        """The beginning of a prompt, of what is typed at it, and of an answer, and its end."""
        return f"\x1b]133;{letter}{_END}" if self.marks else ""

    def titled(self, name: str) -> str:
        return f"\x1b]2;{clean(name)}{_END}" if self.title[0] else ""

    @property
    def prompt_modes(self) -> Modes:
        """What is on while keys are read, and what ends it: no other program would understand such keys."""
        return self.keys[0] + self.focus[0], self.focus[1] + self.keys[1]

    def notification(self, words: str) -> str:
        return _NOTIFIES[self.notify].format(clean(words).replace(";", ",")) if self.notify else ""


_ALL = Features(links=True, marks=True, title=_TITLE, at_once=_AT_ONCE, focus=_FOCUS, notify="9", keys=KITTY_KEYS)
_XTERM = Features(title=_TITLE, focus=_FOCUS, notify="bell", keys=OTHER_KEYS)
_NEW_TMUX = Features(links=True, marks=True, title=_TITLE, focus=_FOCUS, notify="bell", keys=OTHER_KEYS)
_CODE = Features(links=True, marks=True, title=_TITLE, focus=_FOCUS, notify="bell")
_BY_PROGRAM = {  # TERM_PROGRAM
    **dict.fromkeys(("ghostty", "wezterm", "iterm.app", "kitty"), _ALL),
    "vscode": _CODE,
    "mintty": Features(links=True, title=_TITLE, focus=_FOCUS, notify="bell", keys=OTHER_KEYS),
    "apple_terminal": Features(title=_TITLE, focus=_FOCUS, notify="bell"),
    "warpterminal": Features(links=True, title=_TITLE),
}
_BY_TERM = {  # what TERM begins with
    **dict.fromkeys(("xterm-kitty", "xterm-ghostty", "wezterm"), _ALL),
    "foot": replace(_ALL, notify="777"),
    **dict.fromkeys(("alacritty", "rio"), replace(_ALL, marks=False, notify="bell")),
}
_BY_VARIABLE = {  # set by the terminal, to the programs in it
    "KITTY_WINDOW_ID": _ALL,
    "WT_SESSION": _CODE,
    **dict.fromkeys(("KONSOLE_VERSION", "VTE_VERSION"), replace(_CODE, marks=False)),
    "XTERM_VERSION": _XTERM,
}


def detect(environ: Mapping[str, str]) -> Features:
    """What the terminal of these variables says it can."""
    term, program = environ.get("TERM", ""), environ.get("TERM_PROGRAM", "").lower()
    if term.startswith(("screen", "tmux")) or "TMUX" in environ:
        if program != "tmux":
            return Features()
        version = re.match(r"(?:next-)?(\d+)\.(\d+)", environ.get("TERM_PROGRAM_VERSION", ""))
        return _NEW_TMUX if version and (int(version[1]), int(version[2])) >= (3, 4) else _XTERM
    if program in _BY_PROGRAM:
        return _BY_PROGRAM[program]
    named = (features for beginning, features in _BY_TERM.items() if term.startswith(beginning))
    by_variable = (features for variable, features in _BY_VARIABLE.items() if environ.get(variable))
    return next(named, None) or next(by_variable, Features())


def linked(text: str, features: Features) -> str:
    """The text with its web addresses as links."""
    return _ADDRESS.sub(lambda found: features.link(found[0], found[0]), text) if features.links else text


def linked_files(text: str, features: Features) -> str:
    """The text with the files and folders that it names, and that exist, as links."""

    def link(found: re.Match[str]) -> str:
        path = found[0]
        return features.link(f"file://{os.uname().nodename}{path}", path) if os.path.exists(path) else path

    return _PATH.sub(link, linked(text, features)) if features.links else text


_KEY = re.compile(r"\x1b\[(\d+)(?::\d*)*(?:;(\d+)(?::\d+)?)?(?:;[\d:]*)?u")
_FUNCTION_KEY = re.compile(r"\x1b\[(\d+);(\d+)(?::\d+)?([A-HPQS~])")
_SHIFT, _ALT, _CTRL = 1, 2, 4
_MODIFIERS = _SHIFT | _ALT | _CTRL  # beyond them are Caps Lock and Num Lock
_NEW_LINE = "\x1b[27;2;13~"  # Shift-Enter, as xterm sends it
_CUT_KEY = re.compile(r"\x1b\[[\d;:]+\Z")
_FOCUS_REPORT = re.compile(r"\x1b\[([IO])")


def split_reports(sent: str) -> tuple[str, str, bool | None]:
    """What was sent without reports of the focus; a key cut off at its end; whether the window has it, if told."""
    cut = _CUT_KEY.search(sent)
    whole = sent[: cut.start()] if cut else sent
    reports = _FOCUS_REPORT.findall(whole)
    return _FOCUS_REPORT.sub("", whole), cut[0] if cut else "", reports[-1] == "I" if reports else None


def plain_keys(sent: str) -> str:
    """Keys as the protocol of kitty sends them, as terminals send them without it; other input as it is."""
    if "\x1b[" not in sent:
        return sent
    return _FUNCTION_KEY.sub(_plain_function_key, _KEY.sub(_plain_key, sent))


def _plain_function_key(sent: re.Match[str]) -> str:
    number, letter = sent[1], sent[3]
    modifiers = int(sent[2]) - 1 & _MODIFIERS
    if modifiers:
        return f"\x1b[{number};{modifiers + 1}{letter}"
    return f"\x1b[{number}~" if letter == "~" else f"\x1bO{letter}" if letter in "PQS" else f"\x1b[{letter}"


def _plain_key(sent: re.Match[str]) -> str:
    code, modifiers = int(sent[1]), int(sent[2] or 1) - 1 & _MODIFIERS
    alt, key = "\x1b" * bool(modifiers & _ALT), chr(code) if code < 0x110000 else ""
    if code == 13:
        return _NEW_LINE if modifiers & (_SHIFT | _CTRL) else f"{alt}\r"
    if code == 9:
        return "\x1b[Z" if modifiers & _SHIFT else f"{alt}\t"
    if code == 127:
        return alt + ("\x08" if modifiers & _CTRL else "\x7f")
    if 57344 <= code <= 63743:  # keys that are no characters, as those of the number pad
        return _KEYPAD.get(code, "")
    control = chr(ord(key.upper()) & 0x1F) if key.isascii() and key.isalpha() else _CONTROLS.get(key, "")
    if modifiers & _CTRL and control:
        return alt + control
    return alt + (key.upper() if modifiers & _SHIFT else key)


_KEYPAD: dict[int, str] = dict(zip(range(57399, 57416), (*"0123456789", *"./*-+", "\r", "="), strict=True))
_CONTROLS = dict(zip(" @2[\\]6^-_/?8", "\0\0\0\x1b\x1c\x1d\x1e\x1e\x1f\x1f\x1f\x7f\x7f", strict=True))
