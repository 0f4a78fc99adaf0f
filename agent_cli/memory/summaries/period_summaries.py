"""Makes the summaries of days, weeks, months, quarters and years, each from those of its parts, once it is over. A
closed conversation queues its days, a day its week, and so on; none is made because one is missing, so what was erased
does not come back. A day is made of its conversations, single questions and facts learned. What does not fit the prompt
is left out of the longest sources first."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC, date, datetime, time, timedelta
from itertools import groupby
from operator import itemgetter

from agent_cli import clock, text
from agent_cli.memory import lineage
from agent_cli.memory.conversations import digest, log
from agent_cli.memory.dates import periods
from agent_cli.memory.dates.periods import UNITS, Period
from agent_cli.memory.language import keywords
from agent_cli.memory.scope import PERSON
from agent_cli.memory.summaries import summaries
from agent_cli.memory.summaries.summaries import AskModel, NewSummary, Sentence, Source, Summary
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen

_DETAILS = 300  # characters, of one conversation
_LITTLE = 100  # characters, where only the ids are used
_FACTS = 50  # of one day, the newest; more came from a file
_DAY = timedelta(days=1)
_ONE_SHOTS = {"ask": "single questions", "schedule": "what a schedule ran"}
_DATED = "date(m.at) is not null and m.at >= '0002' and m.at < '9999'"  # years with a day before and after
_HAS_WORDS = f"""m.role in ('user', 'assistant') and m.model <> 'offline' and m.text <> '' and m.finish is not null
    and {_DATED}"""
_SAYS = f"{_HAS_WORDS} and m.undone_at is null"
_ON = "date(m.at, m.utc_offset || ' minutes')"  # local day of the message


@frozen
class Item:
    source: Source
    title: str  # its heading for the model
    text: str
    details: str
    at: str  # when it last changed
    last_at: str  # the last moment it covers
    spoken: bool = False  # whether its lines begin with their speaker

    @property
    def words(self) -> str:
        """Its text without the speakers."""
        return "\n".join(line.partition(": ")[2] for line in self.text.splitlines()) if self.spoken else self.text


def collect_items(db: Database, owner: str, period: Period, characters: int) -> list[Item]:
    """The present sources of a period in order, each conversation at most so many characters."""
    if period.unit != "day":
        found = filter(None, (summaries.of_period(db, owner, each.key) for each in periods.parts(period)))
        return [Item(Source("summary", y.id), y.period, y.text, y.details, y.at, y.started_at) for y in found]
    query = f"""select m.session_id, s.kind, min(m.id), max(m.at), count(*), min(m.at), m.utc_offset
                from message m cross join session s on s.id = m.session_id
                where m.uid >= ? and m.uid < ? and s.owner = ? and s.hidden_at is null and {_SAYS} and {_ON} = ?
                group by m.session_id order by min(m.at), m.session_id"""
    rows = db.rows(query, (*_between(period.first, period.end), owner, period.key))
    items = {row: _session(db, period.first, row, characters) for row in rows}
    chats, one_shots = ([item for row, item in items.items() if (row[1] == "chat") == chat] for chat in (True, False))
    return [*chats, *_without_messages(db, owner, period.first), *one_shots, *_facts(db, owner, period.first)]


def active_days(db: Database, owner: str, first: date, end: date) -> list[date]:
    """The days from `first` up to `end` (exclusive) with messages that are not hidden."""
    query = f"""select distinct {_ON} from message m cross join session s on s.id = m.session_id
                where m.uid >= ? and m.uid < ? and s.owner = ? and s.hidden_at is null and {_SAYS} order by 1"""
    days = map(date.fromisoformat, db.column(query, (*_between(first, end), owner)))
    return [day for day in days if first <= day < end]


def days_of_session(db: Database, session: int, *, undone: bool = False) -> list[tuple[str, date]]:
    """(owner, day) of each day with messages in a session. `undone`: count undone messages too."""
    query = f"""select distinct s.owner, {_ON} from message m join session s on s.id = m.session_id
                where m.session_id = ? and {_HAS_WORDS if undone else _SAYS} order by 2"""
    return [(owner, date.fromisoformat(day)) for owner, day in db.rows(query, (session,))]


def expired_sessions(db: Database, period: Period, sources: Iterable[Source]) -> set[Source]:
    """The sessions among these whose messages of that day were removed by retention, not hidden."""
    sessions = {each.row for each in sources if each.kind == "session"}
    hidden = {id for id in sessions if db.value("select 1 from session where id = ? and hidden_at is not null", (id,))}
    days = {id: [day for _, day in days_of_session(db, id, undone=True)] for id in sessions - hidden}
    return {Source("session", id) for id, spoken in days.items() if period.first not in spoken}


def _session(db: Database, day: date, row: tuple[int, str, int, str, int, str, int], characters: int) -> Item:
    session, kind, first, last_at, count, began, offset = row
    title = _ONE_SHOTS.get(kind) or f"{clock.local(began, offset):%H:%M}, a conversation"
    summary = summaries.of_session(db, session) if kind == "chat" else None
    whole = db.value(f"select count(*) from message m where m.session_id = ? and {_SAYS}", (session,)) == count
    if summary and whole and summary.at >= last_at:
        return Item(Source("session", session), title, summary.text, summary.details, summary.at, last_at)
    spoken = (entry for entry in log.history(db, session, after=first - 1) if log.is_spoken(entry) and entry.finish)
    entries = [entry for entry in spoken if clock.local(entry.at, entry.utc_offset).date() == day]
    extracted = keywords.newest_details((entry.message.text for entry in entries), _DETAILS)
    lines = digest.transcript(entries, characters)
    return Item(Source("session", session), title, lines, extracted, last_at, last_at, spoken=True)


def _without_messages(db: Database, owner: str, day: date) -> list[Item]:
    """The summaries of conversations whose messages were removed by retention."""
    rows = db.rows(
        """select s.id, s.last_at from session s
           where s.owner = ? and s.last_at >= ? and s.last_at < ? and s.hidden_at is null
             and date(s.last_at, s.utc_offset || ' minutes') = ?
             and not exists (select 1 from message where session_id = s.id) order by s.started_at, s.id""",
        (owner, *(clock.utc(_midnight(each)) for each in (day - _DAY, day + 2 * _DAY)), day.isoformat()),
    )
    made = ((id, last_at, summaries.of_session(db, id)) for id, last_at in rows)
    title = "a conversation"
    return [Item(Source("session", id), title, y.text, y.details, y.at, last_at) for id, last_at, y in made if y]


def _facts(db: Database, owner: str, day: date) -> list[Item]:
    """The facts learned that day that were true afterwards and have not been replaced."""
    query = """select id, statement, coalesce(decided_at, learned_at),
                      (select max(at) from fact_version where fact_id = f.id)
               from fact f where owner = ? and state = 'accepted' and hidden_at is null
                 and coalesce(valid_to > coalesce(decided_at, learned_at), true)
                 and session_id is null and operation <> 'delete'
                 and date(coalesce(decided_at, learned_at), utc_offset || ' minutes') = ? order by id desc limit ?"""
    title, found = "learned about the person", reversed(db.rows(query, (owner, day.isoformat(), _FACTS)))
    return [Item(Source("fact", id), title, words, "", max(at, last or at), at) for id, words, at, last in found]


def _between(first: date, end: date) -> tuple[str, str]:
    """The range of uids (which sort by time) created on these days in any time zone."""
    early = max(first, date(1970, 1, 3)) - _DAY
    return ids.lowest(_midnight(early)), ids.lowest(_midnight(max(end, early) + _DAY))


def _midnight(day: date) -> datetime:
    return datetime.combine(day, time(), UTC)


SENTENCES = {"day": 6, "week": 6, "month": 8, "quarter": 8, "year": 10}
DETAILS = {"day": 400, "week": 500, "month": 600, "quarter": 700, "year": 800}  # characters
_MAX_SENTENCE = 300  # characters of an extracted sentence

_INSTRUCTIONS = {
    "day": "Say what happened, whom it was about, and what was learned, decided and left open.",
    "week": "Tell it as a short story from its first day to its last: what began, what went on, how it ended.",
    "month": "Say which themes came up again and again, and which milestones were reached. Leave out what passed.",
    "quarter": "Say which themes lasted, which milestones were reached, and what changed from month to month.",
    "year": "Say what the year was about: its lasting themes, its milestones in their order, and what changed.",
}
_QUESTION = """Summarise {what} of a person and their assistant for the assistant's own memory.
{wanted} At most {most} short sentences, in the language of the texts. Keep names, numbers, dates, preferences and
decisions. State only what is said. No heading, no list, no introduction.

