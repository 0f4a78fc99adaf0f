"""How soon what is remembered is found, at three sizes, beside the plain ways; what it costs to keep; and, with
conversations at hand, whether the shortcuts taken for speed cost any recall.

The messages are made up: 25 words drawn by Zipf's law from 30,000, none of which is a stop word, in sessions of 50; in
a second file each tenth is an answer of 600 words. Vectors are those of the embedded embedder, and for a served one
vectors of 768 dimensions around 2,000 centres. Made-up words tell how long a search takes, not how good it is: `--data`
does.
"""

import argparse
import gc
import json
import shutil
import statistics
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from agent_cli.__main__ import GARBAGE
from agent_cli.agent.embedder_selection import Embedder
from agent_cli.llm.embedded import EmbeddedEmbedder
from agent_cli.memory.conversations import log
from agent_cli.memory.facts import adoption
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import candidates, index, recall, vectors
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Part
from agent_cli.store import file, schema
from agent_cli.store.db import Database
from benchmarks.quiet import Stopwatch, Timed, p50, p95
from benchmarks.world import DIMENSION, HERE, NOW, PORTION, World

ROWS = (10_000, 100_000, 1_000_000)
TARGETS = {100_000: 15.0, 1_000_000: 70.0}  # p50 of find, ms
REFRESH, IMPORT, TEXT, VECTOR = 5.0, 15_000, 4.5, 1000  # p95 in ms; messages/s; times the raw text; bytes a message
QUESTIONS, PLAIN, TURNS = 20, 5, 100  # in a round
ROUNDS, MOST_ROUNDS = 5, 15  # more than the fewest until ENOUGH questions of each kind were asked in quiet moments
ENOUGH = 40
WARM = 3  # questions that fill the caches first
PROFILES = ("common", "mixed", "rare", "Zipf")
LONG, LONG_ROWS = 600, 100_000  # words of a long answer, and the most messages among which they stand
FLOATS = 200_000  # rows of the float scan at most: its time grows with them, and is told for all
LEAST_PORTIONS = 2  # imported in quiet moments, or all count

_PLAIN_WORDS = "select rowid from words where words match ? order by rank limit 10"
_PLAIN_FLOATS = "select rowid from floats where e match ? and k = 10"


