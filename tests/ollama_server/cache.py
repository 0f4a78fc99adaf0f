"""The prompt cache of a model with one slot: what two prompts have in common at their beginning is read once.

As in llama.cpp, the slot holds the tokens of the last prompt and of what was said to it. The next prompt is compared
with them, and only what differs is read, at a settable speed; who hangs up leaves behind what was read until then.
Ollama since 0.30 keeps earlier prompts in memory as well: `kept` says how many in all.
"""

import json
import time
from threading import Event
from typing import Any

from tests.ollama_server.exchange import Exchange, Gone


def prompt(body: dict[str, Any], messages: list[dict[str, Any]]) -> str:
    """The prompt as a template writes it: tools before the messages, the switch for thinking behind, no format."""
    tools = json.dumps(body.get("tools") or [], ensure_ascii=False)
    return "".join([tools, *map(_message, messages), f"<assistant>{'' if body.get('think') is not False else '<>'}"])


def _message(message: dict[str, Any]) -> str:
    said = [message.get(part) or "" for part in ("thinking", "content")]
    calls = json.dumps(message["tool_calls"], ensure_ascii=False) if message.get("tool_calls") else ""
    return "".join([f"<{message.get('role')}>", *said, calls])


def _beginning(held: str, text: str) -> int:
    """How many characters two prompts have in common at their beginning."""
    return next((n for n, (a, b) in enumerate(zip(held, text, strict=False)) if a != b), min(len(held), len(text)))


class PromptCache:
    """`tokens_a_second`: how fast a prompt is read; 0: at once. `go_on`: the next prompt is read once it is set."""

    def __init__(self) -> None:
        self._held: dict[str, list[str]] = {}  # the last first
        self.kept = 1
        self.tokens_a_second = 0.0
        self.go_on: Event | None = None

    def read(self, model: str, text: str, exchange: Exchange) -> None:
        """Read the prompt, taking so long as it needs. Raises Gone."""
        held = self._held.get(model, [])
        same = max((_beginning(each, text) for each in held), default=0)
        tokens = exchange.request.read_tokens = round((len(text) - same) / 4)
        exchange.request.held_tokens = round(same / 4)
        began = time.monotonic()
        try:
            go_on, self.go_on = self.go_on, None
            if go_on:
                exchange.wire.wait(go_on)
            if self.tokens_a_second:
                exchange.wire.wait(tokens / self.tokens_a_second)
            same = len(text)
        except Gone:
            same += round((time.monotonic() - began) * self.tokens_a_second * 4)
            raise
        finally:
            others = [each for each in held if not text.startswith(each)]
            self._held[model] = [text[:same], *others][: self.kept]

    def drop(self, model: str) -> None:
        """Forget what was held, as when the model is loaded anew."""
        self._held.pop(model, None)

    def said(self, model: str, words: str) -> None:
        """Hold what was generated too."""
        last, *others = self._held.get(model) or [""]
        self._held[model] = [last + words, *others]