<{unit}>
{sources}
</{unit}>"""


def prompt(period: Period, items: Sequence[Item], characters: int) -> str:
    unit = period.unit
    what = f"the {unit} {period.key}" if unit in ("day", "week") else period.key
    sources = digest.escape_end_tag(_format_sources(items, characters), unit)
    return _QUESTION.format(what=what, wanted=_INSTRUCTIONS[unit], most=SENTENCES[unit], unit=unit, sources=sources)


def extract(period: Period, items: Sequence[Item]) -> str:
    """The sentences with the most frequent words: the best of each source, then the next best."""
    lines = [(n, line) for n, item in enumerate(items) for line in _lines(item)]
    source_of = [n for n, line in lines for _ in text.sentences(line.partition(": ")[2])]
    weighed = digest.sentences("\n".join(line for _, line in lines))
    seen, ranked = Counter[int](), []
    for n, sentence in sorted(zip(source_of, weighed, strict=True), key=lambda each: (-each[1].weight, each[1].place)):
        seen[n] += 1
        ranked.append((seen[n], -sentence.weight, sentence.place, n, sentence))
    best = sorted(sorted(ranked)[: SENTENCES[period.unit]], key=lambda each: each[2])
    words = (digest.narration([each]) if items[n].spoken else each.words for *_, n, each in best)
    return " ".join(text.one_line(each, _MAX_SENTENCE) for each in words)


def _lines(item: Item) -> list[str]:
    if item.spoken:
        return item.text.splitlines()
    return [f"person: {' '.join(each.split())}" for each in text.sentences(item.text)]


def _format_sources(items: Sequence[Item], characters: int) -> str:
    """The sources by their titles; what is too long of them is cut, the same share of each long one."""
    shares, room = dict[int, int](), characters
    for n in sorted(range(len(items)), key=lambda n: len(items[n].text)):
        shares[n] = min(len(items[n].text), room // (len(items) - len(shares)))
        room -= shares[n]
    shortened = [(item.title, digest.shorten(item.text, shares[n])) for n, item in enumerate(items)]
    by_title = groupby(shortened, itemgetter(0))
    return "\n\n".join(f"## {title}\n" + "\n".join(words for _, words in each) for title, each in by_title)


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

    def is_current(self, method: str) -> bool:
        """Whether the earlier summary covers all this, and was made by this method or a better one."""
        earlier = self.earlier
        # An extract made without a model counts less: `model` is set when a model had nothing to say.
        if earlier is None or (method == summaries.MODEL and earlier.method != method and not earlier.model):
            return False
        same = self.known - self.expired == {item.source for item in self.items}
        return same and all(item.at <= earlier.at for item in self.items)


def queue(db: Database, owner: str, period: Period, now: datetime) -> None:
    """Queue the summary of a period, to be made once it is over. Runs in the caller's transaction."""
    turn = timedelta(milliseconds=UNITS.index(period.unit))  # of those ending at one midnight the shortest comes first
    jobs.add(db, JOB, subject(owner, period.key), now, period.ends_at(now) + turn)


