"""Finds where erased text stands in other rows.

Prompts, recall records, errors of jobs and results of tools only repeat it, and are erased too. Other messages, notes
and facts with the same text stay; the receipt names them, and the person decides.
"""

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from dataclasses import field

from agent_cli import kinds
from agent_cli.memory import lineage
from agent_cli.memory.forgetting import provenance, word_search
from agent_cli.memory.forgetting.provenance import COPIES, TABLES, Texts
from agent_cli.memory.language.keywords import (
    MIN_LINE,
    MIN_PERSONAL,
    MIN_STATEMENT,
    NO_KEYWORDS,
    Keywords,
    SearchTerms,
    distinctive_words,
    fold,
    line_ends,
    plain,
)
from agent_cli.memory.lineage import Copy, Ids, Table, Walk
from agent_cli.memory.scope import PERSON
from agent_cli.store.db import Database
from agent_cli.values import frozen

_PAGE = 2000
_NAMED = 5  # rows named for each line
_FILES = "section"
_ORDER = "message tool_call note fact fact_version summary task schedule document collection"  # in which rows are named


@frozen
class Copies:
    """The ids of rows that only repeat erased text, by the name of the Copy.

    `quoting`: erased lines that other rows contain, and the handles of these rows.
    """

    rows: Mapping[str, Ids] = field(default_factory=dict)
    quoting: Mapping[str, list[str]] = field(default_factory=dict)

    def of_table(self, table: str) -> Ids:
        """The rows of this table that lose a copy."""
        return tuple(id for copy in COPIES if copy.table == table for id in self.rows.get(copy.name, ()))


def find(
    db: Database, walk: Walk, texts: Texts, topic: str = "", owner: str = PERSON, keywords: Keywords = NO_KEYWORDS
) -> tuple[Copies, SearchTerms]:
    """The rows that repeat these texts or the topic, and the words and lines that no remaining row contains.

    Rows of other owners stay and are not named. A line that other sections of files contain too, such as a license, is
    kept in results of tools.
    """
    personal, other = [*texts.personal, *texts.files], texts.other
    statements = {fold(text).strip(" .!?…\n") for text in texts.statements}
    lines = {
        *line_ends(personal),
        *(text for text in statements if MIN_STATEMENT <= len(text) < MIN_PERSONAL),
    }
    personal_lines = {line for line in lines if len(line) >= MIN_PERSONAL or line in statements}
    summary_lines = {line for line in line_ends(texts.summary_sentences) if len(line) >= MIN_PERSONAL}
    wanted = SearchTerms(
        frozenset({*lines, *line_ends(other)}),
        frozenset(distinctive_words([*personal, *other])),
    )
    present = _still_present(
        db, wanted, [TABLES[_FILES]], {_FILES: {*walk[_FILES]}}, owner, _in_partial_rows(walk, wanted)
    )
    typed = {*line_ends(texts.personal), *statements}
    verbatim = frozenset(line for line in personal_lines if line in typed or line not in present)
    exact = {"lines": SearchTerms(verbatim), "sentences": SearchTerms(verbatim | summary_lines)}
    found = {
        each.name: _rows_with(db, each, exact[each.looks_for], walk, owner)
        for each in COPIES
        if each.looks_for in exact
    }
    tables = [table for table in provenance.in_order(_ORDER) if table.stated_text and table.name != _FILES]
    going = {table.name: {*walk.losing_words(table.name)} for table in tables}
    for each in COPIES:
        going.get(each.table, set()).update(found.get(each.name, ()))
    present_in = _still_present(db, wanted, tables, going, owner, present)
    absent = wanted.without(present_in)
    repeated = SearchTerms(absent.lines | verbatim | ({fold(topic)} - {""}), absent.words)
    short = {fold(text) for text in texts.personal if len(text.strip()) < MIN_LINE} - {""}
    for each in COPIES:
        if each.looks_for not in exact:
            found[each.name] = _rows_with(db, each, repeated, walk, owner, short if each.short else set(), keywords)
    return Copies(found, {line: handles for line, handles in present_in.items() if line in personal_lines}), absent


def found_in_rows(db: Database, wanted: Iterable[str]) -> set[str]:
    """Those of these folded texts that any canonical row or the schema contains, also within words."""
    left, found = set(wanted), set[str]()
    for table in TABLES.values():
        if table.derived or not left:
            continue
        columns = f"{table.text_columns} {table.other_columns}".split()
        for each in _folded_text(db, table.name, lineage.joined(*(f"coalesce({name}, '')" for name in columns))):
            found |= {piece for piece in left if piece in each}
            left -= found
            if not left:
                break
    rows = db.rows("select type || name || tbl_name || char(10) || coalesce(sql, '') from sqlite_schema")
    schema = "\n".join(str(row) for (row,) in rows).casefold()  # names are adjacent in the file
    return found | {piece for piece in left if piece in schema}


