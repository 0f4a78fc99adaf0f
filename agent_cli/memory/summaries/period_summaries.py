"""Summaries of days, weeks, months, quarters and years: each made of the finer one below it.

They are made by events, never because one is missing: a conversation that ended has its days made, a day its week, and
so on up to the year, each once it is over. So what a person erased does not come back by itself. One whose source has
changed is made anew, and a model is asked only when something has.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from agent_cli import text
from agent_cli.clock import Clock
from agent_cli.memory.dates import periods
from agent_cli.memory.dates.periods import UNITS, Period
from agent_cli.memory.language import attribution, details
from agent_cli.memory.scope import PERSON
from agent_cli.memory.summaries import period_prompts, period_sources, session_summary, summaries
from agent_cli.memory.summaries.period_prompts import DETAILS, SENTENCES
from agent_cli.memory.summaries.period_sources import Item
from agent_cli.memory.summaries.session_summary import Ask
from agent_cli.memory.summaries.summaries import NewSummary, Source, Summary
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen

JOB = "grain"
_PAUSE = timedelta(seconds=30)  # while another process makes what it is made of


@frozen
class Material:
    """All that the summary of a period is made from, and what it was before. Equal when nothing has changed."""

    owner: str
    period: Period
    items: tuple[Item, ...]
    earlier: Summary | None
    known: frozenset[Source]  # what the earlier one was made from
    expired: frozenset[Source]  # of these what retention has taken
    orphaned: tuple[tuple[str, tuple[Source, ...]], ...]  # the sentences that only the earlier one still has

    @property
    def empty(self) -> bool:
        return not self.items and not self.orphaned

    def is_current(self, method: str) -> bool:
        """Whether the earlier one says all this already, and was made no worse than by this method."""
        if self.earlier is None:
            return False
        if method == summaries.MODEL and self.earlier.method != method and not self.earlier.model:
            return False  # an extract, and not for want of words: a model that had none is named beside it
        same = self.known - self.expired == {item.source for item in self.items}
        return same and all(item.at <= self.earlier.at for item in self.items)


def queue(db: Database, owner: str, period: Period, now: datetime) -> None:
    """Have the summary of a period made (anew) once it is over. Runs in the caller's transaction."""
    turn = timedelta(milliseconds=UNITS.index(period.unit))  # of those that end at one midnight the finest comes first
    jobs.add(db, JOB, _subject(owner, period), now, period.ends_at(now) + turn)


def told(subject: str) -> tuple[str, Period]:
    """The owner and period that a job is about."""
    key, _, owner = subject.partition(" ")
    return owner or PERSON, periods.parse(key)


def _subject(owner: str, period: Period) -> str:
    return period.key if owner == PERSON else f"{period.key} {owner}"


def queue_session(db: Database, session: int, now: datetime) -> None:
    """Have all days made on which something was said in a session. Runs in the caller's transaction."""
    for owner, day in period_sources.days_of(db, session):
        queue(db, owner, periods.containing(day, "day"), now)


def queue_extracted(db: Database, now: datetime) -> None:
    """Have those that were made without a model made again, the finest first."""
    found = [(periods.parse(key), owner) for owner, key, session in summaries.made_without_model(db) if session is None]
    for period, owner in sorted(found, key=lambda each: UNITS.index(each[0].unit)):
        if not jobs.parked_recently(db, JOB, _subject(owner, period), now):
            queue(db, owner, period, now)


def too_early(db: Database, owner: str, period: Period, now: datetime) -> timedelta | None:
    """How long to wait while what it is made of is about to be made by a job of its own; None: it can be made now."""
    if period.unit == "day":
        waiting = jobs.running_or_due(db, session_summary.JOB, now)
        before = [
            running
            for subject, running in waiting.items()
            if (owner, period.first) in period_sources.days_of(db, ids.number("session", subject))
        ]
    else:
        others = {told(subject): running for subject, running in jobs.running_or_due(db, JOB, now).items()}
        before = [
            running
            for (whose, other), running in others.items()
            if whose == owner and other != period and period.contains(other)
        ]
    return (_PAUSE if all(before) else timedelta()) if before else None


