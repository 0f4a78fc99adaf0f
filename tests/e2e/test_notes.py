"""`agent notes` and the lists: written, found, changed, hidden and brought back, each in a process of its own."""

import json
from pathlib import Path

import pytest

from tests.conftest import Ran

pytestmark = pytest.mark.usefixtures("at_noon")


def test_a_note_is_written_listed_shown_and_found(program):
    assert program("notes", "add", "-t", "Milk", "Buy", "two bottles") == Ran(0, "saved n1 “Milk”\n", "")
    assert (
        program("notes", "add", stdin="From a pipe\nwith two lines\n").out == "saved n2 “From a pipe with two lines”\n"
    )
    assert program("notes", "list").out == "n2  2026-01-02  From a pipe with two lines\nn1  2026-01-02  Milk\n"
    assert program("notes", "show", "n1").out == "Milk\n\nBuy two bottles\n"
    assert program("notes", "show", "2").out == "From a pipe\nwith two lines\n"
    assert program("notes", "search", "bottles", "cheese").out == "n1  2026-01-02  Milk\n"
    assert program("notes", "search", "cheese") == Ran(0, "", "")
    assert program.rows("select text, origin from note order by id") == [
        ("Buy two bottles", "typed"),
        ("From a pipe\nwith two lines", "piped"),
    ]


def test_a_note_as_json_is_an_object_with_everything(program):
    program("notes", "add", "-t", "Milk", "Buy two bottles")
    milk = {
        "id": "n1",
        "title": "Milk",
        "text": "Buy two bottles",
        "tags": [],
        "origin": "typed",
        "place": str(program.work),
        "at": "2026-01-02T12:00:00.000Z",
        "changed_at": "2026-01-02T12:00:00.000Z",
    }
    assert program("notes", "show", "n1", "--json").json == milk
    assert program("notes", "list", "--json").json == [milk]
    assert program("notes", "search", "milk", "--json").json == [milk]


def test_a_note_is_changed_in_the_editor_and_by_its_new_words(program):
    program("notes", "add", "-t", "Milk", "Buy two bottles")
    program.edit_with('sed -i s/two/three/ "$1"')
    assert program("notes", "edit", "n1") == Ran(0, "changed n1\n", "")
    assert program("notes", "show", "n1").out == "Milk\n\nBuy three bottles\n"
    assert program("notes", "edit", "n1") == Ran(0, "", "agent: n1 was left as it is\n")
    assert program("notes", "edit", "n1", "Buy", "four") == Ran(0, "changed n1\n", "")
    assert program("notes", "show", "n1").out == "Milk\n\nBuy four\n"
    assert program("notes", "edit", "n9", "Buy").code == 2


def test_notes_are_listed_by_their_tags(program):
    program("notes", "add", "prune the roses", "--tag", "garden", "--tag", "#Spring")
    program("notes", "add", "the mower is with Anna #garden")
    program("notes", "add", "issue #12 and page.html#garden are no tags")
    assert program("notes", "list", "--tag", "garden", "--limit", "1").out.startswith("n2 ")
    assert program("notes", "list", "--tag", "#spring").out == "n1  2026-01-02  prune the roses #garden #spring\n"
    assert program("notes", "tags").out == "#garden  2\n#spring  1\n"
    refused = program("notes", "add", "x", "--tag", "two words")
    assert (refused.code, "'two words' is not a tag" in refused.err) == (2, True)


def test_an_editor_that_fails_changes_nothing(program):
    program("notes", "add", "Buy milk")
    program.edit_with('echo gone > "$1"; exit 3')
    failed = program("notes", "edit", "n1")
    assert (failed.code, failed.out) == (1, "")
    said, kept = failed.err.strip().split("; your text is kept in ")
    assert said == "agent: the editor ended with 3; nothing was changed"
    assert Path(kept).read_text() == "gone\n"
    program.edit_with(': > "$1"')
    emptied = "agent: n1 was left as it is: an empty note cannot be kept (`agent notes rm` hides one)\n"
    assert program("notes", "edit", "n1") == Ran(2, "", emptied)
    program.env["EDITOR"] = "no-such-editor --wait"
    missing = (
        "agent: the editor 'no-such-editor --wait' cannot be started: set VISUAL, EDITOR or `editor` in the settings"
    )
    assert program("notes", "edit", "n1") == Ran(2, "", f"{missing}\n")
    assert program("notes", "show", "n1").out == "Buy milk\n"


