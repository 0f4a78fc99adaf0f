"""The architecture, as tables: who may import whom, which library, which table. A row says all that its folder may.

Tables are kept true in both directions: what a row does not name is refused, and what a row names is really used.
"""

import ast
from fnmatch import fnmatch

import pytest

from tests import structure
from tests.structure import FILES, MODULES, folder, module

LEAVES = "arrays atomic_file clock errors kinds limits messages text values"  # pure values and functions, known to all

MAY_IMPORT = {
    **dict.fromkeys(["arrays", "atomic_file", "clock", "errors", "limits", "messages", "text", "values"], ""),
    **dict.fromkeys(["terminal", "config", "render", "store", "llm"], ""),
    "kinds": "values",
    # memory, from the ground up
    "memory": "memory.language store",
    "memory.language": "",
    "memory.dates": "memory.language",
    "memory.search": "memory memory.language memory.dates store",
    "memory.conversations": "memory memory.language memory.dates store",
    "memory.reports": "memory memory.conversations store",
    "memory.transfers": "memory memory.conversations memory.documents store",
    "memory.facts": "memory memory.language memory.search memory.conversations store",
    "memory.documents": "memory memory.search store",
    "memory.planner": "memory memory.dates memory.language memory.search store",
    "memory.summaries": "memory memory.language memory.dates memory.search memory.conversations store",
    "memory.skills": "memory memory.language memory.search memory.conversations memory.facts store",
    "memory.review": "memory memory.language memory.conversations memory.facts memory.skills store",
    "memory.forgetting": "memory memory.language memory.dates memory.search memory.conversations memory.facts "
    "memory.documents memory.planner memory.summaries memory.skills store",
    "memory.lifecycle": "memory memory.dates memory.search memory.conversations memory.facts memory.planner "
    "memory.summaries memory.skills store",
    "memory.sync": "memory memory.language memory.dates memory.search memory.conversations memory.facts "
    "memory.summaries memory.skills memory.forgetting store",
    # what works with memory
    "tools": "memory memory.* store",
    "agent": "tools memory memory.* llm store",
    "agent.jobs": "agent memory memory.* llm store",
    "app": "agent agent.* tools memory memory.* llm store config",
    "checks": "app memory.* llm store config",
    # the doors
    "serve": "app agent tools memory memory.* llm store",
    "repl.keyboard": "render terminal",
    "repl": "repl.keyboard render terminal app agent agent.* memory memory.* llm store",
    "repl.commands": "repl repl.keyboard render terminal checks app agent agent.* memory memory.* llm store",
    "repl.shell": "repl repl.* terminal render app agent config tools memory memory.* llm",
    "cli": "terminal serve repl repl.* render checks app agent agent.* tools memory memory.* llm store config",
    "__main__": "cli",
}

LIBRARIES = {
    "arrays": "numpy",
    "cli": "prompt_toolkit tomlkit typer",
    "config": "platformdirs tomlkit",
    "llm": "httptools httpx ollama safetensors tokenizers wordllama xllamacpp",
    "memory.dates": "dateutil tzlocal",
    "memory.documents": "pypdf",
    "memory.language": "stdnum",
    "memory.lifecycle": "dateutil",
    "memory.planner": "cronsim",
    "memory.skills": "yaml",
    "render": "pygments rich wcwidth",
    "repl": "prompt_toolkit",
    "repl.keyboard": "prompt_toolkit",
    "repl.shell": "prompt_toolkit",
    "serve": "acp anyio fastapi mcp pydantic starlette uvicorn",
    "store": "apsw keyring sqlite_vec",
    "tools": "anyio feedparser httpcore icalendar mcp recurring_ical_events simpleeval",
}

ONLY_FOUND = {"sqlite_vec": "store", "wordllama": "llm"}  # looked up as files of their packages, never imported

MAY_READ = {  # the tables of other folders; each folder reads its own
    "agent.jobs": "session",
    "checks": "message",
    "cli": "passage",
    "memory": "collection document fact fact_source message note said section session skill summary task",
    "memory.conversations": "document note recollection section summary summary_source",
    "memory.documents": "passage",
    "memory.facts": "message session",
    "memory.forgetting": "answered document fact job message recollection rolling section session summary tool_call",
    "memory.lifecycle": "fact fact_source job message said session summary summary_source task",
    "memory.planner": "event",
    "memory.reports": "event fact message note said session task tool_call",
    "memory.review": "fact fact_version message session skill skill_version",
    "memory.search": "document fact fact_source message said section session summary",
    "memory.skills": "message passage tool_call",
    "memory.summaries": "fact fact_version message said session",
    "memory.sync": "summary",
    "store": "fact fact_source forgotten message session summary summary_source",
}

