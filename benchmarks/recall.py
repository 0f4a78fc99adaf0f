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
import random
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from agent_cli.__main__ import GARBAGE
from agent_cli.llm.embedded import EmbeddedEmbedder
from agent_cli.memory.conversations import log
from agent_cli.memory.facts import fact_lines
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.memory.search import candidates, index, recall, scoring, vectors
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Part
from agent_cli.store import file, schema
from agent_cli.store.db import Database

ROWS = (10_000, 100_000, 1_000_000)
TARGETS = {100_000: 15.0, 1_000_000: 70.0}  # p50 of find, ms
REFRESH, IMPORT, TEXT, VECTOR = 5.0, 15_000, 4.5, 1000  # p95 in ms; messages/s; times the raw text; bytes a message
QUESTIONS, PLAIN, TURNS = 40, 10, 100
ROUNDS = 7  # of questions: what else runs on the machine or its host only makes a round slower
WARM = 3  # questions that fill the caches first
DIMENSION = 768
PROFILES = ("common", "mixed", "rare", "Zipf")
LONG, LONG_ROWS = 600, 100_000  # words of a long answer, and the most messages among which they stand
FLOATS = 200_000  # rows of the float scan at most: its time grows with them, and is told for all
PORTION = 50_000  # messages made at once

_PLAIN_WORDS = "select rowid from words where words match ? order by rank limit 10"
_PLAIN_FLOATS = "select rowid from floats where e match ? and k = 10"

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Scope(PERSON, "/home/someone")


@dataclass
class World:
    """What messages, vectors and questions are drawn from: the same at every run."""

    chance: np.random.Generator = field(default_factory=lambda: np.random.default_rng(7))

    def __post_init__(self) -> None:
        drawn = random.Random(3)
        syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
        made = ("".join(drawn.choices(syllables, k=drawn.choice((2, 2, 3, 3, 4)))) for _ in range(200_000))
        self.words = np.array(list(dict.fromkeys(made))[:30_000])
        weights = 1 / np.arange(1, len(self.words) + 1)
        self.sums = np.cumsum(weights / weights.sum())
        self.centres = _units(self.chance.standard_normal((2000, DIMENSION)))

    def sessions(self, first: int, count: int, long: int = 0) -> list[str]:
        """So many messages, as JSON lines. `long`: the words of each tenth."""
        lines = []
        for start in range(first, first + count, 50):
            began = NOW - timedelta(days=3000) + timedelta(minutes=3 * start)
            drawn = [self._drawn(long if long and n % 10 == 1 else 25) for n in range(50)]
            messages = [
                {
                    "id": f"{start}:{n}",
                    "role": ("user", "assistant")[n % 2],
                    "content": " ".join(drawn[n]),
                    "at": (began + timedelta(seconds=40 * n)).isoformat(),
                }
                for n in range(50)
            ]
            line = {"id": str(start), "title": "", "started_at": began.isoformat(), "messages": messages}
            lines.append(json.dumps(line) + "\n")
        return lines

    def _drawn(self, count: int) -> Any:
        return self.words[np.searchsorted(self.sums, self.chance.random(count))]

    def vectors(self, count: int) -> Any:
        centres = self.centres[self.chance.integers(0, len(self.centres), count)]
        return _units(centres + self.chance.standard_normal((count, DIMENSION)) * 0.03)

    def question(self, profile: str) -> str:
        if profile == "Zipf":
            return " ".join(self._drawn(6))
        ranks = {"common": [(15, 60)] * 6, "rare": [(2000, 30_000)] * 6}
        ranks["mixed"] = [(15, 60)] * 2 + [(200, 1000)] * 2 + [(2000, 30_000)] * 2
        return " ".join(self.words[self.chance.integers(low, high)] for low, high in ranks[profile])


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
    met = [_sized(rows, kept=told.db) for rows in sizes]
    met += [_sized(rows, LONG) for rows in sizes if rows <= LONG_ROWS and not told.db]
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


Way = tuple[str, vectors.QueryEmbedder | None]
"""Of searching: what the questions are made of, and the embedder."""
Times = tuple[float, float, float, float]
"""Milliseconds for questions: p50, p95 and processor time of `find`, and p50 of plain FTS5 for some of them."""


