"""How a session is summarised: at most five sentences, always made from the transcript, never from a summary.

With a model they are its words, cut after the fifth sentence by the program. Without one they are the five sentences
of the transcript that say most, marked as extracted, and made again when a model answers. The program adds the messages
that each sentence comes from, and word for word what summaries lose.
"""

from collections.abc import Callable, Iterable, Iterator
from datetime import datetime

from agent_cli import text
from agent_cli.memory.conversations import digest, log
from agent_cli.memory.language import attribution, details
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import NewSummary, Source
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database

SENTENCES = 5
_EXTRACTED = 20_000  # characters of a transcript
_DETAILS = 300
_LONGEST = 4_000  # characters of what a model says
JOB = "summary"

Ask = Callable[[str], Iterator[str]]
"""Puts one question to a language model and streams its words. Raises AgentError."""

_QUESTION = """Summarise this conversation between a person and their assistant for the assistant's own memory.
At most five short sentences, in the language of the conversation. Keep names, numbers, dates, preferences, decisions
and what was left open. State only what is said. No heading, no list, no introduction.

<conversation>
{transcript}
</conversation>"""


def stream(transcript: str, ask: Ask | None) -> Iterator[str]:
    """The words of a summary as they come, at most five sentences; none of nothing. `ask` None extracts instead."""
    if ask is None:
        yield extract(transcript)
        return
    if not transcript:  # a model would make something up
        return
    yield from beginning(ask(_QUESTION.format(transcript=digest.escape_end_tag(transcript, "conversation"))), SENTENCES)


def beginning(pieces: Iterable[str], count: int) -> Iterator[str]:
    """What a model says up to the end of its `count`-th sentence, as it comes; one that finds no end is cut off."""
    whole = ""
    for piece in pieces:
        before, whole = whole, (whole + piece)[:_LONGEST]
        if len(text.sentences(whole)) > count:
            yield text.first_sentences(whole, count)[len(before) :]
            return
        yield whole[len(before) :]
        if len(whole) == _LONGEST:
            return


def cut(words: str) -> str:
    """Its first five sentences."""
    return " ".join(text.sentences(words)[:SENTENCES])


def extract(transcript: str) -> str:
    """The five sentences whose words stand most often in the transcript, in their order."""
    best = sorted(digest.sentences(transcript), key=lambda each: (-each.weight, each.place))[:SENTENCES]
    return " ".join(f"{each.speaker}: {each.words}" for each in sorted(best, key=lambda each: each.place))


def transcript(db: Database, session: int, characters: int) -> str:
    """What person and assistant said, a line each, at most this long."""
    return digest.transcript(log.history(db, session), characters)


def make(db: Database, session: int, words: str, method: str, model: str) -> NewSummary | None:
    """The summary in these words, with its sources and details; None when a model has nothing to add to its own."""
    if not words.strip():  # the model had nothing to say
        earlier = summaries.of_session(db, session)
        if earlier and earlier.method == summaries.MODEL:
            return None  # an extract is made anew, to stand beside the name of the model: it is not asked again
        words, method = extract(transcript(db, session, _EXTRACTED)), summaries.EXTRACT
        if not words:
            return None
    said = [entry for entry in log.history(db, session) if log.is_spoken(entry) and entry.message.text]
    earlier = summaries.of_session(db, session)
    outlived = summaries.orphaned_sentences(db, earlier) if earlier else []
    new = text.sentences(cut(words))
    items = [(Source("message", entry.id), entry.message.text) for entry in said]
    lifted = details.newest((entry.message.text for entry in said), _DETAILS)
    if earlier and outlived:  # so do the details of what is gone
        lifted = details.merge([earlier.details, lifted], _DETAILS)
    told, sources = summaries.join_sentences([*outlived, *zip(new, attribution.sources(new, items), strict=True)])
    return NewSummary(told, lifted, method, model, sources)


def queue_extracted(db: Database, now: datetime) -> None:
    """Have those that were made without a model made again."""
    for _, _, session in summaries.made_without_model(db):
        if session is not None and not jobs.parked_recently(db, JOB, ids.handle("session", session), now):
            jobs.add(db, JOB, ids.handle("session", session), now)
