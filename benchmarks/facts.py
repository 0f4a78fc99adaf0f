"""How soon facts are listed, reviewed and recalled when there are very many of them.

The facts are made up: people, things and places, each with a value, so that names in a question stand in hundreds of
them. They come in as an import does, by the product's own functions; every hundredth waits for a yes.
"""

import argparse
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path

from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.language.triples import Claim, Triple
from agent_cli.memory.proposals import ACCEPTED, EXPIRED, PENDING, REJECTED, MemoryContext
from agent_cli.memory.scope import PERSON, Scope
from agent_cli.memory.search import index, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.store import file, ids
from agent_cli.store.db import Database
from benchmarks.quiet import Stopwatch, p50, p95

ROWS = 100_000
TARGET = 100.0  # ms, p95
RUNS = 40
WAITING = 100  # every so many waits
_PORTION = 1000

NOW = datetime(2026, 1, 1, tzinfo=UTC)
HERE = Scope(PERSON, "/home/someone")

_SENTENCES = {
    "works_at": "{subject} works at the {object} office since the spring of {year}",
    "likes": "{subject} likes the {object} that we saw near the {other}",
    "owns": "{subject} owns a {object} and keeps it in the {other}",
    "knows": "{subject} knows {object} from the time in {other}",
}


def run(options: Sequence[str] = ()) -> bool:
    """Measure and print; whether all targets are met."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks facts")
    parser.add_argument("--rows", type=int, default=ROWS, help="how many facts")
    rows = parser.parse_args(options).rows
    with tempfile.TemporaryDirectory() as folder:
        db = file.open_file(Path(folder, "memory.db"), NOW, print)
        began = time.perf_counter()
        names = fill(db, rows)
        index.refresh_all(db)
        print(f"\nfacts: {rows:,} made and indexed in {time.perf_counter() - began:.0f} s")
        watch = Stopwatch()
        met = [_told(watch, what, [way] * (RUNS + 3)) for what, way in _ways(db).items()]
        asked = [partial(_recall, db, f"What does {name} own, and where?") for name in (names * RUNS)[: RUNS + 3]]
        met.append(_told(watch, "recall with a name in the question", asked))
        print(f"  {watch}")
        db.close()
    return all(met)


def _ways(db: Database) -> dict[str, Callable[[], object]]:
    long_ago = NOW - timedelta(days=2999)
    middle = facts.listing(db, PERSON, 1)[0].statement
    return {
        "list": lambda: facts.listing(db, PERSON, 50),
        "list of every state": lambda: facts.listing(db, PERSON, 50, states=_EVERY),
        "list of a place": lambda: facts.listing(db, PERSON, 50, place="/home/someone"),
        "list of hidden ones": lambda: facts.listing(db, PERSON, 50, hidden=True),
        "list as of a day": lambda: facts.listing(db, PERSON, 50, as_of=long_ago),
        "start of review": lambda: _review(db),
        "what waits, counted": lambda: len(facts.pending(db, PERSON)),
        "the same said again is known": lambda: adoption.add(
            MemoryContext(db, HERE, lambda: NOW), Claim(middle, "typed")
        ),
    }


_EVERY = (ACCEPTED, PENDING, REJECTED, facts.SUPERSEDED, EXPIRED)


def _review(db: Database) -> None:
    """What is done before the first proposal stands on the screen."""
    facts.FACTS.expire_old(MemoryContext(db, HERE, lambda: NOW))
    waiting = facts.pending(db, PERSON)
    adoption.conflicts(MemoryContext(db, Scope(PERSON, ""), lambda: NOW), waiting[0])


def _recall(db: Database, question: str) -> None:
    recall.find(db, question, Filter(PERSON), NOW, 5)


def fill(db: Database, rows: int) -> list[str]:
    """Make so many facts; gives names that stand in them."""
    claims, names = _claims(rows)
    batch = ids.new(NOW)
    for start in range(0, rows, _PORTION):
        with db.write():
            for number, claim in enumerate(claims, start):
                state, change = (PENDING, "proposed") if number % WAITING == 0 else (ACCEPTED, "added")
                facts.insert(MemoryContext(db, HERE, lambda: NOW, batch=batch), claim, state, change, actor="person")
                if number - start == _PORTION - 1:
                    break
    return names


def _claims(rows: int) -> tuple[Iterator[Claim], list[str]]:
    drawn = random.Random(5)
    syllables = [a + b for a in "bdfgklmnprstv" for b in "aeiou"]
    words = list(dict.fromkeys("".join(drawn.choices(syllables, k=drawn.choice((2, 3, 3, 4)))) for _ in range(30_000)))
    names = [word.title() for word in words[:400]]

    def made() -> Iterator[Claim]:
        for number in range(rows):
            predicate = drawn.choice(list(_SENTENCES))
            subject, object, other = drawn.choice(names), drawn.choice(words), drawn.choice(words)
            year = drawn.randrange(1990, 2026)
            told = _SENTENCES[predicate].format(subject=subject, object=object, other=other, year=year)
            learned = NOW - timedelta(days=3000) + timedelta(minutes=40 * number)
            place = "" if number % 10 else f"/home/{drawn.choice(words[:50])}"
            yield Claim(told, "import", triple=Triple(subject, predicate, object), learned=learned, place=place)

    return made(), names


def _told(watch: Stopwatch, what: str, ways: Sequence[Callable[[], object]]) -> bool:
    """Time each way but the first three, which fill the caches."""
    times = watch.counting([watch.time(way) for way in ways][3:])
    met = p95(times) <= TARGET
    print(f"  {what:<36} p50 {p50(times):>6.1f} p95 {p95(times):>6.1f} ms  ≤ {TARGET:.0f} {'ok' if met else 'NOT'}")
    return met
