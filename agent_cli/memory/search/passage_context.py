"""Reads candidates with their context: the rows that ranking scores.

The word index holds a passage's own words only. What was said before and after is read here, for the few best and their
neighbours: the same recall as indexing it, in a third of the space, and no row holds words of another message.

A reply of the assistant that repeats a source tells nothing new, and one whose source no longer holds does not hold
either. The recall log has what each was given; what it cited stands in its text. Without a citation it rests on what it
was given and repeats.
"""

import json
import re
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from datetime import datetime
from functools import cache, cached_property
from itertools import chain

from agent_cli import clock, kinds
from agent_cli.memory.language import statements, terms
from agent_cli.memory.search import candidates, sources, word_counts
from agent_cli.memory.search.candidates import Filter, ParsedQuery
from agent_cli.memory.search.ranking import CandidateRow
from agent_cli.store.db import Database
from agent_cli.values import frozen

_PASSAGES = """select p.id, p.session_id, p.length, p.at, p.author, d.words, p.facts, p.kind, p.row,
        iif(p.kind = 'f' and a.place not in ('', :here), a.place, '')
    from json_each(:ids) c cross join passage p on p.id = c.value join area a on a.id = p.area
    join day d on d.id = p.day
    where {conditions}"""

_CONDITIONS = f"""{candidates.CONDITIONS}
    and not exists (select 1 from session where id = p.session_id and hidden_at is not null)
    and case p.kind {{current}} else 1 end"""

_NEWEST = """select p.id from passage p join area a on a.id = p.area
    where p.start = 0 and {conditions} order by p.at desc, p.row desc limit :limit"""

_OUTDATED = """select c.value, max(f.valid_to) filter (where f.valid_to <= :now),
        max(f.state = 'accepted' and coalesce(f.valid_to > :now, true))
    from json_each(:rows) c cross join fact f on f.id in (
        select id from fact where message_id = c.value union select fact_id from fact_source where message_id = c.value)
    where +f.owner = :owner and f.hidden_at is null and +f.state in ('accepted', 'superseded')
    group by c.value having min(f.valid_to) <= :now"""

_DATED = """select f.id, iif(coalesce(f.valid_from, '') > :now, f.valid_from, null), f.valid_to
    from json_each(:rows) c cross join fact f on f.id = c.value
    where coalesce(f.valid_from, '') > :now or f.valid_to > :now"""

_TEXTS = """select t.id, t.own, coalesce(m.role, ''), coalesce(m.author in ('', m.role) or m.model <> '', 0)
    from json_each(?) c cross join passage p on p.id = c.value cross join passage_text t on t.id = p.id
    left join message m on p.kind = 'm' and m.id = p.row"""

_LONGEST = 400  # characters of a reply that may be a repetition
_BEGINNING = 5  # letters of a word
_UNLIKE = 0.25  # share of the words of a repetition that its source may lack
_CITED = re.compile(r"\[([a-z]\d{1,9}(?:, ?[a-z]\d{1,9})*)\]")
_SOURCES = "fnm"  # kinds that a reply may rest on; files are replaced by their next version

_GIVEN = """select c.value, asked.text, m.external_id is null, r.kind, r.row, r.text
    from json_each(?) c cross join message m on m.id = c.value
    cross join message asked on asked.id = (
        select max(id) from message where session_id = m.session_id and id < m.id and role = 'user')
    left join recollection r on r.message_id = asked.id and r.kind <> ''"""

_STATES = """select c.value, iif(f.valid_to <= :now, f.valid_to, null), f.id is null or f.hidden_at is not null
    from json_each(:rows) c left join fact f on f.id = c.value"""

_REPLACED = """select o.statement, o.object, max(o.valid_to)
    from json_each(:rows) c cross join fact n on n.id = c.value
    join fact o on o.owner = n.owner and o.subject = n.subject and o.predicate = n.predicate
    where n.predicate <> '' and o.state in ('accepted', 'superseded') and o.valid_to <= :now and o.hidden_at is null
        and not exists (select 1 from fact where owner = o.owner and subject = o.subject and predicate = o.predicate
                        and object = o.object and state = 'accepted' and coalesce(valid_to > :now, 1))
    group by o.id"""

_NEIGHBOURS = """select p.id,
        (select json_group_array(id) from (select id from passage where session_id = p.session_id and kind = 'm'
            and (row, start) < (p.row, p.start) order by row desc, start desc limit 3)),
        (select json_group_array(id) from (select id from passage where session_id = p.session_id and kind = 'm'
            and (row, start) > (p.row, p.start) order by row, start limit 2))
    from json_each(?) c cross join passage p on p.id = c.value where p.kind = 'm' and p.session_id is not null"""