def _sized(rows: int, long: int = 0, kept: Path | None = None) -> bool:
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
        met = [] if again else [_made(db, plain, world, rows, long, embedder)]
        for path, copy in zip(kept_files, used, strict=False) if not again else ():
            db.truncate_journal()
            shutil.copyfile(copy, path)
        world.chance = np.random.default_rng(11)  # the same questions, whether the messages were drawn or not
        ways: list[Way] = [(profile, embedder) for profile in (("mixed", "Zipf") if long else PROFILES)]
        met.append(_found(db, plain, world, rows, ways if long else [*ways, ("mixed", None)]))
        if not long:
            before = _bytes(db)
            _add_vectors(db, plain, world, rows)
            met.append(_found(db, plain, world, rows, [("mixed", Served(world))]))
            added = sum(_bytes(db).values()) - sum(before.values())
            met.append(_told("bytes of a vector of 768", added / rows, "B/message", VECTOR))
            bare = {name: size for name, size in before.items() if not name.startswith(("vectors_", "bits_"))}
            raw = db.value("select sum(length(text)) from message")
            met.append(_told("bytes by table without vectors", sum(bare.values()) / raw, "x raw text", TEXT))
            print(
                "  " + ", ".join(f"{name} {size / rows:.0f}" for name, size in list(bare.items())[:10]) + " B/message"
            )
            p50, p95 = _quantiles(_turns(db))
            print(f"  {'refresh after a turn, p50':<32} {p50:>8,.2f} ms")
            met.append(_told("refresh after a turn, p95", p95, "ms", REFRESH))
        plain.close()
        db.close()
    return all(met)


def _made(db: Database, plain: Database, world: World, rows: int, long: int, embedder: EmbeddedEmbedder) -> bool:
    """Import the messages and make all that searching takes; whether the import meets its target."""
    seconds, by_plain = _fill(db, plain, world, rows, long)
    met = _told("import, until words are found", rows / seconds, "messages/s", IMPORT, least=True)
    print(
        f"  {'plain inserts into FTS5':<32} {rows / by_plain:>8,.0f} messages/s, {seconds / by_plain:.1f} times as many"
    )
    passages = int(db.value("select count(*) from passage"))
    print(f"  {'trigrams made behind it':<32} {passages / _seconds(lambda: _finish(db)):>8,.0f} a second")
    print(f"  {'vectors made behind it':<32} {passages / _seconds(lambda: _embed(db, embedder)):>8,.0f} a second")
    return met


def _finish(db: Database) -> None:
    """What the worker does behind an import: trigrams, and each index in one segment."""
    for _ in index.refresh_steps(db):
        pass


def _embed(db: Database, embedder: EmbeddedEmbedder) -> None:
    made = vectors.create(db, embedder.identity(), embedder.dimension(), embedder.similarity_floor)
    while vectors.fill(db, made, embedder.embed_documents):
        pass


def _fill(db: Database, plain: Database, world: World, rows: int, long: int) -> tuple[float, float]:
    """Import messages; gives the seconds that importing and indexing took, and those of plain inserts into FTS5."""
    seconds = by_plain = 0.0
    plain.execute("create virtual table words using fts5(text)")
    for first in range(0, rows, PORTION):
        lines = world.sessions(first, min(PORTION, rows - first), long)
        began = time.perf_counter()
        transfer.import_lines(db, HERE, lines, "benchmark", lambda: NOW, print)
        index.refresh_all(db, 0)
        seconds += time.perf_counter() - began
        texts = [(message["content"],) for line in lines for message in json.loads(line)["messages"]]
        began = time.perf_counter()
        with plain.write():
            plain.execute_many("insert into words values (?)", texts)
        by_plain += time.perf_counter() - began
    return seconds, by_plain


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


def _found(db: Database, plain: Database, world: World, rows: int, ways: Sequence[Way]) -> bool:
    """Time `find` and plain FTS5 on the same questions, each way in turn in several rounds; the quietest is told."""
    rounds = dict[Way, list[Times]]()
    for _ in range(ROUNDS):
        for path in (db.path, plain.path):  # into the system's cache, where a file in use is
            Path(path).read_bytes()
        for way in ways:
            rounds.setdefault(way, []).append(_round(db, plain, world, *way))
    met = [_tell_times(plain, world, rows, way, min(times)) for way, times in rounds.items()]
    return all(met)


