"""Records what was recalled for each message of the person, for `why` and to rebuild a request."""

import json
import re
from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING

from agent_cli import clock
from agent_cli.errors import UsageError
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

if TYPE_CHECKING:
    from agent_cli.memory.search.recall import Hit

_VERDICT = ""  # the kind of the row that tells the verdict


@frozen
class RecalledRow:
    kind: str
    row: int
    score: float
    legs: dict[str, float]
    text: str

    @property
    def handle(self) -> str:
        return ids.handle(self.kind, self.row)


def record(db: Database, message: int, used: Sequence[tuple["Hit", str]], verdict: str, now: datetime) -> None:
    """Record the hits sent to the model with a message and their words as shown, and what it is told of the verdict."""
    at = clock.utc(now)
    rows = [(message, hit.kind, hit.id, hit.score, json.dumps(dict(hit.legs)), shown, at) for hit, shown in used]
    if verdict:
        rows.append((message, _VERDICT, 0, 0.0, "{}", verdict, at))
    with db.write():
        db.execute_many(
            "insert into recollection (message_id, kind, row, score, legs, text, at) values (?, ?, ?, ?, ?, ?, ?)", rows
        )


def recalled_for(db: Database, message: int) -> list[RecalledRow]:
    rows = db.rows(
        "select kind, row, score, legs, text from recollection where message_id = ? and kind <> ? order by id",
        (message, _VERDICT),
    )
    return [RecalledRow(kind, row, score, json.loads(legs), text) for kind, row, score, legs, text in rows]


def verdict_for(db: Database, message: int) -> str:
    """What the model is told of the verdict on a message, or an empty string."""
    found = db.value("select text from recollection where message_id = ? and kind = ?", (message, _VERDICT))
    return str(found or "")


def replies_given(db: Database, kind: str, rows: Sequence[int]) -> list[tuple[int, int]]:
    """(reply, row) for the replies in exchanges for which one of these rows was recalled."""
    query = """select r.id, c.row from recollection c join message q on q.id = c.message_id
               join message r on r.session_id = q.session_id and r.role = 'assistant' and r.id > q.id
               where c.kind = ? and c.row in (select value from json_each(?))
               and not exists (select 1 from message n where n.session_id = q.session_id and n.role = 'user'
                               and n.id > q.id and n.id < r.id)"""
    return db.rows(query, (kind, rows))


def erase_for_messages(db: Database, messages: Sequence[int]) -> None:
    db.execute("delete from recollection where message_id in (select value from json_each(?))", (messages,))


def message_id(db: Database, owner: str, handle: str | None = None) -> int:
    """The id of the person's message with this handle, or of the last one. Raises UsageError."""
    if handle is None:
        latest = db.value("select max(id) from said where owner = ? and role = 'user'", (owner,))
        if latest is None:
            raise UsageError("nothing has been asked yet")
        return int(latest)
    message = ids.number("message", handle)
    if not db.value("select 1 from message where id = ? and owner = ?", (message, owner)):
        raise UsageError(f"there is no message m{message}")
    return message


def is_handle(words: str) -> bool:
    """Whether these words name a message, or are to be asked."""
    return re.fullmatch(r"[a-z]?\d+", words, re.IGNORECASE) is not None


def explain(db: Database, message: int) -> str:
    """What was recalled for a message and the legs of each score, as lines for a person."""
    shown = []
    for each in recalled_for(db, message):
        legs = " + ".join(f"{name} {share:.2f}" for name, share in each.legs.items())
        shown += [each.text, f"    {each.score:.2f} = {legs}"]
    return "\n".join(shown) or nothing_for(db, message)


def nothing_for(db: Database, message: int) -> str:
    """The sentence of a message for which nothing was recalled."""
    query = (
        "select model from said where session_id = (select session_id from said where id = ?1) and id > ?1 order by id"
    )
    if db.value(f"{query} limit 1", (message,)) == "offline":
        return "no model was asked, and the answer itself names what it quotes from memory"
    return "nothing was recalled for this question"
