"""How soon what is remembered is found, at three sizes, beside the plain ways; what it costs to keep; and, with
conversations at hand, whether the shortcuts taken for speed cost any recall.

The messages are made up: 25 words drawn by Zipf's law from 30,000, in sessions of 50, and vectors of 768 dimensions
around 2,000 centres. Made-up vectors tell how long a search takes, not how good it is: `--data` does.
"""

import argparse
import json
import random
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

from agent_cli.llm.embedded import EmbeddedEmbedder
from agent_cli.memory.conversations import log
from agent_cli.memory.facts import fact_lines
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.memory.search import candidates, index, recall, vectors
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Part
from agent_cli.store import file, schema
from agent_cli.store.db import Database

ROWS = (10_000, 100_000, 1_000_000)
TARGETS = {100_000: (15.0, 25.0), 1_000_000: (100.0, 130.0)}  # p50 and p95 of find, ms
REFRESH, IMPORT, TEXT, VECTOR = 5.0, 10_000, 4.5, 1000  # p95 in ms; messages/s; times the raw text; bytes a message
QUESTIONS, TURNS = 40, 100
WARM = 3  # questions that fill the caches first
DIMENSION = 768
PROFILES = ("common", "mixed", "rare")
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

    def sessions(self, first: int, count: int) -> list[str]:
        """So many messages, as JSON lines."""
        lines = []
        for start in range(first, first + count, 50):
            began = NOW - timedelta(days=3000) + timedelta(minutes=3 * start)
            drawn = self.words[np.searchsorted(self.sums, self.chance.random((50, 25)))]
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

    def vectors(self, count: int) -> Any:
        centres = self.centres[self.chance.integers(0, len(self.centres), count)]
        return _units(centres + self.chance.standard_normal((count, DIMENSION)) * 0.03)

    def question(self, profile: str) -> str:
        ranks = {"common": [(15, 60)] * 6, "rare": [(2000, 30_000)] * 6}
        ranks["mixed"] = [(15, 60)] * 2 + [(200, 1000)] * 2 + [(2000, 30_000)] * 2
        return " ".join(self.words[self.chance.integers(low, high)] for low, high in ranks[profile])