def parse_subject(subject: str) -> tuple[str, Period]:
    key, _, owner = subject.partition(" ")
    return owner or PERSON, periods.parse(key)


def subject(owner: str, key: str) -> str:
    return key if owner == PERSON else f"{key} {owner}"


def queue_session(db: Database, session: int, now: datetime) -> None:
    """Queue all days with messages in a session. Runs in the caller's transaction."""
    for owner, day in days_of_session(db, session):
        queue(db, owner, periods.containing(day, "day"), now)


def queue_extracted(db: Database, now: datetime) -> None:
    """Queue the summaries made without a model again: of sessions, then of periods, the shortest first."""
    for owner, key, session in summaries.made_without_model(db):
        if session is None:
            if not jobs.parked_recently(db, JOB, subject(owner, key), now):
                queue(db, owner, periods.parse(key), now)
        elif not jobs.parked_recently(db, summaries.JOB, ids.handle("session", session), now):
            jobs.add(db, summaries.JOB, ids.handle("session", session), now)


def time_to_wait(db: Database, owner: str, period: Period, now: datetime) -> timedelta | None:
    """How long to wait for jobs that make its parts; None when it can be made now."""

    def is_part(key: str) -> bool:
        if period.unit == "day":
            return (owner, period.first) in days_of_session(db, ids.number("session", key))
        whose, other = parse_subject(key)
        return whose == owner and other != period and period.contains(other)

    waiting = jobs.running_or_due(db, summaries.JOB if period.unit == "day" else JOB, now)
    before = [running for key, running in waiting.items() if is_part(key)]
    return (_PAUSE if all(before) else timedelta()) if before else None


