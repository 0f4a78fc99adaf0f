from typing import Annotated, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as some

from agent_cli.errors import StoreError
from agent_cli.messages import ToolCall, ToolResult
from agent_cli.tools.registry import BUILT_IN
from agent_cli.tools.tool import ToolFailed, run, tool
from tests.tables import for_each


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


json = some.recursive(
    some.none() | some.booleans() | some.integers() | some.floats() | some.text(),
    lambda inner: some.lists(inner, max_size=3) | some.dictionaries(some.text(), inner, max_size=3),
    max_leaves=5,
)
names = some.sampled_from(["place", "days", "scale", "wind", "height", "self", "tool", ""])


@given(some.dictionaries(names, json))
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
