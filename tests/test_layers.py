"""The architecture, as a table. A part may import itself and what its row names."""

import ast
from itertools import pairwise
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "agent_cli"

LEAVES = "messages errors text clock values"  # pure values and functions, known to all

MAY_IMPORT = {
    "values": "",
    "errors": "",
    "messages": "values",
    "text": "",
    "clock": "errors",
    "config": "errors values",
    "store": LEAVES,
    "llm": LEAVES,
    "memory": f"store {LEAVES}",
    "tools": f"memory store {LEAVES}",
    "agent": f"tools memory llm store {LEAVES}",
    "app": f"agent tools memory llm store config {LEAVES}",
    "headless": f"app agent tools memory llm store config {LEAVES}",
    "checks": f"app llm memory store config {LEAVES}",
    "serve": f"app agent tools memory llm store config {LEAVES}",
    "repl": f"checks app agent llm tools memory store {LEAVES}",
    "cli": f"repl serve checks headless app agent llm tools memory store config {LEAVES}",
    "__main__": "cli",
}

VENDORS = {
    "apsw": "store",
    "bs4": "memory",
    "cronsim": "memory",
    "dateparser": "memory",
    "dateutil": "memory",
    "anyio": "tools serve",
    "fastapi": "serve",
    "feedparser": "tools",
    "httpcore": "tools",
    "icalendar": "tools",
    "pypdf": "memory",
    "recurring_ical_events": "tools",
    "simpleeval": "tools",
    "tzlocal": "memory",
    "sqlite_vec": "store",
    "ollama": "llm",
    "httpx": "llm",
    "mcp": "tools serve",
    "platformdirs": "config",
    "starlette": "serve",
    "stdnum": "memory",
    "tomlkit": "config",
    "yaml": "memory",
    "typer": "cli",
    "uvicorn": "serve",
    "prompt_toolkit": "repl",
    "pygments": "repl",
    "rich": "repl cli",
    "wcwidth": "repl",
}

FILES = sorted(path for path in PACKAGE.rglob("*.py") if path.parent != PACKAGE or path.name != "__init__.py")


def part(path):
    return path.relative_to(PACKAGE).with_suffix("").parts[0]


def imported(path):
    """Full dotted names imported anywhere in the file, functions included."""
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{path}: relative import"
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_imports_only_what_its_layer_may(path):
    here = part(path)
    allowed = {here, *MAY_IMPORT[here].split()}
    for name in imported(path):
        top, _, rest = name.partition(".")
        if top == "agent_cli":
            assert rest.split(".")[0] in allowed or rest in ("__version__", "CHILD"), f"{here} may not import {name}"
        elif top in VENDORS:
            assert here in VENDORS[top].split(), f"{top} belongs to {VENDORS[top]}, not {here}"


def test_no_import_cycles():
    names = {".".join(p.relative_to(PACKAGE).with_suffix("").parts).removesuffix(".__init__"): p for p in FILES}
    edges = {name: {each for each in _targets(path, names) if each != name} for name, path in names.items()}
    while ends := [n for n, to in edges.items() if not to & edges.keys() or not any(n in e for e in edges.values())]:
        for name in ends:
            del edges[name]
    assert not edges, f"import cycle among {sorted(edges)}"


def _targets(path, names):
    for name in imported(path):
        inner = name.removeprefix("agent_cli.")
        while inner and inner not in names:
            inner = inner.rpartition(".")[0]
        if inner:
            yield inner


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_is_short_enough_to_read(path):
    assert len(path.read_text().splitlines()) <= 400


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(PACKAGE)))
def test_module_says_what_it_is(path):
    assert ast.get_docstring(ast.parse(path.read_text())), f"{path.name} has no docstring"


def test_each_table_is_written_by_one_module():
    writers: dict[str, set[str]] = {}
    for path in FILES:
        if path.stem == "migrations":  # moves rows of any table, once, before a module knows the file
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                for table in _written(node.value):
                    writers.setdefault(table, set()).add(path.stem)
    assert {table: who for table, who in writers.items() if len(who) > 1} == {}


def _written(sql):
    words = sql.lower().split()
    for verb, table in pairwise(words):
        known = (verb, words[0]) in {("into", "insert"), ("update", "update"), ("from", "delete")}
        if known and "(" not in table.strip("("):  # that would be a function that gives rows
            yield table.strip("(")
