"""Who answers for which tables: each folder that owns some has a row here, and forgetting asks nobody else."""

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

# In this order one row comes from another, so that one walk reaches all; erased is in the opposite order, whoever
# refers to a row before it.
_FOLDERS: tuple[Owner, ...] = (conversations, documents, facts, skills, summaries, session_rows, planner)
_ANSWERED = {table.name for owner in (*_FOLDERS, search) for table in owner.TABLES}
# A kind whose folder is not among these is answered for by the module that writes its table.
_MODULES = dict.fromkeys(kind.module for kind in kinds.KINDS if kind.owned and kind.table not in _ANSWERED)
OWNERS: tuple[Owner, ...] = (*_FOLDERS, *(cast(Owner, import_module(name)) for name in _MODULES), search)

_OF_THE_FILE = (  # tables that belong to no folder of memory
    Table("job", words="error", wordless="uid kind subject state due_at lease_until holder at finished_at", owner=""),
    Table("event", wordless="uid kind actor subject hash at"),
    Table("meta", wordless="key value"),
    Table("migration", wordless="name at"),
    Table("forgotten", wordless="hash at"),
)

TABLES: dict[str, Table] = {table.name: table for owner in OWNERS for table in owner.TABLES} | {
    table.name: table for table in _OF_THE_FILE
}

_COPIES = {copy.name: copy for owner in OWNERS for copy in owner.COPIES} | {
    "errors of jobs": Copy("errors of jobs", "error of a job", "job", "error", jobs.blank_errors)
}
_COUNTED = (  # in this order
    *("prompts", "tests", "titles", "errors of jobs", "results of tools elsewhere", "calls elsewhere"),
    *("errors of schedules", "openings", "jottings", "recollections"),
)
COPIES: tuple[Copy, ...] = tuple(_COPIES[name] for name in dict.fromkeys([*_COUNTED, *_COPIES]))

ONE: dict[str, str] = {  # what one is called of what is counted by this name
    **dict(names for table in TABLES.values() for names in (*table.counts, *([table.part] if table.part else []))),
    **{copy.name: copy.one for copy in COPIES},
}


def ordered(first: str) -> list[Table]:
    """All tables, those that are named here first."""
    return [TABLES[name] for name in dict.fromkeys([*first.split(), *TABLES])]
