"""Words: of a text, of a question, and how alike two texts are.

Stemming is SQLite's own (porter over unicode61), asked through the connection, so that question and index agree to the
letter.
"""

import re
from collections.abc import Iterable
from difflib import SequenceMatcher
from typing import TypeVar

from agent_cli.text import Pattern

T = TypeVar("T")

_STOP = """
    a about above after again against all am an and any are aren as at be because been before being below between both
    but by can could couldn did didn do does doesn doing don down during each few for from further had hadn has hasn
    have haven having he her here hers herself him himself his how i if in into is isn it its itself just me more most
    my myself no nor not now of off on once only or other our ours ourselves out over own re same she should so some
    such than that the their theirs them themselves then there these they this those through to too under until up us
    ve very was wasn we were weren what when where which while who whom why will with won would you your yours yourself
    s t d ll m let tell know please ever also may might must shall
    aber alle als also am an auch auf aus bei bin bis bist da damit dann das dass dein deine dem den der des dich die
    dir doch dort du durch ein eine einem einen einer eines er es euch euer für gegen habe haben hast hat hatte ich ihm
    ihn ihnen ihr ihre im in ist ja jede jeder kann kannst kein keine können man mein meine meinem meinen meiner mich
    mir mit nach nicht noch nun nur ob oder ohne sehr sein seine sich sie sind so über um und uns unser unter vom von
    vor war waren warum was weil welche welcher wenn wer werden wie wieder will wir wird wo woran wohin zu zum zur
"""
STOP_WORDS = frozenset(_STOP.split())

# Han, kana, Hangul, Thai, Lao, Burmese, Khmer: words stand side by side without a space.
_UNSPACED = Pattern(
    r"[\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\uac00-\ud7af\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff]+"
)
_PARTICLE = Pattern(r"[\u3041-\u309f你我他她它们的了吗呢吧啊是在去过有和与这那哪什么谁怎几不很都也就还要会能说]")
_WORD = re.compile(r"\w+")
_NUMBER = Pattern(r"\d[\d.,:/]*")
_NEGATION = Pattern(
    r"\b(?:no|not|never|none|nothing|nobody|neither|nor|n't|without|cannot|nicht|nichts|kein\w*|nie|niemals|niemand\w*"
    r"|weder|ohne)\b|n['’]t\b"
)
_NUMERAL = Pattern(
    r"\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|first|second|third"
    r"|zwei|drei|vier|fünf|sechs|sieben|acht|neun|zehn|elf|zwölf)\b"
)


def grams(text: str) -> str:
    """The pairs of neighbouring characters of scripts without spaces, as words; empty for other texts."""
    return " ".join(pair for run in _UNSPACED.findall(text) for pair in pairs(run))


def runs(query: str) -> list[str]:
    """The pieces of a question in such scripts."""
    return _UNSPACED.findall(query)


def pairs(run: str) -> list[str]:
    """Its neighbouring characters, two by two."""
    return [run[n : n + 2] for n in range(len(run) - 1)] or [run]


def telling_pairs(run: str) -> list[str]:
    """The pairs of a question that say what it is about: those without a particle; all when it has no such."""
    every = pairs(run)
    return [pair for pair in every if not _PARTICLE.search(pair)] or every


def spaced(query: str) -> str:
    """The question without those pieces."""
    return _UNSPACED.sub(" ", query)


def content(query: str) -> list[str]:
    """The words that say what a question is about, in order, each once; all of its words when it has no such."""
    asked = list(dict.fromkeys(word.casefold() for word in _WORD.findall(spaced(query))))
    return [word for word in asked if word not in STOP_WORDS] or asked


def shingles(text: str) -> frozenset[tuple[str, ...]]:
    """Every three neighbouring words."""
    words = _WORD.findall(text.casefold())
    return frozenset(zip(words, words[1:], words[2:], strict=False)) or frozenset([tuple(words)])


def unnumbered(text: str) -> str:
    """With every number as the same word: what two texts say apart from their numbers."""
    return _NUMBER.sub("0", text)


def overlap(one: frozenset[T], other: frozenset[T], least: float = 0.72) -> bool:
    """Whether two sets are nearly the same: their Jaccard index."""
    both = len(one & other)
    return both >= least * (len(one) + len(other) - both)


def alike(one: str, other: str, least: float = 0.72) -> bool:
    """Whether two texts say the same: by their shingles, and never when a number or a negation differs."""
    if not overlap(shingles(one), shingles(other), least):
        return False
    if any(_told(pattern, one) != _told(pattern, other) for pattern in (_NUMBER, _NUMERAL)):
        return False
    return bool(_told(_NEGATION, one)) == bool(_told(_NEGATION, other))


def _told(pattern: Pattern, text: str) -> list[str]:
    return sorted(pattern.findall(text.casefold()))


def chunks(text: str, size: int = 1200, overlap: int = 200) -> Iterable[tuple[int, int]]:
    """(start, length) of the pieces a long text is searched in, cut at spaces where there are any."""
    start = 0
    while len(text) - start > size * 5 // 4:
        cut = max(text.rfind(" ", start + size // 2, start + size), text.rfind("\n", start + size // 2, start + size))
        cut = cut if cut > 0 else start + size
        yield start, cut - start
        start = max(cut - overlap, start + 1)
    yield start, len(text) - start


def resembles(word: str, text: str, least: float = 0.75) -> bool:
    """Whether a text holds the word as a part of a longer one, or misspelt by a letter or two."""
    folded = text.casefold()
    if word in folded:
        return True
    return any(
        abs(len(other) - len(word)) <= 2
        # Few words share enough letters to be worth the matcher's time.
        and 2 * sum([letter in other for letter in word]) >= least * (len(word) + len(other))
        and SequenceMatcher(None, word, other).ratio() >= least
        for other in set(_WORD.findall(folded))
    )
