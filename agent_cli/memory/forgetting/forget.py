"""Forgetting: what is named goes with all that came of it, in one transaction, and comes back by no import.

`planned` shows what will go, `erase` deletes it. That the words have left the file too is for evidence.py: deleted
rows stand in the journal until that is emptied, which a job remembers to do.
"""

import json
from collections.abc import Iterable, Sequence
from typing import Any

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory import tombstones
from agent_cli.memory.conversations import log, prompts, rolling_summary, session_notes, sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.documents import document_tombstones
from agent_cli.memory.facts import fact_tests, facts
from agent_cli.memory.forgetting import owned_rows, provenance, skill_unlearning, verbatim_copies
from agent_cli.memory.forgetting.provenance import Named, Walk
from agent_cli.memory.forgetting.verbatim_copies import Echoes
from agent_cli.memory.language.distinctive import Wanted
from agent_cli.memory.planner import notes, schedules
from agent_cli.memory.search import index, recall_log
from agent_cli.memory.skills import skills
from agent_cli.memory.summaries import period_summaries, session_summary, summaries
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen

_EVERY, _PAGES = "all", "pages"  # subjects: the journal, and the words by which an index finds its pages
_ERASED = "(erased)"
_SHOWN = 20


@frozen
class Plan:
    """What will go, to be shown before it does."""

    names: Named
    walk: Walk
    verbatim_copies: Echoes
    wanted: Wanted  # what will be looked for in the files
    counts: dict[str, int]
    lines: Sequence[tuple[str, str, str]]  # (handle, day, words)
    more: int  # lines that are not shown
    version: tuple[int, int]  # of the file, when it was read
    skills: Sequence[str] = ()  # lines about those that go back to an earlier version
    files: Sequence[str] = ()  # sentences about files whose words go
    topic: str = ""

    @property
    def again(self) -> list[str]:
        """The sessions and periods of which the summary is made again."""
        return [*(ids.handle("session", id) for id in self.walk.touched), *self.walk.periods]

    def told(self) -> list[str]:
        """Lines that show it."""
        rows = [f"{handle:<6} {day}  {text.one_line(words, 100)}" for handle, day, words in self.lines]
        more = [f"       and {self.more} more"] if self.more else []
        again = ", ".join(self.again)
        left = [f"{again}: summarised anew from what is left"] if again else []
        for id, stay in self.walk.kept:
            many = text.counted(len(stay), "sentence")
            left.append(f"{ids.handle('summary', id)}: keeps {many} that could not be made again")
        left += [*self.skills, *self.files]
        lose = ", ".join(ids.handle("fact", id) for id in self.walk.losing)
        kept = [f"{lose}: stays, for it has another source, and loses its quote"] if lose else []
        return [*rows, *more, f"to be erased: {self.counted}", *left, *kept]

    @property
    def counted(self) -> str:
        """How many rows of each kind."""
        return ", ".join(f"{many} {name if many > 1 else _one(name)}" for name, many in self.counts.items())

    def described(self) -> dict[str, Any]:
        return {
            "counts": self.counts,
            "rows": [dict(zip(("id", "day", "text"), line, strict=True)) for line in self.lines],
            "more": self.more,
            "summaries_made_again": self.again,
            "summaries_in_part": [ids.handle("summary", id) for id, _ in self.walk.kept],
            "skills": list(self.skills), "files": list(self.files),
        }  # fmt: skip


def _one(name: str) -> str:
    known = {
        "replies": "reply", "summaries": "summary", "errors of jobs": "error of a job",
        "summaries in part": "summary in part", "skills in part": "skill in part",
        "results of tools elsewhere": "result of a tool elsewhere", "calls elsewhere": "call elsewhere",
        "sections of files": "section of a file", "requests of callers": "request of a caller",
        "errors of schedules": "error of a schedule",
    }  # fmt: skip
    return known.get(name, name.removesuffix("s"))


