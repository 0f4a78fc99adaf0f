"""A tool: its description and arguments, and the calls of those that the model knows by name alone."""

import json
from dataclasses import replace
from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agent_cli.agent import model_context
from agent_cli.agent.events import ToolFinished
from agent_cli.errors import StoreError
from agent_cli.memory.conversations import log
from agent_cli.memory.planner import tasks
from agent_cli.memory.skills import skills
from agent_cli.messages import ToolCall, ToolResult
from agent_cli.store import events
from agent_cli.tools.registry import BUILT_IN
from agent_cli.tools.tool import Access, ToolFailed, run, tool
from tests import turns
from tests.conftest import HERE, memory_of, noon
from tests.tables import for_each
from tests.turns import agent, calls


@tool(risk="read")
def weather(
    context,
    place: Annotated[str, "a town"],
    days: int = 1,
    scale: Literal["c", "f"] = "c",
    wind: bool = False,
    height: float | None = None,
) -> str:
    """The weather to come."""
    return f"{place} {days} {scale} {wind} {height}"


def called(tool, **arguments):
    return run(tool, ToolCall("1", tool.name, arguments), None)


def failed(text, quotes=False):
    return ToolResult(text, failed=True, broke=text.startswith("thing failed"), quotes=quotes)


TAKES = (
    "; weather takes place (string), days (integer, optional), scale (string, optional), wind (boolean, optional), "
    "height (number, optional)"
)


def test_the_model_sees_name_docstring_and_annotations():
    assert weather.schema() == {
        "name": "weather",
        "description": "The weather to come.",
        "parameters": {
            "type": "object",
            "properties": {
                "place": {"type": "string", "description": "a town"},
                "days": {"type": "integer"},
                "scale": {"type": "string", "enum": ["c", "f"]},
                "wind": {"type": "boolean"},
                "height": {"type": "number"},
            },
            "required": ["place"],
        },
    }


def test_a_call_with_its_arguments_runs():
    assert called(weather, place="Oslo") == ToolResult("Oslo 1 c False None")
    assert called(weather, place="Oslo", days=2, scale="f", wind=True, height=3) == ToolResult("Oslo 2 f True 3")


@for_each(
    ("arguments", "wrong"),
    [
        ({}, "missing: place"),
        ({"place": 7}, "of the wrong type: place"),
        ({"place": "Oslo", "days": "2"}, "of the wrong type: days"),
        ({"place": "Oslo", "days": True}, "of the wrong type: days"),
        ({"place": "Oslo", "days": 1.5, "wind": 1}, "of the wrong type: days, wind"),
        ({"place": "Oslo", "scale": "k"}, "of the wrong type: scale"),
        ({"city": "Oslo"}, "missing: place; unknown: city"),
        ({"place": None, "context": 1}, "unknown: context; of the wrong type: place"),
    ],
)
def test_wrong_arguments_are_told_with_the_right_ones(arguments, wrong):
    assert called(weather, **arguments) == failed(f"wrong arguments, {wrong}{TAKES}")


def test_a_tool_without_arguments_says_so():
    assert called(BUILT_IN["list_tasks"], zone="UTC") == failed(
        "wrong arguments, unknown: zone; list_tasks takes no arguments"
    )


def raising(error):
    @tool(risk="read")
    def thing(context) -> str:
        """Raise."""
        raise error

    return thing


def test_what_a_tool_raises_is_a_failed_result():
    assert called(raising(ToolFailed("there is no such town"))) == failed("there is no such town")
    assert called(raising(ValueError("odd"))) == failed("thing failed: ValueError: odd", quotes=True)
    assert called(raising(RecursionError("deep"))) == failed("thing failed: RecursionError: deep", quotes=True)


def test_bytes_that_are_no_text_do_not_break_the_log():
    @tool(risk="read")
    def names(context) -> str:
        """Names of files."""
        return "caf\udce9"

    assert called(names) == ToolResult("caf\ufffd")
    assert called(raising(ToolFailed("no caf\udce9"))) == failed("no caf\ufffd")


@pytest.mark.parametrize("error", [StoreError("the disk is full"), KeyboardInterrupt()])
def test_a_database_that_cannot_be_written_and_the_person_end_the_turn(error):
    with pytest.raises(type(error)):
        called(raising(error))


json_values = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=5,
)
names = some.sampled_from(["place", "days", "scale", "wind", "height", "self", "tool", ""])


@given(some.dictionaries(names, json_values))
def test_whatever_a_model_sends_is_answered_in_words(arguments):
    result = run(weather, ToolCall("1", "weather", arguments), None)
    assert isinstance(result.text, str)


# first: what is cut says where to read on
SPEAKING = "query statement when first text to path folder name title replaces min_days_ago max_days_ago max_results"


def test_every_tool_describes_itself_and_the_arguments_whose_names_do_not():
    for name, each in BUILT_IN.items():
        assert (each.name, bool(each.description)) == (name, True)
        for argument, described in each.parameters["properties"].items():
            assert argument in SPEAKING.split() or described["description"]


def through(tool, **arguments):
    return calls(("use_tool", {"tool": tool, "arguments": arguments}))


def results(shown):
    return [event.result.text for event in shown if isinstance(event, ToolFinished)]


