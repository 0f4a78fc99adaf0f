"""What the program says beside a reply, and how a reply is kept from posing as it: its receipts, questions and prompt.

The program's own lines begin with the sign of a role. A reply cannot write those signs: a tick, a cross and a prompt
are shown as others of their kind, and a line of it that begins with a dot or a question mark, or is worded like one of
the program, gets a bar in front of it. Whether it does follows from its first characters alone, so how the stream was
cut into pieces makes no difference. What is stored, piped and copied stays as the model wrote it.
"""

from collections.abc import Sequence
from dataclasses import replace

from agent_cli.render import styles
from agent_cli.render.layout import folded, formatted
from agent_cli.render.plain_writer import StreamCleaner
from agent_cli.render.styles import Display, LineRole
from agent_cli.text import Pattern

SIGNS = "".join(each.sign for each in (styles.YOU, styles.PROGRAM, styles.NEEDS_YOU, styles.DONE, styles.FAILED))
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


def announced(text: str, display: Display, role: LineRole | None = None) -> str:
    """What the program says: the sign of its role, and further lines below its first word; for a screen reader a word.

    Where no role is given, the line has its own.
    """
    if display.screen_reader:
        return f"Program: {formatted(text, display)}"
    role, lines = role or styles.role_of(text), formatted(text, display, 2).split("\n")
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


def marked(reply: str) -> str:
    """A whole reply as it may stand on the screen."""
    cleaner = ReplyCleaner()
    return cleaner.feed(reply) + cleaner.end()


class ReplyCleaner(StreamCleaner):
    """Cleans a reply that arrives in pieces, and marks its lines that are worded like the program's."""

    def __init__(self) -> None:
        super().__init__()
        self._start: str | None = ""  # of the current line, while it is not decided

    def feed(self, text: str) -> str:
        return self._mark(super().feed(text))

    def end(self) -> str:
        rest = self._mark(super().end())
        held, self._start = self._start, ""
        return rest + _decided(held)

    def _mark(self, text: str) -> str:
        first, *lines = text.translate(_OTHERS).split("\n")
        shown = [self._extend(first)]
        for line in lines:
            held, self._start = self._start, ""
            shown.append(_decided(held) + "\n" + self._extend(line))
        return "".join(shown)

    def _extend(self, text: str) -> str:
        """Add characters to the current line; returns what may be shown."""
        if self._start is None:
            return text
        self._start += text
        if len(self._start) < _MOST_HELD and _is_open(self._start):
            return ""
        held, self._start = self._start, None
        return _decided(held)


def _plain(line: str) -> str:
    return folded(line).translate(_MARKUP).lstrip(_DECORATION).casefold()[:_DECIDED]


def _is_open(start: str) -> bool:
    """Whether a line that begins so may turn out to be worded like the program's."""
    words = _plain(start)
    return len(words) < _DECIDED and (
        not any(character.isspace() for character in words) or _FIRST_WORDS.match(words) is not None
    )


def _decided(start: str | None) -> str:
    if not start or start.isspace():
        return start or ""
    head = folded(start[:_MOST_HELD])
    posing = _LIKE_PROGRAM.match(_plain(head)) or _PROMPT.match(head) or _SIGN.match(head)
    return _BAR + start if posing else start
