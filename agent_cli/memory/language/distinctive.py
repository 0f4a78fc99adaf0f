"""What to search for when checking that an erased text is gone: its lines, and the words found nowhere else.

Both are needed: a line of a long text may be split at a page of the file, and an index stores single words. A text
copied into another row may have lost its line breaks, so lines are compared with blanks collapsed.
"""

from collections.abc import Callable, Iterable
from dataclasses import field

from agent_cli.memory.language import terms
from agent_cli.text import Pattern
from agent_cli.values import frozen

MIN_STATEMENT = 6  # characters of a statement worth searching for
MIN_LINE = 12  # characters of a line worth searching for
MIN_PERSONAL = 20  # characters from which a line is the person's own and not a common phrase
_MAX_SEARCHED = 48  # characters of a line that are searched for
_MAX_LOOPED = 200  # terms up to which each is searched for by itself

_WORD = Pattern(r"\w{4,}")


@frozen
class SearchTerms:
    """Lines and words, case folded."""

    lines: frozenset[str] = field(default_factory=frozenset)
    words: frozenset[str] = field(default_factory=frozenset)

    def __bool__(self) -> bool:
        return bool(self.lines or self.words)

    def found_in(self, folded: str) -> set[str]:
        """The terms in a folded text. When there are many lines, only whole lines of the text count."""
        found = {line for line in self.lines if line in folded} if len(self.lines) <= _MAX_LOOPED else set()
        if len(self.lines) > _MAX_LOOPED:
            found |= self.lines & set(line_ends([folded]))
        if len(self.words) <= _MAX_LOOPED:
            return found | {word for word in self.words if word in folded}
        return found | (self.words & set(_WORD.findall(folded)))

    def without(self, excluded: Iterable[str]) -> "SearchTerms":
        excluded = set(excluded)
        return SearchTerms(self.lines - excluded, self.words - excluded)


def fold(text: str) -> str:
    """The text case folded, blanks collapsed within each line and removed at its ends."""
    return "\n".join(" ".join(line.split()) for line in text.casefold().splitlines())


def line_ends(texts: Iterable[str]) -> list[str]:
    """What to search for of each line: all of a short one, the beginning and the end of a long one."""
    found: dict[str, None] = {}
    for text in texts:
        for line in fold(text).split("\n"):
            if len(line) >= MIN_LINE:
                found[line[:_MAX_SEARCHED].strip()] = None
                found[line[-_MAX_SEARCHED:].strip()] = None
    return list(found)


def distinctive_words(texts: Iterable[str]) -> list[str]:
    """The words that are not stop words, case folded."""
    found = dict.fromkeys(word for text in texts for word in _WORD.findall(text.casefold()))
    return [word for word in found if word not in terms.STOP_WORDS]


def topic_matcher(topic: str, tokens: Callable[[str], list[str]]) -> Callable[[str], bool]:
    """A test whether a text mentions a topic literally, or has all its words; always false for an empty topic.

    `tokens`: gives the stems of the words of a text.
    """
    literal, runs = fold(topic), terms.unspaced_runs(topic)
    stems = {stem for word in terms.content_words(topic) for stem in tokens(word)}

    def has_all(words: str) -> bool:
        return bool(stems or runs) and all(run in words for run in runs) and stems <= set(tokens(words))

    return lambda words: bool(literal) and (literal in fold(words) or has_all(words))