def _in_partial_rows(walk: Walk, wanted: SearchTerms) -> dict[str, list[str]]:
    """The words and lines in the remaining sentences of shortened summaries and messages, without handles."""
    left = [words for sentences in walk.partial["summary"].values() for words, _ in sentences]
    text = fold("\n".join([*left, *(message.left for message in walk.partial["message"].values())]))
    return {each: [] for each in wanted.found_in(text)} if text else {}


def _still_present(
    db: Database,
    wanted: SearchTerms,
    tables: Iterable[Table],
    going: Mapping[str, set[int]],
    owner: str,
    present: dict[str, list[str]],
) -> dict[str, list[str]]:
    """`present` with the words and lines that remaining rows contain; for lines, the handles of some of these rows."""
    wanted = wanted.without([each for each, handles in present.items() if not handles])
    for table in tables:
        for page in _pages(db, table.name, table.stated_text, table.handle):
            if not wanted:
                return present
            staying = [(about, text) for id, about, text in page if id not in going[table.name]]
            found = wanted.found_in(fold("\n".join(text for _, text in staying)))
            present |= {word: [] for word in found & wanted.words}
            lines = SearchTerms(frozenset(found & wanted.lines))
            for about, text in staying if lines else ():
                for line in lines.found_in(fold(text)):
                    handles = present.setdefault(line, [])
                    handle = f"{table.letter}{about}"
                    where = kinds.BY_LETTER[table.letter].table if table.letter else ""
                    if where and handle not in handles and _of_owner(db, where, (about,), owner):
                        handles.append(handle)
            enough = [line for line, handles in present.items() if len(handles) >= _NAMED]
            wanted = wanted.without([*(found & wanted.words), *enough])
    return present


def _of_owner(db: Database, table: str, rows: Ids, owner: str) -> Ids:
    """Those of these rows that belong to this owner; all, in tables without owners."""
    of = TABLES[table].owner
    if not (rows and of):
        return rows
    sql = f"select id from {table} where id in (select value from json_each(?)) and {of} = ?"
    return tuple(id for (id,) in db.rows(sql, (rows, owner)))


def _rows_with(
    db: Database,
    copy: Copy,
    wanted: SearchTerms,
    walk: Walk,
    owner: str,
    short: AbstractSet[str] = frozenset(),
    keywords: Keywords = NO_KEYWORDS,
) -> Ids:
    """The remaining rows that contain any of the terms or keywords, or that consist of one of the short texts."""
    if not (wanted or short or keywords):
        return ()
    going = {*walk[copy.table], *walk[copy.name]}
    matcher = word_search.matcher(db, keywords)
    found = tuple(
        id
        for page in _pages(db, copy.table, copy.text)
        if short or _may_match(wanted, matcher, "\n".join(text for _, _, text in page))
        for id, _, text in page
        if id not in going
        and (wanted.found_in(folded := fold(text)) or folded in short or word_search.found_in(matcher, text))
    )
    return _of_owner(db, copy.table, found, owner)


def _may_match(wanted: SearchTerms, keywords: word_search.WordMatcher, text: str) -> bool:
    return bool(wanted.found_in(fold(text))) or keywords.may_match(plain(text))


def _folded_text(db: Database, table: str, words: str) -> Iterator[str]:
    """The text of a table, case folded, in pages."""
    if db.value("select wr from pragma_table_list where name = ?", (table,)):  # tables without row ids are small
        yield "\n".join(text for (text,) in db.rows(f"select {words} from {table}")).casefold()
        return
    for page in _pages(db, table, words, "rowid", "rowid"):
        yield "\n".join(text for _, _, text in page).casefold()


def _pages(
    db: Database, table: str, words: str, number: str = "id", id: str = "id"
) -> Iterator[list[tuple[int, int, str]]]:
    """(id, number, words) of all rows, in pages, so that a table need not fit into memory."""
    last = 0
    while rows := db.rows(
        f"select {id}, {number}, {words} from {table} where {id} > ? order by {id} limit {_PAGE}", (last,)
    ):
        yield [(row, about, text) for row, about, text in rows]
        last = rows[-1][0]