@frozen
class Said:
    """The text of a passage and, of a message, its role."""

    text: str
    role: str
    with_assistant: bool  # whether it was said between a person and the assistant, not between people


def fetch(
    db: Database,
    ids: Sequence[int],
    question: ParsedQuery,
    guessed: Mapping[int, frozenset[str]],
    allowed: Filter,
    now: datetime,
    excluded_text: str = "",
    without_neighbours: Collection[int] = (),
) -> dict[int, CandidateRow]:
    """The candidates and their neighbours, with the words of the question in and around each.

    `without_neighbours`: candidates whose neighbours are no candidates themselves.
    `excluded_text`: what says no more than this is left out, as a neighbour too.
    """
    places = neighbours(db, ids, without_neighbours)
    needed = set(places).union(*places.values()) - {0}
    said = {id: Said(*row) for id, *row in db.rows(_TEXTS, (sorted(needed),))}
    if excluded_text:
        said = {id: each for id, each in said.items() if each.text.strip() not in excluded_text}
    values = {
        "ids": [id for id in places if id in said],
        **candidates.bindings(allowed),
        "now": clock.utc(now),
    }
    passages = db.rows(_PASSAGES.format(conditions=_CONDITIONS.format(current=_current())), values)
    contexts = {id: _contexts(said, id, places[id]) for id, *_ in passages}
    others = {text for passage in passages for text in passage[4:7] if text}
    counts = word_counts.count(db, others.union(*contexts.values(), (said[id].text for id in contexts)), question)
    made: dict[int, CandidateRow] = {}
    for id, session, length, at, author, date, facts, kind, row, place in passages:
        before_that, before, after = (counts[text] for text in contexts[id])
        made[id] = CandidateRow(
            id,
            session,
            length,
            (now.timestamp() - at) / 86400,
            said[id].text,
            author,
            counts[said[id].text] | dict.fromkeys(guessed.get(id, ()), 1),
            before,
            before_that,
            after,
            counts.get(author, {}),
            counts[date],
            counts.get(facts, {}),
            kind=kind,
            row=row,
            at=at,
            place=place or "",
            role=said[id].role if said[id].with_assistant or said[id].role == "user" else "",
            neighbours=places[id][1:],
            with_assistant=bool(said[id].with_assistant),
            guessed=guessed.get(id, frozenset()) - counts[said[id].text].keys(),
        )
    _mark_ended(db, made.values(), allowed.owner, now)
    _mark_dated(db, made.values(), now)
    return made


def newest(db: Database, allowed: Filter, now: datetime, limit: int) -> list[int]:
    """The newest passages that are allowed and current."""
    values = {**candidates.bindings(allowed), "now": clock.utc(now), "limit": limit}
    sql = _NEWEST.format(conditions=_CONDITIONS.format(current=_current()))
    return [id for (id,) in db.rows(sql, values)]


@cache
def _current() -> str:
    """SQL: whether the row of a passage is current, by kind."""
    return " ".join(
        f"when '{kind.letter}' then (select {sources.source_of(kind.name).current} from {kind.table} where id = p.row)"
        for kind in kinds.SEARCHABLE
        if sources.source_of(kind.name).current
    )


def visible(db: Database, letter: str, rows: Sequence[int]) -> set[int]:
    """Those notes or messages, by the letter of their kind, that are found."""
    kind = kinds.BY_LETTER[letter]
    current = sources.source_of(kind.name).current or "true"
    found = db.rows(
        f"""select p.row from json_each(?) c cross join passage p on p.kind = ? and p.row = c.value
            where not exists (select 1 from session where id = p.session_id and hidden_at is not null)
              and (select {current} from {kind.table} where id = p.row)""",
        (rows, letter),
    )
    return {row for (row,) in found}


def ended_messages(db: Database, messages: Sequence[int], owner: str, now: datetime) -> dict[int, tuple[str, bool]]:
    """{message: (since when its facts are no longer true, whether only some)}."""
    if not db.value("select 1 from fact where owner = ? and valid_to <= ? limit 1", (owner, clock.utc(now))):
        return {}
    ended = db.rows(_OUTDATED, {"rows": messages, "owner": owner, "now": clock.utc(now)})
    return {id: (until, bool(partly)) for id, until, partly in ended}


def _mark_ended(db: Database, rows: Collection[CandidateRow], owner: str, now: datetime) -> None:
    """Mark messages whose facts are no longer true."""
    ended = ended_messages(db, [row.row for row in rows if row.kind == "m"], owner, now)
    for row in rows:
        if row.kind == "m" and row.row in ended:
            until, row.partly = ended[row.row]
            row.ended = datetime.fromisoformat(until).timestamp()


