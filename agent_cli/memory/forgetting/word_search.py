"""Finds the rows that have certain words, in any text column: before an erasure what else says the same, after it what
is left, by handles of rows and names of folders, callers and backups.

Every text is compared word by word, so that a search for one of the words finds no more than is found here.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Protocol

from agent_cli import kinds
from agent_cli.memory import lineage
from agent_cli.memory.forgetting.provenance import SINGULAR, TABLES
from agent_cli.memory.language import keywords
from agent_cli.memory.language.keywords import Keywords
from agent_cli.memory.lineage import Table
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import candidates
from agent_cli.store import backup
from agent_cli.store.db import Database
from agent_cli.values import frozen

_PAGE = 2000
_PLACE = "place"  # the column with a folder
_COMMON, _COMMON_SHARE = 20, 0.02  # rows, and share of all, from which a word is an everyday one


class WordMatcher(Protocol):
    """Tells which wanted words a plain text has."""

    def may_match(self, text: str) -> bool: ...
    def found_in(self, text: str) -> frozenset[str]: ...


@frozen
class RowWithWords:
    table: str
    id: int
    number: int  # of its handle
    words: frozenset[str]
    only_place: bool  # only the name of its folder has them

    @property
    def handle(self) -> str:
        """The handle; empty for a row without one."""
        letter = TABLES[self.table].letter
        return f"{letter}{self.number}" if letter else ""


def choose_keywords(db: Database, texts: Iterable[str]) -> Keywords:
    """The words of these texts to look for. Every row should be in the word index, long texts with their beginning."""
    rows = candidates.size(db, False)
    limit = max(_COMMON, int(rows * _COMMON_SHARE))
    return keywords.choose(texts, lambda word: candidates.count_words(db, word, rows), min(limit, keywords.MOST_ROWS))


def matcher(db: Database, wanted: Keywords) -> WordMatcher:
    return keywords.KeywordMatcher(wanted, db.tokens_of)


def rows_with(db: Database, wanted: WordMatcher, *, stated: bool = False) -> Iterator[RowWithWords]:
    """All rows whose text has wanted words. `stated`: only what somebody said, noted or learned, not copies of it."""
    for table in TABLES.values():
        if not table.derived and (table.stated_text if stated else table.text_columns):
            yield from _of_table(db, table, wanted, stated)


def without_home(text: str) -> str:
    """A text without the path of the home folder: in /home/anna all would be about Anna."""
    return text.replace(str(Path.home()), "~") if "/" in text else text


def _of_table(db: Database, table: Table, wanted: WordMatcher, stated: bool) -> Iterator[RowWithWords]:
    columns = table.text_columns.split()
    text = table.stated_text if stated else _joined([name for name in columns if name != _PLACE])
    place = _PLACE if _PLACE in columns and not stated else "''"
    for page in _pages(db, table, text, place):
        if not wanted.may_match(keywords.plain("\n".join(f"{text}\n{place}" for _, _, text, place in page))):
            continue
        for id, number, words, folder in page:
            in_text = found_in(wanted, words)
            in_place = found_in(wanted, folder)
            if found := in_text | in_place:
                yield RowWithWords(table.name, id, number, found, not in_text)


def found_in(wanted: WordMatcher, text: str) -> frozenset[str]:
    """The wanted words of a text."""
    folded = keywords.plain(without_home(text).replace("\\n", "\n"))  # of a text in JSON
    return wanted.found_in(folded) if wanted.may_match(folded) else frozenset()


def _joined(columns: list[str]) -> str:
    return lineage.joined(*(f"coalesce({name}, '')" for name in columns)) or "''"


def _pages(db: Database, table: Table, text: str, place: str) -> Iterator[list[tuple[int, int, str, str]]]:
    """(id, number of the handle, text, place) of all rows, in pages."""
    if db.value("select wr from pragma_table_list where name = ?", (table.name,)):  # without row ids they are small
        yield [(0, 0, words, "") for (words,) in db.rows(f"select {text} from {table.name}")]
        return
    number = table.handle if table.letter else "rowid"
    last = 0
    while rows := db.rows(
        f"select rowid, {number}, {text}, {place} from {table.name} where rowid > ? order by rowid limit {_PAGE}",
        (last,),
    ):
        yield [(id, about, words, folder) for id, about, words, folder in rows]
        last = rows[-1][0]


def all_texts(db: Database) -> Iterator[str]:
    """Every text of a database of any version, without its indexes."""
    tables = db.rows("select name from pragma_table_list where schema = 'main' and type = 'table'")
    for (table,) in tables:
        for (column,) in db.rows("select name from pragma_table_info(?) where type = 'TEXT'", (table,)):
            if (table, column) != ("meta", "value"):
                yield from (text for (text,) in db.rows(f'select "{column}" from "{table}" where "{column}" <> \'\''))


_NAMED = 5  # of a sort
_LABELS = {"caller": "the name of a caller", "prompt": "a line that was typed at the prompt"}


@frozen
class RemainingRows:
    """`handles`: rows that the person can forget by name. `named`: everything else, in words."""

    handles: Sequence[str] = ()
    named: Sequence[str] = ()


def remaining_rows_with(db: Database, wanted: WordMatcher) -> RemainingRows:
    """Everything in the file that has a wanted word."""
    handles: dict[str, None] = {}
    folders: dict[str, None] = {}
    others: dict[str, int] = {}
    for row in rows_with(db, wanted):
        name = _forgettable_handle(db, row)
        if name and not row.only_place:
            handles[name] = None
        elif row.only_place:
            folders[row.handle or _label(row)] = None
        else:
            others[_label(row)] = others.get(_label(row), 0) + 1
    named = [f"the name of the folder of {_listed(folders)}"] if folders else []
    named += [label if many == 1 else f"{label} ({many} times)" for label, many in others.items()]
    named += [f"the path of the backup {path}" for path in backup.known_copies(db) if found_in(wanted, path)]
    return RemainingRows(tuple(handles), tuple(named))


def names_with(db: Database, words: Iterable[str]) -> Sequence[str]:
    """The names of folders, callers and backups that have one of these words, everyday words apart."""
    rare = keywords.choose(words)
    return () if rare.together or not rare else remaining_rows_with(db, matcher(db, rare)).named


def in_files(wanted: WordMatcher, files: Iterable[Path]) -> list[str]:
    """Those of these text files that have a wanted word, in words. A file that cannot be read is named too."""
    found = []
    for path in files:
        try:
            if found_in(wanted, path.read_text(encoding="utf-8", errors="replace")):
                found.append(f"the file {path}")
        except OSError as error:
            found.append(f"perhaps the file {path}, which cannot be read ({error.strerror})")
    return found


def _forgettable_handle(db: Database, row: RowWithWords) -> str:
    """The handle of a row that `agent forget` takes; empty for another, and for a title: it names a whole session."""
    kind = kinds.BY_LETTER.get(row.handle[:1])
    if kind is None or kind not in kinds.FORGETTABLE or kind.table == "session":
        return ""
    owner = db.value(f"select owner from {kind.table} where id = ?", (row.number,))
    return row.handle if owner == PERSON else ""


def _label(row: RowWithWords) -> str:
    if row.table == "session":
        return f"the title or the opening of {row.handle}"
    if row.handle:
        return f"a {kinds.BY_LETTER[row.handle[0]].name} of another caller"
    table = TABLES[row.table]
    counted = next((singular for _, singular in table.counts), "")
    return _LABELS.get(row.table) or f"a {counted or SINGULAR.get(row.table, row.table)}"


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return f"{', '.join(listed[:_NAMED])}{more}"
