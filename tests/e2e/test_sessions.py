"""`agent sessions`: conversations listed, shown, closed, hidden, and moved out of one file and into another."""

import json
import shutil

import pytest

from tests.conftest import CHAT, NOBODY, NOON, Program, Ran
from tests.ollama_server import script
from tests.ollama_server.server import OllamaServer

pytestmark = pytest.mark.usefixtures("scripts_decide")

LOG = "select session_id, role, text, parts from message order by id"


@pytest.fixture
def program(program, server):
    program.env["AGENT_NOW"] = NOON.isoformat()
    return program.use(server)


@pytest.fixture(scope="session")
def talked(tmp_path_factory):
    """Made once: a conversation about tea with a tool call in it, s1; and a one-shot, s2."""
    program = Program(tmp_path_factory.mktemp("talked"))
    program.env["AGENT_NOW"] = NOON.isoformat()
    with OllamaServer(models=[CHAT]) as server:
        server.play(script.reply("I look.", calls=[("search_notes", {"query": "tea"})]))
        server.play(*map(script.reply, ("Green.", "Yes.", "Fine.")))
        program.use(server)("ask", "which tea?")
        program("ask", "--session", "s1", "sure?")
        program("ask", "how are you?")
    return program


@pytest.fixture
def talk(program, talked):
    """A file with two conversations in it."""
    shutil.copy(talked.db, program.db)


def test_sessions_are_listed_latest_first(program, talk, talked):
    assert program("sessions", "list").out == (
        "s2  2026-01-02  1 turn   qwen3:8b  how are you?\ns1  2026-01-02  2 turns  qwen3:8b  which tea?\n"
    )
    assert program("sessions", "list", "--json", "--limit", "1").json == [
        {
            "id": "s2",
            "title": "how are you?",
            "kind": "ask",
            "place": str(talked.work),
            "turns": 1,
            "started_at": "2026-01-02T12:00:00.000Z",
            "last_at": "2026-01-02T12:00:00.000Z",
            "day": "2026-01-02",
            "closed_at": "2026-01-02T12:00:00.000Z",
            "model": "qwen3:8b",
        }
    ]


SHOWN = """# which tea?

s1, 02 January 2026, 12:00

## You, 12:00

which tea?

## Agent, 12:00

I look.

    search_notes({"query": "tea"})

## Tool search_notes, 12:00

no note has these words

## Agent, 12:00

Green.

## You, 12:00

sure?

## Agent, 12:00

Yes.

"""

WORDS = "which tea? The assistant answered: “I look.” “Green.”"


def test_a_session_is_shown_by_handle_and_by_words(program, talk):
    assert program("sessions", "show", "s1") == Ran(
        0, f"{SHOWN}## Summary (extracted, by no model yet)\n\n{WORDS}\n", ""
    )
    assert program("sessions", "show", "GREEN").out.startswith(SHOWN)
    row = program("sessions", "show", "s1", "--json").json
    assert (row["id"], row["summary"], [m["role"] for m in row["messages"]]) == (
        "s1",
        WORDS,
        ["user", "assistant", "tool", "assistant", "user", "assistant"],
    )


def test_a_session_is_closed_with_a_summary(program, talk, server):
    server.play(script.reply("They prefer green tea."))
    ran = program("sessions", "close", "s1")
    assert ran == Ran(0, "They prefer green tea.\n", "agent: closed s1 “which tea?”\n")
    assert program.rows("select text, method, model from summary") == [("They prefer green tea.", "model", "qwen3:8b")]
    assert program.rows("select closed_at is not null, holder from session") == [(1, None)] * 2
    assert program("sessions", "show", "s1").out == f"{SHOWN}## Summary\n\nThey prefer green tea.\n"


def test_closing_a_closed_session_again_tells_nothing_that_changed_since_it_ended(program, talk, server):
    program("facts", "add", "I have a cat")
    server.play(script.reply("They like green tea."))
    assert program("sessions", "close", "s1") == Ran(0, "They like green tea.\n", "agent: closed s1 “which tea?”\n")


def test_closing_without_a_server_extracts_a_summary_and_marks_it(program, talk):
    program.env |= {**NOBODY, "AGENT_MODEL": "auto"}
    assert program("sessions", "close", "s1").code == 0
    ((text, method, model),) = program.rows("select text, method, model from summary")
    assert (method, model) == ("extract", "")
    assert "which tea?" in text
    assert "## Summary (extracted, by no model yet)" in program("sessions", "show", "s1").out


def test_a_model_below_a_billion_parameters_is_asked_for_no_summary_and_no_facts(program, talk):
    program.env["AGENT_MODEL"] = "smollm2:135m"
    assert program("sessions", "close", "s1").code == 0
    assert program.rows("select method from summary") == [("extract",)]
    assert program("jobs", "run", "--until-idle").code == 0
    assert program.rows("select count(*) from job where state = 'parked'") == [(0,)]


