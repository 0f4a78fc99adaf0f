"""Conversations of other programs, taken over by a person at the command line."""

import json

import pytest

from tests import exports
from tests.coding_sessions import claude_code, codex_meta, codex_said, gemini, gemini_about, gemini_file, jsonl
from tests.conftest import Ran

CLAUDE_CODE = ".claude/projects/-work-site/11111111-aaaa-4bbb-8ccc-000000000001.jsonl"


def coding_home(home):
    """Sessions and files of facts as three programs leave them in a home folder."""
    jsonl(
        home / CLAUDE_CODE,
        claude_code("u1", None, "user", "Which valve leaks?"),
        claude_code("a1", "u1", "assistant", "Blue"),
    )
    jsonl(
        home / ".codex/sessions/2026/01/02/rollout-2026-01-02T10-00-00-c.jsonl",
        codex_meta(),
        codex_said("user", "Roses?"),
    )
    jsonl(gemini_file(home), gemini_about(), gemini("u1", "user", "Cheese?", 1))
    (home / ".claude/CLAUDE.md").write_text("# About me\n- I am the king\n- I live in Linz\n")


def test_exports_are_taken_over_searched_and_taken_over_again(program):
    asked = exports.node("q", "root", "user", "Which valve leaks?", 1704067201.0)
    answered = exports.node("a", "q", "assistant", "The blue valve", 1704067202.0)
    zipped = exports.archive(program.work / "export.zip", [exports.chatgpt(asked, answered)])
    spoken = program.work / "conversations.json"
    spoken.write_text(json.dumps([exports.claude(("human", "Roses?"), ("assistant", "Red")), {"name": "no"}]))
    logged = exports.llm(program.work / "logs.db", exports.OLD)
    exports.llm_said(logged, "r1", "Ten names", "Cheddar")

    assert program("import", "chatgpt", str(zipped)) == Ran(0, "imported 1 session with 2 messages\n", "")
    assert program("import", "chatgpt", "export.zip") == Ran(0, "imported 0 sessions with 0 messages\n", "")
    assert program("import", "claude", "conversations.json") == Ran(
        1,
        "imported 1 session with 2 messages\n",
        "agent: conversation 2 (“no”) was skipped: it has no messages (chat_messages)\n"
        "agent: 1 broken entry was skipped; the others are imported\n",
    )
    assert program("import", "llm", "logs.db").out == "imported 1 session with 2 messages\n"

    assert program.rows("select source, title from session") == [
        ("chatgpt", "Trip"),
        ("claude", "Garden"),
        ("llm", "Cheese"),
    ]
    assert (
        program.rows("select count(*) from fact union all select count(*) from job where kind = 'learn'") == [(0,)] * 2
    )
    hits = program("search", "leaking valve", "--json").json["hits"]
    assert hits[0]["id"] in ("m1", "m2")


def test_what_cannot_be_imported_is_said(program):
    ran = program("import", "claude", "gone.zip")
    assert (ran.code, ran.out, ran.err) == (2, "", "agent: gone.zip cannot be read: No such file or directory\n")
    (program.work / "a.db").write_text("x" * 5000)
    assert program("import", "llm", "a.db").code == 6


def test_at_a_terminal_an_import_says_how_far_it_is(program, terminal):
    asked = [exports.node("q", "root", "user", "Which valve?", 1704067201.0)]
    file = program.work / "conversations.json"
    file.write_text(json.dumps([exports.chatgpt(*asked, id=f"c{n}") for n in range(30)]))
    screen = terminal("import", "chatgpt", str(file))
    screen.wait("imported 30 sessions with 30 messages")
    assert b"30 conversations read, 30 new messages" in screen.raw
    assert "read" not in screen.text


