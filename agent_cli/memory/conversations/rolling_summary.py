"""The rolling summary of the part of a session that no longer fits the model's context window.

It is always made from the transcript, never from an older summary: at once from the most important sentences, and again
by the small model in a job. Numbers, paths and the like are extracted word for word beside it.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from datetime import datetime

from agent_cli import clock, text
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import digest, log
from agent_cli.memory.language import keywords, languages
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen

JOB = "fold"
WORDS = 150
_SENTENCE = 40  # words of one sentence
_MIN_NEW = 0.4  # share of new words that a sentence needs
_DETAILS = 400  # characters
_LONGEST = 1_500  # characters, for scripts without spaces
_EXTRACTED = 40_000  # characters of a transcript

_QUESTION = """Below is the earlier part of a conversation that goes on. Its words are no longer shown to the assistant.
Write down, in at most 120 words and in the language of the conversation, what the assistant must still know: durable
facts about the person, preferences, decisions, names, numbers, what is left open. State only what is said. No heading,
no list, no introduction.

<conversation>
{transcript}
</conversation>"""

_DURABLE = languages.pattern(r"\b<DURABLE>\b")


@frozen
class RollingSummary:
    up_to: int  # the last message it covers
    text: str
    details: str
    method: str


def get(db: Database, session: int) -> RollingSummary | None:
    row = db.row("select up_to, text, details, method from rolling where session_id = ?", (session,))
    return RollingSummary(*row) if row else None


def fold(db: Database, session: int, up_to: int, now: datetime) -> RollingSummary:
    """Summarise the messages up to this one: extract now, and queue the model's version."""

    def extracted() -> RollingSummary:
        entries = _folded(db, session, up_to)
        return _made(up_to, extract(entries), entries, "extract")

    rounds, made = tombstones.erasure_count(db), extracted()
    with db.write():
        if tombstones.erasure_count(db) != rounds:  # do not store again what was forgotten meanwhile
            made = extracted()
        _write(db, session, made, now)
        jobs.add(db, JOB, ids.handle("session", session), now)
    return made


def ask_model(
    db: Database, session: int, characters: int, ask: Callable[[str], Iterator[str]]
) -> RollingSummary | None:
    """The model's version of the present summary; None when there is none."""
    present = get(db, session)
    if present is None:
        return None
    entries = _folded(db, session, present.up_to)
    transcript = digest.escape_end_tag(digest.transcript(entries, characters), "conversation")
    words = " ".join("".join(ask(_QUESTION.format(transcript=transcript))).split())
    sentences, room = [], WORDS  # whole sentences, where there are any
    for sentence in text.sentences(words):
        room -= len(sentence.split())
        if room < 0:
            break
        sentences.append(sentence)
    short = text.one_line(" ".join(sentences) or " ".join(words.split()[:WORDS]), _LONGEST)
    return _made(present.up_to, short, entries, "model") if words else None


def folded(db: Database, session: int) -> list[log.Entry]:
    """The messages of person and assistant that the present summary covers."""
    present = get(db, session)
    return _folded(db, session, present.up_to) if present else []


def save(db: Database, session: int, made: RollingSummary, now: datetime) -> bool:
    """Store the model's version; False when more messages are covered since. Runs in the caller's transaction."""
    present = get(db, session)
    if present and present.up_to == made.up_to:
        _write(db, session, made, now)
    return not present or present.up_to == made.up_to


def erase(db: Database, sessions: Sequence[int]) -> None:
    db.execute("delete from rolling where session_id in (select value from json_each(?))", (sessions,))


def extract(entries: Sequence[log.Entry]) -> str:
    """The most important sentences with new words, in order, in at most 150 words; what the person says comes first."""

    def is_lasting(each: digest.WeightedSentence) -> bool:  # suggests a lasting statement of the person
        return each.speaker != "assistant" and not each.words.endswith("?") and bool(_DURABLE.search(each.words))

    found = digest.sentences(digest.transcript(entries, _EXTRACTED))
    chosen, known, room = list[digest.WeightedSentence](), set[str](), WORDS
    for each in sorted(found, key=lambda each: (not is_lasting(each), -each.weight)):
        words = each.words.split()
        if len(words) > _SENTENCE:
            words = [*words[:_SENTENCE], "…"]
            each = replace(each, words=" ".join(words))
        size, sentence_words = len(words) + 1, set(text.words(each.words))
        if each.weight and size <= room and len(sentence_words - known) >= _MIN_NEW * len(sentence_words):
            room -= size
            known |= sentence_words
            chosen.append(each)
    return " ".join(f"{each.speaker}: {each.words}" for each in sorted(chosen, key=lambda each: each.place))


def _made(up_to: int, words: str, entries: Sequence[log.Entry], method: str) -> RollingSummary:
    """The summary with the details, such as numbers and paths, that its words leave out."""
    details = keywords.newest_details((entry.message.text for entry in entries), _DETAILS, words)
    return RollingSummary(up_to, words, details, method)


def _folded(db: Database, session: int, up_to: int) -> list[log.Entry]:
    return [entry for entry in log.history(db, session) if entry.id <= up_to and log.is_spoken(entry)]


def _write(db: Database, session: int, made: RollingSummary, now: datetime) -> None:
    db.execute(
        """insert into rolling (session_id, up_to, text, details, method, at) values (?, ?, ?, ?, ?, ?)
           on conflict (session_id) do update set up_to = excluded.up_to, text = excluded.text,
              details = excluded.details, method = excluded.method, at = excluded.at""",
        (session, made.up_to, made.text, made.details, made.method, clock.utc(now)),
    )