def test_closing_with_a_named_model_that_does_not_answer_leaves_the_session_as_it_was(program, talk):
    program.env |= NOBODY
    before = program.rows("select * from session where id = 1")
    assert program("sessions", "close", "s1").code == 3
    assert program.rows("select method from summary") == [("extract",)]
    assert program.rows("select * from session where id = 1") == before


def test_a_session_is_renamed(program, talk):
    assert program("sessions", "rename", "s1", "About", "tea").out == "s1 is now “About tea”\n"
    assert [row["title"] for row in program("sessions", "list", "--json").json] == ["how are you?", "About tea"]


def test_a_session_is_hidden_and_brought_back(program, talk):
    assert program("sessions", "rm", "s1") == Ran(0, "hidden s1 (agent sessions restore s1)\n", "")
    assert [row["id"] for row in program("sessions", "list", "--json").json] == ["s2"]
    assert [row["id"] for row in program("sessions", "list", "--hidden", "--json").json] == ["s1"]
    assert "the latest elsewhere" not in program("ask", "-c", "hi").err
    assert program("sessions", "restore", "s2") == Ran(2, "", "agent: s2 is not hidden\n")
    assert program("sessions", "restore", "s1") == Ran(0, "restored s1\n", "")
    assert "the latest elsewhere is s1 “which tea?”" in program("ask", "-c", "hi").err


def test_export_gives_markdown_json_and_lines(program, talk):
    assert program("sessions", "export").out == program("sessions", "export", "s1").out == SHOWN
    both = program("sessions", "export", "--all").out
    assert (both.count("# which tea?"), both.count("# how are you?")) == (1, 1)
    (one,) = program("sessions", "export", "s1", "--format", "json").json
    lines = program("sessions", "export", "--all", "--format", "jsonl").out.splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["chat", "ask"]
    assert json.loads(lines[0]) == one
    assert program("sessions", "export", "s1", "--all").code == 2
    assert program("sessions", "export", "--format", "csv").code == 2


def test_what_is_exported_can_be_imported_into_another_file_and_twice_adds_nothing(program, talk):
    lines = program("sessions", "export", "--all", "--format", "jsonl").out
    assert program("sessions", "import", "-", stdin=lines).out == "imported 0 sessions with 0 messages\n"  # its own
    before = program.rows("select role, text, thinking, finish, tool, answers, model from message order by id")
    program.db = program.home / "other.db"
    program.env["AGENT_DB"] = str(program.db)
    file = program.home / "lines.jsonl"
    file.write_text(lines)
    assert program("sessions", "import", str(file)) == Ran(0, "imported 2 sessions with 8 messages\n", "")
    assert program("sessions", "import", str(file)) == Ran(0, "imported 0 sessions with 0 messages\n", "")
    assert program.rows("select role, text, thinking, finish, tool, answers, model from message order by id") == before
    assert program("sessions", "export", "s1").out == SHOWN
    assert program("ask", "--session", "s1", "and now?").code == 0


def said(id, *messages, **more):
    rows = [{"id": f"{id}-{n}", "role": role, "content": words} for n, (role, words) in enumerate(messages)]
    return json.dumps({"id": id, "messages": rows, **more})


def test_broken_lines_are_told_and_skipped_and_the_others_imported(program):
    ran = program("sessions", "import", "-", stdin="\n".join([said("a", ("user", "first")), "{", "[1]", ""]))
    assert (ran.code, ran.out) == (1, "imported 1 session with 1 message\n")
    told = [line.partition(" was skipped: ")[0] for line in ran.err.splitlines()]
    assert told == [
        *(f"agent: line {n}" for n in (2, 3)),
        "agent: 2 broken lines were skipped; the others are imported",
    ]
    assert [row[:3] for row in program.rows(LOG)] == [(1, "user", "first")]


def test_a_file_that_cannot_be_imported_is_said(program):
    assert program("sessions", "import", "no.jsonl") == Ran(
        2, "", "agent: no.jsonl cannot be read: No such file or directory\n"
    )
    file = program.home / "latin"
    file.write_bytes(said("a", ("user", "X")).replace("X", "caf\xe9").encode("latin-1"))
    with file.open("rb") as stdin, program.start("sessions", "import", "-", stdin=stdin) as process:
        assert process.communicate() == ("imported 1 session with 1 message\n", "")
    assert program("sessions", "import", str(file), "--source", "x").code == 0
    assert [row[2] for row in program.rows(LOG)] == ["caf\ufffd"] * 2
