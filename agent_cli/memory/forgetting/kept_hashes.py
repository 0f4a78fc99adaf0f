"""Hashes of the words of an erasure that left something, so that its check can be repeated without the words.

They are kept for as long as something is left, when the words stand in the clear there anyway, and no longer. Their key
lies apart from the database (keyed_hash.py).
"""

import json
from collections.abc import Sequence

from agent_cli.memory.forgetting.word_search import WordMatcher
from agent_cli.memory.language import keywords
from agent_cli.store import keyed_hash, meta
from agent_cli.store.db import Database

_STORED = "words to look for"


def store(db: Database, words: Sequence[str], *, together: bool) -> None:
    """Keep the hashes of these words instead of earlier ones."""
    forms = [sorted({word, *stems}) for word, stems in zip(words, db.tokens_of(words), strict=True)]
    hashes = [keyed_hash.digests(db, each) for each in forms]
    meta.put(db, _STORED, json.dumps({"words": hashes, "together": together}))


def drop(db: Database) -> None:
    if meta.get(db, _STORED) is not None:
        meta.drop(db, _STORED)


def matcher(db: Database) -> WordMatcher | None:
    """Finds the words whose hashes are kept; None when there are none."""
    stored = meta.get(db, _STORED)
    return HashMatcher(db, stored) if stored else None


class HashMatcher:
    """Finds words of which only the hashes are known; a found word is named by its number."""

    def __init__(self, db: Database, stored: str):
        stored_words = json.loads(stored)
        self._db = db
        self._together, self._count = bool(stored_words["together"]), len(stored_words["words"])
        self._wanted = {hash: str(number) for number, hashes in enumerate(stored_words["words"]) for hash in hashes}
        self._known: dict[str, str] = {}

    def may_match(self, text: str) -> bool:
        return bool(text)

    def found_in(self, text: str) -> frozenset[str]:
        words = keywords.words_of(text)
        self._learn([word for word in words if word not in self._known])
        found = frozenset(self._known[word] for word in words if self._known[word])
        return frozenset() if self._together and len(found) < self._count else found

    def _learn(self, unknown: list[str]) -> None:
        for word, stems in zip(unknown, self._db.tokens_of(unknown), strict=True):
            hashes = keyed_hash.digests(self._db, keywords.forms(word, stems))
            self._known[word] = next((self._wanted[each] for each in hashes if each in self._wanted), "")
