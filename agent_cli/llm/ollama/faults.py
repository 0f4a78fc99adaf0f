"""What went wrong at the model server, and how to say it.

Ollama's errors are words: the status tells little (400 is a missing capability, a context too small and a bad
request), the body may be JSON, plain text, nothing, or JSON inside a JSON string. So an error becomes a `Fault` of a
kind here, in one place; `OllamaModel` decides by the kind what it can do about it, and what is left becomes a sentence.
"""

import json
import re
from dataclasses import dataclass
from typing import Any

from agent_cli import text
from agent_cli.errors import AgentError, ContextExceeded, ModelFailed, ModelMissing, ModelUnavailable

_KINDS = (  # the first pattern that is found in "STATUS words" names the kind
    ("call", r"error parsing tool call|failed to parse JSON|invalid tool call arguments"),  # and quotes the call
    ("context", r"exceed.{0,40}context|context.{0,30}exceed|longer than the context|max context size"),
    ("no tools", r"does not support tools"),
    ("no thinking", r"does not support thinking"),
    ("no chat", r"does not support (chat|generate)"),
    ("no embedding", r"does not support embedding"),
    ("cloud", r"^401 |cloud is disabled|signin_url"),
    ("wrong door", r"^40[45] (?!.*model).*(not found|not allowed)|^3\d\d "),
    ("missing", r"^404 |invalid model name|model is required|^400 model .*not found"),
    ("name refused", r"^403 $"),
    ("busy", r"^503 "),
    ("template", r"jinja|template"),
    ("memory", r"requires more system memory|out of memory"),
    ("setting", r"^500 option |^400 time: |cannot unmarshal"),
    ("crash", r"^500 |^502 |^504 "),
)
_NUMBERS = re.compile(r"\((\d+) tokens\) exceeds .*?\((\d+) tokens\)")


@dataclass(eq=False)
class Fault(Exception):
    """Something the server said or did instead of answering. Never leaves this package."""

    kind: str
    words: str = ""
    status: int = 200
    needed: int = 0  # tokens of the prompt and of the context, where the server gives them
    context: int = 0


def answered(status: int, body: bytes) -> Fault:
    """The fault in an answer with a status other than 200."""
    told = body.decode("utf-8", "replace")
    try:
        return found(json.loads(told), status)
    except ValueError:
        return found(told, status)


def found(told: Any, status: int = 200) -> Fault:
    """The fault in an error: text, {"error": ...}, or either of them as JSON in a string."""
    words, detail = _unwrap(told)
    numbers = _NUMBERS.search(words)
    needed, context = map(int, numbers.groups()) if numbers else (0, 0)
    line = f"{status} {words}"
    kinds = (kind for kind, pattern in _KINDS if re.search(pattern, line, re.IGNORECASE | re.DOTALL))
    needed = _count(detail.get("n_prompt_tokens")) or needed
    context = _count(detail.get("n_ctx")) or context
    return Fault(next(kinds, "other"), words, status, needed, context)


def _unwrap(told: Any) -> tuple[str, dict[str, Any]]:
    detail: dict[str, Any] = {}
    for _ in range(6):  # more wrapping than any server was seen to do
        if isinstance(told, dict):
            detail = told
            told = told.get("error", told.get("message", ""))
        elif isinstance(told, str) and told.lstrip().startswith("{"):
            try:
                told = json.loads(told)
            except ValueError:
                break
        else:
            break
    return (told if isinstance(told, str) else json.dumps(told)).strip(), detail


def _count(value: Any) -> int:
    return value if isinstance(value, int) else 0


def is_cloud(model: str) -> bool:
    return model.lower().endswith((":cloud", "-cloud"))


def refuse_cloud(model: str) -> None:
    """Raises ModelMissing for a name that a local server would hand on to a machine elsewhere."""
    if is_cloud(model):
        raise cloud(model)


def cloud(model: str) -> ModelMissing:
    return ModelMissing(
        f"the model {model!r} runs on somebody else's machine; only models on your own server are used: "
        "choose another with --model, `agent models` lists them"
    )


def missing(model: str, url: str) -> ModelMissing:
    return ModelMissing(f"the model {model!r} is not on the server at {url}: run `ollama pull {model}`")


def unavailable(url: str, why: str) -> ModelUnavailable:
    return ModelUnavailable(
        f"no model server answers at {url} ({why}): start it with `ollama serve`, or set OLLAMA_HOST to where it runs"
    )


def not_ollama(url: str, words: str = "") -> ModelUnavailable:
    said = f" ({text.one_line(words, 80)})" if words else ""
    return ModelUnavailable(f"what answers at {url} is not Ollama{said}: check OLLAMA_HOST")


def error(fault: Fault, model: str, url: str, num_ctx: int = 0) -> AgentError:
    """The fault as a sentence for the person."""
    words = text.one_line(fault.words, 300) or f"status {fault.status}, without a word"
    match fault.kind:
        case "context":
            return _too_long(fault, num_ctx)
        case "missing":
            return missing(model, url)
        case "cloud":
            return cloud(model)
        case "no chat":
            return ModelMissing(f"the model {model!r} cannot chat: choose another with --model")
        case "no embedding":
            return ModelMissing(f"the model {model!r} cannot embed: run `ollama pull nomic-embed-text` and use that")
        case "wrong door":
            return not_ollama(url, words)
        case "name refused":
            return ModelUnavailable(
                f"the server at {url} refuses calls under this name (403): "
                "set OLLAMA_HOST to 127.0.0.1 or localhost and its port"
            )
    return ModelFailed(_broken(fault, model, words))


def _broken(fault: Fault, model: str, words: str) -> str:
    match fault.kind:
        case "cut":
            return "the model server broke the connection off before the answer was whole; what arrived is kept"
        case "undone":
            return "the model broke off in the middle of its answer; what arrived is kept"
        case "unreadable":
            return f"the model server sent what cannot be read ({words}); what arrived is kept"
        case "call":
            return f"the model {model!r} wrote a tool call that cannot be read: {words}"
        case "busy":
            return f"the model server is busy and stayed so: {words}; try again in a while"
        case "memory":
            return f"the model {model!r} does not fit into memory: {words}; choose a smaller one or a smaller num_ctx"
        case "setting":
            return f"the model server refuses a setting: {words}; check keep_alive and the options in the config"
        case "template":
            return f"the template of the model {model!r} refuses the conversation: {words}"
    if fault.status == 200:
        return f"the model server broke off: {words}; what arrived is kept"
    return f"the model server failed: {words}"


def _too_long(fault: Fault, num_ctx: int) -> ContextExceeded:
    context = fault.context or num_ctx
    if fault.needed and context:
        size = f"{fault.needed} tokens, and the model's context holds {context}"
    else:
        size = f"more than the {context or 'few'} tokens that the model's context holds"
    return ContextExceeded(
        f"the conversation does not fit: it has {size}; ask something shorter, start afresh with /new, "
        "or raise num_ctx in the config"
    )
