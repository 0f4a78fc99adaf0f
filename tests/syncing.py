"""Three machines of one person, for the tests of their exchange: what they do by chance, and a post that loses, repeats
and delays what they write. The benchmark `sync` runs the same."""

import random
import re
import shutil
from collections.abc import Iterator
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.facts import adoption, facts
from agent_cli.memory.forgetting import forget, selection
from agent_cli.memory.language.keywords import NO_KEYWORDS
from agent_cli.memory.lifecycle import closing, rewind
from agent_cli.memory.planner import notes, tasks
from agent_cli.memory.proposals import MemoryContext
from agent_cli.memory.search import index
from agent_cli.memory.sync import exchange
from agent_cli.messages import Message, Part
from agent_cli.store import changes, keyed_hash, segments
from tests.conftest import HERE, NOON, empty

KEY = bytes(range(32))


class Machine:
    """A machine with a database, a clock that may be off, and a folder of its own that the post carries from and to."""

    def __init__(self, home: Path, name: str, hours: float = 0.0):
        self.name, self.home, self.root = name, home / name, home / name / "folder"
        self.root.mkdir(parents=True)
        self.now = NOON + timedelta(hours=hours)
        self.db = empty(self.home / "memory.db")
        self.db.execute("pragma synchronous = off")
        self.db.key_folder = self.home / "keys"
        self.db.key_folder.mkdir()
        (self.db.key_folder / "machine").write_text(name)
        keyed_hash.adopt(self.db, KEY)
        changes.turn_on(self.db)

    @property
    def memory(self) -> MemoryContext:
        return MemoryContext(self.db, HERE, self.time)

    def time(self) -> datetime:
        self.now += timedelta(seconds=1)
        return self.now

    def exchange(self) -> exchange.Exchange:
        return exchange.run(self.memory, self.root)

    def ids(self, query: str, *values: Any) -> list[int]:
        return [id for (id,) in self.db.rows(query, values)]

    def rows(self) -> dict[str, Any]:
        """All that goes to other machines, by uid."""
        found = {}
        for name, table in changes.tables().items():
            owned = "owner = 'person'" if "owner" in table.columns else "true"
            uids = [uid for (uid,) in self.db.rows(f"select uid from {name} where {owned}")]
            for uid, data in changes.read(self.db, table, uids).items():
                found[f"{name} {uid}"] = data["columns"] | {"sources": sorted(map(repr, data.get("sources", [])))}
        return found

    def files(self) -> bytes:
        """What stands in the database, its journal and the segments that it wrote."""
        held = [path.read_bytes() for path in self.home.glob("memory.db*")]
        folder = segments.open_folder(self.db, self.root)
        for segment in folder.segments(self.name):
            held += [repr(data).encode() for _, _, data in folder.read(segment)]
        return b"".join(held)


def carry(one: Machine, other: Machine, chance: random.Random | None = None) -> None:
    """Bring what is in one machine's folder to another: what it wrote, or by chance some of all, old or cut short."""
    for path in sorted(one.root.rglob("*.segment")):
        target = other.root / path.relative_to(one.root)
        if target.parent.name == other.name or not (chance or target.parent.name == one.name):
            continue
        what = chance.random() if chance else 1.0
        if what < 0.25:
            continue
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(path, target)
        if what < 0.35:
            target.write_bytes(path.read_bytes()[:-1000])
    if not chance:  # what was merged or cleaned is no longer there
        for path in other.root.rglob("*.segment"):
            source = one.root / path.relative_to(other.root)
            if path.parent.name == one.name and not source.exists():
                path.unlink()