def _mark_dated(db: Database, rows: Collection[CandidateRow], now: datetime) -> None:
    """Mark facts that begin or end in the future."""
    values = {"rows": [row.row for row in rows if row.kind == "f"], "now": clock.utc(now)}
    dated = {id: dates for id, *dates in db.rows(_DATED, values)} if values["rows"] else {}
    for row in rows:
        if row.kind == "f" and row.row in dated:
            row.begins, row.ends = (
                datetime.fromisoformat(date).timestamp() if date else None for date in dated[row.row]
            )


def _contexts(said: Mapping[int, Said], id: int, around: Sequence[int]) -> list[str]:
    """The texts of passages around one, each empty when it does not tell what this one is about."""
    return [
        said[other].text if other in said and _is_context(said[id], said[other], place) else ""
        for other, place in zip(around, (-2, -1, 1), strict=True)
    ]


def _is_context(one: Said, other: Said, place: int) -> bool:
    """Whether another message, so many places away, tells what this one is about.

    Between people all do. With the assistant only what stands before a reply does, and a question before its answer:
    what is asked next is another matter.
    """
    if not one.with_assistant or not other.with_assistant:
        return True
    return place == -1 and (one.role == "assistant" or other.text.rstrip().endswith("?"))


def neighbours(
    db: Database, ids: Sequence[int], without_neighbours: Collection[int] = ()
) -> dict[int, tuple[int, int, int]]:
    """For each candidate and its neighbours the two passages before it and the one after it; 0 when there is none.

    Those of `without_neighbours` come without their neighbours.
    """
    found = dict.fromkeys(ids, (0, 0, 0))
    for id, before, after in db.rows(_NEIGHBOURS, (ids,)):
        line = [*reversed((json.loads(before) + [0] * 3)[:3]), id, *(json.loads(after) + [0] * 2)[:2]]
        for n in (2, 3, 4):
            if line[n] and (n == 3 or id not in without_neighbours):
                found[line[n]] = (line[n - 2], line[n - 1], line[n + 1])
    return found


@frozen
class Given:
    """What a reply was given: the question before it, and the texts of what was recalled, by (letter, id)."""

    question: str
    sources: Mapping[tuple[str, int], str]
    is_recorded: bool  # whether it is known what it was given: of an imported reply it is not

    @cached_property
    def asked(self) -> Set[str]:
        """The words of the question."""
        return set(terms.content_words(self.question))


def judge(db: Database, rows: Sequence[CandidateRow], question: ParsedQuery, allowed: Filter, now: datetime) -> bool:
    """Mark what tells nothing as empty, and replies whose source no longer holds as ended or withdrawn.

    Nothing is told by small talk, by questions, by what asks the same in whatever form, by empty replies, and by those
    that repeat another of the rows. Returns whether any was marked.
    """
    unjudged = [row for row in rows if not row.judged]
    words = question.words.keys()
    for row in unjudged:
        row.judged = True
        if row.with_assistant:
            row.empty = statements.emptiness(row.text, row.role, words)
        if row.role == "user" and not row.empty and row.own_words and statements.asks_the_same(row.text, words):
            row.empty = "question"
    if replies := [row for row in unjudged if row.role == "assistant" and not row.empty]:
        _mark_replies(db, replies, rows, allowed.owner, now)
    return any(row.empty or row.ended or row.withdrawn for row in unjudged)


def _mark_replies(
    db: Database, replies: Sequence[CandidateRow], rows: Sequence[CandidateRow], owner: str, now: datetime
) -> None:
    given = _given(db, replies)
    words = cache(lambda text: frozenset(terms.content_words(text)))  # the same is often given
    rests = {row.id: _rests_on(row.text, given.get(row.row), words) for row in replies}
    others = _replies_among(db, rests.values())
    for reply in replies:
        recorded = reply.row in given and given[reply.row].is_recorded
        reply.unsupported = recorded and rests[reply.id] <= others
    _mark_without_source(db, replies, rests, owner, now)
    _mark_replaced(db, replies, rows, now)
    _mark_repetitions(replies, rows, given)


def _given(db: Database, replies: Sequence[CandidateRow]) -> dict[int, Given]:
    questions: dict[int, str] = {}
    given: dict[int, dict[tuple[str, int], str]] = {}
    recorded: set[int] = set()
    for reply, question, is_ours, kind, row, shown in db.rows(_GIVEN, ([each.row for each in replies],)):
        questions[reply] = question
        if is_ours:
            recorded.add(reply)
        if kind is not None:
            given.setdefault(reply, {})[kinds.BY_NAME[kind].letter, row] = shown.partition(": ")[2]
    return {reply: Given(question, given.get(reply, {}), reply in recorded) for reply, question in questions.items()}


