"""What forgetting touches: all tables with what their rows hold and are made from, and how rows are erased.

A message is erased with its answer, an answer as a whole without it; a session with its last message. Of documents the
stored text is erased, and the file itself stays on the disk; one whose path mentions the topic is erased completely.
"""

import os
from collections.abc import Sequence
from importlib import import_module

from agent_cli import clock, kinds, text
from agent_cli.memory import lineage, tombstones
from agent_cli.memory.conversations import callers, digest, log, sessions
from agent_cli.memory.documents import documents
from agent_cli.memory.facts import facts
from agent_cli.memory.lineage import Copy, CutMessage, ErasureRequest, Owner, Table, Walk
from agent_cli.memory.scope import file_location, short_path
from agent_cli.memory.search import index
from agent_cli.memory.skills import skills
from agent_cli.memory.summaries import period_summaries
from agent_cli.store import file_check, ids, jobs, schema
from agent_cli.store.db import Database

_NAMED = 3  # files that are named

# Conversations.

_MESSAGES = (
    Table("session", time="started_at", line="title", personal_texts=("title, external_id",)),
    Table(
        "message",
        counts={
            ("messages", "message"): "role = 'user'",
            ("replies", "reply"): "role = 'assistant'",
            ("tool results", "tool result"): "role = 'tool'",
        },
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
        part_of="message",
        made_from={"message": "message_id {ids}"},
        owner="(select owner from message where id = message_id)",
        stated_text="arguments",
        other_texts=("select atom from tool_call, json_tree(arguments) where type = 'text' and tool_call.id {ids}",),
    ),
)
_OF_SESSIONS = (
    Table(
        "jotting",
        owner="(select owner from session where id = session_id)",
        made_from={"session": "session_id {ids}"},
        counts={("session notes", "session note"): "true"},
        personal_texts=("text",),
    ),
    Table("rolling", other_texts=("select text, details from rolling where session_id {ids}",)),
    Table(
        "answered",
        made_from={"session": "session_id {ids}"},
        counts={("requests of callers", "request of a caller"): "true"},
        mentions=lineage.mentions_topic("key"),
        dated=False,
        other_texts=("key",),
    ),
)


def _derive_messages(db: Database, walk: Walk) -> None:
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


def _erase_messages(db: Database, walk: Walk, time: clock.Clock) -> None:
    worded = "select at, text from message where text <> '' and id {ids}"
    messages = lineage.rows(db, worded, walk.losing_words("message"))
    forms, request = [tombstones.message_form(at, text) for at, text in messages], walk.request
    tombstones.add(db, forms, time(), request.owner, repeated=not request.elsewhere)
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


def _derive_of_sessions(db: Database, walk: Walk) -> None:
    """Add what belongs to sessions that are erased or lose messages, and openings that carried over text of such."""
    shorter = {*walk["session"], *walk.staying("session")}
    walk.add("rolling", shorter)
    messages = walk.losing_words("message")
    walk.add("answered", lineage.column(db, "select id from answered where message_id {ids}", messages))
    shown = (*walk["summary"], *walk.staying("summary"))
    of_sessions = "select session_id from summary where session_id is not null and id {ids}"
    summarised = lineage.column(db, of_sessions, shown)
    handles = [ids.handle("session", id) for id in sorted(shorter | {*summarised})]
    handles += [ids.handle("summary", id) for id in shown]
    walk.add("carried-over texts", {*sessions.opened_with(db, handles)} - {*walk["session"]})


def _erase_of_sessions(db: Database, walk: Walk, time: clock.Clock) -> None:
    lineage.delete(db, "jotting", walk["jotting"])
    digest.erase(db, walk["rolling"])
    callers.erase_answered(db, walk["message"], walk["session"], walk["answered"])
    sessions.drop_openings(db, walk["carried-over texts"])


# Documents.

