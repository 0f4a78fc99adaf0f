"""Summaries of closed sessions: at most five sentences, always made from the transcript, never from a summary.

With a model they are its words, cut after the fifth sentence by the program. Without one they are the five sentences
of the transcript that say most, marked as extracted, and made again when a model answers.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from agent_cli import clock, text
from agent_cli.memory import digest, index, log
from agent_cli.memory.scope import Scope
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database

SENTENCES = 5
_EXTRACTED = 20_000  # characters of a transcript
JOB = "summary"

Ask = Callable[[str], Iterator[str]]
"""Puts one question to a language model and streams its words. Raises AgentError."""

_QUESTION = """Summarise this conversation between a person and their assistant for the assistant's own memory.
At most five short sentences, in the language of the conversation. Keep names, numbers, dates, preferences, decisions
and what was left open. State only what is said. No heading, no list, no introduction.

<conversation>
{transcript}
</conversation>"""


@dataclass(frozen=True)
class Summary:
    session: int
    text: str
    method: str
    started_at: str
    utc_offset: int


def stream(transcript: str, ask: Ask | None) -> Iterator[str]:
    """The words of a summary as they come, at most five sentences. `ask` None extracts instead."""
    if ask is None:
        yield extract(transcript)
        return
    whole = ""
    for piece in ask(_QUESTION.format(transcript=transcript)):
        before, whole = whole, whole + piece
        if len(text.sentences(whole)) > SENTENCES:
            yield text.beginning(whole, SENTENCES)[len(before) :]
            return
        yield piece


def cut(words: str) -> str:
    """Its first five sentences."""
    return " ".join(text.sentences(words)[:SENTENCES])


def extract(transcript: str) -> str:
    """The five sentences whose words stand most often in the transcript, in their order."""
    best = sorted(digest.sentences(transcript), key=lambda each: (-each.weight, each.place))[:SENTENCES]
    return " ".join(f"{each.speaker}: {each.words}" for each in sorted(best, key=lambda each: each.place))


def transcript(db: Database, session: int, characters: int) -> str:
    """What person and assistant said, a line each, at most this long."""
    return digest.lines(log.history(db, session), characters)


def keep(db: Database, session: int, words: str, method: str, model: str, time: clock.Clock) -> None:
    """Store the summary of a session in place of an earlier one. Runs in the caller's transaction."""
    now = time()
    about = db.row("select owner, place from session where id = ?", (session,))
    if about is None:
        return
    if not words.strip():  # the model had nothing to say
        if of(db, session):
            return
        words, method, model = extract(transcript(db, session, _EXTRACTED)), "extract", ""
    earlier = db.value("select id from summary where session_id = ?", (session,))
    if earlier:
        index.erase(db, "y", earlier)  # before its words change
    db.execute(
        """insert into summary (uid, owner, place, session_id, text, method, model, at, utc_offset)
           values (?, ?, ?, ?, ?, ?, ?, ?, ?)
           on conflict (session_id) do update set text = excluded.text, method = excluded.method,
              model = excluded.model, at = excluded.at, utc_offset = excluded.utc_offset""",
        (ids.new(now), *about, session, cut(words), method, model, clock.utc(now), clock.offset(now)),
    )


def of(db: Database, session: int) -> Summary | None:
    row = db.row(_SELECT + "where y.session_id = ?", (session,))
    return Summary(*row) if row else None


def is_current(db: Database, session: int) -> bool:
    """Whether nothing has been said since its summary was made, by a model."""
    row = db.row(
        """select y.method, y.at >= s.last_at from summary y join session s on s.id = y.session_id
           where s.id = ?""",
        (session,),
    )
    return row == ("model", 1)


def recent(db: Database, scope: Scope, limit: int, besides: int | None = None) -> list[Summary]:
    """The newest summaries of conversations here, the most recent last."""
    rows = db.rows(
        _SELECT
        + """where y.owner = ? and y.place = ? and y.hidden_at is null and s.hidden_at is null and s.kind = 'chat'
               and s.id is not ? order by s.last_at desc limit ?""",
        (scope.owner, scope.place, besides, limit),
    )
    return [Summary(*row) for row in reversed(rows)]


def erase(db: Database, found: Sequence[int]) -> None:
    """Delete summaries, out of the index first. Runs in the caller's transaction."""
    index.erase_many(db, "y", found)
    db.execute("delete from summary where id in (select value from json_each(?))", (json.dumps(list(found)),))


def queue_extracted(db: Database, now: datetime) -> None:
    """Have those that were made without a model made again."""
    rows = db.rows(
        """select y.session_id from summary y join session s on s.id = y.session_id
           where y.method = 'extract' and s.closed_at is not null"""
    )
    for (session,) in rows:
        jobs.add(db, JOB, ids.handle("session", session), now)


_SELECT = """select y.session_id, y.text, y.method, s.started_at, s.utc_offset
             from summary y join session s on s.id = y.session_id """
