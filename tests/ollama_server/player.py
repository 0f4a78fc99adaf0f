"""A script and a turn become the lines that go over the wire."""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from threading import Event
from typing import Any

from tests.ollama_server import script
from tests.ollama_server.script import Call, Done, Ending, Piece, Reply

Line = dict[str, Any] | bytes


@dataclass(frozen=True)
class Turn:
    """What about a request matters to what is sent."""

    model: str
    """As the request spelled it."""
    mode: str
    thinks: bool
    tools: bool
    """Tools were offered."""
    prompt_tokens: int
    budget: int | None = None
    """Tokens that may be generated."""
    fresh: bool = False
    """The model had to be loaded for it."""


@dataclass(frozen=True)
class Played:
    """Lines with the seconds or the event before each, and how it ends; a regular end is the last line."""

    lines: tuple[tuple[float | Event, Line], ...]
    ending: Ending
    stump: dict[str, Any]
    """The line that a cut stops short of."""


def play(reply: Reply, turn: Turn, stamp: str, ids: Iterator[str] | None) -> Played:
    """Without `ids` the calls have none, as in old servers."""
    voice = Voice(turn.model, stamp, ids)
    shown, spent, over = within(tuple(_shown(reply, turn)), turn.budget)
    ending = Done("length") if over else reply.ending
    last_calls = () if over else _calls_at(reply, turn, "done")
    lines: list[tuple[float | Event, Line]] = [
        (0.0, p) if isinstance(p, bytes) else (p.after or p.delay, voice.line(p)) for p in shown
    ]
    closing = voice.line(Piece(calls=last_calls))
    if isinstance(ending, Done):
        counts = _metrics(ending, turn, spent + len(last_calls))
        lines.append((reply.delay, closing | {"done": True, "done_reason": ending.reason} | counts))
    return Played(tuple(lines), ending, closing)


def fold(played: Played, tools: bool) -> dict[str, Any]:
    """The one object of a request without streaming. Without `tools`, calls are left out."""
    lines = [line for _, line in played.lines if isinstance(line, dict)] or [played.stump]
    messages = [line["message"] for line in lines]
    said: dict[str, Any] = {"role": "assistant", "content": "".join(m["content"] for m in messages)}
    if thinking := "".join(m.get("thinking", "") for m in messages):
        said["thinking"] = thinking
    calls = [call for m in messages for call in m.get("tool_calls", ())]
    if calls and tools:
        said["tool_calls"] = calls
    return lines[-1] | {"message": said}


class Voice:
    """Writes lines, counting the calls of the turn."""

    def __init__(self, model: str, stamp: str, ids: Iterator[str] | None):
        self._head = {"model": model, "created_at": stamp}
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
        cost = 0 if isinstance(piece, bytes) else tokens(piece)
        if budget is not None and spent + cost > budget:
            left = budget - spent
            return [*kept, *_first(left, piece)], budget, True
        kept.append(piece)
        spent += cost
    return kept, spent, False


def tokens(piece: Piece) -> int:
    return len(script.in_words(piece.thinking)) + len(script.in_words(piece.content)) + len(piece.calls)


def _first(count: int, piece: Piece | bytes) -> Iterable[Piece]:
    """The first words of a piece; a call is lost when it is not whole."""
    if isinstance(piece, bytes) or not count:
        return ()
    thinking = script.in_words(piece.thinking)[:count]
    content = script.in_words(piece.content)[: count - len(thinking)]
    return (replace(piece, thinking="".join(thinking), content="".join(content), calls=()),)


def _shown(reply: Reply, turn: Turn) -> Iterator[Piece | bytes]:
    """The pieces without unwanted thinking, then the calls that stand on lines of their own."""
    for piece in reply.pieces:
        if isinstance(piece, bytes) or turn.thinks or not piece.thinking:
            yield piece
        elif piece.content or piece.calls:
            yield replace(piece, thinking="")
    for call in _calls_at(reply, turn, "line"):
        yield Piece(calls=(call,), delay=reply.delay)


def _calls_at(reply: Reply, turn: Turn, place: str) -> tuple[Call, ...]:
    by_mode = "done" if turn.mode in ("native", "harmony") else "line"
    calls = reply.calls[:1] if turn.mode == "harmony" else reply.calls
    return calls if (reply.calls_at or by_mode) == place else ()


def _metrics(done: Done, turn: Turn, spent: int) -> dict[str, int]:
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
