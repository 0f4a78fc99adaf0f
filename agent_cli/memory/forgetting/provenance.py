"""From what is named to all that came of it: a message leads to its exchange, that to the facts and skills learned from
it, to the summary of its session and on to those of its day up to its year, to what was recalled of it and to the jobs
about it. What is no conversation, as tasks and sections of files, is walked in owned_rows.py.

Nothing is changed here: `walk` gives the numbers of rows, so that they can be shown before they go.
"""

import json
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import field

from agent_cli import kinds, text
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.forgetting import owned_rows, skill_unlearning
from agent_cli.memory.forgetting.owned_rows import Belongings
from agent_cli.memory.forgetting.skill_unlearning import Unlearned
from agent_cli.memory.language import distinctive, terms
from agent_cli.memory.language.distinctive import Wanted
from agent_cli.memory.scope import PERSON
from agent_cli.memory.summaries import session_summary, summary_lineage
from agent_cli.memory.summaries.summaries import Sentence, Source
from agent_cli.store import ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen

Ids = owned_rows.Ids

_NAMED = ("session", "message", "note", "fact", "summary", "skill")
_KEPT = {"task": "tasks", "section": "sections", "schedule": "schedules"}  # among Belongings


@frozen
class Named:
    """What the person wants erased, by the numbers of its rows."""

    sessions: Ids = ()
    messages: Ids = ()
    notes: Ids = ()
    facts: Ids = ()
    summaries: Ids = ()
    skills: Ids = ()
    owner: str = field(default=PERSON, kw_only=True)
    about: Ids = field(default=(), kw_only=True)  # summaries that say the topic: made again without it
    taught: Ids = field(default=(), kw_only=True)  # skills that say it in some version
    topic: str = field(default="", kw_only=True)
    owned_rows: Belongings = field(default_factory=Belongings, kw_only=True)


@frozen
class Walk:
    """All that goes with it."""

    sessions: Ids = ()
    touched: Ids = ()  # sessions that stay and lose messages
    messages: Ids = ()
    notes: Ids = ()
    facts: Ids = ()
    losing: Ids = ()  # facts that stay, for they have another source, and lose a quote
    summaries: Ids = ()  # those named, those of sessions that lose messages, and what was made from all that goes
    kept: tuple[summary_lineage.Kept, ...] = ()  # those of them that stay with a part of their sentences
    periods: tuple[str, ...] = ()  # of which the summary is made again
    skills: Unlearned = field(default_factory=Unlearned)
    jottings: Ids = ()
    recollections: Ids = ()
    openings: Ids = ()  # of sessions to which words were carried over
    jobs: Ids = ()
    owned_rows: Belongings = field(default_factory=Belongings)

    @property
    def handles(self) -> list[str]:
        kinds = (("session", self.sessions), ("message", self.messages), ("note", self.notes), ("fact", self.facts),
                 ("summary", self.summaries), ("skill", self.skills.erased))  # fmt: skip
        return [ids.handle(kind, id) for kind, found in kinds for id in found] + self.owned_rows.handles


def named(db: Database, owner: str, told: Iterable[str]) -> Named:
    """The rows that handles name, as in m9 or n4. Raises UsageError for what is none."""
    found: dict[str, list[int]] = {name: [] for name in (*_NAMED, *_KEPT)}
    for handle in told:
        match = re.fullmatch(rf"({kinds.letters(kinds.FORGETTABLE)})(\d{{1,18}})", handle.strip().lower())
        if match is None:
            raise UsageError(
                f"{handle!r} is no handle: write it like {', '.join(kinds.EXAMPLES[:-1])} or {kinds.EXAMPLES[-1]}, "
                "or name words with --topic"
            )
        kind = kinds.BY_LETTER[match[1]].name
        if not db.value(f"select 1 from {kind} where id = ? and owner = ?", (int(match[2]), owner)):
            raise UsageError(f"there is no {kind} {handle.lower()}; `agent search` finds what there is")
        found[kind].append(int(match[2]))
    rows = {kind: tuple(dict.fromkeys(told)) for kind, told in found.items()}
    kept = Belongings(**{name: rows[kind] for kind, name in _KEPT.items()})
    return Named(*(rows[kind] for kind in _NAMED), owner=owner, owned_rows=kept)


