"""Conversations of other programs, taken over by a person at the command line."""

import json

from tests import exports
from tests.conftest import Ran


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
