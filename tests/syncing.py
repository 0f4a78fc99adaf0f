"""Three machines of one person, for the tests of their exchange: what they do by chance, and a post that loses, repeats
and delays what they write. The benchmark `sync` runs the same."""

import os
import random
import re
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
from agent_cli.store import changes, ids, keyed_hash, segments
from tests.conftest import HERE, NOON, empty

KEY = bytes(range(32))


class Machine:
    """A machine with a database, a clock that may be off, and a folder of its own that the post carries from and to."""

    def __init__(self, home: Path, name: str, hours: float = 0.0, *, file: bool = True):
        self.name, self.home, self.root = name, home / name, home / name / "folder"
        self.root.mkdir(parents=True)
        self.now, self.erased = NOON + timedelta(hours=hours), set[str]()  # words that were erased on it
        self.db = empty(self.home / "memory.db" if file else ":memory:")
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
    key = keyed_hash.name_of(KEY)
    for folder in os.scandir(one.root / key) if (one.root / key).exists() else ():
        if folder.name == other.name or not (chance or folder.name == one.name):
            continue
        target = other.root / key / folder.name
        target.mkdir(parents=True, exist_ok=True)
        there = {each.name for each in os.scandir(folder) if each.name.endswith(".segment")}
        for name in there:
            what = chance.random() if chance else 1.0
            if what >= 0.25:
                (target / name).unlink(missing_ok=True)
                os.link(Path(folder, name), target / name)
            if 0.25 <= what < 0.35:
                whole = (target / name).read_bytes()
                (target / name).unlink()
                (target / name).write_bytes(whole[:-1000])
        if not chance:  # what was merged or cleaned is no longer there
            for each in os.scandir(target):
                if each.name not in there:
                    os.unlink(each)


class Life:
    """What a person does by chance on three machines."""

    def __init__(self, home: Path, seed: int, *, file: bool):
        self.chance = random.Random(seed)
        self.machines = [Machine(home, name, self.chance.choice((0, -5, 7, 300)), file=file) for name in "abc"]
        self.count, self.returned = 0, list[str]()

    def leave(self) -> None:
        for each in self.machines:
            each.db.close()

    def word(self) -> str:
        self.count += 1
        return f"Zq{self.count:04}Wort"

    def live(self, steps: int) -> None:
        acts = {self.say: 4, self.accept: 3, self.note: 2, self.edit: 2, self.task: 2, self.meet: 8}
        acts |= dict.fromkeys([self.reword, self.forget, self.cut, self.close, self.undo, self.learn], 1)
        for act in self.chance.choices([*acts], [*acts.values()], k=steps):
            act(self.chance.choice(self.machines))

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
            self.learn(machine, asked)

    def learn(self, machine: Machine, message: int | None = None) -> None:
        """A fact from a message, which another machine may have sent."""
        if message := message or self.some(machine, "message", "role = 'user' and text like 'I saw Zq%'"):
            quote = str(machine.db.value("select text from message where id = ?", (message,)))
            claim = adoption.claim(f"I like {quote[6:16]}", "typed", machine.time(), message=message, quote=quote)
            adoption.add(machine.memory, claim)

    def note(self, machine: Machine) -> None:
        words = self.chance.choice([self.word(), self.word(), "what was noted elsewhere as well"])
        notes.add(machine.db, HERE, f"a note on {words}", machine.time)

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
        table = self.chance.choice(["message", "note", "fact", "task", "session", "summary"])
        if id := self.some(machine, table):
            self._erase(machine, ids.handle(table, id))

    def cut(self, machine: Machine) -> None:
        if id := self.some(machine, "message", "role = 'user' and text like '%today. It%'"):
            self._erase(machine, f"m{id}.{self.chance.choice('12')}")

    def _erase(self, machine: Machine, handle: str) -> None:
        request = selection.select_by_handle(machine.db, "person", [handle])
        plan = forget.planned(machine.db, request, NO_KEYWORDS)
        texts = [words for _, _, words in plan.lines]
        forget.erase(machine.db, plan, machine.time)
        left = repr(machine.rows())
        machine.erased |= {word for words in texts for word in re.findall(r"Zq\w+", words) if word not in left}

    def task(self, machine: Machine) -> None:
        if (id := self.some(machine, "task", "state = 'open' and hidden_at is null")) and self.chance.random() < 0.6:
            tasks.complete(machine.db, tasks.get(machine.db, id, "person"), machine.time)
        else:
            tasks.add(machine.db, HERE, f"see {self.word()}", None, machine.time)

    def close(self, machine: Machine) -> None:
        if session := self.some(machine, "session", "closed_at is null"):
            closing.close(machine.db, session, machine.time)

    def undo(self, machine: Machine) -> None:
        if id := self.some(machine, "message", "role = 'user' and undone_at is null"):
            rewind.take_back(machine.db, log.session_of(machine.db, id) or 0, "person", id, machine.time)

    def meet(self, machine: Machine) -> None:
        other = self.chance.choice([each for each in self.machines if each is not machine])
        carry(other, machine, self.chance)
        machine.exchange()
        rows = repr(machine.rows())
        self.returned += [f"{word} came back to {machine.name}" for word in sorted(machine.erased) if word in rows]

    def end(self) -> None:
        """Exchange all with all, until nothing is new."""
        quiet = 0
        for turn in range(40):
            machine = self.machines[turn % 3]
            for other in self.machines:
                if other is not machine:
                    carry(other, machine)
            done = machine.exchange()
            quiet = 0 if done.sent or done.left else quiet + 1
            if quiet == 3:
                return
        raise AssertionError("the machines never agree")

    def faults(self) -> Iterator[str]:
        """What is not the same on all machines, and what came back."""
        yield from self.returned
        first, *others = self.machines
        rows, erased = first.rows(), sorted(set.union(*(each.erased for each in self.machines)))
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
            for word in erased:
                if word.encode() in held or word.lower().encode() in held:
                    yield f"{word} is on {machine.name}"


def interleavings(home: Path, seed: int, count: int, *, file: bool = False) -> list[str]:
    """Live so many stretches, all exchanging with all after each; gives what is wrong in the end."""
    life = Life(home, seed, file=file)
    for _ in range(count):
        life.live(3)
        life.end()
    found = [*life.faults()]
    life.leave()
    return found
