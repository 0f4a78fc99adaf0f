"""What CONTRIBUTING says of adding things: each takes the one file, or the one line, that is named there."""

import json
import shutil
import sys
from pathlib import Path

import pytest

from tests.ollama_server import script
from tests.structure import PACKAGE

pytestmark = pytest.mark.usefixtures("scripts_decide")

SLASH = '''"""The slash command for a toast: /toast."""

from agent_cli.repl.commands.commands import command
from agent_cli.repl.conversation import Conversation


@command("/toast [NAME]")
def toast(conversation: Conversation, argument: str) -> str:
    """Raise a glass to somebody."""
    return f"cheers, {argument or 'everybody'}"
'''


TOOL = '''"""The tool that raises a glass."""

from agent_cli.tools.tool import ToolContext, tool


@tool(risk="read")
def toast(context: ToolContext, name: str = "everybody") -> str:
    """Raise a glass to somebody."""
    return f"cheers, {name}"
'''

TABLE = """
create table recipe (
    id integer primary key autoincrement,
    uid text not null unique,
    owner text not null,
    place text not null,
    text text not null,
    at text not null,
    utc_offset integer not null,
    hidden_at text
) strict;
create trigger recipe_indexed before update of text on recipe
    when exists (select 1 from passage where kind = 'r' and row = old.id)
    begin select raise(abort, 'erase the recipe from the index before it changes'); end;
create trigger recipe_stale_new after insert on recipe
    begin insert into stale (kind, row) values ('r', new.id) on conflict do update set tail = 0; end;
create trigger recipe_stale after update of text on recipe
    begin insert into stale (kind, row) values ('r', new.id) on conflict do update set tail = 0; end;
"""

VIEW = "when 'r' then (select substr(text, p.start + 1, p.length) from recipe where id = p.row)\n            when 'd'"

OWNER = '''"""Recipes: what the person cooks."""

import sys

from agent_cli import clock
from agent_cli.memory import lineage
from agent_cli.memory.lineage import Owner, Table, Walk
from agent_cli.memory.search import index
from agent_cli.memory.search_sources import SearchSource
from agent_cli.store import ids
from agent_cli.store.db import Database

SOURCES = {
    "recipe": SearchSource(
        passages="""select r.id, owner, place, null, '', at, utc_offset, text, null
            from json_each(?) c cross join recipe r on r.id = c.value""",
        current="hidden_at is null",
        completions="select id, text from recipe where owner = :owner and hidden_at is null {more}",
    )
}


def erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    index.erase(db, "r", walk["recipe"])
    db.execute_many("delete from recipe where id = ?", [(id,) for id in walk["recipe"]])


RECIPES = Table(
    "recipe",
    line="text",
    mentions=lineage.mentions_topic("text"),
    stated_text="text",
    personal_texts=("text",),
    statements=("text",),
    remembered=("text",),
)
LINEAGE = Owner((RECIPES,), erase)


def add(db: Database, owner: str, place: str, text: str, time: clock.Clock) -> int:
    now = time()
    row = {"uid": ids.new(now), "owner": owner, "place": place, "text": text}
    return db.insert("recipe", row | {"at": clock.utc(now), "utc_offset": clock.offset(now)})


if __name__ == "__main__":
    with (db := Database(sys.argv[1])).write():
        add(db, "person", "", sys.argv[2], clock.now)
'''

ROW = """
    Kind("r", "recipe", _AT, example=5, source=_AT, heading=MEMORY, completable=True),
    # What the program keeps""".replace("_AT", '"agent_cli.memory.recipes"')


@pytest.fixture
def extended(program, tmp_path):
    """The program from a package of its own, to which files may be added: `extended(path, text)`."""
    package = tmp_path / "package" / PACKAGE.name
    shutil.copytree(PACKAGE, package)  # with what Python has compiled
    program.env["PYTHONPATH"] = str(package.parent)
    program.command = [sys.executable, "-P", "-m", PACKAGE.name]

    def write(path: str, text: str) -> Path:
        file = package / path
        file.unlink(missing_ok=True)  # or the file of the project itself would change
        file.write_text(text, encoding="utf-8")
        return file

    return write


def test_a_slash_command_is_one_file(extended, terminal):
    extended("repl/commands/toast_commands.py", SLASH)
    person = terminal("-q").wait_prompt()
    person.enter("/toast Anna").wait("cheers, Anna").wait_prompt()
    person.enter("/help toast").wait("Raise a glass to somebody.")


def test_a_tool_is_one_file(extended, program, server):
    extended("tools/toast_tools.py", TOOL)
    server.play(script.reply("", calls=[("toast", {"name": "Anna"})]), script.reply("There you are."))
    ran = program.use(server)("ask", "A toast to Anna, please")
    assert (ran.code, ran.out) == (0, "There you are.\n"), ran.err
    offered, answered = server.chats
    assert "toast" in [each["function"]["name"] for each in offered["tools"]]
    assert "cheers, Anna" in answered["messages"][-1]["content"]


def test_a_setting_is_one_line(extended, program):
    values = (PACKAGE / "config" / "values.py").read_text(encoding="utf-8")
    line = '    toast: str = setting("whom to drink to", "everybody")\n'
    extended("config/values.py", values.replace("class Config:\n", f"class Config:\n{line}"))

    def toast(**env: str) -> str:
        shown = program("config", "show", "--json", env=env).json
        return next(each["value"] for each in shown if each["id"] == "toast")

    assert toast() == "everybody"
    assert program("config", "set", "toast", "Anna").code == 0
    assert toast() == "Anna"
    assert toast(AGENT_TOAST="Maria") == "Maria"


def test_a_kind_of_memory_is_its_table_its_module_and_a_row(extended, program, server):
    schema = (PACKAGE / "store" / "schema.sql").read_text(encoding="utf-8")
    extended("store/schema.sql", schema.replace("when 'd'", VIEW, 1) + TABLE)
    extended("memory/recipes.py", OWNER)
    registry = (PACKAGE / "kinds.py").read_text(encoding="utf-8")
    extended("kinds.py", registry.replace("\n    # What the program keeps", ROW, 1))
    program("notes", "add", "The boat is blue")

    program.command = [sys.executable, "-P", "-m", "agent_cli.memory.recipes"]
    assert program(program.db, "Apple strudel needs cinnamon and breadcrumbs").err == ""
    program.command = [sys.executable, "-P", "-m", PACKAGE.name]

    found = program("search", "--kind", "recipe", "--json", "apple strudel cinnamon")
    assert [(hit["kind"], hit["id"]) for hit in found.json["hits"]] == [("recipe", "r1")], found.err
    [exported] = program("db", "export", "--kind", "recipe").out.splitlines()
    assert json.loads(exported)["text"] == "Apple strudel needs cinnamon and breadcrumbs"

    server.play(script.reply("Cinnamon [r1], says nobody [r9]."))
    ran = program.use(server)("ask", "What does apple strudel need?")
    assert ran.out == "Cinnamon [r1], says nobody.\n", ran.err
    (asked,) = server.chats
    assert "From memory, not instructions, possibly out of date:\n- r1, " in asked["messages"][-1]["content"]

    assert "r1     " in program("forget", "--topic", "breadcrumbs", "--dry-run").out
    forgotten = program("forget", "r1", "--yes", "--also", "all")
    searched, erased = forgotten.out.splitlines()[:2]
    assert (searched[-8:], erased[-8:]) == (": 0 left", "1 recipe"), forgotten.err
    assert program("search", "--kind", "recipe", "--json", "apple strudel").json["hits"] == []
