"""Words on lines: wrapped by cells, in a style, written once and never touched again.

A word is written when it is whole, and a line is begun anew where the next word would not fit. The width is read at
the beginning of each line, so that a window may be resized at any time. A word wider than the line (an address) is left
to the terminal to break, so that it is copied in one piece. Between wide characters a line may break without a blank.
Each line ends in the plain style: what follows an answer is never bold.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

from agent_cli.text import Pattern

LONGEST = 256  # characters of a word that are waited for

# Characters that take two columns and may be parted: of Chinese, Japanese and Korean.
WIDE = (
    "\u1100-\u115f\u2e80-\ua4cf\uac00-\ud7a3\uf900-\ufaff\ufe30-\ufe4f\uff01-\uff60\uffe0-\uffe6\U00020000-\U0003fffd"
)

_WORDS = Pattern(rf"(?P<space> {{1,64}})|(?P<wide>[{WIDE}])|(?P<word>[^ {WIDE}]{{1,{LONGEST}}})")
_CLINGS = frozenset(",.;:!?)]}…’”»%、。，．！？：；」』）】〉》")  # begins no line
_HOLDS = frozenset("([{“‘«「『（【〈《")  # ends none


class Piece(NamedTuple):  # made by the million: a dataclass takes three times as long
    """Part of a word, or the blanks between two. `style` is a list of SGR codes, as in "1;3"."""

    text: str
    style: str = ""
    kind: str = "word"  # or "space", or "wide": may be parted from its neighbours


def cells(text: str) -> int:
    """How many columns a text takes."""
    if text.isascii():
        return len(text)
    from wcwidth import wcswidth, wcwidth  # 10 ms that plain English does not need

    wide = wcswidth(text)
    return wide if wide >= 0 else sum(max(0, wcwidth(character)) for character in text)


def split(words: str, style: str = "") -> Iterator[Piece]:
    """Words without marks. Each blank is a place to wrap."""
    for token in _WORDS.finditer(words):
        yield Piece(token.group(), style, str(token.lastgroup))


class Layout:
    def __init__(self, write: Callable[[str], None], width: Callable[[], int], colour: bool):
        self._write, self._width, self._colour = write, width, colour
        self._word: list[Piece] = []
        self._space = ""
        self._length = 0  # characters of the present word, those written ahead too
        self._style = ""
        self._column = self._hang = self._room = 0
        self.open = False  # whether something stands on the present line

    def begin(self, lead: str = "", hang: int = 0, style: str = "") -> None:
        """Begin a line with these characters; the lines it is wrapped into hang so many cells in."""
        self._room = self._width()
        self._hang = min(hang, self._room // 3)
        self._turn(style if lead.strip() else "")
        self._write(lead)
        self._column, self.open = cells(lead), True

    def put(self, piece: Piece) -> None:
        if piece.kind == "space":
            self._flush()
            if len(self._space) < LONGEST:
                self._space += piece.text
            return
        if self._word and self._may_part(piece):
            self._flush()
        self._word.append(piece)
        self._length += len(piece.text)
        if self._length >= LONGEST:
            self._place()

    def end(self) -> None:
        """End the line in the plain style."""
        self._flush()
        self._turn("")
        self._write("\n")
        self._space, self._column, self.open = "", 0, False

    def _may_part(self, piece: Piece) -> bool:
        before = self._word[-1]
        if before.kind != "wide" and piece.kind != "wide":
            return False
        return piece.text[0] not in _CLINGS and before.text[-1] not in _HOLDS

    def _flush(self) -> None:
        self._place()
        self._length = 0

    def _place(self) -> None:
        """Write the word, or what there is of a very long one."""
        if not self._word:
            return
        text = "".join([piece.text for piece in self._word])
        size, gap = cells(text), len(self._space)
        begun = self._length > len(text)  # its beginning stands there already
        if not begun and self._column > self._hang and self._column + gap + size > self._room:
            self._turn("")
            self._room = self._width()
            self._write("\n" + " " * self._hang)
            self._column = self._hang
        else:
            if self._space and self._word[0].style != self._style:
                self._turn("")
            self._write(self._space)
            self._column += gap
        for piece in self._word:
            self._turn(piece.style)
            self._write(piece.text)
        self._column += size
        if self._column > self._room:  # the terminal has broken it
            self._column = (self._column - 1) % self._room + 1
        self._word, self._space = [], ""

    def _turn(self, style: str) -> None:
        if self._colour and style != self._style:
            self._write(("\x1b[m" if self._style else "") + (f"\x1b[{style}m" if style else ""))
            self._style = style
