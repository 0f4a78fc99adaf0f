"""Reads candidates with their context: the rows that ranking scores.

The word index holds a passage's own words only. What was said before and after is read here, for the few best and their
neighbours: the same recall as indexing it, in a third of the space, and no row holds words of another message.
"""

import json
import re
import unicodedata
from bisect import bisect_right
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import cache
from itertools import accumulate, chain
from typing import Any

from agent_cli import clock, kinds
from agent_cli.memory.language import keywords, statements, terms
from agent_cli.memory.search import candidates
from agent_cli.memory.search.candidates import Filter, ParsedQuery
from agent_cli.memory.search_sources import source_of
from agent_cli.store.db import Database, Row
from agent_cli.text import sentences

_WORD_END = re.compile(r"[^\W_]*")
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

_SHOWN = """not exists (select 1 from session where id = p.session_id and hidden_at is not null)
    and case p.kind {current} else 1 end"""

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

OWN, BEFORE, BEFORE_THAT, AFTER, AUTHOR, DATE, FACTS = 1.0, 0.6, 0.2, 0.4, 2.0, 0.5, 1.0  # weights of words by place

Around = tuple[int, int, int]
"""The ids of the two passages before one, the nearer last, and of the one after it; 0 when there is none."""
ALONE: Around = (0, 0, 0)
_MOST = 20_000  # characters of a message that count when replies are asked for


@dataclass(eq=False, repr=False, slots=True)
class CandidateRow:
    """A passage and its context, each as counts of the question's words. A search makes hundreds: slots halve that."""

    id: int
    session: int | None
    length: int  # characters
    age: float  # days
    text: str
    author: str
    own_words: Mapping[str, int]
    before: Mapping[str, int] = field(default_factory=dict)
    before_that: Mapping[str, int] = field(default_factory=dict)
    after: Mapping[str, int] = field(default_factory=dict)
    by: Mapping[str, int] = field(default_factory=dict)
    date: Mapping[str, int] = field(default_factory=dict)
    facts: Mapping[str, int] = field(default_factory=dict)
    kind: str = "m"  # letter of its kind
    row: int = 0  # id of its row
    at: int = 0  # seconds since 1970
    place: str = ""  # where a fact holds, when that is another place
    role: str = ""  # of a message: user, or assistant when that is no other person
    with_assistant: bool = False  # a message between a person and the assistant, not between people
    neighbours: tuple[int, int] = (0, 0)  # ids of the passages before and after it; 0 when there is none
    guessed: frozenset[str] = frozenset()  # of own_words: the stems that it holds otherwise spelt
    cosine: float = 0.0
    timely: bool = False  # within the time range that the question names
    named: float = 0.0  # weight of a fact about an entity that the question names
    ended: float | None = None  # when its facts ceased to be true, in seconds since 1970
    partly: bool = False  # whether only some of its facts did
    outdated: bool = False  # whether it does not hold today, and the question does not ask for what it says
    begins: float | None = None  # of a fact that is planned: from when it is true
    ends: float | None = None  # of a fact that ends in the future: until when
    empty: str = ""  # why it tells nothing: a question, small talk, an empty reply, or a repetition of another row
    cosines_around: tuple[float, float] = (0.0, 0.0)  # of these two
    withdrawn: bool = False  # a reply whose source was deleted
    judged: bool = False  # whether it was judged if it tells anything
    unsupported: bool = False  # a reply that rests on nothing kept
    replaced_by: int = 0  # id of the passage of a later statement that holds instead
    replaced_in: str = ""  # the handle of that statement
    statements: tuple[frozenset[str], ...] = ()  # of a summary: the words of each of its sentences and details
    around: frozenset[str] | None = None  # the words in a wider window; of a message between people only
    exchange: int = 0  # the id of the reply, of a question and its reply when that is asked for
    said: Mapping[str, tuple[int, int]] = field(default_factory=dict)  # how often both hold each word that is asked,
    said_length: int = 0  # in the same form and in any; and their length
    partner: int = 0  # the first passage of the other of the two

    frequencies: dict[str, float] = field(init=False)  # of each word, weighted by where it is
    _words: list[str] | None = field(init=False, default=None)

    def __post_init__(self) -> None:
        total = {term: OWN * count for term, count in self.own_words.items()}
        around = (BEFORE, self.before), (BEFORE_THAT, self.before_that), (AFTER, self.after)
        for weight, counts in (*around, (AUTHOR, self.by), (DATE, self.date), (FACTS, self.facts)):
            if counts:  # most are empty
                for term, count in counts.items():
                    total[term] = total.get(term, 0.0) + weight * count
        self.frequencies = total

    @property
    def words(self) -> list[str]:
        """The content words of its text."""
        if self._words is None:
            self._words = terms.content_words(self.text)
        return self._words


