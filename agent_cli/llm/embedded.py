"""Embeddings without a server: wordllama's static word vectors, which come with its package.

Weak beside a real embedding model (10 points of recall), but enough to find the dentist when asked for the doctor.
"""

from collections.abc import Collection, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from agent_cli import arrays

DIMENSION = 256
_WORD_START = "▁"  # what the first token of a word begins with, and no other
IDENTITY = f"embedded wordllama l2_supercat {DIMENSION}"


def is_installed() -> bool:
    return find_spec("wordllama") is not None


def made(identity: str) -> bool:
    """Whether vectors of this identity are of an embedder like this one, though perhaps of another version."""
    return identity.startswith("embedded ")


class EmbeddedEmbedder:
    similarity_floor = 0.15

    def identity(self) -> str:
        return IDENTITY

    def dimension(self) -> int:
        return DIMENSION

    def scale(self) -> tuple[float, None]:
        """The cosine below which texts are unrelated; from there on up to 1."""
        return self.similarity_floor, None

    def embed_documents(self, texts: Sequence[str]) -> list[list[float] | None]:
        """A vector for each text, None for an empty one: the mean of its tokens' vectors, made as long as 1."""
        vectors: list[list[float] | None] = [None] * len(texts)
        if filled := [index for index, text in enumerate(texts) if text.strip()]:
            tokenizer, tokens = load()
            encoded = tokenizer.encode_batch_fast([texts[index] for index in filled], add_special_tokens=False)
            counts = arrays.numpy().array([len(each.ids) for each in encoded])
            means = _mean_vectors(tokens, list(chain.from_iterable(each.ids for each in encoded)), counts)
            for index, mean in zip(filled, means.tolist(), strict=True):
                vectors[index] = mean if any(mean) else None
        return vectors

    def embed_query(self, question: str) -> list[float] | None:
        return self.embed_documents([question])[0]

    def match_words(self, words: Sequence[str], texts: Sequence[Collection[str]]) -> list[list[float]]:
        """For each text, given as its words, the greatest cosine of any of them to each of `words`."""
        np = arrays.numpy()
        if not (filled := [text for text in texts if text]):
            return [[0.0] * len(words) for _ in texts]
        held = [*chain.from_iterable(filled)]
        rows = {word: row for row, word in enumerate(dict.fromkeys((*words, *held)))}
        table = _vectors_of(list(rows))
        cosines = (table @ table[[rows[word] for word in words]].T)[np.fromiter(map(rows.__getitem__, held), int)]
        starts = np.cumsum([0, *map(len, filled)])[:-1]
        best = iter(np.maximum.reduceat(cosines, starts, axis=0).tolist())
        return [next(best) if text else [0.0] * len(words) for text in texts]

    def knows_word(self, word: str) -> bool:
        """Whether its table has a word whole, as it is written: of the rest it has parts."""
        return load()[0].token_to_id(_WORD_START + word) is not None


@cache
def load() -> tuple[Any, Any]:
    """The tokenizer and the vectors of its tokens, once in a process."""
    # Only its files are read: importing wordllama also imports requests and pydantic.
    from safetensors import safe_open
    from tokenizers import Tokenizer

    arrays.numpy()
    folder = Path(find_spec("wordllama").origin).parent  # type: ignore[union-attr,arg-type]  # see is_installed()
    tokenizer = Tokenizer.from_file(str(folder / "tokenizers" / "l2_supercat_tokenizer_config.json"))
    with safe_open(folder / "weights" / f"l2_supercat_{DIMENSION}.safetensors", framework="np") as weights:
        return tokenizer, weights.get_tensor("embedding.weight")


def _vectors_of(words: Sequence[str]) -> Any:
    """A row for each of these words."""
    tokenizer, tokens = load()
    # As one text, they take half the time of one by one.
    encoded = tokenizer.encode_batch_fast([" ".join(words)], add_special_tokens=False)[0]
    starts = [place for place, token in enumerate(encoded.ids) if _begins_word(token)]
    return _mean_vectors(tokens, encoded.ids, arrays.numpy().diff([*starts, len(encoded.ids)]))


@cache
def _begins_word(token: int) -> bool:
    return load()[0].id_to_token(token).startswith(_WORD_START)  # type: ignore[no-any-return]


def _mean_vectors(tokens: Any, ids: Sequence[int], counts: Any) -> Any:
    """A row for each text: the mean of its tokens' vectors, made as long as 1. `counts`: the tokens of each text."""
    np = arrays.numpy()
    means = np.zeros((len(counts), DIMENSION), np.float32)
    vectors, starts = tokens[ids].astype(np.float32), np.cumsum(counts) - counts
    order = np.argsort(-counts)  # the longest first: to the first rows is added faster than to some
    for place in range(counts.max(initial=0)):  # for many texts in a quarter of the time of reduceat
        rows = order[: np.count_nonzero(counts > place)]
        means[: len(rows)] += vectors[starts[rows] + place]
    means = means[np.argsort(order)]
    lengths = np.sqrt(np.einsum("nd,nd->n", means, means))
    return means / np.where(lengths, lengths, 1)[:, None]
