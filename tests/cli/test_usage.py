"""The help, which is printed before anything is loaded."""

import typer

from agent_cli import __version__
from agent_cli.cli import usage
from agent_cli.cli.main import app
from tests.conftest import Ran


def test_help_lists_every_option_there_is():
    options = [param.opts for param in typer.main.get_command(app).params]
    told = [[word.strip(",") for word in name.split() if word.startswith("-")] for name in usage.OPTIONS]
    assert told == [*options, ["-h", "--help"]]


def test_help_is_the_same_however_it_is_asked_for(program):
    said = program("--help").out
    assert said == f"{usage.help()}\n"
    assert [program(*words).out for words in (["-h"], ["--db", "x", "--help"])] == [said, said]
    assert said.isascii()
    assert max(map(len, said.splitlines())) <= 80


def test_version_is_the_same_however_it_is_asked_for(program):
    assert program("--version") == program("-q", "--version") == Ran(0, f"agent {__version__}\n", "")
    assert not program.db.exists()


GROUPS = "facts notes sessions summaries skills retention models config db index jobs schedule"


def test_no_line_of_a_list_of_commands_is_cut_off_and_no_completion_that_does_not_work_is_offered(program):
    for group in GROUPS.split():
        told = program(group, "--help", env={"COLUMNS": "80"}).out
        assert "..." not in told.split("Commands:")[1], group
        assert "completion" not in told, group
