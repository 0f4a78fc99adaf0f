"""What `agent ask` makes of everything a model server can do: its output, its exit code, and what is kept.

One test for each row of the table; each runs the program as a process against the loopback server.
"""

import pytest

from tests.conftest import Ran
from tests.ollama_server import faults, script
from tests.ollama_server.registry import Model
from tests.ollama_server.script import CUT, MIDSTREAM_ERROR, NO_DONE, RESET
from tests.ollama_server.server import OllamaServer

PLAIN = Model("gemma:2b")
STUB = Model("innocent:8b", capabilities=("completion", "tools"), remote_host="https://ollama.com")
ASKED = ("user", "hi", "stop")
TURNED = (
    "select role, text, finish from message order by id",
    "select session.closed_at is not null, session.holder from session",
)


@pytest.fixture
def server(server):
    for each in (PLAIN, STUB):
        server.registry.add(each)
    return server


@pytest.fixture
def ask(program, server):
    """Ask "hi" after the server was told what to do."""
    program.use(server)

    def run(*scripts, **options):
        server.play(*scripts)
        return program("ask", "hi", **options)

    return run


def kept(program):
    """What stands in the log, once it was seen that the session is closed and nobody holds it."""
    log, session = TURNED
    assert program.rows(session) == [(1, None)]
    return program.rows(log)


LONG_LINE = "".join(map(str, range(340_000)))  # 2 MB, and no repetition
ANSWERS = {
    "S1 text": (script.reply("Hello there"), "Hello there"),
    "S2 thinking, then text": (script.reply("42", "Let me see"), "42"),
    "S11 slowly, after a silence": (script.silence(0.4, script.reply("one two", delay=0.05)), "one two"),
    "S12 a line of 2 MB": (script.reply(LONG_LINE, words=False), LONG_LINE),
}


CUT_LINES = {
    "S12 several lines in a segment": (
        script.raw(script.line("a ") + script.line("b") + script.line(done=True)),
        "a b",
    ),
    "S12 lines split inside a character": (
        script.raw(*(bytes([byte]) for byte in script.line("✓ é") + script.line(done=True)), pause=0),
        "✓ é",
    ),
}


@pytest.mark.parametrize("name", CUT_LINES)
def test_an_answer_arrives_however_its_lines_are_cut(ask, program, name):
    played, said = CUT_LINES[name]
    assert ask(played) == Ran(0, f"{said}\n", "")
    assert kept(program) == [ASKED, ("assistant", said, "stop")]


@pytest.mark.parametrize("name", ANSWERS)
def test_an_answer_is_printed_and_kept_however_it_travels(ask, program, name):
    played, said = ANSWERS[name]
    assert ask(played) == Ran(0, f"{said}\n", "")
    assert kept(program) == [ASKED, ("assistant", said, "stop")]


def test_u0085_in_an_answer_is_kept_and_not_taken_for_the_end_of_a_line(ask, program):
    assert ask(faults.next_line()) == Ran(0, "ab\n", "")  # it is a control character: not printed
    assert kept(program) == [ASKED, ("assistant", "a\u0085b", "stop")]


def test_thinking_is_kept_apart_from_the_answer(ask, program):
    ask(script.reply("42", "Let me see"))
    assert program.rows("select text, thinking from message where role = 'assistant'") == [("42", "Let me see")]


@pytest.mark.parametrize("place", ["line", "done"])  # S3a, S3b
def test_tool_call_runs_and_the_answer_comes_after_it(ask, program, server, place):
    calls = [("search_notes", {"query": "tea"}), ("search_notes", {"query": "milk"})]
    ran = ask(script.reply(calls=calls, calls_at=place), script.reply("Nothing yet."))
    assert ran == Ran(0, "Nothing yet.\n", "")
    assert kept(program) == [
        ASKED,
        ("assistant", "", "stop"),
        ("tool", "no note has these words", "stop"),
        ("tool", "no note has these words", "stop"),
        ("assistant", "Nothing yet.", "stop"),
    ]
    assert program.rows("select name, arguments from tool_call order by id") == [
        ("search_notes", '{"query": "tea"}'),
        ("search_notes", '{"query": "milk"}'),
    ]