def collect(db: Database, owner: str, period: Period, characters: int) -> Material:
    """The material of a summary, with at most so many characters of each conversation."""
    items = tuple(collect_items(db, owner, period, characters))
    earlier = summaries.of_period(db, owner, period.key)
    if earlier is None:
        return Material(owner, period, items, None, frozenset(), frozenset(), ())
    known = frozenset(summaries.sources(db, earlier.id).get(0, ()))
    emptied = expired_sessions(db, period, known - {item.source for item in items}) if period.unit == "day" else set()
    expired = frozenset(emptied | summaries.missing_sources(db, earlier))
    orphaned = tuple(summaries.orphaned_sentences(db, earlier, expired)) if expired else ()
    return Material(owner, period, items, earlier, known, expired, orphaned)


def parts_with_messages(db: Database, owner: str, period: Period) -> list[Period]:
    """The period and all smaller ones in it with messages, the shortest first."""
    days = active_days(db, owner, period.first, period.end)
    parts = periods.with_all(periods.parts, period)
    return [each for each in parts if each == period or any(each.first <= day < each.end for day in days)]


def stream(material: Material, ask: AskModel | None, characters: int) -> Iterator[str]:
    """The words of a summary as they arrive, limited in sentences. Without `ask` it is extracted."""
    period = material.period
    if ask is None:
        yield extract(period, material.items)
        return
    yield from summaries.first_sentences(ask(prompt(period, material.items, characters)), SENTENCES[period.unit])


def compose(material: Material, words: str, method: str, model: str) -> NewSummary:
    """The summary in these words, after the orphaned sentences of the earlier one."""
    words, items, unit = summaries.sensible(words), material.items, material.period.unit
    if not words.strip() and items:  # the model had nothing to say
        words, method = extract(material.period, items), summaries.EXTRACT
    new = summaries.attribute(text.sentences(words)[: SENTENCES[unit]], [(item.source, item.words) for item in items])
    whole, sources = summaries.join_sentences([*dict(material.orphaned).items(), *new])
    present = [item.source for item in items]
    # The earlier details of sources removed by retention; none when others are hidden, as they may be theirs.
    stays = material.earlier and material.expired and material.known <= material.expired.union(present)
    details = [material.earlier.details if material.earlier and stays else ""]
    for item in items:
        details += [item.details, keywords.newest_details([item.words], DETAILS[unit])]
    all_sources = (*sorted(material.expired, key=lambda each: (each.kind, each.row)), *present)
    return NewSummary(whole, keywords.merge_details(details, DETAILS[unit], whole), method, model, sources, all_sources)


