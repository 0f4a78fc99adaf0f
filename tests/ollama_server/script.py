"""What a model will say, as values: a script is played in answer to one chat request.

A script does not know the request. The model's mode decides where tool calls stand, `think`
decides whether the thinking is sent, num_predict cuts the script short, and without streaming
the same script is folded into one object.
"""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from threading import Event
from typing import Any, Literal

from tests.ollama_server import go

Call = tuple[str, Any]  # a tool's name and its arguments


@dataclass(frozen=True)
class Piece:
    """One line of a stream, after so many seconds, or once an event is set."""

    content: str = ""
    thinking: str = ""
    calls: tuple[Call, ...] = ()
    delay: float = 0.0
    after: Event | None = None


@dataclass(frozen=True)
class Done:
    """The regular end. Token counts that are None are counted by the server."""

    reason: str = "stop"
    prompt_tokens: int | None = None
    tokens: int | None = None


@dataclass(frozen=True)
class Error:
    """An error line, then an orderly end without done. As the first event it has a status of its own: 500."""

    error: Any


@dataclass(frozen=True)
class NoDone:
    """An orderly end without done."""


@dataclass(frozen=True)
class Cut:
    """Part of a line, then the connection closes; or resets, which can be seen earlier."""

    reset: bool = False


Ending = Done | Error | NoDone | Cut

MIDSTREAM_ERROR = Error("an error was encountered while running the model: CUDA error")
NO_DONE = NoDone()
CUT = Cut()
RESET = Cut(reset=True)


@dataclass(frozen=True)
class Reply:
    """Lines in order; bytes among them are sent as they are. `calls` are placed by `calls_at`, or by the mode."""

    pieces: tuple[Piece | bytes, ...] = ()
    calls: tuple[Call, ...] = ()
    calls_at: Literal["line", "done"] | None = None
    delay: float = 0.0
    """Before the lines that are not pieces: calls, the end."""
    ending: Ending = Done()


@dataclass(frozen=True)
class Failure:
    """A status other than 200. A body of bytes is sent as text, anything else as JSON."""

    status: int
    body: Any


@dataclass(frozen=True)
class Raw:
    """Bytes of a body, each segment a TCP segment of its own; with `whole`, the status line is among them."""

    segments: tuple[bytes, ...]
    pause: float = 0.002
    ending: Done | Cut = Done()
    whole: bool = False


@dataclass(frozen=True)
class Silence:
    """Not a byte for so long, then something else."""

    seconds: float
    then: "Script"


Script = Reply | Failure | Raw | Silence


def reply(
    text: str = "",
    thinking: str = "",
    calls: Iterable[Call] = (),
    *,
    delay: float = 0.0,
    words: bool = True,
    calls_at: Literal["line", "done"] | None = None,
    finish: str = "stop",
    prompt_tokens: int | None = None,
    tokens: int | None = None,
    text_and_calls_on_one_line: bool = False,
    then: Ending | None = None,
) -> Reply:
    """Thinking, text and calls, in this order; `delay` seconds before every line."""
    split = in_words if words else lambda whole: [whole] if whole else []
    calls, ending = tuple(calls), then or Done(finish, prompt_tokens, tokens)
    if text_and_calls_on_one_line:
        return Reply((Piece(text, thinking, calls, delay),), delay=delay, ending=ending)
    thoughts = [Piece(thinking=part, delay=delay) for part in split(thinking)]
    spoken = [Piece(part, delay=delay) for part in split(text)]
    return Reply((*thoughts, *spoken), calls, calls_at, delay, ending)


def pieces(*lines: Piece | bytes, then: Ending | None = None) -> Reply:
    """Lines exactly as given, then the end."""
    return Reply(lines, ending=then or Done())


def held(text: str, rest: str = "", after: Event | None = None) -> Reply:
    """Words on one line, and nothing more until the event is set; without an event, until the client leaves."""
    return pieces(Piece(f"{text} "), Piece(rest, after=after or Event()))


def words(said: Script) -> str:
    """The text of a script, without thinking."""
    if isinstance(said, Silence):
        return words(said.then)
    lines = said.pieces if isinstance(said, Reply) else ()
    return "".join(line.content for line in lines if isinstance(line, Piece))


def in_words(text: str) -> list[str]:
    """The text in pieces of a word each, spaces before the word, so that joining gives the text."""
    return re.findall(r"\s*\S+\s*\Z|\s*\S+|\s+\Z", text)


def error(status: int, message: Any) -> Failure:
    """An error before the first event: a real status and a JSON body."""
    return Failure(status, {"error": message})


def error_text(status: int, text: str) -> Failure:
    """An error that is not JSON, as a proxy or a crash gives it."""
    return Failure(status, text.encode())


def midstream_error(message: Any) -> Error:
    """To be a `then`: an error line with this message, or with an object in place of one."""
    return Error(message)


def empty_after_thinking(thinking: str) -> Reply:
    """The whole budget went into thinking."""
    return Reply((Piece(thinking=thinking),), ending=Done("length"))


def unparsable_call(text: str = '{"a":') -> Failure:
    """The model wrote a tool call that the server's parser could not read."""
    return error(500, f"error parsing tool call: raw='{text}', err=unexpected end of JSON input")


def context_exceeded(tokens: int, num_ctx: int) -> Failure:
    """llama-server's own error, which Ollama passes on as a string."""
    message = f"request ({tokens} tokens) exceeds the available context size ({num_ctx} tokens), try increasing it"
    kind = {"type": "exceed_context_size_error", "n_prompt_tokens": tokens, "n_ctx": num_ctx}
    return error(400, go.encode({"error": {"code": 400, "message": message, **kind}}).decode())


def template_error(message: str = "System message must be at the beginning.") -> Failure:
    """The model's Jinja template refused the messages."""
    inner = {"code": 500, "message": f"Jinja Exception: {message}", "type": "server_error"}
    return error(500, go.encode({"error": inner}).decode())


def silence(seconds: float, then: Script) -> Silence:
    return Silence(seconds, then)


def raw(*segments: bytes, pause: float = 0.002, then: Done | Cut | None = None) -> Raw:
    """Bytes of a streamed body, whatever they are. See `line` for legal ones."""
    return Raw(segments, pause, then or Done())


def raw_http(*segments: bytes, pause: float = 0.002) -> Raw:
    """Bytes on the bare connection, status line and all; then it closes."""
    return Raw(segments, pause, whole=True)


def line(content: str = "", *, model: str = "qwen3:8b", done: bool = False, **message: Any) -> bytes:
    """A legal line, to be cut to pieces by `raw`. Further keywords go into the message."""
    said = {"role": "assistant", "content": content, **message}
    head = {"model": model, "created_at": go.STAMP, "message": said, "done": done}
    return go.encode(head | ({"done_reason": "stop"} if done else {})) + b"\n"