@pytest.mark.parametrize(
    "arguments",
    [
        {"tool": "calculate", "arguments": {"sum": "6 * 7"}},
        {"tool": "calculate", "arguments": '{"sum": "6 * 7"}'},
        {"tool": "calculate", "sum": "6 * 7"},
        {"name": "calculate", "arguments": {"sum": "6 * 7"}},
        {"tool": "calculate()", "arguments": {"arguments": {"sum": "6 * 7"}}},
    ],
)
def test_a_tool_is_called_by_its_name_however_its_arguments_are_written(context, arguments):
    shown = turns.run(agent(calls(("use_tool", arguments)), "42."), context)
    assert results(shown) == ["6 * 7 = 42"]
    [call] = log.history(context.db, context.session)[1].message.calls
    assert (call.name, call.arguments) == ("calculate", {"sum": "6 * 7"})


def test_a_number_in_quotes_is_one_and_a_tool_with_a_schema_may_be_called_too(context):
    many = [("jot", {"text": f"thing {number}"}) for number in range(3)]
    read, note = through("read_jottings", first="2"), through("save_note", text="Milk")
    shown = turns.run(agent(calls(*many), read, note, "So."), context)
    assert results(shown)[3:] == ["thing 1\nthing 2\n[jottings: items 2–3 of 3]", "saved as n1"]


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        ({"tool": "rm_rf"}, "there is no tool 'rm_rf'; there are jot, read_jottings, save_note"),
        ({}, "there is no tool ''; there are jot"),
        ({"tool": "complete_task"}, "wrong arguments, missing: task; complete_task takes task (string)"),
        ({"tool": "calculate", "arguments": "6 * 7"}, "wrong arguments, missing: sum; calculate takes sum (string)"),
    ],
)
def test_a_wrong_call_is_answered_with_what_would_be_right(context, arguments, why):
    [result] = results(turns.run(agent(calls(("use_tool", arguments)), "Sorry."), context))
    assert why in result


def test_each_tool_without_a_schema_is_named_with_the_arguments_that_it_needs(context):
    [schema] = [each for each in model_context.offered_tools(agent(), context) if each["name"] == "use_tool"]
    for name in (name for name, each in BUILT_IN.items() if not each.listed):
        assert f"{name}(" in schema["description"]
    for example in ("complete_task(task: t4)", "calculate(sum: 12.5 * sqrt(2))", "draft_message(to, text)"):
        assert example in schema["description"]


def test_what_is_kept_meanwhile_leaves_the_tools_as_they_are(context):
    before = json.dumps(model_context.offered_tools(agent(), context))
    tasks.add(context.db, HERE, "call the dentist", None, noon)
    skills.add(memory_of(context.db), skills.compose("bake", "Bake bread", "1. Knead"))
    assert json.dumps(model_context.offered_tools(agent(), context)) == before
    said = [through("list_tasks"), through("read_skill", name="bake"), through("complete_task", task="t1"), "So."]
    assert results(turns.run(agent(*said), context)) == ["t1 “call the dentist”, any time", "1. Knead", "done: t1"]


def test_folders_and_feeds_come_with_schemas_only_where_the_settings_name_some(context, tmp_path):
    names = {each["name"] for each in model_context.offered_tools(agent(), context)}
    assert names == {"save_note", "propose_fact", "search_memory", "create_reminder", "use_tool"}
    assert "read_file" not in str(model_context.offered_tools(agent(), context))
    there = replace(context, access=Access((tmp_path,), {"news": "x"}))
    more = {each["name"] for each in model_context.offered_tools(agent(), there)} - names
    assert more == {"read_file", "list_files", "search_files", "fetch_feed"}


def test_rules_and_the_audit_know_the_tool_that_was_meant(context):
    said = {"to": "Anna", "text": "Come on Friday"}
    shown = turns.run(agent(through("draft_message", **said), "No.", rules={"draft_message": "deny"}), context)
    assert results(shown) == ["refused: a rule of the person's does not allow this call"]
    [ruled] = events.listing(context.db, 9, ["call"])
    assert (ruled["kind"], ruled["subject"]) == ("call refused by rule", "draft_message")
    assert context.db.value("select count(*) from note") == 0
    asked = []
    turns.run(agent(through("draft_message", **said), "So.", approve=lambda call: asked.append(call) or True), context)
    assert [(call.name, call.arguments) for call in asked] == [("draft_message", said)]


def test_the_model_sees_its_calls_again_as_it_wrote_them(context):
    arguments, note = {"tool": "calculate", "arguments": {"sum": "6 * 7"}}, {"text": "Milk"}
    talking = agent(calls(("use_tool", arguments), ("save_note", note)), "42.")
    turns.run(talking, context)
    _, _, called, *answered = talking.model.requests[-1]
    assert called.calls == (ToolCall("call_1", "use_tool", arguments), ToolCall("call_2", "save_note", note))
    assert [message.tool_name for message in answered] == ["use_tool", "save_note"]


def test_where_all_tools_have_schemas_their_calls_are_sent_as_they_are(context):
    talking = agent(calls("gone"), "So.", tools={"save_note": BUILT_IN["save_note"]})
    turns.run(talking, context)
    assert [call.name for call in talking.model.requests[-1][2].calls] == ["gone"]
