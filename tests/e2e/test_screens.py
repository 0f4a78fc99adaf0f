"""The screens of a session and of the commands, one after the other as a person opens them, at a real terminal."""

from datetime import datetime

import pytest

from agent_cli.memory.facts import adoption
from agent_cli.memory.language.triples import Claim
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import Scope
from agent_cli.store import file
from tests.conftest import Ran
from tests.ollama_server import script
from tests.terminal import CTRL_C

NOW = datetime.fromisoformat("2026-11-22T10:00:00+01:00")
YESTERDAY = "2026-11-21T10:00:00+01:00"
FACTS = ("Anna's dentist is Dr. Huber", "I live in Graz", "My bus leaves at 7")
WAITING = ("I live in Linz", "My bus leaves at 8", "I like green tea")


@pytest.fixture
def used(program):
    """Three facts and three that wait, a task that is overdue and one that is not, a question of its own."""
    program.env |= {"AGENT_NOW": NOW.isoformat(), "TZ": "Europe/Vienna", "AGENT_CONFIG": str(program.home / "c.toml")}
    db = file.open_file(program.db, NOW, print)
    scope = Scope("person", str(program.work))
    for words in FACTS:
        adoption.add(MemoryContext(db, scope, lambda: NOW), _claim(words, "typed"))
    for words in WAITING:
        adoption.propose(MemoryContext(db, scope, lambda: NOW), _claim(words, "model"))
    db.close()
    program("remind", "send the tax declaration tomorrow 9:00", env={"AGENT_NOW": YESTERDAY})
    program("remind", "call the dentist friday 3pm")
    return program


def _claim(words, origin):
    """Of buses there may be several: nothing is known of what such a statement replaces."""
    return Claim(words, origin) if "bus" in words else adoption.claim(words, origin)


def press(shell, key):
    """Press a key once keys are asked for."""
    return shell.until(lambda: shell.text.endswith("? help"), "the keys").type(key)


def completed(shell, typed, whole):
    """Type the beginning of a word, and Tab once a menu that opens by itself has it; then take the line back."""
    shell.type(typed).wait_for_line(f"❯ {typed}")
    if typed.startswith("/"):
        word = whole.split()[-1]
        shell.until(lambda: shell.text.rpartition("\n❯ ")[2].partition("\n")[2].strip().startswith(word), "the menu")
    shell.type("\t")
    return shell.wait_for_line(f"❯ {whole}").type(CTRL_C).wait_prompt()


def test_looking_around_in_a_session_and_changing_what_is_seen(used, terminal):
    used("ask", "My dentist is in the Herrengasse", env={"AGENT_NOW": YESTERDAY})
    shell = terminal().wait("3 facts to review: /review").wait("reminder t1: send the tax").wait("no model server at")

    shell.wait_prompt().enter("/facts").wait("Anna\n    f1  2026-11-22  Anna's dentist").wait(
        "You\n    f3"
    ).wait_prompt()
    assert "3 facts to review: /review" in shell.text.rsplit("❯ /facts", 1)[1]
    shell.enter("who is Anna's dentist?").wait("22 Nov 2026 (f1)").wait_prompt()
    shell.enter("/why").wait("f1, 22 November 2026: Anna's dentist is").wait("you wrote “").wait_prompt()
    assert "= words" not in shell.text
    shell.enter("/why --score").wait("= words").wait_prompt()

    shell.enter("/search dentist").wait("s1 “My dentist is in the Herrengasse”, 21 November 2026").wait_prompt()
    bold = shell.screen.buffer[next(n for n, row in enumerate(shell.screen.display) if "m1  you" in row)]
    assert "".join(cell.data for _, cell in sorted(bold.items()) if cell.bold) == "dentist"
    shell.enter("/show m1").wait("m1 you, 21 November 2026, 10:00").wait_prompt()

    shell.enter("/tasks").wait("t1  overdue: today, 09:00  send the tax declaration\n").wait_prompt()
    assert shell.text.index("t2  Fri 27 Nov, 15:00      call the dentist") > shell.text.index("t1  overdue")
    shell.enter("/tasks snooze t2 friday 3pm").wait(
        "t2 comes up on Friday 27 Nov 2026, 15:00 in any case"
    ).wait_prompt()

    shell.enter("/help").wait("/help NAME says more").wait_prompt()
    page = shell.text.rsplit("❯ /help", 1)[1].splitlines()[1:-1]
    assert (len([line for line in page if line[2:3].isupper()]), len(page) <= 24) == (6, True)
    shell.enter("/help search").wait("for example  /search dentist\n").wait_prompt()
    shell.enter("/help nonsense").wait("there is no /nonsense; /help lists them all").wait_prompt()
    shell.enter("/hlep").wait("did you mean /help?").wait_prompt()

    shell.enter("/context").wait("of 7,168 tokens, estimated; the window has 8,192").wait_prompt()
    shell.enter("/stats").wait("tokens in").wait("tasks: 2 open, 1 overdue (t1)").wait_prompt()
    shell.enter("/log 9").wait(" t1 ").wait_prompt()
    shell.enter("/tools").wait("calculate        allow").wait("save_note        ask").wait_prompt()
    shell.enter("/note prune the roses #garden").wait("saved n1").wait_prompt()
    shell.enter("/notes #garden").wait("n1     2026-11-22  prune the roses #garden\n").wait_prompt()
    shell.enter("/set num_ctx 16k").wait("num_ctx = 16384").wait_prompt()
    shell.enter("/set").wait("num_ctx             16384").wait_prompt()
    shell.enter("/undo f2").wait("taken back: f2 “I live in Graz” is not kept").wait_prompt()

    for typed, whole in {
        "/set num_": "/set num_ctx",
        "/set think of": "/set think off",
        "/model offl": "/model offline",
        "/resume Herren": "/resume s1",
    }.items():
        completed(shell, typed, whole)
    assert shell.enter("/exit").ended() == 0


