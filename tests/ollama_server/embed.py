"""POST /api/embed: vectors that mean something without a model.

A text is the sum of its words, each hashed to a few places of the vector, so that texts which share words are near and
a test of retrieval tests retrieval.
"""

import math
import re
import struct
from functools import lru_cache
from hashlib import blake2b

from tests.ollama_server import chat, go, registry
from tests.ollama_server.chat import Turn
from tests.ollama_server.exchange import Exchange
from tests.ollama_server.go import Refused
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
    body = go.decode(exchange.request.raw)
    name, options = body.get("model") or "", body.get("options") or {}
    registry.check(name)
    model = state.find(name, 'model "{}" not found, try pulling it first')
    texts = [body["input"]] if isinstance(body.get("input"), str) else body.get("input") or []
    if not all(isinstance(text, str) for text in texts):
        raise Refused(400, "invalid input type")
    num_ctx = state.context_for(exchange.request, model, options)
    state.admit()
    with state.scheduler.running(model, num_ctx, exchange.wire):
        exchange.wire.wait(state.embed_delay)
        if script := state.next_embed_script():
            chat.perform(script, Turn(name), exchange, state)
            return
        if not model.embeds:
            raise Refused(501, "This server does not support embeddings. Start it with `--embeddings`")
        cut = [text[: 4 * min(num_ctx, model.trained, 2048)] for text in texts]
        vectors = [_vector(text, model, state) for text in cut]
    tokens = sum(math.ceil(len(text) / 4) for text in cut)
    durations = {"total_duration": 14143917, "load_duration": 1019500, "prompt_eval_count": tokens}
    exchange.json(200, {"model": name, "embeddings": vectors} | durations)


def _vector(text: str, model: Model, state: State) -> list[float]:
    """A vector of length 1. Raises Refused for an empty text and on NaN."""
    if not text:
        raise Refused(400, "input content cannot be empty")
    kinds = zip(("document", "query"), _patterns(model.name), strict=True)
    prefix = next((kind for kind, pattern in kinds if pattern and re.match(pattern, text)), "none")
    with state.changed:
        state.embedded.append(EmbedInput(model.name, text, prefix))
    vector = state.embed(model.name, text) if state.embed else bag_of_words(model.name, text, model.embedding_length)
    if not all(map(math.isfinite, vector)):
        raise Refused(400, "embedding contains NaN or Inf values")
    norm = math.hypot(*vector)
    return [round(number / norm, 7) if number else 0.0 for number in vector]


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


def _patterns(model: str) -> tuple[str, str]:
    return PREFIXES.get(model.rsplit("/", 1)[-1].split(":")[0].lower(), ("", ""))
