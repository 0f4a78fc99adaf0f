"""`agent facts`: said, listed, changed, undone, moved in and out, each in a process of its own."""

import json
from pathlib import Path

import pytest

from tests.conftest import Ran
from tests.tables import listed

pytestmark = pytest.mark.usefixtures("scripts_decide", "at_noon")


def lines(*rows):
    return "".join(json.dumps(row) + "\n" for row in rows)


UNDO = "(agent facts undo takes it back)"
LIVES = {"subject": "person", "predicate": "lives_in"}
GRAZ = LIVES | {
    "object": "Graz", "statement": "I live in Graz", "at": "2025-03-01T10:00:00+01:00", "since": "2025-03-01",
}  # fmt: skip
LINZ = LIVES | {
    "object": "Linz", "statement": "I moved to Linz", "at": "2025-06-01T10:00:00+02:00", "since": "2025-06-01",
}  # fmt: skip


def take_in(program, *rows):
    return program("facts", "import", "-", "--accept", "--yes", stdin=lines(*rows))


def test_what_is_typed_is_a_fact_and_what_is_piped_waits(program):
    assert program("facts", "add", "I", "like", "tea") == Ran(0, f"kept f1 “I like tea” {UNDO}\n", "")
    ran = program("facts", "add", stdin="I like coffee with oat milk\n\nThe NAS is in the cellar\n")
    assert ran.out.splitlines() == [
        "f2 “I like coffee with oat milk” waits for your yes (agent facts approve f2)",
        "f3 “The NAS is in the cellar” waits for your yes (agent facts approve f3)",
    ]
    assert program("facts", "list").out == "f1  2026-01-02  I like tea\n"
    assert program("facts", "list", "--all").out == (
        "f3  2026-01-02  pending  The NAS is in the cellar\n"
        "f2  2026-01-02  pending  I like coffee with oat milk\n"
        "f1  2026-01-02           I like tea\n"
    )
    assert program.rows("select state, origin, trust from fact order by id") == [
        ("accepted", "typed", "typed"),
        ("pending", "piped", "piped"),
        ("pending", "piped", "piped"),
    ]
    assert program("facts", "add", "I like tea!").out == "f1 “I like tea” was known already\n"
    said = "f1 “I like tea” was known already\n"
    assert program("facts", "add", stdin="I like tea").out == said
    bosch, graz = "I work at Bosch", "I live in Graz"
    both = f"{bosch} and live in Graz"
    waits = "waits for your yes (agent facts approve"
    assert program("facts", "add", stdin=both).out == f"f4 “{bosch}” {waits} f4)\nf5 “{graz}” {waits} f5)\n"
    assert program("facts", "add", both).out == f"kept f4 “{bosch}” {UNDO}\nkept f5 “{graz}” {UNDO}\n"
    empty = Ran(2, "", "agent: an empty fact cannot be kept; write what is true\n")
    assert program("facts", "add", " ") == program("facts", "add", stdin=" \n") == empty


def test_at_a_terminal_a_fact_is_written_in_the_editor(program, terminal):
    program.edit_with('echo "I like tea" > "$1"')
    assert terminal("facts", "add").wait("kept f1 “I like tea”").ended() == 0


def test_a_fact_of_a_place_a_session_or_a_time_is_labelled(program):
    hello = {"id": "1", "messages": [{"id": "1", "role": "user", "content": "hello", "at": "2025-01-01T10:00:00"}]}
    program("sessions", "import", "-", stdin=lines(hello))
    program("facts", "add", "--here", "The tests run with tox")
    program("facts", "add", "--session", "s1", "We talk about boats")
    program("facts", "add", "--since", "2025-03-01", "--until", "2026-03-31", "The printer is on loan")
    assert program("facts", "list").out == (
        "f3  2025-03-01  The printer is on loan (until 2026-03-31)\n"
        "f2  2026-01-02  We talk about boats (in session s1 alone)\n"
        f"f1  2026-01-02  The tests run with tox (in {program.work})\n"
    )
    elsewhere = program.home / "elsewhere"
    elsewhere.mkdir()
    program.work = elsewhere
    assert program("facts", "list", "--here").out.splitlines()[-1].startswith("f2")
    assert program("facts", "list", "--as-of", "2025-02-28").out == ""
    assert program("facts", "list", "--as-of", "2026-03-31").out.startswith("f3")
    assert "f3" not in program("facts", "list", "--as-of", "2026-04-01").out
    soon = program("facts", "add", "--since", "soon", "x")
    assert soon.err == "agent: 'soon' is not a day: write it like 2026-11-20\n"
    assert program("facts", "add", "--since", "2026-02-02", "--until", "2026-02-01", "x").code == 2


