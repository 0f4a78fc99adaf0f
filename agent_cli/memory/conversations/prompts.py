"""The input history of the prompt: kept across sessions, and erased with the messages it led to."""

import json
from collections.abc import Iterable, Sequence
from datetime import datetime

from agent_cli import clock
from agent_cli.memory.scope import Scope
from agent_cli.store import ids
from agent_cli.store.db import Database

MAX_PROMPTS = 5000  # for each owner; older ones are deleted


def add(db: Database, scope: Scope, session: int | None, text: str, now: datetime, pasted: Iterable[str] = ()) -> None:
    """Add a line with its `pasted` parts, unless it repeats the last one or begins with a space, which keeps it out."""
    if not text.strip() or text.startswith(" "):
        return
    spans = json.dumps([[text.index(piece), len(piece)] for piece in pasted])
    with db.write():
        if text == db.value("select text from prompt where owner = ? order by id desc limit 1", (scope.owner,)):
            return
        db.execute(
            "insert into prompt (uid, owner, place, session_id, text, pasted, at) values (?, ?, ?, ?, ?, ?, ?)",
            (ids.new(now), scope.owner, scope.place, session, text, spans, clock.utc(now)),
        )
        db.execute(
            """delete from prompt where owner = ?1
               and id <= (select id from prompt where owner = ?1 order by id desc limit 1 offset ?2)""",
            (scope.owner, MAX_PROMPTS),
        )


def recent(db: Database, owner: str, limit: int) -> list[str]:
    rows = db.rows("select text from prompt where owner = ? order by id desc limit ?", (owner, limit))
    return [text for (text,) in rows]


def pasted(db: Database, owner: str, limit: int) -> dict[str, list[str]]:
    """The pasted parts of those of the newest lines that have any, by the line."""
    rows = db.rows("select text, pasted from prompt where owner = ? order by id desc limit ?", (owner, limit))
    read = ((text, json.loads(spans)) for text, spans in rows)
    return {text: [text[start : start + length] for start, length in spans] for text, spans in read if spans}


def all_are_command(db: Database, found: Sequence[int], command: str) -> bool:
    return not db.value(
        "select count(*) from prompt where id in (select value from json_each(?)) and text not like ? || ' %'",
        (found, command),
    )


def erase(db: Database, found: Sequence[int]) -> None:
    db.execute("delete from prompt where id in (select value from json_each(?))", (found,))
