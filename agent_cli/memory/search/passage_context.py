"""Reads candidates with their context: the rows that ranking scores.

The word index holds a passage's own words only. What was said before and after is read here, for the few best and their
neighbours: the same recall as indexing it, in a third of the space, and no row holds words of another message.
"""

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cache, lru_cache
from itertools import chain
from typing import NamedTuple

from agent_cli import clock, kinds
from agent_cli.memory.language import keywords, statements, terms
from agent_cli.memory.search import candidates
from agent_cli.memory.search.candidates import Filter, Question, Request
from agent_cli.memory.search_sources import source_of
from agent_cli.store.db import Database, Row
from agent_cli.text import sentences

_OTHER_SCRIPT = re.compile(r"[^\W\x00-\u024f]")
_SPACES = "".join(each if each.isalnum() else " " for each in map(chr, range(0x2100)))  # for all that is no letter
_ACCENT = re.compile("[\u0300-\u036f]")
_WITH_ASSISTANT = "(m.author in ('', m.role) or m.model <> '')"  # and not between people

# The text of a message is read as the view passage_text does, but with its role, in two thirds of the time.
_PASSAGES = f"""select p.id, iif(p.kind = 'm', coalesce(p.masked, p.text, substr(m.text, p.start + 1, p.length)),
            (select own from passage_text where id = p.id)),
        coalesce(m.role, ''), coalesce({_WITH_ASSISTANT}, 0),
        c.key < :candidates, p.session_id, p.length, p.at, p.author,
        (select words from day where id = p.day), p.facts, p.kind, p.row,
        iif(p.kind = 'f' and a.place not in ('', :current_place), a.place, '')
    from json_each(:ids) c cross join passage p on p.id = c.value cross join area a on a.id = p.area
    left join message m on p.kind = 'm' and m.id = p.row"""

_OUTDATED = """select c.value, max(f.valid_to) filter (where f.valid_to <= :now),
        max(f.state = 'accepted' and coalesce(f.valid_to > :now, true)),
        group_concat(f.object, ' ') filter (where f.valid_to <= :now)
    from json_each(:rows) c cross join fact f on f.id in (
        select id from fact where message_id = c.value union select fact_id from fact_source where message_id = c.value)
    where +f.owner = :owner and f.hidden_at is null and +f.state in ('accepted', 'superseded')
    group by c.value having min(f.valid_to) <= :now"""

_DATED = """select f.id, iif(coalesce(f.valid_from, '') > :now, f.valid_from, null), f.valid_to, f.object,
        exists (select 1 from fact o where o.owner = f.owner and o.subject = f.subject and o.predicate = f.predicate
            and o.predicate <> '' and o.state = 'accepted' and o.hidden_at is null and o.place = f.place
            and o.session_id is f.session_id
            and iif(f.valid_from > :now, coalesce(o.valid_from, '') <= :now and o.valid_to > :now,
                o.valid_from >= f.valid_to))
    from json_each(:rows) c cross join fact f on f.id = c.value
    where coalesce(f.valid_from, '') > :now or f.valid_to > :now"""

# In one row: to read it as JSON takes less than to read an array of each passage.
_NEIGHBOURS = """select json_group_array(json_array(p.id,
        json((select json_group_array(id) from (select id from passage where session_id = p.session_id and kind = 'm'
            and (row, start) < (p.row, p.start) order by row desc, start desc limit 3))),
        json((select json_group_array(id) from (select id from passage where session_id = p.session_id and kind = 'm'
            and (row, start) > (p.row, p.start) order by row, start limit 2)))))
    from json_each(?) c cross join passage p on p.id = c.value where p.kind = 'm' and p.session_id is not null"""

_AROUND = """select p.id, t.own
    from json_each(?) c cross join passage p on p.id = c.value cross join passage o on o.id in (
        select id from (select id from passage where session_id = p.session_id and kind = 'm'
            and (row, start) < (p.row, p.start) order by row desc, start desc limit 4)
        union all
        select id from (select id from passage where session_id = p.session_id and kind = 'm'
            and (row, start) > (p.row, p.start) order by row, start limit 3))
    cross join passage_text t on t.id = o.id"""

