"""The erasure receipt: the database files and known backups are searched byte by byte for erased text, which can remain
in a free page, in the journal or in a copy. Freed blocks of the disk, swap and unknown copies are out of reach. Of a
sealed file the decrypted pages are searched; its journal is not, so it is empty by then or counts as left.

When something is left, the check can be repeated. For this only hashes of the words are stored, while the words stand
in the clear there anyway; their key lies apart from the database (keyed_hash.py). Parts of words, freed pages of a
backup and compressed indexes cannot be compared with a hash: for these the person names the words again.
"""

import json
import math
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, field
from functools import partial
from pathlib import Path
from typing import Any

from agent_cli import arrays, clock, text
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.forgetting import forget, occurrences
from agent_cli.memory.forgetting.forget import ErasurePlan
from agent_cli.memory.language import keywords
from agent_cli.memory.language.keywords import NO_KEYWORDS, KeywordMatcher, Keywords, SearchTerms
from agent_cli.memory.planner import schedules
from agent_cli.memory.search import word_tables
from agent_cli.store import backup, file, keyed_hash, meta
from agent_cli.store.db import Database, FileBytes
from agent_cli.values import frozen

_WORK = 40_000_000_000  # bytes × search terms: about twenty seconds
_MOST_KEPT = 50  # words of a session, a file or a time span whose hashes are kept
_NAMED = 8  # places that are named
_LEAST = 64  # search terms, in a file of any size
_STORED = "words to look for"  # in meta: their hashes
_HASHED = "the words of the last erasure (kept only as hashes)"
OUTSIDE = "copies elsewhere, swap and freed blocks of the disk cannot be searched"


@frozen
class Sought:
    """What is searched for. `quoting`: erased lines that other rows contain, and the handles of these rows."""

    terms: SearchTerms = SearchTerms()
    keywords: Keywords = NO_KEYWORDS
    quoting: Mapping[str, list[str]] = field(default_factory=dict)
    files: Sequence[Path] = ()  # that the program wrote or left beside the database
    hashed: "HashMatcher | None" = None  # the words of the last erasure, instead of terms and keywords

    @property
    def words(self) -> str:
        return _HASHED if self.hashed else self.keywords.shown


@frozen
class Receipt:
    """What was found."""

    traces: int
    pieces: int  # search terms
    bytes_read: int
    held_up: bool = False  # the journal cannot be emptied because another process reads the database
    backups: Mapping[str, int] = field(default_factory=dict)  # traces by file
    rows: Sequence[str] = ()  # handles of other rows that contain an erased line or a word
    free_pages_not_empty: int = 0
    replica: str = ""  # the folder of Litestream, which copies every change and also blocks emptying the journal
    words: str = ""  # the words that the rows were searched for
    named: Sequence[str] = ()  # what else has them, as in "the folder of n3"

    @property
    def left(self) -> list[str]:
        """Each place that still has something of it."""
        return [
            *self.rows,
            *self.named,
            *(f"the backup {path}" for path in self.backups),
            *(["the journal"] if self.held_up else []),
            *(["the database file"] if not self.held_up and (self.traces or self.free_pages_not_empty) else []),
            *(["the copy of Litestream"] if self.replica else []),
        ]

    @property
    def clean(self) -> bool:
        return not self.left

    def described(self) -> dict[str, Any]:
        return {**asdict(self), "clean": self.clean}

    def sentence(self) -> str:
        """What was searched for, and where it is left: `Searched the file for 13 words and lines: 2 left (d2, d13)`."""
        sought = text.counted(self.pieces, "word or line", "words and lines") if self.pieces else self.words
        searched = f"the file for {sought}" if sought else "the journal and the free pages of the file"
        places = f" ({text.listed(self.left, _NAMED)})" if self.left else ""
        return f"Searched {searched}: {len(self.left)} left{places}"

    def details(self) -> list[str]:
        words = [f"words searched for: {self.words}"] if self.words and self.pieces else []
        return [*words, f"{text.format_size(self.bytes_read)} read; {OUTSIDE}"]

    def remedies(self) -> list[str]:
        found, ways = text.counted(self.traces, "trace"), list[str]()
        if self.held_up:
            ways.append(
                f"another process is reading the database, so the journal cannot be emptied ({found}): "
                "`agent forget` and each start of the program finish this once it has ended"
            )
        elif self.traces:
            ways.append(f"{found} in the database: `agent db compact` rewrites the file, once the disk has room")
        if self.free_pages_not_empty and not self.held_up:
            pages = f"{self.free_pages_not_empty} free pages still hold content"
            ways.append(f"{pages}: `agent db compact` rewrites the file")
        for path, many in self.backups.items():
            ways.append(f"{text.counted(many, 'trace')} in the backup {path}: delete it, or make a new one")
        if self.replica:
            ways.append(
                f"Litestream keeps what was said in {self.replica} and in its replica: stop it, delete both, run "
                "`agent forget`, then start it again"
            )
        if self.rows:
            ways.append(f"the same words stand in {', '.join(self.rows)}: `agent forget {' '.join(self.rows)}`")
        if self.named:
            ways.append(f"a searched word stands in {text.listed(self.named, _NAMED)}, which is not erased")
        return ways


