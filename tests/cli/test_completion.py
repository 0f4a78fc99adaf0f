"""The scripts that complete commands: made from the commands there are, and tried in the shells that are here."""

import os
import shutil
import subprocess
from collections import Counter

import pytest

from agent_cli.cli import completion, usage
from tests.terminal import Terminal

SHELLS = ["bash", "zsh", "fish"]


@pytest.fixture(scope="module")
def places():
    return completion.table()


@pytest.fixture(scope="module")
def complete(places, tmp_path_factory):
    """What bash offers for a line that ends where the cursor is."""
    if shutil.which("bash") is None:
        pytest.skip("there is no bash")
    file = tmp_path_factory.mktemp("completion") / "agent"
    file.write_text(completion.script("bash", places))

    def run(line):
        words = line.split(" ")
        quoted = " ".join(f"'{word}'" for word in words)
        place = f"COMP_WORDS=({quoted}); COMP_CWORD={len(words) - 1}"
        asked = f'source {file}; {place}; _agent; printf "%s\\n" "${{COMPREPLY[@]}}"'
        ran = subprocess.run(["bash", "--norc", "-c", asked], capture_output=True, text=True, check=True)
        assert ran.stderr == ""
        return ran.stdout.split()

    return run


@pytest.fixture
def agent(monkeypatch, tmp_path):
    """An `agent` on the PATH that lists two sessions, two models and a schedule."""
    file = tmp_path / "agent"
    rows = {
        "sessions": "s2   today  two\\ns1   today  one\\n",
        "models": "qwen3  5 GB\\nllama3  4 GB\\n",
        "schedule": "c1  x\\n",
    }
    file.write_text(
        "#!/bin/sh\n" + "".join(f"[ \"$*\" = '{name} list' ] && printf '{each}'\n" for name, each in rows.items())
    )
    file.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=":")


def test_bash_completes_commands_options_and_choices(complete):
    assert complete("agent mo") == ["models"]
    assert complete("agent ") == list(usage.COMMANDS)
    assert complete("agent models ") == ["list", "use", "pull"]
    assert complete("agent-cli -m qwen3:8b facts resto") == ["restore"]
    assert complete("agent serve callers ") == ["add", "list", "rm"]
    assert complete("agent sessions export --fo") == ["--format"]
    assert complete("agent sessions export --format ") == ["md", "json", "jsonl"]
    assert complete("agent --ver") == ["--verbose", "--version"]
    assert complete("agent completion f") == ["fish"]
    assert complete("agent import chatgpt ") == []  # then bash offers files


def test_bash_completes_settings_models_and_the_options_of_the_program_behind_a_command(complete, agent):
    assert complete("agent config set num_") == ["num_ctx"]
    assert complete("agent config set think o") == ["on", "off"]
    assert complete("agent config set warm ") == ["true", "false"]
    assert (
        complete("agent models use ") == complete("agent -m ") == complete("agent ask hello -m ") == ["qwen3", "llama3"]
    )
    assert complete("agent notes list --i") == ["--interactive", "--incognito"]
    assert complete("agent notes list --color ") == ["auto", "always", "never"]
    assert complete("agent schedule run ") == ["c1"]


def test_bash_completes_handles_and_a_choice_after_an_equals_sign(complete, agent):
    assert complete("agent sessions show ") == ["s2", "s1"]
    assert complete("agent -r s") == ["s2", "s1"]
    assert complete("agent serve callers rm ") == []
    assert complete("agent sessions export --format = j") == ["json", "jsonl"]
    assert complete("agent sessions export --format =") == ["md", "json", "jsonl"]