def _rests_on(reply: str, given: Given | None, words: Callable[[str], Set[str]]) -> set[tuple[str, int]]:
    """What a reply cites, else what it was given and repeats beyond the words of the question."""
    cited = {(each[0], int(each[1:])) for group in _CITED.findall(reply) for each in re.split(r", ?", group)}
    if cited or given is None or not given.sources:
        return cited
    said = reply.casefold()
    return {
        source
        for source, shown in given.sources.items()
        if (telling := words(shown) - given.asked) and 2 * _lacking(telling, said, len(telling)) <= len(telling)
    }


def _replies_among(db: Database, sources: Iterable[Set[tuple[str, int]]]) -> set[tuple[str, int]]:
    """The sources that are replies themselves: one made up supports no other."""
    messages = {row for each in sources for letter, row in each if letter == "m"}
    sql = "select m.id from json_each(?) c cross join message m on m.id = c.value where m.role = 'assistant'"
    return {("m", row) for (row,) in db.rows(sql, (sorted(messages),))} if messages else set()


def _mark_without_source(
    db: Database, replies: Sequence[CandidateRow], rests: Mapping[int, set[tuple[str, int]]], owner: str, now: datetime
) -> None:
    """Mark the replies that rest on facts that ended, on messages that tell such facts, or on what was deleted."""
    sources = {source for each in rests.values() for source in each if source[0] in _SOURCES}
    by_letter = {letter: [row for kind, row in sources if kind == letter] for letter in _SOURCES}
    facts = {"rows": by_letter["f"], "now": clock.utc(now)}
    states = {("f", row): (until, bool(deleted)) for row, until, deleted in db.rows(_STATES, facts)}
    for letter in "nm":
        present = visible(db, letter, by_letter[letter])
        states |= {(letter, row): (None, row not in present) for row in by_letter[letter]}
    for row, (until, partly) in ended_messages(db, by_letter["m"], owner, now).items():
        if not partly:
            states["m", row] = until, False
    for reply in replies:
        found = [states[source] for source in rests[reply.id] if source in states]
        ended = [until for until, _ in found if until]
        if ended:
            reply.ended = datetime.fromisoformat(max(ended)).timestamp()
            reply.partly = len(ended) < len(found)
        reply.withdrawn = any(deleted for _, deleted in found)


def _mark_replaced(db: Database, replies: Sequence[CandidateRow], rows: Iterable[CandidateRow], now: datetime) -> None:
    """Mark the replies that state what a fact among the rows has replaced, though no source of them is recorded."""
    facts = {"rows": [row.row for row in rows if row.kind == "f"], "now": clock.utc(now)}
    replaced = db.rows(_REPLACED, facts)
    for statement, object, until in replaced:
        words = set(terms.content_words(f"{statement} {object}"))
        for reply in replies:
            if reply.ended is None and not _lacking(words, reply.text.casefold()):
                reply.ended = datetime.fromisoformat(until).timestamp()


def _mark_repetitions(
    replies: Sequence[CandidateRow], rows: Iterable[CandidateRow], given: Mapping[int, Given]
) -> None:
    """Mark the replies that say only what another row says, apart from the words of the question before them."""
    short = [each for each in replies if len(each.text) <= _LONGEST and not each.ended and not each.withdrawn]
    others = [row for row in rows if row.role != "assistant" and not row.empty] if short else []
    holders: dict[str, list[int]] = {}  # which of the others hold a word
    for number, row in enumerate(others):
        for beginning in _beginnings(row.words):
            holders.setdefault(beginning, []).append(number)
    for reply in short:
        said = _CITED.sub("", reply.text)
        words = set(terms.content_words(said))
        telling = _beginnings((words - given[reply.row].asked if reply.row in given else words) or words)
        least = len(telling) - int(_UNLIKE * len(telling))
        held = Counter(chain.from_iterable(holders.get(each, ()) for each in telling))
        figures = [holders.get(each, ()) for each in telling if each.isdigit()]
        if any(
            terms.is_negated(said) == terms.is_negated(others[number].text)
            for number, count in held.items()
            if count >= least and all(number in each for each in figures)
        ):
            reply.empty = "repetition"


def _beginnings(words: Iterable[str]) -> Set[str]:
    """What words are compared by where their endings may differ."""
    return {word if word.isdigit() else word[:_BEGINNING] for word in words}


def _lacking(words: Iterable[str], folded: str, allowed: int = 0) -> int:
    """How many of the words a text lacks, apart from their endings; counted until more than `allowed` are found."""
    lacking = 0
    for word in words:
        if (word[:-1] if len(word) > 4 and not word.isdigit() else word) not in folded:
            lacking += allowed + 1 if word.isdigit() else 1
            if lacking > allowed:
                break
    return lacking
