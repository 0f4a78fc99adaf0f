"""What forgetting asks of the modules that own tables: each declares in its LINEAGE what its tables hold, which rows
they are made from, and how rows are erased."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field, replace
from typing import Any, Literal

from agent_cli import clock, kinds
from agent_cli.memory.scope import PERSON
from agent_cli.store import ids
from agent_cli.store.db import Database, Row
from agent_cli.values import frozen

Ids = tuple[int, ...]
ErasedLine = tuple[str, str, str]
"""(handle, day, words) of an erased row."""
_KINDS = {kind.name: kind for kind in kinds.FORGETTABLE}


@frozen
class Table:
    """A table as forgetting needs it. In queries, {ids} stands for the condition that a column is among given ids.
    `…_texts`, `statements`, `remembered`: columns of its rows, as in "title, text", or a whole query."""

    name: str
    owner: str = "owner"  # expression for the owner of a row; empty: rows have none
    time: str = "at"
    made_from: Mapping[str, str] = field(default_factory=dict)  # condition of its rows that go with rows of a table
    # How rows are shown and counted.
    part_of: str = ""  # the table whose handles its rows have
    counts: Mapping[tuple[str, str], str] = field(default_factory=dict)  # plural, singular: condition; else by the kind
    day: str = ""  # column of the day shown, if not `time`
    line: str = ""  # columns shown
    line_condition: str = "true"  # condition of the rows shown
    format_line: Callable[..., str] = str  # formats the columns of `line`
    label: str = ""  # shown instead of a handle
    # The text of its rows.
    mentions: str = ""  # condition that a row is about :topic
    dated: bool = True  # whether a time span without a topic selects its rows
    stated_text: str = ""  # expression for text that stays when copies are erased
    personal_texts: Sequence[str] = ()  # text of the person
    other_texts: Sequence[str] = ()  # text of models and tools, and names of files
    file_texts: Sequence[str] = ()  # text of files
    statements: Sequence[str] = ()  # texts that are copies wherever else they stand
    remembered: Sequence[str] = ()  # texts that no import and no model restores

    @property
    def letter(self) -> str:
        """Of the handles of its rows; empty when they have none."""
        kind = _KINDS.get(self.part_of or self.name)
        return kind.letter if kind else ""

    @property
    def handle(self) -> str:
        """The column with the number of the handle."""
        return f"{self.part_of}_id" if self.part_of else "id"

    @property
    def counted(self) -> Mapping[tuple[str, str], str]:
        kind = _KINDS.get(self.name)
        return self.counts or ({(kind.shown_plural, kind.name): "true"} if kind else {})

    def texts(self, db: Database, columns: Iterable[str], found: Iterable[int]) -> list[str]:
        """All that these columns or queries hold of its rows."""
        queries = [each if "{ids}" in each else f"select {each} from {self.name} where id {{ids}}" for each in columns]
        return texts(db, queries, found)


@frozen
class Copy:
    """A column that only repeats the text of other rows, and is erased with them."""

    name: str  # plural, under which rows are counted
    singular: str
    table: str
    text: str
    blank: str = ""  # what its rows are set to, as in "title = ''"; empty: they are deleted
    looks_for: Literal["all", "lines", "sentences"] = "all"
    short: bool = False  # also rows that consist of a short erased text

    def erase(self, db: Database, found: Ids) -> None:
        if self.blank:
            db.execute(f"update {self.table} set {self.blank} where id in (select value from json_each(?))", (found,))
        else:
            delete(db, self.table, found)


@frozen
class ErasureRequest:
    """What the person wants erased: ids by table."""

    rows: Mapping[str, Ids]
    mentioned: Mapping[str, Ids] = field(default_factory=dict)  # rows that may lose only their parts about the topic
    owner: str = PERSON
    topic: str = ""
    sentences: Mapping[int, frozenset[int]] = field(default_factory=dict)  # to be cut out of a message, from 1
    elsewhere: bool = False  # whether another machine has erased it, and its hashes come from there

    def with_(self, other: "ErasureRequest") -> "ErasureRequest":
        """What both name."""
        tables, messages = {*self.rows, *other.rows}, {*self.sentences, *other.sentences}
        rows = {table: tuple(sorted({*self.rows.get(table, ()), *other.rows.get(table, ())})) for table in tables}
        none = frozenset[int]()
        sentences = {id: self.sentences.get(id, none) | other.sentences.get(id, none) for id in messages}
        return replace(self, rows=rows, sentences=sentences)


@frozen
class CutMessage:
    left: str
    removed: Mapping[int, str]  # the sentences that are cut out, by their numbers


@frozen
class Walk:
    """All rows to be erased or shortened. The owners fill it in, one after the other."""

    request: ErasureRequest
    rows: dict[str, Ids]  # to be erased, by table
    partial: dict[str, dict[int, Any]] = field(default_factory=dict)  # shortened, by table; None: the text stays
    removed_texts: dict[str, list[str]] = field(default_factory=dict)  # the texts that shortened rows lose
    rebuilt_periods: list[str] = field(default_factory=list)  # periods whose summary is made again

    def __getitem__(self, table: str) -> Ids:
        return self.rows.get(table, ())

    def add(self, table: str, found: Iterable[int]) -> None:
        self.rows[table] = tuple(sorted({*self[table], *found}))

    def staying(self, table: str) -> Ids:
        return tuple(self.partial.get(table, ()))

    def losing_words(self, table: str) -> Ids:
        """The rows whose present text is erased: erased rows, and shortened rows with another text."""
        return (*self[table], *(id for id, left in self.partial.get(table, {}).items() if left is not None))

    @property
    def handles(self) -> list[str]:
        """The handles of erased rows and of shortened summaries, as jobs and events refer to them."""
        erased = {**self.rows, "summary": sorted(self.losing_words("summary"))}
        return [ids.handle(kind.name, id) for kind in kinds.FORGETTABLE for id in erased.get(kind.name, ())]


def derive(db: Database, walk: Walk, tables: Iterable[Table]) -> None:
    """Add the rows that are made from rows of the walk, as the tables say."""
    for table in tables:
        for source, condition in table.made_from.items():
            walk.add(table.name, column(db, f"select id from {table.name} where {condition}", walk[source]))


@frozen
class Owner:
    """The tables of a folder. `derive` adds what `made_from` of its tables does not say; `erase` deletes and shortens
    rows of the walk, and removes references to erased rows."""

    tables: Sequence[Table]
    erase: Callable[[Database, Walk, clock.Clock], None]
    derive: Callable[[Database, Walk], None] = lambda db, walk: None


def delete(db: Database, table: str, found: Iterable[int]) -> None:
    db.execute(f"delete from {table} where id in (select value from json_each(?))", (found,))


def rows(db: Database, query: str, found: Iterable[int]) -> list[Row]:
    return db.rows(query.format(ids="in (select value from json_each(?))"), (list(found),))


def column(db: Database, query: str, found: Iterable[int]) -> list[Any]:
    return db.column(query.format(ids="in (select value from json_each(?))"), (list(found),))


def texts(db: Database, queries: Iterable[str], found: Iterable[int]) -> list[str]:
    """All non-empty values of queries with {ids}, as text."""
    id_list = list(found)
    return [str(words) for query in queries for row in rows(db, query, id_list) for words in row if words]


def mentions_topic(*columns: str) -> str:
    """The SQL condition that one of these columns contains :topic, which is case folded."""
    return f"instr(fold({joined(*columns)}), :topic)"


def joined(*columns: str) -> str:
    """The SQL expression that joins several columns, one a line."""
    return " || char(10) || ".join(columns)
