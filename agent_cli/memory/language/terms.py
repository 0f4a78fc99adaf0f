"""The words of texts and questions, and the similarity of texts."""

import operator
import re
from collections.abc import Callable, Collection, Iterable
from difflib import SequenceMatcher
from functools import lru_cache
from typing import TypeVar

from agent_cli.memory.language import languages, spans
from agent_cli.text import Pattern

T = TypeVar("T")

STOP_WORDS = languages.words("STOP_WORDS")
SHORTEST_GUESSED = 4  # letters of a word that is looked for in longer ones; one more, and it may be misspelt
_LONGEST_ENDING = 2  # letters
BEGINNING = 5  # letters of a word by which it is compared where its ending may differ

# Han, kana, Hangul, Thai, Lao, Burmese, Khmer: words are written without spaces.
_UNSPACED = Pattern(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_PARTICLE = Pattern(
    r"[\u3041-\u309f]+|为什么|什么时候|什么|怎么|怎样|多少|哪里|哪儿|时候|去过|去了|何時|何処"
    r"|[你我他她它们的了吗呢吧啊是在这那哪谁怎几不很都也就还对何誰]"
)
_WORD = re.compile(r"\w+")
_NUMBER = Pattern(r"\d[\d.,:/]*")
is_negated = languages.pattern(r"\b<NEGATING>\b|n['’]t\b")  # whether a text denies something
_AMOUNTS = frozenset(["number", "month"])
_VALUES = {
    "number": languages.expand(r"\b(?:\d+(?:[.,:/]\d+)*(?:<NTH_ENDING>)?(?: <TIMES>\b)?|<COUNTING>\b)"),
    "month": rf"\b(?:{spans.MONTH})\b",
    "day": rf"\b(?:{spans.DAY})s?\b",
    "place": languages.expand(rf"\b(?!\w+ (?:{spans.MONTH}|{spans.DAY}))(?>(?-i:<PLACE>[\w-]*(?: [A-ZÀ-Þ][\w-]+)*))"),
}
_LONGEST = 200  # characters of a text whose values are compared
_VALUE_OR_LETTER = languages.pattern("|".join(f"(?P<{kind}>{words})" for kind, words in _VALUES.items()) + "|.")
_ASKING = languages.pattern(r"<ASKING>")
_NUMBER_OR_DATE = languages.pattern(rf"\d[\d.,:/]*|\b(?:<COUNTING>|{spans.MONTH}|{spans.DAY})\b")


def bigrams(text: str) -> str:
    """The character pairs of scripts without spaces, separated by spaces; empty for other texts."""
    return " ".join(pair for run in unspaced_runs(text) for pair in character_pairs(run))


def unspaced_runs(query: str) -> list[str]:
    """The parts of a question in scripts without spaces."""
    return [] if query.isascii() else _UNSPACED.findall(query)


def character_pairs(run: str) -> list[str]:
    return [run[n : n + 2] for n in range(len(run) - 1)] or [run]


def content_pairs(run: str) -> list[str]:
    """The pairs between particles, which say what a question is about, or the character; all pairs without one."""
    pairs = [pair for piece in _PARTICLE.split(run) if piece for pair in character_pairs(piece)]
    return list(dict.fromkeys(pairs)) or character_pairs(run)


def without_unspaced(query: str) -> str:
    """The question without the parts in scripts without spaces."""
    return query if query.isascii() else _UNSPACED.sub(" ", query)


def content_words(query: str) -> list[str]:
    """The words of a question that are not stop words, in order, each once; all words when there are none."""
    words = list(dict.fromkeys(word.casefold() for word in _WORD.findall(without_unspaced(query))))
    return [word for word in words if word not in STOP_WORDS] or words


def only_asks(word: str) -> bool:
    """Whether a word of a question need not be in its answer, as "when" and "remember"."""
    return _ASKING.fullmatch(word) is not None


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Every three neighbouring words."""
    words = _WORD.findall(text.casefold())
    return frozenset(zip(words, words[1:], words[2:], strict=False)) or frozenset([tuple(words)])


def mask_numbers(text: str) -> str:
    """The text with every number as 0, to compare texts apart from their numbers."""
    return _NUMBER.sub("0", text)


@lru_cache(2)
def alike(said: str, kinds: Collection[str] = _AMOUNTS) -> re.Pattern[str] | None:
    """What matches this text with any values of these kinds; None for one that has none, and for a long one."""
    read = said if len(said) <= _LONGEST else ""
    found = _pieces(read)
    if not any(kind in kinds for kind, _ in found):
        return None
    parts = [_VALUES[kind] if kind in kinds else re.escape(words) for kind, words in found]
    return re.compile(rf"(?<!\w){''.join(parts)}(?!\w)", re.IGNORECASE)


def _pieces(words: str) -> list[tuple[str, str]]:
    """The values in a text, each with its kind, and the letters between them."""
    return [(each.lastgroup or "", each[0]) for each in _VALUE_OR_LETTER.finditer(words)]


def with_values(known: str, said: str) -> str:
    """The known text with what is said, where a part of it differs by a number, a day or a place alone; else empty."""
    pattern = alike(said, frozenset(_VALUES))
    places = [each for each in pattern.finditer(known) if ":" in each[0] or ":" not in said] if pattern else []
    if len(places) != 1 or places[0][0].casefold() == said.casefold():
        return ""
    was, now = ([each.casefold() for kind, each in _pieces(words) if kind] for words in (places[0][0], said))
    is_whole = all(kind or not each.isalpha() for kind, each in _pieces(said))  # nothing but values
    if not is_whole and sum(map(operator.ne, was, now)) > 1:
        return ""  # "I run 12 km on Saturdays" is said of one of two runs, and it is not known of which
    made = f"{known[: places[0].start()]}{said}{known[places[0].end() :]}"
    return known[0] + made[1:] if made[0].casefold() == known[0].casefold() else made


def nearly_equal(one: frozenset[T], other: frozenset[T], least: float = 0.72) -> bool:
    """Whether the Jaccard index of two sets is at least `least`."""
    both = len(one & other)
    return both >= least * (len(one) + len(other) - both)


def is_similar(one: str, other: str, least: float = 0.72) -> bool:
    """Whether two texts are similar by their shingles, and agree in numbers, dates and negation."""
    if not nearly_equal(shingles(one), shingles(other), least):
        return False
    values, others = (sorted(_NUMBER_OR_DATE.findall(each.casefold())) for each in (one, other))
    return values == others and is_negated(one) == is_negated(other)


def chunks(text: str, size: int = 1200, start: int = 0) -> Iterable[tuple[int, int]]:
    """(start, length) of the overlapping chunks of a long text from `start` on, cut at spaces where possible."""
    while len(text) - start > size * 5 // 4:
        cut = max(text.rfind(" ", start + size // 2, start + size), text.rfind("\n", start + size // 2, start + size))
        cut = cut if cut > 0 else start + size
        yield start, cut - start
        start = next_start(start, cut - start)
    yield start, len(text) - start


def next_start(start: int, length: int, overlap: int = 200) -> int:
    return max(start + length - overlap, start + 1)


def contains_similar(word: str, text: str, least: float = 0.75) -> bool:
    """Whether a text contains a (case folded) word, also within a longer one or misspelt by a letter or two."""
    folded = text.casefold()
    if word in folded:
        return True
    as_long = rf"\b\w{{{max(1, len(word) - 2)},{len(word) + 2}}}\b"
    return any(
        # Cheap test first: few words share enough letters.
        2 * sum([letter in other for letter in word]) >= least * (len(word) + len(other))
        and SequenceMatcher(None, word, other).ratio() >= least
        for other in set(re.findall(as_long, folded))
    )


def contains_likely(word: str, text: str, knows: Callable[[str], bool]) -> bool:
    """Whether a text contains a (case folded) word in another form or misspelt. `knows`: whether a word is one."""
    if may_be_misspelt(word, knows):
        return contains_similar(word, text)
    for other in {each for each in _WORD.findall(text.casefold()) if word in each or each in word}:
        shorter, longer = sorted((word, other), key=len)
        ending = len(longer) - len(shorter) if longer.startswith(shorter) else _LONGEST_ENDING + 1
        if ending <= _LONGEST_ENDING and len(shorter) >= SHORTEST_GUESSED and not knows(longer):  # "Kirchen"
            return True
        at = other.find(word) if len(word) > SHORTEST_GUESSED else -1
        is_part = at == 0 or (at > 0 and len(other) - at - len(word) <= 1) or other.endswith(word)
        if is_part and not (knows(other) or knows(other.capitalize())):  # "Zahnarzttermin" and its plural
            return True
    return False


def may_be_misspelt(word: str, knows: Callable[[str], bool]) -> bool:
    return len(word) > SHORTEST_GUESSED and not (knows(word) or knows(word.capitalize()))