def test_a_fact_is_shown_with_where_it_comes_from_and_what_it_replaced(program):
    message = {"id": "m1", "role": "user", "content": "I moved to Linz", "at": "2025-06-01T10:00:00"}
    program("sessions", "import", "-", "--source", "old", stdin=lines({"id": "1", "messages": [message]}))
    take_in(program, GRAZ)
    linz = {**LINZ, "source": "m1", "quote": "I moved to Linz"}
    program("facts", "import", "-", "--source", "old", stdin=lines(linz))
    assert program("facts", "approve", "f2").out == (
        f"kept f2 “I moved to Linz” (since 1 Jun 2025), in place of f1 “I live in Graz” {UNDO}\n"
    )
    assert program("facts", "show", "f2").out == (
        "f2  I moved to Linz\n"
        "  triple       person lives_in Linz\n"
        "  state        accepted on 2026-01-02\n"
        "  true         since 2025-06-01\n"
        "  place        everywhere\n"
        "  origin       import\n"
        "  source       m1 “I moved to Linz”\n"
        "  replaced     f1 “I live in Graz”\n"
    )
    assert program("facts", "show", "1").out.splitlines()[2:] == [
        "  state        superseded on 2026-01-02",
        "  true         since 2025-03-01 until 2025-06-01",
        "  place        everywhere",
        "  origin       import",
        "  replaced by  f2 “I moved to Linz”",
    ]
    told = program("facts", "show", "f2", "--json").json
    assert [told[name] for name in ("id", "state", "message", "replaced", "replaced_by")] == [
        *("f2", "accepted", "m1"), ["f1"], [],
    ]  # fmt: skip
    assert told["sources"] == [{"message": "m1", "quote": "I moved to Linz"}]


def test_several_are_approved_or_rejected_at_once_or_none(program):
    program("facts", "add", stdin="I like tea\nThe NAS is in the cellar\nAnna plays the cello\n")
    assert program("facts", "approve", "f1", "f9").code == 2
    assert program("facts", "approve").err == "agent: name facts by their handles, as in f12, or say --all --yes\n"
    assert program("facts", "approve", "--all").code == program("facts", "reject", "--all").code == 2
    assert program.rows("select distinct state from fact") == [("pending",)]
    assert program("facts", "reject", "f3").out == "rejected f3 “Anna plays the cello”\n"
    assert program("facts", "approve", "--all", "--yes").out == (
        f"kept f1 “I like tea” {UNDO}\nkept f2 “The NAS is in the cellar” {UNDO}\n"
    )
    assert program("facts", "approve", "f1").err == "agent: f1 does not wait for approval: it is accepted\n"
    assert program("facts", "undo").out == (
        "taken back: f2 “The NAS is in the cellar” is pending again\ntaken back: f1 “I like tea” is pending again\n"
    )


def test_a_fact_is_changed_in_words_and_in_the_editor(program):
    program("facts", "add", "I like tea")
    assert program("facts", "edit", "f1", "I", "like", "green", "tea") == Ran(0, "changed f1 “I like green tea”\n", "")
    program.edit_with('sed -i s/green/black/ "$1"')
    assert program("facts", "edit", "f1") == Ran(0, "changed f1 “I like black tea”\n", "")
    assert program("facts", "edit", "f1") == Ran(0, "", "agent: f1 was left as it is\n")
    assert program("facts", "history", "f1").out == (
        "2026-01-02  edited  person  “I like green tea”, accepted\n"
        "2026-01-02  edited  person  “I like tea”, accepted\n"
        "2026-01-02  added   person\n"
        "now: f1 “I like black tea”, accepted\n"
    )
    assert program("facts", "undo", "f1").out == "taken back: f1 “I like green tea” is accepted again\n"
    assert program("facts", "undo").out == "taken back: f1 “I like tea” is accepted again\n"
    told = program("facts", "history", "f1", "--json", "--limit", "2").json
    assert [(row["change"], row["statement"], row["undone"]) for row in told] == [
        ("undone", "I like green tea", True),
        ("undone", "I like black tea", True),
    ]


