"""The registry of owners: which module erases which tables, and the order in which they are asked."""

from importlib import import_module
from typing import cast

from agent_cli import kinds
from agent_cli.memory.conversations import lineage as conversations
from agent_cli.memory.conversations import session_lineage as session_rows
from agent_cli.memory.documents import lineage as documents
from agent_cli.memory.facts import lineage as facts
from agent_cli.memory.lineage import Copy, Owner, Table
from agent_cli.memory.planner import lineage as planner
from agent_cli.memory.search import lineage as search
from agent_cli.memory.skills import lineage as skills
from agent_cli.memory.summaries import lineage as summaries
from agent_cli.store import jobs

# Rows derive from rows of earlier owners, so that one pass reaches all. They are erased in the opposite order,
# referring rows first.
_FOLDERS: tuple[Owner, ...] = (conversations, documents, facts, skills, summaries, session_rows, planner)
_OWNED_TABLES = {table.name for owner in (*_FOLDERS, search) for table in owner.TABLES}
# The owner of any other kind is the module that writes its table.
_MODULES = dict.fromkeys(kind.module for kind in kinds.KINDS if kind.owned and kind.table not in _OWNED_TABLES)
OWNERS: tuple[Owner, ...] = (*_FOLDERS, *(cast(Owner, import_module(name)) for name in _MODULES), search)

_STORE_TABLES = (  # tables of the store, which no folder of memory owns
    Table(
        "job",
        text_columns="error",
        other_columns="uid kind subject state due_at lease_until holder at finished_at",
        owner="",
    ),
    Table("event", other_columns="uid kind actor subject hash at terminal link"),
    Table("meta", other_columns="key value"),
    Table("migration", other_columns="name at"),
    Table("forgotten", other_columns="hash at"),
)

TABLES: dict[str, Table] = {table.name: table for owner in OWNERS for table in owner.TABLES} | {
    table.name: table for table in _STORE_TABLES
}

_COPIES = {copy.name: copy for owner in OWNERS for copy in owner.COPIES} | {
    "errors of jobs": Copy("errors of jobs", "error of a job", "job", "error", jobs.blank_errors)
}
_COUNTED = (  # in this order
    *("prompts", "tests", "titles", "errors of jobs", "quotations elsewhere", "calls elsewhere"),
    *("errors of schedules", "openings", "jottings", "recollections"),
)
COPIES: tuple[Copy, ...] = tuple(_COPIES[name] for name in dict.fromkeys([*_COUNTED, *_COPIES]))

SINGULAR: dict[str, str] = {  # singular of each name under which rows are counted
    **dict(
        names
        for table in TABLES.values()
        for names in (*table.counts, *([table.partial_names] if table.partial_names else []))
    ),
    **{copy.name: copy.singular for copy in COPIES},
}


def in_order(first: str) -> list[Table]:
    """All tables, those in `first` (names with spaces) before the others."""
    return [TABLES[name] for name in dict.fromkeys([*first.split(), *TABLES])]