VIEWS = {"said": "memory.conversations", "passage_text": "memory.search"}  # written by nobody, and whose they are
HISTORIES = {"fact_version": "memory.facts", "skill_version": "memory.skills"}  # kept by memory.proposals, and whose
PLANS = dict.fromkeys(("note", "task", "schedule"), "memory.planner")  # written by its rows

ANY_TABLE = {  # modules that put the name of a table into their SQL, and the tables it may be
    "memory.documents.documents": "tables of documents",
    "memory.lineage": "rows that only repeat others, erased",
    "memory.search.graph": "tables of the graph",
    "memory.search.index": "indexes of words",
    "memory.search.vectors": "indexes of vectors",
    "memory.search.word_tables": "indexes of words, maintained",
    "memory.planner.rows": "notes, tasks and schedules",
    "memory.proposals": "histories of facts and skills",
    "memory.sync.merge": "rows of other machines",
    "store.db": "rows of the table that its caller names",
    "store.changes": "uids of rows that are the same, and its own tables",
    "store.file_check": "indexes, checked",
}

MIGRATIONS = "store.schema"  # its migrations: moves rows of any table, once, before a module knows the file

PARTS = sorted({folder(path) for path in FILES} - {"__init__"})
NAMED = [path for path in FILES if path.name != "__init__.py"]


def allowed(part: str) -> list[str]:
    return [*LEAVES.split(), *MAY_IMPORT[part].split()]


def test_a_folder_imports_only_what_its_row_names():
    others = {
        part: {each for each in imported if not any(fnmatch(each, row) for row in allowed(part))}
        for part, imported in structure.folder_imports().items()
    }
    assert {part: names for part, names in others.items() if names} == {}


def test_a_row_names_nothing_that_its_folder_does_not_import():
    imported = structure.folder_imports()
    unused = [
        (part, row)
        for part, rows in MAY_IMPORT.items()
        for row in rows.split()
        if not any(fnmatch(each, row) for each in imported[part])
    ]
    assert unused == []


def test_every_row_stands_for_a_folder():
    assert MAY_IMPORT.keys() - set(PARTS) == set()


def test_no_folder_and_no_module_imports_another_in_a_circle():
    assert structure.cycle(structure.folder_imports()) == []
    assert structure.cycle({name: structure.own_imports(path) for name, path in MODULES.items()}) == []


def test_libraries_are_imported_where_the_table_says_and_nowhere_else():
    used = {part: {name} for name, part in ONLY_FOUND.items()}
    for path in FILES:
        used.setdefault(folder(path), set()).update(structure.libraries(path))
    assert {part: " ".join(sorted(names)) for part, names in used.items() if names} == LIBRARIES


@pytest.mark.parametrize("name", sorted(ONLY_FOUND))
def test_a_library_that_is_only_found_is_named_where_the_table_says(name):
    assert ONLY_FOUND[name] in {folder(path) for path in FILES if name in path.read_text(encoding="utf-8")}


def writers() -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for path in FILES:
        if module(path) != MIGRATIONS:
            for table in structure.written(path):
                found.setdefault(table, set()).add(module(path))
    return found


def test_each_table_is_written_by_one_module():
    assert {table: who for table, who in writers().items() if len(who) > 1 and table != structure.UNKNOWN} == {}


def test_only_the_modules_of_the_table_write_under_a_name_that_is_put_in():
    assert writers()[structure.UNKNOWN] == ANY_TABLE.keys()


def test_tables_of_other_folders_are_read_only_where_the_table_says():
    owner = VIEWS | HISTORIES | PLANS | {table: folder(MODULES[min(who)]) for table, who in writers().items()}
    found: dict[str, set[str]] = {}
    for path in FILES:
        for table in structure.read(path) if module(path) != MIGRATIONS else ():
            if owner[table] != folder(path):
                found.setdefault(folder(path), set()).add(table)
    assert {part: " ".join(sorted(tables)) for part, tables in found.items()} == MAY_READ


def test_each_module_is_short_enough_to_read():
    assert {module(path): lines for path in FILES if (lines := structure.lines(path)) > 900} == {}


def test_each_module_says_what_it_is():
    assert [module(path) for path in FILES if len(ast.get_docstring(structure.tree(path)) or "") <= 10] == []


def test_retired_words_are_names_no_more():
    found = {module(path): names for path in FILES if (names := structure.retired(path))}
    assert found == {"tools.memory_tools": {"grain": 3}}  # an argument that the model sees


def test_nothing_is_kept_from_the_formatter():
    assert structure.kept_from_the_formatter() == 0