def test_what_is_refused_in_the_editor_changes_nothing_and_is_kept(program):
    program("facts", "add", "I like tea")
    program.edit_with("""head -c 2001 /dev/zero | tr '\\0' w > "$1" """)
    ran = program("facts", "edit", "f1")
    assert (ran.code, ran.out) == (2, "")
    said, kept = ran.err.strip().split("; your text is kept in ")
    assert said == "agent: a fact has at most 2000 characters, and this has 2001; keep it as a note"
    assert Path(kept).read_text() == "w" * 2001
    assert program("facts", "list").out == "f1  2026-01-02  I like tea\n"


def test_a_fact_is_hidden_and_brought_back(program):
    program("facts", "add", "I like tea")
    assert program("facts", "rm", "f1") == Ran(0, "hidden f1 “I like tea” (agent facts restore f1)\n", "")
    assert program("facts", "list").out == program("facts", "search", "tea").out == ""
    assert program("facts", "list", "--hidden").out == "f1  2026-01-02  I like tea\n"
    assert program("facts", "rm", "f1") == Ran(2, "", "agent: f1 is hidden already\n")
    assert program("facts", "restore", "f1") == Ran(0, "restored f1 “I like tea”\n", "")
    assert program("facts", "restore", "f1") == Ran(2, "", "agent: f1 is not hidden\n")
    assert program("facts", "search", "tea").out == "f1  2026-01-02  I like tea\n"


def test_facts_are_exported_and_imported_again(program):
    take_in(program, GRAZ, LINZ)
    program("facts", "add", "--here", "The tests run with tox")
    program("facts", "add", stdin="I like tea")
    ran = program("facts", "export", "--all")
    rows = [json.loads(line) for line in ran.out.splitlines()]
    assert rows[0] == GRAZ | {"since": "2025-03-01T01:00:00+01:00", "until": "2025-06-01T01:00:00+01:00"}
    assert [row["statement"] for row in rows] == ["I live in Graz", "I moved to Linz", "The tests run with tox"]
    assert len(program("facts", "export").out.splitlines()) == 2
    other = {"AGENT_DB": str(program.home / "other.db")}
    program.let_scripts_decide(program.home / "other.db")
    importing = ("facts", "import", "-", "--accept", "--yes")
    assert program(*importing, stdin=ran.out, env=other).out == "imported 3 facts, accepted\n"
    assert program(*importing, stdin=ran.out, env=other).out == "imported 0 facts, accepted\n"
    for day in ("2025-04-01", "2025-07-01", "2026-01-02"):
        shown = [program("facts", "list", "--as-of", day, env=env).out for env in (None, other)]
        assert [line[4:] for line in shown[0].splitlines()] == [line[4:] for line in shown[1].splitlines()]
    assert program("facts", "list", env=other).out.count("\n") == 2


def test_what_waits_from_an_import_is_accepted_when_it_comes_again_as_accepted(program):
    told = lines({"statement": "I like tea and hate coffee"}, {"statement": "Anna plays the cello"})
    assert program("facts", "import", "-", stdin=told).out == "imported 3 facts, pending\n"
    assert program("facts") == Ran(0, "", "agent: 3 facts to review: agent facts review\n")
    assert program("facts", "import", "-", stdin=told).out == "imported 0 facts, pending\n"
    assert program("facts", "import", "-", "--accept", stdin=told).code == 2
    assert program("facts", "import", "-", "--accept", "--yes", stdin=told).out == "imported 3 facts, accepted\n"
    assert program("facts", "import", "-", "--accept", "--yes", stdin=told).out == "imported 0 facts, accepted\n"
    assert program.rows("select state from fact") == [("accepted",)] * 3
    program("facts", "undo")
    assert program.rows("select state from fact") == [("pending",)] * 3


def test_what_was_decided_or_is_past_does_not_come_back_by_an_import(program):
    take_in(program, GRAZ, LINZ)
    take_in(program, GRAZ, LINZ)
    assert program.rows("select statement, state from fact") == [
        ("I live in Graz", "superseded"),
        ("I moved to Linz", "accepted"),
    ]
    tea = lines({"statement": "I like tea", "at": "2025-01-01"})
    program("facts", "import", "-", stdin=tea)
    program("facts", "reject", "f3")
    assert program("facts", "import", "-", stdin=tea).out == "imported 0 facts, pending\n"
    assert program.rows("select state from fact where id = 3") == [("rejected",)]


