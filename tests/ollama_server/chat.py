"""POST /api/chat: the checks in the server's order, then the script."""

from collections.abc import Mapping
from typing import Any

from tests.ollama_server import cache, context, contract, go, player, registry
from tests.ollama_server.exchange import JSON, Exchange
from tests.ollama_server.go import Refused
from tests.ollama_server.player import Turn
from tests.ollama_server.registry import Model
from tests.ollama_server.script import Cut, Error, Failure, Raw, Reply, Script, Silence, words
from tests.ollama_server.state import State

LEVELS = ("high", "medium", "low", "max")
_FIELDS = {
    "model": ("string", "string"),
    "messages": ("array", "[]api.Message"),
    "tools": ("array", "api.Tools"),
    "stream": ("bool", "bool"),
    "options": ("object", "map[string]interface {}"),
}
_MESSAGE_FIELDS = {
    "role": ("string", "string"),
    "content": ("string", "string"),
    "thinking": ("string", "string"),
    "tool_name": ("string", "string"),
    "tool_call_id": ("string", "string"),
    "tool_calls": ("array", "[]api.ToolCall"),
}


def chat(state: State, exchange: Exchange) -> None:
    """Answer one chat request. Raises Refused, Gone."""
    body = read(exchange.request.raw, state)
    keep_alive = keep_alive_of(body)
    model = model_of(body, state)
    messages, options = body.get("messages") or [], body.get("options") or {}
    if not messages and keep_alive == 0:
        state.scheduler.unload(model)
        exchange.json(200, _bare(body, state, "unload"))
        return
    check_abilities(body, model)
    check_options(options)
    num_ctx = exchange.request.num_ctx = state.num_ctx(model, options)
    state.note_steadiness(exchange.request, model, num_ctx)
    state.admit()
    with state.scheduler.running(model, num_ctx, keep_alive, exchange.wire) as fresh:
        if model.too_big:
            raise Refused(500, state.profile.out_of_memory)
        if not messages:
            exchange.json(200, _bare(body, state, "load"))
            return
        turn = prepare(body, model, num_ctx, fresh, exchange, state)
        if fresh:
            state.prompts.drop(model.full_name)
        state.prompts.read(model.full_name, cache.prompt(body, exchange.request.is_accepted or []), exchange)
        said = state.next_script(body)
        perform(said, turn, body.get("stream", True) is not False, exchange, state)
        state.prompts.said(model.full_name, words(said))


def read(raw: bytes, state: State) -> dict[str, Any]:
    """The body with its types checked. Raises Refused with the decoder's words."""
    body = go.decode(raw, "ChatRequest")
    _check_types(body, _FIELDS, "")
    for message in body.get("messages") or ():
        if not isinstance(message, dict):
            raise Refused(400, _wrong_type(message, "messages", "api.Message"))
        _check_types(message, _MESSAGE_FIELDS, "messages.")
        if any(isinstance(_arguments(call), str) for call in message.get("tool_calls") or ()):
            raise Refused(400, state.profile.string_arguments)
    check_think(body.get("think"))
    return body


def _check_types(value: dict[str, Any], fields: Mapping[str, tuple[str, str]], path: str) -> None:
    for name, (wanted, go_type) in fields.items():
        if value.get(name) is not None and go.kind(value[name]) != wanted:
            raise Refused(400, _wrong_type(value[name], path + name, go_type))


def _wrong_type(value: Any, path: str, go_type: str) -> str:
    return f"json: cannot unmarshal {go.kind(value)} into Go struct field ChatRequest.{path} of type {go_type}"


def _arguments(call: Any) -> Any:
    function = call.get("function") if isinstance(call, dict) else None
    return function.get("arguments") if isinstance(function, dict) else None


def check_think(think: Any) -> None:
    if think is None or isinstance(think, bool) or think in LEVELS:
        return
    if isinstance(think, str):
        raise Refused(400, f'invalid think value: "{think}" (must be "high", "medium", "low", "max", true, or false)')
    raise Refused(400, 'think must be a boolean or string ("high", "medium", "low", "max", true, or false)')


def model_of(body: dict[str, Any], state: State) -> Model:
    name = body.get("model")
    if not name:
        raise Refused(400, "model is required")
    registry.check(name)
    return state.find(name, "model '{}' not found")


def keep_alive_of(body: dict[str, Any]) -> float:
    """Seconds; five minutes when the request does not say. Raises Refused."""
    return 300.0 if body.get("keep_alive") is None else go.seconds(body["keep_alive"])


def check_abilities(body: dict[str, Any], model: Model) -> None:
    if body.get("think") and "thinking" not in model.capabilities:
        raise Refused(400, f'"{body["model"]}" does not support thinking')
    if body.get("messages") and "completion" not in model.capabilities:
        raise Refused(400, f'"{body["model"]}" does not support chat')
    if body.get("tools") and "tools" not in model.capabilities:
        raise Refused(400, f"{registry.path(body['model'])} does not support tools")


