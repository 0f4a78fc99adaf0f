"""What is left of a prompt that is longer than the context, and what became of the rest.

The server drops whole messages from the front without a word; pairs of a call and its result
are not respected, and the person's question can be what goes.
"""

from collections.abc import Sequence
from typing import Any

from tests.ollama_server import go, script
from tests.ollama_server.go import Refused
from tests.ollama_server.profiles import Profile

Message = dict[str, Any]

TOO_LONG = (
    "the prompt is longer than the context length currently available to the model; shorten the prompt, "
    "adjust the context length in settings, or use a model with a longer context length"
)


def count(messages: Sequence[Message], tools: Any, chars_per_token: float) -> int:
    """Tokens of a prompt, by its characters."""
    chars = len(go.encode(tools).decode()) if tools else 0
    for message in messages:
        chars += sum(len(message.get(part) or "") for part in ("role", "content", "thinking"))
        chars += len(go.encode(message["tool_calls"]).decode()) if message.get("tool_calls") else 0
    return int(-(-chars // chars_per_token))


def fit(messages: list[Message], tools: Any, num_ctx: int, chars_per_token: float) -> tuple[list[Message], int]:
    """The messages kept and their tokens: system messages and the last one always, tools too."""
    for start in range(len(messages)):
        kept = [message for message in messages[:start] if message.get("role") == "system"] + messages[start:]
        tokens = count(kept, tools, chars_per_token)
        if tokens <= num_ctx:
            break
    return kept, tokens


def squeeze(tokens: int, num_ctx: int, mode: str, shift: bool, profile: Profile) -> int:
    """Tokens really read of a prompt. Raises Refused when it cannot be cut."""
    if tokens <= num_ctx:
        return tokens
    if not profile.halves:
        return num_ctx
    if mode == "native":
        failure = script.context_exceeded(tokens, num_ctx)
        raise Refused(failure.status, failure.body["error"])
    if not shift:
        raise Refused(400, TOO_LONG)
    return num_ctx - (num_ctx - 5) // 2


def check_template(messages: list[Message]) -> None:
    """What a strict Jinja template raises. Raises Refused."""
    roles = [message.get("role") for message in messages]
    if "system" in roles[1:]:
        _refuse("System message must be at the beginning.")
    if "user" not in roles:
        _refuse("No user query found in messages.")


def _refuse(message: str) -> None:
    failure = script.template_error(message)
    raise Refused(failure.status, failure.body["error"])