def fetch(
    db: Database,
    places: Mapping[int, Around],
    question: ParsedQuery,
    guessed: Mapping[int, frozenset[str]],
    allowed: Filter,
    now: datetime,
    excluded_text: str = "",
) -> dict[int, CandidateRow]:
    """The candidates, with the words of the question in and around each.

    `places`: what stands around each; all are allowed and current, as `outlines` tells.
    `excluded_text`: what says no more than this is left out, around others too.
    """
    between_people = is_between_people(db)  # else only what stands before one tells what it is about: see _contexts
    around_them = (around if between_people else around[1:2] for around in places.values())
    contexts = set(chain.from_iterable(around_them)) - places.keys() - {0}
    values = {"ids": [*places, *contexts], "candidates": len(places), "current_place": allowed.current_place}
    rows = db.rows(_PASSAGES, values)
    if excluded_text:
        rows = [row for row in rows if row[1].strip() not in excluded_text]
    said = {row[0]: row for row in rows}
    passages = [row for row in rows if row[4]]
    around = [_contexts(said, row, places[row[0]]) for row in passages]
    texts = {text for row in passages for text in (row[1], *row[8:11]) if text is not None}
    counts = count_words(db, texts.union(*around), question)
    moment, nothing = now.timestamp(), frozenset[str]()
    made: dict[int, CandidateRow] = {}
    for passage, (before_that, before, after) in zip(passages, around, strict=True):
        id, words, role, with_assistant, _, session, length, at, author, date, facts, kind, row, place = passage
        held, alike = counts[words], guessed.get(id, nothing)
        all_held = {**held, **dict.fromkeys(alike, 1)} if alike else held
        speaker = role if with_assistant or role == "user" else ""
        fields: list[Any] = [id, session, length, (moment - at) / 86400, words, author, all_held]
        fields += [counts[before], counts[before_that], counts[after], counts.get(author, {}), counts[date]]
        fields += [counts.get(facts, {}), kind, row, at, place or "", speaker, bool(with_assistant), places[id][1:]]
        fields.append(alike - held.keys())
        made[id] = CandidateRow(*fields)
    _mark_dated(db, made.values(), question, allowed.owner, now)
    return made


def outlines(db: Database, ids: Iterable[int], allowed: Filter, now: datetime) -> list[Row]:
    """(passage, whether it is of a message, author, role, length in characters, seconds since 1970) of those of these
    that are allowed and current."""
    sql = _OUTLINES.format(conditions=conditions(allowed))
    return db.rows(sql, {"ids": list(ids), **candidates.bindings(allowed), "now": clock.utc(now)})


def conditions(allowed: Filter) -> str:
    """SQL: whether a passage is allowed and current."""
    return f"{candidates.conditions(allowed)} and {_SHOWN.format(current=_current())}"


def add_surroundings(db: Database, rows: Iterable[CandidateRow], question: ParsedQuery) -> None:
    """Set which words of the question stand in the four passages before each of these and in the three after it.

    Only between people: with the assistant, other messages seldom tell what one is about. Of a summary those that stand
    in each of its sentences and details.
    """
    rows = [*rows]
    single = {row.id: _sentences_and_details(row.text) for row in rows if row.kind == "y"}
    held = count_words(db, {part for parts in single.values() for part in parts}, question)
    for row in (row for row in rows if row.id in single):
        row.statements = tuple(frozenset(held[part]) for part in single[row.id])
    by_id = {row.id: row for row in rows if row.kind == "m" and row.session is not None and not row.with_assistant}
    found = db.rows(_AROUND, (list(by_id),)) if by_id else []
    counts = count_words(db, {text for _, text in found}, question)
    around: dict[int, set[str]] = {id: set() for id in by_id}
    for id, text in found:
        around[id].update(counts[text])
    for id, row in by_id.items():
        row.around = frozenset(around[id])


def _sentences_and_details(summary: str) -> list[str]:
    words, _, details = summary.partition("\n")
    return [*sentences(words), *keywords.split_details(details)]


