"""What answers when no model does: the person's own words, found in memory.

It quotes and never composes, so nothing it says can be made up.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agent_cli import text
from agent_cli.errors import ModelUnavailable
from agent_cli.llm.model import Cancel, Chunk, Done
from agent_cli.llm.speech import spoken
from agent_cli.messages import Message

Find = Callable[[str, int], Sequence[tuple[str, str, str]]]
"""For a question and a number: at most so many memories, best first, as (handle, date in words, text)."""

QUOTES = 3
LENGTH = 400


class OfflineModel:
    """A ChatModel that answers with up to three memories and their dates. Never calls tools."""

    name = "offline"

    def __init__(self, find: Find):
        self._find = find

    def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        *,
        think: bool | str | None = None,
        format: Mapping[str, Any] | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[Chunk]:
        """Quote memories for the last question. Raises ModelUnavailable when asked for JSON, which needs a model."""
        if format is not None:
            raise ModelUnavailable("no model server answers, and this needs one: start it with `ollama serve`")
        question = asked(messages)
        found = self._find(question, QUOTES)[:QUOTES] if question else ()
        yield from spoken(_answer(found), Cancel() if cancel is None else cancel)
        yield Done(model=self.name)


def asked(messages: Sequence[Message]) -> str:
    """The person's last words, without what the program put around them."""
    return next((message.text for message in reversed(messages) if message.role == "user"), "").strip()


def _answer(found: Sequence[tuple[str, str, str]]) -> str:
    if not found:
        return "No model server answers, and nothing in memory matches your question."
    quotes = "\n".join(f"- {date} ({handle}): “{text.one_line(words, LENGTH)}”" for handle, date, words in found)
    return f"No model server answers; these are the words in memory that match your question:\n\n{quotes}"
