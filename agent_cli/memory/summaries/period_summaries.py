"""Makes the summaries of days, weeks, months, quarters and years, each from those of its parts.

They are made by events, never because one is missing: a closed conversation queues its days, a day its week, and so on
up to the year, each once it is over. So what a person erased does not come back. A summary is made again when its
sources have changed, and only then is a model asked.
"""

from collections.abc import Iterator
from datetime import datetime, timedelta

from agent_cli import text
from agent_cli.clock import Clock
from agent_cli.memory.dates import periods
from agent_cli.memory.dates.periods import UNITS, Period
from agent_cli.memory.language import keywords
from agent_cli.memory.scope import PERSON
from agent_cli.memory.summaries import attribution, period_prompts, period_sources, session_summary, summaries
from agent_cli.memory.summaries.period_prompts import DETAILS, SENTENCES
from agent_cli.memory.summaries.period_sources import Item
from agent_cli.memory.summaries.session_summary import AskModel
from agent_cli.memory.summaries.summaries import NewSummary, Source, Summary
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen

JOB = "grain"
_PAUSE = timedelta(seconds=30)  # while another process makes one of its parts


@frozen
class Material:
    """Everything a summary of a period is made from, with the earlier summary. Equal when nothing has changed."""

    owner: str
    period: Period
    items: tuple[Item, ...]
    earlier: Summary | None
    known: frozenset[Source]  # sources of the earlier summary
    expired: frozenset[Source]  # those of `known` removed by retention
    orphaned: tuple[tuple[str, tuple[Source, ...]], ...]  # sentences of the earlier summary without remaining sources

    @property
    def empty(self) -> bool:
        return not self.items and not self.orphaned

    def is_current(self, method: str) -> bool:
        """Whether the earlier summary covers all this, and was made by this method or a better one."""
        if self.earlier is None:
            return False
        if method == summaries.MODEL and self.earlier.method != method and not self.earlier.model:
            return False  # an extract made without a model: `model` is set when a model had nothing to say
        same = self.known - self.expired == {item.source for item in self.items}
        return same and all(item.at <= self.earlier.at for item in self.items)


def queue(db: Database, owner: str, period: Period, now: datetime) -> None:
    """Queue the summary of a period, to be made once it is over. Runs in the caller's transaction."""
    turn = timedelta(
        milliseconds=UNITS.index(period.unit)
    )  # of periods ending at one midnight the shortest comes first
    jobs.add(db, JOB, _subject(owner, period), now, period.ends_at(now) + turn)


def parse_subject(subject: str) -> tuple[str, Period]:
    """The owner and period of a job."""
    key, _, owner = subject.partition(" ")
    return owner or PERSON, periods.parse(key)


def _subject(owner: str, period: Period) -> str:
    return period.key if owner == PERSON else f"{period.key} {owner}"


def queue_session(db: Database, session: int, now: datetime) -> None:
    """Queue all days with messages in a session. Runs in the caller's transaction."""
    for owner, day in period_sources.days_of_session(db, session):
        queue(db, owner, periods.containing(day, "day"), now)


def queue_extracted(db: Database, now: datetime) -> None:
    """Queue the summaries made without a model again, the shortest periods first."""
    found = [(periods.parse(key), owner) for owner, key, session in summaries.made_without_model(db) if session is None]
    for period, owner in sorted(found, key=lambda each: UNITS.index(each[0].unit)):
        if not jobs.parked_recently(db, JOB, _subject(owner, period), now):
            queue(db, owner, period, now)


def time_to_wait(db: Database, owner: str, period: Period, now: datetime) -> timedelta | None:
    """How long to wait for jobs that make its parts; None when it can be made now."""
    if period.unit == "day":
        waiting = jobs.running_or_due(db, session_summary.JOB, now)
        before = [
            running
            for subject, running in waiting.items()
            if (owner, period.first) in period_sources.days_of_session(db, ids.number("session", subject))
        ]
    else:
        others = {parse_subject(subject): running for subject, running in jobs.running_or_due(db, JOB, now).items()}
        before = [
            running
            for (whose, other), running in others.items()
            if whose == owner and other != period and period.contains(other)
        ]
    return (_PAUSE if all(before) else timedelta()) if before else None