def walk(db: Database, names: Named) -> Walk:
    """All that goes with what is named."""
    messages = set(log.exchanges(db, names.messages)) | set(_all(db, "message", "session_id", names.sessions))
    emptied = set(names.sessions) | set(_emptied(db, messages))
    touched = set(_all(db, "message", "id", messages, wanted="session_id")) - emptied
    losing, facts = _learned(db, messages)
    facts |= set(names.facts) | set(_all(db, "fact", "session_id", emptied))
    shorter = emptied | touched
    own = set(names.about) | set(_all(db, "summary", "session_id", shorter))
    gone = _sources(shorter, messages, facts, own | set(names.summaries))
    told_by = _all(db, "summary", "id", names.summaries, wanted="session_id")  # a day names the session
    gone += [Source("session", id) for id in told_by]
    linked = summary_lineage.linked(db, gone)
    days = summary_lineage.of_days(db, names.owner, _sorted(messages)) - linked
    again = (own | linked | days) - set(names.summaries)
    tells = _telling(db, names.topic)
    says = _saying(db, messages, days, tells)
    skills = skill_unlearning.found(db, _sorted(messages), shorter, names.skills, names.taught, tells)
    whole = set(_all(db, "summary", "session_id", names.sessions))
    kept = summary_lineage.kept(db, names.owner, again - whole, gone, says)
    held = set(
        _all(db, "summary", "id", [id for id, _ in kept], wanted="session_id")
    )  # a session goes with its summary
    emptied, touched = emptied - held, touched | (emptied & held)
    found = Walk(
        _sorted(emptied), _sorted(touched), _sorted(messages), _sorted(names.notes), _sorted(facts),
        _sorted(losing - facts), _sorted(again | set(names.summaries)), kept,
        summary_lineage.keys(db, again), skills, _sorted(_all(db, "jotting", "session_id", emptied)),
        owned_rows=owned_rows.walk(db, names.owned_rows, _sorted(messages), _sorted(emptied)),
    )  # fmt: skip
    told = sessions.opened_with(db, shorter | set(_all(db, "summary", "id", found.summaries, wanted="session_id")))
    about = [*found.handles, *(ids.handle("session", id) for id in touched), *_subjects(db, names)]
    queued = [*(id for id, _, _ in jobs.about(db, about)), *_making(db, told_by)]
    return Walk(
        **{
            **found.__dict__, "recollections": _recalled(db, found),
            "openings": _sorted(set(told) - emptied), "jobs": _sorted(queued),
        }
    )  # fmt: skip


def _making(db: Database, sessions: Iterable[int]) -> list[int]:
    """Jobs that are to summarise sessions whose summary is named by its handle: it is not made again either."""
    found = jobs.about(db, [ids.handle("session", id) for id in sessions])
    return [id for id, kind, _ in found if kind == session_summary.JOB]


def _subjects(db: Database, names: Named) -> list[str]:
    """Jobs about periods whose summary is named by its handle: it is not made again."""
    keys = summary_lineage.keys(db, names.summaries)
    return list(keys) if names.owner == PERSON else [f"{key} {names.owner}" for key in keys]


@frozen
class Texts:
    """The words that go. `statements`: told elsewhere it is no chance, however short they are."""

    own: Sequence[str]  # of the person, of notes, facts and tasks
    other: Sequence[str]  # of replies, tools and summaries
    filed: Sequence[str]  # of sections of files
    statements: Sequence[str]


def gone(found: Walk) -> list[Source]:
    """The rows of the walk from which no sentence comes any more."""
    stay = {id for id, _ in found.kept}
    return _sources(found.sessions, found.messages, found.facts, set(found.summaries) - stay)


def _sources(*rows: Iterable[int]) -> list[Source]:
    kinds = ("session", "message", "fact", "summary")
    return [Source(kind, id) for kind, found in zip(kinds, rows, strict=True) for id in found]


def _telling(db: Database, topic: str) -> Callable[[str], bool]:
    """Whether a text says the topic literally, or has all its words."""
    literal = distinctive.folded(topic)
    asked = {stem for word in terms.content(topic) for stem in db.tokens(word)}
    if not literal:
        return lambda words: False
    return lambda words: literal in distinctive.folded(words) or bool(asked and asked <= set(db.tokens(words)))


