"""The words of a text that give it away: rare ones, such as names, and neither stop words nor everyday words.

A text repeats another when it has such a word, in any inflection. Texts are compared without case and accents.
"""

import re
import unicodedata
from collections.abc import Callable, Iterable, Sequence
from itertools import accumulate

from agent_cli.memory.language import languages, terms
from agent_cli.text import Pattern
from agent_cli.values import frozen

MOST = 12  # words looked for
MOST_ROWS = 100  # rows that have any of them: a person can still look through these
_MIN_LENGTH = 3
_MIN_PREFIX, _LONGEST_ENDING = 4, 3  # characters: Graz is found in Grazer, art is not found in artist

_WORD = Pattern(r"\w+")
_ACCENTS = Pattern(r"[\u0300-\u036f]")  # of Latin, Greek and Cyrillic; the marks of kana make other syllables
_EVERYDAY = Pattern(rf"{languages.alternatives('EVERYDAY')}|(?:19|20)\d\d")  # years as well

Stems = Callable[[Iterable[str]], list[list[str]]]
"""The stems of each of several texts."""


@frozen
class Keywords:
    """The words to look for. `together`: none of them is rare, so a text must have all of them."""

    words: Sequence[str] = ()
    together: bool = False

    def __bool__(self) -> bool:
        return bool(self.words)

    @property
    def shown(self) -> str:
        return " ".join(self.words) if self.together else ", ".join(self.words)


NO_KEYWORDS = Keywords()


def plain(text: str) -> str:
    """The text case folded and without accents."""
    folded = text.casefold()
    if folded.isascii():
        return folded
    return unicodedata.normalize("NFC", _ACCENTS.sub("", unicodedata.normalize("NFKD", folded)))


def words_of(text: str) -> set[str]:
    """The words of a plain text."""
    return set(_WORD.findall(text))


def choose(texts: Iterable[str], count: Callable[[str], int] = lambda word: 0, limit: int = MOST_ROWS) -> Keywords:
    """The keywords of these texts, names first, then the rarest; where all are everyday words, all of them.

    `count`: the number of remembered rows with a word. Above `limit` it is an everyday word.
    """
    found: dict[str, bool] = {}
    for text in texts:
        for number, word in enumerate(_WORD.findall(text)):
            name = (number > 0 and word[:1].isupper()) or any(each.isdigit() for each in word)
            form = word.casefold()
            if form not in terms.STOP_WORDS and plain(form) not in terms.STOP_WORDS and len(form) >= _MIN_LENGTH:
                found[plain(form)] = found.get(plain(form), False) or name
    counts = {word: count(word) for word in found if not _EVERYDAY.fullmatch(word)}
    rare = sorted((word for word in counts if counts[word] <= limit), key=lambda word: (not found[word], counts[word]))
    totals = accumulate(counts[word] for word in rare)
    chosen = tuple(word for word, total in zip(rare[:MOST], totals, strict=False) if total <= MOST_ROWS)
    return Keywords(chosen) if chosen else Keywords(tuple(found)[:MOST], together=True)


class KeywordMatcher:
    """Finds words in texts, in any inflection. `contains`: whether a form of a word is wanted."""

    def __init__(self, keywords: Keywords, stems: Stems):
        self._keywords = keywords
        self._stems = stems
        self._unspaced = [word for word in keywords.words if terms.unspaced_runs(word)]
        self._forms: dict[str, str] = {}
        for word, tokens in zip(keywords.words, stems(keywords.words), strict=True):
            self._forms |= dict.fromkeys((word, *tokens), word)
        prefixes = sorted({form[: max(_MIN_LENGTH, len(form) - 1)] for form in self._forms})
        self._prefix = re.compile("|".join(map(re.escape, prefixes)) or r"(?!)")
        self._known: dict[str, str] = {}  # the keyword that a word is a form of

    def may_match(self, text: str) -> bool:
        """Whether a plain text may have one of the words; quick."""
        return bool(self._prefix.search(text))

    def found_in(self, text: str) -> frozenset[str]:
        """The keywords that a plain text has; with `together`, all or none."""
        words = words_of(text)
        self._learn(word for word in words if word not in self._known and self.may_match(word))
        found = {self._known[word] for word in words if self._known.get(word)}
        found.update(word for word in self._unspaced if word in text)
        if self._keywords.together and len(found) < len(self._keywords.words):
            return frozenset()
        return frozenset(found)

    def _learn(self, words: Iterable[str]) -> None:
        unknown = list(words)
        for word, tokens in zip(unknown, self._stems(unknown), strict=True):
            self._known[word] = next((self._forms[each] for each in forms(word, tokens) if each in self._forms), "")


def forms(word: str, stems: Sequence[str]) -> list[str]:
    """What a word may be a form of: itself, its stems, and its beginnings without an ending."""
    shortest = max(_MIN_PREFIX, len(word) - _LONGEST_ENDING)
    return [word, *stems, *(word[:length] for length in range(len(word) - 1, shortest - 1, -1))]
