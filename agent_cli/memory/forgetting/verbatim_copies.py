"""Where else erased words stand: in rows that only repeat them, which lose them too, and in rows of their own right.

A prompt, what was recalled, an error of a job, the result of a tool repeat what was said; another message, note or fact
that says the same is for the person to decide about, and the receipt names it.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field

from agent_cli import kinds
from agent_cli.memory import lineage
from agent_cli.memory.forgetting import owners
from agent_cli.memory.forgetting.owners import COPIES, TABLES
from agent_cli.memory.forgetting.provenance import Texts
from agent_cli.memory.language import distinctive
from agent_cli.memory.language.distinctive import SearchTerms
from agent_cli.memory.lineage import Copy, Ids, Table, Walk
from agent_cli.memory.scope import PERSON
from agent_cli.store.db import Database
from agent_cli.values import frozen

_PAGE = 2000
_NAMED = 5  # rows that are named for each line
_FILES = "section"
_ORDER = "message tool_call note fact fact_version summary task schedule document collection"  # in which rows are named


@frozen
class Copies:
    """The rows that repeat erased words, by what they are counted as.

    `named`: lines that stand in rows in their own right, and the handles of these.
    """

    rows: Mapping[str, Ids] = field(default_factory=dict)
    named: Mapping[str, list[str]] = field(default_factory=dict)


def find(db: Database, walk: Walk, texts: Texts, topic: str = "", owner: str = PERSON) -> tuple[Copies, SearchTerms]:
    """The rows that repeat what these texts say, or the topic, and what of the texts stands in no row that stays.

    Rows of another owner stay and are not named, whatever they say. A line that stands in other sections of files too,
    as the license does, was not found here alone: results of tools keep it.
    """
    own, other = [*texts.own, *texts.filed], texts.other
    said = {distinctive.fold(text).strip(" .!?…\n") for text in texts.statements}
    lines = {
        *distinctive.line_ends(own),
        *(text for text in said if distinctive.MIN_STATEMENT <= len(text) < distinctive.MIN_PERSONAL),
    }
    theirs = {line for line in lines if len(line) >= distinctive.MIN_PERSONAL or line in said}
    made = {line for line in distinctive.line_ends(texts.retold) if len(line) >= distinctive.MIN_PERSONAL}
    wanted = SearchTerms(
        frozenset({*lines, *distinctive.line_ends(other)}), frozenset(distinctive.distinctive_words([*own, *other]))
    )
    held = _remaining(db, wanted, [TABLES[_FILES]], {_FILES: {*walk[_FILES]}}, owner, _held(walk, wanted))
    typed = {*distinctive.line_ends(texts.own), *said}
    alike = frozenset(line for line in theirs if line in typed or line not in held)
    exact = {"lines": SearchTerms(alike), "sentences": SearchTerms(alike | made)}
    found = {
        each.name: _holding(db, each, exact[each.looks_for], walk, owner) for each in COPIES if each.looks_for in exact
    }
    tables = [table for table in owners.ordered(_ORDER) if table.says and table.name != _FILES]
    going = {table.name: {*walk.unsaid(table.name)} for table in tables}
    for each in COPIES:
        going.get(each.table, set()).update(found.get(each.name, ()))
    named = _remaining(db, wanted, tables, going, owner, held)
    alone = wanted.without(named)
    repeated = SearchTerms(alone.lines | alike | ({distinctive.fold(topic)} - {""}), alone.words)
    short = {distinctive.fold(text) for text in texts.own if len(text.strip()) < distinctive.MIN_LINE} - {""}
    for each in COPIES:
        if each.looks_for not in exact:
            found[each.name] = _holding(db, each, repeated, walk, owner, short if each.short else set())
    return Copies(found, {line: handles for line, handles in named.items() if line in theirs}), alone


def stand(db: Database, wanted: Iterable[str]) -> set[str]:
    """Which of these folded texts stand in any canonical row or in the schema, within words too."""
    left, found = set(wanted), set[str]()
    for table in TABLES.values():
        if table.rebuilt or not left:
            continue
        columns = f"{table.words} {table.wordless}".split()
        for each in _whole(db, table.name, lineage.joined(*(f"coalesce({name}, '')" for name in columns))):
            found |= {piece for piece in left if piece in each}
            left -= found
            if not left:
                break
    rows = db.rows("select type || name || tbl_name || char(10) || coalesce(sql, '') from sqlite_schema")
    schema = "\n".join(str(row) for (row,) in rows).casefold()  # names stand side by side in the file
    return found | {piece for piece in left if piece in schema}


def _held(walk: Walk, wanted: SearchTerms) -> dict[str, list[str]]:
    """What stands in the sentences of summaries that stay in part."""
    stays = distinctive.fold("\n".join(words for told in walk.cut["summary"].values() for words, _ in told))
    return {each: [] for each in wanted.found_in(stays)} if stays else {}


def _remaining(
    db: Database,
    wanted: SearchTerms,
    tables: Iterable[Table],
    going: Mapping[str, set[int]],
    owner: str,
    held: dict[str, list[str]],
) -> dict[str, list[str]]:
    """What stands in rows that stay, and in which, beside what is held; of words that are everywhere one is enough."""
    wanted = wanted.without([each for each, handles in held.items() if not handles])
    for table in tables:
        for page in _pages(db, table.name, table.says, table.handle):
            if not wanted:
                return held
            left = [(about, text) for id, about, text in page if id not in going[table.name]]
            here = wanted.found_in(distinctive.fold("\n".join(text for _, text in left)))
            held |= {word: [] for word in here & wanted.words}
            lines = SearchTerms(frozenset(here & wanted.lines))
            for about, text in left if lines else ():
                for line in lines.found_in(distinctive.fold(text)):
                    handles = held.setdefault(line, [])
                    handle = f"{table.letter}{about}"
                    where = kinds.BY_LETTER[table.letter].table if table.letter else ""
                    if where and handle not in handles and _mine(db, where, (about,), owner):
                        handles.append(handle)
            enough = [line for line, handles in held.items() if len(handles) >= _NAMED]
            wanted = wanted.without([*(here & wanted.words), *enough])
    return held


def _mine(db: Database, table: str, rows: Ids, owner: str) -> Ids:
    """Those of these rows that are this owner's; where rows are nobody's, all."""
    of = TABLES[table].owner
    if not (rows and of):
        return rows
    sql = f"select id from {table} where id in (select value from json_each(?)) and {of} = ?"
    return tuple(id for (id,) in db.rows(sql, (rows, owner)))


def _holding(
    db: Database, copy: Copy, wanted: SearchTerms, walk: Walk, owner: str, short: AbstractSet[str] = frozenset()
) -> Ids:
    """The rows that stay and in which something of it stands, or that are just such a short text."""
    if not (wanted or short):
        return ()
    going = {*walk[copy.table], *walk[copy.name]}
    found = tuple(
        id
        for page in _pages(db, copy.table, copy.text)
        if short or wanted.found_in(distinctive.fold("\n".join(text for _, _, text in page)))
        for id, _, text in page
        if id not in going and (wanted.found_in(folded := distinctive.fold(text)) or folded in short)
    )
    return _mine(db, copy.table, found, owner)


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
