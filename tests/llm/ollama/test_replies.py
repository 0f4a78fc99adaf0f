import pytest

from agent_cli.llm.ollama import LineParser
from agent_cli.messages import ToolCall


@pytest.mark.parametrize("depth", [51, 400, 900])
def test_arguments_nested_without_end_are_left_out_of_a_call(depth):
    """They could be read here, and neither be kept, nor asked about, nor ever be read again."""
    nested = b'{"a":' * depth + b"1" + b"}" * depth
    line = b'{"message":{"tool_calls":[{"id":"1","function":{"name":"calculate","arguments":%s}}]}}' % nested
    assert list(LineParser("llama", [], ()).feed(line)) == [ToolCall("1", "calculate", {})]


def test_what_an_argument_holds_otherwise_is_taken():
    line = b'{"message":{"tool_calls":[{"id":"1","function":{"name":"x","arguments":{"a":[{"b":[1]}]}}}]}}'
    assert list(LineParser("llama", [], ()).feed(line)) == [ToolCall("1", "x", {"a": [{"b": [1]}]})]