def save(db: Database, material: Material, made: NewSummary, time: clock.Clock) -> int:
    """Store a summary, and queue the larger periods. Runs in the caller's transaction."""
    ends = [item.last_at for item in material.items]
    before = [material.earlier.started_at] if material.earlier and material.orphaned else []
    id = summaries.save_period(db, material.owner, material.period, made, max([*ends, *before]), time)
    queue_enclosing(db, material, time())
    return id


def delete(db: Database, material: Material, time: clock.Clock) -> None:
    if material.earlier:
        summaries.drop_sources(db, [Source("summary", material.earlier.id)])
        summaries.erase(db, [material.earlier.id])
        queue_enclosing(db, material, time())


def queue_enclosing(db: Database, material: Material, now: datetime) -> None:
    """Queue the next larger periods. Runs in the caller's transaction."""
    for period in periods.enclosing(material.period):
        queue(db, material.owner, period, now)


# Forgetting. A summary names its sources, so erased rows are followed from a message up to the year. Where retention
# has removed a link, the calendar is used: a message may be in the summary of every period that contains its day.


def _derive(db: Database, walk: lineage.Walk) -> None:
    """Add summaries of sessions that lose messages, those that mention the topic, and those made from erased rows. A
    summary named by its handle is erased completely and not made again; a session is kept when a part of its summary
    is."""
    named, owner = walk["summary"], walk.request.owner
    shorter, of_sessions = {*walk["session"], *walk.staying("session")}, "select id from summary where session_id {ids}"
    mentioned = {*walk.request.mentioned.get("summary", ()), *lineage.column(db, of_sessions, shorter)}
    of_session = "select session_id from summary where session_id is not null and id {ids}"
    about = lineage.column(db, of_session, named)  # the summary of a day has the session as a source
    messages = walk.losing_words("message")
    erased = _sources(session={*shorter, *about}, message=messages, fact=walk["fact"], summary=mentioned | {*named})
    found = derived_from(db, erased)
    days = _of_days(db, owner, messages) - found
    affected = (mentioned | found | days) - {*named}
    whole = {*lineage.column(db, of_sessions, walk.request.rows.get("session", ()))}
    partial = _remaining_sentences(db, walk, affected - whole, {*erased}, days)
    walk.partial["summary"] = dict(partial)
    walk.add("summary", affected - partial.keys())
    walk.removed_texts["summary"] = []
    for id, stay in partial.items():
        words, detail = db.row("select text, details from summary where id = ?", (id,)) or ("", "")
        remaining = {"", *(sentence for sentence, _ in stay)}
        walk.removed_texts["summary"] += [each for each in (*text.sentences(words), detail) if each not in remaining]
    walk.rebuilt_periods.extend(period_keys(db, affected))
    # Queued jobs that would make the named summaries again.
    walk.add("job", [id for id, _, _ in jobs.about(db, [subject(owner, key) for key in period_keys(db, named)])])
    of_named = jobs.about(db, [ids.handle("session", id) for id in about])
    walk.add("job", [id for id, kind, _ in of_named if kind == summaries.JOB])
    staying = {*walk["session"]} & {*lineage.column(db, of_session, walk.staying("summary"))}
    walk.rows["session"] = tuple(id for id in walk["session"] if id not in staying)
    walk.partial["session"] = dict.fromkeys(sorted({*walk.staying("session"), *staying}))


