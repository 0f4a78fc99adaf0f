"""10,000 files: how long they take to be read, how little a look takes that finds nothing changed, how soon what
stands in them is found, and whether they change what is found of conversations.

The files are made up: Markdown with headings, text and code in folders of 100, with words drawn by Zipf's law from the
same 30,000 as the messages. The second look is compared with os.walk and a stat of each file, in the same run.
"""

import os
import random
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import numpy as np

from agent_cli.agent import prompt_recall
from agent_cli.memory.conversations import sessions
from agent_cli.memory.documents import documents
from agent_cli.memory.scope import PERSON
from agent_cli.memory.search import index, recall
from agent_cli.memory.search.candidates import Filter
from agent_cli.memory.transfers import transfer
from agent_cli.store import file
from agent_cli.store.db import Database
from agent_cli.tools.tool import ToolContext
from benchmarks.world import HERE, NOW, World

FILES, FOLDER = 10_000, 100
MESSAGES, QUESTIONS = 10_000, 200
AGAIN, FOUND = 4.0, 60.0  # times the walk; p95 of a search in ms
LOST = 0  # questions about conversations that are answered no more

Row = tuple[str, str, str, bool]


def run() -> bool:
    """Print the figures; whether the targets are met."""
    with tempfile.TemporaryDirectory() as folder:
        world, path = World(), Path(folder, "memory.db")
        db = file.open_file(path, NOW, print)
        lines = world.sessions(0, MESSAGES)
        transfer.import_lines(db, HERE, lines, "benchmark", lambda: NOW, print)
        index.refresh_all(db)
        _write(Path(folder, "files"), world)
        print(f"\n{FILES:,} files beside {MESSAGES:,} messages")
        met = [_told(*row) for row in _measured(db, path, Path(folder, "files"))]
        db.close()
    return all(met)


def _told(name: str, value: str, target: str, met: bool) -> bool:
    print(f"  {name:<58} {value:>12}  {target}{'' if not target else ' ok' if met else ' NOT'}", flush=True)
    return met


def _write(folder: Path, world: World) -> None:
    """Files of some 1,500 characters: a half Markdown, the rest text and code."""
    for n in range(FILES):
        words = world.words[np.searchsorted(world.sums, world.chance.random(240))]
        blocks = [" ".join(words[start : start + 60]) for start in range(0, 240, 60)]
        path = folder / f"{n // FOLDER:03}" / f"{n}{('.md', '.txt', '.md', '.py')[n % 4]}"
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.suffix == ".py":
            blocks = [f"def {block.split()[0]}():\n    # {block}\n    return {n}" for block in blocks]
        heads = [f"# {block[:20]}\n\n" if path.suffix == ".md" else "" for block in blocks]
        path.write_text("\n\n".join(head + block for head, block in zip(heads, blocks, strict=True)))


def _measured(db: Database, path: Path, folder: Path) -> Iterator[Row]:
    asked = _asked(db)
    before, size = _shown(db, asked), path.stat().st_size
    documents.add(db, HERE, str(folder), lambda: NOW)
    seconds = _seconds(lambda: _sync(db))
    sections = db.value("select count(*) from section")
    yield "first sync, words indexed", f"{FILES / seconds:.0f} files/s", "", True
    yield "  in all", f"{seconds:.1f} s", "", True
    db.truncate_journal()
    raw = sum(each.stat().st_size for each in folder.rglob("*.*"))
    grown = (path.stat().st_size - size) / raw
    yield f"{sections:,} sections, bytes kept for each of the files", f"{grown:.1f}", "", True
    walks = [_seconds(lambda: _walk(folder)) for _ in range(5)]
    again = [_seconds(lambda: _sync(db)) for _ in range(5)]
    yield "os.walk and a stat of each file", f"{1000 * min(walks):.0f} ms", "", True
    yield "second sync, nothing changed", f"{1000 * min(again):.0f} ms", "", True
    times = min(again) / min(walks)
    yield "  times the walk", f"{times:.1f}", f"≤ {AGAIN:.0f}", times <= AGAIN
    changed = random.Random(2).sample(sorted(folder.rglob("*.*")), FILES // 100)
    for each in changed:
        each.write_text(f"{each.read_text()}\n\nIt was changed in the cellar.\n")
    yield "sync after a change of 1 %", f"{_seconds(lambda: _sync(db)):.2f} s", "", True
    found = sorted(1000 * _seconds(lambda words=words: _find(db, words)) for words, _ in asked)
    yield "find among all, p50", f"{found[len(found) // 2]:.1f} ms", "", True
    p95 = found[int(0.95 * len(found))]
    yield "find among all, p95", f"{p95:.1f} ms", f"≤ {FOUND:.0f}", p95 <= FOUND
    after = _shown(db, asked)
    yield "questions about conversations, answer shown without files", f"{len(before)} of {len(asked)}", "", True
    lost = len(before - after)
    yield "  lost beside the files", f"{lost}", f"= {LOST}", lost == LOST


def _asked(db: Database) -> list[tuple[str, int]]:
    """Questions of four words of a message, and that message."""
    chance = random.Random(4)
    rows = db.rows("select id, text from message order by id")
    return [(" ".join(chance.sample(words.split(), 4)), id) for id, words in chance.sample(rows, QUESTIONS)]


def _shown(db: Database, asked: Sequence[tuple[str, int]]) -> set[int]:
    """The messages that the model is shown beside the question about them."""
    here = ToolContext(db, sessions.start(db, HERE, NOW), HERE, lambda: NOW)
    return {
        id
        for words, id in asked
        if any(
            (hit.kind, hit.id) == ("message", id) for hit, _ in prompt_recall.select(here, words, (), logged=False).used
        )
    }


def _find(db: Database, words: str) -> None:
    recall.find(db, words, Filter(PERSON), NOW)


def _sync(db: Database) -> None:
    for _ in documents.sync(db, PERSON, lambda: NOW, documents.SyncResult()):
        pass


def _walk(folder: Path) -> None:
    for at, _, names in os.walk(folder):
        for name in names:
            os.stat(os.path.join(at, name))


def _seconds(work: Callable[[], object]) -> float:
    began = time.perf_counter()
    work()
    return time.perf_counter() - began