def planned(db: Database, names: Named, topic: str = "") -> Plan:
    """All that goes with what is named. Raises UsageError when it is nothing, or is still being answered."""
    index.refresh_all(db)
    version = db.change_counter()
    walk = provenance.walk(db, names)
    _refuse_unfinished(db, walk)
    repeated, alone = verbatim_copies.find(db, walk, provenance.texts(db, walk), topic, names.owner)
    counts = provenance.counts(db, walk)
    for what, rows in (
        ("prompts", repeated.prompts), ("tests", repeated.tests), ("titles", repeated.titles),
        ("errors of jobs", repeated.errors), ("results of tools elsewhere", repeated.results),
        ("calls elsewhere", repeated.calls), ("errors of schedules", repeated.failures),
        ("openings", (*walk.openings, *repeated.openings)),
    ):  # fmt: skip
        if rows:
            counts[what] = len(set(rows))
    for what, more in (("jottings", repeated.jottings), ("recollections", repeated.recollections)):
        if more:
            counts[what] = counts.get(what, 0) + len(more)
    if not counts:
        about = f" about {topic!r}" if topic else ""
        raise UsageError(f"nothing is remembered{about}: nothing was erased")
    lines = provenance.lines(db, walk, _SHOWN)
    every = len(provenance.lines(db, walk, -1)) if len(lines) == _SHOWN else len(lines)
    return Plan(
        names, walk, repeated, alone, counts, lines, every - len(lines), version, _fallen(db, walk),
        owned_rows.files(db, walk.owned_rows), topic,
    )  # fmt: skip


def _fallen(db: Database, walk: Walk) -> list[str]:
    """What becomes of skills that stay and lose what they learned."""
    told = []
    for id, _, version in walk.skills.back:
        name = db.value("select name from skill where id = ?", (id,))
        told.append(f"{ids.handle('skill', id)} {name}: goes back to version {version}")
    fell = {id for id, _, _ in walk.skills.back}
    for id in walk.skills.losing:
        if id not in fell:
            name = db.value("select name from skill where id = ?", (id,))
            told.append(f"{ids.handle('skill', id)} {name}: loses an earlier version")
    return told


def erase(db: Database, plan: Plan, time: clock.Clock) -> None:
    """Delete all of it, or nothing. Raises UsageError when it has become something else since it was shown."""
    version, repeated = plan.version, plan.verbatim_copies
    if (
        db.change_counter() != version
    ):  # looked for outside of the transaction: where there is much to read it takes seconds
        version = db.change_counter()
        repeated = _repeated(db, plan)
    with db.write():
        walk = provenance.walk(db, plan.names)
        if walk != plan.walk:
            raise UsageError("something was added to it meanwhile: nothing was erased; look at it once more")
        _refuse_unfinished(db, walk)
        if db.change_counter() != version:
            repeated = _repeated(db, plan)  # with what came meanwhile
        tombstones.remember(db, _hashed(db, walk), time(), plan.names.owner)
        files = document_tombstones.hashed(db, walk.owned_rows.sections, walk.owned_rows.documents)
        tombstones.remember(db, files, time())  # whoever's folder it is in: by its path, which all share
        torn = _delete(db, walk, repeated, time)
        index.tidy(db)
        _rebuild(db, walk, plan.names, time)
        tombstones.count_round(db)
        jobs.add(db, tombstones.JOB, _EVERY, time())
        if torn or index.finds_pages_by(db, plan.wanted.words):
            jobs.add(db, tombstones.JOB, _PAGES, time())
        told = walk.handles
        subject = told[0] if told else ""
        events.append(db, time, "forgotten", subject, actor="person")
    index.refresh_all(db)


def _repeated(db: Database, plan: Plan) -> Echoes:
    """The rows that repeat what goes, as they are now."""
    return verbatim_copies.find(db, plan.walk, provenance.texts(db, plan.walk), plan.topic, plan.names.owner)[0]


def waits(db: Database) -> bool:
    """Whether the journal still has to be emptied of what was erased."""
    return jobs.is_pending(db, tombstones.JOB)


def finish(db: Database, time: clock.Clock, patience: float = 2.0) -> bool:
    """Empty the journal; False while another process reads what stood there before."""
    if jobs.is_pending(db, tombstones.JOB, _PAGES):
        index.rewrite(db)
    if not db.truncate_journal(patience):
        return False
    if waits(db):
        jobs.finish_kind(db, tombstones.JOB, time())
        db.truncate_journal(patience)  # of that itself: an empty journal is easier to believe
    return True


def _refuse_unfinished(db: Database, walk: Walk) -> None:
    """A reply that still grows would write on into what is deleted."""
    row = db.row(
        "select session_id from message where finish is null and id in (select value from json_each(?))",
        (_json(walk.messages),),
    )
    if row and sessions.open_by_other(db, row[0]):
        raise UsageError(f"s{row[0]} is being answered in another terminal: stop it there, or wait until it is done")


