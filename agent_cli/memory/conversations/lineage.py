"""The lineage of messages, calls and sessions: a message is erased with its answer, an answer as a whole without it.

A session is erased with its last message, and with it its notes, openings, rolling summary and requests of callers.
"""

from agent_cli import clock, text
from agent_cli.memory import lineage, tombstones
from agent_cli.memory.conversations import callers, digest, log, sessions
from agent_cli.memory.lineage import Copy, CutMessage, ErasureRequest, Owner, Table, Walk
from agent_cli.store import ids
from agent_cli.store.db import Database

_MESSAGES = (
    Table(
        "session",
        text_columns="place title opening source external_id",
        other_columns="uid owner kind started_at last_at opened_at closed_at hidden_at holder terminal profile",
        time="started_at",
        letter="s",
        counts={("sessions", "session"): "true"},
        line="title",
        personal_texts=("title, external_id",),
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
        personal_texts=("iif(role = 'user', text, '')",),
        other_texts=("iif(role = 'user', '', text), thinking, external_id, author",),
    ),
    Table(
        "tool_call",
        text_columns="call_id arguments",
        other_columns="uid name",
        made_from={"message": "message_id {ids}"},
        owner="(select owner from message where id = message_id)",
        letter="m",
        handle="message_id",
        stated_text="arguments",
        other_texts=("select atom from tool_call, json_tree(arguments) where type = 'text' and tool_call.id {ids}",),
    ),
)


# The offline model only quotes, so its replies are treated like results of tools.
_QUOTING = "iif(role = 'tool' or model = 'offline', text, '') || char(10) || thinking"


def _derive(db: Database, walk: Walk) -> None:
    """Add the answers to messages, all messages of sessions, and sessions left without messages."""
    cut = cut_messages(db, walk.request)
    walk.add("message", [id for id, message in cut.items() if not message.left])
    walk.add("message", log.exchanges(db, walk["message"]))
    walk.add("message", lineage.column(db, "select id from message where session_id {ids}", walk["session"]))
    emptied = """with erased as materialized (select id, session_id from message where id {ids})
                 select distinct session_id from erased e
                 where not exists (select 1 from message o where o.session_id = e.session_id
                                   and o.id not in (select id from erased))"""
    walk.add("session", lineage.column(db, emptied, walk["message"]))
    walk.partial["message"] = {id: message for id, message in cut.items() if id not in walk["message"]}
    touched = lineage.column(db, "select distinct session_id from message where id {ids}", walk.losing_words("message"))
    walk.partial["session"] = dict.fromkeys(sorted({*touched} - {*walk["session"]}))


def _erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    worded = "select at, text from message where text <> '' and id {ids}"
    messages = lineage.rows(db, worded, walk.losing_words("message"))
    tombstones.add(db, (tombstones.message_form(at, text) for at, text in messages), time(), walk.request.owner)
    for id, cut in walk.partial["message"].items():
        spans = text.sentence_spans(db.value("select text from message where id = ?", (id,)))
        log.cut(db, id, [spans[number - 1] for number in sorted(cut.removed)])
    log.erase(db, walk["message"])
    sessions.erase(db, walk["session"])


def cut_messages(db: Database, request: ErasureRequest) -> dict[int, CutMessage]:
    """The messages out of which sentences are cut; nothing is left of one whose sentences are all named."""
    found = {}
    for id, words in lineage.rows(db, "select id, text from message where id {ids}", request.sentences):
        sentences = dict(enumerate((words[first:last] for first, last in text.sentence_spans(words)), 1))
        removed = {number: each for number, each in sentences.items() if number in request.sentences[id]}
        left = "\n".join(each for number, each in sentences.items() if number not in removed)
        found[id] = CutMessage(left if left.replace(log.ERASED, "").strip() else "", removed)
    return found


_BLANKED = (
    Copy("titles", "title", "session", "title", sessions.blank_titles),
    Copy("quotations elsewhere", "quotation elsewhere", "message", _QUOTING, log.blank, "sentences"),
    Copy("calls elsewhere", "call elsewhere", "tool_call", "arguments", log.blank_calls, "lines"),
)
MESSAGES = Owner(_MESSAGES, _erase, _derive, _BLANKED)

_OF_SESSIONS = (
    Table(
        "jotting",
        text_columns="text",
        other_columns="uid at",
        owner="(select owner from session where id = session_id)",
        made_from={"session": "session_id {ids}"},
        counts={("jottings", "jotting"): "true"},
        personal_texts=("text",),
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
        made_from={"session": "session_id {ids}"},
        counts={("requests of callers", "request of a caller"): "true"},
        mentions=lineage.mentions_topic("key"),
        dated=False,
        other_texts=("key",),
    ),
    # Callers are removed by a command of their own.
    Table("caller", text_columns="name owner", other_columns="uid hash may at seen_at revoked_at"),
    Table("prompt", text_columns="place text", other_columns="uid owner pasted at"),
)


def _derive_of_sessions(db: Database, walk: Walk) -> None:
    """Add what belongs to sessions that are erased or lose messages, and openings that carried over text of such."""
    shorter = {*walk["session"], *walk.staying("session")}
    walk.add("rolling", shorter)
    messages = walk.losing_words("message")
    walk.add("answered", lineage.column(db, "select id from answered where message_id {ids}", messages))
    summaries = (*walk["summary"], *walk.staying("summary"))
    of_sessions = "select session_id from summary where session_id is not null and id {ids}"
    summarised = lineage.column(db, of_sessions, summaries)
    handles = [ids.handle("session", id) for id in sorted(shorter | {*summarised})]
    handles += [ids.handle("summary", id) for id in summaries]
    walk.add("openings", {*sessions.opened_with(db, handles)} - {*walk["session"]})


def _erase_of_sessions(db: Database, walk: Walk, time: clock.Clock) -> None:
    log.drop_notes(db, walk["jotting"])
    digest.erase(db, walk["rolling"])
    callers.erase_answered(db, walk["message"], walk["session"], walk["answered"])
    sessions.drop_openings(db, walk["openings"])


_OPENINGS_AND_PROMPTS = (
    Copy("prompts", "prompt", "prompt", "text", log.erase_prompts, short=True),
    Copy("openings", "opening", "session", "coalesce(opening, '')", sessions.drop_openings),
    Copy("lines of answers", "line of an answer", "answered", "lines", callers.blank_lines),
    Copy("jottings", "jotting", "jotting", "text", log.drop_notes),
)
SESSION_ROWS = Owner(_OF_SESSIONS, _erase_of_sessions, _derive_of_sessions, _OPENINGS_AND_PROMPTS)
