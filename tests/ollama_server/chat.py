"""POST /api/chat, always streamed: the checks in the server's order, then the script becomes lines on the wire."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

from tests.ollama_server import cache, contract, go, registry, script
from tests.ollama_server.exchange import Exchange
from tests.ollama_server.go import Refused
from tests.ollama_server.registry import Model
from tests.ollama_server.script import Call, Cut, Done, Error, Failure, Piece, Raw, Reply, Script, Silence, words
from tests.ollama_server.state import State

TOO_LONG = (
    "the prompt is longer than the context length currently available to the model; shorten the prompt, "
    "adjust the context length in settings, or use a model with a longer context length"
)


@dataclass(frozen=True)
class Turn:
    """What about a request matters to what is sent."""

    model: str  # as the request spelled it
    native: bool = False
    thinks: bool = False
    prompt_tokens: int = 0
    budget: int | None = None  # tokens that may be generated
    fresh: bool = False  # the model had to be loaded for it


def chat(state: State, exchange: Exchange) -> None:
    """Answer one chat request. Raises Refused, Gone."""
    body = go.decode(exchange.request.raw)
    name = body.get("model") or ""
    registry.check(name)
    if any(contract.string_arguments(body.get("messages"))):
        raise Refused(400, "Value looks like object, but can't find closing '}' symbol")
    model, options = state.find(name, "model '{}' not found"), body.get("options") or {}
    check_abilities(body, model)
    check_options(options)
    num_ctx = state.context_for(exchange.request, model, options)
    state.admit()
    with state.scheduler.running(model, num_ctx, exchange.wire) as fresh:
        if model.too_big:
            raise Refused(500, state.profile.out_of_memory)
        turn = _turn(body, model, num_ctx, fresh, exchange, state)
        if fresh:
            state.prompts.drop(model.full_name)
        state.prompts.read(model.full_name, cache.prompt(body, body["messages"]), exchange)
        said = state.next_script(body)
        perform(said, turn, exchange, state)
        state.prompts.said(model.full_name, words(said))


def check_abilities(body: dict[str, Any], model: Model) -> None:
    if body.get("think") and "thinking" not in model.capabilities:
        raise Refused(400, f'"{body["model"]}" does not support thinking')
    if "completion" not in model.capabilities:
        raise Refused(400, f'"{body["model"]}" does not support chat')
    if body.get("tools") and "tools" not in model.capabilities:
        raise Refused(400, f"{registry.path(body['model'])} does not support tools")


def check_options(options: dict[str, Any]) -> None:
    """Wrong types are the server's own fault, to judge by the status; unknown names pass."""
    for name, value in options.items():
        kind, wanted = contract.OPTIONS.get(name, ("", (object,)))
        if not isinstance(value, wanted) or (isinstance(value, bool) and kind not in ("", "boolean")):
            raise Refused(500, f'option "{name}" must be of type {kind}')


def _turn(body: dict[str, Any], model: Model, num_ctx: int, fresh: bool, exchange: Exchange, state: State) -> Turn:
    """What kind of turn it is. Raises Refused for a prompt that does not fit: it is never cut."""
    native = model.mode == "native"
    tokens = exchange.request.prompt_tokens = count_tokens(body["messages"], body.get("tools"))
    if tokens > num_ctx:
        failure = script.context_exceeded(tokens, num_ctx) if native else script.error(400, TOO_LONG)
        raise Refused(failure.status, failure.body["error"])
    wanted = (body.get("options") or {}).get("num_predict") or -1
    room = max(num_ctx - tokens, 1)
    thinks = "thinking" in model.capabilities and body.get("think") is not False
    return Turn(body["model"], native, thinks, tokens, min(wanted, room) if wanted > 0 else room, fresh)


