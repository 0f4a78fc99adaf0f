"""When the days are over: questions about a relative time, and what a session is told that begins after a pause."""

import re
from collections.abc import Iterator
from datetime import date, timedelta

from agent_cli import clock, kinds
from agent_cli.agent import carry_over
from agent_cli.memory.dates import periods
from agent_cli.store.db import Database
from agent_cli.values import frozen
from benchmarks.life.days import DAYS
from benchmarks.life.person import Person, Recalled

AMONG = 3  # the first memories, of which one must lie in the time
ENGLISH = ("What did I do {}?", "what did I tell you {}?", "What did we talk about {}?")
GERMAN = ("Was habe ich {} gemacht?", "Was habe ich dir {} erzählt?", "Worüber haben wir {} gesprochen?")
TIMES = (  # in English, in German, and the days it means on Monday, 10 August 2026
    ("yesterday", "gestern", "2026-08-09", "2026-08-09"),
    ("the day before yesterday", "vorgestern", "2026-08-08", "2026-08-08"),
    ("on Tuesday last week", "am Dienstag letzter Woche", "2026-08-04", "2026-08-04"),
    ("last Friday", "letzten Freitag", "2026-08-07", "2026-08-07"),
    ("three days ago", "vor drei Tagen", "2026-08-07", "2026-08-07"),
    ("last weekend", "letztes Wochenende", "2026-08-08", "2026-08-09"),
    ("last week", "letzte Woche", "2026-08-03", "2026-08-09"),
    ("in the last ten days", "in den letzten zehn Tagen", "2026-07-31", "2026-08-10"),
    ("in the past three weeks", "in den vergangenen drei Wochen", "2026-07-20", "2026-08-10"),
    ("last month", "letzten Monat", "2026-07-01", "2026-07-31"),
    ("in June", "im Juni", "2026-06-01", "2026-06-30"),
    ("in week 28", "in KW 28", "2026-07-06", "2026-07-12"),
    ("on 21 July", "am 21. Juli", "2026-07-21", "2026-07-21"),
    ("two weeks ago", "vor zwei Wochen", "2026-07-20", "2026-08-02"),
    ("a month ago", "vor einem Monat", "2026-07-01", "2026-07-31"),
    ("last quarter", "im letzten Quartal", "2026-04-01", "2026-06-30"),
)

PAUSES = {  # days, and the longer periods of which a session must be told after them
    1: ("Q2 2026", "July 2026", "week from"),
    7: ("Q2 2026", "July 2026", "week from"),
    40: ("Q2 2026", "August 2026", "week from"),
    500: ("2026", "Q3 2026", "August 2026", "week from"),
}
LATEST = 5  # conversations that are told each


@frozen
class Timed:
    """A question about a time, the days it means, and what was recalled for it."""

    question: str
    since: date
    until: date
    days: list[tuple[date, date]]  # of each memory, the best first

    @property
    def right(self) -> bool:
        return any(first >= self.since and last <= self.until for first, last in self.days[:AMONG])


def asked(person: Person) -> Iterator[Timed]:
    """Each time in each wording, asked in turns of a session on the day after the last."""
    person.set_clock(DAYS + 1, 9)
    for english, german, since, until in TIMES:
        for form, words in [(each, english) for each in ENGLISH] + [(each, german) for each in GERMAN]:
            question = form.format(words)
            recalled = [_days(person.app.db, each) for each in person.say(question).recalled]
            yield Timed(question, date.fromisoformat(since), date.fromisoformat(until), recalled)


def _days(db: Database, memory: Recalled) -> tuple[date, date]:
    """The first and the last day that a memory tells of."""
    if memory.kind == "summary" and (key := db.value("select period from summary where id = ?", (memory.row,))):
        period = periods.parse(key)
        return period.first, period.end - timedelta(days=1)
    at = db.value(
        "select at from passage p where p.kind = ? and p.row = ?", (kinds.BY_NAME[memory.kind].letter, memory.row)
    )
    day = clock.from_timestamp(at).date() if at else date.min
    return day, day


@frozen
class Opened:
    """What a session is told that begins after so many days."""

    pause: int
    lines: tuple[str, ...]

    @property
    def right(self) -> bool:
        """Whether it is told of each longer period and of the latest conversations, in whole sentences."""
        *longer, _ = [*self.lines[:-LATEST], ""]
        is_told = all(line.startswith(f"- {name}") for line, name in zip(longer, PAUSES[self.pause], strict=False))
        latest = [line for line in self.lines[-LATEST:] if re.match(r"- \d\d \w+ \d{4} \(s\d+\)", line)]
        is_whole = not any(line.endswith("…") for line in self.lines)
        return is_told and len(longer) == len(PAUSES[self.pause]) and len(latest) == LATEST and is_whole


def opened(person: Person) -> Iterator[Opened]:
    """The opening of a session after each pause, when the program has done its work."""
    person.leave()
    for pause in PAUSES:
        person.set_clock(DAYS + pause, 9)
        person.wait()
        opening, _ = carry_over.compose(person.app.db, person.app.scope, person.app.time(), everywhere=True)
        yield Opened(pause, opening.summaries)
