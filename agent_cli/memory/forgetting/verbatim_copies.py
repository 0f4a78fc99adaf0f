"""Where else erased words stand: in rows that only repeat them, which lose them too, and in rows of their own right.

A prompt, what was recalled, an error of a job, the result of a tool repeat what was said; another message, note or fact
that says the same is for the person to decide about, and the receipt names it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field

from agent_cli import kinds
from agent_cli.memory import columns
from agent_cli.memory.forgetting import provenance
from agent_cli.memory.forgetting.provenance import Ids, Texts, Walk
from agent_cli.memory.language import distinctive
from agent_cli.memory.language.distinctive import Wanted
from agent_cli.memory.scope import PERSON
from agent_cli.store.db import Database
from agent_cli.values import frozen

_PAGE = 2000
_NAMED = 5  # rows that are named for each line

# Rows in their own right: table, the letter and number of the handle (where it has one), the words.
_FILES = ("section", "d", "id", "heading || char(10) || text")
_SAID = (
    ("message", "m", "id", "text || char(10) || thinking"),
    ("tool_call", "m", "message_id", "arguments"),
    ("note", "n", "id", "title || char(10) || text"),
    ("fact", "f", "id", "statement || char(10) || object || char(10) || iif(message_id is null, quote, '')"),
    (
        "fact_version",
        "f",
        "fact_id",
        "coalesce(iif(was ->> 'message_id' is null, was, json_remove(was, '$.quote')), '')",
    ),
    ("summary", "y", "id", "text || char(10) || details"),
    ("task", "t", "id", "text || char(10) || told"),
    ("schedule", "c", "id", "prompt || char(10) || skill || char(10) || target_path"),
    ("document", "", "id", "path || char(10) || title"),
    ("collection", "", "id", "pattern"),
    ("skill", "k", "id", "name || char(10) || description || char(10) || text"),
    (
        "skill_version",
        "k",
        "skill_id",
        "coalesce((was ->> 'name') || char(10) || (was ->> 'description') || char(10) || (was ->> 'text'), '')",
    ),
)

# Whose a row is that does not say so itself.
_OWNER = {
    "tool_call": "(select owner from message where id = message_id)",
    "recollection": "(select owner from message where id = message_id)",
    "jotting": "(select owner from session where id = session_id)",
}


@frozen
class Echoes:
    """The numbers of rows that repeat erased words, by table."""

    prompts: Ids = ()
    tests: Ids = ()
    recollections: Ids = ()
    jottings: Ids = ()
    openings: Ids = ()
    titles: Ids = ()
    errors: Ids = ()  # of jobs
    results: Ids = ()  # messages of tools, and what replies thought
    calls: Ids = ()
    failures: Ids = ()  # of schedules
    named: Mapping[str, list[str]] = field(
        default_factory=dict
    )  # the handles of rows that say a line in their own right


def find(
    db: Database, found: Walk, texts: Texts, topic: str = "", owner: str = PERSON
) -> tuple[Echoes, Wanted]:  # fmt: skip
    """The rows that repeat what these texts say, or the topic, and what of the texts stands in no row that stays.

    Rows of another owner stay and are not named, whatever they say. A line that stands in other sections of files too,
    as the license does, was not found here alone: results of tools keep it.
    """
    own, other = [*texts.own, *texts.filed], texts.other

    def holding(table: str, words: str, wanted: Wanted, besides: Iterable[int] = ()) -> Ids:
        return _mine(db, table, _holding(db, table, words, wanted, besides), owner)

    said = {distinctive.folded(text).strip(" .!?…\n") for text in texts.statements}
    lines = frozenset(distinctive.lines(own)) | {
        text for text in said if distinctive.SAYS <= len(text) < distinctive.OWN
    }
    theirs = Wanted(frozenset(line for line in lines if len(line) >= distinctive.OWN or line in said))
    # The offline model only quotes: what it said is as good as what a tool found.
    quoting = "iif(role = 'tool' or model = 'offline', text, '') || char(10) || thinking"
    made = frozenset(
        line for line in distinctive.lines(provenance.summarised(db, found)) if len(line) >= distinctive.OWN
    )
    wanted = Wanted(lines | frozenset(distinctive.lines(other)), frozenset(distinctive.words([*own, *other])))
    held = _remaining(db, wanted, (_FILES,), {"section": {*found.owned_rows.sections}}, owner, _held(found, wanted))
    typed = frozenset(distinctive.lines(texts.own)) | said
    alike = Wanted(frozenset(line for line in theirs.lines if line in typed or line not in held))
    results = holding("message", quoting, Wanted(alike.lines | made), found.messages)
    calls = holding("tool_call", "arguments", alike, _calls(db, found))
    named = _remaining(db, wanted, _SAID, _gone(db, found, results, calls), owner, held)
    alone = wanted.without(named)
    repeated = Wanted(alone.lines | alike.lines | ({distinctive.folded(topic)} - {""}), alone.words)
    short = frozenset(distinctive.folded(text) for text in texts.own if len(text.strip()) < distinctive.LEAST)
    echoes = Echoes(
        _sorted(holding("prompt", "text", repeated) + _mine(db, "prompt", _equal(db, short), owner)),
        holding("fact_test", "question || char(10) || mention", repeated),
        holding("recollection", "text", repeated, found.recollections),
        holding("jotting", "text", repeated, found.jottings),
        holding("session", "coalesce(opening, '')", repeated, (*found.openings, *found.sessions)),
        holding("session", "title", repeated, found.sessions),
        _holding(db, "job", "error", repeated, found.jobs),
        results,
        calls,
        holding("schedule", "error", repeated, found.owned_rows.schedules),
        {line: handles for line, handles in named.items() if line in theirs.lines},
    )
    return echoes, alone


def stand(db: Database, wanted: Iterable[str]) -> set[str]:
    """Which of these folded texts stand in any canonical row or in the schema, within words too."""
    left, found = set(wanted), set[str]()
    for table in dict.fromkeys([*columns.WORDS, *columns.WORDLESS]):
        if table in columns.DERIVED or not left:
            continue
        told = f"{columns.WORDS.get(table, '')} {columns.WORDLESS.get(table, '')}".split()
        text = " || char(10) || ".join(f"coalesce({name}, '')" for name in told)
        for each in _whole(db, table, text):
            found |= {piece for piece in left if piece in each}
            left -= found
            if not left:
                break
    rows = db.rows("select type || name || tbl_name || char(10) || coalesce(sql, '') from sqlite_schema")
    schema = "\n".join(str(row) for (row,) in rows).casefold()  # names stand side by side in the file
    return found | {piece for piece in left if piece in schema}


def _held(found: Walk, wanted: Wanted) -> dict[str, list[str]]:
    """What stands in the sentences of summaries that stay in part."""
    stays = distinctive.folded("\n".join(words for _, told in found.kept for words, _ in told))
    return {each: [] for each in wanted.within(stays)} if stays else {}


def _gone(db: Database, found: Walk, results: Ids, calls: Ids) -> dict[str, set[int]]:
    """The rows that go or lose their words, by table."""
    kept = found.owned_rows
    return {
        "message": {*found.messages, *results}, "tool_call": {*_calls(db, found), *calls}, "note": {*found.notes},
        "fact": {*found.facts}, "summary": {*found.summaries},
        "fact_version": {*_of(db, "fact_version", "fact_id", found.facts)},
        "skill": {*provenance.unlearned(found)},
        "skill_version": {*found.skills.rows, *_of(db, "skill_version", "skill_id", found.skills.erased)},
        "task": {*kept.tasks}, "schedule": {*kept.schedules}, "document": {*kept.documents},
        "collection": {*kept.collections},
    }  # fmt: skip


def _remaining(
    db: Database, wanted: Wanted, tables: Sequence[tuple[str, str, str, str]], gone: Mapping[str, set[int]], owner: str,
    held: dict[str, list[str]],
) -> dict[str, list[str]]:  # fmt: skip
    """What stands in rows that stay, and in which, beside what is held; of words that are everywhere one is enough."""
    wanted = wanted.without([each for each, handles in held.items() if not handles])
    for table, letter, number, words in tables:
        for page in _pages(db, table, words, number):
            if not wanted:
                return held
            left = [(about, text) for id, about, text in page if id not in gone[table]]
            here = wanted.within(distinctive.folded("\n".join(text for _, text in left)))
            held |= {word: [] for word in here & wanted.words}
            lines = Wanted(frozenset(here & wanted.lines))
            for about, text in left if lines else ():
                for line in lines.within(distinctive.folded(text)):
                    handles = held.setdefault(line, [])
                    handle = f"{letter}{about}"
                    if letter and handle not in handles and _mine(db, kinds.BY_LETTER[letter].table, (about,), owner):
                        handles.append(handle)
            enough = [line for line, handles in held.items() if len(handles) >= _NAMED]
            wanted = wanted.without([*(here & wanted.words), *enough])
    return held


def _mine(db: Database, table: str, rows: Ids, owner: str) -> Ids:
    """Those of these rows that are this owner's."""
    mine = _OWNER.get(table, "owner")
    sql = f"select id from {table} where id in (select value from json_each(?)) and {mine} = ?"
    return tuple(id for (id,) in db.rows(sql, (json.dumps(rows), owner))) if rows else ()


