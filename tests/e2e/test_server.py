"""What `agent ask` makes of what a model server does: its output, its exit code, and what is kept.

The rows of the table are what a person sees of the faults that tests/llm/test_engines.py knows in detail.
"""

import pytest

from tests.conftest import Ran
from tests.ollama_server import script
from tests.ollama_server.registry import Model
from tests.ollama_server.script import CUT, MIDSTREAM_ERROR, NO_DONE
from tests.ollama_server.server import OllamaServer

PLAIN = Model("gemma:2b")
STUB = Model("innocent:8b", capabilities=("completion", "tools"), remote_host="https://ollama.com")
ASKED = ("user", "hi", "stop")
LOG = "select role, text, finish from message order by id"


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
    assert program.rows("select session.closed_at is not null, session.holder from session") == [(1, None)]
    return program.rows(LOG)


HELLO = script.reply("Hello")
EMPTY_REPLY = script.reply("")
NEXT_LINE = script.reply("a\u0085b", words=False)  # which Go does not escape and httpx takes for the end of a line
NOTHING = "agent: the model answered nothing; asked again without thinking\n"
EMPTY = "agent: qwen3:8b gave an empty answer, {}; ask in other words, or try another model with -m\n"
AGAIN = "agent: the model server failed once; asked again\n"
CRASH = script.error(500, "model runner has unexpectedly stopped")
SPENT = script.reply("", thinking="Hm", finish="length")
CUDA = "an error was encountered while running the model: CUDA error"
CUT_SAID = "the model server closed the connection before the answer was complete"
TOO_LONG = (
    "agent: the conversation does not fit: it has 42947 tokens, and the model's context holds 8192; "
    "ask something shorter, begin a new session with /new, or raise num_ctx in the settings\n"
)
REFUSED = (
    "agent: the template of the model 'qwen3:8b' refuses the conversation: Jinja Exception: System message must be at "
    "the beginning.\n"
)
UNREADABLE = (
    "agent: the model 'qwen3:8b' wrote a tool call that cannot be read: "
    "error parsing tool call: raw='{\"a\":', err=unexpected end of JSON input\n"
)


def broken(said):
    return Ran(1, "one two\n", f"agent: {said}; what arrived is kept\n")


def breaks(then):
    return [script.reply("one two", then=then, delay=0.01)]


# what the server does, what is printed, and the text and the end of the answer that is kept, if any is
TABLE = {
    "thinking, then text": ([script.reply("42", "Let me see")], Ran(0, "42\n", ""), ("42", "stop")),
    "slowly, after a silence": (
        [script.silence(0.2, script.reply("one two", delay=0.05))], Ran(0, "one two\n", ""), ("one two", "stop"),
    ),
    "a control character": ([NEXT_LINE], Ran(0, "ab\n", ""), ("a\u0085b", "stop")),
    "only thinking": ([script.empty_after_thinking("Hm"), HELLO], Ran(0, "Hello\n", NOTHING), ("Hello", "stop")),
    "nothing": ([EMPTY_REPLY, HELLO], Ran(0, "Hello\n", NOTHING), ("Hello", "stop")),
    "nothing twice": ([EMPTY_REPLY] * 2, Ran(1, "", NOTHING + EMPTY.format("even when asked again")), None),
    "all tokens spent thinking, twice": (
        [SPENT] * 2, Ran(1, "", NOTHING + EMPTY.format("it used up its tokens thinking")), ("", "length"),
    ),
    "an error in the middle": (
        breaks(MIDSTREAM_ERROR), broken(f"the model server stopped: {CUDA}"), ("one two", "interrupted"),
    ),
    "no end": (breaks(NO_DONE), broken("the model stopped in the middle of its answer"), ("one two", "interrupted")),
    "cut": (breaks(CUT), broken(CUT_SAID), ("one two", "interrupted")),
    "a crash": ([CRASH, HELLO], Ran(0, "Hello\n", AGAIN), ("Hello", "stop")),
    "two crashes": (
        [CRASH] * 2,
        Ran(1, "", f"{AGAIN}agent: the model server failed: model runner has unexpectedly stopped\n"), None,
    ),
    "a call that nobody can read, twice": ([script.unparsable_call()] * 2, Ran(1, "", AGAIN + UNREADABLE), None),
    "a context that is full": ([script.context_exceeded(42947, 8192)], Ran(5, "", TOO_LONG), None),
    "a template that refuses": ([script.template_error()], Ran(1, "", REFUSED), None),
}  # fmt: skip