def put_off(db: Database, owner: str, period: Period, now: datetime, pause: timedelta) -> None:
    """Have it made behind all that is due by then. Runs in the caller's transaction."""
    jobs.add(db, JOB, _subject(owner, period), now, now + pause)


def read(db: Database, owner: str, period: Period, characters: int) -> Material:
    """What there is to make a summary from; of a conversation at most so many characters."""
    items = tuple(period_sources.of(db, owner, period, characters))
    earlier = summaries.of_period(db, owner, period.key)
    if earlier is None:
        return Material(owner, period, items, None, frozenset(), frozenset(), ())
    known = frozenset(summaries.sources(db, earlier.id).get(0, ()))
    missing = known - {item.source for item in items}
    taken = period_sources.taken(db, period, list(missing)) if period.unit == "day" and missing else set()
    lost = frozenset(taken | summaries.missing_sources(db, earlier))
    outlived = tuple(summaries.orphaned_sentences(db, earlier, lost)) if lost else ()
    return Material(owner, period, items, earlier, known, lost, outlived)


def parts(db: Database, owner: str, period: Period) -> list[Period]:
    """It and all that it is made of in which something was said, the finest first."""
    days = period_sources.days(db, owner, period.first, period.end)
    return [
        each
        for each in periods.all_parts(period)
        if each == period or any(each.first <= day < each.end for day in days)
    ]


def stream(material: Material, ask: Ask | None, characters: int) -> Iterator[str]:
    """The words of a summary as they come, at most its number of sentences. `ask` None extracts instead."""
    period = material.period
    if ask is None:
        yield period_prompts.extract(period, material.items)
        return
    question = period_prompts.question(period, material.items, characters)
    yield from session_summary.beginning(ask(question), SENTENCES[period.unit])


def make(material: Material, words: str, method: str, model: str) -> NewSummary:
    """The summary in these words, behind the sentences that have outlived their sources."""
    if not words.strip() and material.items:  # the model had nothing to say
        words, method = period_prompts.extract(material.period, material.items), summaries.EXTRACT
    new = text.sentences(words)[: SENTENCES[material.period.unit]]
    found = attribution.sources(new, [(item.source, item.words) for item in material.items])
    whole, sources = summaries.join_sentences([*dict(material.orphaned).items(), *zip(new, found, strict=True)])
    before = [_details_left(material)]
    return NewSummary(
        whole,
        details.merge([*before, *(item.details for item in material.items)], DETAILS[material.period.unit]),
        method, model, sources,
        (*sorted(material.expired, key=lambda each: (each.kind, each.row)), *(item.source for item in material.items)),
    )  # fmt: skip


def _details_left(material: Material) -> str:
    """Those of what retention took; when something was hidden too, only those that stand in a sentence that is left."""
    if material.earlier is None or not material.expired:
        return ""
    if material.known <= material.expired | {item.source for item in material.items}:
        return material.earlier.details
    told = " ".join(words for words, _ in material.orphaned)
    return "; ".join(each for each in details.split(material.earlier.details) if each in told)


def keep(db: Database, material: Material, made: NewSummary, time: Clock) -> int:
    """Store what was made, and have made what is made of it. Runs in the caller's transaction."""
    told = [item.last_at for item in material.items]
    before = [material.earlier.started_at] if material.earlier and material.orphaned else []
    id = summaries.save_period(db, material.owner, material.period, made, max([*told, *before]), time)
    queue_coarser(db, material, time())
    return id


def drop(db: Database, material: Material, time: Clock) -> None:
    """Erase the summary of a period of which nothing is left. Runs in the caller's transaction."""
    if material.earlier:
        summaries.drop_sources(db, [Source("summary", material.earlier.id)])
        summaries.erase(db, [material.earlier.id])
        queue_coarser(db, material, time())


def queue_coarser(db: Database, material: Material, now: datetime) -> None:
    """Have those made that are made of this one. Runs in the caller's transaction."""
    for period in periods.enclosing(material.period):
        queue(db, material.owner, period, now)
