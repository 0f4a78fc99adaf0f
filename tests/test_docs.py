"""The README and the example configuration say what the program does. `--update-docs` writes what is generated."""

import re
import shlex
from importlib import import_module
from pathlib import Path

import pytest
import typer

from agent_cli.cli import usage
from agent_cli.cli.main import COMMANDS
from agent_cli.config import reading, values, writing
from agent_cli.repl.commands.commands import COMMANDS as SLASH

ROOT = Path(__file__).parent.parent
README = ROOT / "README.md"


def commands_table():
    rows = ["| `agent` | Start a conversation. |"]
    for name, help in COMMANDS.items():
        group = typer.main.get_command(import_module(usage.module(name)).app)
        parts = " " + "\\|".join(group.commands) if hasattr(group, "commands") else ""
        rows.append(f"| `agent {name}{parts}` | {help} |")
    return "\n".join(["| command | |", "| --- | --- |", *rows])


def slash_table():
    rows = []
    for each in sorted(SLASH.values(), key=lambda each: each.name):
        usage = each.usage.replace("|", "\\|")
        others = f" ({', '.join(f'`{alias}`' for alias in each.aliases)})" if each.aliases else ""
        rows.append(f"| `{usage}`{others} | {each.help.splitlines()[0]} |")
    return "\n".join(["| | |", "| --- | --- |", *rows])


def section(text, name):
    return re.compile(rf"(<!-- {name}: begin -->\n)(.*?)(<!-- {name}: end -->)", re.DOTALL).search(text)


@pytest.mark.parametrize(("name", "table"), [("commands", commands_table), ("slash", slash_table)])
def test_readme_tables_come_from_the_registries(name, table, request):
    text = README.read_text(encoding="utf-8")
    found = section(text, name)
    wanted = f"{table()}\n"
    if request.config.getoption("--update-docs"):
        README.write_text(text[: found.start(2)] + wanted + text[found.end(2) :], encoding="utf-8")
        return
    assert found[2] == wanted, "run pytest tests/test_docs.py --update-docs"


def test_example_configuration_lists_every_setting(request):
    file = ROOT / "config.example.toml"
    if request.config.getoption("--update-docs"):
        file.write_text(writing.example(), encoding="utf-8")
    assert file.read_text(encoding="utf-8") == writing.example()


def test_example_configuration_is_valid_when_uncommented(tmp_path):
    setting = re.compile(r"# (\w+ = |\[\w+\])")
    lines = [line.removeprefix("# ") for line in writing.example().splitlines() if setting.match(line)]
    file = tmp_path / "config.toml"
    file.write_text("\n".join(lines))
    assert reading.load(file, {}).config == values.Config()


def shell_blocks():
    return [
        line for block in re.findall(r"```sh\n(.*?)```", README.read_text(), re.DOTALL) for line in block.splitlines()
    ]


def test_readme_names_no_command_that_is_not_tried_here():
    known = ("agent ", "echo ", "make run", "make test", "pipx install", "ollama pull")
    assert [line for line in shell_blocks() if not line.startswith(known)] == []


def test_every_command_in_the_readme_runs(program, server):
    server.expect_stable = False  # one of the commands sets another num_ctx
    program.use(server).let_scripts_decide()
    (program.work / "notes.txt").write_text("buy milk")
    program("sessions", "import", "-", stdin=ONE_SESSION)
    for line in shell_blocks():
        piped, _, command = line.partition("#")[0].rpartition("|")
        words = shlex.split(command)
        if words[0] != "agent":
            continue
        ran = program(*words[1:], stdin=piped.removeprefix("echo ").strip(' "'))
        unfound = " search " in line and "nothing is known of it" in ran.err
        assert (ran.code, "Traceback" in ran.err) == (int(unfound), False), f"{line}: {ran.err}"


ONE_SESSION = (
    '{"id": "1", "title": "", "started_at": "2026-01-01T10:00:00", "messages": '
    '[{"id": "1", "role": "user", "content": "hello", "at": "2026-01-01T10:00:00"}]}\n'
)


def test_makefile_begins_with_the_two_commands_of_the_readme():
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.MULTILINE)
    assert targets[:2] == ["run", "test"]


def test_every_module_of_the_program_can_be_imported():
    for path in (ROOT / "agent_cli").rglob("*.py"):
        import_module(".".join(path.relative_to(ROOT).with_suffix("").parts).removesuffix(".__init__"))