def test_a_note_is_hidden_and_brought_back(program):
    program("notes", "add", "Buy milk")
    hidden = "hidden n1 “Buy milk” (agent notes restore n1)\n"
    assert program("notes", "rm", "n1") == Ran(0, hidden, "")
    assert program("notes", "list").out == program("notes", "search", "milk").out == ""
    assert program("notes", "list", "--hidden").out == "n1  2026-01-02  Buy milk\n"
    assert program("notes", "restore", "n1") == Ran(0, "restored n1 “Buy milk”\n", "")
    assert program("notes", "restore", "n1") == Ran(2, "", "agent: n1 is not hidden\n")
    assert program("notes", "list").out == "n1  2026-01-02  Buy milk\n"
    assert program.rows("select kind, actor, subject from event order by id") == [
        ("note written", "person", "n1"),
        ("note hidden", "person", "n1"),
        ("note restored", "person", "n1"),
    ]


def test_of_several_handles_one_that_is_wrong_changes_nothing(program):
    program("notes", "add", "Buy milk")
    assert program("notes", "rm", "n1", "n9").code == 2
    assert program.rows("select hidden_at from note") == [(None,)]


def test_an_empty_note_is_said(program):
    said = Ran(2, "", "agent: an empty note cannot be kept; write some words\n")
    assert program("notes", "add", " ") == program("notes", "add", stdin="\n") == said
    assert program.rows("select * from note") == []


WRONG = [
    (["notes", "show", "n9"], "there is no note n9; `agent notes list` shows them all"),
    (["notes", "show", "s1"], "'s1' is not a handle of a note: write it like n4"),
    (["notes", "edit", "milk"], "'milk' is not a handle of a note: write it like n4"),
    (["notes", "rm", "n1e3"], "'n1e3' is not a handle of a note: write it like n4"),
    (["notes", "restore", "n9"], "there is no note n9; `agent notes list` shows them all"),
    (["sessions", "show", "s9"], "there is no session s9; `agent sessions list` shows them all"),
    (["sessions", "close", "s9"], "there is no session s9; `agent sessions list` shows them all"),
    (["sessions", "rename", "s9", "x"], "there is no session s9; `agent sessions list` shows them all"),
    (["sessions", "rm", "s9"], "there is no session s9; `agent sessions list` shows them all"),
    (["sessions", "show", "milk"], "no session mentions 'milk'; `agent sessions list` shows them all"),
    (["jobs", "retry", "j9"], "no job j9 is waiting or parked; `agent jobs list` shows them all"),
    (["jobs", "retry", "n1"], "'n1' is not a handle of a job: write it like j4"),
]


def test_a_wrong_handle_is_said_and_an_empty_list_is_empty(program):
    for arguments, said in WRONG:
        assert program(*arguments) == Ran(2, "", f"agent: {said}\n"), arguments
    for kind in ("notes", "sessions", "jobs"):
        assert program(kind, "list") == Ran(0, "", ""), kind


def test_every_list_takes_json_and_a_limit(program, server):
    program.use(server).env |= {"AGENT_NOW": "", "AGENT_LEARN": "off"}
    for words in ("one", "two", "six"):
        program("notes", "add", f"a note on {words}")
        program("ask", words)
    lists = {
        ("notes", "list"): ["n3", "n2"],
        ("notes", "search", "note"): ["n3", "n2"],
        ("sessions", "list"): ["s3", "s2"],
        ("models", "list"): ["qwen3:8b", "nomic-embed-text:latest"],
        ("jobs", "list"): ["j2", "j1"],
    }
    for arguments, ids in lists.items():
        rows = program(*arguments, "--limit", "2", "--json").json
        assert isinstance(rows, list), arguments
        assert [row["id"] for row in rows] == ids, arguments
        assert len(program(*arguments, "--limit", "2").out.splitlines()) == len(ids), arguments
    assert program("notes", "list", "--limit", "0").code == 2
    assert {row["id"] for row in program("config", "show", "--json").json} >= {"model", "num_ctx"}


def test_a_list_is_one_line_for_each_however_long_and_strange_its_words(program):
    program("notes", "add", "日本語 " * 50 + "\n\x1b[31m\nnext")
    program("notes", "add", "-t", "a\nb\tc", "x")
    first, second = program("notes", "list").out.splitlines()
    assert first == "n2  2026-01-02  a b c"
    assert second == "n1  2026-01-02  " + ("日本語 " * 15).strip()[:59].rstrip() + "…"
    assert json.loads(program("notes", "list", "--json").out)[0]["title"] == "a\nb\tc"
