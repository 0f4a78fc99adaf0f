"""What forgetting asks of each folder that owns tables: which of its rows came from rows that go, and how they go too.

Such a folder has a module `lineage.py` that answers as an `Owner`. The walk through all owners is in
forgetting/provenance.py; it knows no table by itself.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import field
from typing import Any, Literal, Protocol

from agent_cli import clock, kinds
from agent_cli.memory.scope import PERSON
from agent_cli.store import ids
from agent_cli.store.db import Database, Row
from agent_cli.values import frozen

Ids = tuple[int, ...]
ErasedLine = tuple[str, str, str]
"""Handle, day and words of a row that goes."""


@frozen
class Table:
    """What a table holds. In a query, {ids} stands for the condition that a column is among the given ids."""

    name: str
    text_columns: str = ""  # its columns of text in which something can be said
    other_columns: str = ""  # its other columns of text: ids, times, states, names of programs and models
    derived: bool = False  # made from other tables, and made anew when it is dropped
    owner: str = "owner"  # whose a row is; empty: nobody's
    time: str = "at"
    # How it is shown and counted.
    letter: str = ""  # of the handle
    handle: str = "id"  # the column with the number of the handle
    counts: Mapping[tuple[str, str], str] = field(default_factory=dict)  # what several and one are called: which rows
    partial_names: tuple[str, str] | None = None  # what several and one are called that stay and lose something
    day: str = ""  # the column with the day it is shown with, where that is not `time`
    line: str = ""  # the words by which a row is shown
    line_condition: str = "true"  # which rows are shown
    format_line: Callable[..., str] = str  # makes one text of the columns of `line`
    label: str = ""  # where there is no handle
    # What it says.
    mentions: str = ""  # the condition that a row says :topic
    dated: bool = True  # whether a time alone, without a topic, means its rows
    stated_text: str = ""  # the words of a row that says them in its own right, wherever else they stand
    personal_texts: Sequence[str] = ()  # queries for the words of the person
    other_texts: Sequence[str] = ()  # for the words of models, tools and files' names
    file_texts: Sequence[str] = ()  # for the words of files
    statements: Sequence[str] = ()  # for what is no chance when it is said elsewhere too, however short it is
    summary_texts: Sequence[str] = ()  # for texts whose sentences may stand in results of tools


@frozen
class Copy:
    """A text that only repeats what other rows say, and goes when these go."""

    name: str  # what several are called where they are counted
    singular: str
    table: str
    text: str
    erase: Callable[[Database, Ids], None]
    looks_for: Literal["all", "lines", "sentences"] = "all"
    short: bool = False  # also when it is just a short text that goes


@frozen
class ErasureRequest:
    """What the person wants erased: the ids of rows by table."""

    rows: Mapping[str, Ids]
    mentioned: Mapping[str, Ids] = field(default_factory=dict)  # rows that say the topic and may lose just that
    owner: str = PERSON
    topic: str = ""


@frozen
class Walk:
    """All that goes with it. The owners fill it in, one after the other."""

    request: ErasureRequest
    rows: dict[str, Ids]  # that go, by table
    partial: dict[str, dict[int, Any]] = field(
        default_factory=dict
    )  # that stay and lose something; None: none of its words
    removed_texts: dict[str, list[str]] = field(default_factory=dict)  # the words that rows lose that stay
    rebuilt_periods: list[str] = field(default_factory=list)  # of which the summary is made again

    def __getitem__(self, table: str) -> Ids:
        return self.rows.get(table, ())

    def add(self, table: str, found: Iterable[int]) -> None:
        self.rows[table] = tuple(sorted({*self[table], *found}))

    def staying(self, table: str) -> Ids:
        """The rows that stay and lose something."""
        return tuple(self.partial.get(table, ()))

    def losing_words(self, table: str) -> Ids:
        """The rows whose present words go: those that go, and those that stay with other words."""
        return (*self[table], *(id for id, left in self.partial.get(table, {}).items() if left is not None))

    @property
    def handles(self) -> list[str]:
        """Of the rows that go, and of summaries that go in part; what a job or an event is about."""
        erased = {**self.rows, "summary": sorted(self.losing_words("summary"))}
        return [ids.handle(kind.name, id) for kind in kinds.FORGETTABLE for id in erased.get(kind.table, ())]


class Owner(Protocol):
    """A module that answers for the tables of its folder."""

    @property
    def TABLES(self) -> Sequence[Table]: ...

    @property
    def COPIES(self) -> Sequence[Copy]: ...

    def derive(self, db: Database, walk: Walk) -> None:
        """Add the rows that came from what the walk holds."""

    def erase(self, db: Database, walk: Walk, time: clock.Clock) -> None:
        """Delete its rows of the walk, cut those that stay, and have nothing refer to rows that go."""


def rows(db: Database, query: str, found: Iterable[int]) -> list[Row]:
    """What a query with {ids} finds."""
    return db.rows(query.format(ids="in (select value from json_each(?))"), (list(found),))


def column(db: Database, query: str, found: Iterable[int]) -> list[int]:
    """The first column of what a query with {ids} finds."""
    return [row[0] for row in rows(db, query, found)]


def texts(db: Database, queries: Iterable[str], found: Iterable[int]) -> list[str]:
    """All words that queries with {ids} find."""
    id_list = list(found)
    return [str(words) for query in queries for row in rows(db, query, id_list) for words in row if words]


def mentions_topic(*columns: str) -> str:
    """The condition that one of these columns says :topic, which is case folded."""
    return f"instr(fold({joined(*columns)}), :topic)"


def joined(*columns: str) -> str:
    """An expression for the words of several columns."""
    return " || char(10) || ".join(columns)
