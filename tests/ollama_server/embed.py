"""POST /api/embed: vectors that mean something without a model.

A text is the sum of its words, each hashed to a few places of the vector, so that texts which
share words are near and a test of retrieval tests retrieval. Numbers are rounded to what a
float32 can hold and written in as few digits as bring it back, as Go does.
"""

import math
import re
import struct
from functools import lru_cache
from hashlib import blake2b
from typing import Any

from tests.ollama_server import chat, go, registry
from tests.ollama_server.exchange import Exchange
from tests.ollama_server.go import Refused
from tests.ollama_server.player import Turn
from tests.ollama_server.record import EmbedInput
from tests.ollama_server.registry import Model
from tests.ollama_server.state import State

_NOMIC = ("search_document: ", "search_query: ")
_MXBAI = ("", "Represent this sentence for searching relevant passages: ")
PREFIXES = {
    "nomic-embed-text": _NOMIC,
    "nomic-embed-text-v2-moe": _NOMIC,
    "mxbai-embed-large": _MXBAI,
    "bge-large": _MXBAI,
    "snowflake-arctic-embed": _MXBAI,
    "snowflake-arctic-embed2": ("", "query: "),
    "embeddinggemma": (r"title: [^|]* \| text: ", r"task: [^|]* \| query: "),
    "qwen3-embedding": ("", r"Instruct: [^\n]*\nQuery:"),
}
"""Patterns of what a caller must put before a document and before a query; a server adds neither."""


def embed(state: State, exchange: Exchange) -> None:
    """Answer /api/embed. Raises Refused, Gone."""
    body = go.decode(exchange.request.raw, "EmbedRequest")
    keep_alive = chat.keep_alive_of(body)
    model, options = _model(body, state), body.get("options") or {}
    texts = _texts(body.get("input"))
    chat.check_options(options)
    num_ctx = exchange.request.num_ctx = state.num_ctx(model, options)
    state.note_steadiness(exchange.request, model, num_ctx)
    state.admit()
    with state.scheduler.running(model, num_ctx, keep_alive, exchange.wire):
        exchange.wire.wait(state.embed_delay)
        if script := state.next_embed_script():
            chat.perform(script, Turn(body["model"], model.mode, False, False, 0), False, exchange, state)
            return
        if not model.embeds:
            raise Refused(501, "This server does not support embeddings. Start it with `--embeddings`")
        if not texts:
            exchange.json(200, {"model": body["model"], "embeddings": []})
            return
        limit = min(num_ctx, model.trained, 2048)
        cut = [_within(text, limit, body.get("truncate", True), state) for text in texts]
        vectors = [_vector(text, model, body.get("dimensions") or 0, state) for text in cut]
    tokens = sum(_tokens(text, state) for text in cut)
    durations = {"total_duration": 14143917, "load_duration": 1019500, "prompt_eval_count": tokens}
    exchange.json(200, {"model": body["model"], "embeddings": vectors} | durations)


def embeddings(state: State, exchange: Exchange) -> None:
    """Answer the legacy /api/embeddings: one prompt, one vector."""
    body = go.decode(exchange.request.raw, "EmbeddingRequest")
    model = _model(body, state)
    state.admit()
    with state.scheduler.running(model, state.num_ctx(model, {}), 300.0, exchange.wire):
        exchange.json(200, {"embedding": _vector(body["prompt"], model, 0, state) if body.get("prompt") else []})


def prefix_of(model: str, text: str) -> str:
    """Which prefix of the model a text has: "document", "query" or "none"."""
    for kind, pattern in zip(("document", "query"), _patterns(model), strict=True):
        if pattern and re.match(pattern, text):
            return kind
    return "none"


def bag_of_words(model: str, text: str, length: int) -> list[float]:
    """The text's words, hashed; a prefix is an instruction and does not count."""
    for pattern in filter(None, _patterns(model)):
        text = re.sub(rf"\A{pattern}", "", text)
    vector = [0.0] * length
    for word in re.findall(r"\w+", text.casefold()) or [text]:
        for place, sign in _places(model, word, length):
            vector[place] += sign
    return vector if any(vector) else [1.0, *vector[1:]]


@lru_cache(maxsize=1 << 16)
def _places(model: str, word: str, length: int) -> list[tuple[int, float]]:
    digest = blake2b(f"{model}\0{word}".encode("utf-8", "replace"), digest_size=16).digest()
    return [(number // 2 % length, 1.0 if number % 2 else -1.0) for number in struct.unpack("<4I", digest)]


def normalised(vector: list[float], dimensions: int = 0) -> list[float]:
    """The vector, or its first numbers, with length 1, in float32. Raises Refused on NaN."""
    if not all(map(math.isfinite, vector)):
        raise Refused(400, "embedding contains NaN or Inf values")
    vector = vector[: dimensions or None]
    norm = math.hypot(*vector)
    return [float32(number / norm) if number else 0.0 for number in vector]


@lru_cache(maxsize=1 << 16)
def float32(number: float) -> float:
    """The float with the fewest digits that is the same number in single precision."""
    single = struct.unpack("f", struct.pack("f", number))[0]
    for digits in range(6, 9):
        short = float(f"{single:.{digits}g}")
        if struct.pack("f", short) == struct.pack("f", single):
            return short
    return float(f"{single:.9g}")


def _model(body: dict[str, Any], state: State) -> Model:
    name = body.get("model") or ""
    if not name:
        raise Refused(400, "model is required")
    registry.check(name)
    return state.find(name, 'model "{}" not found, try pulling it first')


def _texts(given: Any) -> list[str]:
    if given is None or given == "":
        return []
    texts = [given] if isinstance(given, str) else given
    if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
        raise Refused(400, "invalid input type")
    return texts


def _within(text: str, limit: int, truncate: bool | None, state: State) -> str:
    """As much of the text as the model reads. Raises Refused."""
    if not text:
        raise Refused(400, "input content cannot be empty")
    if _tokens(text, state) <= limit:
        return text
    if truncate is False:
        raise Refused(400, state.profile.embed_too_long)
    return text[: int(limit * state.chars_per_token)]


def _tokens(text: str, state: State) -> int:
    return math.ceil(len(text) / state.chars_per_token)


def _vector(text: str, model: Model, dimensions: int, state: State) -> list[float]:
    with state.changed:
        state.embedded.append(EmbedInput(model.name, text, prefix_of(model.name, text)))
    if state.embed:
        return normalised(state.embed(model.name, text), dimensions)
    return normalised(bag_of_words(model.name, text, model.embedding_length), dimensions)


def _patterns(model: str) -> tuple[str, str]:
    return PREFIXES.get(model.rsplit("/", 1)[-1].split(":")[0].lower(), ("", ""))