def _saying(
    db: Database, messages: Iterable[int], unlinked: set[int], tells: Callable[[str], bool]
) -> Callable[[int, str], bool]:
    """Whether a sentence of a summary says the topic; of one with no way to the messages left, any word of theirs."""
    listed = (json.dumps(sorted(messages)),)
    rows = db.rows("select text from message where id in (select value from json_each(?))", listed) if unlinked else []
    words = Wanted(words=frozenset(distinctive.words(said for (said,) in rows)))
    return lambda id, sentence: tells(sentence) or (id in unlinked and bool(words.within(distinctive.folded(sentence))))


def _learned(db: Database, messages: Iterable[int]) -> tuple[set[int], set[int]]:
    """The facts learned from these messages: those with another source, and those without."""
    listed = (json.dumps(sorted(messages)),)
    rows = db.rows(
        """with gone as materialized (select value id from json_each(?)),
           facts as (select id from fact where message_id in (select id from gone)
                     union select fact_id from fact_source where message_id in (select id from gone))
           select f.id, (f.message_id is not null and f.message_id not in (select id from gone))
                  or exists (select 1 from fact_source s where s.fact_id = f.id
                             and s.message_id not in (select id from gone))
                  or f.message_id is null
           from facts t join fact f on f.id = t.id""",
        listed,
    )
    return {id for id, other in rows if other}, {id for id, other in rows if not other}


def _emptied(db: Database, messages: Iterable[int]) -> list[int]:
    """The sessions of which no message would be left."""
    rows = db.rows(
        """with gone as materialized (select value id from json_each(?))
           select distinct m.session_id from gone g join message m on m.id = g.id
           where not exists (select 1 from message o where o.session_id = m.session_id
                             and o.id not in (select id from gone))""",
        (json.dumps(sorted(messages)),),
    )
    return [id for (id,) in rows]


def _recalled(db: Database, found: Walk) -> Ids:
    """What was recalled for a message that goes, or shows a row that goes."""
    rows = db.rows(
        "select id from recollection where message_id in (select value from json_each(?))",
        (json.dumps(found.messages),),
    )
    for kind, gone in (("message", found.messages), ("note", found.notes), ("fact", found.facts),
                       ("summary", found.summaries), ("skill", unlearned(found)),
                       ("section", found.owned_rows.sections)):  # fmt: skip
        if gone:
            rows += db.rows(
                "select id from recollection where kind = ? and row in (select value from json_each(?))",
                (kind, json.dumps(gone)),
            )
    return _sorted(id for (id,) in rows)


def _all(db: Database, table: str, column: str, values: Iterable[int], wanted: str = "id") -> list[int]:
    rows = db.rows(
        f"""select distinct {wanted} from {table}
            where {column} in (select value from json_each(?)) and {wanted} is not null""",
        (json.dumps(sorted(values)),),
    )
    return [id for (id,) in rows]


def _sorted(found: Iterable[int]) -> Ids:
    return tuple(sorted(set(found)))


def lines(db: Database, found: Walk, limit: int) -> list[tuple[str, str, str]]:
    """(handle, day, words) of what goes, what the person said and wrote first; at most so many, below zero all."""

    def room() -> int:
        return limit if limit < 0 else max(0, limit - len(told))

    told: list[tuple[str, str, str]] = []
    for letter, table, words, at, rows in (
        ("n", "note", "iif(title = '', text, title)", "at", found.notes),
        ("f", "fact", "statement", "learned_at", found.facts),
        ("m", "message", "text", "at", found.messages),
        ("s", "session", "title", "started_at", found.sessions),
        ("k", "skill", "name || ': ' || description", "changed_at", found.skills.erased),
        ("y", "summary", "iif(period = '', '', period || ': ') || text", "at", _without(found)),
    ):
        only = " and role = 'user'" if letter == "m" else ""
        told += [
            (f"{letter}{id}", str(day)[:10], str(told_of))
            for id, day, told_of in db.rows(
                f"""select id, datetime({at}, utc_offset || ' minutes'), {words} from {table}
                    where id in (select value from json_each(?)){only} order by id limit ?""",
                (json.dumps(rows), room()),
            )
        ]
    return told + owned_rows.lines(db, found.owned_rows, room())