def _delete(db: Database, walk: Walk, repeated: Echoes, time: clock.Clock) -> bool:
    """Whoever refers to a row goes before it; the index first of all, while it can still be told the very words.

    Whether the index must be written anew.
    """
    recall_log.erase(db, (*walk.recollections, *repeated.recollections))
    session_notes.erase_some(db, (*walk.jottings, *repeated.jottings))
    prompts.erase(db, repeated.prompts)
    fact_tests.erase(db, repeated.tests)
    _delete_facts(db, walk)
    notes.erase(db, walk.notes)
    notes.leave(db, walk.sessions)
    _shorten(db, walk)
    _unlearn(db, walk, time)
    rolling_summary.erase(db, (*walk.sessions, *walk.touched))
    torn = owned_rows.erase(db, walk.owned_rows, walk.messages, walk.sessions)
    index.erase_many(db, "m", walk.messages)
    log.erase(db, walk.messages)
    log.blank(db, repeated.results, repeated.calls, _ERASED)
    sessions.blank_titles(db, repeated.titles)
    sessions.drop_openings(db, (*walk.openings, *repeated.openings))
    sessions.erase(db, walk.sessions)
    jobs.blank_errors(db, repeated.errors)
    schedules.blank_errors(db, repeated.failures)
    return torn


def _shorten(db: Database, walk: Walk) -> None:
    """Summaries go, or keep the sentences that could not be made again."""
    stay = dict(walk.kept)
    summaries.erase(db, [id for id in walk.summaries if id not in stay])
    for id, kept in walk.kept:
        summaries.shorten(db, id, kept)
    summaries.drop_sources(db, provenance.gone(walk))


def _unlearn(db: Database, walk: Walk, time: clock.Clock) -> None:
    """Skills go, or become what they were before."""
    skills.erase(db, walk.skills.erased)
    for id, version, _ in walk.skills.back:
        skill_unlearning.go_back(db, id, version, time)
    skills.drop(db, walk.skills.rows, walk.sessions)


def _delete_facts(db: Database, walk: Walk) -> None:
    """With what a message is found by that they were learned from, when it stays."""
    gone = set(walk.facts)
    learned = {
        message
        for id in walk.facts
        for (message,) in db.rows(
            """select message_id from fact where id = ?1 and message_id is not null
               union select message_id from fact_source where fact_id = ?1""",
            (id,),
        )
    }
    facts.lose_source(db, walk.messages)
    facts.drop_quotes(db, walk.messages)
    index.again(db, "m", sorted(learned - set(walk.messages)))
    facts.erase(db, sorted(gone))


def _rebuild(db: Database, walk: Walk, names: Named, time: clock.Clock) -> None:
    """Drop the jobs about what is gone; those about a session or period that stays begin anew, with what is left of it.

    A job that runs has lost its lease by that, and what it read is not written.
    """
    stay = {ids.handle("session", id): id for id in walk.touched}
    waiting = [
        (kind, subject)
        for kind, subject in db.rows(
            "select kind, subject from job where state <> 'done' and subject in (select value from json_each(?))",
            (_json(list(stay)),),
        )
    ]
    jobs.erase(db, walk.jobs)
    for kind, subject in waiting:
        jobs.add(db, kind, subject, time())
    for handle, id in stay.items():
        if db.value("select 1 from session where id = ? and closed_at is not null and kind = 'chat'", (id,)):
            jobs.add(db, session_summary.JOB, handle, time())
    _rebuild_periods(db, walk, names, time)


def _rebuild_periods(db: Database, walk: Walk, names: Named, time: clock.Clock) -> None:
    """A period that is being summarised just now may have read what is gone, whether it had a summary or none."""
    for id, subject in db.rows(
        "select id, subject from job where kind = ? and state = 'running'", (period_summaries.JOB,)
    ):
        jobs.erase(db, [id])
        jobs.add(db, period_summaries.JOB, subject, time())
    for key in walk.periods:
        period_summaries.queue(db, names.owner, periods.parse(key), time())


def _hashed(db: Database, walk: Walk) -> Iterable[str]:
    """What an import or a model could bring back: messages, notes, statements and their versions."""
    at = "in (select value from json_each(?))"
    yield from (
        tombstones.said(moment, text)
        for moment, text in db.rows(
            f"select at, text from message where text <> '' and id {at}", (_json(walk.messages),)
        )
    )
    for sql, rows in (
        (f"select text from note where id {at}", walk.notes),
        (f"select statement from fact where id {at}", walk.facts),
        (f"select was ->> 'statement' from fact_version where was is not null and fact_id {at}", walk.facts),
        (f"select text from skill where id {at}", provenance.unlearned(walk)),
        (f"select was ->> 'text' from skill_version where was is not null and skill_id {at}", walk.skills.erased),
        (f"select was ->> 'text' from skill_version where id {at}", walk.skills.rows),
    ):
        yield from (text for (text,) in db.rows(sql, (_json(rows),)))


def _json(rows: Sequence[Any]) -> str:
    return json.dumps(rows)