def check_options(options: dict[str, Any]) -> None:
    """Wrong types are the server's own fault, to judge by the status; unknown names pass."""
    for name, value in options.items():
        wanted = contract.OPTIONS.get(name)
        if value is None or wanted is None:
            continue
        fits = {"integer": "number", "float32": "number", "boolean": "bool"}.get(wanted, wanted) == go.kind(value)
        if not fits:
            raise Refused(500, f'option "{name}" must be of type {wanted}')
        if wanted == "array" and not all(isinstance(item, str) for item in value):
            raise Refused(500, f'option "{name}" must be of an array of strings')


def prepare(body: dict[str, Any], model: Model, num_ctx: int, fresh: bool, exchange: Exchange, state: State) -> Turn:
    """Fit the prompt into the context and say what kind of turn this is. Raises Refused."""
    messages = body["messages"]
    if model.system and messages[0].get("role") != "system":
        messages = [{"role": "system", "content": model.system}, *messages]
    tools, shift = body.get("tools"), body.get("shift", True) is not False
    mode = "generic" if model.mode == "native" and not state.profile.native else model.mode
    if body.get("truncate", True) is False:
        kept, tokens = messages, context.count(messages, tools, state.chars_per_token)
    else:
        kept, tokens = context.fit(messages, tools, num_ctx, state.chars_per_token)
    exchange.request.is_accepted = kept
    if model.strict_template:
        context.check_template(kept)
    tokens = exchange.request.prompt_tokens = context.squeeze(tokens, num_ctx, mode, shift, state.profile)
    thinks = mode == "harmony" or ("thinking" in model.capabilities and body.get("think") is not False)
    return Turn(body["model"], mode, thinks, bool(tools), tokens, budget(body, num_ctx - tokens, shift), fresh)


def budget(body: dict[str, Any], room: int, shift: bool) -> int | None:
    """How many tokens may be generated: num_predict, and without shifting what room is left."""
    wanted = int((body.get("options") or {}).get("num_predict") or -1)
    limits = [limit for limit in (wanted if wanted > 0 else None, None if shift else max(room, 1)) if limit]
    return min(limits, default=None)


def perform(script: Script, turn: Turn, stream: bool, exchange: Exchange, state: State) -> None:
    """Play a script onto the wire. Raises Refused for an error that comes first, Gone."""
    while isinstance(script, Silence):
        exchange.wire.wait(script.seconds)
        script = script.then
    if isinstance(script, Failure):
        fail(script, exchange)
    elif isinstance(script, Raw):
        send_raw(script, stream, exchange)
    elif stream:
        _stream(script, turn, exchange, state)
    else:
        _whole(script, turn, exchange, state)


def fail(failure: Failure, exchange: Exchange) -> None:
    if isinstance(failure.body, bytes):
        exchange.whole(failure.status, "text/plain; charset=utf-8" if failure.body else "", failure.body)
    else:
        exchange.json(failure.status, failure.body)


def _played(reply: Reply, turn: Turn, state: State) -> player.Played:
    with state.changed:
        return player.play(reply, turn, state.clock.stamp(), state.ids if state.profile.ids else None)


def _stream(reply: Reply, turn: Turn, exchange: Exchange, state: State) -> None:
    played = _played(reply, turn, state)
    for delay, line in played.lines:
        exchange.wire.wait(delay)
        if isinstance(line, bytes):
            exchange.chunk(line)
        else:
            exchange.line(line)
    if isinstance(played.ending, Cut):
        exchange.cut(go.encode(played.stump), played.ending.reset)
        return
    if isinstance(played.ending, Error):
        exchange.wire.wait(reply.delay)
        if not exchange.streaming:
            raise Refused(500, played.ending.error)
        exchange.line({"error": played.ending.error})
    exchange.end()


def _whole(reply: Reply, turn: Turn, exchange: Exchange, state: State) -> None:
    played = _played(reply, turn, state)
    for delay, _ in played.lines:
        exchange.wire.wait(delay)
    if isinstance(played.ending, Error):
        raise Refused(500, played.ending.error)
    answer = player.fold(played, turn.tools)
    if isinstance(played.ending, Cut):
        exchange.cut_whole(go.encode(answer), played.ending.reset)
    else:
        exchange.json(200, answer)


def send_raw(raw: Raw, stream: bool, exchange: Exchange) -> None:
    """Segments with a pause between, so that each arrives alone."""
    if not stream and not raw.whole:
        exchange.whole(200, JSON, b"".join(raw.segments))
        return
    for segment in raw.segments:
        exchange.wire.look()
        if raw.whole:
            exchange.wire.send(segment)
        else:
            exchange.chunk(segment)
        exchange.wire.wait(raw.pause)
    if isinstance(raw.ending, Cut) or raw.whole:
        exchange.hang_up(isinstance(raw.ending, Cut) and raw.ending.reset)
    else:
        exchange.end()


def _bare(body: dict[str, Any], state: State, reason: str) -> dict[str, Any]:
    """The answer to a request that only loads or unloads."""
    message = {"role": "assistant", "content": ""}
    head = {"model": body["model"], "created_at": state.clock.stamp(), "message": message}
    return head | {"done": True, "done_reason": reason}