def _holding(db: Database, table: str, words: str, wanted: Wanted, besides: Iterable[int] = ()) -> Ids:
    """The numbers of rows in which something of it stands."""
    if not wanted:
        return ()
    gone = set(besides)
    return tuple(
        id
        for page in _pages(db, table, words)
        if wanted.within(distinctive.folded("\n".join(text for _, _, text in page)))
        for id, _, text in page
        if id not in gone and wanted.within(distinctive.folded(text))
    )


def _equal(db: Database, short: Iterable[str]) -> Ids:
    """Prompts that are just such a short text."""
    wanted = set(short) - {""}
    if not wanted:
        return ()
    return tuple(id for page in _pages(db, "prompt", "text", "id") for id, _, text in page
                 if distinctive.folded(text) in wanted)  # fmt: skip


def _whole(db: Database, table: str, words: str) -> Iterator[str]:
    """All the words of a table, folded, in pages."""
    if db.value("select wr from pragma_table_list where name = ?", (table,)):  # no row ids: small ones
        yield "\n".join(text for (text,) in db.rows(f"select {words} from {table}")).casefold()
        return
    for page in _pages(db, table, words, "rowid", "rowid"):
        yield "\n".join(text for _, _, text in page).casefold()


def _pages(
    db: Database, table: str, words: str, number: str = "id", id: str = "id"
) -> Iterator[list[tuple[int, int, str]]]:
    """(id, number, words) of all rows, in pages, so that no table must fit into memory."""
    last = 0
    while rows := db.rows(
        f"select {id}, {number}, {words} from {table} where {id} > ? order by {id} limit {_PAGE}", (last,)
    ):
        yield [(row, about, text) for row, about, text in rows]
        last = rows[-1][0]


def _calls(db: Database, found: Walk) -> list[int]:
    return _of(db, "tool_call", "message_id", found.messages)


def _of(db: Database, table: str, column: str, rows: Ids) -> list[int]:
    sql = f"select id from {table} where {column} in (select value from json_each(?))"
    return [id for (id,) in db.rows(sql, (json.dumps(rows),))]


def _sorted(found: Iterable[int]) -> Ids:
    return tuple(sorted(set(found)))