def run(options: Sequence[str] = ()) -> bool:
    """Measure and print; whether all targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks recall")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="how many messages, with commas between")
    parser.add_argument("--data", type=Path, help="a folder of conversations with questions")
    parser.add_argument("--db", type=Path, help="of one size: a file to keep, made if it is not there, else used again")
    told = parser.parse_args(options)
    sizes = [int(rows) for rows in told.rows.split(",") if rows]
    gc.set_threshold(GARBAGE)  # as in the program
    if told.db and len(sizes) != 1:
        parser.error("--db keeps the file of one size: name it with --rows")
    watch = Stopwatch()
    met = [_sized(rows, watch, kept=told.db) for rows in sizes]
    met += [_sized(rows, watch, LONG) for rows in sizes if rows <= LONG_ROWS and not told.db]
    if told.data:
        _shortcuts(told.data)
    return all(met)


class Served:
    """A served embedder, which does not compare words. It gives made-up vectors at once, without a server."""

    def __init__(self, world: World):
        self._world = world

    def embed_query(self, question: str) -> list[float]:
        made: list[float] = self._world.vectors(1)[0].tolist()
        return made

    def match_words(self, words: Sequence[str], texts: Sequence[Sequence[str]]) -> None:
        return None

    def knows_word(self, word: str) -> bool:
        return False


Way = tuple[str, vectors.QueryEmbedder | None]
"""Of searching: what the questions are made of, and the embedder."""


@dataclass
class Measured:
    """The messages of one size, and what was timed with them."""

    db: Database
    plain: Database  # the bare messages in FTS5
    world: World
    rows: int
    watch: Stopwatch
    found: dict[Way, list[Timed]] = field(default_factory=dict)
    by_plain: dict[Way, list[Timed]] = field(default_factory=dict)  # some of the same questions


def _sized(rows: int, watch: Stopwatch, long: int = 0, kept: Path | None = None) -> bool:
    """All figures of one size; with long answers only those of searching, with a kept file not those of making it."""
    print(f"\nrecall in {rows:,} messages" + (f", each tenth of {long} words" if long else ""))
    world, embedder = World(), EmbeddedEmbedder()
    with tempfile.TemporaryDirectory() as folder:
        used = [Path(folder, "memory.db"), Path(folder, "plain.db")]
        kept_files = [kept, kept.with_suffix(".plain")] if kept else []
        again = bool(kept and kept.exists())
        for path, copy in zip(kept_files, used, strict=False) if again else ():
            shutil.copyfile(path, copy)
        db, plain = file.open_file(used[0], NOW, print), Database(used[1])
        of = Measured(db, plain, world, rows, watch)
        met = [] if again else [_made(of, long, embedder)]
        for path, copy in zip(kept_files, used, strict=False) if not again else ():
            db.truncate_journal()
            shutil.copyfile(copy, path)
        world.chance = np.random.default_rng(11)  # the same questions, whether the messages were drawn or not
        ways: list[Way] = [(profile, embedder) for profile in (("mixed", "Zipf") if long else PROFILES)]
        met.append(_found(of, ways if long else [*ways, ("mixed", None)]))
        if not long:
            before = _bytes(db)
            _add_vectors(db, plain, world, rows)
            met.append(_found(of, [("mixed", Served(world))]))
            added = sum(_bytes(db).values()) - sum(before.values())
            met.append(_told("bytes of a vector of 768", added / rows, "B/message", VECTOR))
            bare = {name: size for name, size in before.items() if not name.startswith(("vectors_", "bits_"))}
            raw = db.value("select sum(length(text)) from message")
            met.append(_told("bytes by table without vectors", sum(bare.values()) / raw, "x raw text", TEXT))
            print(
                "  " + ", ".join(f"{name} {size / rows:.0f}" for name, size in list(bare.items())[:10]) + " B/message"
            )
            turns = of.watch.counting(_turns(of))
            print(f"  {'refresh after a turn, p50':<32} {p50(turns):>8,.2f} ms")
            met.append(_told("refresh after a turn, p95", p95(turns), "ms", REFRESH))
        print(f"  {of.watch}")
        plain.close()
        db.close()
    return all(met)


def _made(of: Measured, long: int, embedder: EmbeddedEmbedder) -> bool:
    """Import the messages and make all that searching takes; whether the import meets its target."""
    portion = min(PORTION, of.rows)
    whole = slice(of.rows // portion)  # the last portion may be smaller
    ours, by_plain = (p50(of.watch.counting(times[whole], LEAST_PORTIONS)) / 1000 for times in _fill(of, long))
    met = _told("import, until words are found", portion / ours, "messages/s", IMPORT, least=True)
    times = f"{ours / by_plain:.1f} times as many"
    print(f"  {'plain inserts into FTS5':<32} {portion / by_plain:>8,.0f} messages/s, {times}")
    passages = int(of.db.value("select count(*) from passage"))
    for what, work in ("trigrams", partial(_finish, of.db)), ("vectors", partial(_embed, of.db, embedder)):
        seconds = of.watch.time(work).clock / 1000
        print(f"  {f'{what} made behind it':<32} {passages / seconds:>8,.0f} a second")
    return met


def _finish(db: Database) -> None:
    """What the worker does behind an import: trigrams, and each index in one segment."""
    for _ in index.refresh_steps(db):
        pass


def _embed(db: Database, embedder: Embedder) -> None:
    floor, unit = embedder.scale()
    made = vectors.create(db, embedder.identity(), embedder.dimension(), floor, unit=unit)
    while vectors.fill(db, made, embedder.embed_documents):
        pass


def _fill(of: Measured, long: int) -> tuple[list[Timed], list[Timed]]:
    """Import the messages in portions; what importing and indexing each took, and plain inserts of it into FTS5."""
    ours, by_plain = list[Timed](), list[Timed]()
    of.plain.execute("create virtual table words using fts5(text)")
    for first in range(0, of.rows, PORTION):
        lines = of.world.sessions(first, min(PORTION, of.rows - first), long)
        ours.append(of.watch.time(partial(_import, of.db, lines)))
        texts = [(message["content"],) for line in lines for message in json.loads(line)["messages"]]
        by_plain.append(of.watch.time(partial(_insert, of.plain, texts)))
    return ours, by_plain


def _import(db: Database, lines: Sequence[str]) -> None:
    transfer.import_lines(db, HERE, lines, "benchmark", lambda: NOW, print)
    index.refresh_all(db, 0)


def _insert(plain: Database, texts: Sequence[tuple[str]]) -> None:
    with plain.write():
        plain.execute_many("insert into words values (?)", texts)


def _add_vectors(db: Database, plain: Database, world: World, rows: int) -> None:
    made = vectors.create(db, "benchmark", DIMENSION, 0.3)
    plain.execute(f"create virtual table floats using vec0(e float[{DIMENSION}])")
    for first in range(1, rows + 1, 5000):
        drawn = world.vectors(min(5000, rows + 1 - first))
        bits, small = np.packbits(drawn > 0, axis=1, bitorder="little"), np.rint(drawn * 127).astype(np.int8)
        ids = range(first, first + len(drawn))
        with db.write():
            db.execute_many(
                f"insert into {made.bits} (rowid, e) values (?, vec_bit(?))",
                [(id, each.tobytes()) for id, each in zip(ids, bits, strict=True)],
            )
            db.execute_many(
                f"insert into {made.table} values (?, ?)",
                [(id, each.tobytes()) for id, each in zip(ids, small, strict=True)],
            )
        if first < FLOATS:
            with plain.write():
                plain.execute_many("insert into floats (e) values (?)", [(each.tobytes(),) for each in drawn])


def _found(of: Measured, ways: Sequence[Way]) -> bool:
    """Time `find` and plain FTS5 on the same questions, each way in turn, until enough of each were asked in quiet
    moments."""
    for number in range(MOST_ROUNDS):
        for path in (of.db.path, of.plain.path):  # into the system's cache, where a file in use is
            Path(path).read_bytes()
        for way in ways:
            _ask(of, way)
        if number >= ROUNDS - 1 and all(len(of.watch.quiet(of.found[way])) >= ENOUGH for way in ways):
            break
    met = [_tell_times(of, way) for way in ways]
    return all(met)


def _ask(of: Measured, way: Way) -> None:
    """Ask a round of questions."""
    profile, embedder = way
    asked = [of.world.question(profile) for _ in range(QUESTIONS + WARM)]
    found = [of.watch.time(partial(recall.find, of.db, each, Filter(PERSON), NOW, 10, embedder)) for each in asked]
    matches = [" OR ".join(f'"{word}"' for word in question.split()) for question in asked[: WARM + PLAIN]]
    words = [of.watch.time(partial(of.plain.rows, _PLAIN_WORDS, (match,))) for match in matches]
    of.found.setdefault(way, []).extend(found[WARM:])
    of.by_plain.setdefault(way, []).extend(words[WARM:])


def _tell_times(of: Measured, way: Way) -> bool:
    profile, embedder = way
    quiet = of.watch.quiet(of.found[way])
    times, words = of.watch.counting(of.found[way]), of.watch.counting(of.by_plain[way])
    limit = TARGETS.get(of.rows)
    met = limit is None or p50(times) <= limit
    verdict = f" (≤ {limit:.0f} {'ok' if met else 'NOT'})" if limit else ""
    by = "no vectors" if embedder is None else "served vectors" if isinstance(embedder, Served) else ""
    what = f"{profile} words{', ' if by else ''}{by}"
    line = f"  find, {what:<27} p50 {p50(times):>5.1f}{verdict} p95 {p95(times):>5.1f} ms, processor"
    line += f" {statistics.mean(each.processor for each in times):.1f}; plain FTS5 {p50(words):.1f} ms"
    line += f"; {len(quiet)} of {len(of.found[way])} in quiet moments, p50 of all {p50(of.found[way]):.1f}"
    if isinstance(embedder, Served):
        drawn = [of.world.vectors(1)[0].tobytes() for _ in range(WARM + PLAIN)]
        scans = [of.watch.time(partial(of.plain.rows, _PLAIN_FLOATS, (each,))) for each in drawn][WARM:]
        scale = max(1.0, of.rows / FLOATS)
        line += f"; float scan {scale * p50(scans):.0f} ms{', scaled' if scale > 1 else ''}"
    print(line, flush=True)
    return met


def _turns(of: Measured) -> list[Timed]:
    """What indexing a turn of two messages takes."""
    session = int(of.db.value("select max(id) from session"))
    times = []
    for turn in range(TURNS):
        for said in ("Which bus goes to the harbour on Sunday?", f"The bus number {turn} goes at half past nine."):
            log.add_user_message(of.db, session, HERE, [Part(said, "typed")], NOW)
        times.append(of.watch.time(partial(index.refresh, of.db)))
    return times


def _bytes(db: Database) -> Mapping[str, int]:
    """Bytes of each table and its indexes, the largest first."""
    return dict(
        db.rows(
            """select coalesce(m.tbl_name, d.name), sum(pgsize) from dbstat d
               left join sqlite_schema m on m.name = d.name group by 1 order by 2 desc"""
        )
    )


def _shortcuts(data: Path) -> None:
    """Recall on real conversations with and without each shortcut."""
    print("\nrecall of real conversations (share of the evidence among the first 10), without and with facts")
    whole: dict[Any, dict[str, float]] = {
        candidates: {"MIN_BUDGET": 10**9, "BUDGET": 1.0, "LEADING": 10**9},
        recall: {
            "RESCORED": 150,
            "VECTORS": 100,
            "WITH_NEIGHBOURS": 150,
            "VECTORS_WITH_NEIGHBOURS": 100,
            "READ": 10**9,
        },
        vectors: {"NEAREST": 4000},
    }
    ways: dict[str, dict[Any, dict[str, float]]] = {
        "no shortcut at all": whole,
        f"words within {candidates.BUDGET:.0%} of the rows": whole | {candidates: {"MIN_BUDGET": 0, "LEADING": 0}},
        f"{recall.RESCORED} + {recall.VECTORS} candidates re-scored": whole | {recall: {"READ": 10**9}},
        f"the best {recall.READ} of these read": whole | {recall: {}},
        f"{vectors.NEAREST} nearest by bit vectors": whole | {vectors: {}},
        "all of them, as in a million messages": {candidates: {"MIN_BUDGET": 0, "LEADING": 0}},
        "as it is at this size": {},
    }
    names = sorted(path.name.removesuffix(".sessions.jsonl") for path in data.glob("*.sessions.jsonl"))
    embedder = EmbeddedEmbedder()
    opened = [[opened(data, name, embedder, with_facts) for name in names] for with_facts in (False, True)]
    for label, changes in ways.items():
        with Changed(changes):
            shares = [statistics.mean(_shares(data, names, dbs, embedder)) for dbs in opened]
        print(f"  {label:<40} R@10 {100 * shares[0]:>5.1f} {100 * shares[1]:>5.1f}")


def opened(data: Path, name: str, embedder: Embedder, with_facts: bool) -> Database:
    """A conversation in memory, indexed."""
    db = Database()
    schema.reconcile(db, NOW)
    transfer.import_lines(db, HERE, lines(data, name, "sessions"), name, lambda: NOW, print)
    if with_facts:
        adoption.import_lines(
            MemoryContext(db, HERE, lambda: NOW), lines(data, name, "facts"), name, print, accepted=True
        )
    while index.refresh(db):
        pass
    _embed(db, embedder)
    return db


def _shares(data: Path, names: Sequence[str], dbs: Sequence[Database], embedder: EmbeddedEmbedder) -> Iterator[float]:
    for name, db in zip(names, dbs, strict=True):
        for line in lines(data, name, "questions"):
            asked = json.loads(line)
            found = recall.find(db, asked["question"], Filter(PERSON, ("message",)), NOW, 10, embedder)
            yield len({hit.external_id for hit in found.hits} & set(asked["evidence"])) / len(asked["evidence"])


def lines(data: Path, name: str, what: str) -> list[str]:
    path = data / f"{name}.{what}.jsonl"
    return [line for line in path.read_text().splitlines() if line.strip()] if path.exists() else []


class Changed:
    """Other values of modules' constants for a while."""

    def __init__(self, changes: Mapping[Any, Mapping[str, float]]):
        self._changes = [(module, name, value) for module, names in changes.items() for name, value in names.items()]

    def __enter__(self) -> None:
        self._before = [(module, name, getattr(module, name)) for module, name, _ in self._changes]
        for module, name, value in self._changes:
            setattr(module, name, value)

    def __exit__(self, *_: object) -> None:
        for module, name, value in self._before:
            setattr(module, name, value)


def _told(what: str, figure: float, unit: str, limit: float, *, least: bool = False) -> bool:
    met = figure >= limit if least else figure <= limit
    digits = 0 if figure >= 100 else 2
    print(f"  {what:<32} {figure:>8,.{digits}f} {unit}  {'≥' if least else '≤'} {limit:,g} {'ok' if met else 'NOT'}")
    return met