class Life:
    """What a person does by chance on three machines."""

    def __init__(self, home: Path, seed: int):
        self.chance = random.Random(seed)
        self.machines = [Machine(home, name, self.chance.choice((0, -5, 7))) for name in "abc"]
        self.count = 0
        self.erased: set[str] = set()

    def close(self) -> None:
        for each in self.machines:
            each.db.close()

    def word(self) -> str:
        self.count += 1
        return f"Zq{self.count:04}Wort"

    def live(self, steps: int) -> None:
        for _ in range(steps):
            machine = self.chance.choice(self.machines)
            act = self.chance.choices(
                [
                    self.say,
                    self.note,
                    self.edit,
                    self.accept,
                    self.reword,
                    self.forget,
                    self.cut,
                    self.task,
                    self.shut,
                    self.undo,
                    self.meet,
                ],
                [4, 2, 2, 3, 1, 2, 1, 2, 1, 1, 6],
            )[0]
            act(machine)

    def some(self, machine: Machine, table: str, where: str = "true") -> int | None:
        found = machine.ids(f"select id from {table} where {where} order by uid")
        return self.chance.choice(found) if found else None

    def say(self, machine: Machine) -> None:
        session = self.some(machine, "session", "closed_at is null") if self.chance.random() < 0.6 else None
        if session is None:
            session = sessions.start(machine.db, HERE, machine.time())
            sessions.release(machine.db, session)
        words = f"I saw {self.word()} today. It was near {self.word()}."
        asked = log.add_user_message(machine.db, session, HERE, [Part(words, "typed")], machine.time())
        reply = log.open_reply(machine.db, session, HERE, "m", machine.time())
        answer = Message("assistant", f"So {words[6:16]} it was.")
        log.close_reply(machine.db, reply, answer, "stop", log.Usage("m"), machine.time())
        if self.chance.random() < 0.4:
            claim = adoption.claim(f"I like {words[6:16]}", "typed", machine.time(), message=asked, quote=words)
            adoption.add(machine.memory, claim)

    def note(self, machine: Machine) -> None:
        notes.add(machine.db, HERE, f"a note on {self.word()}", machine.time)

    def edit(self, machine: Machine) -> None:
        if id := self.some(machine, "note", "hidden_at is null"):
            note = notes.get(machine.db, id, "person")
            notes.edit(machine.db, note, f"a better note on {self.word()}", "", machine.time)

    def accept(self, machine: Machine) -> None:
        says = self.chance.choice(["I live in {}", "I own a {}", "I live in Graz", "My wife is called {}"])
        adoption.add(machine.memory, adoption.claim(says.format(self.word()), "typed", machine.time()))

    def reword(self, machine: Machine) -> None:
        if id := self.some(machine, "fact", "state = 'accepted' and hidden_at is null"):
            adoption.edit(machine.memory, facts.get(machine.db, id, "person"), f"I own a {self.word()}")

    def forget(self, machine: Machine) -> None:
        table = self.chance.choice(["message", "note", "fact", "task", "session"])
        column = {"fact": "statement", "session": "title"}.get(table, "text")
        if id := self.some(machine, table):
            self._erase(machine, f"{'k' if table == 'skill' else table[0]}{id}", column, table)

    def cut(self, machine: Machine) -> None:
        if id := self.some(machine, "message", "role = 'user' and text like '%today. It%'"):
            self._erase(machine, f"m{id}.{self.chance.choice('12')}", "", "message")

    def _erase(self, machine: Machine, handle: str, column: str, table: str) -> None:
        request = selection.select_by_handle(machine.db, "person", [handle])
        plan = forget.planned(machine.db, request, NO_KEYWORDS)
        texts = [words for _, _, words in plan.lines]
        forget.erase(machine.db, plan, machine.time)
        left = repr(machine.rows())
        self.erased |= {word for words in texts for word in re.findall(r"Zq\w+", words) if word not in left}

    def task(self, machine: Machine) -> None:
        if (id := self.some(machine, "task", "state = 'open' and hidden_at is null")) and self.chance.random() < 0.6:
            tasks.complete(machine.db, tasks.get(machine.db, id, "person"), machine.time)
        else:
            tasks.add(machine.db, HERE, f"see {self.word()}", None, machine.time)

    def shut(self, machine: Machine) -> None:
        if session := self.some(machine, "session", "closed_at is null"):
            closing.close(machine.db, session, machine.time)

    def undo(self, machine: Machine) -> None:
        if id := self.some(machine, "message", "role = 'user' and undone_at is null"):
            rewind.take_back(machine.db, log.session_of(machine.db, id) or 0, "person", id, machine.time)

    def meet(self, machine: Machine) -> None:
        other = self.chance.choice([each for each in self.machines if each is not machine])
        carry(other, machine, self.chance)
        machine.exchange()

    def end(self) -> None:
        """Exchange all with all, until nothing is new."""
        for _ in range(6):
            for machine in self.machines:
                for other in self.machines:
                    if other is not machine:
                        carry(other, machine)
                machine.exchange()

    def faults(self) -> Iterator[str]:
        """What is not the same on all machines, and what came back."""
        first, *others = self.machines
        rows = first.rows()
        for other in others:
            found = other.rows()
            for name in sorted(rows.keys() | found.keys()):
                if rows.get(name) != found.get(name):
                    yield f"{name}: {first.name} {rows.get(name)}, {other.name} {found.get(name)}"
        for machine in self.machines:
            for _ in range(3):
                index.refresh_all(machine.db)
            machine.db.truncate_journal()
            held = machine.files()
            for word in sorted(self.erased):
                if word.encode() in held or word.lower().encode() in held:
                    yield f"{word} is on {machine.name}"
