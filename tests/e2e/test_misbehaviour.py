"""Models that misbehave, through the whole program: every oddity is handled or said in a sentence.

The first table is what local models really do (legal on the wire), the last one what no server should send.
"""

import pytest

from agent_cli.memory.planner import notes
from agent_cli.store.file import open_file
from tests.conftest import CHAT, HERE, NOON, Ran, noon
from tests.ollama_server import faults, script

CALL = ("search_notes", {"query": "dentist"})
THROUGH = ("use_tool", {"tool": CALL[0], "arguments": CALL[1]})  # as a model calls what it knows by name alone
FRIDAY = script.reply("On Friday.")
FOUND = "n1 (02 Jan 2026) Dentist on Friday"
TOOLS = (
    "jot, read_jottings, save_note, propose_fact, search_notes, search_memory, timeline, create_reminder, list_tasks, "
    "complete_task, read_skill, calculate, summarize_today, draft_message"
)
LOG = "select role, text, finish from message order by id"
CALLS = "select name, arguments from tool_call order by id"
RESULTS = "select text, failed from message where role = 'tool' order by id"
ASKED = ("user", "hi", "stop")


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
    "bare JSON": faults.call_as_json(*THROUGH),
    "a fence": faults.call_as_fence(*THROUGH),
    "tags": faults.call_as_tag(*THROUGH),
    "bare JSON of what is known by name alone": faults.call_as_json(*CALL),
    "tags around what is known by name alone": faults.call_as_tag(*CALL),
    "as it should be": script.reply(calls=[THROUGH]),
    "arguments in arguments": faults.nested_arguments(*CALL),
    "arguments as a string": faults.string_arguments(CALL[0], '{"query": "dentist"}'),
}


@pytest.mark.parametrize("written", MEANT)
def test_a_call_written_in_a_strange_way_runs(ask, program, written):
    assert ask(MEANT[written], FRIDAY) == Ran(0, "On Friday.\n", "")
    assert program.rows(CALLS) == [("search_notes", '{"query": "dentist"}')]
    assert program.rows(LOG) == [
        ASKED,
        ("assistant", "", "stop"),
        ("tool", FOUND, "stop"),
        ("assistant", "On Friday.", "stop"),
    ]


