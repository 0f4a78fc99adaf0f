"""Counts the words of a question in texts, by the stems of the word index.

Most texts hold few of them, so a text is not taken apart: its words that begin like one of the question are looked for,
and only these are stemmed.
"""

import re
import unicodedata
from collections.abc import Collection

from agent_cli.memory.search.candidates import ParsedQuery
from agent_cli.store.db import Database

_WORD_END = re.compile(r"[^\W_]*")
_OTHER_SCRIPT = re.compile(r"[^\W\x00-\u024f]")
_ACCENT = re.compile("[\u0300-\u036f]")


def count(db: Database, texts: Collection[str], question: ParsedQuery) -> dict[str, dict[str, int]]:
    """{text: {stem or run: count}} of the words of the question."""
    words = _words_like(texts, question.idfs)
    all_forms = list({form for each in words.values() for form in each})
    stems = dict(zip(all_forms, db.tokens_of(all_forms), strict=True))
    counts: dict[str, dict[str, int]] = {}
    for text, forms in words.items():
        found = counts[text] = {}
        for form in forms:
            for stem in stems[form]:
                if stem in question.idfs:
                    found[stem] = found.get(stem, 0) + 1
        for run in question.runs:
            if run in text:
                found[run] = text.count(run)
    return counts


def _words_like(texts: Collection[str], stems: Collection[str]) -> dict[str, list[str]]:
    """The words of each text that may have one of these stems: most texts are never taken apart.

    Stemming changes at most the last remaining letter, so a word begins as its stem does. A text in another script than
    the Latin one comes whole.
    """
    starts = {stem[:-1] for stem in stems}
    starts = {start for start in starts if not any(start[:end] in starts for end in range(len(start)))}
    found: dict[str, list[str]] = {}
    for text in texts:
        folded = _without_accents(text)
        if folded is None or "" in starts:
            found[text] = [text]
            continue
        found[text] = []
        for start in starts:
            at = folded.find(start)
            while at >= 0:
                if not at or not folded[at - 1].isalnum():
                    end = _WORD_END.match(folded, at).end()  # type: ignore[union-attr]  # matches an empty end too
                    found[text].append(folded[at:end])
                at = folded.find(start, at + 1)
    return found


def _without_accents(text: str) -> str | None:
    """A Latin text in lower case without accents, which the word index removes too; None in another script."""
    if text.isascii():
        return text.lower()
    if _OTHER_SCRIPT.search(text):
        return None
    return _ACCENT.sub("", unicodedata.normalize("NFD", text)).lower()
