"""Errors of a model server, classified and translated into sentences.

The status says little (400 is a missing capability, a small context or a bad request), and the body may be JSON, plain
text, nothing, or JSON inside a JSON string. So each error becomes a `ServerFault` of a kind here; the model decides by
the kind what can be done, and the rest become sentences for the person.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from agent_cli import text
from agent_cli.errors import AgentError, ContextExceeded, ModelFailed, ModelMissing, ModelUnavailable
from agent_cli.llm.server.address import Address

_KINDS = (  # the first pattern found in "STATUS MESSAGE" gives the kind
    ("call", r"error parsing tool call|failed to parse JSON|invalid tool call arguments"),  # first: it quotes the call
    ("context", r"exceed.{0,40}context|context.{0,30}exceed|longer than the context|max context size"),
    ("no tools", r"does not support tools"),
    ("no thinking", r"does not support thinking"),
    ("no chat", r"does not support (chat|generate)"),
    ("no embedding", r"does not support embedding"),
    ("key", r"^401 |cloud is disabled|signin_url"),
    ("wrong path", r"^40[45] (?!.*model).*(not found|not allowed)|^3\d\d "),
    ("missing", r"^404 |invalid model name|model is required|^400 model .*not found"),
    ("host refused", r"^403 $"),
    ("busy", r"^(429|503) "),
    ("template", r"jinja|template"),
    ("memory", r"requires more system memory|out of memory"),
    ("setting", r"^500 option |^400 time: |cannot unmarshal"),
    ("crash", r"^500 |^502 |^504 "),
)
_NUMBERS = re.compile(r"\((\d+) tokens\) exceeds .*?\((\d+) tokens\)")


@dataclass(eq=False)
class ServerFault(Exception):
    """An error of the server or of the connection. Never leaves `llm`."""

    kind: str
    message: str = ""
    status: int = 200
    needed: int = 0  # tokens of the prompt, where the server gives them
    context: int = 0  # tokens of the context, where the server gives them


def from_response(status: int, body: bytes) -> ServerFault:
    """The fault of a response whose status is not 200."""
    decoded = body.decode("utf-8", "replace")
    try:
        return from_error(json.loads(decoded), status)
    except ValueError:
        return from_error(decoded, status)


def from_error(value: Any, status: int = 200) -> ServerFault:
    """The fault of an error value: text, {"error": ...}, or either of them as JSON in a string."""
    message, detail = _unwrap(value)
    numbers = _NUMBERS.search(message)
    needed, context = map(int, numbers.groups()) if numbers else (0, 0)
    line = f"{status} {message}"
    kinds = (kind for kind, pattern in _KINDS if re.search(pattern, line, re.IGNORECASE | re.DOTALL))
    needed = _count(detail.get("n_prompt_tokens")) or needed
    context = _count(detail.get("n_ctx")) or context
    return ServerFault(next(kinds, "other"), message, status, needed, context)


def _unwrap(value: Any) -> tuple[str, dict[str, Any]]:
    detail: dict[str, Any] = {}
    for _ in range(6):  # more levels than any server was seen to send
        if isinstance(value, dict):
            detail = value
            value = value.get("error", value.get("message", ""))
        elif isinstance(value, str) and value.lstrip().startswith("{"):
            try:
                value = json.loads(value)
            except ValueError:
                break
        else:
            break
    return (value if isinstance(value, str) else json.dumps(value)).strip(), detail


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def unavailable(address: Address, why: str) -> ModelUnavailable:
    kind = address.kind
    return ModelUnavailable(
        f"no model server answers at {address.url} ({why}): {kind.start}, or set {kind.setting} to where it runs",
        absent=True,
    )


def wrong_server(address: Address, message: str = "") -> ModelUnavailable:
    """What answers is not a server of the expected kind."""
    detail = f" ({text.one_line(message, 80)})" if message else ""
    kind = address.kind
    return ModelUnavailable(f"the server at {address.url} is not {kind.name}{detail}: check {kind.setting}")


def as_error(fault: ServerFault, model: str, address: Address, num_ctx: int = 0) -> AgentError:
    """The fault as an error with a sentence for the person, where that is the same for all servers."""
    message = text.one_line(fault.message, 300) or f"status {fault.status}, without a message"
    match fault.kind:
        case "context":
            return _context_exceeded(fault, num_ctx)
        case "no chat":
            return ModelMissing(f"the model {model!r} cannot chat", "choose another with --model")
        case "wrong path":
            return wrong_server(address, message)
        case "host refused":
            return ModelUnavailable(
                f"the server at {address.url} refuses requests under this host name (403): "
                f"set {address.kind.setting} to 127.0.0.1 or localhost and its port"
            )
    return ModelFailed(_failure_message(fault, model, message))


def _failure_message(fault: ServerFault, model: str, message: str) -> str:
    match fault.kind:
        case "cut":
            return "the model server closed the connection before the answer was complete; what arrived is kept"
        case "incomplete":
            return "the model stopped in the middle of its answer; what arrived is kept"
        case "unreadable":
            return f"the model server sent an answer that cannot be read ({message}); what arrived is kept"
        case "call":
            return f"the model {model!r} wrote a tool call that cannot be read: {message}"
        case "busy":
            return f"the model server is still busy: {message}; try again in a while"
        case "memory":
            return f"the model {model!r} does not fit into memory: {message}; choose a smaller one or a smaller num_ctx"
        case "setting":
            return f"the model server refuses a setting: {message}; check keep_alive and the options in the settings"
        case "template":
            return f"the template of the model {model!r} refuses the conversation: {message}"
    if fault.status == 200:
        return f"the model server stopped: {message}; what arrived is kept"
    return f"the model server failed: {message}"


def _context_exceeded(fault: ServerFault, num_ctx: int) -> ContextExceeded:
    context = fault.context or num_ctx
    if fault.needed and context:
        size = f"{fault.needed} tokens, and the model's context holds {context}"
    else:
        size = f"more than the {f'{context} ' if context else ''}tokens that the model's context holds"
    return ContextExceeded(
        f"the conversation does not fit: it has {size}; ask something shorter, begin a new session with /new, "
        "or raise num_ctx in the settings"
    )