def test_broken_lines_of_an_import_are_told_and_the_others_taken(program):
    rows = [
        {"statement": "I like tea"},
        {"statement": 4},
        {"at": "2025-01-01"},
        ["x"],
        {"statement": "a", "since": "soon"},
        {"statement": "b", "since": "2025-02-01", "until": "2025-01-01"},
        {"statement": "c", "subject": "person"},
        {"statement": "d", "source": ["x"]},
    ]
    ran = program("facts", "import", "-", stdin=lines(*rows) + "{\n")
    assert (ran.code, ran.out) == (1, "imported 1 fact, pending\n")
    told = ran.err.splitlines()
    assert told[:6] == listed("""agent: line 2 was skipped: the statement is not text
        agent: line 3 was skipped: it has no statement | agent: line 4 was skipped: it is not a JSON object
        agent: line 5 was skipped: Invalid isoformat string: 'soon'
        agent: line 6 was skipped: it ends before it begins
        agent: line 7 was skipped: subject, predicate and object go together""")
    assert [line.split(" was")[0] for line in told[6:8]] == ["agent: line 8", "agent: line 9"]
    assert told[8] == "agent: 8 broken lines were skipped; the others are imported"


def test_what_is_true_is_printed_as_a_list_for_other_agents(program):
    take_in(program, GRAZ, LINZ, {"statement": "Anna plays the cello", "at": "2025-01-01"})
    program("facts", "add", "--here", "My tests run with tox")
    assert program("facts", "export", "--format", "md").out == (
        f"# About the person\n\n- I moved to Linz (2025-06-01)\n\n## In {program.work}\n\n"
        "- My tests run with tox (2026-01-02)\n\n# What is known besides\n\n- Anna plays the cello (2025-01-01)\n"
    )


WRONG = [
    (["show", "f9"], "there is no fact f9; `agent facts list --all` shows them all"),
    (["show", "n1"], "'n1' is not a handle of a fact: write it like f4"),
    (["edit", "tea"], "'tea' is not a handle of a fact: write it like f4"),
    (["history", "f9"], "there is no fact f9; `agent facts list --all` shows them all"),
    (["undo"], "there is no change to take back"),
    (["list", "--as-of", "March"], "'March' is not a day: write it like 2026-11-20"),
    (["import", "nowhere.jsonl"], "nowhere.jsonl cannot be read: No such file or directory"),
    (["export", "--format", "md", "--all"], "Markdown holds what is true now; --all is for --format jsonl"),
]


def test_what_cannot_be_meant_is_said(program):
    for arguments, said in WRONG:
        assert program("facts", *arguments) == Ran(2, "", f"agent: {said}\n"), arguments


def test_every_list_takes_json_and_a_limit(program):
    for words in ("one", "two", "six"):
        program("facts", "add", f"a fact on {words}")
    for command in (["list"], ["search", "fact"]):
        assert len(program("facts", *command, "--limit", "2", "--json").json) == 2
        assert len(program("facts", *command, "--limit", "2").out.splitlines()) == 2


def test_control_characters_reach_no_terminal(program):
    program("facts", "add", "I like \x1b[31mtea\u202e")
    for command in (["list"], ["show", "f1"], ["history", "f1"], ["search", "tea"], ["rm", "f1"]):
        assert "\x1b" not in program("facts", *command).out, command


def test_undo_names_each_fact_once_and_calls_nothing_rejected_that_was_not(program):
    program("facts", "add", "I live in Vienna", "--since", "2015-01-01", "--until", "2020-01-01")
    assert program("facts", "undo").out == "taken back: f1 “I live in Vienna” is not kept\n"


def test_a_text_is_no_fact_and_floods_no_list(program):
    long = "agent: a fact has at most 2000 characters, and this has 2001; keep it as a note\n"
    assert program("facts", "add", "w" * 2001) == Ran(2, "", long)
    assert program("facts", "add", stdin="w" * 2001) == Ran(2, "", long)
    program("facts", "add", "I like tea")
    assert program("facts", "edit", "f1", "w" * 2001) == Ran(2, "", long)
    assert program("facts", "list", "--all").out.endswith("  I like tea\n")