# A path without the home folder, or all that lies in /home/anna would be about Anna.
_BELOW = "iif(instr({0} || '/', :home) = 1, substr({0}, length(:home) + 1), {0})"
_DOCUMENTS = (
    Table(
        "collection",
        counts={("collections", "collection"): "true"},
        line="pattern",
        format_line=short_path,
        label="files",
        mentions=lineage.mentions_topic(_BELOW.format("pattern")),
        dated=False,
        stated_text="pattern",
        personal_texts=("pattern",),
    ),
    Table(
        "document",
        made_from={"collection": "collection_id {ids}"},
        counts={("documents", "document"): "true"},
        line="path",
        format_line=short_path,
        label="file",
        mentions=f"""{lineage.mentions_topic(_BELOW.format("path"))} or {lineage.mentions_topic("title")}
                     and not exists (select 1 from section where document_id = document.id)""",
        dated=False,
        stated_text=lineage.joined("path", "title"),
        personal_texts=("path, title",),
        other_texts=("error",),
    ),
    Table(
        "section",
        made_from={"document": "document_id {ids}"},
        counts={("sections of files", "section of a file"): "true"},
        line="(select path from document where id = document_id), line, page, text",
        format_line=lambda path, line, page, words: f"{file_location(os.path.basename(path), line, page)} {words}",
        mentions=f"""{lineage.mentions_topic("heading", "text")} or document_id in (
                     select id from document where owner = :owner and {lineage.mentions_topic("title")})""",
        dated=False,
        stated_text=lineage.joined("heading", "text"),
        file_texts=("heading, text",),
    ),
)


def _erase_documents(db: Database, walk: Walk, time: clock.Clock) -> None:
    """Tombstones of files use their paths, which all owners share."""
    sections, whole = walk["section"], walk["document"]
    tombstones.add(db, documents.to_remember(db, sections, whole), time())
    if documents.erase_all(db, sections, whole, walk["collection"]):
        jobs.add(db, tombstones.JOB, tombstones.PAGES, time())


def files(db: Database, walk: Walk) -> list[str]:
    """Sentences about the files whose text is erased."""
    of = "select distinct d.id, d.path from section s join document d on d.id = s.document_id where s.id {ids}"
    found = {
        *lineage.rows(db, of, walk["section"]),
        *lineage.rows(db, "select id, path from document where id {ids}", walk["document"]),
    }
    rows = sorted(found, key=lambda row: row[1])
    whole = [path for id, path in rows if id in walk["document"]]
    part = [path for id, path in rows if id not in walk["document"]]
    sentences = [f"{_named(part)} on the disk: no sync brings these words of {_pronoun(part)} back"] if part else []
    return sentences + ([f"{_named(whole)} on the disk: no sync reads {_pronoun(whole)} again"] if whole else [])


def _named(paths: Sequence[str]) -> str:
    return f"{text.listed([*map(short_path, paths)], _NAMED)} {'stays' if len(paths) == 1 else 'stay'}"


def _pronoun(paths: Sequence[str]) -> str:
    return "it" if len(paths) == 1 else "them"


# Indexes. The derived tables have no rows here: rows leave an index before their text is erased.

_RECOLLECTIONS = Table(
    "recollection",
    owner="(select owner from message where id = message_id)",
    made_from={"message": "message_id {ids}"},
    counts={("lines added from memory", "line added from memory"): "true"},
)


def _derive_recollections(db: Database, walk: Walk) -> None:
    """Add what shows rows that lose text."""
    for kind in {*walk.rows, *walk.partial}:
        shows = f"select id from recollection where kind = '{kind}' and row {{ids}}"
        if found := walk.losing_words(kind):
            walk.add("recollection", lineage.column(db, shows, found))


def _erase_indexed(db: Database, walk: Walk, time: clock.Clock) -> None:
    """Remove messages from the index while their text exists; other owners remove their own rows from it."""
    index.erase(db, "m", walk.losing_words("message"))
    lineage.delete(db, "recollection", walk["recollection"])


