"""What a client must not do, although a server would let it pass.

A real server drops, reloads or answers nonsense in these cases and says nothing; here each is a sentence in
`server.problems`.
"""

from collections.abc import Callable, Iterator
from typing import Any

from tests.ollama_server.record import Request

_WHOLE = "num_ctx num_batch num_gpu main_gpu num_thread draft_num_predict num_keep seed num_predict top_k repeat_last_n"
_FRACTIONS = "top_p min_p typical_p temperature repeat_penalty presence_penalty frequency_penalty"

OPTIONS: dict[str, tuple[str, tuple[type, ...]]] = {
    **dict.fromkeys(_WHOLE.split(), ("integer", (int, float))),
    **dict.fromkeys(_FRACTIONS.split(), ("float32", (int, float))),
    "use_mmap": ("boolean", (bool,)),
    "stop": ("array", (list,)),
}
"""The options a server knows, what it calls their types, and what is one."""


def of_request(request: Request, is_cloud: Callable[[str], bool], key: str = "") -> Iterator[str]:
    """What is wrong whatever the endpoint. To look a cloud model up is not; how else should it be told?"""
    body = request.body
    if "authorization" in request.headers and not key:
        yield "an Authorization header was sent to a local server"
    if not isinstance(body, dict):
        return
    if request.path != "/api/show" and isinstance(model := body.get("model"), str) and is_cloud(model):
        yield f"a request names the cloud model {model}"
    options = body.get("options")
    for name in options if isinstance(options, dict) else ():
        if name not in OPTIONS:
            yield f"the option {name} is unknown to the server"


def of_messages(body: dict[str, Any]) -> Iterator[str]:
    """What is wrong with a chat."""
    if body.get("stream", True) is not True:
        yield "it is not streamed"
    if body.get("truncate", True) or body.get("shift", True):
        yield "messages may be dropped in silence"
    said = [message for message in body.get("messages") or () if isinstance(message, dict)]
    if sum(message.get("role") == "system" for message in said) > 1:
        yield "there is more than one system message"
    elif any(message.get("role") == "system" for message in said[1:]):
        yield "the system message is not the first"
    if said and said[-1].get("role") == "assistant":
        yield "the last message is the assistant's"
    for name in string_arguments(said):
        yield f"the arguments of a call to {name} are a string"
    yield from _of_pairs(said)


def string_arguments(messages: Any) -> Iterator[str]:
    """The names of calls whose arguments are a string."""
    functions = (call.get("function") or {} for message in messages or () for call in _calls(message))
    return (str(each.get("name")) for each in functions if isinstance(each.get("arguments"), str))


def _of_pairs(messages: list[dict[str, Any]]) -> Iterator[str]:
    """Every call has its result, right after the message that made it; every result its call."""
    waiting: list[dict[str, Any]] = []
    for number, message in enumerate(messages, 1):
        if message.get("role") == "tool":
            found = next((call for call in waiting if _answers(message, call)), None)
            if found is None:
                yield f"message {number} is a tool result without a call before it"
            else:
                waiting.remove(found)
            continue
        if waiting:
            yield f"message {number} comes before the result of {_names(waiting)}"
        waiting = _calls(message)
    if waiting:
        yield f"there is no result of {_names(waiting)}"


def _answers(result: dict[str, Any], call: dict[str, Any]) -> bool:
    """By id where both have one, else by name where the result has one, else by order."""
    if result.get("tool_call_id") and call.get("id"):
        return bool(result["tool_call_id"] == call["id"])
    name = result.get("tool_name")
    return not name or name == (call.get("function") or {}).get("name")


def _calls(message: dict[str, Any]) -> list[dict[str, Any]]:
    calls = message.get("tool_calls")
    return [call for call in calls if isinstance(call, dict)] if isinstance(calls, list) else []


def _names(calls: list[dict[str, Any]]) -> str:
    return ", ".join(str((call.get("function") or {}).get("name")) for call in calls)