def add_exchanges(db: Database, rows: Iterable[CandidateRow], question: ParsedQuery, query: str) -> None:
    """Set how often each word of the query is in the whole of a question and the answer to it, of which these are.

    A long reply is an answer even if nothing was asked.
    """
    without = [row for row in rows if row.with_assistant and row.role and not row.exchange]
    found = {one: exchange for one, *exchange in db.rows(_EXCHANGES, (list({row.row for row in without}),))}
    messages = list({message for asked, reply, *_ in found.values() for message in (asked, reply)})
    whole = {message: (text, long) for message, text, long in db.rows(_WHOLE, (messages, _MOST))}
    texts = dict[int, str]()
    for asked, reply, *_ in found.values():
        (asked_text, _), (reply_text, is_long) = whole[asked], whole[reply]
        if is_long or statements.asks(asked_text):
            texts[reply] = f"{asked_text} {reply_text}"
    counts = _counts_of_all(db, texts, question, query)
    for row in without:
        _, reply, first, second = found.get(row.row, (0, 0, 0, 0))
        if reply in texts:
            row.exchange, row.said, row.said_length = reply, counts[reply], len(texts[reply])
            row.partner = first if row.role == "assistant" else second


def _counts_of_all(
    db: Database, texts: Mapping[int, str], question: ParsedQuery, query: str
) -> dict[int, dict[str, tuple[int, int]]]:
    """How often each text holds each word of the query, in the same form and in any."""
    held = {id: dict(Counter(_all_words(text))) for id, text in texts.items()}
    starts = tuple({stem[:-1] for stem in question.idfs})
    forms = [word for word in set().union(*held.values()) if word.startswith(starts)]
    having: dict[str, list[str]] = {}  # the words with each stem
    for form, stems in zip(forms, db.tokens_of(forms), strict=True):
        for stem in stems:
            having.setdefault(stem, []).append(form)
    alike = {
        folded: {form for stem in stems for form in having.get(stem, ())}
        for word, stems in question.stems.items()
        for folded in _all_words(word)
    }
    counts: dict[int, dict[str, tuple[int, int]]] = {id: {} for id in texts}
    for word in dict.fromkeys(_all_words(query)):
        others = alike.get(word, set()) - {word}
        for id, words in held.items():
            same = words.get(word, 0)
            counts[id][word] = same, same + sum([words[each] for each in others if each in words]) if others else same
    for run in question.runs:
        for id, text in texts.items():
            counts[id][run] = 0, text.count(run)
    return counts


def _all_words(text: str) -> list[str]:
    """The words of a text in lower case, without accents where it is Latin."""
    return (_without_accents(text) or text.lower()).translate(_SPACES).split()


@cache
def _current() -> str:
    """SQL: whether the row of a passage is current, by kind."""
    return " ".join(
        f"when '{kind.letter}' then (select {source_of(kind.name).current} from {kind.table} where id = p.row)"
        for kind in kinds.SEARCHABLE
        if source_of(kind.name).current
    )


def visible(db: Database, letter: str, rows: Sequence[int]) -> set[int]:
    """Those notes or messages, by the letter of their kind, that are found."""
    kind = kinds.BY_LETTER[letter]
    current = source_of(kind.name).current or "true"
    found = db.rows(
        f"""select p.row from json_each(?) c cross join passage p on p.kind = ? and p.row = c.value
            where not exists (select 1 from session where id = p.session_id and hidden_at is not null)
              and (select {current} from {kind.table} where id = p.row)""",
        (rows, letter),
    )
    return {row for (row,) in found}


def ended_messages(
    db: Database, messages: Sequence[int], owner: str, now: datetime
) -> dict[int, tuple[str, bool, str]]:
    """{message: (since when its facts are no longer true, whether only some, the values of those)}."""
    if not db.value("select 1 from fact where owner = ? and valid_to <= ? limit 1", (owner, clock.utc(now))):
        return {}
    ended = db.rows(_OUTDATED, {"rows": messages, "owner": owner, "now": clock.utc(now)})
    return {id: (until, bool(partly), values) for id, until, partly, values in ended}


