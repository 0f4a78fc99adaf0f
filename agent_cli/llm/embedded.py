"""Embeddings without a server: wordllama's static word vectors, which come with its package.

Weak beside a real embedding model (10 points of recall), but enough to find the dentist when asked for the doctor, at
15 microseconds a text.
"""

from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any

DIMENSION = 256
IDENTITY = f"embedded wordllama l2_supercat {DIMENSION}"


def there() -> bool:
    """Whether the extra `embedded` is installed."""
    return find_spec("wordllama") is not None


class EmbeddedEmbedder:
    """Turns texts into vectors of length 1, in this process."""

    floor = 0.15

    def __init__(self) -> None:
        self._loaded: Any = None

    def identity(self) -> str:
        return IDENTITY

    def dimension(self) -> int:
        return DIMENSION

    def embed_documents(self, texts: Sequence[str]) -> list[list[float] | None]:
        """A vector for each text, None for an empty one."""
        filled = [index for index, text in enumerate(texts) if text.strip()]
        vectors: list[list[float] | None] = [None] * len(texts)
        made = self._model().embed([texts[index] for index in filled], norm=True) if filled else ()
        for index, vector in zip(filled, made, strict=True):
            vectors[index] = vector.tolist() if vector.any() else None
        return vectors

    def embed_query(self, question: str) -> list[float] | None:
        return self.embed_documents([question])[0]

    def _model(self) -> Any:
        if self._loaded is None:
            import wordllama  # 0.15 s, with NumPy and a tokenizer: only where vectors are made

            # Its loader looks for the tokenizer beside its cache, and would ask a hub for it: both are in the package.
            folder = Path(wordllama.__file__).parent
            self._loaded = wordllama.WordLlama.load(cache_dir=folder, dim=DIMENSION, disable_download=True)
        return self._loaded
