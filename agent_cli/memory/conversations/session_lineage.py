"""The lineage of rows that belong to sessions: session notes, openings, rolling summaries, requests of callers.

Also of the input history, from which nothing is derived.
"""

from agent_cli import clock
from agent_cli.memory import lineage
from agent_cli.memory.conversations import callers, digest, log, sessions
from agent_cli.memory.lineage import Copy, Table, Walk
from agent_cli.store import ids
from agent_cli.store.db import Database

TABLES = (
    Table(
        "jotting",
        text_columns="text",
        other_columns="uid at",
        owner="(select owner from session where id = session_id)",
        counts={("jottings", "jotting"): "true"},
        personal_texts=("select text from jotting where id {ids}",),
    ),
    Table(
        "rolling",
        text_columns="text details",
        other_columns="method at",
        other_texts=("select text, details from rolling where session_id {ids}",),
    ),
    Table(
        "answered",
        text_columns="key lines",
        other_columns="owner hash at",
        counts={("requests of callers", "request of a caller"): "true"},
        mentions=lineage.mentions_topic("key"),
        dated=False,
        other_texts=("select key from answered where id {ids}",),
    ),
    # Callers are removed by a command of their own.
    Table("caller", text_columns="name owner", other_columns="uid hash may at seen_at revoked_at"),
    Table("prompt", text_columns="place text", other_columns="uid owner pasted at"),
)
COPIES = (
    Copy("prompts", "prompt", "prompt", "text", log.erase_prompts, short=True),
    Copy("openings", "opening", "session", "coalesce(opening, '')", sessions.drop_openings),
    Copy("lines of answers", "line of an answer", "answered", "lines", callers.blank_lines),
    Copy("jottings", "jotting", "jotting", "text", log.drop_notes),
)


def derive(db: Database, walk: Walk) -> None:
    """Add the rows of erased sessions, and the rolling summaries of sessions that lose messages.

    Also openings that carried over text of such a session, or of one whose summary is erased.
    """
    shorter = {*walk["session"], *walk.staying("session")}
    walk.add("rolling", shorter)
    walk.add("jotting", lineage.column(db, "select id from jotting where session_id {ids}", walk["session"]))
    messages = walk.losing_words("message")
    walk.add("answered", lineage.column(db, "select id from answered where message_id {ids}", messages))
    walk.add("answered", lineage.column(db, "select id from answered where session_id {ids}", walk["session"]))
    summarised = lineage.column(
        db,
        "select session_id from summary where session_id is not null and id {ids}",
        (*walk["summary"], *walk.staying("summary")),
    )
    handles = [ids.handle("session", id) for id in sorted(shorter | {*summarised})]
    handles += [ids.handle("summary", id) for id in (*walk["summary"], *walk.staying("summary"))]
    walk.add("openings", {*sessions.opened_with(db, handles)} - {*walk["session"]})


def erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    log.drop_notes(db, walk["jotting"])
    digest.erase(db, walk["rolling"])
    callers.erase_answered(db, walk["message"], walk["session"], walk["answered"])
    sessions.drop_openings(db, walk["openings"])
