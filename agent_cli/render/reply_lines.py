"""What the program says beside a reply, and how a reply is written so that it cannot pose as that.

The program's own lines begin with the sign of a role. A reply cannot write those signs, and a line of it that begins
like one of the program gets a bar in front of it, as its first characters decide. What is stored, piped and copied
stays as the model wrote it. A question about a tool call shows its arguments indented, and folds a long one.
"""

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, TextIO

from agent_cli.messages import ToolCall
from agent_cli.render import styles
from agent_cli.render.layout import Verbatim, folded, formatted, wrapped
from agent_cli.render.styles import NEEDS_YOU, Display, LineRole
from agent_cli.text import Pattern, clean, split_sentences, visible

_OTHERS = str.maketrans({styles.YOU.sign: "›", styles.DONE.sign: "√", styles.FAILED.sign: "×"})
_BAR = "│ "
_DECIDED = 48  # characters of a line, apart from its decoration, after which it is decided
_MOST_HELD = 2000  # characters of a line, whatever they are
_MARKUP = str.maketrans("", "", "*_`~")
_DECORATION = " \t*_#`~>+-|│\"'“”„«»◇◆•·›√✔☑✅×✘❌?¿！？"
_RECEIPT = (  # the words with which the program reports what it has done
    "kept|saved|proposed|rejected|replaced|erased|closed|used|ended|hid|hidden|restored|approved|accepted|remembered"
)
_HANDLE = r"[a-z]\d+\b"
_LIKE_PROGRAM = Pattern(
    rf"(?:(?:{_RECEIPT})\b:?\s+(?:{_HANDLE}|\d)|(?:{_RECEIPT}):|(?:agent|program|answer):|allow it\?"
    r"|erased\.|the model wants to call\b|the turn was ended\b|(?:review|fact|skill) \d+ of \d|— ?stopped|not kept\b"
    r"|y (?:once|keep|replace)\b"
    rf"|{_HANDLE}.{{0,9}}\b(?:waits?|is kept|was kept|contradicts)\b"
    r"|\d+ (?:memor(?:y|ies)|proposals?|facts?|skills?) (?:waits?|to review|and \d)\b)"
)
_PROMPT = Pattern(r"[\s*_#`~│›√×·?]*[>›] ?(?:/|y(?:es)?\W*$)")
_SIGN = Pattern(r"(?:#{1,6} +)?[*_`~]*[·?]+(?:[\s*_`~]|$)")
_FIRST_WORDS = Pattern(
    rf"(?:{_RECEIPT}|agent|program|answer|allow|the|review|fact|skill|—|not|y|{_HANDLE}|\d+)?[:.]?(?:\s|$)"
)


def announced(text: str, display: Display) -> str:
    """What the program says after the sign of its role, further lines below its first word; aloud after a word."""
    role, lines = styles.ROLES.get(type(text), styles.PROGRAM), formatted(text, display, 2).split("\n")
    if role is not styles.PROGRAM or "\n" in text:
        return with_sign(lines, display, role)
    plain = with_sign(lines, replace(display, colour=False, weight=False), role)  # a remark stands back as a whole
    return "\n".join(display.styled(line, role.style) for line in plain.split("\n"))


def with_sign(lines: Sequence[str], display: Display, role: LineRole) -> str:
    """Clean lines that fit, after the sign of a role and below each other; aloud after a word."""
    if display.screen_reader:
        return "Program: " + "\n".join(lines)
    first = f"{display.styled(role.sign, role.style)} {lines[0]}"
    return "\n".join([first, *(f"  {line}".rstrip() for line in lines[1:])])


QUESTION = f"{NEEDS_YOU.sign} allow it? y once, a for this session, anything else no: "
MORE = f"{NEEDS_YOU.sign} allow it? y once, a for this session, o shows it all, anything else no: "
NUMBERED = {"1": "y", "2": "a"}  # keys that people know from other programs; 3 refuses, as any other does
_FOLDED, _WHOLE = 10, 400  # lines that are shown of a value
_MAX_TEXT = 20_000  # characters that are shown of a value at most
_MAX_ARGUMENTS = 40
_INDENT = "    "
_LINE_BREAKS = str.maketrans({"\u2028": "\n", "\u2029": "\n", "\x85": "\n", "\r": "", "\x0b": "\n", "\x0c": "\n"})