def _tell_times(plain: Database, world: World, rows: int, way: Way, quietest: Times) -> bool:
    (profile, embedder), (p50, p95, used, words) = way, quietest
    limit = TARGETS.get(rows)
    met = limit is None or p50 <= limit
    verdict = f" (≤ {limit:.0f} {'ok' if met else 'NOT'})" if limit else ""
    by = "no vectors" if embedder is None else "served vectors" if isinstance(embedder, Served) else ""
    what = f"{profile} words{', ' if by else ''}{by}"
    line = f"  find, {what:<27} p50 {p50:>5.1f}{verdict} p95 {p95:>5.1f} ms, processor {used:.1f}"
    line += f"; plain FTS5 {words:.1f} ms"
    if isinstance(embedder, Served):
        vectors_drawn = [world.vectors(1)[0].tobytes() for _ in range(WARM + PLAIN)]
        exact = statistics.median(_times([partial(plain.rows, _PLAIN_FLOATS, (each,)) for each in vectors_drawn]))
        scale = max(1.0, rows / FLOATS)
        line += f", float scan {scale * exact:.0f} ms{', scaled' if scale > 1 else ''}"
    print(line, flush=True)
    return met


def _round(db: Database, plain: Database, world: World, profile: str, embedder: vectors.QueryEmbedder | None) -> Times:
    asked = [world.question(profile) for _ in range(QUESTIONS + WARM)]
    used = time.process_time()
    found = _times([partial(recall.find, db, question, Filter(PERSON), NOW, 10, embedder) for question in asked])
    used = 1000 * (time.process_time() - used) / len(asked)
    matches = [" OR ".join(f'"{word}"' for word in question.split()) for question in asked[: WARM + PLAIN]]
    words = statistics.median(_times([partial(plain.rows, _PLAIN_WORDS, (match,)) for match in matches]))
    return *_quantiles(found), used, words


def _turns(db: Database) -> list[float]:
    """Milliseconds that indexing a turn of two messages takes."""
    session = int(db.value("select max(id) from session"))
    times = []
    for turn in range(TURNS):
        for said in ("Which bus goes to the harbour on Sunday?", f"The bus number {turn} goes at half past nine."):
            log.add_user_message(db, session, HERE, [Part(said, "typed")], NOW)
        times.append(1000 * _seconds(lambda: index.refresh(db)))
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
        scoring: {"RESCORED": 150, "VECTORS": 100, "WITH_NEIGHBOURS": 150, "READ": 10**9},
        vectors: {"NEAREST": 4000},
    }
    ways: dict[str, dict[Any, dict[str, float]]] = {
        "no shortcut at all": whole,
        f"words within {candidates.BUDGET:.0%} of the rows": whole | {candidates: {"MIN_BUDGET": 0, "LEADING": 0}},
        f"{scoring.RESCORED} + {scoring.VECTORS} candidates re-scored": whole | {scoring: {"READ": 10**9}},
        f"the best {scoring.READ} of these read": whole | {scoring: {}},
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


def opened(data: Path, name: str, embedder: EmbeddedEmbedder, with_facts: bool) -> Database:
    """A conversation in memory, indexed."""
    db = Database()
    schema.reconcile(db, NOW)
    transfer.import_lines(db, HERE, lines(data, name, "sessions"), name, lambda: NOW, print)
    if with_facts:
        fact_lines.import_lines(db, HERE, lines(data, name, "facts"), name, lambda: NOW, print, accepted=True)
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


def _times(ways: Sequence[Callable[[], object]]) -> list[float]:
    """Milliseconds of each but the first few, which fill the caches."""
    return [1000 * _seconds(way) for way in ways][WARM:]


def _quantiles(times: Sequence[float]) -> tuple[float, float]:
    """p50 and p95."""
    return statistics.median(times), sorted(times)[-(-95 * len(times) // 100) - 1]


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def _units(made: Any) -> Any:
    return (made / np.linalg.norm(made, axis=1, keepdims=True)).astype(np.float32)