def _erase(db: Database, walk: lineage.Walk, time: clock.Clock) -> None:
    """Erase summaries, or all of their sentences but those that could not be made again."""
    summaries.erase(db, walk["summary"])
    for id, sentences in walk.partial["summary"].items():
        summaries.shorten(db, id, sentences)
    rows = {kind: walk[kind] for kind in ("session", "message", "fact", "summary")}
    summaries.drop_sources(db, _sources(**rows))


_TABLE = lineage.Table(
    "summary",
    line="iif(period = '', '', period || ': ') || text",
    mentions=lineage.mentions_topic("text", "details"),
    dated=False,  # it is erased with its messages
    stated_text=lineage.joined("text", "details"),
    other_texts=("text, details",),
)
LINEAGE = lineage.Owner([_TABLE], _erase, _derive)


def _sources(**rows: Iterable[int]) -> list[Source]:
    return [Source(kind, id) for kind, found in rows.items() for id in found]


def derived_from(db: Database, sources: Iterable[Source]) -> set[int]:
    """The summaries of periods made from these rows, directly or from other summaries."""
    of_periods = "select id from summary where grain <> 'session' and id {ids}"  # others are made from messages only
    found, fresh = set[int](), set(sources)
    while fresh:
        made = set(lineage.column(db, of_periods, summaries.made_from(db, fresh))) - found
        found |= made
        fresh = {Source("summary", id) for id in made}
    return found


def _of_days(db: Database, owner: str, messages: Sequence[int]) -> set[int]:
    """The summaries of all periods that contain the days of these messages."""
    days = lineage.column(db, f"select distinct {_ON} from message m where id {{ids}} and {_DATED}", messages)
    keys = {periods.containing(date.fromisoformat(day), unit).key for day in days for unit in UNITS}
    query = "select id from summary where owner = ? and period in (select value from json_each(?))"
    return set(db.column(query, (owner, sorted(keys))))


def period_keys(db: Database, found: Iterable[int]) -> tuple[str, ...]:
    """The period keys of these summaries, the smallest units first, so that each is made after its parts."""
    keys = lineage.column(db, "select period from summary where grain <> 'session' and id {ids}", sorted(found))
    return tuple(each.key for each in periods.in_order(map(periods.parse, keys)))


def _remaining_sentences(
    db: Database, walk: lineage.Walk, found: Iterable[int], erased: set[Source], unlinked: set[int]
) -> dict[int, tuple[Sentence, ...]]:
    """By summary the sentences to keep of summaries that are erased: their sources were removed by retention. They
    could not be made again, come from none of the `erased` rows, and do not mention the topic nor, in `unlinked`
    summaries, any word of the messages. Sentences without known sources are not kept."""
    mentions_topic = keywords.topic_matcher(walk.request.topic, db.tokens)
    texts = lineage.texts(db, ["select text from message where id {ids}"], walk["message"] if unlinked else ())
    texts += [sentence for cut in walk.partial["message"].values() for sentence in cut.removed.values()]
    words = keywords.SearchTerms(words=frozenset(keywords.distinctive_words(texts)))
    left = dict[int, tuple[Sentence, ...]]()
    for id in sorted(found):
        summary, expired = summaries.get(db, id, walk.request.owner), frozenset[Source]()
        if summary.unit == "day":  # its sessions may exist without messages of that day
            day, named = periods.parse(summary.period), set(summaries.sources(db, id).get(0, ())) - erased
            if expired_sessions(db, day, named):
                expired = collect(db, walk.request.owner, day, _LITTLE).expired
        stay = tuple(
            (sentence, of)
            for sentence, of in summaries.orphaned_sentences(db, summary, expired - erased)
            if of and erased.isdisjoint(of) and not mentions_topic(sentence)
            if id not in unlinked or not words.found_in(keywords.fold(sentence))
        )
        if stay:
            left[id] = stay
    return left
