"""Judges which candidates tell something, and which replies of the assistant still hold.

A reply of the assistant that repeats a source tells nothing new, and one whose source no longer holds does not hold
either. The recall log has what each was given; what it cited stands in its text. Without a citation it rests on what it
was given and repeats.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence, Set
from datetime import datetime
from functools import cache, cached_property
from itertools import chain

from agent_cli import clock, kinds
from agent_cli.memory.language import statements, terms
from agent_cli.memory.search.candidates import Filter, ParsedQuery
from agent_cli.memory.search.passage_context import ended_messages, visible
from agent_cli.memory.search.ranking import CandidateRow
from agent_cli.store.db import Database
from agent_cli.text import Pattern
from agent_cli.values import frozen

_LONGEST = 400  # characters of a reply that may be a repetition
_UNLIKE = 0.25  # share of the words of a repetition that its source may lack
_CITED = Pattern(r"\[([a-z]\d{1,9}(?:, ?[a-z]\d{1,9})*)\]")
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
        elif row.kind == "y" and statements.is_small_talk(row.text):  # a small model's summary
            row.empty = "small talk"
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
        reply.unsupported = recorded and (rests[reply.id] <= others or _invents(reply.text, given[reply.row], words))
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


def _invents(reply: str, given: Given, words: Callable[[str], Set[str]]) -> bool:
    """Whether half of what a short reply tells beyond the question stands in nothing that it was given."""
    if len(reply) > _LONGEST or _CITED.search(reply):
        return False
    new, shown = words(reply) - given.asked, "\n".join(given.sources.values()).casefold()
    return bool(new) and 2 * _lacking(new, shown, len(new)) >= len(new)


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
    if not sources:
        return
    by_letter = {letter: [row for kind, row in sources if kind == letter] for letter in _SOURCES}
    facts = {"rows": by_letter["f"], "now": clock.utc(now)}
    states = {("f", row): (until, bool(deleted)) for row, until, deleted in db.rows(_STATES, facts)}
    for letter in "nm":
        present = visible(db, letter, by_letter[letter])
        states |= {(letter, row): (None, row not in present) for row in by_letter[letter]}
    for row, (until, partly, _) in ended_messages(db, by_letter["m"], owner, now).items():
        if not partly:
            states["m", row] = until, False
    for reply in replies:
        found = [states[source] for source in rests[reply.id] if source in states]
        ended = [until for until, _ in found if until]
        if ended:
            reply.ended = datetime.fromisoformat(max(ended)).timestamp()
            reply.partly = len(ended) < len(found)
            reply.outdated = not reply.partly
        reply.withdrawn = any(deleted for _, deleted in found)


def _mark_replaced(db: Database, replies: Sequence[CandidateRow], rows: Iterable[CandidateRow], now: datetime) -> None:
    """Mark the replies that state what a fact among the rows has replaced, though no source of them is recorded."""
    facts = [row.row for row in rows if row.kind == "f"]
    replaced = db.rows(_REPLACED, {"rows": facts, "now": clock.utc(now)}) if facts else []
    for statement, object, until in replaced:
        words = set(terms.content_words(f"{statement} {object}"))
        for reply in replies:
            if reply.ended is None and not _lacking(words, reply.text.casefold()):
                reply.ended = datetime.fromisoformat(until).timestamp()
                reply.outdated = True


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
        words = set(reply.words if said == reply.text else terms.content_words(said))
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
    return {word if word.isdigit() else word[: terms.BEGINNING] for word in words}


def _lacking(words: Iterable[str], folded: str, allowed: int = 0) -> int:
    """How many of the words a text lacks, apart from their endings; counted until more than `allowed` are found."""
    lacking = 0
    for word in words:
        if (word[:-1] if len(word) > 4 and not word.isdigit() else word) not in folded:
            lacking += allowed + 1 if word.isdigit() else 1
            if lacking > allowed:
                break
    return lacking
