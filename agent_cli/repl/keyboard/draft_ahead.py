"""The keys typed while an answer comes, as a draft: how it is edited before it is sent, and what it looks like."""

from collections.abc import Sequence

from prompt_toolkit.key_binding import KeyPress
from prompt_toolkit.keys import Keys

from agent_cli.repl.keyboard.keys import NEWLINE, SEND
from agent_cli.text import clean

_ENTERS = (Keys.ControlM, SEND)
_ERASING = (Keys.ControlH, Keys.Delete)
_SIGN, _HINT = "⏎", "   sent after the answer; Backspace takes it back"
_LONGEST = 2000  # characters of a paste that are shown


def edited(draft: list[KeyPress], key: KeyPress) -> list[KeyPress]:
    """The draft after this key: Backspace takes back the last character, paste or Enter, Ctrl-W a word, Ctrl-U a line.

    A key of another kind becomes part of the draft, and so does a key that erases behind one.
    """
    if key.key in _ERASING and (not draft or _is_text(draft[-1])):
        return draft[:-1]
    if key.key in (Keys.ControlU, Keys.ControlW):
        start = _start(draft, word=key.key == Keys.ControlW)
        if all(map(_is_text, draft[start:])):
            return draft[:start]
    return [*draft, key]


def shown(draft: Sequence[KeyPress]) -> str:
    """The draft as one line, with a sign for each Enter that will send it."""
    line = "".join(map(_words, draft))
    return line + _HINT if line.endswith(_SIGN) else line


def _start(draft: Sequence[KeyPress], *, word: bool) -> int:
    """Where the last line of the draft begins, or its last word."""
    start = len(draft)
    while word and start and draft[start - 1].key == " ":
        start -= 1
    while start and draft[start - 1].key not in (*_ENTERS, " " if word else ""):
        start -= 1
    return start


def _words(key: KeyPress) -> str:
    """What a key adds to the line; nothing where it is not text."""
    if key.key in _ENTERS:
        return f" {_SIGN}"
    if key.key in (Keys.ControlJ, NEWLINE):
        return " "
    if key.key == Keys.BracketedPaste:
        return " ".join(clean(key.data[:_LONGEST]).split())
    return clean(key.key) if _is_text(key) else ""


def _is_text(key: KeyPress) -> bool:
    """Whether the key is a character, an Enter or a paste."""
    if isinstance(key.key, Keys):
        return key.key in (*_ENTERS, Keys.ControlJ, NEWLINE, Keys.BracketedPaste)
    return key.key.isprintable()
