"""When the days are over: what facts say of ten dates, and what is left of what is forgotten."""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from pathlib import Path

from agent_cli.app.app import App
from agent_cli.memory.facts import facts
from agent_cli.memory.planner import notes
from agent_cli.values import frozen
from benchmarks.life import truths
from benchmarks.life.days import THINGS, Life
from benchmarks.life.lists import Forgotten, contains
from benchmarks.life.person import Person


def forget(life: Life) -> dict[str, int]:
    """Forget what is to be forgotten; how often each telling word is left in the bytes of the file and its journal."""
    app = life.person.app
    for each in truths.FORGOTTEN:
        with suppress(
            UnicodeDecodeError
        ):  # an older version ends with it where a page of its index begins within a letter
            life.person.command(f"/forget {each.topic or _handle(app, each)}", each.words)
    life.person.wait()
    files = [Path(f"{app.path}{end}") for end in ("", "-wal")]
    held = b"\n".join(file.read_bytes() for file in files if file.exists()).lower()
    life.search([("forgotten", question) for each in truths.FORGOTTEN for question in _wordings(each)])
    return {word: held.count(word.encode()) for each in truths.FORGOTTEN for word in each.words}


def _wordings(each: Forgotten) -> list[str]:
    return next(thing for thing in THINGS if thing.key == each.key).wordings["told"]


def _handle(app: App, each: Forgotten) -> str:
    """Of the fact, else the note, else the message in which it was told."""
    holds = next(thing for thing in THINGS if thing.key == each.key).told[0].holds
    known = [fact.handle for fact in facts.listing(app.db, app.scope.owner, 500) if contains(fact.statement, holds)]
    noted = [note.handle for note in notes.listing(app.db, app.scope.owner, 500) if contains(note.text, holds)]
    said = app.db.rows("select 'm' || id from message where role = 'user' and instr(text, ?) order by id", (holds,))
    return [*known, *noted, *(handle for (handle,) in said)][0]


@frozen
class Dated:
    """What facts say of a matter on a date. `wrong`: those that hold at other times."""

    day: str
    matter: str
    holds: str  # what should
    missing: bool
    wrong: Sequence[str]

    @property
    def right(self) -> bool:
        return not self.missing and not self.wrong


def dates(person: Person) -> Iterator[Dated]:
    """Each matter on each of ten dates."""
    for day in truths.DATES:
        listed = person.facts_of(day)
        for period in truths.PERIODS:
            if period.since <= day <= period.until:
                others = {each.holds for each in truths.PERIODS if each.matter == period.matter} - {period.holds, ""}
                missing = bool(period.holds) and not any(contains(each, period.holds) for each in listed)
                wrong = [each for each in listed if any(contains(each, other) for other in others)]
                yield Dated(day, period.matter, period.holds or "nothing", missing, wrong)
