"""What CONTRIBUTING says of adding things: each takes the one file, or the one line, that is named there."""

import os
import shutil
import sys
from pathlib import Path

import pytest

from tests.ollama_server import script
from tests.structure import PACKAGE

SLASH = '''"""The slash command for a toast: /toast."""

from agent_cli.repl.commands.command import command
from agent_cli.repl.session.conversation import Conversation


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


@pytest.fixture
def extended(program, tmp_path):
    """The program from a package of its own, to which files may be added: `extended(path, text)`."""
    package = tmp_path / "package" / PACKAGE.name
    shutil.copytree(PACKAGE, package, copy_function=os.link)  # links: with what Python has compiled, and in no time
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
    assert 'toast = "everybody"' in program("config", "show").out
    assert program("config", "set", "toast", "Anna").code == 0
    assert 'toast = "Anna"' in program("config", "show").out
    assert 'toast = "Maria"' in program("config", "show", env={"AGENT_TOAST": "Maria"}).out