NOTHING = "agent: the model answered nothing; asked again without thinking\n"


@pytest.mark.parametrize("empty", [script.empty_after_thinking("Hm"), faults.nothing()], ids=["S4", "stop"])
def test_an_empty_answer_is_asked_for_again_without_thinking(ask, program, server, empty):
    assert ask(empty, script.reply("Hello")) == Ran(0, "Hello\n", NOTHING)
    assert [turn.get("think") for turn in server.turns] == [None, False]
    assert kept(program)[-1] == ("assistant", "Hello", "stop")
    assert "Your answer was empty" not in str(kept(program))


def test_a_second_empty_answer_is_said(ask, program):
    said = "qwen3:8b gave an empty answer, even when asked again; ask in other words, or try another model with -m"
    assert ask(faults.nothing(), faults.nothing()) == Ran(1, "", f"{NOTHING}agent: {said}\n")
    assert kept(program) == [ASKED]


def test_a_budget_spent_thinking_twice_is_said(ask, program):
    spent = script.reply("", thinking="Hm", finish="length")
    said = "qwen3:8b gave an empty answer, it used up its tokens thinking; ask in other words, or try another model"
    ran = ask(spent, spent)
    assert (ran.code, ran.out, ran.err) == (1, "", f"{NOTHING}agent: {said} with -m\n")
    assert kept(program) == [ASKED, ("assistant", "", "length")]  # its thinking is kept


CUT_SAID = "the model server closed the connection before the answer was complete; what arrived is kept"
BREAKS = {
    "S5 an error in the middle": (
        MIDSTREAM_ERROR,
        "the model server stopped: an error was encountered while running the model: CUDA error; what arrived is kept",
    ),
    "S7 no end": (NO_DONE, "the model stopped in the middle of its answer; what arrived is kept"),
    "S8 cut": (CUT, CUT_SAID),
    "S8 reset": (RESET, CUT_SAID),
}


@pytest.mark.parametrize("name", BREAKS)
def test_an_answer_that_breaks_off_is_printed_kept_and_said(ask, program, server, name):
    ending, said = BREAKS[name]
    assert ask(script.reply("one two", then=ending, delay=0.01)) == Ran(1, "one two\n", f"agent: {said}\n")
    assert kept(program) == [ASKED, ("assistant", "one two", "interrupted")]
    assert len(server.turns) == 1


def test_a_call_in_an_answer_that_breaks_off_never_runs(ask, program):
    ran = ask(script.reply("Let me", calls=[("jot", {"text": "tea"})], then=CUT))
    assert ran == Ran(1, "Let me\n", f"agent: {CUT_SAID}\n")
    assert kept(program) == [ASKED, ("assistant", "Let me", "interrupted")]
    assert program.rows("select * from tool_call") == program.rows("select * from jotting") == []


