"""The model used when no server answers: it quotes the person's own words from memory.

It never composes text, so nothing it says can be made up.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from agent_cli import text
from agent_cli.errors import ModelUnavailable
from agent_cli.llm.model import Cancel, Chunk, Done
from agent_cli.llm.word_stream import stream_words
from agent_cli.messages import Message

SearchMemories = Callable[[str, int], tuple[str, Sequence[tuple[str, str, str]]]]
"""Takes a message and a limit; returns the verdict on it and memories, best first: (handle, formatted date, text).

The verdict on a question: known, maybe, nothing. On a request to remember: kept or waiting, with what it states. Empty:
nothing was searched.
"""

MAX_QUOTES = 3
MAX_QUOTE_CHARS = 400


class OfflineModel:
    """A ChatModel that answers with up to three memories and their dates. Never calls tools."""

    name = "offline"

    def __init__(self, search: SearchMemories):
        self._search = search

    def reply(
        self,
        messages: Sequence[Message],
        tools: Sequence[dict[str, Any]] = (),
        *,
        think: bool | str | None = None,
        format: Mapping[str, Any] | None = None,
        limit: int | None = None,
        cancel: Cancel | None = None,
    ) -> Iterator[Chunk]:
        """Quote memories for the last question. Raises ModelUnavailable when asked for JSON, which needs a model."""
        if format is not None:
            raise ModelUnavailable(
                "no model server answers, and this needs one: start it with `ollama serve`", absent=True
            )
        question = last_question(messages)
        verdict, found = self._search(question, MAX_QUOTES) if question else ("", ())
        yield from stream_words(_answer(verdict, found[:MAX_QUOTES]), Cancel() if cancel is None else cancel)
        yield Done(model=self.name)


def last_question(messages: Sequence[Message]) -> str:
    """The text of the person's last message, without what the program put around it."""
    return next((message.text for message in reversed(messages) if message.role == "user"), "").strip()


_INTRODUCTIONS = {
    "maybe": "perhaps these words help, but none holds most of your message",
    "kept": "this is kept",
    "waiting": "this waits for your yes",
}


def _answer(verdict: str, found: Sequence[tuple[str, str, str]]) -> str:
    if not found:
        return f"No model server answers{', and nothing in memory matches your message' if verdict else ''}."
    quotes = "\n".join(
        f"- {date} ({handle}): “{text.one_line(words, MAX_QUOTE_CHARS)}”" for handle, date, words in found
    )
    introduction = _INTRODUCTIONS.get(verdict, "these are the words in memory that match your message")
    return f"No model server answers; {introduction}:\n\n{quotes}"
