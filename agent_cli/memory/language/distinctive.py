"""What of an erased text can be looked for: its lines, and the words that stand nowhere else.

A line of a long text may be torn apart where a page of the file ends, and an index keeps words one by one: so both. A
text that was carried over into another row has lost its line breaks there: lines are compared without them.
"""

from collections.abc import Callable, Iterable
from dataclasses import field

from agent_cli.memory.language import terms
from agent_cli.text import Pattern
from agent_cli.values import frozen

SAYS = 6  # characters of a statement that says something
LEAST = 12  # characters of a line that says something
OWN = 20  # from which it is the person's own, and no phrase that everybody uses
_LONGEST = 48  # characters of it that are looked for
_FEW = 200  # up to which each is looked for by itself

_WORD = Pattern(r"\w{4,}")


@frozen
class Wanted:
    """Lines and words, case folded."""

    lines: frozenset[str] = field(default_factory=frozenset)
    words: frozenset[str] = field(default_factory=frozenset)

    def __bool__(self) -> bool:
        return bool(self.lines or self.words)

    def within(self, folded: str) -> set[str]:
        """Those that stand in a folded text. Of many lines only those that are lines there too."""
        found = {line for line in self.lines if line in folded} if len(self.lines) <= _FEW else set()
        if len(self.lines) > _FEW:
            found |= self.lines & set(lines([folded]))
        if len(self.words) <= _FEW:
            return found | {word for word in self.words if word in folded}
        return found | (self.words & set(_WORD.findall(folded)))

    def without(self, gone: Iterable[str]) -> "Wanted":
        gone = set(gone)
        return Wanted(self.lines - gone, self.words - gone)


def folded(text: str) -> str:
    """Case folded, each line without blanks at its ends and with single ones within."""
    return "\n".join(" ".join(line.split()) for line in text.casefold().splitlines())


def lines(texts: Iterable[str]) -> list[str]:
    """What is looked for of each line: all of a short one, the beginning and the end of a long one."""
    found: dict[str, None] = {}
    for text in texts:
        for line in folded(text).split("\n"):
            if len(line) >= LEAST:
                found[line[:_LONGEST].strip()] = None
                found[line[-_LONGEST:].strip()] = None
    return list(found)


def words(texts: Iterable[str]) -> list[str]:
    """The words that say something, folded."""
    found = dict.fromkeys(word for text in texts for word in _WORD.findall(text.casefold()))
    return [word for word in found if word not in terms.STOP_WORDS]


def telling(topic: str, tokens: Callable[[str], list[str]]) -> Callable[[str], bool]:
    """Whether a text says a topic literally, or has all its words; no text says an empty one.

    `tokens`: the stems of the words of a text.
    """
    literal = folded(topic)
    asked = {stem for word in terms.content(topic) for stem in tokens(word)}
    if not literal:
        return lambda words: False
    return lambda words: literal in folded(words) or bool(asked and asked <= set(tokens(words)))