@pytest.mark.parametrize("name", TABLE)
def test_what_a_server_does_is_printed_and_kept(ask, program, name):
    played, printed, answer = TABLE[name]
    assert ask(*played) == printed
    asked, *more = kept(program)  # before the last answer may stand one without words
    assert (asked, more[-1:]) == (ASKED, [("assistant", *answer)] if answer else [])


def test_an_answer_arrives_however_its_lines_are_cut(ask, program):
    pieces = (bytes([byte]) for byte in script.line("✓ é") + script.line(done=True))
    assert ask(script.raw(*pieces, pause=0)) == Ran(0, "✓ é\n", "")
    assert kept(program) == [ASKED, ("assistant", "✓ é", "stop")]


def test_tool_calls_run_and_the_answer_comes_after_them(ask, program):
    calls = [("search_notes", {"query": "tea"}), ("search_notes", {"query": "milk"})]
    ran = ask(script.reply(calls=calls, calls_at="done"), script.reply("Nothing yet."))
    assert ran == Ran(0, "Nothing yet.\n", "")
    found = ("tool", "no note has these words", "stop")
    assert kept(program) == [ASKED, ("assistant", "", "stop"), found, found, ("assistant", "Nothing yet.", "stop")]
    assert program.rows("select name, arguments from tool_call order by id") == [
        ("search_notes", '{"query": "tea"}'),
        ("search_notes", '{"query": "milk"}'),
    ]


def test_a_call_in_an_answer_that_breaks_off_never_runs(ask, program):
    ran = ask(script.reply("Let me", calls=[("jot", {"text": "tea"})], then=CUT))
    assert ran == Ran(1, "Let me\n", f"agent: {CUT_SAID}; what arrived is kept\n")
    assert kept(program) == [ASKED, ("assistant", "Let me", "interrupted")]
    assert program.rows("select * from tool_call") == program.rows("select * from jotting") == []


def test_a_busy_server_is_waited_for_and_given_up(ask, program, server):
    waiting = "agent: the model server is busy; waiting for it\n"
    server.busy = 1
    assert ask(HELLO) == Ran(0, "Hello\n", waiting)
    server.queue_full = True
    said = (
        "agent: the model server is still busy: server busy, please try again. maximum pending requests "
        "exceeded; try again in a while\n"
    )
    assert ask(env={"AGENT_PATIENCE": "0.3"}) == Ran(1, "", waiting + said)


def test_a_model_without_tools_and_thinking_answers_without_and_it_is_said_once(program, server):
    program.use(server).env |= {"AGENT_MODEL": PLAIN.name, "AGENT_THINK": "on"}
    server.play(HELLO)
    said = (
        "agent: the model 'gemma:2b' has no separate thinking; asked again without it\n"
        "agent: the model 'gemma:2b' cannot use tools; asked again without them\n"
    )
    assert program("ask", "hi") == Ran(0, "Hello\n", said)


def test_a_question_too_long_for_the_context_is_said_and_never_sent(program, server):
    ran = program.use(server)("ask", "-f", "-", stdin="word " * 20_000)
    assert (ran.code, ran.out) == (5, "")
    assert ran.err.startswith("agent: the question needs about 25")
    assert ran.err.endswith("shorten it, or raise it with `agent config set num_ctx 32768`\n")
    assert server.turns == []
    assert program.rows("select length(text) from message") == [(100_000,)]


def test_a_missing_model_is_said_with_the_line_that_fetches_it(program, server):
    program.use(server).env["AGENT_MODEL"] = "nope:1b"
    said = f"the model 'nope:1b' is not on the server at {server.url}: run `agent models pull nope:1b`"
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