@pytest.mark.skipif(shutil.which("fish") is None, reason="there is no fish")
def test_fish_completes_commands_options_choices_and_handles(places, agent, tmp_path):
    file = tmp_path / "agent.fish"
    file.write_text(completion.script("fish", places))
    offered = {
        "agent fa": ["facts"],
        "agent facts resto": ["restore"],
        "agent sessions export --fo": ["--format"],
        "agent completion f": ["fish"],
        "agent sessions show s1": ["s1"],
        "agent config set num_": ["num_ctx"],
        "agent config set think of": ["off"],
        "agent models use q": ["qwen3"],
        "agent notes list --incog": ["--incognito"],
        "agent -r ": ["s1", "s2"],
    }
    asked = "; ".join(f"complete -C '{line}'" for line in offered)
    ran = subprocess.run(["fish", "--no-config", "-c", f"source {file}; {asked}"], capture_output=True, text=True)
    assert ran.stderr == ""
    assert [line.split("\t")[0] for line in ran.stdout.splitlines()] == [
        word for words in offered.values() for word in words
    ]


@pytest.mark.skipif(shutil.which("zsh") is None, reason="there is no zsh")
def test_zsh_completes_commands_options_choices_and_handles(places, agent, tmp_path):
    file = tmp_path / "agent.zsh"
    file.write_text(completion.script("zsh", places))
    env = {name: os.environ[name] for name in ("PATH",)} | {"TERM": "xterm-256color", "HOME": str(tmp_path)}
    shell = Terminal(["zsh", "-f", "-i"], {**env, "PS1": "> "}, tmp_path)
    try:
        shell.wait(">").type(". ./agent.zsh; echo rea''dy\r").wait("ready")
        for typed, shown in [
            ("agent fa", "agent facts "),
            ("agent sessions export --fo", "agent sessions export --format "),
            ("agent sessions export --format=m", "agent sessions export --format=md "),
            ("agent completion f", "agent completion fish "),
            ("agent sessions show s1", "agent sessions show s1 "),
            ("agent config set num_", "agent config set num_ctx "),
            ("agent config set think of", "agent config set think off "),
            ("agent models use q", "agent models use qwen3 "),
            ("agent notes list --incog", "agent notes list --incognito "),
        ]:
            shell.type(f"\x15{typed}\t.").wait(f"> {shown}.")
    finally:
        shell.close()


def test_the_table_holds_every_command_and_what_it_does(places):
    commands = [place for place in places if " " not in place]
    assert [path for path in commands if path.count("/") == 1] == [f"/{name}" for name in usage.COMMANDS]
    assert list(places["/serve/callers"]) == ["add", "list", "rm"]
    assert list(places["/serve/callers/list -"]) == ["--json", "--help"]
    assert [path for path in commands[1:] if not places[path.rpartition("/")[0]][path.rpartition("/")[2]]] == []
    assert places[" -"]["--model"] == "The model for this run"


@pytest.mark.usefixtures("no_database")
@pytest.mark.parametrize("shell", SHELLS)
def test_a_script_says_how_it_is_installed_and_is_whole(program, shell):
    ran = program("completion", shell)
    assert (ran.code, ran.err) == (0, f"agent: to install it: {completion._INSTALL[shell]}\n")
    assert f"# To install: {completion._INSTALL[shell]}\n" in ran.out
    counted = Counter(ran.out)
    assert all(counted[one] == counted[other] for one, other in ("{}", "()")) or shell in ("bash", "zsh")  # case … )
    assert all(line.count("'") % 2 == 0 for line in ran.out.splitlines())
    assert not program.db.exists()
    if shutil.which(shell):
        assert subprocess.run([shell, "-n"], input=ran.out, text=True, capture_output=True).stderr == ""


def test_handles_are_listed_wherever_a_group_lists_them(places):
    taken = {path: "".join(words) for path, words in places.items() if path.endswith("/restore")}
    listed = {f"/{name}/restore": f"@{name}" for name in ("notes", "tasks", "facts", "schedule", "sessions")}
    assert taken == listed | {"/skills/restore": "", "/db/restore": ""}


def test_a_shell_that_is_not_known_is_said(program):
    assert program("completion", "tcsh").code == 2
