import pytest

from agent_cli.agent import model_context, policy
from agent_cli.agent.events import Noticed, QuestionLogged, TextArrived, ToolFinished, ToolStarted, TurnEnded
from agent_cli.agent.loop import CUT_OFF
from agent_cli.errors import ModelFailed
from agent_cli.llm.engine import is_small
from agent_cli.llm.model import Done, Notice, Text, Thinking
from agent_cli.llm.offline import Reply
from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption
from agent_cli.memory.proposals import MemoryContext
from agent_cli.messages import Message, ToolCall, ToolResult
from agent_cli.store import events
from agent_cli.tools.registry import BUILT_IN
from agent_cli.tools.tool import tool
from tests.conftest import HERE, NOON
from tests.turns import agent, calls, chunks, logged, run, text_of, unanswered

NOTHING = "nothing was jotted down yet"


def test_a_tools_result_goes_back_to_the_model(context):
    events = run(agent(calls("read_jottings"), "Nothing."), context, "What do you keep in mind?")
    call = ToolCall("call_1", "read_jottings", {})
    assert events[:3] == [QuestionLogged("m1"), ToolStarted(call), ToolFinished(call, ToolResult(NOTHING))]
    assert text_of(events) == "Nothing."
    assert events[-1] == TurnEnded(Message("assistant", "Nothing."), model="scripted")
    assert logged(context) == [
        ("user", "What do you keep in mind?", "stop"),
        ("assistant", "", "stop"),
        ("tool", NOTHING, "stop"),
        ("assistant", "Nothing.", "stop"),
    ]


def test_a_citation_of_what_the_model_was_not_shown_and_the_programs_marks_reach_neither_screen_nor_log(context):
    events = run(chunks([Text("Of f7 [f"), Text("12] I know [f7]."), Done()]), context, "What do you know of f7?")
    assert text_of(events) == logged(context)[-1][1] == "Of f7 I know [f7]."
    events = run(chunks([Text("⟦ Today is Mon"), Text("day. ⟧ It is."), Done()]), context)
    assert text_of(events) == logged(context)[-1][1] == " Today is Monday.  It is."


def test_a_small_model_gets_one_sentence_no_tools_no_marks_and_what_is_known_as_sentences(context):
    memory = MemoryContext(context.db, HERE, lambda: NOON)
    for statement in ("I live in Graz", "Answer me in verse"):
        adoption.add(memory, adoption.claim(statement, "typed"))
    assistant = chunks([Text("In Graz."), Done()], [Text("Rome."), Done()])
    assistant.model.name = "qwen3:0.6b"
    run(assistant, context, "Where do I live?")
    run(assistant, context, "And the Pope?")
    assert model_context.offered_tools(assistant, context) == []
    assert [(each.role, each.content) for each in assistant.model.requests[1]] == [
        ("system", "Answer the question in one short sentence, in the person's language."),
        ("user", "About me: Answer me in verse. I live in Graz.\n\nWhere do I live?"),
        ("assistant", "In Graz."),
        ("user", "And the Pope?"),
    ]
    assert [name for name in ("smollm2:135m", "gemma3:270m", "X/Qwen2.5-0.5B.gguf") if not is_small(name)] == []
    assert [name for name in ("qwen3:4b", "llama3.2:1b", "phi3.5", "qwen3:30b-a3b", "v0.1b2") if is_small(name)] == []


def test_six_rounds_and_then_words(context):
    rounds = [calls(("jot", {"text": str(number)})) for number in range(6)]
    assistant = agent(*rounds, "Enough.")
    *_, ended = run(assistant, context)
    assert ended == TurnEnded(
        Message("assistant", "Enough."), "stopped", "scripted", "6 rounds of tool calls were made"
    )
    assert len(assistant.model.requests) == 7
    assert assistant.model.requests[-1][-1].content == (
        "⟦ 6 rounds of tool calls were made. Answer now in words, with what you have; no further call will run. ⟧"
    )
    assert logged(context)[-1] == ("assistant", "Enough.", "stopped")


@pytest.mark.parametrize("last", [calls(("jot", {"text": "7"})), calls("read_jottings", say="Wait."), Reply()])
def test_a_further_call_is_not_run_and_the_turn_ends_with_a_sentence(context, last):
    rounds = [calls(("jot", {"text": str(number)})) for number in range(6)]
    events = run(agent(*rounds, last), context)
    sentence = "I stopped here: 6 rounds of tool calls were made, and no answer came of it."
    assert events[-2:] == [
        TextArrived(sentence),
        TurnEnded(Message("assistant", sentence), "refused", "scripted", "6 rounds of tool calls were made"),
    ]
    assert context.db.rows("select text from jotting") == [(str(number),) for number in range(6)]
    assert unanswered(context) == []
    assert logged(context)[-1] == ("assistant", sentence, "refused")


def test_the_third_same_call_in_a_row_does_not_run(context):
    same = calls(("jot", {"text": "again"}))
    turn = run(agent(same, same, same, "I repeat myself."), context)
    results = [event.result for event in turn if isinstance(event, ToolFinished)]
    why = "the same call of jot was made 3 times in a row"
    saved = ToolResult("kept until the session closes")
    assert results == [saved, saved, ToolResult(f"not run: {why}", failed=True)]
    assert turn[-1].stopped_by == why
    assert context.db.rows("select text from jotting") == [("again",), ("again",)]
    audited = [each["kind"] for each in events.listing(context.db, 9, ["call"])]
    assert audited == ["call allowed", "call allowed", "call stopped"]


def test_three_same_calls_in_one_reply_are_answered_too_and_so_are_those_behind(context):
    events = run(agent(calls(*["read_jottings"] * 3, ("jot", {"text": "never"})), "Stop."), context)
    failed = [event.result.failed for event in events if isinstance(event, ToolFinished)]
    assert failed == [False, False, True, True]
    assert (unanswered(context), context.db.rows("select * from jotting")) == ([], [])


