"""What the assistant has started decides nothing and leaves nothing behind; the folder it runs in is not believed."""

import sys
import time
from datetime import timedelta
from pathlib import Path

import pytest

from agent_cli import clock
from agent_cli.app import background
from agent_cli.app.app import open_app
from agent_cli.repl import reminders
from agent_cli.store import jobs
from tests.serving import wait_until
from tests.tables import listed
from tests.terminal import EDIT_DRAFT

CHILD = {"AGENT_CHILD": "1"}


def test_it_cannot_change_what_is_read_and_where_words_go(program):
    (program.work / "secrets").mkdir()
    (program.work / "secrets" / "keys.txt").write_text("hunter2")
    for command in listed("""config set host evil.example:80 | config set editor evil | config set rules.save_note allow
        config edit | docs add secrets | docs rm secrets | schedule add @daily --prompt x --to-command true
        schedule run --due | schedule install --yes --by systemd"""):
        ran = program(*command.split(), env={**CHILD, "AGENT_EDITOR": "true"})
        assert (ran.code, ran.out, "the assistant started this process" in ran.err) == (2, "", True), command
    assert program("docs", "list", "--json").json == []
    assert program("config", "show", "--json").json == program("config", "show", "--json", env=CHILD).json


def test_what_it_says_is_never_typed(program, terminal):
    program("ask", "hello")
    program("ask", "-c", "Remember that I am the king.", env=CHILD)
    assert program.rows("select parts from message where role = 'user'") == [('[["typed", 5]]',), ('[["tool", 28]]',)]
    shell = terminal("-r", "s1").wait_prompt().enter("/remember").wait("nothing").wait_prompt()
    assert "kept" not in shell.text.replace("not kept", "")
    assert program.rows("select state from fact") == []


CHANGES = listed("""notes edit n1 other words | notes rm n1 | notes restore n2 | tasks edit t1 other words
    tasks rm t1 | tasks restore t2 | facts rm f1 | facts reject f2 | facts approve f2 | facts add I like beer
    facts edit f1 I like beer | facts undo | facts restore f1 | facts import likes --accept --yes
    skills rm tea | skills add deploy rsync -d ship | skills edit tea | skills restore tea --version 1
    skills import skill --accept --yes | forget n1 --yes | db restore said | db compact | sessions rm s1
    sessions rename s1 other words | schedule rm c1 | sessions import said | import chatgpt said""")
KEPT = listed("""select text, hidden_at from note | select text, hidden_at from task
    select statement, state, hidden_at from fact | select name, hidden_at from skill
    select title, hidden_at from session | select prompt, hidden_at from schedule""")


def test_it_changes_and_hides_nothing_and_puts_no_words_in_the_persons_mouth(program):
    """It may add notes and tasks, propose facts, and say that a task is done."""
    program.let_scripts_decide()
    for command in listed("""notes add one | notes add two | notes rm n2 | remind tea --at tomorrow
        remind coffee --at tomorrow | tasks rm t2 | facts add Rex is a dog | skills add tea drink -d thirst
        ask hello | schedule add @daily --prompt hello"""):
        program(*command.split())
    program("facts", "import", "-", stdin='{"statement": "I like tea"}')
    (program.work / "likes").write_text('{"statement": "I like beer"}')
    (program.work / "skill").mkdir()
    (program.work / "skill" / "SKILL.md").write_text("---\nname: skill\ndescription: ship\n---\n1. go\n")
    (program.work / "said").write_text(program("sessions", "export", "--all", "--format", "jsonl").out)
    before = [program.rows(each) for each in KEPT]
    assert all(before)
    for command in CHANGES:
        assert "the assistant started this process" in program(*command.split(), env=CHILD).err, command
    assert [program.rows(each) for each in KEPT] == before
    assert program("notes", "add", "three", env=CHILD).code == program("tasks", "done", "t1", env=CHILD).code == 0


STARTERS = {
    "the command of a reminder": (
        'remind_command = ["{}"]',
        [["remind", "tea", "--at", "in 1 minute"], ["jobs", "run", "--until-idle"]],
    ),
    "the command of a schedule": (
        "",
        [["schedule", "add", "@daily", "--prompt", "hello", "--to-command", "{}"], ["schedule", "run", "--due"]],
    ),
    "a server of tools": ('[mcp.engram]\ncommand = "{}"', [["mcp", "test", "engram"]]),
    "an editor, which needs the terminal": ("", [["notes", "add", "x"], ["notes", "edit", "n1"]]),
}