_FIRST = "(select id from passage where kind = 'm' and row = m.id and start = 0)"
# Of a message what was asked and the reply to it, of which it is one, and the first passages of both.
_EXCHANGES = f"""select c.value, a.row, r.row, a.id, r.id
    from json_each(?) c cross join message m on m.id = c.value
    cross join passage r on r.id = iif(m.role = 'assistant', {_FIRST},
        (select id from passage where session_id = m.session_id and kind = 'm' and row > m.id
            order by row, start limit 1))
    cross join passage a on a.id = iif(m.role = 'user', {_FIRST},
        (select id from passage where session_id = m.session_id and kind = 'm' and row < m.id
            order by row desc, start limit 1))
    where exists (select 1 from message where id = a.row and role = 'user')
        and exists (select 1 from message where id = r.row and role = 'assistant')"""

_WHOLE = """select p.row, group_concat(t.own, ' '), count(*) > 1
    from json_each(?) c cross join passage p on p.kind = 'm' and p.row = c.value and p.start < ?
    cross join passage_text t on t.id = p.id group by p.row"""

# What is known of a passage before its text is read.
_OUTLINES = f"""select p.id, p.kind = 'm', p.author, iif(m.role = 'user' or {_WITH_ASSISTANT}, m.role, ''),
        p.length, p.at
    from json_each(:ids) c cross join passage p on p.id = c.value cross join area a on a.id = p.area
    left join message m on p.kind = 'm' and m.id = p.row where {{conditions}}"""

OWN, BEFORE, BEFORE_THAT, AFTER = 1.0, 0.6, 0.2, 0.4  # weights of words by place,
WEIGHTS = OWN, BEFORE, BEFORE_THAT, AFTER, 2.0, 0.5, 1.0  # and of author, date and facts

Around = tuple[int, int, int]
"""The ids of the two passages before one, the nearer last, and of the one after it; 0 when there is none."""
ALONE: Around = (0, 0, 0)
_MOST = 20_000  # characters of a message that count when replies are asked for
NO_COUNTS: Mapping[str, int] = {}


class Exchange(NamedTuple):
    """The whole of a question and the reply to it."""

    reply: int  # the message
    partner: int  # the first passage of the other of the two
    said: Mapping[str, tuple[int, int]]  # how often it holds each word that is asked, in the same form and in any
    length: int


class CandidateRow(NamedTuple):  # a search makes hundreds: a dataclass takes several times as long
    """A passage and its context, each as counts of the question's words, and what is known of it."""

    id: int
    session: int | None
    length: int  # characters
    age: float  # days
    text: str
    author: str
    own_words: Mapping[str, int]
    before: Mapping[str, int] = NO_COUNTS
    before_that: Mapping[str, int] = NO_COUNTS
    after: Mapping[str, int] = NO_COUNTS
    by: Mapping[str, int] = NO_COUNTS
    date: Mapping[str, int] = NO_COUNTS
    facts: Mapping[str, int] = NO_COUNTS
    frequencies: Mapping[str, float] = NO_COUNTS  # of each of these words, weighted by where it is
    kind: str = "m"  # letter of its kind
    row: int = 0  # id of its row
    at: int = 0  # seconds since 1970
    place: str = ""  # where a fact holds, when that is another place
    role: str = ""  # of a message: user, or assistant when that is no other person
    with_assistant: bool = False  # a message between a person and the assistant, not between people
    guessed: frozenset[str] = frozenset()  # of own_words: the stems that it holds otherwise spelt
    cosine: float = 0.0
    cosines_around: tuple[float, float] = (0.0, 0.0)  # of the passages before and after it
    timely: bool = False  # within the time range that the question names
    named: float = 0.0  # weight of a fact about an entity that the question names
    # Whether it holds
    ended: float | None = None  # when its facts ceased to be true, in seconds since 1970
    partly: bool = False  # whether only some of its facts did
    outdated: bool = False  # whether it does not hold today, and the question does not ask for what it says
    begins: float | None = None  # of a fact that is planned: from when it is true
    ends: float | None = None  # of a fact that ends in the future: until when
    empty: str = ""  # why it tells nothing: a question, small talk, an empty reply, or a repetition of another row
    withdrawn: bool = False  # a reply whose source was deleted
    unsupported: bool = False  # a reply that rests on nothing kept
    replaced_by: int = 0  # id of the passage of a later statement that holds instead
    replaced_in: str = ""  # the handle of that statement
    # Of the best alone
    statements: tuple[frozenset[str], ...] = ()  # of a summary: the words of each of its sentences and details
    around: frozenset[str] | None = None  # the words in a wider window; of a message between people only
    exchange: Exchange | None = None  # what it belongs to, when replies are asked for