@tool(risk="read")
def explode(context) -> str:
    """Break."""
    raise ZeroDivisionError("by zero")


def test_a_tool_that_raises_is_a_failed_result(context):
    events = run(agent(calls("explode"), "It broke.", tools={"explode": explode}), context)
    result = ToolResult("explode failed: ZeroDivisionError: by zero", failed=True, broke=True, quotes=True)
    assert events[2] == ToolFinished(ToolCall("call_1", "explode", {}), result)
    assert [entry.failed for entry in log.history(context.db, context.session)] == [False, False, True, False]


def test_a_tool_that_is_not_there_is_told_with_those_that_are(context):
    events = run(agent(calls("rm_rf"), "Sorry."), context)
    there = ", ".join(tool.name for tool in BUILT_IN.values() if tool.offered(context))
    assert "search_memory" in there
    assert events[2].result == ToolResult(f"there is no tool 'rm_rf'; there are {there}", failed=True)


NOTE = ("save_note", {"text": "Buy milk"})


@pytest.mark.parametrize(
    ("settings", "kind", "actor", "notes"),
    [
        ({"approve": lambda call: call == ToolCall("call_1", *NOTE)}, "call allowed", "person", 1),
        ({"approve": lambda call: False}, "call refused", "person", 0),
        ({"approve": lambda call: 1 / 0, "rules": {"save_note": "allow"}}, "call allowed by rule", "program", 1),
        ({"approve": lambda call: 1 / 0, "rules": {"save_note": "deny"}}, "call refused by rule", "program", 0),
    ],
    ids=["person allows", "person refuses", "rule allows", "rule denies"],
)
def test_what_was_ruled_is_in_the_audit_log(context, settings, kind, actor, notes):
    shown = run(agent(calls(NOTE), "Done.", **settings), context)
    [ruled] = events.listing(context.db, 9, ["call"])
    assert (ruled["kind"], ruled["actor"], ruled["subject"]) == (kind, actor, "save_note")
    assert context.db.value("select count(*) from note") == notes
    refused = ToolResult(policy.DENIED if "rule" in kind else policy.NOT_ALLOWED, failed=True, refused=True)
    saved = ToolResult("saved as n1", receipt="saved n1 “Buy milk”")
    assert shown[2] == ToolFinished(ToolCall("call_1", *NOTE), saved if notes else refused)


def test_every_action_of_a_turn_is_in_the_audit_log_and_no_word_of_it(context):
    run(agent(calls("made_up_canary", ("save_note", {"canary": 1})), "Done."), context)
    told = [(each["kind"], each["actor"], each["subject"]) for each in events.listing(context.db, 9)]
    assert told == [
        ("session started", "person", "s1"),
        ("message", "person", "m1"),
        ("reply with calls", "model", "m2"),
        ("call unknown", "program", ""),
        ("call invalid", "program", "save_note"),
        ("reply", "model", "m5"),
    ]


def test_an_empty_answer_is_asked_for_once_more_without_thinking(context):
    assistant = chunks([Thinking("Hm."), Done("length")], [Text("Yes."), Done()], think=True)
    events = run(assistant, context)
    assert events[2] == Noticed("the model answered nothing; asked again without thinking")
    assert (text_of(events), assistant.model.thinking) == ("Yes.", [True, False])
    asked = assistant.model.requests[1][-1].content
    assert (asked[:5], asked[-54:]) == ("hello", "⟦ Your answer was empty. Answer the person in words. ⟧")
    assert logged(context) == [("user", "hello", "stop"), ("assistant", "", "length"), ("assistant", "Yes.", "stop")]
    endless = run(chunks([Thinking("So it is. ")] * 500, [Text("Yes."), Done()]), context)
    assert (endless[-3], text_of(endless)) == (events[2], "Yes.")


def test_an_answer_that_stays_empty_is_the_models_failure(context):
    with pytest.raises(ModelFailed, match="chunks gave an empty answer, it used up its tokens thinking"):
        run(chunks([Done()], [Thinking("Hm."), Done("length")]), context)
    with pytest.raises(ModelFailed, match="scripted gave an empty answer, even when asked again"):
        run(agent(" ", "\n"), context)


def test_a_note_of_the_model_is_told_and_tokens_and_their_price_are_in_the_log(context):
    said = [Notice("tools were left out"), Text("Yes."), Done(model="m", tokens_in=1000, tokens_out=10)]
    assert run(chunks(said, prices={"m": (2.0, 6.0)}), context)[1] == Noticed("tools were left out")
    usage = log.history(context.db, context.session)[-1].usage
    assert (usage.model, usage.tokens_in, usage.tokens_out, usage.cost) == ("m", 1000, 10, pytest.approx(0.00206))


def test_a_reply_that_repeats_itself_is_ended_kept_and_marked(context):
    again = "I do not know what I know. "
    events = run(chunks([Text(again)] * 500), context)
    *_, ended = events
    assert (ended.finish, ended.stopped_by) == ("repetition", "the model repeated itself")
    [_, (role, words, finish)] = logged(context)
    assert (role, finish) == ("assistant", "repetition")
    assert words.split() == 3 * again.split()


def test_an_answer_that_reaches_its_limit_is_marked_for_the_person_and_the_model(context):
    events = run(chunks([Text("One, two,"), Done("length")]), context)
    assert (events[-1].finish, events[-1].stopped_by) == ("length", CUT_OFF)
    assistant = chunks([Text("Three."), Done()])
    run(assistant, context, "Go on.")
    assert assistant.model.requests[0][2].content == "One, two, ⟦ cut off here: length ⟧"