def test_the_newer_truth_wins_and_a_plan_begins_by_itself(program):
    wels, linz, graz = (
        "I moved to Wels on 3 March 2025",
        "I moved to Linz in June 2024",
        "I'm moving to Graz in February",
    )
    assert program("facts", "add", wels).out == f"kept f1 “{wels}” (since 3 Mar 2025) {UNDO}\n"
    assert program("facts", "add", linz).out == f"kept f2 “{linz}” (true from 1 Jun 2024 until 3 Mar 2025) {UNDO}\n"
    assert program("facts", "add", graz).out == (
        f"kept f3 “{graz}” (planned from 1 Feb 2026), in place of f1 “{wels}” from then on {UNDO}\n"
    )
    assert program("facts", "list").out == (
        f"f3  2026-02-01  planned  {graz}\nf1  2025-03-03           {wels} (until 2026-02-01)\n"
    )
    assert f"f3     2026-01-02  (planned, true from 1 February 2026) {graz}\n" in program("search", "Graz").out
    assert program("facts", "list", "--on", "2024-07-01").out == f"f2  2024-06-01  {linz}\n"
    assert program("facts", "list", env={"AGENT_NOW": "2026-02-01T08:00:00+00:00"}).out == f"f3  2026-02-01  {graz}\n"
    assert program("facts", "edit", "f3", "--since", "2026-03-01").out == (
        f"changed f3 “{graz}”, planned from 1 Mar 2026\n"
    )
    assert program("facts", "list", "--on", "2026-02-15").out == f"f1  2025-03-03  {wels} (until 2026-03-01)\n"
    assert program("facts", "edit", "f3", "--until", "2026-02-01").code == 2


def test_ask_says_on_standard_error_what_a_sentence_ends_and_how(program, server, terminal):
    program("facts", "add", "I live in Wels")
    ran = program("ask", "I no longer live in Wels")
    assert "f1 says “I live in Wels” · /update in `agent -c` ends it" in ran.err
    assert "f1 says" not in ran.out + program("ask", "--json", "I no longer live in Wels").out
    shell = terminal("-c").wait_prompt()
    shell.enter("/update").wait("ended f1 “I live in Wels” (true until 2 Jan 2026)")


def test_every_session_is_told_what_always_counts_and_the_person_decides_what(program, server):
    for statement in ("I am vegetarian", "Answer me in German", "I live in Graz"):
        assert program("facts", "add", statement).code == 0
    shown = program("facts", "profile").out
    assert shown.endswith("\n3 facts of 3, 67 of 600 tokens\n")

    program.env["OLLAMA_HOST"] = server.host
    asked = json.loads(program("ask", "--dry-run", "what shall I cook tonight?").out)
    (first,) = [each["content"] for each in asked["messages"] if each["role"] == "user"]
    assert first.startswith(shown.rpartition("\n3 facts")[0])

    assert program("facts", "never", "f3").out == (
        "f3 “I live in Graz” is told only where a question calls for it (agent facts undo f3)\n"
    )
    assert "Graz" not in program("facts", "profile").out
    assert "I live in Graz" in program("facts", "always", "f3").out
    assert "Graz" in program("facts", "profile").out
    assert program("facts", "undo", "f3").code == 0
    assert "Graz" not in program("facts", "profile").out

    assert program("ask", "what shall I cook tonight?").code == 0
    assert program("why").out.endswith("always told: f1, f2\n")
    told = [each["id"] for each in json.loads(program("why", "--json").out) if each.get("always")]
    assert told == ["f1", "f2"]

    program.env["AGENT_PROFILE_TOKENS"] = "0"
    assert "vegetarian" not in program("ask", "--dry-run", "hello there, my dear").out


def test_the_graph_says_which_facts_it_does_not_show(program):
    program("facts", "add", "My sister Clara owns the greenhouse")
    program("facts", "add", "Clara's locker is number 88")  # which is no name
    assert program("facts", "graph") == Ran(0, "Clara: 2 facts\ngreenhouse: 1 fact\n", "")
    program("facts", "add", "Clara waters everything twice when it is hot")
    left_out = "agent: without a relation, so not in the graph: 1 fact (agent facts list)\n"
    assert program("facts", "graph") == Ran(0, "Clara: 2 facts\ngreenhouse: 1 fact\n", left_out)
    assert program("facts", "graph", "Tom") == Ran(0, "", left_out)


def test_a_private_key_of_several_lines_is_masked_before_it_is_split(program):
    body = "\n".join("b3BlbnNzaC1rZXktdjEAAAAABG5vbmUAAAAE" + str(line) for line in range(3))
    key = f"-----BEGIN OPENSSH PRIVATE KEY-----\n{body}\n-----END OPENSSH PRIVATE KEY-----\n"
    ran = program("facts", "add", stdin=f"My key is\n{key}I like tea\n")
    assert "b3Blbn" not in ran.out
    assert program.rows("select statement from fact") == [("My key is",), ("[masked: private key]",), ("I like tea",)]
