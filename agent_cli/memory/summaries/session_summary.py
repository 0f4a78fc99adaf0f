"""Summarises a session in at most five sentences, always from the transcript, never from a summary.

A model's words are cut after the fifth sentence. Without a model the five most telling sentences of the transcript are
extracted, marked as such, and replaced when a model answers. The program adds details word for word, and the sources of
each sentence by the words they share: a shared word counts by how few of the sources have it (idf).
"""

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from typing import TypeVar

from agent_cli import text
from agent_cli.memory.conversations import digest, log
from agent_cli.memory.language import keywords, statements
from agent_cli.memory.language.terms import STOP_WORDS
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import NewSummary, Source
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database

T = TypeVar("T")

_MAX_SOURCES = 3  # for each sentence
_MIN_SHARE, _MIN_OF_BEST = 0.3, 0.7  # of the weight shared with all sources together, and with the best source


def attribute(sentences: Sequence[str], items: Sequence[tuple[T, str]]) -> list[tuple[T, ...]]:
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


SENTENCES = 5
_EXTRACTED = 20_000  # characters of a transcript
_DETAILS = 300
_MAX_REPLY = 4_000  # characters of a model's reply
JOB = "summary"

AskModel = Callable[[str], Iterator[str]]
"""Puts one question to a language model and streams its words. Raises AgentError."""

_RULES = """At most five short sentences, in the language of the conversation. Keep names, numbers, dates, preferences,
decisions and what was left open. State only what is said. No heading, no list, no introduction."""

_CONVERSATION = """

<conversation>
{transcript}
</conversation>"""

_QUESTION = f"""Summarise this conversation between a person and their assistant for the assistant's own memory.
{_RULES}{_CONVERSATION}"""

_AFTER = f"""The program asks this, not the person: the conversation ends here. Summarise it for your own memory, and
call no tool: what was said above, not what the program put beside it.
{_RULES}{{earlier}}"""

_EARLIER = f"""

It began with this, which is no longer shown above:{_CONVERSATION}"""


def stream(transcript: str, ask: AskModel | None) -> Iterator[str]:
    """The words of a summary as they arrive, at most five sentences; none for an empty transcript. Without `ask` it is
    extracted."""
    if ask is None:
        yield extract(transcript)
        return
    if not transcript:  # a model would make something up
        return
    yield from first_sentences(
        ask(_QUESTION.format(transcript=digest.escape_end_tag(transcript, "conversation"))), SENTENCES
    )


def stream_after(folded: str, ask: AskModel) -> Iterator[str]:
    """The words of a summary as they arrive, where `ask` shows the conversation itself, without the part `folded`."""
    earlier = _EARLIER.format(transcript=text.unfenced(digest.escape_end_tag(folded, "conversation"))) if folded else ""
    yield from first_sentences(ask(_AFTER.format(earlier=earlier)), SENTENCES)


def first_sentences(pieces: Iterable[str], count: int) -> Iterator[str]:
    """A streamed reply up to the end of its `count`-th sentence, and at most _MAX_REPLY characters."""
    reply = ""
    for piece in pieces:
        before, reply = reply, (reply + piece)[:_MAX_REPLY]
        if len(text.sentences(reply)) > count:
            yield text.first_sentences(reply, count)[len(before) :]
            return
        yield reply[len(before) :]
        if len(reply) == _MAX_REPLY:
            return


def limit_sentences(words: str) -> str:
    """The first five sentences."""
    return " ".join(text.sentences(words)[:SENTENCES])


def extract(transcript: str) -> str:
    """The five sentences with the most frequent words of a transcript, in order; small talk if it has no other."""
    found = digest.sentences(transcript)
    telling = [each for each in found if not statements.is_small_talk(each.words)] or found
    return digest.narration(sorted(telling, key=lambda each: (-each.weight, each.place))[:SENTENCES])


def transcript(db: Database, session: int, characters: int) -> str:
    """The messages of person and assistant, a line each, at most this long."""
    return digest.transcript(log.history(db, session), characters)


def sensible(words: str) -> str:
    """A model's summary; empty when it is made of signs, or mostly of sentences that stand more than once."""
    said = [each.casefold() for each in text.sentences(words)]
    dense = "".join(words.split())
    return words if 2 * sum(map(str.isalnum, dense)) > len(dense) and 2 * len(set(said)) > len(said) else ""


def compose(db: Database, session: int, words: str, method: str, model: str) -> NewSummary | None:
    """The summary in these words, with its sources and details; None to keep the model's earlier one."""
    words = sensible(words)
    if not words.strip():  # the model had nothing to say
        earlier = summaries.of_session(db, session)
        if earlier and earlier.method == summaries.MODEL:
            return None  # otherwise an extract is stored with the model's name, so that it is not asked again
        words, method = extract(transcript(db, session, _EXTRACTED)), summaries.EXTRACT
        if not words:
            return None
    entries = [entry for entry in log.history(db, session) if log.is_spoken(entry) and entry.message.text]
    earlier = summaries.of_session(db, session)
    orphaned = summaries.orphaned_sentences(db, earlier) if earlier else []
    new = text.sentences(limit_sentences(words))
    items = [(Source("message", entry.id), entry.message.text) for entry in entries]
    whole, sources = summaries.join_sentences([*orphaned, *zip(new, attribute(new, items), strict=True)])
    extracted = keywords.newest_details((entry.message.text for entry in entries), _DETAILS, whole)
    if earlier and orphaned:  # keep the details of removed messages too
        extracted = keywords.merge_details([earlier.details, extracted], _DETAILS, whole)
    return NewSummary(whole, extracted, method, model, sources)


def queue_extracted(db: Database, now: datetime) -> None:
    """Queue the summaries made without a model again."""
    for _, _, session in summaries.made_without_model(db):
        if session is not None and not jobs.parked_recently(db, JOB, ids.handle("session", session), now):
            jobs.add(db, JOB, ids.handle("session", session), now)