def postpone(db: Database, owner: str, period: Period, now: datetime, pause: timedelta) -> None:
    """Queue it again after a pause. Runs in the caller's transaction."""
    jobs.add(db, JOB, _subject(owner, period), now, now + pause)


def collect(db: Database, owner: str, period: Period, characters: int) -> Material:
    """The material of a summary, with at most so many characters of each conversation."""
    items = tuple(period_sources.collect(db, owner, period, characters))
    earlier = summaries.of_period(db, owner, period.key)
    if earlier is None:
        return Material(owner, period, items, None, frozenset(), frozenset(), ())
    known = frozenset(summaries.sources(db, earlier.id).get(0, ()))
    missing = known - {item.source for item in items}
    emptied = period_sources.expired_sessions(db, period, list(missing)) if period.unit == "day" and missing else set()
    expired = frozenset(emptied | summaries.missing_sources(db, earlier))
    orphaned = tuple(summaries.orphaned_sentences(db, earlier, expired)) if expired else ()
    return Material(owner, period, items, earlier, known, expired, orphaned)


def parts_with_messages(db: Database, owner: str, period: Period) -> list[Period]:
    """The period and all smaller ones in it with messages, the shortest first."""
    days = period_sources.days(db, owner, period.first, period.end)
    return [
        each
        for each in periods.all_parts(period)
        if each == period or any(each.first <= day < each.end for day in days)
    ]


def stream(material: Material, ask: AskModel | None, characters: int) -> Iterator[str]:
    """The words of a summary as they arrive, limited in sentences. Without `ask` it is extracted."""
    period = material.period
    if ask is None:
        yield period_prompts.extract(period, material.items)
        return
    question = period_prompts.prompt(period, material.items, characters)
    yield from session_summary.first_sentences(ask(question), SENTENCES[period.unit])


def compose(material: Material, words: str, method: str, model: str) -> NewSummary:
    """The summary in these words, after the orphaned sentences of the earlier one."""
    if not words.strip() and material.items:  # the model had nothing to say
        words, method = period_prompts.extract(material.period, material.items), summaries.EXTRACT
    new = text.sentences(words)[: SENTENCES[material.period.unit]]
    found = attribution.sources(new, [(item.source, item.words) for item in material.items])
    whole, sources = summaries.join_sentences([*dict(material.orphaned).items(), *zip(new, found, strict=True)])
    before = [_orphaned_details(material)]
    return NewSummary(
        whole,
        keywords.merge_details([*before, *(item.details for item in material.items)], DETAILS[material.period.unit]),
        method,
        model,
        sources,
        (*sorted(material.expired, key=lambda each: (each.kind, each.row)), *(item.source for item in material.items)),
    )


def _orphaned_details(material: Material) -> str:
    """The earlier details of sources removed by retention; when others are hidden, only those in orphaned sentences."""
    if material.earlier is None or not material.expired:
        return ""
    if material.known <= material.expired | {item.source for item in material.items}:
        return material.earlier.details
    sentences = " ".join(words for words, _ in material.orphaned)
    return "; ".join(each for each in keywords.split_details(material.earlier.details) if each in sentences)


def save(db: Database, material: Material, made: NewSummary, time: Clock) -> int:
    """Store a summary, and queue the larger periods. Runs in the caller's transaction."""
    ends = [item.last_at for item in material.items]
    before = [material.earlier.started_at] if material.earlier and material.orphaned else []
    id = summaries.save_period(db, material.owner, material.period, made, max([*ends, *before]), time)
    queue_enclosing(db, material, time())
    return id


def delete(db: Database, material: Material, time: Clock) -> None:
    """Erase the summary of a period without sources. Runs in the caller's transaction."""
    if material.earlier:
        summaries.drop_sources(db, [Source("summary", material.earlier.id)])
        summaries.erase(db, [material.earlier.id])
        queue_enclosing(db, material, time())


def queue_enclosing(db: Database, material: Material, now: datetime) -> None:
    """Queue the next larger periods. Runs in the caller's transaction."""
    for period in periods.enclosing(material.period):
        queue(db, material.owner, period, now)
