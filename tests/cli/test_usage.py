"""The help, printed before anything is loaded, and the options before a command, which are understood behind it."""

import tomllib
from pathlib import Path

import pytest
import typer

from agent_cli import __version__
from agent_cli.cli import main, usage
from agent_cli.cli.main import app
from tests.conftest import Ran
from tests.tables import columns, for_each


def test_help_lists_every_option_there_is():
    options = [param.opts for param in typer.main.get_command(app).params]
    told = [[word.strip(",") for word in name.split() if word.startswith("-")] for name in usage.OPTIONS]
    assert told == [*options, ["-h", "--help"]]


def test_help_is_the_same_however_it_is_asked_for(program):
    said = program("--help").out
    assert said == f"{usage.help()}\n"
    assert [program(*words).out for words in (["-h"], ["help"], ["--db", "x", "--help"])] == [said] * 3
    assert program("help", "facts", "add").out == program("facts", "add", "--help").out
    assert said.isascii()
    assert max(map(len, said.splitlines())) <= 80


def test_help_names_every_command_that_starts_the_program():
    project = Path(__file__).parents[2] / "pyproject.toml"
    scripts = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["scripts"]
    assert [name for name in scripts if name not in usage.help().replace(".", " ").split()] == []


@pytest.mark.usefixtures("no_database")
def test_version_is_the_same_however_it_is_asked_for(program):
    assert program("--version") == program("-q", "--version") == Ran(0, f"agent {__version__}\n", "")
    assert not program.db.exists()


GROUPS = "facts notes sessions summaries skills retention models config db index jobs schedule"


def test_no_line_of_a_list_of_commands_is_cut_off_and_no_completion_that_does_not_work_is_offered(program):
    for group in GROUPS.split():
        told = program(group, "--help", env={"COLUMNS": "80"}).out
        assert "..." not in told.split("Commands:")[1], group
        assert "completion" not in told, group


GROUP = typer.main.get_command(app)


def moved(line):
    return " ".join(main.in_front(line.split(), GROUP, None))


@for_each(
    ("line", "wanted"),
    columns("""ask -q hello → -q ask hello | ask hello -m qwen3:8b → -m qwen3:8b ask hello
        ask hello --model=qwen3:8b there → --model=qwen3:8b ask hello there
        facts list --db other.db --json → --db other.db facts list --json
        -v facts --plain list --as notebook → -v --plain --as notebook facts list
        ask -r s1 and now → -r s1 ask and now | ask -c and then → -c ask and then"""),
)
def test_an_option_behind_a_command_counts_as_if_it_stood_before_it(line, wanted):
    assert moved(line) == wanted


@for_each(
    "line",
    [
        "notes add --title -q words",  # the value of one
        "ask -- -q is an option",
        "--db other.db notes list",
        "nonsense --whatever",
        "-m qwen3:8b",
        "facts list --nonsense",
    ],
)
def test_what_belongs_to_the_command_stays_where_it_is(line):
    assert moved(line) == line


def test_an_option_without_its_value_is_left_to_be_reported():
    assert moved("ask hello --db") == "--db"


@pytest.mark.usefixtures("no_database")
def test_another_file_is_used_wherever_its_option_stands(program):
    assert program("notes", "add", "buy milk", "--db", "other.db").code == 0
    assert "buy milk" in program("--db", "other.db", "notes", "list").out
    assert "buy milk" in program("notes", "list", "--db=other.db").out
    assert not program.db.exists()


def test_an_option_that_a_command_cannot_use_is_refused_behind_it_too(program):
    ran = program("notes", "list", "--incognito")
    assert (ran.code, ran.out) == (2, "")
    assert "--incognito is for a conversation and for `agent ask`" in ran.err