def counts(db: Database, found: Walk) -> dict[str, int]:
    """How many rows of each kind go."""
    said = db.rows(
        "select role, count(*) from message where id in (select value from json_each(?)) group by role",
        (json.dumps(found.messages),),
    )
    roles: dict[str, int] = dict(said)
    told = {
        "sessions": len(found.sessions), "messages": roles.get("user", 0), "replies": roles.get("assistant", 0),
        "tool results": roles.get("tool", 0), "notes": len(found.notes), "facts": len(found.facts),
        "skills": len(found.skills.erased), "skills in part": len(found.skills.losing),
        "summaries": len(_without(found)), "summaries in part": len(found.kept), "jottings": len(found.jottings),
        "recollections": len(found.recollections), **found.owned_rows.counts,
    }  # fmt: skip
    return {name: many for name, many in told.items() if many}


def texts(db: Database, found: Walk) -> Texts:
    """The words that go."""

    def of(sql: str, rows: Sequence[int]) -> list[str]:
        return [str(told) for row in db.rows(sql, (json.dumps(rows),)) for told in row if told]

    at = "in (select value from json_each(?))"
    own = of(f"select text from message where role = 'user' and id {at}", found.messages)
    own += of(f"select title, text from note where id {at}", found.notes)
    own += of(f"select statement, quote, object from fact where id {at}", found.facts)
    own += of(f"select quote from fact_source where fact_id {at}", found.facts)
    own += of(
        f"select was ->> 'statement', was ->> 'quote', was ->> 'object' from fact_version where fact_id {at}",
        found.facts,
    )
    own += of(f"select title, external_id from session where id {at}", found.sessions)
    own += of(f"select text from jotting where id {at}", found.jottings)
    other = of(f"select text from message where role <> 'user' and id {at}", found.messages)
    other += of(f"select thinking, external_id, author from message where id {at}", found.messages)
    for arguments in of(f"select arguments from tool_call where message_id {at}", found.messages):
        other += _strings(json.loads(arguments))
    other += of(f"select text, details from summary where id {at}", _without(found))
    other += [words for id, stay in found.kept for words in _lost(db, id, stay)]
    skill, was = ("name, description, text", "was ->> 'name', was ->> 'description', was ->> 'text'")
    own += of(f"select {skill} from skill where origin <> 'model' and id {at}", found.skills.erased)
    other += of(f"select {skill} from skill where id {at}", unlearned(found))
    other += of(f"select {was} from skill_version where was is not null and skill_id {at}", found.skills.erased)
    other += of(f"select {was} from skill_version where id {at}", found.skills.rows)
    other += of(f"select text, details from rolling where session_id {at}", (*found.sessions, *found.touched))
    kept, filed, about = owned_rows.texts(db, found.owned_rows)
    return Texts(own + kept, other + about, filed, statements(db, found))


def summarised(db: Database, found: Walk) -> list[str]:
    """The sentences of summaries that go: what a tool found of them was made from the same."""
    rows = db.rows(
        "select text from summary where id in (select value from json_each(?))", (json.dumps(_without(found)),)
    )
    told = [sentence for (words,) in rows for sentence in text.sentences(words)]
    return told + [words for id, stay in found.kept for words in _lost(db, id, stay)]


def unlearned(found: Walk) -> Ids:
    """The skills that go, and those that become what they were."""
    return (*found.skills.erased, *(id for id, _, _ in found.skills.back))


def _without(found: Walk) -> Ids:
    """The summaries of which nothing stays."""
    stay = {id for id, _ in found.kept}
    return tuple(id for id in found.summaries if id not in stay)


def _lost(db: Database, id: int, stay: Sequence[Sentence]) -> list[str]:
    """What a summary that stays in part loses."""
    told, details = db.row("select text, details from summary where id = ?", (id,)) or ("", "")
    kept = {words for words, _ in stay}
    return [each for each in (*text.sentences(told), details) if each and each not in kept]


def statements(db: Database, found: Walk) -> list[str]:
    """What facts that go have said, and notes: told elsewhere it is no chance, however short it is."""
    at = "in (select value from json_each(?))"
    rows = db.rows(f"select statement from fact where id {at}", (json.dumps(found.facts),))
    rows += db.rows(f"select was ->> 'statement' from fact_version where fact_id {at}", (json.dumps(found.facts),))
    rows += db.rows(f"select text from note where id {at}", (json.dumps(found.notes),))
    return [told for (told,) in rows if told] + owned_rows.statements(db, found.owned_rows)


def _strings(value: object) -> list[str]:
    """Every text in the arguments of a call."""
    match value:
        case str():
            return [value]
        case dict():
            return [told for each in value.values() for told in _strings(each)]
        case list():
            return [told for each in value for told in _strings(each)]
        case _:
            return []
