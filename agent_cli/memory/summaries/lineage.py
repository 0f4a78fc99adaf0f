"""The lineage of summaries: which ones contain erased rows, and which of their sentences may stay.

A summary names its sources, so erased rows are followed from a message up to the year. Where retention has removed a
link, the calendar is used: a message may be in the summary of every period that contains its day.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import date

from agent_cli import clock, text
from agent_cli.memory import lineage
from agent_cli.memory.dates import periods
from agent_cli.memory.language import keywords
from agent_cli.memory.language.keywords import SearchTerms
from agent_cli.memory.lineage import Owner, Table, Walk
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.memory.summaries.summaries import Sentence, Source
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database

_LITTLE = 100  # characters of each session: only their ids are used

_TABLES = (
    Table(
        "summary",
        line="iif(period = '', '', period || ': ') || text",
        mentions=lineage.mentions_topic("text", "details"),
        dated=False,  # it is erased with its messages
        stated_text=lineage.joined("text", "details"),
        other_texts=("text, details",),
    ),
)


def _derive(db: Database, walk: Walk) -> None:
    """Add summaries of sessions that lose messages, those that mention the topic, and those made from erased rows. A
    summary named by its handle is erased completely and not made again; a session is kept when a part of its summary
    is."""
    named = walk["summary"]
    shorter, of_sessions = {*walk["session"], *walk.staying("session")}, "select id from summary where session_id {ids}"
    mentioned = {*walk.request.mentioned.get("summary", ()), *lineage.column(db, of_sessions, shorter)}
    of_session = "select session_id from summary where session_id is not null and id {ids}"
    about = lineage.column(db, of_session, named)  # the summary of a day has the session as a source
    erased = _sources({*shorter, *about}, walk.losing_words("message"), walk["fact"], mentioned | {*named})
    found = derived_from(db, erased)
    days = for_days(db, walk.request.owner, walk.losing_words("message")) - found
    affected = (mentioned | found | days) - {*named}
    whole = {*lineage.column(db, of_sessions, walk.request.rows.get("session", ()))}
    partial = orphaned_sentences(db, walk.request.owner, affected - whole, erased, _mentions(db, walk, days))
    walk.partial["summary"] = dict(partial)
    walk.add("summary", affected - partial.keys())
    walk.removed_texts["summary"] = [each for id, stay in partial.items() for each in _removed_texts(db, id, stay)]
    walk.rebuilt_periods.extend(period_keys(db, affected))
    # Queued jobs that would make the named summaries again.
    remade = [period_summaries.subject(walk.request.owner, key) for key in period_keys(db, named)]
    walk.add("job", [id for id, _, _ in jobs.about(db, remade)])
    remade = [ids.handle("session", id) for id in about]
    walk.add("job", [id for id, kind, _ in jobs.about(db, remade) if kind == summaries.JOB])
    staying = {*walk["session"]} & {*lineage.column(db, of_session, walk.staying("summary"))}
    walk.rows["session"] = tuple(id for id in walk["session"] if id not in staying)
    walk.partial["session"] = dict.fromkeys(sorted({*walk.staying("session"), *staying}))


def _erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    """Erase summaries, or all of their sentences but those that could not be made again."""
    summaries.erase(db, walk["summary"])
    for id, sentences in walk.partial["summary"].items():
        summaries.shorten(db, id, sentences)
    rows = _sources(walk["session"], walk["message"], walk["fact"], walk["summary"])
    summaries.drop_sources(db, rows)


SUMMARIES = Owner(_TABLES, _erase, _derive)


def _sources(*rows: Iterable[int]) -> list[Source]:
    kinds = ("session", "message", "fact", "summary")
    return [Source(kind, id) for kind, found in zip(kinds, rows, strict=False) for id in found]


def _mentions(db: Database, walk: Walk, unlinked: set[int]) -> Callable[[int, str], bool]:
    """A test whether a sentence of a summary mentions the topic, or (in `unlinked` ones) any word of the messages."""
    mentions_topic = keywords.topic_matcher(walk.request.topic, db.tokens)
    texts = lineage.texts(db, ["select text from message where id {ids}"], walk["message"] if unlinked else ())
    texts += [sentence for cut in walk.partial["message"].values() for sentence in cut.removed.values()]
    words = SearchTerms(words=frozenset(keywords.distinctive_words(texts)))
    return lambda id, sentence: (
        mentions_topic(sentence) or (id in unlinked and bool(words.found_in(keywords.fold(sentence))))
    )


def _removed_texts(db: Database, id: int, stay: Sequence[Sentence]) -> list[str]:
    words, details = db.row("select text, details from summary where id = ?", (id,)) or ("", "")
    remaining = {sentence for sentence, _ in stay}
    return [each for each in (*text.sentences(words), details) if each and each not in remaining]


def derived_from(db: Database, sources: Iterable[Source]) -> set[int]:
    """The summaries of periods made from these rows, directly or from other summaries."""
    of_periods = "select id from summary where grain <> 'session' and id {ids}"  # others are made from messages only
    found, fresh = set[int](), set(sources)
    while fresh:
        made = set(lineage.column(db, of_periods, summaries.made_from(db, fresh))) - found
        found |= made
        fresh = {Source("summary", id) for id in made}
    return found


def for_days(db: Database, owner: str, messages: Sequence[int]) -> set[int]:
    """The summaries of all periods that contain the days of these messages."""
    days = lineage.rows(
        db,
        """select distinct date(at, utc_offset || ' minutes') from message
           where id {ids} and date(at) is not null and at >= '0002' and at < '9999'""",
        messages,
    )
    keys = {periods.containing(date.fromisoformat(day), unit).key for (day,) in days for unit in periods.UNITS}
    query = "select id from summary where owner = ? and period in (select value from json_each(?))"
    return {id for (id,) in db.rows(query, (owner, sorted(keys)))}


def period_keys(db: Database, found: Iterable[int]) -> tuple[str, ...]:
    """The period keys of these summaries, the smallest units first, so that each is made after its parts."""
    rows = lineage.rows(db, "select period from summary where grain <> 'session' and id {ids}", sorted(found))
    return tuple(each.key for each in periods.in_order(periods.parse(key) for (key,) in rows))


def orphaned_sentences(
    db: Database,
    owner: str,
    found: Iterable[int],
    erased: Iterable[Source],
    mentions_erased: Callable[[int, str], bool],
) -> dict[int, tuple[Sentence, ...]]:
    """By summary the sentences to keep of summaries that are erased: their sources were removed by retention. They
    could not be made again, and come from none of the `erased` rows. `mentions_erased`: whether a sentence mentions
    them nevertheless. Sentences without known sources are not kept."""
    left, erased_sources = dict[int, tuple[Sentence, ...]](), set(erased)
    for id in sorted(found):
        if (summary := summaries.get(db, id, owner)) is None:
            continue
        expired = frozenset[Source]()
        if summary.unit == "day":  # its sessions may exist without messages of that day
            day, named = periods.parse(summary.period), set(summaries.sources(db, id).get(0, ())) - erased_sources
            if period_summaries.expired_sessions(db, day, named):
                expired = period_summaries.collect(db, owner, day, _LITTLE).expired
        sentences = summaries.orphaned_sentences(db, summary, expired - erased_sources)
        from_others = [(words, of) for words, of in sentences if of and erased_sources.isdisjoint(of)]
        if stay := tuple(each for each in from_others if not mentions_erased(id, each[0])):
            left[id] = stay
    return left
