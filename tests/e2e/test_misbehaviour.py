"""Models that misbehave, through the whole program: every oddity is handled or said in a sentence.

Each test stands for a class: the forms of calls are in tests/llm/test_repair.py, the guard in tests/agent/test_loop.py,
the lines of a stream in tests/llm/ollama/test_chat.py.
"""

import json

import pytest

from agent_cli.memory.planner import notes
from agent_cli.store.file import open_file
from tests.conftest import CHAT, HERE, NOON, Ran, noon
from tests.ollama_server import script

CALL = ("search_notes", {"query": "dentist"})
THROUGH = ("use_tool", {"tool": CALL[0], "arguments": CALL[1]})  # as a model calls what it knows by name alone
FRIDAY = script.reply("On Friday.")
FOUND = "n1 (02 Jan 2026) Dentist on Friday"
TOOLS = (
    "jot, read_jottings, save_note, propose_fact, search_notes, search_memory, timeline, create_reminder, list_tasks, "
    "complete_task, read_skill, calculate, summarize_today, draft_message"
)
LOG = "select role, text, finish from message order by id"
RESULTS = "select text, failed from message where role = 'tool' order by id"
ANSWER = "select text, thinking from message where role = 'assistant' order by id"
ASKED = ("user", "hi", "stop")


def written(name, arguments):
    return json.dumps({"name": name, "arguments": arguments})


@pytest.fixture
def ask(program, server):
    """Ask "hi" after the server was told what to say; there is one note."""
    db = open_file(program.db, NOON, print)
    notes.add(db, HERE, "Dentist on Friday", noon)
    db.close()
    program.use(server)

    def run(*scripts, **options):
        server.play(*scripts)
        return program("ask", "hi", **options)

    return run


MEANT = {
    "tags": script.reply(f"<tool_call>\n{written(*THROUGH)}\n</tool_call>"),
    "bare JSON of what is known by name alone": script.reply(written(*CALL)),
    "arguments as a string": script.reply(calls=[(CALL[0], '{"query": "dentist"}')]),
}


@pytest.mark.parametrize("written", MEANT)
def test_a_call_written_in_a_strange_way_runs(ask, program, written):
    assert ask(MEANT[written], FRIDAY) == Ran(0, "On Friday.\n", "")
    assert program.rows("select name, arguments from tool_call") == [("search_notes", '{"query": "dentist"}')]
    assert program.rows(RESULTS) == [(FOUND, 0)]


TOLD = {
    "an unknown tool": (
        script.reply(calls=[("launch_rocket", {})]),
        f"there is no tool 'launch_rocket'; there are {TOOLS}",
    ),
    "a missing argument": (
        script.reply(calls=[("search_notes", {})]),
        "wrong arguments, missing: query; search_notes takes query (string)",
    ),
}


@pytest.mark.parametrize("mistake", TOLD)
def test_a_call_that_cannot_run_is_answered_in_words_and_the_turn_goes_on(ask, program, mistake):
    call, told = TOLD[mistake]
    assert ask(call, FRIDAY) == Ran(0, "On Friday.\n", "")
    assert program.rows(RESULTS) == [(told, 1)]


def test_every_tool_can_be_called_by_printing_the_call(ask, program):
    names = TOOLS.split(", ")
    printed = "\n".join(f'<tool_call>{{"name": "{name}", "arguments": {{}}}}</tool_call>' for name in names)
    assert ask(script.reply(printed), FRIDAY) == Ran(0, "On Friday.\n", "")
    assert program.rows("select name from tool_call order by id") == [(name,) for name in names]


def test_a_call_that_was_cut_is_asked_for_again(ask):
    ran = ask(script.reply('<tool_call>\n{"name": "calculate", "arg'), FRIDAY)
    assert (ran.code, ran.out) == (0, "On Friday.\n")


def test_words_and_a_call_on_one_line_are_both_taken(ask, program):
    ran = ask(script.reply("Let me look.", "a note?", [CALL], text_and_calls_on_one_line=True), FRIDAY)
    assert ran == Ran(0, "Let me look.\n\nOn Friday.\n", "")
    assert program.rows(ANSWER) == [("Let me look.", "a note?"), ("On Friday.", "")]


def test_the_same_call_three_times_ends_the_turn_with_words(ask, program, server):
    ended = "agent: the turn was ended: the same call of search_notes was made 3 times in a row\n"
    assert ask(script.reply(calls=[CALL] * 3), FRIDAY) == Ran(0, "On Friday.\n", ended)
    not_run = "not run: the same call of search_notes was made 3 times in a row"
    assert program.rows(RESULTS) == [(FOUND, 0), (FOUND, 0), (not_run, 1)]
    assert server.turns[1]["tools"] == server.turns[0]["tools"]


def test_a_model_that_only_ever_calls_is_stopped_with_a_sentence(ask, program, server):
    server.answer = lambda body: script.reply(calls=[("search_notes", {"query": f"try {len(body['messages'])}"})])
    said = "I stopped here: 6 rounds of tool calls were made, and no answer came of it."
    assert ask() == Ran(0, f"{said}\n", "agent: the turn was ended: 6 rounds of tool calls were made\n")
    assert program.rows(LOG)[-1] == ("assistant", said, "refused")
    assert len(server.turns) == 7


def test_thinking_in_the_content_is_no_answer(ask, program, server):
    parts = ("<th", "ink>", "Let me see", "</", "thi", "nk>", "42")
    assert ask(script.pieces(*map(script.Piece, parts))) == Ran(0, "42\n", "")
    took_back = "agent: what was printed so far is the model's thinking, not its answer\n"
    closing_alone = script.reply("Let me see</think>\n\n42")
    assert ask(closing_alone) == Ran(0, "Let me see\n\n42\n", took_back)
    assert program.rows(ANSWER) == [("42", "Let me see")] * 2
    server.play(closing_alone)
    ran = program("ask", "--json", "hi")
    assert (ran.code, ran.err, ran.json["answer"]) == (0, "", "42")


def test_half_a_character_from_the_model_becomes_a_replacement(ask, program):
    broken = b'{"model":"%s","message":{"role":"assistant","content":"a\\ud800b"},"done":false}\n' % CHAT.name.encode()
    assert ask(script.pieces(broken)) == Ran(0, "a\ufffdb\n", "")
    assert program.rows(LOG) == [ASKED, ("assistant", "a\ufffdb", "stop")]


def test_what_no_server_should_send_is_survived(ask, program):
    unreadable = "the model server sent an answer that cannot be read (<html>502</html>); what arrived is kept"
    assert ask(script.pieces(script.Piece("a"), b"<html>502</html>\n")) == Ran(1, "a\n", f"agent: {unreadable}\n")
    assert program.rows(LOG) == [ASKED, ("assistant", "a", "interrupted")]


@pytest.mark.parametrize(
    "answer", [b"", b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello"], ids=["silence", "no JSON"]
)
def test_what_is_no_ollama_is_met_with_one_sentence(ask, program, answer):
    ran = ask(script.raw_http(answer), script.raw_http(answer))
    assert (ran.code in (1, 3), ran.out, "Traceback" in ran.err) == (True, "", False)
    assert all(line.startswith("agent: ") for line in ran.err.splitlines())
    assert program.rows(LOG) == [ASKED]
