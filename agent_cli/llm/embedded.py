"""Embeddings without a server: wordllama's static word vectors, which come with its package.

Weak beside a real embedding model (10 points of recall), but enough to find the dentist when asked for the doctor.
"""

import threading
from collections.abc import Collection, Sequence
from functools import cache
from importlib.util import find_spec
from itertools import chain
from pathlib import Path
from typing import Any

from agent_cli import arrays

DIMENSION = 256
_MAX_WORDS = 50_000  # whose vectors are kept, in 50 MB: only pages in use take room
_WORD_START = "▁"  # what the first token of a word begins with, and no other
IDENTITY = f"embedded wordllama l2_supercat {DIMENSION}"


def is_installed() -> bool:
    return find_spec("wordllama") is not None


def made(identity: str) -> bool:
    """Whether vectors of this identity are of an embedder like this one, though perhaps of another version."""
    return identity.startswith("embedded ")


class EmbeddedEmbedder:
    similarity_floor = 0.15

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._words: tuple[_Rows, Any] = _Rows(), ()  # those met so far, and a table of their vectors

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
        filled = [text for text in texts if text]
        table, rows = self._rows_of([*words, *chain.from_iterable(filled)])
        asked, held = rows[: len(words)], rows[len(words) :]
        is_held = np.zeros(len(table), bool)  # in less than np.unique takes
        is_held[held] = True
        different = np.flatnonzero(is_held)
        cosines = (table[different] @ table[asked].T)[np.searchsorted(different, held)]
        starts = np.cumsum([0, *map(len, filled)])[:-1]
        best = iter(np.maximum.reduceat(cosines, starts, axis=0).tolist() if filled else ())
        return [next(best) if text else [0.0] * len(words) for text in texts]

    def knows_word(self, word: str) -> bool:
        """Whether its table has a word whole, as it is written: of the rest it has parts."""
        return load()[0].token_to_id(_WORD_START + word) is not None

    def _rows_of(self, words: Sequence[str]) -> tuple[Any, Any]:
        """A table of word vectors, and the row of each of these words in it."""
        np = arrays.numpy()
        with self._lock:
            known, table = self._words
            if len(known) + len(words) >= len(table):
                known, table = _Rows(), np.empty((max(_MAX_WORDS, len(words)), DIMENSION), np.float32)
            self._words = _Rows(), ()  # until all have a vector: Ctrl-C may come between
            rows = np.fromiter(map(known.__getitem__, words), int, len(words))
            if new := known.new:
                tokenizer, tokens = load()
                # As one text, they take half the time of one by one.
                encoded = tokenizer.encode_batch_fast([" ".join(new)], add_special_tokens=False)[0]
                starts = [place for place, token in enumerate(encoded.ids) if _begins_word(token)]
                counts = np.diff([*starts, len(encoded.ids)])
                table[len(known) - len(new) : len(known)] = _mean_vectors(tokens, encoded.ids, counts)
                known.new = []
            self._words = known, table
        return table, rows


class _Rows(dict[str, int]):
    """The rows of words in a table: a new word takes the next."""

    def __init__(self) -> None:
        self.new: list[str] = []

    def __missing__(self, word: str) -> int:
        self[word] = row = len(self)
        self.new.append(word)
        return row


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


@cache
def _begins_word(token: int) -> bool:
    return load()[0].id_to_token(token).startswith(_WORD_START)  # type: ignore[no-any-return]


def _mean_vectors(tokens: Any, ids: Sequence[int], counts: Any) -> Any:
    """A row for each text: the mean of its tokens' vectors, made as long as 1. `counts`: the tokens of each text."""
    np = arrays.numpy()
    filled = counts > 0
    means = np.zeros((len(counts), DIMENSION), np.float32)
    vectors, starts = tokens[ids].astype(np.float32), np.cumsum(counts) - counts
    if (longest := counts.max(initial=0)) <= len(counts):  # in a quarter of the time of reduceat, which is for few
        order = np.argsort(-counts)  # the longest first: to the first rows is added faster than to some
        for place in range(longest):
            rows = order[: np.count_nonzero(counts > place)]
            means[: len(rows)] += vectors[starts[rows] + place]
        means = means[np.argsort(order)]
    elif filled.any():
        means[filled] = np.add.reduceat(vectors, starts[filled], axis=0)
    lengths = np.sqrt(np.einsum("nd,nd->n", means, means))
    return means / np.where(lengths, lengths, 1)[:, None]