# All of them. Rows derive from rows of earlier owners, so that one pass reaches all. They are erased in the opposite
# order, referring rows first.

_FIRST_OWNERS = (
    *(Owner(_MESSAGES, _erase_messages, _derive_messages), Owner(_DOCUMENTS, _erase_documents)),
    *(facts.LINEAGE, skills.LINEAGE, period_summaries.LINEAGE),
    Owner(_OF_SESSIONS, _erase_of_sessions, _derive_of_sessions),
)
_NAMES = {table.name for owner in _FIRST_OWNERS for table in owner.tables}
# The owner of any other kind is the module that writes its table.
_MODULES = dict.fromkeys(kind.module for kind in kinds.KINDS if kind.owned and kind.name not in _NAMES)
OWNERS: tuple[Owner, ...] = (
    *_FIRST_OWNERS,
    *(import_module(name).LINEAGE for name in _MODULES),
    Owner([_RECOLLECTIONS], _erase_indexed, _derive_recollections),
)
TABLES: dict[str, Table] = {table.name: table for owner in OWNERS for table in owner.tables}
TABLES |= {name: Table(name, owner="") for name in ("job", "sync_waiting")}
TABLES |= {name: Table(name) for name in schema.TABLES if name not in TABLES}

# The offline model only quotes, so its replies are treated like results of tools.
_QUOTING = "iif(role = 'tool' or model = 'offline', text, '') || char(10) || thinking"
COPIES = (  # counted in this order
    Copy("lines you typed", "line you typed", "prompt", "text", short=True),
    Copy("titles of sessions", "title of a session", "session", "title", "title = ''"),
    Copy("errors of jobs", "error of a job", "job", "error", "error = ''"),
    Copy("quotations in other messages", "quotation in another message", "message", _QUOTING, log.BLANK, "sentences"),
    Copy("calls with these words", "call with these words", "tool_call", "arguments", "arguments = '{}'", "lines"),
    Copy("errors of schedules", "error of a schedule", "schedule", "error", "error = ''"),
    Copy("carried-over texts", "carried-over text", "session", "coalesce(opening, '')", "opening = null"),
    Copy("session notes", "session note", "jotting", "text"),
    Copy("lines added from memory", "line added from memory", "recollection", "text"),
    Copy("rows of other machines", "row of another machine", "sync_waiting", "data", looks_for="lines"),
    Copy("lines of answers", "line of an answer", "answered", "lines", "lines = '{}'"),
)

SHORTENED = ("message", "summary", "skill")  # tables whose rows may lose a part
SINGULAR: dict[str, str] = {copy.name: copy.singular for copy in COPIES}  # of each name under which rows are counted
for _table in TABLES.values():
    for _plural, _singular in _table.counted:
        SINGULAR |= {_plural: _singular, f"{_plural} in part": f"{_singular} in part"}


# Text columns that hold nobody's words, of all tables or of one: ids, times, states, names of programs.
_WORDLESS = """uid owner kind at holder terminal profile role finish model method hash may pasted legs grain period
    state operation origin trust valid_from valid_to in_profile change batch actor zone repeats starts snoozed_to cron
    target running_since lease_until link event.subject job.subject meta.key meta.value migration.name tool_call.name
    day.words forgotten.seen sync_change.name sync_alias.canonical sync_position.machine"""


def text_columns(db: Database, table: str) -> list[str]:
    """The columns of a table that hold text; none where it is derived from other tables."""
    if table != "day" and file_check.is_derived(table):
        return []
    return [name for name, type_, _ in file_check.columns(db, table) if type_ == "TEXT"]


def columns_with_words(db: Database, table: str) -> list[str]:
    """The columns with text of the person, models or tools: all but those that are named here."""
    others = {*_WORDLESS.split()}
    names = [name for name in text_columns(db, table) if not name.endswith("_at")]
    return [name for name in names if others.isdisjoint((name, f"{table}.{name}"))]