AGAIN = "agent: the model server failed once; asked again\n"
CRASH = script.error(500, "model runner has unexpectedly stopped")
FAILURES = {
    "S6 the runner crashed": (CRASH, "the model server failed: model runner has unexpectedly stopped"),
    "S6 a call nobody can read": (
        script.unparsable_call(),
        "the model 'qwen3:8b' wrote a tool call that cannot be read: "
        "error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input",
    ),
    "S6 not even JSON": (script.error_text(502, "Bad Gateway"), "the model server failed: Bad Gateway"),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_failure_before_the_first_word_is_tried_once_more(ask, program, server, name):
    failure, said = FAILURES[name]
    assert ask(failure, script.reply("Hello")) == Ran(0, "Hello\n", AGAIN)
    assert program("ask", "hi").code == 0  # the next question starts afresh
    server.play(failure, failure)
    assert program("ask", "hi") == Ran(1, "", f"{AGAIN}agent: {said}\n")
    assert program.rows(TURNED[0])[-1] == ASKED
    assert len(server.turns) == 5


def test_a_busy_server_is_waited_for(ask, program, server):
    server.busy = 1
    assert ask(script.reply("Hello")) == Ran(0, "Hello\n", "agent: the model server is busy; waiting for it\n")
    assert kept(program) == [ASKED, ("assistant", "Hello", "stop")]


def test_a_server_that_stays_busy_is_given_up(ask, program, server):
    server.queue_full = True
    said = (
        "agent: the model server is busy; waiting for it\n"
        "agent: the model server is still busy: server busy, please try again. maximum pending requests "
        "exceeded; try again in a while\n"
    )
    assert ask(env={"AGENT_PATIENCE": "0.3"}) == Ran(1, "", said)
    assert kept(program) == [ASKED]


def test_a_model_without_tools_and_thinking_answers_without_and_it_is_said_once(program, server):
    program.use(server).env |= {"AGENT_MODEL": PLAIN.name, "AGENT_THINK": "on"}
    server.play(script.reply("Hello"))
    said = (
        "agent: the model 'gemma:2b' has no separate thinking; asked again without it\n"
        "agent: the model 'gemma:2b' cannot use tools; asked again without them\n"
    )
    assert program("ask", "hi") == Ran(0, "Hello\n", said)
    assert kept(program) == [ASKED, ("assistant", "Hello", "stop")]


def test_a_conversation_that_exceeds_the_context_is_said_with_its_numbers(ask, program):  # S9
    said = (
        "agent: the conversation does not fit: it has 42947 tokens, and the model's context holds 8192; "
        "ask something shorter, begin a new session with /new, or raise num_ctx in the settings\n"
    )
    assert ask(script.context_exceeded(42947, 8192)) == Ran(5, "", said)
    assert kept(program) == [ASKED]


def test_a_question_too_long_for_the_context_is_said_and_never_sent(program, server):
    ran = program.use(server)("ask", "-f", "-", stdin="word " * 20_000)
    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith("agent: the question needs about 25")
    assert ran.err.endswith("shorten it, or raise it with `agent config set num_ctx 16384`\n")
    assert server.turns == []
    assert program.rows("select length(text) from message") == [(100_000,)]


def test_a_template_that_refuses_is_said(ask, program):  # S10
    ran = ask(script.template_error())
    said = "the template of the model 'qwen3:8b' refuses the conversation: Jinja Exception: System message must be at "
    assert ran == Ran(1, "", f"agent: {said}the beginning.\n")
    assert kept(program) == [ASKED]


def test_a_missing_model_is_said_with_the_line_that_fetches_it(program, server):
    program.use(server).env["AGENT_MODEL"] = "nope:1b"
    said = f"the model 'nope:1b' is not on the server at {server.url}: run `ollama pull nope:1b`"
    assert program("ask", "hi") == Ran(4, "", f"agent: {said}\n")
    assert kept(program) == [ASKED]


@pytest.mark.parametrize("name", ["gpt-oss:120b-cloud", STUB.name])
def test_a_model_in_the_cloud_never_gets_a_word(program, server, name):
    program.use(server)
    said = (
        f"the model '{name}' runs on somebody else's machine; only models on your own server are used: "
        "choose another with --model, `agent models` lists them"
    )
    assert program("-m", name, "ask", "hi") == Ran(4, "", f"agent: {said}\n")
    assert server.turns == []
    assert kept(program) == [ASKED]


def test_a_server_with_no_model_that_chats_is_said_with_the_line_that_fetches_one(program):
    with OllamaServer(models=[STUB, Model("nomic-embed-text", capabilities=("embedding",))]) as server:
        program.env["OLLAMA_HOST"] = server.host
        said = f"the server at {server.url} has no model of its own that can chat: run `ollama pull qwen3:4b`"
        assert program("ask", "hi") == Ran(4, "", f"agent: {said}\n")
    assert kept(program) == [ASKED]