def write(db: Database, sought: Sought, held_up: bool) -> Receipt:
    wanted, named_words = sought.terms, sought.keywords
    matcher = sought.hashed or KeywordMatcher(named_words, db.tokens_of)
    looks = bool(sought.hashed or named_words)
    remaining, named = occurrences.remaining_rows_with(db, matcher) if looks else ([], [])
    named += occurrences.in_files(matcher, sought.files) if looks else []
    quoting = [handle for handles in sought.quoting.values() for handle in handles]
    rows = list(dict.fromkeys([*quoting, *remaining]))
    if db.path == ":memory:":
        return Receipt(0, 0, 0, rows=rows, words=sought.words, named=named)
    database_files = files_of(db.path)
    known = [each for each in file.known_copies(db) if Path(each) != Path(db.path)]
    killed = (str(each) for path in (db.path, *known) for each in file.leftovers(Path(path)))
    copies = files_of("", [*known, *killed])
    replica = Path(db.path).with_name(f".{Path(db.path).name}-litestream")
    size = sum(path.stat().st_size for path in [*database_files, *copies])
    wanted = SearchTerms(wanted.lines, wanted.words.union(() if named_words.together else named_words.words))
    pieces = _search_terms(wanted, size)
    forms = {form: piece for piece in pieces for form in byte_forms(piece) if len(form) >= 4}
    found = sum((Counter(count(path, forms)) for path in database_files if forms), Counter[bytes]())
    elsewhere = occurrences.found_in_rows(db, {forms[form] for form in found}) if found else set[str]()
    if sought.hashed:
        in_copies = {path: _in_backup(path, sought.hashed) for path in copies}
    else:
        in_copies = {path: sum(count(path, forms).values()) for path in copies if forms}
    return Receipt(
        sum(many for form, many in found.items() if forms[form] not in elsewhere),
        len(pieces),
        size,
        held_up,
        {str(path): many for path, many in in_copies.items() if many},
        rows,
        uncleared_pages(database_files[0]) if database_files and not held_up else 0,
        str(replica) if replica.is_dir() else "",
        sought.words,
        [*named, *occurrences.names_with(db, elsewhere & wanted.words - {*named_words.words})],
    )


def erase(db: Database, plan: ErasurePlan, time: clock.Clock, drafts: Sequence[Path] = ()) -> Receipt:
    """Delete what was planned, empty the journal and search the files, the editor's drafts too. Raises AgentError."""
    files = [*schedules.outputs(db), *drafts]
    forget.erase(db, plan, time)
    receipt = check(db, time, Sought(plan.wanted, plan.keywords, plan.verbatim_copies.quoting, files))
    words = plan.keywords.words or sorted(plan.wanted.words, key=len, reverse=True)[:_MOST_KEPT]
    if receipt.clean or not words:
        meta.drop(db, _STORED)
        return receipt
    forms = [sorted({word, *stems}) for word, stems in zip(words, db.tokens_of(words), strict=True)]
    hashes = [keyed_hash.digests(db, each) for each in forms]
    meta.put(db, _STORED, json.dumps({"words": hashes, "together": plan.keywords.together}))
    return receipt


