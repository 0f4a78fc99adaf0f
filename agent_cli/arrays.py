"""NumPy, imported when needed, and vectors in memory: those nearest to one are found by their bits in one pass.

A pass over 100,000 rows of 256 bits takes a millisecond, a fifth of what sqlite-vec takes to read them from its table.
"""

import os
import struct
from collections.abc import Sequence
from functools import cache, lru_cache
from importlib.util import find_spec
from typing import Any

_THREADS = "OPENBLAS_NUM_THREADS"
_BLOCK = 32_768  # rows of bits that are compared together: they fit into a processor's cache
_WORD = 8  # bytes that are compared at once
_SAMPLED = 32  # of so many rows one tells how near the nearest may be


@cache
def numpy() -> Any:
    """NumPy, imported when needed (80 ms), with one thread: in products as small as these, threads mostly wait."""
    given = os.environ.get(_THREADS)
    os.environ[_THREADS] = given or "1"
    import numpy

    if given is None:
        del os.environ[_THREADS]  # not for the programs that this one starts
    return numpy


@cache
def counts_bits() -> bool:
    """Whether NumPy is installed, in a version that counts bits (2.0)."""
    return find_spec("numpy") is not None and hasattr(numpy(), "bitwise_count")


class VectorRows:
    """Vectors of signed bytes, each with an id: as bits, and while they are not too many as bytes too.

    One thread may append while others search.
    """

    def __init__(self, dimension: int, most: int = 0):
        """`most`: up to how many rows their bytes are stored; of more rows none are."""
        self._dimension = dimension
        self._words = -(-dimension // (8 * _WORD))
        self._ids = numpy().empty(0, numpy().int64)  # ascending
        self._blocks: list[Any] = []  # the bits as a column for each word
        self._bytes = numpy().empty((0, dimension), numpy().int8)
        self._most = most
        self._count = 0  # rows; every block but the last is full

    def __len__(self) -> int:
        return self._count

    @property
    def last(self) -> int:
        """The id of the last row, or 0."""
        return int(self._ids[self._count - 1]) if self._count else 0

    def append(self, ids: Sequence[int], signed: bytes) -> None:
        """Add a row for each id, all greater than those before: a bit for each byte, set where that is above zero."""
        np = numpy()
        packed = self._packed(signed, len(ids))
        first, total = self._count, self._count + len(ids)
        # Ids behind the first ones are of an append that was cut short.
        self._ids = np.concatenate([self._ids[:first], np.array(ids, np.int64)])
        if total > self._most:
            self._bytes = np.empty((0, self._dimension), np.int8)
        else:
            if total > len(self._bytes):
                grown = np.empty((min(2 * total, self._most), self._dimension), np.int8)
                grown[:first] = self._bytes[:first]
                self._bytes = grown
            self._bytes[first:total] = np.frombuffer(signed, np.int8).reshape(len(ids), -1)
        done = 0
        while done < len(ids):
            filled = self._count % _BLOCK
            if self._count == _BLOCK * len(self._blocks):
                self._blocks.append(np.empty((self._words, _BLOCK), np.uint64))
            end = min(len(ids), done + _BLOCK - filled)
            self._blocks[-1][:, filled : filled + end - done] = packed[:, done:end]
            self._count += end - done  # last: until then nobody reads them
            done = end

    def cosines(self, signed: bytes, ids: Sequence[int]) -> dict[int, float] | None:
        """The cosine of each of these rows that there is to a vector; None when their bytes are not stored."""
        np = numpy()
        existing, wanted = self._ids[: self._count], np.array(ids, np.int64)
        stored = self._bytes  # read last: those of these rows are in it, unless they were dropped
        if not 0 < len(existing) <= len(stored):
            return None
        places = np.searchsorted(existing, wanted)
        places[places == len(existing)] = 0
        found = existing[places] == wanted
        rows, asked = stored[places[found]].astype(np.float32), np.frombuffer(signed, np.int8).astype(np.float32)
        lengths = np.sqrt(np.einsum("nd,nd->n", rows, rows) * (asked @ asked))
        cosines = (rows @ asked) / np.where(lengths, lengths, 1)
        return dict(zip(wanted[found].tolist(), cosines.tolist(), strict=True))

    def scan(self, signed: bytes, most: int) -> tuple[list[int], list[float]]:
        """The ids of the nearest rows, and their cosines; no cosines when the bytes are not stored."""
        near = self.nearest(signed, most)
        return near, list((self.cosines(signed, near) or {}).values())

    def nearest(self, signed: bytes, most: int) -> list[int]:
        """The ids of the rows, at most so many, that differ in the fewest bits from a vector."""
        np = numpy()
        if not self._count:
            return []
        distances = self._distances(self._packed(signed, 1)[:, 0])
        some = np.sort(distances[::_SAMPLED])
        bound = some[min(len(some) - 1, 2 * most // _SAMPLED)]  # of twice as many as are wanted, if these are typical
        near = np.flatnonzero(distances <= bound)
        if len(near) < most:
            near = np.arange(len(distances))
        rows = near[np.argsort(distances[near], kind="stable")[:most]]
        return list(self._ids[rows].tolist())

    def _distances(self, asked: Any) -> Any:
        """In how many bits each row differs from these."""
        np = numpy()
        distances = np.empty(self._count, np.uint16)
        for block, columns in enumerate(self._blocks):
            part = distances[block * _BLOCK : (block + 1) * _BLOCK]
            part[:] = 0
            for word, column in zip(asked, columns, strict=True):
                part += np.bitwise_count(column[: len(part)] ^ word)
        return distances

    def _packed(self, signed: bytes, rows: int) -> Any:
        """The bits of rows, as a column for each word."""
        np = numpy()
        bits = np.packbits(np.frombuffer(signed, np.int8).reshape(rows, self._dimension) > 0, axis=1)
        whole = np.zeros((rows, self._words * _WORD), np.uint8)
        whole[:, : bits.shape[1]] = bits
        return whole.view(np.uint64).T


@lru_cache(4)
def to_bytes(vector: tuple[float, ...]) -> bytes:
    """A unit vector with one signed byte for each dimension. That of a question is compared three times."""
    return struct.pack(f"{len(vector)}b", *[round(127 * x) for x in vector])


def to_bits(vector: Sequence[float]) -> bytes:
    """The sign of each dimension, the first in the lowest bit."""
    signs = "".join(["1" if x > 0 else "0" for x in reversed(vector)])
    return int(signs, 2).to_bytes(-(-len(vector) // 8), "little")