def frequencies(*counts: Mapping[str, int]) -> dict[str, float]:
    """How often a row holds each word, weighted by where it is. `counts`: in the order of WEIGHTS."""
    total: dict[str, float] = {}
    for weight, held in zip(WEIGHTS, counts, strict=True):
        if held:  # most are empty
            for term, count in held.items():
                total[term] = total.get(term, 0.0) + weight * count
    return total


@lru_cache(256)  # the best are compared with replies, and with words like those of the question
def words_of(text: str) -> tuple[str, ...]:
    """The content words of a text."""
    return tuple(terms.content_words(text))


class Known(NamedTuple):
    """What is known of candidates beside their text: by passage, without those of which nothing is."""

    guessed: Mapping[int, frozenset[str]] = {}  # stems that they hold otherwise spelt
    named: Mapping[int, float] = {}  # weights of what is named
    cosines: Mapping[int, float] = {}
    times: Filter | None = None  # the time that the question names


def fetch(
    request: Request, places: Mapping[int, Around], question: Question, known: Known | None = None
) -> dict[int, CandidateRow]:
    """The candidates, with the words of the question in and around each (`places`). What says no more than the question
    is left out where that is in the log, around others too."""
    db, now, known = request.db, request.now, known or Known()
    # Where nobody else speaks, only what stands before one tells what it is about: see _contexts.
    between_people = db.value("select exists (select 1 from speaker where name not in ('user', 'assistant'))")
    around_them = (around if between_people else around[1:2] for around in places.values())
    contexts = set(chain.from_iterable(around_them)) - places.keys() - {0}
    values = {"ids": [*places, *contexts], "candidates": len(places), "current_place": request.allowed.current_place}
    rows = db.rows(_PASSAGES, values)
    if request.logged:
        rows = [row for row in rows if row[1].strip() not in request.query]
    said = {row[0]: row for row in rows}
    passages = [row for row in rows if row[4]]
    around = [_contexts(said, row, places[row[0]]) for row in passages]
    texts = {text for row in passages for text in (row[1], *row[8:11]) if text is not None}
    counts = count_words(db, texts.union(*around), question)
    moment, nothing, cosine = now.timestamp(), frozenset[str](), known.cosines.get
    made: dict[int, CandidateRow] = {}
    for passage, (before_that, before, after) in zip(passages, around, strict=True):
        id, words, role, with_assistant, _, session, length, at, author, date, facts, kind, row, place = passage
        held, alike, (_, previous, following) = counts[words], known.guessed.get(id, nothing), places[id]
        own_words = {**held, **dict.fromkeys(alike, 1)} if alike else held
        near = own_words, counts[before], counts[before_that], counts[after]
        beside = counts.get(author, NO_COUNTS), counts[date], counts.get(facts, NO_COUNTS)
        speaker = role if with_assistant or role == "user" else ""
        timely = known.times is not None and known.times.holds_at(at)
        of_row = kind, row, at, place or "", speaker, bool(with_assistant), alike - held.keys()
        cosines = cosine(id, 0.0), (cosine(previous, 0.0), cosine(following, 0.0))
        made[id] = CandidateRow(
            *(id, session, length, (moment - at) / 86400, words, author, *near, *beside),
            *(frequencies(*near, *beside), *of_row, *cosines, timely, known.named.get(id, 0.0)),
        )
    return made | {row.id: row for row in _dated(request, made.values(), question)}


def outlines(request: Request, ids: Iterable[int]) -> list[Row]:
    """(passage, whether it is of a message, author, role, length in characters, seconds since 1970) of those of these
    that are allowed and current."""
    sql, now = _OUTLINES.format(conditions=conditions(request.allowed)), clock.utc(request.now)
    return request.db.rows(sql, {"ids": list(ids), **candidates.bindings(request.allowed), "now": now})


def conditions(allowed: Filter) -> str:
    """SQL: whether a passage is allowed and current."""
    return f"{candidates.conditions(allowed)} and {_shown()}"