def resume(db: Database, time: clock.Clock, words: str = "", *, finished: bool = False) -> Receipt | None:
    """Finish an earlier erasure, `finished` a moment ago perhaps, and search for these words; None: none is pending."""
    if not (finished or forget.is_pending(db)):
        return None
    terms = SearchTerms(frozenset(keywords.line_ends([words])), frozenset(keywords.distinctive_words([words])))
    return check(db, time, Sought(terms))


def check(db: Database, time: clock.Clock, sought: Sought) -> Receipt:
    """Empty the journal and search the files; where something is left, rewrite the indexes, then the whole file:
    SQLite leaves a copy of a moved row in the unused part of a page, also with secure_delete."""
    receipt = write(db, sought, not forget.empty_journal(db, time))
    ways = (partial(word_tables.rewrite, db, "optimize"), partial(word_tables.rewrite, db, "rebuild"))
    for rewrite in (*ways, partial(backup.compact, db)):
        if receipt.traces and not receipt.held_up:
            with suppress(StoreError):  # no room for a copy of the file: what is left is told, and what removes it
                rewrite()
            receipt = write(db, sought, not forget.empty_journal(db, time))
    return receipt


def _search_terms(wanted: SearchTerms, size: int) -> list[str]:
    """Words too long to occur by chance, and lines without such a word; the longest, as many as a few seconds allow."""
    least = distinctive_length(size)
    words = [word for word in wanted.words if len(word) >= least]
    single, lines = set(words), [line for line in wanted.lines if len(line) >= keywords.MIN_LINE]
    lines = [line for line in lines if single.isdisjoint(keywords.distinctive_words([line]))]
    chosen = sorted(words, key=len, reverse=True) + sorted(lines, key=len, reverse=True)
    return chosen[: max(_LEAST, _WORK // max(1, size))]


class HashMatcher(KeywordMatcher):
    """Finds words of which only the hashes are known; a found word is named by its number."""

    def __init__(self, db: Database, stored: str):
        words = json.loads(stored)
        numbers = tuple(map(str, range(len(words["words"]))))
        super().__init__(Keywords(numbers, bool(words["together"])), db.tokens_of)
        self._db = db
        self._wanted = {hash: number for number, hashes in zip(numbers, words["words"], strict=True) for hash in hashes}

    def may_match(self, text: str) -> bool:
        return bool(text)

    def keyword_of(self, forms: Sequence[str]) -> str:
        hashes = keyed_hash.digests(self._db, forms)
        return next((self._wanted[each] for each in hashes if each in self._wanted), "")


def repeat(db: Database, time: clock.Clock, words: Iterable[str] = (), drafts: Sequence[Path] = ()) -> Receipt:
    """Check again, for the words of the last erasure or for these. Raises UsageError when there is none."""
    schedules.remember_outputs(db)  # forgets those that are gone
    text_files = [*schedules.outputs(db), *drafts]
    named = tuple(dict.fromkeys(each for word in words for each in keywords.plain(word).split()))
    if named:
        return check(db, time, Sought(SearchTerms(words=frozenset(named)), Keywords(named), files=text_files))
    stored = meta.get(db, _STORED)
    if not stored:
        raise UsageError(
            "the last erasure left nothing, so nothing of its words is kept: name what to look for, as in "
            "`agent forget --verify Graz`"
        )
    receipt = check(db, time, Sought(files=text_files, hashed=HashMatcher(db, stored)))
    if receipt.clean:
        meta.drop(db, _STORED)
    return receipt


def _in_backup(path: Path, wanted: KeywordMatcher) -> int:
    """How many texts of a backup, of any version, have a wanted word, without its indexes."""
    if path.name.endswith(("-wal", "-journal")):
        return 0
    columns = """select t.name, c.name from pragma_table_list t, pragma_table_info(t.name) c
                 where t.schema = 'main' and t.type = 'table' and c.type = 'TEXT'
                   and (t.name, c.name) <> ('meta', 'value')"""
    try:
        with Database(path, read_only=True) as db:
            return sum(
                bool(occurrences.found_in(wanted, text))
                for table, column in db.rows(columns)
                for text in db.column(f'select "{column}" from "{table}" where "{column}" <> \'\'')
            )
    except StoreError as error:
        raise StoreError(f"{path} cannot be read, so it cannot be searched: delete it, or make it again") from error


# The bytes of the files.

_CHUNK = 1 << 20  # bytes; larger reads gain nothing


def files_of(database: str, others: Iterable[str] = ()) -> list[Path]:
    """The existing files among the database and `others` (backups), each with its journals."""
    known = [Path(name + end) for name in (database, *others) if name for end in ("", "-wal", "-journal")]
    return [path for path in dict.fromkeys(known) if path.is_file()]


def byte_forms(text: str) -> frozenset[bytes]:
    """The bytes of a text as it may be stored: in several cases, without accents (in an index), escaped in JSON."""
    folded = text.casefold()
    plain = "".join(each for each in unicodedata.normalize("NFKD", folded) if not unicodedata.combining(each))
    cases = {text, folded, text.upper(), text.capitalize(), text.title()}
    escaped = {json.dumps(each, ensure_ascii=way)[1:-1] for each in cases for way in (True, False)}
    variants = {*cases, *escaped, plain, unicodedata.normalize("NFC", plain)}
    return frozenset(each.encode("utf-8", "surrogatepass").lower() for each in variants if each)


def count(path: Path, wanted: Iterable[bytes]) -> dict[bytes, int]:
    """How often each piece of at least 4 bytes occurs in a file, ignoring ASCII case. Raises StoreError."""
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
    """The length from which a word in lower case hardly ever occurs by chance in so many bytes. An index is nearly
    random bytes below 128, of which two match a letter: n letters occur B / 64^n times in B bytes."""
    return max(4, math.ceil(math.log(max(1, 10 * size), 64)))


def uncleared_pages(path: Path) -> int:
    """How many pages of the free list (sqlite.org/fileformat2.html#the_freelist), its trunks apart, are not cleared."""
    with file.open_bytes(path) as opened:
        head = opened.read(100)
        size = int.from_bytes(head[16:18])
        size = 65536 if size == 1 else size
        used = size - head[20]  # the end of each page of a sealed file holds its checksum
        trunk, seen, found = int.from_bytes(head[32:36]), set[int](), 0
        while size and trunk and trunk not in seen:
            seen.add(trunk)
            page = _page(opened, size, trunk)
            listed = min(int.from_bytes(page[4:8]), size // 4 - 2)
            pages = (int.from_bytes(page[at : at + 4]) for at in range(8, 8 + 4 * listed, 4))
            found += sum(any(_page(opened, size, each)[:used]) for each in pages)
            trunk = int.from_bytes(page[:4])
    return found


def _page(opened: FileBytes, size: int, number: int) -> bytes:
    opened.seek((number - 1) * size)
    return opened.read(size)


def _windows(path: Path, overlap: int) -> Iterator[tuple[bytes, bytes]]:
    """(The end of the previous chunk, the next chunk), both in lower case."""
    before = b""
    try:
        with file.open_bytes(path) as opened:
            while fresh := opened.read(_CHUNK).lower():
                yield before, fresh
                before = (before + fresh)[-overlap:] if overlap else b""
    except OSError as error:
        raise StoreError(f"{path} cannot be read ({error.strerror}), so it cannot be searched") from error
