"""Replies of a model gone wrong (all of it legal), and lines that break the contract.

The first are what local models do on a bad day and a client must live with; the second a client
need only survive.
"""

import json
from typing import Any

from tests.ollama_server import script
from tests.ollama_server.script import Call, Piece, Reply


def call_as_json(name: str, arguments: dict[str, Any]) -> Reply:
    """A tool call as bare JSON in the text."""
    return script.reply(_written(name, arguments))


def call_as_tag(name: str, arguments: dict[str, Any]) -> Reply:
    return script.reply(f"<tool_call>\n{_written(name, arguments)}\n</tool_call>")


def _written(name: str, arguments: dict[str, Any]) -> str:
    return json.dumps({"name": name, "arguments": arguments})


def unknown_tool(name: str = "launch_rocket") -> Reply:
    return script.reply(calls=[(name, {})])


def same_call(call: Call, times: int) -> Reply:
    """The same call several times in one turn."""
    return script.reply(calls=[call] * times)


def all_on_one_line(text: str, thinking: str, call: Call) -> Reply:
    return script.reply(text, thinking, [call], text_and_calls_on_one_line=True)


def closing_tag_only(thinking: str, text: str) -> Reply:
    return script.reply(f"{thinking}</think>\n\n{text}")


def split_tags(thinking: str, text: str) -> Reply:
    """Think tags that are split over lines."""
    parts = ("<th", "ink>", thinking, "</", "thi", "nk>", text)
    return script.pieces(*(Piece(part) for part in parts))


def nothing() -> Reply:
    """Empty content and a regular stop."""
    return script.reply("")


def string_arguments(name: str, text: str = "{}") -> Reply:
    """Arguments that are a string in place of an object."""
    return script.reply(calls=[(name, text)])


def not_json(before: str = "a") -> Reply:
    return script.pieces(Piece(before), b"<html>502</html>\n")


def next_line(text: str = "a\u0085b") -> Reply:
    """A raw U+0085, which Go does not escape and httpx takes for the end of a line."""
    return script.reply(text, words=False)
