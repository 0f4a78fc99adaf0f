"""Finds where certain words and lines stand in the rows of the file, compared word by word.

Before an erasure: what only repeats erased text and is erased too, and what else says the same, of which the person
decides. After it: what is left, by handles of rows and names of folders, callers and backups.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from dataclasses import field
from pathlib import Path
from typing import Any

from agent_cli import kinds
from agent_cli.memory import lineage
from agent_cli.memory.forgetting import selection
from agent_cli.memory.forgetting.tables import COPIES, SINGULAR, TABLES, columns_with_words, text_columns
from agent_cli.memory.language import keywords
from agent_cli.memory.language.keywords import KeywordMatcher, Keywords, SearchTerms
from agent_cli.memory.lineage import Copy, Ids, Table, Walk
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import candidates
from agent_cli.store import file
from agent_cli.store.db import Database
from agent_cli.text import listed
from agent_cli.values import frozen

_PAGE = 2000
_NAMED = 5  # rows that are named for each line, and places of a sort
_PLACE = "place"  # the column with a folder
_FILES = "section"
_ORDER = "message tool_call note fact fact_version summary task schedule document collection"  # in which rows are named
_COMMON, _COMMON_SHARE = 20, 0.02  # rows, and share of all, from which a word is an everyday one
_LABELS = {"caller": "the name of a caller", "prompt": "a line that was typed at the prompt"}


def _pages(db: Database, table: str, columns: str) -> Iterator[list[tuple[Any, ...]]]:
    """(row id, *columns) of all rows, in pages, so that a table need not fit into memory."""
    if db.value("select wr from pragma_table_list where name = ?", (table,)):  # without row ids they are small
        yield db.rows(f"select 0, {columns} from {table}")
        return
    page, last = f"select rowid, {columns} from {table} where rowid > ? order by rowid limit {_PAGE}", 0
    while rows := db.rows(page, (last,)):
        yield rows
        last = rows[-1][0]


def _of_owner(db: Database, table: str, rows: Ids, owner: str) -> Ids:
    """Those of these rows that belong to this owner; all, in tables without owners."""
    of = TABLES[table].owner
    if not (rows and of):
        return rows
    sql = f"select id from {table} where id in (select value from json_each(?)) and {of} = ?"
    return tuple(db.column(sql, (rows, owner)))


# Rows that repeat erased text.


@frozen
class Copies:
    """The ids of rows that only repeat erased text, by the name of the Copy."""

    rows: Mapping[str, Ids] = field(default_factory=dict)
    quoting: Mapping[str, list[str]] = field(default_factory=dict)  # by erased line: the rows that contain it too


def find_copies(db: Database, walk: Walk, keywords_: Keywords) -> tuple[Copies, SearchTerms]:
    """The owner's rows that repeat erased texts or the topic, and the words and lines that no remaining row contains. A
    line that other sections of files contain too is kept in results of tools."""
    texts, topic, owner = selection.texts(db, walk), walk.request.topic, walk.request.owner
    personal, other = [*texts.personal, *texts.files], texts.other
    statements = {keywords.fold(text).strip(" .!?…\n") for text in texts.statements}
    short_statements = {text for text in statements if keywords.MIN_STATEMENT <= len(text) < keywords.MIN_PERSONAL}
    lines = {*keywords.line_ends(personal)} | short_statements
    personal_lines = {line for line in lines if len(line) >= keywords.MIN_PERSONAL or line in statements}
    summary_lines = {line for line in keywords.line_ends(texts.summary_sentences) if len(line) >= keywords.MIN_PERSONAL}
    words = frozenset(keywords.distinctive_words([*personal, *other]))
    wanted = SearchTerms(frozenset({*lines, *keywords.line_ends(other)}), words)

    left = [sentence for sentences in walk.partial["summary"].values() for sentence, _ in sentences]
    left += [message.left for message in walk.partial["message"].values()]
    in_shortened = {each: list[str]() for each in wanted.found_in(keywords.fold("\n".join(left)))} if left else {}
    sections = {_FILES: {*walk[_FILES]}}
    present = _still_present(db, wanted, [TABLES[_FILES]], sections, owner, in_shortened)
    typed = {*keywords.line_ends(texts.personal), *statements}
    verbatim = frozenset(line for line in personal_lines if line in typed or line not in present)
    exact = {"lines": SearchTerms(verbatim), "sentences": SearchTerms(verbatim | summary_lines)}
    found = {
        copy.name: _repeating(db, copy, exact[copy.looks_for], walk, owner)
        for copy in COPIES
        if copy.looks_for in exact
    }
    tables = [table for table in selection.in_order(_ORDER) if table.stated_text and table.name != _FILES]
    going = {table.name: {*walk.losing_words(table.name)} for table in tables}
    for copy in COPIES:
        going.get(copy.table, set()).update(found.get(copy.name, ()))
    present_in = _still_present(db, wanted, tables, going, owner, present)
    absent = wanted.without(present_in)
    repeated = SearchTerms(absent.lines | verbatim | ({keywords.fold(topic)} - {""}), absent.words)
    short = {keywords.fold(text) for text in texts.personal if len(text.strip()) < keywords.MIN_LINE} - {""}
    for copy in COPIES:
        if copy.looks_for not in exact:
            found[copy.name] = _repeating(db, copy, repeated, walk, owner, short if copy.short else set(), keywords_)
    return Copies(found, {line: handles for line, handles in present_in.items() if line in personal_lines}), absent


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
        for page in _pages(db, table.name, f"{table.handle}, {table.stated_text}"):
            if not wanted:
                return present
            staying = [(about, text) for id, about, text in page if id not in going[table.name]]
            found = wanted.found_in(keywords.fold("\n".join(text for _, text in staying)))
            present |= {word: [] for word in found & wanted.words}
            lines = SearchTerms(frozenset(found & wanted.lines))
            for about, text in staying if lines else ():
                for line in lines.found_in(keywords.fold(text)):
                    handles = present.setdefault(line, [])
                    handle = f"{table.letter}{about}"
                    where = kinds.BY_LETTER[table.letter].name if table.letter else ""
                    if where and handle not in handles and _of_owner(db, where, (about,), owner):
                        handles.append(handle)
            enough = [line for line, handles in present.items() if len(handles) >= _NAMED]
            wanted = wanted.without([*(found & wanted.words), *enough])
    return present


def _repeating(
    db: Database,
    copy: Copy,
    wanted: SearchTerms,
    walk: Walk,
    owner: str,
    short: AbstractSet[str] = frozenset(),
    keywords_: Keywords = keywords.NO_KEYWORDS,
) -> Ids:
    """The remaining rows that contain any of the terms or keywords, or that consist of one of the short texts."""
    if not (wanted or short or keywords_):
        return ()
    going, words = {*walk[copy.table], *walk[copy.name]}, KeywordMatcher(keywords_, db.tokens_of)
    rows: list[int] = []
    for page in _pages(db, copy.table, copy.text):
        whole = "\n".join(text for _, text in page)
        if not (short or wanted.found_in(keywords.fold(whole)) or words.may_match(keywords.plain(whole))):
            continue
        for id, text in page:
            folded = keywords.fold(text)
            if id not in going and (wanted.found_in(folded) or folded in short or found_in(words, text)):
                rows.append(id)
    return _of_owner(db, copy.table, tuple(rows), owner)


def found_in_rows(db: Database, wanted: Iterable[str]) -> set[str]:
    """Those of these folded texts that any canonical row or the schema contains, also within words."""
    left, found = set(wanted), set[str]()
    for name in TABLES:
        columns = text_columns(db, name)
        for page in _pages(db, name, _joined(columns)) if left and columns else ():
            text = "\n".join(words for _, words in page).casefold()
            found |= {piece for piece in left if piece in text}
            left -= found
            if not left:
                break
    declared = """select group_concat(type || name || tbl_name || char(10) || coalesce(sql, ''), char(10))
                  from sqlite_schema"""
    schema = str(db.value(declared)).casefold()  # names are adjacent in the file
    return found | {piece for piece in left if piece in schema}


# Rows that have certain words.


@frozen
class RowWithWords:
    table: str
    id: int
    number: int  # of its handle
    words: frozenset[str]
    only_place: bool  # only the name of its folder has them

    @property
    def handle(self) -> str:
        letter = TABLES[self.table].letter
        return f"{letter}{self.number}" if letter else ""


def choose_keywords(db: Database, texts: Iterable[str]) -> Keywords:
    """The words of these texts to look for. Every row should be in the word index, long texts with their beginning."""
    rows = candidates.size(db, False)
    limit = max(_COMMON, int(rows * _COMMON_SHARE))
    return keywords.choose(texts, lambda word: candidates.count_words(db, word, rows), min(limit, keywords.MOST_ROWS))


def found_in(wanted: KeywordMatcher, text: str) -> frozenset[str]:
    """The wanted words of a text, without the path of the home folder: in /home/anna all would be about Anna."""
    text = text.replace(str(Path.home()), "~") if "/" in text else text
    folded = keywords.plain(text.replace("\\n", "\n"))  # of a text in JSON
    return wanted.found_in(folded) if wanted.may_match(folded) else frozenset()


def rows_with(db: Database, wanted: KeywordMatcher, *, stated: bool = False) -> Iterator[RowWithWords]:
    """All rows whose text has wanted words. `stated`: only what somebody said, noted or learned, not copies of it."""
    for table in TABLES.values():
        columns = columns_with_words(db, table.name)
        if not (table.stated_text if stated else columns):
            continue
        text = table.stated_text if stated else _joined([name for name in columns if name != _PLACE])
        place = _PLACE if _PLACE in columns and not stated else "''"
        number = table.handle if table.letter else "0"
        for page in _pages(db, table.name, f"{number}, {text}, {place}"):
            if not wanted.may_match(keywords.plain("\n".join(f"{text}\n{place}" for _, _, text, place in page))):
                continue
            for id, about, words, folder in page:
                in_text = found_in(wanted, words)
                if found := in_text | found_in(wanted, folder):
                    yield RowWithWords(table.name, id, about, found, not in_text)


def _joined(columns: Sequence[str]) -> str:
    return lineage.joined(*(f"coalesce({name}, '')" for name in columns)) or "''"


def remaining_rows_with(db: Database, wanted: KeywordMatcher) -> tuple[list[str], list[str]]:
    """What has a wanted word: the handles of rows that the person can forget by name, and all else in words."""
    handles, folders, others = dict[str, None](), dict[str, None](), Counter[str]()
    for row in rows_with(db, wanted):
        kind = kinds.BY_LETTER.get(row.handle[:1])
        # A title names a whole session, and what belongs to another owner is not named by its handle.
        is_named = kind in kinds.FORGETTABLE and row.table != "session"
        if row.only_place:
            folders[row.handle or _label(row)] = None
        elif kind and is_named and _of_owner(db, kind.name, (row.number,), PERSON):
            handles[row.handle] = None
        else:
            others[_label(row)] += 1
    named = [f"the name of the folder of {listed([*folders], _NAMED)}"] if folders else []
    named += [label if many == 1 else f"{label} ({many} times)" for label, many in others.items()]
    named += [f"the path of the backup {path}" for path in file.known_copies(db) if found_in(wanted, path)]
    return [*handles], named


def _label(row: RowWithWords) -> str:
    if row.table == "session":
        return f"the title or the opening of {row.handle}"
    if row.handle:
        return f"a {kinds.BY_LETTER[row.handle[0]].name} of another caller"
    counted = next((singular for _, singular in TABLES[row.table].counted), "")
    return _LABELS.get(row.table) or f"a {counted or SINGULAR.get(row.table, row.table)}"


def names_with(db: Database, words: Iterable[str]) -> Sequence[str]:
    """The names of folders, callers and backups that have one of these words, everyday words apart."""
    rare = keywords.choose(words)
    return () if rare.together or not rare else remaining_rows_with(db, KeywordMatcher(rare, db.tokens_of))[1]


def in_files(wanted: KeywordMatcher, files: Iterable[Path]) -> list[str]:
    """Those of these text files that have a wanted word, in words. A file that cannot be read is named too."""
    found = []
    for path in files:
        try:
            if found_in(wanted, path.read_text(encoding="utf-8", errors="replace")):
                found.append(f"the file {path}")
        except OSError as error:
            found.append(f"perhaps the file {path}, which cannot be read ({error.strerror})")
    return found
