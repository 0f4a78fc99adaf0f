"""The lineage of messages, calls and sessions: a message is erased with its answer, an answer as a whole without it.

A session is erased with its last message. Other rows of a session are in session_lineage.py.
"""

from collections.abc import Iterable

from agent_cli import clock, text
from agent_cli.memory import lineage, tombstones
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.lineage import Copy, CutMessage, ErasureRequest, Ids, Table, Walk
from agent_cli.store.db import Database

_ERASED = "(erased)"

TABLES = (
    Table(
        "session",
        text_columns="place title opening source external_id",
        other_columns="uid owner kind started_at last_at opened_at closed_at hidden_at holder terminal profile",
        time="started_at",
        letter="s",
        counts={("sessions", "session"): "true"},
        line="title",
        personal_texts=("select title, external_id from session where id {ids}",),
    ),
    Table(
        "message",
        text_columns="place author text parts thinking answers tool external_id",
        other_columns="uid owner role finish model at undone_at",
        letter="m",
        counts={
            ("messages", "message"): "role = 'user'",
            ("replies", "reply"): "role = 'assistant'",
            ("tool results", "tool result"): "role = 'tool'",
        },
        partial_names=("messages in part", "message in part"),
        line="text",
        line_condition="role <> 'tool' and text <> ''",
        mentions=f"""{lineage.mentions_topic("text", "thinking", "coalesce(external_id, '')", "author")}
                     or exists (select 1 from tool_call where message_id = message.id
                                and {lineage.mentions_topic("arguments")})""",
        stated_text=lineage.joined("text", "thinking"),
        personal_texts=("select text from message where role = 'user' and id {ids}",),
        other_texts=("select iif(role = 'user', '', text), thinking, external_id, author from message where id {ids}",),
    ),
    Table(
        "tool_call",
        text_columns="call_id arguments",
        other_columns="uid name",
        owner="(select owner from message where id = message_id)",
        letter="m",
        handle="message_id",
        stated_text="arguments",
        other_texts=("select atom from tool_call, json_tree(arguments) where type = 'text' and tool_call.id {ids}",),
    ),
)


def _blank_messages(db: Database, found: Ids) -> None:
    log.blank(db, found, (), _ERASED)


def _blank_calls(db: Database, found: Ids) -> None:
    log.blank(db, (), found, _ERASED)


# The offline model only quotes, so its replies are treated like results of tools.
_QUOTING = "iif(role = 'tool' or model = 'offline', text, '') || char(10) || thinking"

COPIES = (
    Copy("titles", "title", "session", "title", sessions.blank_titles),
    Copy(
        "quotations elsewhere",
        "quotation elsewhere",
        "message",
        _QUOTING,
        _blank_messages,
        looks_for="sentences",
    ),
    Copy("calls elsewhere", "call elsewhere", "tool_call", "arguments", _blank_calls, looks_for="lines"),
)


def derive(db: Database, walk: Walk) -> None:
    """Add the answers to messages, all messages of sessions, and sessions left without messages."""
    cut = cut_messages(db, walk.request)
    walk.add("message", [id for id, message in cut.items() if not message.left])
    walk.add("message", log.exchanges(db, walk["message"]))
    walk.add("message", lineage.column(db, "select id from message where session_id {ids}", walk["session"]))
    walk.add("tool_call", lineage.column(db, "select id from tool_call where message_id {ids}", walk["message"]))
    walk.add("session", _emptied(db, walk["message"]))
    walk.partial["message"] = {id: message for id, message in cut.items() if id not in walk["message"]}
    touched = lineage.column(db, "select distinct session_id from message where id {ids}", walk.losing_words("message"))
    walk.partial["session"] = dict.fromkeys(sorted({*touched} - {*walk["session"]}))


def erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    worded = "select at, text from message where text <> '' and id {ids}"
    messages = lineage.rows(db, worded, walk.losing_words("message"))
    tombstones.add(db, (tombstones.message_form(at, text) for at, text in messages), time(), walk.request.owner)
    for id, cut in walk.partial["message"].items():
        spans = text.sentence_spans(db.value("select text from message where id = ?", (id,)))
        log.cut(db, id, [spans[number - 1] for number in sorted(cut.removed)], _ERASED)
    log.erase(db, walk["message"])
    sessions.erase(db, walk["session"])


def cut_messages(db: Database, request: ErasureRequest) -> dict[int, CutMessage]:
    """The messages out of which sentences are cut; nothing is left of one whose sentences are all named."""
    found = {}
    for id, words in lineage.rows(db, "select id, text from message where id {ids}", request.sentences):
        sentences = dict(enumerate((words[first:last] for first, last in text.sentence_spans(words)), 1))
        removed = {number: each for number, each in sentences.items() if number in request.sentences[id]}
        left = "\n".join(each for number, each in sentences.items() if number not in removed)
        found[id] = CutMessage(left if left.replace(_ERASED, "").strip() else "", removed)
    return found


def _emptied(db: Database, messages: Iterable[int]) -> list[int]:
    return lineage.column(
        db,
        """with erased as materialized (select id, session_id from message where id {ids})
           select distinct session_id from erased e
           where not exists (select 1 from message o where o.session_id = e.session_id
                             and o.id not in (select id from erased))""",
        messages,
    )