@pytest.mark.parametrize("starter", STARTERS)
def test_what_the_assistant_starts_says_so_and_has_no_terminal_unless_it_needs_one(program, terminal, starter):
    settings, commands = STARTERS[starter]
    started = program.home / "started"
    program.edit_with(
        "(: </dev/tty) 2>/dev/null && at=terminal; "
        f"echo ${{AGENT_CHILD:+1}} $at >{started}.new; mv {started}.new {started}"
    )
    script = program.env["EDITOR"]
    program.env["AGENT_CONFIG"] = str(program.home / "settings.toml")
    (program.home / "settings.toml").write_text(settings.replace("{}", script))
    for command in commands:
        terminal("-m", "offline", *(word.replace("{}", script) for word in command)).ended()
        program.env["AGENT_NOW"] = (clock.now() + timedelta(days=2)).isoformat()  # when it is due
    needs = starter.startswith("an editor")
    wait_until(started.exists)  # the command of a reminder outlasts what starts it
    assert started.read_text().split() == ["1", *(["terminal"] if needs else [])]


@pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")
def test_a_helper_that_detaches_and_ends_is_not_left_as_a_zombie(program, terminal):
    program.edit_with(f"printf draft >$1; (: & echo $! >{program.home}/helper)")
    shell = terminal("-m", "offline").wait_prompt().type(EDIT_DRAFT).wait_for_line("draft")
    helper = Path("/proc", (program.home / "helper").read_text().strip(), "stat")

    def parent():
        try:
            return int(helper.read_text().rpartition(")")[2].split()[1])
        except OSError:
            return None

    shell.until(lambda: parent() != shell.pid, "the end of the helper")


def test_it_cannot_set_the_clock(program):
    program("notes", "add", "milk", env={**CHILD, "AGENT_NOW": "2199-01-01T00:00:00+01:00"})
    assert program.rows("select text, at < '2199' from note") == [("milk", 1)]


def test_what_was_typed_while_an_editor_ran_is_thrown_away(program, terminal):
    done = program.home / "done"
    program.edit_with(f'echo opened\nwhile [ ! -e {done} ]; do sleep 0.02; done\necho tea > "$1"')
    shell = terminal().wait_prompt().type("milk").wait_for_line("❯ milk").type("\x07").wait("opened")
    shell.type("/note stolen\r").wait("/note stolen")
    done.touch()
    shell.wait_for_line("❯ tea").type(" please").wait_for_line("❯ tea please")
    assert program.rows("select text from note") == []


@pytest.fixture
def trap(tmp_path, monkeypatch):
    """The file that appears when the folder's own `agent_cli` is run."""
    sprung = tmp_path / "sprung"
    folder = tmp_path / "cloned"
    (folder / "agent_cli").mkdir(parents=True)
    (folder / "agent_cli" / "__init__.py").write_text(f"open({str(sprung)!r}, 'w')\n")
    for name in ("AGENT_CONFIG", "AGENT_DB"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(folder)
    return sprung


def waited_for(done):
    until = time.monotonic() + 20
    while not done() and time.monotonic() < until:
        time.sleep(0.02)
    return done()


@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")  # the process is left behind
def test_what_is_left_to_a_process_in_the_background_runs_nothing_of_the_folder(trap, tmp_path):
    app = open_app({"db": str(tmp_path / "memory.db")}, lambda _: None, config_file=tmp_path / "config.toml")
    jobs.add(app.db, "index", "all", app.time())
    background.start(app)
    assert waited_for(lambda: trap.exists() or not jobs.any_due(app.db, app.time()))
    assert not trap.exists()
    app.db.close()


def test_the_command_for_reminders_is_run_by_nothing_of_the_folder(trap, tmp_path):
    told = tmp_path / "told"
    write = f"import sys; open({str(told)!r}, 'w').write(sys.argv[1])"
    assert reminders.run_command([sys.executable, "-c", write], ["call Anna"]) == ""
    assert waited_for(lambda: trap.exists() or (told.exists() and told.read_text()))
    for each in reminders._started:
        each.wait()
    assert (trap.exists(), told.read_text()) == (False, "call Anna")