TOLD = {
    "an unknown tool": (
        faults.unknown_tool(),
        f"there is no tool 'launch_rocket'; there are {TOOLS}",
    ),
    "a missing argument": (
        script.reply(calls=[("search_notes", {})]),
        "wrong arguments, missing: query; search_notes takes query (string)",
    ),
    "an extra argument": (
        script.reply(calls=[("search_notes", {"query": "a", "color": "red"})]),
        "wrong arguments, unknown: color; search_notes takes query (string)",
    ),
    "an argument of the wrong type": (
        script.reply(calls=[("search_notes", {"query": ["a"]})]),
        "wrong arguments, of the wrong type: query; search_notes takes query (string)",
    ),
    "arguments that are words": (
        faults.string_arguments("search_notes", "dentist"),
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
    ran = ask(faults.all_on_one_line("Let me look.", "a note?", CALL), FRIDAY)
    assert ran == Ran(0, "Let me look.\n\nOn Friday.\n", "")
    assert program.rows("select text, thinking, finish from message where role = 'assistant'") == [
        ("Let me look.", "a note?", "stop"),
        ("On Friday.", "", "stop"),
    ]


def test_a_greeting_with_a_needless_call_is_answered(ask, program):
    ran = ask(faults.greeting_with_call(CALL), script.reply("Hello again."))
    assert ran == Ran(0, "Hello! Let me look that up.\n\nHello again.\n", "")
    assert program.rows(RESULTS) == [(FOUND, 0)]


def test_the_same_call_three_times_ends_the_turn_with_words(ask, program, server):
    ended = "agent: the turn was ended: the same call of search_notes was made 3 times in a row\n"
    assert ask(faults.same_call(CALL, 3), FRIDAY) == Ran(0, "On Friday.\n", ended)
    assert program.rows(RESULTS) == [
        (FOUND, 0),
        (FOUND, 0),
        ("not run: the same call of search_notes was made 3 times in a row", 1),
    ]
    assert server.turns[1]["tools"] == server.turns[0]["tools"]


def test_a_model_that_only_ever_calls_is_stopped_with_a_sentence(ask, program, server):
    server.answer = lambda body: script.reply(calls=[("search_notes", {"query": f"try {len(body['messages'])}"})])
    said = "I stopped here: 6 rounds of tool calls were made, and no answer came of it."
    assert ask() == Ran(0, f"{said}\n", "agent: the turn was ended: 6 rounds of tool calls were made\n")
    assert program.rows(LOG)[-1] == ("assistant", said, "refused")
    assert len(server.turns) == 7


THOUGHT = {
    "in tags": faults.think_tags("Let me see", "42"),
    "in tags that are split": faults.split_tags("Let me see", "42"),
}


@pytest.mark.parametrize("where", THOUGHT)
def test_thinking_in_the_content_is_no_answer(ask, program, where):
    assert ask(THOUGHT[where]) == Ran(0, "42\n", "")
    assert program.rows("select text, thinking from message where role = 'assistant'") == [("42", "Let me see")]


def test_thinking_that_was_printed_before_it_showed_is_set_apart_and_not_kept_as_the_answer(ask, program):
    took_back = "agent: what was printed so far is the model's thinking, not its answer\n"
    assert ask(faults.closing_tag_only("Let me see", "42")) == Ran(0, "Let me see\n\n42\n", took_back)
    assert program.rows("select text, thinking from message where role = 'assistant'") == [("42", "Let me see")]


def test_thinking_in_the_content_is_not_in_the_answer_as_json(program, server):
    server.play(faults.closing_tag_only("Let me see", "42"))
    ran = program.use(server)("ask", "--json", "hi")
    assert (ran.code, ran.err, ran.json["answer"]) == (0, "", "42")


def test_json_with_words_around_it_is_an_answer_like_any_other(ask, program):
    said = 'Sure! Here is the JSON:\n{"a": 1}\nLet me know if you need more.'
    assert ask(faults.json_in_prose({"a": 1})) == Ran(0, f"{said}\n", "")
    assert program.rows(LOG) == [ASKED, ("assistant", said, "stop")]


def test_half_a_character_from_the_model_becomes_a_replacement(ask, program):
    broken = b'{"model":"%s","message":{"role":"assistant","content":"a\\ud800b"},"done":false}\n' % CHAT.name.encode()
    assert ask(script.pieces(broken)) == Ran(0, "a\ufffdb\n", "")
    assert program.rows(LOG) == [ASKED, ("assistant", "a\ufffdb", "stop")]


UNREADABLE = "the model server sent an answer that cannot be read (<html>502</html>); what arrived is kept"
STRANGE = {
    "an error that is an object": (
        faults.error_object(),
        Ran(1, "hello\n", "agent: the model server stopped: it broke; what arrived is kept\n"),
        [("assistant", "hello", "interrupted")],
    ),
    "a blank line": (faults.blank_line(), Ran(0, "ab\n", ""), [("assistant", "ab", "stop")]),
    "a line that is not JSON": (
        faults.not_json(),
        Ran(1, "a\n", f"agent: {UNREADABLE}\n"),
        [("assistant", "a", "interrupted")],
    ),
    "JSON that is no object": (
        script.pieces(b"[1]\n"),
        Ran(1, "", "agent: the model server sent an answer that cannot be read ([1]); what arrived is kept\n"),
        [],
    ),
    "a call without a function": (
        script.pieces(b'{"message":{"role":"assistant","content":"a","tool_calls":[1,{"id":2}]},"done":false}\n'),
        Ran(0, "a\n", ""),
        [("assistant", "a", "stop")],
    ),
    "fields of other types": (
        script.pieces(
            b'{"message":{"content":["a"],"thinking":3,"tool_calls":{}},"done":0}\n',
            b'{"message":{"content":"b"},"done":true,"prompt_eval_count":"x","eval_count":null}\n',
        ),
        Ran(0, "b\n", ""),
        [("assistant", "b", "stop")],
    ),
}


@pytest.mark.parametrize("sent", STRANGE)
def test_what_no_server_should_send_is_survived(ask, program, sent):
    strange, ran, kept = STRANGE[sent]
    assert ask(strange) == ran
    assert program.rows(LOG) == [ASKED, *kept]


def test_a_line_without_a_message_is_passed_over(ask, program):
    assert ask(faults.without_message(), script.reply("Hello")).out == "Hello\n"
    assert program.rows(LOG) == [ASKED, ("assistant", "Hello", "stop")]


@pytest.mark.parametrize(
    "answer",
    [
        b"",
        b"SSH-2.0-OpenSSH_9.6\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Length: 5\r\n\r\nhello",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:9/\r\nContent-Length: 0\r\n\r\n",
        b"HTTP/1.1 404 Not Found\r\nContent-Length: 19\r\n\r\n404 page not found\n",
    ],
    ids=["silence", "no HTTP", "no JSON", "broken chunks", "a redirect", "another web server"],
)
def test_what_is_no_ollama_is_met_with_one_sentence(ask, program, answer):
    ran = ask(script.raw_http(answer), script.raw_http(answer))
    assert ran.code in (1, 3)
    assert ran.out == ""
    assert "Traceback" not in ran.err
    assert all(line.startswith("agent: ") for line in ran.err.splitlines())
    assert program.rows(LOG) == [ASKED]
