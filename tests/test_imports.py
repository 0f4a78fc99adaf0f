"""What a command may load. Start-up time is a feature: each of these modules would cost what a person can feel.

Typer itself loads difflib, inspect and subprocess: there is nothing to be had there.
"""

import subprocess
import sys

import pytest

from tests.ollama_server import script

LINUX_NEEDS_NOT = {"platformdirs"} if sys.platform == "linux" else set()
HEAVY = {"prompt_toolkit", "rich", "httpx", "pydantic", "asyncio", "ollama", "numpy", "wordllama", *LINUX_NEEDS_NOT}
NETWORK = {"http.client", "email", "encodings.idna", "ssl"}
ASKING = HEAVY | NETWORK | {"sqlite_vec", "sqlite3", "tomlkit"}
NOTHING = ASKING | {"apsw", "socket", "platformdirs", "tempfile", "typer", "inspect", "dataclasses"}
UNUSED = {  # by an answer without calls to a greeting
    "agent_cli.memory.dates.due_times",
    "agent_cli.memory.lifecycle.rewind",
    "agent_cli.memory.planner.notes",
    "agent_cli.memory.search.recall",
    "agent_cli.memory.skills.skills",
}
LATER = {  # loaded once the first prompt stands
    "rich",
    "html.parser",
    "agent_cli.agent.jobs.worker",
    "agent_cli.memory.forgetting.forget",
    "agent_cli.memory.documents.documents",
    "agent_cli.memory.transfers.transfer",
    "agent_cli.store.backup",
    *(f"agent_cli.repl.commands.{group}_commands" for group in ("memory", "fact", "session", "setting", "task")),
}
PROBE = """
import atexit, os, sys
atexit.register(lambda: open(os.environ["LOADED"], "w").write("\\n".join(sys.modules)))
os._exit = sys.exit  # of what would skip the line above
sys.argv[0] = "agent"
from agent_cli.__main__ import main
main()
"""


@pytest.fixture
def loaded(program, tmp_path):
    """Run a command in a fresh process; the modules that are loaded when it ends."""
    file = tmp_path / "loaded"
    program.command = [sys.executable, "-c", PROBE]
    program.env |= {"LOADED": str(file), "PYTHONPATH": ":".join(sys.path)}

    def run(*arguments, stdin=""):
        ran = program(*arguments, stdin=stdin)
        assert (ran.code, "Traceback" in ran.err) == (0, False), ran.err
        return set(file.read_text().split())

    return run


@pytest.mark.parametrize("arguments", [["--version"], ["--help"], ["-h"]], ids=str)
def test_version_and_help_load_nothing_heavy(loaded, arguments):
    assert loaded(*arguments) & NOTHING == set()


def test_help_loads_no_command(loaded):
    def parts(*arguments):
        return {name.removeprefix("agent_cli.cli.") for name in loaded(*arguments) if name.startswith("agent_cli.cli.")}

    assert parts("--help") == {"usage"}
    assert parts("-q", "--help") == {"usage", "main", "output", "invocation", "options"}


def test_asking_a_server_loads_nothing_heavy(loaded, program, server):
    program.use(server)
    server.play(script.reply("Hello", calls=[("read_jottings", {})]), script.reply("Hello"))
    assert loaded("ask", "hi") & ASKING == set()


def test_the_hook_of_another_tool_loads_nothing_heavy(loaded):
    event = '{"hook_event_name": "UserPromptSubmit", "prompt": "where is the boat?"}'
    needless = ASKING | UNUSED - {"agent_cli.memory.search.recall", "agent_cli.memory.skills.skills"}
    assert loaded("hook", stdin=event) & (needless | {"typer", "agent_cli.agent.loop", "html.parser"}) == set()


def test_asking_a_script_loads_nothing_for_the_network(loaded, program):
    model = program.script('[[reply]]\nsay = "Hello"\n')
    assert loaded("-m", model, "ask", "hi") & ASKING == set()


def test_a_greeting_loads_no_search_and_not_what_tools_work_with(loaded, program, server):
    program.use(server)
    server.play(script.reply("Hello"))
    assert loaded("ask", "hi") & UNUSED == set()


def test_asking_without_a_server_loads_nothing_heavy(loaded):
    assert loaded("ask", "hi", "--offline-ok") & ASKING == set()


@pytest.mark.parametrize("command", [["notes", "list"], ["sessions", "list"], ["jobs", "list"], ["config", "show"]])
def test_lists_load_nothing_heavy(loaded, command):
    assert loaded(*command) & ASKING == set()


def test_a_conversation_draws_its_first_prompt_without_rich_and_ssl(program, terminal, tmp_path):
    file = tmp_path / "loaded"
    program.command = [sys.executable, "-c", PROBE]
    program.env |= {"LOADED": str(file), "PYTHONPATH": ":".join(sys.path)}
    assert terminal().wait_prompt().enter("/exit").ended() == 0
    assert set(file.read_text().split()) & {"rich", "ssl"} == set()


def test_what_draws_the_first_prompt_needs_neither_commands_nor_jobs():
    listed = "import sys; from agent_cli.repl.shell import shell; print(*sys.modules)"
    ran = subprocess.run([sys.executable, "-c", listed], capture_output=True, text=True, check=True)
    assert set(ran.stdout.split()) & LATER == set()
