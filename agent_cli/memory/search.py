"""Find words in what is kept: a scan of messages, notes and summaries for any word of the question.

The plain one, good for some ten thousand messages; an index will take its place.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass

from agent_cli import text
from agent_cli.store import ids
from agent_cli.store.db import Database

# Words that say how a question is put, not what it is about.
_STOP = """
    a about all am an and any are as at be been but by can could did do does for from had has have he her him his how i
    if in is it its just me my no not of on or our she so that the their them then there they this to up us was we were
    what when where which who why will with would you your
    aber als am auf aus bei bin da das dass dem den der des die du ein eine einen er es für hat habe hast ich ihr im in
    ist ja kann mein meine mich mir mit nach nicht noch oder sie sind so und uns von war was wann warum wer wie wir wo
    zu
"""
STOP_WORDS = frozenset(_STOP.split())

_SOURCES = {
    "message": """select id, at, utc_offset, text from message where owner = :owner and role in ('user', 'assistant')
                    and session_id is not :session and model <> 'offline'  -- which only quotes the others
                    and session_id not in (select id from session where hidden_at is not null)""",
    "note": """select id, at, utc_offset, iif(title = '', '', title || ': ') || text as text from note
               where owner = :owner and hidden_at is null""",
    "summary": """select id, at, utc_offset, text from summary where owner = :owner and hidden_at is null
                    and session_id not in (select id from session where hidden_at is not null)""",
}


@dataclass(frozen=True)
class Hit:
    kind: str
    id: int
    at: str
    utc_offset: int
    text: str
    score: float

    @property
    def handle(self) -> str:
        return ids.handle(self.kind, self.id)


def find(
    db: Database, owner: str, query: str, limit: int, kinds: Sequence[str] = tuple(_SOURCES), besides: int | None = None
) -> list[Hit]:
    """Rows with any word of the query, best first: more of its words count more, later ones before earlier.

    `besides` is a session to leave out, the one in which the question was just asked.
    """
    asked = text.words(query)
    wanted = {word for word in asked if word not in STOP_WORDS and len(word) > 1} or set(asked)
    hits = []
    for kind in kinds:
        rows = db.rows(
            f"""with one as ({_SOURCES[kind]}), folded as materialized (select *, fold(text) as low from one)
                select id, at, utc_offset, text from folded
                where exists (select 1 from json_each(:words) where instr(low, value))""",
            {"owner": owner, "session": besides, "words": json.dumps(sorted(wanted))},
        )
        for id, at, offset, body in rows:
            score = _score(wanted, body)
            if score:
                hits.append(Hit(kind, id, at, offset, body, score))
    return sorted(hits, key=lambda hit: (hit.score, hit.at), reverse=True)[:limit]


def _score(wanted: set[str], body: str) -> float:
    """The share of wanted words that begin a word of the body."""
    found = text.words(body)
    return sum(any(word.startswith(want) for word in found) for want in wanted) / len(wanted)
