"""Which sources the sentences of a summary come from, by the words they share. No model is asked: it would guess.

A shared word counts by how few of the sources have it (idf). A source is named when it has a good part of the weight
that the sentence shares with all sources together.
"""

import math
from collections.abc import Sequence
from typing import TypeVar

from agent_cli import text
from agent_cli.memory.language.terms import STOP_WORDS

T = TypeVar("T")

_MAX_SOURCES = 3  # for each sentence
_MIN_SHARE, _MIN_OF_BEST = 0.3, 0.7  # of the weight shared with all sources together, and with the best source


def sources(sentences: Sequence[str], items: Sequence[tuple[T, str]]) -> list[tuple[T, ...]]:
    """For each sentence the ids of the (id, text) items it comes from, the likeliest first."""
    word_sets = [set(_words(words)) for _, words in items]
    return [tuple(items[n][0] for n in _best_sources(set(_words(each)), word_sets)) for each in sentences]


def _best_sources(sentence: set[str], word_sets: Sequence[set[str]]) -> list[int]:
    weights = {
        word: math.log(1 + len(word_sets) / df) for word in sentence if (df := sum(word in each for each in word_sets))
    }
    shared = [sum(weights[word] for word in weights.keys() & each) for each in word_sets]
    best = max(shared, default=0.0)
    enough = max(_MIN_SHARE * sum(weights.values()), _MIN_OF_BEST * best)
    found = [n for n, score in enumerate(shared) if score and score >= enough]
    return sorted(found, key=lambda n: (-shared[n], n))[:_MAX_SOURCES]


def _words(sentence: str) -> list[str]:
    return [word for word in text.words(sentence) if word not in STOP_WORDS and (len(word) > 2 or word.isdigit())]