def count_tokens(messages: Sequence[dict[str, Any]], tools: Any) -> int:
    """Tokens of a prompt, by its characters."""
    chars = len(go.encode(tools).decode()) if tools else 0
    for message in messages:
        chars += sum(len(message.get(part) or "") for part in ("role", "content", "thinking"))
        chars += len(go.encode(message["tool_calls"]).decode()) if message.get("tool_calls") else 0
    return -(-chars // 4)


def perform(said: Script, turn: Turn, exchange: Exchange, state: State) -> None:
    """Play a script onto the wire. Raises Refused for an error that comes first, Gone."""
    while isinstance(said, Silence):
        exchange.wire.wait(said.seconds)
        said = said.then
    if isinstance(said, Failure):
        if isinstance(said.body, bytes):
            exchange.whole(said.status, "text/plain; charset=utf-8" if said.body else "", said.body)
        else:
            exchange.json(said.status, said.body)
    elif isinstance(said, Raw):
        _send_raw(said, exchange)
    else:
        _stream(said, turn, exchange, state)


def _send_raw(raw: Raw, exchange: Exchange) -> None:
    """Segments with a pause between, so that each arrives alone."""
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


def _stream(reply: Reply, turn: Turn, exchange: Exchange, state: State) -> None:
    voice = Voice(turn.model, state.ids if state.profile.ids else None)
    shown, spent, over = within(tuple(_shown(reply, turn)), turn.budget)
    with state.changed:  # the ids of calls are counted
        lines = [each if isinstance(each, bytes) else voice.line(each) for each in shown]
        last_calls = reply.calls if _calls_come_last(reply, turn) and not over else ()
        closing = voice.line(Piece(calls=last_calls))
    for piece, line in zip(shown, lines, strict=True):
        wait: float | Event = 0.0 if isinstance(piece, bytes) else piece.after or piece.delay
        exchange.wire.wait(wait)
        if isinstance(line, bytes):
            exchange.chunk(line)
        else:
            exchange.line(line)
    ending = Done("length") if over else reply.ending
    if isinstance(ending, Cut):
        exchange.cut(go.encode(closing), ending.reset)
        return
    exchange.wire.wait(reply.delay)
    if isinstance(ending, Error):
        if not exchange.streaming:
            raise Refused(500, ending.error)
        exchange.line({"error": ending.error})
    if isinstance(ending, Done):
        counts = _counts(ending, turn, spent + len(last_calls))
        exchange.line(closing | {"done": True, "done_reason": ending.reason} | counts)
    exchange.end()


class Voice:
    """Writes lines, counting the calls of the turn. Without `ids` the calls have none, as in old servers."""

    def __init__(self, model: str, ids: Iterator[str] | None):
        self._head = {"model": model, "created_at": go.STAMP}
        self._ids = ids
        self._index = 0

    def line(self, piece: Piece) -> dict[str, Any]:
        message: dict[str, Any] = {"role": "assistant", "content": piece.content}
        if piece.thinking:
            message["thinking"] = piece.thinking
        if piece.calls:
            message["tool_calls"] = [self._call(call) for call in piece.calls]
        return self._head | {"message": message, "done": False}

    def _call(self, call: Call) -> dict[str, Any]:
        name, arguments = call
        function = {"index": self._index, "name": name, "arguments": {} if arguments is None else arguments}
        self._index += 1
        return ({"id": next(self._ids)} if self._ids else {}) | {"function": function}


def within(pieces: tuple[Piece | bytes, ...], budget: int | None) -> tuple[list[Piece | bytes], int, bool]:
    """The pieces that fit, the tokens they are, and whether any were left out. A word or a call is a token."""
    kept: list[Piece | bytes] = []
    spent = 0
    for piece in pieces:
        if isinstance(piece, bytes):
            kept.append(piece)
            continue
        thinking, content = script.in_words(piece.thinking), script.in_words(piece.content)
        cost = len(thinking) + len(content) + len(piece.calls)
        if budget is not None and spent + cost > budget:
            left = budget - spent  # a call is lost when it is not whole
            first = replace(
                piece,
                thinking="".join(thinking[:left]),
                content="".join(content[: max(0, left - len(thinking))]),
                calls=(),
            )
            return [*kept, *([first] if left else [])], budget, True
        kept.append(piece)
        spent += cost
    return kept, spent, False


def _shown(reply: Reply, turn: Turn) -> Iterator[Piece | bytes]:
    """The pieces without unwanted thinking, then the calls that stand on lines of their own."""
    for piece in reply.pieces:
        if isinstance(piece, bytes) or turn.thinks or not piece.thinking:
            yield piece
        elif piece.content or piece.calls:
            yield replace(piece, thinking="")
    for call in () if _calls_come_last(reply, turn) else reply.calls:
        yield Piece(calls=(call,), delay=reply.delay)


def _calls_come_last(reply: Reply, turn: Turn) -> bool:
    return (reply.calls_at or ("done" if turn.native else "line")) == "done"


def _counts(done: Done, turn: Turn, spent: int) -> dict[str, int]:
    """Counters and nanoseconds; what is 0 is left out, as omitempty does."""
    counts = {
        "total_duration": 910000000,
        "load_duration": 50000000 if turn.fresh else 1334875,
        "prompt_eval_count": turn.prompt_tokens if done.prompt_tokens is None else done.prompt_tokens,
        "prompt_eval_duration": 130000000,
        "eval_count": spent if done.tokens is None else done.tokens,
        "eval_duration": 240000000,
    }
    return {name: count for name, count in counts.items() if count}
