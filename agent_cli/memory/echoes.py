"""Where else erased words stand: in rows that only repeat them, which lose them too, and in rows of their own right.

A prompt, what was recalled, an error of a job, the result of a tool repeat what was said; another message, note or fact
that says the same is for the person to decide about, and the receipt names it.
"""

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from agent_cli.memory import columns, telling
from agent_cli.memory.provenance import Ids, Walk
from agent_cli.memory.telling import Wanted
from agent_cli.store.db import Database

_PAGE = 2000
_NAMED = 5  # rows that are named for each line

# Rows in their own right: table, the letter and number of the handle, the words.
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
    ("summary", "y", "id", "text"),
)


@dataclass(frozen=True)
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
    named: Mapping[str, list[str]] = field(
        default_factory=dict
    )  # the handles of rows that say a line in their own right


def find(db: Database, found: Walk, own: Iterable[str], other: Iterable[str], topic: str = "") -> tuple[Echoes, Wanted]:
    """The rows that repeat what these texts say, or the topic, and what of the texts stands in no row that stays."""
    lines = frozenset(telling.lines(own))
    theirs = Wanted(frozenset(line for line in lines if len(line) >= telling.OWN))
    results = _holding(db, "message", "iif(role = 'tool', text, '') || char(10) || thinking", theirs, found.messages)
    calls = _holding(db, "tool_call", "arguments", theirs, _calls(db, found))
    wanted = Wanted(lines | frozenset(telling.lines(other)), frozenset(telling.words([*own, *other])))
    named = _remaining(db, found, wanted, set(results), set(calls))
    sources = _sources(db, found)
    alone = wanted.without(named)
    repeated = Wanted(alone.lines | theirs.lines | ({telling.folded(topic)} - {""}), alone.words)
    short = frozenset(telling.folded(text) for text in own if len(text.strip()) < telling.LEAST)
    echoes = Echoes(
        _sorted(_holding(db, "prompt", "text", repeated) + _equal(db, short)),
        _holding(db, "fact_test", "question || char(10) || mention", repeated),
        _holding(db, "recollection", "text", repeated, found.recollections),
        _holding(db, "jotting", "text", repeated, found.jottings),
        _holding(db, "session", "coalesce(opening, '')", repeated, (*found.openings, *found.sessions)),
        _holding(db, "session", "title", repeated, found.sessions),
        _holding(db, "job", "error", repeated, found.jobs),
        results,
        calls,
        sources | {line: handles for line, handles in named.items() if line in theirs.lines},
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


def _sources(db: Database, found: Walk) -> dict[str, list[str]]:
    """The messages that stay and say what an erased fact said, however short it was."""
    held: dict[str, list[str]] = {}
    for statement, quote, message, said in db.rows(
        """with source as (select id as fact_id, quote, message_id from fact where message_id is not null
                           union select fact_id, quote, message_id from fact_source)
           select f.statement, s.quote, m.id, m.text
           from json_each(?) g join fact f on f.id = g.value join source s on s.fact_id = f.id
           join message m on m.id = s.message_id
           where m.id not in (select value from json_each(?)) order by m.id""",
        (json.dumps(found.facts), json.dumps(found.messages)),
    ):
        words = telling.folded(quote or statement)
        if words in telling.folded(said):
            held.setdefault(words, []).append(f"m{message}")
    return held


def _remaining(db: Database, found: Walk, wanted: Wanted, results: set[int], calls: set[int]) -> dict[str, list[str]]:
    """What stands in rows that stay, and in which; of words that are everywhere one row is enough."""
    gone = {
        "message": {*found.messages, *results}, "tool_call": {*_calls(db, found), *calls}, "note": {*found.notes},
        "fact": {*found.facts}, "summary": {*found.summaries},
        "fact_version": {*_versions(db, found)},
    }  # fmt: skip
    held: dict[str, list[str]] = {}
    for table, letter, number, words in _SAID:
        for page in _pages(db, table, words, number):
            if not wanted:
                return held
            stays = [(about, text) for id, about, text in page if id not in gone[table]]
            here = wanted.within(telling.folded("\n".join(text for _, text in stays)))
            held |= {word: [] for word in here & wanted.words}
            lines = Wanted(frozenset(here & wanted.lines))
            for about, text in stays if lines else ():
                for line in lines.within(telling.folded(text)):
                    handles = held.setdefault(line, [])
                    handles += [f"{letter}{about}"] if f"{letter}{about}" not in handles else []
            enough = [line for line, handles in held.items() if len(handles) >= _NAMED]
            wanted = wanted.without([*(here & wanted.words), *enough])
    return held


def _holding(db: Database, table: str, words: str, wanted: Wanted, besides: Iterable[int] = ()) -> Ids:
    """The numbers of rows in which something of it stands."""
    if not wanted:
        return ()
    gone = set(besides)
    return tuple(
        id
        for page in _pages(db, table, words)
        if wanted.within(telling.folded("\n".join(text for _, _, text in page)))
        for id, _, text in page
        if id not in gone and wanted.within(telling.folded(text))
    )


def _equal(db: Database, short: Iterable[str]) -> Ids:
    """Prompts that are just such a short text."""
    wanted = set(short) - {""}
    if not wanted:
        return ()
    return tuple(id for page in _pages(db, "prompt", "text", "id") for id, _, text in page
                 if telling.folded(text) in wanted)  # fmt: skip


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


def _versions(db: Database, found: Walk) -> list[int]:
    return _of(db, "fact_version", "fact_id", found.facts)


def _of(db: Database, table: str, column: str, rows: Ids) -> list[int]:
    sql = f"select id from {table} where {column} in (select value from json_each(?))"
    return [id for (id,) in db.rows(sql, (json.dumps(rows),))]


def _sorted(found: Iterable[int]) -> Ids:
    return tuple(sorted(set(found)))