@cache
def _shown() -> str:
    current = " ".join(
        f"when '{kind.letter}' then (select {source_of(kind.name).current} from {kind.name} where id = p.row)"
        for kind in kinds.SEARCHABLE
        if source_of(kind.name).current
    )
    return f"""not exists (select 1 from session where id = p.session_id and hidden_at is not null)
        and case p.kind {current} else 1 end"""


def with_context(db: Database, rows: Sequence[CandidateRow], question: Question) -> list[CandidateRow]:
    """The same rows with the words of the question in each statement of a summary and, between people only, in the four
    passages before and the three after: with the assistant, other messages seldom tell what one is about."""
    single = dict[int, list[str]]()
    for row in rows:
        if row.kind == "y":
            words, _, details = row.text.partition("\n")
            single[row.id] = [*sentences(words), *keywords.split_details(details)]
    between = [row.id for row in rows if row.kind == "m" and row.session is not None and not row.with_assistant]
    found = db.rows(_AROUND, (between,)) if between else []
    counts = count_words(db, {text for _, text in found}.union(*single.values()), question)
    around: dict[int, set[str]] = {id: set() for id in between}
    for id, text in found:
        around[id].update(counts[text])
    made = list[CandidateRow]()
    for row in rows:
        if row.id in around:
            row = row._replace(around=frozenset(around[row.id]))
        elif row.id in single:
            row = row._replace(statements=tuple(frozenset(counts[part]) for part in single[row.id]))
        made.append(row)
    return made


def exchanges(db: Database, rows: Iterable[CandidateRow], question: Question) -> dict[int, CandidateRow]:
    """Those of these rows that belong to a question and the answer to it, with how often that holds each word. A long
    reply is an answer even if nothing was asked."""
    without = [row for row in rows if row.with_assistant and row.role and not row.exchange]
    found = {one: exchange for one, *exchange in db.rows(_EXCHANGES, (list({row.row for row in without}),))}
    messages = list({message for asked, reply, *_ in found.values() for message in (asked, reply)})
    whole = {message: (text, long) for message, text, long in db.rows(_WHOLE, (messages, _MOST))}
    texts = dict[int, str]()
    for asked, reply, *_ in found.values():
        (asked_text, _), (reply_text, is_long) = whole[asked], whole[reply]
        if is_long or statements.asks(asked_text):
            texts[reply] = f"{asked_text} {reply_text}"
    counts, made = _counts_of_all(db, texts, question), dict[int, CandidateRow]()
    for row in without:
        _, reply, first, second = found.get(row.row, (0, 0, 0, 0))
        if reply in texts:
            partner = first if row.role == "assistant" else second
            made[row.id] = row._replace(exchange=Exchange(reply, partner, counts[reply], len(texts[reply])))
    return made


def _counts_of_all(db: Database, texts: Mapping[int, str], question: Question) -> dict[int, dict[str, tuple[int, int]]]:
    """How often each text holds each word of the query, in the same form and in any."""
    held = {id: dict(Counter(_all_words(text))) for id, text in texts.items()}
    starts = tuple({stem[:-1] for stem in question.idfs})
    forms = [word for word in set().union(*held.values()) if word.startswith(starts)]
    stemmed = [(form, set(stems)) for form, stems in zip(forms, db.tokens_of(forms), strict=True)]
    alike = {
        folded: {form for form, stems in stemmed if not stems.isdisjoint(question.stems[word])}
        for word in question.stems
        for folded in _all_words(word)
    }
    counts: dict[int, dict[str, tuple[int, int]]] = {id: {} for id in texts}
    for word in dict.fromkeys(_all_words(question.text)):
        others = alike.get(word, set()) - {word}
        for id, words in held.items():
            same = words.get(word, 0)
            counts[id][word] = same, same + sum([words[each] for each in others if each in words]) if others else same
    for run in question.runs:
        for id, text in texts.items():
            counts[id][run] = 0, text.count(run)
    return counts


def _all_words(text: str) -> list[str]:
    """Its words in lower case; of a Latin text without accents, which the word index removes too."""
    if not (text.isascii() or _OTHER_SCRIPT.search(text)):
        text = _ACCENT.sub("", unicodedata.normalize("NFD", text))
    return text.lower().translate(_SPACES).split()


