"""Which sources the sentences of a summary come from, told by the words they share. No model is asked: one would guess.

A shared word counts by how few of the sources have it (idf); a source that holds a good part of what a sentence shares
with all of them together has a part in it.
"""

import math
from collections.abc import Sequence
from typing import TypeVar

from agent_cli import text
from agent_cli.memory.language.terms import STOP_WORDS

T = TypeVar("T")

_MOST = 3  # sources of a sentence
_LEAST, _NEAR = 0.3, 0.7  # of what it shares with all of them together, and of what it shares with the best


def sources(sentences: Sequence[str], items: Sequence[tuple[T, str]]) -> list[tuple[T, ...]]:
    """For each sentence the items it comes from, the likeliest first; none when it shares nothing with any."""
    held = [set(_words(words)) for _, words in items]
    return [tuple(items[n][0] for n in _likeliest(set(_words(each)), held)) for each in sentences]


def _likeliest(sentence: set[str], held: Sequence[set[str]]) -> list[int]:
    weights = {word: math.log(1 + len(held) / df) for word in sentence if (df := sum(word in each for each in held))}
    shared = [sum(weights[word] for word in weights.keys() & each) for each in held]
    best = max(shared, default=0.0)
    enough = max(_LEAST * sum(weights.values()), _NEAR * best)
    found = [n for n, score in enumerate(shared) if score and score >= enough]
    return sorted(found, key=lambda n: (-shared[n], n))[:_MOST]


def _words(told: str) -> list[str]:
    return [word for word in text.words(told) if word not in STOP_WORDS and (len(word) > 2 or word.isdigit())]