def test_under_review_the_old_stands_beside_the_new_and_both_may_be_kept(used, terminal):
    shell = terminal("facts", "review").wait("Fact 1 of 3 · f4").wait("- I live in Graz (since 22 Nov 2026, f2)")
    shell.wait("+ I live in Linz").wait("y replace  n no")
    colours = {row[2].data: row[2].fg for row in shell.screen.buffer.values()}
    assert (colours["-"], colours["+"]) == ("red", "green")
    press(shell, "o").wait("new fact · everywhere")
    press(shell, "n").wait("· rejected f4").wait("Fact 2 of 3").wait("b keep both")
    press(shell, "b").wait("✓ kept f5").wait("Fact 3 of 3")
    press(shell, "q").wait("1 kept, 1 rejected, 1 left")
    assert shell.ended() == 0
    assert used.rows("select state from fact where id in (3, 5)") == [("accepted",), ("accepted",)]


def test_a_time_that_cannot_be_read_is_refused_before_anybody_is_asked_and_a_long_text_is_folded(
    used, server, terminal
):
    text = "\n".join(f"line {n}" for n in range(1, 40))
    server.play(
        script.reply("", calls=[("create_reminder", {"text": "call Anna", "when": "when pigs fly"})]),
        script.reply("", calls=[("save_note", {"text": text})]),
        script.reply("Saved."),
    )
    shell = terminal(**used.use(server).env).wait_prompt().enter("note all that")
    shell.wait("The model wants to call save_note").wait("lines are not shown …").wait("anything else no:")
    assert "call create_reminder" not in shell.text
    shell.type("y").wait("Saved.").wait_prompt()
    assert used.rows("select text from note") == [(text,)]
    assert "when pigs fly" in server.turns[1]["messages"][-1]["content"]


COMMANDS = (
    (["notes", "edit", "n1", "prune", "the", "roses"], 0, "changed n1"),
    (["notes", "list", "--color", "never"], 0, "prune the roses"),
    (["config", "set", "num_ctx", "16k"], 0, "num_ctx = 16384"),
    (["schedule", "run", "c1"], 0, "c1"),
    (["tasks", "snooze", "t2", "friday", "3pm"], 2, "✗"),
    (["search", "zeppelin"], 1, "nothing"),
    (["ask", "where is the zeppelin?"], 3, "no model server"),
    (["ask", "--offline-ok", "where is the zeppelin?"], 0, "nothing in memory matches"),
    (["where", "is", "the", "zeppelin?"], 2, 'agent ask "where is the zeppelin?"'),
    (["index", "rebuild"], 0, "rebuilt"),
    (["db", "backup", "copy.db"], 0, "copy.db"),
)


def test_commands_at_a_terminal(used, terminal):
    used("notes", "add", "roses")
    used("schedule", "add", "@daily", "--prompt", "what is due?")
    for arguments, code, said in COMMANDS:
        shell = terminal(*arguments)
        assert (shell.ended(), said in shell.text) == (code, True), (arguments, shell.text)


EMPTY = {
    "notes list": "there are no notes; `agent notes add TEXT` adds one",
    "notes search rose": "no note has these words",
    "tasks": "there are no open tasks; `agent remind` adds one",
    "facts list --all": "there are no such facts",
    "sessions list": "there are no sessions; `agent` begins one",
    "facts review": "there is nothing to review",
    "log": "there are no events",
}


def test_a_list_of_nothing_says_so_at_a_terminal_and_is_empty_in_a_pipe(program, terminal):
    shells = [(terminal(*typed.split()), said) for typed, said in EMPTY.items()]
    for shell, said in shells:
        assert (shell.ended(), shell.text) == (0, f"· {said}")
    assert program("notes", "list") == Ran(0, "", "")