def visible(db: Database, letter: str, rows: Sequence[int]) -> set[int]:
    """Those notes or messages, by the letter of their kind, that are found."""
    sql = f"""select p.row from json_each(:rows) c cross join passage p on p.kind = :letter and p.row = c.value
        where {_shown()}"""
    values = {"rows": rows, "letter": letter, "now": "", "current_session": None}
    return set(db.column(sql, values))


def ended_messages(
    db: Database, messages: Sequence[int], owner: str, now: datetime
) -> dict[int, tuple[str, bool, str]]:
    """{message: (since when its facts are no longer true, whether only some, the values of those)}."""
    if not db.value("select 1 from fact where owner = ? and valid_to <= ? limit 1", (owner, clock.utc(now))):
        return {}
    ended = db.rows(_OUTDATED, {"rows": messages, "owner": owner, "now": clock.utc(now)})
    return {id: (until, bool(partly), values) for id, until, partly, values in ended}


def _dated(request: Request, rows: Collection[CandidateRow], question: Question) -> Iterator[CandidateRow]:
    """Those of these rows whose facts are no longer true, or begin or end in the future, with these dates. Of a present
    and a planned value the one that is not asked for is outdated."""
    db, now, facts = request.db, request.now, [row.row for row in rows if row.kind == "f"]
    ended = ended_messages(db, [row.row for row in rows if row.kind == "m"], request.allowed.owner, now)
    values = {"rows": facts, "now": clock.utc(now)}
    dates = {id: found for id, *found in db.rows(_DATED, values)} if facts else {}
    for row in rows if ended or dates else ():
        if row.kind == "m" and row.row in ended:
            until, partly, objects = ended[row.row]
            outdated = not partly and not (question.of_the_past and question.names(db, objects))
            yield row._replace(ended=timestamp(until), partly=partly, outdated=outdated)
        elif row.kind == "f" and row.row in dates:
            begins, ends, value, has_other = dates[row.row]
            outdated = has_other and question.of_the_future != (begins is not None) and not question.names(db, value)
            begins, ends = (timestamp(date) if date else None for date in (begins, ends))
            yield row._replace(begins=begins, ends=ends, outdated=bool(outdated))


def timestamp(date: str) -> float:
    return datetime.fromisoformat(date).timestamp()


def _contexts(said: Mapping[int, Row], one: Row, around: Around) -> tuple[str, str, str]:
    """The texts of the passages around one, each empty when it does not tell what this one is about: with the assistant
    only what stands before a reply does, and a question before its answer. `said`: a row of _PASSAGES."""
    before_that, before, after = map(said.get, around)
    with_assistant = one[3]
    tells = before and (not (with_assistant and before[3]) or one[2] == "assistant" or before[1].rstrip().endswith("?"))
    return (
        before_that[1] if before_that and not (with_assistant and before_that[3]) else "",
        before[1] if before and tells else "",
        after[1] if after and not (with_assistant and after[3]) else "",
    )


def neighbours(db: Database, ids: Sequence[int], without_neighbours: Collection[int] = ()) -> dict[int, Around]:
    """For each candidate and its neighbours (not of `without_neighbours`) the two passages before and the one after."""
    found = dict.fromkeys(ids, ALONE)
    for id, before, after in json.loads(db.value(_NEIGHBOURS, (ids,))):
        first, second, third = (*before, 0, 0, 0)[:3]  # the nearest first
        next, last = (*after, 0, 0)[:2]
        found[id] = second, first, next
        if first and id not in without_neighbours:
            found[first] = third, second, id
        if next and id not in without_neighbours:
            found[next] = first, id, last
    return found


def count_words(db: Database, texts: Collection[str], question: Question) -> dict[str, dict[str, int]]:
    """{text: {stem or run: count}} of the words of the question, by the stems of the word index."""
    counts, idfs = {text: dict[str, int]() for text in texts}, question.idfs
    for held, stems in zip(counts.values(), db.tokens_of(counts), strict=True):
        for stem in stems:  # mostly of other words: a Counter takes twice the time
            if stem in idfs:
                held[stem] = held.get(stem, 0) + 1
    for run in question.runs:
        for text, held in counts.items():
            if run in text:
                held[run] = text.count(run)
    return counts
