"""Notices that a model repeats itself without end, and stops its reply.

A small model that falls into a loop writes the same words until its context is full. They are noticed by runs of four
words that have stood before: from the third time on each such run counts, and a new one takes back what eight of them
counted, so that lists, stanzas of settings and refrains, where something changes, never add up. What has no letters or
stands in a table counts a quarter, and code a third, since rows of zeros and of the same cells are rightly alike.
"""

from collections.abc import Generator, Iterator

from agent_cli.llm.model import Chunk, Done, PriorTextWasThinking, Text, Thinking
from agent_cli.text import Pattern

FINISH = "repetition"
_TOO_MUCH = 80  # what has stood twice before in a row counts, when the reply is stopped
_RUN, _NEW = 4, 8
_TIMES = 2  # that a run has stood before
_FAR = 400  # words between two places that are still one loop
_SINGLE = "\\u3040-\\u30ff\\u3400-\\u9fff\\uac00-\\ud7af"  # characters of scripts without spaces, each a word
_WORD = Pattern(r"\n|```|[^\W\d_]{1,12}|\d{1,6}|[^\w\s]|_")
_WORD_OR_CHARACTER = Pattern(rf"\n|```|[{_SINGLE}]|[^\W\d_{_SINGLE}]{{1,12}}|\d{{1,6}}|[^\w\s]|_")  # compiled in 4 ms
_UNFINISHED = Pattern(r"[^\W_]{0,24}`{0,3}\Z")
_LONGEST = 27  # characters of what is unfinished


class Repetition:
    """Reads a text piece by piece."""

    def __init__(self) -> None:
        self._rest, self._number, self._begins, self._code = "", "", True, False
        self._words: list[str] = []
        self._places: dict[tuple[str, ...], list[int]] = {}
        self._score = 0.0

    def feed(self, piece: str) -> bool:
        """Whether the text, with this piece, repeats itself without end."""
        text = self._rest + piece
        unfinished = _UNFINISHED.search(text, max(0, len(text) - _LONGEST))
        end = unfinished.start() if unfinished else len(text)
        self._rest = text[end:]
        return any(self._add(word) for each in _words(text[:end]) for word in self._uncounted(each))

    def _uncounted(self, word: str) -> Iterator[str]:
        """The word, without the number that a line of a list begins with: it makes no line a new one."""
        number, self._number = self._number, ""
        if word == "\n":
            self._score += bool(self._score and not self._begins)  # the end of a line that has stood before
            self._begins = True
        elif self._begins and not number and word.isdigit():
            self._number = word
        elif number and word in ".)":
            self._begins = False
        else:
            self._begins = False
            yield from filter(None, (number, word))

    def _add(self, word: str) -> bool:
        self._code ^= word == "```"
        self._words.append(word)
        run, at = tuple(self._words[-_RUN:]), len(self._words)
        places = self._places.get(run, [])
        if len(places) == _TIMES and at - places[0] <= _FAR:
            self._score += self._weight(run)
        else:
            self._score = max(0.0, self._score - _NEW)
        self._places[run] = [*places, at][-_TIMES:]
        return self._score >= _TOO_MUCH

    def _weight(self, run: tuple[str, ...]) -> float:
        if "|" in run or not any(word[0].isalpha() for word in run):
            return 1 / 4
        return 1 / 3 if self._code else 1.0


def _words(text: str) -> list[str]:
    pattern = _WORD if max(text, default="") < "\u3040" else _WORD_OR_CHARACTER
    return pattern.findall(text)


def stopped(chunks: Iterator[Chunk]) -> Generator[Chunk, None, None]:
    """The chunks of a reply until its text, or its thinking, repeats itself; then Done with the finish "repetition"."""
    text, thinking = Repetition(), Repetition()
    try:
        for chunk in chunks:
            yield chunk
            match chunk:
                case Text(piece) if text.feed(piece):
                    break
                case Thinking(piece) if thinking.feed(piece):
                    break
                case PriorTextWasThinking():
                    text = Repetition()
        else:
            return
    finally:
        if isinstance(chunks, Generator):
            chunks.close()
    yield Done(FINISH)