@pytest.mark.usefixtures("no_database")
def test_what_coding_tools_keep_is_listed_then_imported_and_nothing_of_it_counts_as_typed(program):
    assert program("import", "--found").err.startswith("agent: there is nothing to import of Claude Code, Codex CLI")
    coding_home(program.home)
    listed = program("import", "--found")
    assert (listed.code, listed.err) == (0, "agent: `agent import --found --yes` imports them\n")
    assert [line.split("  ")[:1] + line.split()[2:4] for line in listed.out.splitlines()] == [
        ["Claude Code", "1", "session"],
        ["Claude Code", "1", "file"],
        ["Codex CLI", "1", "session"],
        ["Gemini CLI", "1", "session"],
    ]
    assert not program.db.exists()
    said = "imported {} facts, pending\nimported {} sessions with {} messages\n"
    assert program("import", "--found", "--yes") == Ran(0, listed.out + said.format(2, 3, 4), "")
    assert program("import", "--found", "--yes") == Ran(0, listed.out + said.format(0, 0, 0), "")
    assert program("sessions", "import", str(program.home / ".claude/projects")).out == (
        "imported 0 sessions with 0 messages\n"
    )
    assert program("sessions", "import", str(program.home / CLAUDE_CODE)).code == 0
    assert program.rows("select source, place from session order by source") == [
        ("claude-code", "/work/site"),
        ("codex", "/work/site"),
        ("gemini", str(program.work)),
    ]
    assert program.rows("select distinct state, origin from fact") == [("pending", "import")]
    assert program.rows("select distinct json_extract(parts, '$[0][0]') from message") == [("import",)]
    assert program.rows("select count(*) from job where kind = 'learn'") == [(0,)]
    assert program("search", "leaking valve", "--json").json["hits"][0]["id"] in ("m1", "m2")
    assert "## Claude Code, " in program("sessions", "show", "valve").out


@pytest.mark.usefixtures("no_database")
def test_at_a_terminal_what_is_found_is_imported_after_a_key_alone(program, terminal):
    coding_home(program.home)
    asked = terminal("import", "--found").wait("import them (facts wait for your review)? y, ")
    asked.type("n")
    asked.wait("nothing was imported")
    assert not program.db.exists()
    asked = terminal("import", "--found").wait("for your review)? y, ")
    asked.type("y")
    asked.wait("imported 3 sessions with 4 messages")


def test_of_what_coding_tools_keep_a_broken_line_is_named_and_a_folder_without_any_refused(program):
    jsonl(program.home / CLAUDE_CODE, claude_code("u1", None, "user", "Hello"), "{")
    ran = program("sessions", "import", str(program.home / CLAUDE_CODE))
    assert (ran.code, ran.out) == (1, "imported 1 session with 1 message\n")
    assert ran.err.endswith(
        "line 2: it is not JSON from character 2 on\nagent: 1 broken entry was skipped; the others are imported\n"
    )
    names = "Claude Code, Codex CLI, Gemini CLI"
    assert program("sessions", "import", ".") == Ran(2, "", f"agent: there are no sessions of {names} in .\n")
    assert program("import").code == 2
    assert program("import", "--found", "--yes", env={"AGENT_CHILD": "1"}).code == 2


def test_facts_of_a_markdown_file_wait_for_review_once_and_what_is_known_is_not_proposed(program):
    program.let_scripts_decide()("facts", "add", "I live in Linz")
    file = program.work / "MEMORY.md"
    file.write_text("# Me\n- I live in Linz\n- Uses fish as a shell\n")
    assert program("facts", "import", "MEMORY.md") == Ran(0, "imported 1 fact, pending\n", "")
    assert program("facts", "import", "MEMORY.md").out == "imported 0 facts, pending\n"
    file.write_text(program("facts", "export", "--format", "md").out)
    assert program("facts", "import", "MEMORY.md").out == "imported 0 facts, pending\n"


def test_facts_of_the_file_of_a_project_hold_in_it_alone(program):
    home = program.home / ".claude"
    kept = home / "projects/-work-site"
    jsonl(kept / f"{'1' * 8}-a-b-c-d.jsonl", {"type": "summary"}, claude_code("u", None, "user", "Hi"))
    inside = program.work / "deep"
    (program.work / ".git").mkdir()
    (program.work / ".git/config").write_text('[remote "origin"]\nurl = git@example.com:me/site.git\n')
    places = {
        home / "CLAUDE.md": "",
        program.home / "about.md": "",
        kept / "memory/MEMORY.md": "/work/site",
        inside / "AGENTS.md": "example.com/me/site",
    }
    for number, file in enumerate(places):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(f"- Takes road number {number}\n")
        assert program("facts", "import", str(file)).out == "imported 1 fact, pending\n"
    assert program.rows("select place from fact order by id") == [(place,) for place in places.values()]
    (inside / "AGENTS.md").write_text("- Takes road number 0\n- Takes road number 3\n")  # the first holds everywhere
    assert program("facts", "import", str(inside / "AGENTS.md")).out == "imported 0 facts, pending\n"
