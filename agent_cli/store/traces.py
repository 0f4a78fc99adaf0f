"""Searches the bytes of the database and of the files beside it for traces of erased text.

A deleted row can remain in a free page, in the journal or in a copy, so the files are read as they are on the disk,
without SQLite.
"""

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import BinaryIO

from agent_cli import arrays
from agent_cli.errors import StoreError

_CHUNK = 1 << 20  # bytes; larger reads gain nothing


def files(database: str, others: Iterable[str] = ()) -> list[Path]:
    """The existing files among the database and `others` (backups), each with its journals."""
    known = [Path(name + end) for name in (database, *others) if name for end in ("", "-wal", "-journal")]
    return [path for path in dict.fromkeys(known) if path.is_file()]


def litestream_folder(database: str) -> Path | None:
    """The folder of Litestream's compressed copies, which cannot be searched; None when there is none."""
    folder = Path(database).with_name(f".{Path(database).name}-litestream")
    return folder if folder.is_dir() else None


def byte_forms(text: str) -> frozenset[bytes]:
    """The bytes of a text as it may be stored: in several cases, without accents (in an index), escaped in JSON."""
    folded = text.casefold()
    plain = "".join(each for each in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(each))
    cases = {text, folded, text.upper(), text.capitalize(), text.title()}
    escaped = {json.dumps(each, ensure_ascii=way)[1:-1] for each in cases for way in (True, False)}
    variants = {*cases, *escaped, plain, unicodedata.normalize("NFC", plain)}
    return frozenset(each.encode("utf-8", "surrogatepass").lower() for each in variants if each)


def count(path: Path, wanted: Iterable[bytes]) -> dict[bytes, int]:
    """How often each piece of at least 4 bytes occurs in a file, ignoring the case of ASCII letters.

    The file is read once for all pieces, and with NumPy walked once, by their first four bytes. Raises StoreError when
    it cannot be read.
    """
    pieces = {each.lower() for each in wanted}
    try:
        numpy = arrays.numpy()
    except ImportError:  # it comes with an extra
        return _count_one_by_one(path, pieces)
    found: dict[bytes, int] = {}
    by_start: dict[bytes, list[bytes]] = {}
    for piece in pieces:
        by_start.setdefault(piece[:4], []).append(piece)
    starts = numpy.array(sorted(int.from_bytes(each, "little") for each in by_start), dtype=numpy.uint32)
    firsts, seconds = numpy.zeros(1 << 16, dtype=bool), numpy.zeros(1 << 16, dtype=bool)
    firsts[starts & 0xFFFF] = seconds[starts >> 16] = True
    overlap = max((len(piece) for pieces in by_start.values() for piece in pieces), default=1) - 1
    for before, fresh in _windows(path, overlap) if by_start else ():
        window = before + fresh
        data = numpy.frombuffer(window, dtype=numpy.uint8).astype(numpy.uint16)
        pairs = data[:-1] | data[1:] << 8
        places = numpy.flatnonzero(firsts[pairs[:-2]] & seconds[pairs[2:]])
        keys = pairs[places].astype(numpy.uint32) | pairs[places + 2].astype(numpy.uint32) << 16
        for place in places[numpy.isin(keys, starts)].tolist():
            for piece in by_start[window[place : place + 4]]:
                if place + len(piece) > len(before) and window.startswith(piece, place):
                    found[piece] = found.get(piece, 0) + 1
    return found


def _count_one_by_one(path: Path, pieces: Iterable[bytes]) -> dict[bytes, int]:
    found: Counter[bytes] = Counter()
    for before, fresh in _windows(path, max(map(len, pieces), default=1) - 1):
        window = before + fresh
        for piece in pieces:
            place = window.find(piece, max(0, len(before) - len(piece) + 1))
            while place >= 0:
                found[piece] += 1
                place = window.find(piece, place + 1)
    return dict(found)


def distinctive_length(size: int) -> int:
    """The length from which a word in lower case hardly ever occurs by chance in so many bytes.

    The lists in an index are nearly random bytes below 128, and two of these values match a letter, so n letters occur
    B / 64^n times in B bytes.
    """
    return max(4, math.ceil(math.log(max(1, 10 * size), 64)))


def free_pages(path: Path) -> tuple[int, int]:
    """(Number of free pages, number of those that are not cleared): with secure_delete the second should be 0.

    The free list: trunk pages with the number of the next one, a count and that many numbers of further free pages
    (https://www.sqlite.org/fileformat2.html#the_freelist). Trunk pages themselves are not examined.
    """
    free = not_cleared = 0
    with path.open("rb") as file:
        head = file.read(100)
        if len(head) < 100:
            return 0, 0
        size = int.from_bytes(head[16:18]) or 0
        size = 65536 if size == 1 else size
        trunk, seen = int.from_bytes(head[32:36]), set[int]()
        while trunk and trunk not in seen:
            seen.add(trunk)
            page = _page(file, size, trunk)
            listed = min(int.from_bytes(page[4:8]), size // 4 - 2)
            leaves = [int.from_bytes(page[n : n + 4]) for n in range(8, 8 + 4 * listed, 4)]
            not_cleared += sum(any(_page(file, size, leaf)) for leaf in leaves)
            free += 1 + len(leaves)
            trunk = int.from_bytes(page[:4])
    return free, not_cleared


def _page(file: BinaryIO, size: int, number: int) -> bytes:
    file.seek((number - 1) * size)
    return file.read(size)


def _windows(path: Path, overlap: int) -> Iterator[tuple[bytes, bytes]]:
    """(The end of the previous chunk, the next chunk), both in lower case."""
    before = b""
    try:
        with path.open("rb") as file:
            while fresh := file.read(_CHUNK).lower():
                yield before, fresh
                before = (before + fresh)[-overlap:] if overlap else b""
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}), so it cannot be searched") from error