def _mark_dated(db: Database, rows: Collection[CandidateRow], question: ParsedQuery, owner: str, now: datetime) -> None:
    """Mark messages whose facts are no longer true, and facts that begin or end in the future; of a present and a
    planned value the one that is not asked for."""
    ended = ended_messages(db, [row.row for row in rows if row.kind == "m"], owner, now)
    values = {"rows": [row.row for row in rows if row.kind == "f"], "now": clock.utc(now)}
    dated = {id: dates for id, *dates in db.rows(_DATED, values)} if values["rows"] else {}
    for row in rows:
        if row.kind == "m" and row.row in ended:
            until, row.partly, objects = ended[row.row]
            row.ended = datetime.fromisoformat(until).timestamp()
            row.outdated = not row.partly and not (question.of_the_past and question.names(db, objects))
        elif row.kind == "f" and row.row in dated:
            *dates, value, has_other = dated[row.row]
            row.begins, row.ends = (datetime.fromisoformat(date).timestamp() if date else None for date in dates)
            asked = question.of_the_future == (row.begins is not None) or question.names(db, value)
            row.outdated = has_other and not asked


def is_between_people(db: Database) -> bool:
    """Whether some of what was said may be so; else all of it is between the person and the assistant."""
    return bool(db.value("select exists (select 1 from speaker where name not in ('user', 'assistant'))"))


def _contexts(said: Mapping[int, Row], one: Row, around: Around) -> tuple[str, str, str]:
    """The texts of the passages around one, each empty when it does not tell what this one is about.

    `said`: id, text, role, whether it was said between the person and the assistant, …, as in _PASSAGES.
    Between people all do. With the assistant only what stands before a reply does, and a question before its answer:
    what is asked next is another matter.
    """
    before_that, before, after = map(said.get, around)
    with_assistant = one[3]
    tells = before and (not (with_assistant and before[3]) or one[2] == "assistant" or before[1].rstrip().endswith("?"))
    return (
        before_that[1] if before_that and not (with_assistant and before_that[3]) else "",
        before[1] if before and tells else "",
        after[1] if after and not (with_assistant and after[3]) else "",
    )


def neighbours(db: Database, ids: Sequence[int], without_neighbours: Collection[int] = ()) -> dict[int, Around]:
    """For each candidate and its neighbours the two passages before it and the one after it.

    Those of `without_neighbours` come without their neighbours.
    """
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


def count_words(db: Database, texts: Collection[str], question: ParsedQuery) -> dict[str, dict[str, int]]:
    """{text: {stem or run: count}} of the words of the question, by the stems of the word index.

    Most texts hold few of them, so a text is not taken apart: its words that begin like one of the question are looked
    for, and only these are stemmed.
    """
    found = list(_words_like(texts, question.idfs))
    stems = dict(zip(forms := list({form for _, form in found}), db.tokens_of(forms), strict=True))
    counts: dict[str, dict[str, int]] = {text: {} for text in texts}
    for text, form in found:
        for stem in stems[form]:
            if stem in question.idfs:
                counts[text][stem] = counts[text].get(stem, 0) + 1
    for run in question.runs:
        for text in texts:
            if run in text:
                counts[text][run] = text.count(run)
    return counts


def _words_like(texts: Collection[str], stems: Collection[str]) -> Iterator[tuple[str, str]]:
    """Each text with each of its words that may have one of these stems: most texts are never taken apart.

    Stemming changes at most the last remaining letter, so a word begins as its stem does. The texts are searched
    together, one after the other. One in another script than the Latin comes whole.
    """
    starts = {stem[:-1] for stem in stems}
    starts = {start for start in starts if not any(start[:end] in starts for end in range(len(start)))}
    folded = {text: None if "" in starts else _without_accents(text) for text in texts}
    yield from ((text, text) for text, each in folded.items() if each is None)
    latin = {text: each for text, each in folded.items() if each is not None}
    joined, originals = "\n".join(latin.values()), list(latin)
    ends = list(accumulate(len(each) + 1 for each in latin.values()))
    for start in starts if latin else ():
        at = joined.find(start)
        while at >= 0:
            if not at or not joined[at - 1].isalnum():
                end = _WORD_END.match(joined, at).end()  # type: ignore[union-attr]  # matches an empty end too
                yield originals[bisect_right(ends, at)], joined[at:end]
            at = joined.find(start, at + 1)


def _without_accents(text: str) -> str | None:
    """A Latin text in lower case without accents, which the word index removes too; None in another script."""
    if text.isascii():
        return text.lower()
    if _OTHER_SCRIPT.search(text):
        return None
    return _ACCENT.sub("", unicodedata.normalize("NFD", text)).lower()