def question(call: ToolCall, width: int, *, whole: bool = False) -> str:
    """The call, in lines of at most `width` cells."""
    first = f"{NEEDS_YOU.sign} The model wants to call {_plain(call.name)}:"
    lines = [first, *_arguments(call.arguments, width, whole)]
    if call.resolved:
        lines += ["  and that is:", *_arguments(call.resolved, width, whole)]
    return Verbatim("\n".join(lines))


def styled(text: str, display: Display) -> str:
    """The call, or the question for the keys, as it stands on the screen: the sign in its colour, words not broken."""
    sign, _, rest = text.partition(" ")
    if not isinstance(text, Verbatim):
        words = rest.rstrip(" ")
        rest = formatted(words, display, 3).replace("\n", "\n  ") + rest[len(words) :]
    return f"{display.styled(sign, NEEDS_YOU.style)} {rest}"


def questions(call: ToolCall, width: int) -> list[tuple[str, str]]:
    """The call and the question for the keys; where something is folded, then the whole call, for who presses `o`."""
    short, whole = question(call, width), question(call, width, whole=True)
    return [(short, QUESTION)] if short == whole else [(short, MORE), (whole, QUESTION)]


def _arguments(arguments: dict[str, Any], width: int, whole: bool) -> Iterator[str]:
    """Each argument behind its name, or below it where it has several lines."""
    names = {name: _plain(" ".join(name.split())) or "?" for name in [*arguments][:_MAX_ARGUMENTS]}
    margin = max((len(name) for name in names.values() if len(name) <= width // 4), default=0)
    most = _WHOLE if whole else _FOLDED
    for name, shown in names.items():
        lines = _value_lines(arguments[name], max(12, width - 1 - len(_INDENT) - margin - 2))
        if (omitted := len(lines) - most) > 1:
            lines = [*lines[: most - 3], f"… {omitted:,} lines are not shown …", *lines[-3:]]
        first = f"{_INDENT}{shown:<{margin}}"
        if len(shown) > margin:
            yield from (f"{_INDENT}{line}" for line in _value_lines(shown, max(12, width - 1 - len(_INDENT))))
            first = _INDENT + " " * margin
        yield f"{first}  {lines[0]}"
        yield from (f"{_INDENT}{' ' * margin}  {line}" for line in lines[1:])
    if len(arguments) > _MAX_ARGUMENTS:
        yield f"  … {len(arguments) - _MAX_ARGUMENTS:,} more arguments are not shown"


def _value_lines(value: Any, width: int) -> list[str]:
    """A value as lines that fit: texts as they are, yes and no, all else as JSON."""
    if isinstance(value, bool):
        return ["yes" if value else "no"]
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    if (cut := len(text) - _MAX_TEXT) > 0:
        text = f"{text[: _MAX_TEXT // 2]}\n… {cut:,} characters are not shown …\n{text[-_MAX_TEXT // 2 :]}"
    lines = wrapped(_plain(text), width) if text.strip() else ["(empty)" if not text else "(blanks)"]
    return [piece for line in lines for piece in _pieces(line, width)]


def _pieces(line: str, width: int) -> Iterator[str]:
    """A line in pieces that fit on any terminal: characters beyond ASCII, on which terminals differ, count twice."""
    piece, used = "", 0
    for character in line:
        cells = 1 if character.isascii() else 2
        if used + cells > width:
            yield piece
            piece, used = "", 0
        piece, used = piece + character, used + cells
    yield piece


def _plain(text: str) -> str:
    return visible(text.translate(_LINE_BREAKS)).expandtabs(4)


class ReplyCleaner:
    """Removes control characters from a reply that arrives in pieces, and `marks` lines worded like the program's."""

    def __init__(self, marks: bool = True) -> None:
        self._marks = marks
        self._pending = ""  # a CR: its LF may come in the next piece
        self._start: str | None = ""  # of the current line, while it is not decided

    def feed(self, text: str) -> str:
        text = self._pending + text
        self._pending = "\r" if text.endswith("\r") else ""
        return self._mark(clean(text[: len(text) - len(self._pending)]))

    def end(self) -> str:
        pending, self._pending = self._pending, ""
        return self._mark(clean(pending)) + self._take_start()

    def _mark(self, text: str) -> str:
        if not self._marks:
            return text
        first, *lines = text.translate(_OTHERS).split("\n")
        shown = [self._extend(first)]
        for line in lines:
            shown += [self._take_start(), "\n", self._extend(line)]
        return "".join(shown)

    def _extend(self, text: str) -> str:
        """Add characters to the current line; returns what may be shown."""
        if self._start is None:
            return text
        self._start += text
        words = _words(self._start)
        undecided = len(self._start) < _MOST_HELD and len(words) < _DECIDED
        if undecided and (not any(map(str.isspace, words)) or _FIRST_WORDS.match(words)):
            return ""  # it may turn out to be worded like the program's
        held, self._start = self._take_start(), None
        return held

    def _take_start(self) -> str:
        """The beginning that was held back, with a bar where it poses as the program's; a new line begins."""
        start, self._start = self._start or "", ""
        if not start or start.isspace():
            return start
        head = folded(start[:_MOST_HELD])
        return _BAR + start if _LIKE_PROGRAM.match(_words(head)) or _PROMPT.match(head) or _SIGN.match(head) else start


def _words(line: str) -> str:
    return folded(line).translate(_MARKUP).lstrip(_DECORATION).casefold()[:_DECIDED]


def marked(reply: str) -> str:
    """A whole reply as it may stand on the screen."""
    cleaner = ReplyCleaner()
    return cleaner.feed(reply) + cleaner.end()


class PlainWriter:
    """Writes clean text as the model wrote it, without blank lines before it and with one newline at its end."""

    def __init__(self, out: TextIO, marks: bool = False) -> None:
        self._out, self._cleaner = out, ReplyCleaner(marks)
        self._pending = ""  # white space that may turn out to be the end
        self._separator = ""  # written before the next text
        self._in_line = False  # text stands on a line that is not ended

    def write(self, text: str) -> None:
        self._put(self._cleaner.feed(text))

    def _put(self, text: str) -> None:
        text = self._pending + text
        if not self._in_line:
            text = re.sub(r"\A\s*\n", "", text)
        stripped = text.rstrip()
        self._pending = text[len(stripped) :]
        if stripped:
            self._out.write(self._separator + stripped)
            self._out.flush()
            self._in_line, self._separator = True, ""

    def new_section(self) -> None:
        """Separate the text before a tool call from the text after it by a blank line."""
        self._put(self._cleaner.end())
        if self._in_line:
            self.end()
            self._separator = "\n"

    def end(self) -> None:
        """Write what is held back, and end the line if it has text."""
        self._put(self._cleaner.end())
        if self._in_line:
            self._out.write("\n")
        self._in_line, self._pending = False, ""


_MAX_SENTENCE = 2_000  # characters


class SentenceWriter(PlainWriter):
    """Writes whole sentences, as a screen reader speaks them."""

    _rest = ""

    def write(self, text: str) -> None:
        *sentences, self._rest = split_sentences(self._rest + text)
        if sentences and not self._rest and not sentences[-1].endswith("\n"):
            self._rest = sentences.pop()  # "3." may become 3.5
        if len(self._rest) > _MAX_SENTENCE:
            sentences, self._rest = [*sentences, self._rest], ""
        if sentences:
            super().write("".join(sentences))

    def end(self) -> None:
        rest, self._rest = self._rest, ""
        super().write(rest)
        super().end()
