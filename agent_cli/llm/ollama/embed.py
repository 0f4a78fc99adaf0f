"""Embeddings from a local Ollama.

Models want to be told whether a text is a document or a question, each in its own words; Ollama adds nothing, and
without them recall suffers. One bad text fails a whole request without saying which, so a failed batch is halved until
the bad one stands alone. Texts are cut by characters first: of code or a table, a token may be one character.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from agent_cli.errors import ModelFailed
from agent_cli.llm.model import Cancel
from agent_cli.llm.ollama import address, faults, wire
from agent_cli.llm.ollama import tags as tagged
from agent_cli.llm.ollama.chat import duration
from agent_cli.values import frozen

BATCH = 32
CHARACTERS = 2000

Vector = list[float]


@frozen
class Traits:
    """What a model takes: tokens that Ollama really feeds it, and what stands before a document and a question."""

    tokens: int = 512
    document: str = ""
    query: str = ""
    similarity_floor: float = 0.3  # cosines of unrelated texts lie below


_SEARCH = ("search_document: ", "search_query: ")
_PASSAGES = "Represent this sentence for searching relevant passages: "
_INSTRUCT = "Instruct: Given a web search query, retrieve relevant passages that answer the query\nQuery:"

# From the model cards, cut to what Ollama 0.30 feeds in one batch.
TRAITS: Mapping[str, Traits] = {
    "nomic-embed-text": Traits(2048, *_SEARCH, 0.5),
    "nomic-embed-text-v2-moe": Traits(512, *_SEARCH, 0.3),
    "mxbai-embed-large": Traits(512, "", _PASSAGES, 0.5),
    "all-minilm": Traits(256),
    "embeddinggemma": Traits(2048, "title: none | text: ", "task: search result | query: "),
    "qwen3-embedding": Traits(2048, "", _INSTRUCT),
    "bge-m3": Traits(2048),
    "bge-large": Traits(512, "", _PASSAGES),
    "snowflake-arctic-embed": Traits(512, "", _PASSAGES),
    "snowflake-arctic-embed2": Traits(2048, "", "query: "),
    "granite-embedding": Traits(512),
    "paraphrase-multilingual": Traits(128),
}


def traits(model: str) -> Traits:
    """Of a model by its name, whatever its tag and its origin."""
    return TRAITS.get(model.rpartition("/")[2].partition(":")[0].lower(), Traits())


def prefixes_of(model: str) -> tuple[str, str]:
    """What to put before a document and before a question; empty for a model that is not known."""
    return traits(model).document, traits(model).query


class OllamaEmbedder:
    """Turns texts into vectors of length 1."""

    def __init__(
        self,
        host: str,
        model: str,
        *,
        num_ctx: int | None = None,
        characters: int = CHARACTERS,
        keep_alive: str | int | None = None,
    ):
        self.model = model
        self.similarity_floor = traits(model).similarity_floor
        self._address, self._host = address.parse(host), host
        self._characters = min(characters, 4 * traits(model).tokens)
        self._rest: dict[str, Any] = {"options": {"num_ctx": num_ctx}} if num_ctx else {}
        self._rest |= {"keep_alive": kept} if (kept := duration(keep_alive)) is not None else {}
        self._dimension = 0
        self._local = False

    def embed_documents(self, texts: Sequence[str], cancel: Cancel | None = None) -> list[Vector | None]:
        """A vector for each text to be found, None for one that cannot be embedded. Raises AgentError."""
        return self.embed(texts, cancel, prefixes_of(self.model)[0])

    def embed_query(self, question: str, cancel: Cancel | None = None) -> Vector | None:
        """The vector of a question, None for one that cannot be embedded. Raises AgentError."""
        return self.embed([question], cancel, prefixes_of(self.model)[1])[0]

    def embed(self, texts: Sequence[str], cancel: Cancel | None = None, prefix: str = "") -> list[Vector | None]:
        """A vector for each text, None for an empty one and for one the model fails on. Raises AgentError."""
        cancel = Cancel() if cancel is None else cancel
        vectors: list[Vector | None] = [None] * len(texts)
        filled = [index for index, text in enumerate(texts) if text.strip()]
        if filled:
            self._local = self._local or tagged.is_local(self._address, self.model, cancel)
        for start in range(0, len(filled), BATCH):
            batch = filled[start : start + BATCH]
            found = self._batch([prefix + texts[index][: self._characters] for index in batch], cancel)
            for index, vector in zip(batch, found, strict=True):
                vectors[index] = vector
        return vectors

    def dimension(self) -> int:
        """How many numbers a vector has, from the model itself. Raises AgentError."""
        if not self._dimension:
            vector = self.embed(["dimension"])[0]
            if vector is None:
                raise ModelFailed(f"the model {self.model!r} cannot embed a single word")
            self._dimension = len(vector)
        return self._dimension

    def identity(self) -> str:
        """What vectors must share to be compared: name, digest, dimension and prefixes. Raises AgentError."""
        name, prefixes = self._told()
        return f"{name} {self.dimension()} {prefixes}"

    def made(self, identity: str) -> bool:
        """Whether the model is still the one of this identity; its vectors are not asked for. Raises AgentError."""
        name, prefixes = self._told()
        return identity.startswith(f"{name} ") and identity.endswith(f" {prefixes}")

    def _told(self) -> tuple[str, str]:
        """Name and digest, and the prefixes."""
        tag = tagged.find(self.model, tagged.tags(self._host, timeout=wire.CONNECT))
        if tag is None:
            raise faults.missing(self.model, self._address.url)
        document, query = prefixes_of(self.model)
        return f"{tag.name} {tag.digest}", f"{document!r} {query!r}"

    def _batch(self, texts: list[str], cancel: Cancel) -> list[Vector | None]:
        try:
            return self._vectors(texts, cancel)
        except faults.Fault as fault:
            spoilt = fault.status == 400 or "NaN" in fault.words
            if not spoilt or fault.kind in ("missing", "no embedding", "cloud", "setting"):
                raise faults.error(fault, self.model, self._address.url) from fault
        if len(texts) == 1:
            return [None]
        half = len(texts) // 2
        return self._batch(texts[:half], cancel) + self._batch(texts[half:], cancel)

    def _vectors(self, texts: list[str], cancel: Cancel) -> list[Vector | None]:
        body: dict[str, Any] = {"model": self.model, "input": texts, "truncate": True, **self._rest}
        told = wire.fetch(self._address, "/api/embed", body, cancel=cancel)
        vectors = told.get("embeddings") if isinstance(told, dict) else None
        if not isinstance(vectors, list) or len(vectors) != len(texts) or not all(map(_is_vector, vectors)):
            raise ModelFailed(f"the model server sent no {len(texts)} vectors for {len(texts)} texts")
        return vectors


def _is_vector(value: Any) -> bool:
    return isinstance(value, list) and bool(value) and all(isinstance(number, int | float) for number in value)