def run(options: Sequence[str] = ()) -> bool:
    """Measure and print; whether all targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks recall")
    parser.add_argument("--rows", default=",".join(map(str, ROWS)), help="how many messages, with commas between")
    parser.add_argument("--data", type=Path, help="a folder of conversations with questions")
    told = parser.parse_args(options)
    met = [_sized(int(rows)) for rows in told.rows.split(",") if rows]
    if told.data:
        _shortcuts(told.data)
    return all(met)


def _sized(rows: int) -> bool:
    """All figures of one size."""
    print(f"\nrecall in {rows:,} messages with vectors of {DIMENSION} dimensions")
    world = World()
    with tempfile.TemporaryDirectory() as folder:
        db = file.open_file(Path(folder, "memory.db"), NOW, print)
        plain = Database(Path(folder, "plain.db"))
        raw, seconds = _fill(db, plain, world, rows)
        bare = _bytes(db)
        _add_vectors(db, plain, world, rows)
        met = [
            _told("import, words and trigrams", rows / seconds, "messages/s", IMPORT, least=True),
            _told("bytes by table without vectors", sum(bare.values()) / raw, "x raw text", TEXT),
        ]
        print("  " + ", ".join(f"{name} {size / rows:.0f}" for name, size in list(bare.items())[:10]) + " B/message")
        kept = sum(_bytes(db).values()) - sum(bare.values())
        met.append(_told("bytes of a vector", kept / rows, "B/message", VECTOR))
        met += [_found(db, plain, world, rows, profile) for profile in PROFILES]
        p50, p95 = _quantiles(_turns(db))
        print(f"  {'refresh after a turn, p50':<32} {p50:>8,.2f} ms")
        met.append(_told("refresh after a turn, p95", p95, "ms", REFRESH))
        plain.close()
        db.close()
    return all(met)


def _fill(db: Database, plain: Database, world: World, rows: int) -> tuple[int, float]:
    """Import messages; gives the characters of their texts, and the seconds that importing and indexing took."""
    raw, seconds = 0, 0.0
    plain.execute("create virtual table words using fts5(text)")
    for first in range(0, rows, PORTION):
        lines = world.sessions(first, min(PORTION, rows - first))
        began = time.perf_counter()
        transfer.import_lines(db, HERE, lines, "benchmark", lambda: NOW, print)
        while index.refresh(db, 2500):
            pass
        seconds += time.perf_counter() - began
        texts = [(message["content"],) for line in lines for message in json.loads(line)["messages"]]
        raw += sum(len(text) for (text,) in texts)
        with plain.write():
            plain.execute_many("insert into words values (?)", texts)
    return raw, seconds


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


def _found(db: Database, plain: Database, world: World, rows: int, profile: str) -> bool:
    """Time `find` and the plain ways on the same questions."""
    asked = [(world.question(profile), world.vectors(1)[0]) for _ in range(QUESTIONS + WARM)]
    found = _times([partial(_find, db, question, vector.tolist()) for question, vector in asked])
    matches = [" OR ".join(f'"{word}"' for word in question.split()) for question, _ in asked]
    words = _times([partial(plain.rows, _PLAIN_WORDS, (match,)) for match in matches])
    floats = _times([partial(plain.rows, _PLAIN_FLOATS, (vector.tobytes(),)) for _, vector in asked[:10]])
    scale = max(1.0, rows / FLOATS)
    (p50, p95), bare, exact = _quantiles(found), statistics.median(words), scale * statistics.median(floats)
    limits = TARGETS.get(rows)
    met = limits is None or (p50 <= limits[0] and p95 <= limits[1])
    verdict = f" (≤ {limits[0]:.0f}, ≤ {limits[1]:.0f} {'ok' if met else 'NOT'})" if limits else ""
    print(
        f"  find, {profile + ' words':<13} p50 {p50:>5.1f} p95 {p95:>5.1f} ms{verdict}; plain FTS5 {bare:.1f} ms"
        f" (x {bare / p50:.2f}), float scan {exact:.0f} ms{', scaled' if scale > 1 else ''} (x {exact / p50:.1f})"
    )
    return met


def _find(db: Database, question: str, vector: list[float]) -> None:
    recall.find(db, question, Filter(PERSON), NOW, 10, lambda _: vector)


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
        candidates: {"LEAST_BUDGET": 10**9, "BUDGET": 1.0},
        recall: {"RESCORED": 150, "VECTORS": 100, "NEIGHBOURED": 150},
        vectors: {"NEAREST": 4000},
    }
    ways: dict[str, dict[Any, dict[str, float]]] = {
        "no shortcut at all": whole,
        f"words within {candidates.BUDGET:.0%} of the rows": whole | {candidates: {"LEAST_BUDGET": 0}},
        f"{recall.RESCORED} + {recall.VECTORS} candidates re-scored": whole | {recall: {}},
        f"{vectors.NEAREST} nearest by bit vectors": whole | {vectors: {}},
        "all three, as in a million messages": {candidates: {"LEAST_BUDGET": 0}},
        "as it is at this size": {},
    }
    names = sorted(path.name.removesuffix(".sessions.jsonl") for path in data.glob("*.sessions.jsonl"))
    embedder = EmbeddedEmbedder()
    opened = [[opened(data, name, embedder, with_facts) for name in names] for with_facts in (False, True)]
    for label, changes in ways.items():
        with _Changed(changes):
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
    made = vectors.create(db, embedder.identity(), embedder.dimension(), embedder.similarity_floor)
    while vectors.fill(db, made, embedder.embed_documents):
        pass
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


class _Changed:
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
