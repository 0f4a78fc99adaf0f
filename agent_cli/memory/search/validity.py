"""Whether candidates tell something and hold: which are empty, which replies of the assistant have lost their source,
and which statements of the person a later one replaces.

The recall log has what each reply was given; what it cited stands in its text. Without a citation it rests on what it
was given and repeats. Of what was only said ("I live in Graz", then "I moved to Linz in June") the statement of a
single-valued predicate that became true last counts, and "my brother" is Lukas where the person said so. Both are
looked for by the words of the predicate, because they need not hold those of the question.
"""

import re
from collections.abc import Iterable, Iterator, Sequence, Set
from datetime import datetime
from functools import cache, partial
from typing import NamedTuple

from agent_cli import clock, kinds, text
from agent_cli.memory.language import spans, statements, terms, triples
from agent_cli.memory.search import candidates, graph, word_tables
from agent_cli.memory.search.candidates import Question, Request
from agent_cli.memory.search.passage_context import CandidateRow, ended_messages, timestamp, visible, words_of
from agent_cli.store import ids
from agent_cli.store.db import Database, Row
from agent_cli.text import Pattern

LOOKED_AT = 8  # rows whose statements are compared with later ones
_LONGEST_STATEMENT = 300  # characters of a message that is taken for statements
_NEWEST = 100  # passages with a word of the predicate, the newest first
_ABOUT_NAMES = 20  # passages about the people that a relation names, the newest first
_MAX_NAME_WORDS = 3

_OWN = f"""with hit as materialized (select rowid as id from {{table}} where {{table}} match :match and rowid > 0
        order by rowid desc limit {_NEWEST})
    select p.id, p.kind, p.row, p.at, t.own
    from hit cross join passage p on p.id = hit.id cross join area a on a.id = p.area
    cross join passage_text t on t.id = p.id left join message m on p.kind = 'm' and m.id = p.row
    where {{conditions}} and p.start = 0 and p.length <= {_LONGEST_STATEMENT}
        and (p.kind = 'n' or (p.kind = 'm' and m.role = 'user' and (m.author in ('', m.role) or m.model <> '')))"""

_FACTS = """select p.id, p.row, f.object, f.learned_at, f.valid_from
    from fact f cross join passage p on p.kind = 'f' and p.row = f.id
    where f.owner = :owner and f.subject = :subject and f.predicate in (select value from json_each(:predicates))
        and f.state = 'accepted' and f.hidden_at is null and f.session_id is null and f.place = ''
        and coalesce(f.valid_from, '') <= :now and coalesce(f.valid_to > :now, true)"""


class _Stated(NamedTuple):
    """A value of a predicate, where and when it was stated, and from when it is true, if that is said."""

    passage: int
    kind: str
    row: int
    object: str  # case folded
    said: datetime
    since: datetime | None

    def has_begun(self, now: datetime) -> bool:
        """Whether it is no plan."""
        return self.since is None or self.since <= now


def replaced_later(
    request: Request, rows: Sequence[CandidateRow], question: Question
) -> tuple[list[CandidateRow], list[int]]:
    """Those of these rows that a later statement replaces, with its passage, and the passages of what holds instead:
    not what a question of the past names ("when did I move?"). A plan that is not asked for is only outdated."""
    replaced, later = list[CandidateRow](), dict[int, None]()
    newest = cache(partial(_newest, request))
    for row in rows:
        is_own = row.kind == "n" or (row.kind == "m" and row.role == "user" and row.with_assistant)
        if not is_own or row.empty or row.ended or len(row.text) > _LONGEST_STATEMENT:
            continue
        if _predicate_words().isdisjoint(text.words(row.text.casefold())):
            continue
        before = row
        for key, mine in _stated(row.id, row.kind, row.row, row.at, row.text):
            other = None if _is_asked_for(request, question, mine) else newest(*key)
            if other is None or other.object == mine.object:
                continue
            later[other.passage] = None
            if mine.has_begun(request.now):
                handle = ids.handle(kinds.BY_LETTER[other.kind].name, other.row)
                row = row._replace(replaced_by=other.passage, replaced_in=handle)
            else:
                row = row._replace(outdated=True)
        if row is not before:
            replaced.append(row)
    return replaced, list(later)


def _is_asked_for(request: Request, question: Question, stated: _Stated) -> bool:
    """Whether a question of the past names this value, or one of the future is about this plan."""
    if stated.has_begun(request.now):
        return question.of_the_past and question.names(request.db, stated.object)
    return question.of_the_future or question.names(request.db, stated.object)


def about_relatives(request: Request, question: Question) -> dict[int, tuple[float, frozenset[str]]]:
    """What the person told of whom a relation in the question names: the weight of each passage, and the stems of the
    relation: what is told of Lukas need not say "brother"."""
    found: dict[int, tuple[float, frozenset[str]]] = {}
    for predicate, word in graph.relations(question.text).items():
        stems = frozenset(stem for stem in request.db.tokens(word) if stem in question.idfs)
        in_facts = {name for *_, name in graph.related(request.db, request.allowed.owner, [predicate])}
        names = in_facts or _names_said(request, predicate)
        for name in names if stems else ():
            for id, *_ in _own_passages(request, candidates.quoted(name))[:_ABOUT_NAMES]:
                found[id] = graph.RELATED, stems | found.get(id, (0.0, frozenset[str]()))[1]
    return found


def _names_said(request: Request, predicate: str) -> set[str]:
    """The names that the person gave as this relation, as in "my brother is called Lukas"."""
    found = {
        triple.object
        for *_, words in _own_passages(request, _words_of(predicate))
        for _, triple in _triples(words)
        if (triple.subject, triple.predicate) == (graph.PERSON, predicate)
    }
    return {name for name in found if len(name.split()) <= _MAX_NAME_WORDS and name[:1].isupper()}


@cache
def _predicate_words() -> frozenset[str]:
    """The words by which statements of single-valued predicates are found: a text without one need not be parsed."""
    return frozenset(word for each in triples.SINGLE_VALUED for word in triples.search_words(each).split())


def _newest(request: Request, subject: str, predicate: str) -> _Stated | None:
    """The statement of this subject and predicate that is true now, said or a fact; None when there is none."""
    db, allowed, now = request.db, request.allowed, request.now
    found = [
        stated
        for id, kind, row, at, words in _own_passages(request, _words_of(predicate))
        for key, stated in _stated(id, kind, row, at, words)
        if key == (subject, predicate) and stated.has_begun(now)
    ]
    shown = {letter: visible(db, letter, [each.row for each in found]) for letter in "mn" if found}
    found = [each for each in found if each.row in shown[each.kind]]
    predicates = triples.forms(predicate, triples.SINGLE_VALUED)
    values = {"owner": allowed.owner, "subject": subject, "predicates": predicates, "now": clock.utc(now)}
    for id, row, object, said, since in db.rows(_FACTS, values) if "fact" in (allowed.kinds or ("fact",)) else ():
        begins = datetime.fromisoformat(since) if since else None
        found.append(_Stated(id, "f", row, object.casefold(), datetime.fromisoformat(said), begins))
    newest = None
    for each in sorted(found, key=lambda each: each.said):  # dates decide, where both have one
        if newest is None or not (each.since and newest.since) or each.since > newest.since:
            newest = each
    return newest


def _own_passages(request: Request, match: str) -> list[tuple[int, str, int, float, str]]:
    """(passage, kind, row, moment, text) of the newest short messages and notes of the person that match."""
    sql = _OWN.format(table=word_tables.table(request.db, "words"), conditions=candidates.conditions(request.allowed))
    return request.db.rows(sql, {"match": f"own : ({match})", **candidates.bindings(request.allowed)})


def _words_of(predicate: str) -> str:
    return " OR ".join(candidates.quoted(word) for word in triples.search_words(predicate).split())


def _stated(id: int, kind: str, row: int, at: float, words: str) -> Iterator[tuple[tuple[str, str], _Stated]]:
    """((subject, predicate), value) of each clause that states a value of a single-valued predicate."""
    said = clock.from_timestamp(at)
    for clause, triple in _triples(words):
        if triple.predicate in triples.SINGLE_VALUED:
            since = spans.of_statement(clause, said).since
            yield (triple.subject, triple.predicate), _Stated(id, kind, row, triple.object.casefold(), said, since)


def _triples(words: str) -> Iterator[tuple[str, triples.Triple]]:
    """Each clause that a rule can parse, with what it states."""
    for sentence in text.sentences(words):
        for clause in statements.clauses(sentence):
            if triple := triples.parse(clause):
                yield clause, triple


_LONGEST = 400  # characters of a reply that may be a repetition
_UNLIKE = 0.25  # share of the words of a repetition that its source may lack
_CITED = Pattern(r"\[([a-z]\d{1,9}(?:, ?[a-z]\d{1,9})*)\]")
_Source = tuple[str, int]
"""What a reply rests on: the letter of its kind, and its id."""
_State = tuple[str | None, bool]
"""When a source ceased to be true, or a message all that it tells, and whether it was deleted."""
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


class _Given(NamedTuple):
    """What a reply was given: the words of the question before it, and the texts of what was recalled."""

    asked: Set[str]
    sources: dict[_Source, str]
    is_recorded: bool  # whether it is known what it was given: of an imported reply it is not


def marked(
    request: Request, new: Sequence[CandidateRow], rows: Sequence[CandidateRow], question: Question
) -> list[CandidateRow]:
    """Those of the new rows, which are among the rows, that tell nothing (small talk, questions, empty replies, what
    repeats another row) or do not hold, marked as such."""
    db, now, asked = request.db, request.now, question.words.keys()
    empty = {row.id: why for row in new if (why := _why_empty(row, asked))}
    made = [row._replace(empty=empty[row.id]) for row in new if row.id in empty]
    replies = [row for row in new if row.role == "assistant" and row.id not in empty]
    if not replies:
        return made
    given = _given(db, replies)
    rests = {row.id: _rests_on(row.text, given.get(row.row)) for row in replies}
    messages = {row for each in rests.values() for letter, row in each if letter == "m"}
    sql = "select m.id from json_each(?) c cross join message m on m.id = c.value where m.role = 'assistant'"
    made_up = {("m", row) for row in db.column(sql, (sorted(messages),))}  # one made up supports no other
    states = _states(db, {source for each in rests.values() for source in each}, request.allowed.owner, now)
    facts = [row.row for row in rows if row.kind == "f"]
    replaced = db.rows(_REPLACED, {"rows": facts, "now": clock.utc(now)}) if facts else []
    others = [row for row in rows if row.role != "assistant" and not (row.empty or row.id in empty)]
    held = [(row.text, _beginnings(words_of(row.text))) for row in others]
    for reply in replies:
        of, sources = given.get(reply.row), rests[reply.id]
        if of is not None and of.is_recorded:
            reply = reply._replace(unsupported=sources <= made_up or _is_new(reply.text, of))
        reply = _with_state(reply, [states[source] for source in sources if source in states], replaced)
        if not (reply.ended or reply.withdrawn) and _repeats(reply.text, held, of):
            reply = reply._replace(empty="repetition")
        made.append(reply)
    return made


def _why_empty(row: CandidateRow, asked: Set[str]) -> str:
    why = statements.emptiness(row.text, row.role, asked) if row.with_assistant else ""
    if row.kind == "y" and statements.is_small_talk(row.text.partition("\n")[0]):  # whatever details follow
        why = "small talk"
    if row.role == "user" and not why and row.own_words and statements.asks_the_same(row.text, asked):
        why = "question"
    return why


def _given(db: Database, replies: Sequence[CandidateRow]) -> dict[int, _Given]:
    given = dict[int, _Given]()
    for reply, question, is_ours, kind, row, shown in db.rows(_GIVEN, ([each.row for each in replies],)):
        if reply not in given:
            given[reply] = _Given(frozenset(terms.content_words(question)), {}, bool(is_ours))
        if kind is not None:
            given[reply].sources[kinds.BY_NAME[kind].letter, row] = shown.partition(": ")[2]
    return given


def _rests_on(reply: str, given: _Given | None) -> set[_Source]:
    """What a reply cites, else what it was given and repeats beyond the words of the question."""
    cited = {(each[0], int(each[1:])) for group in _CITED.findall(reply) for each in re.split(r", ?", group)}
    if cited or given is None:
        return cited
    said = reply.casefold()
    return {
        source
        for source, shown in given.sources.items()
        if (telling := set(words_of(shown)) - given.asked) and 2 * _lacking(telling, said, len(telling)) <= len(telling)
    }


def _is_new(reply: str, given: _Given) -> bool:
    """Whether half of what a short reply tells beyond the question stands in nothing that it was given."""
    if len(reply) > _LONGEST or _CITED.search(reply):
        return False
    new, shown = set(words_of(reply)) - given.asked, "\n".join(given.sources.values()).casefold()
    return bool(new) and 2 * _lacking(new, shown, len(new)) >= len(new)


def _states(db: Database, sources: Set[_Source], owner: str, now: datetime) -> dict[_Source, _State]:
    of_kind = {letter: [row for kind, row in sources if kind == letter] for letter in _SOURCES}
    if not any(of_kind.values()):
        return {}
    facts = db.rows(_STATES, {"rows": of_kind["f"], "now": clock.utc(now)})
    states = {("f", row): (until, bool(deleted)) for row, until, deleted in facts}
    for letter in "nm":
        present = visible(db, letter, of_kind[letter])
        states |= {(letter, row): (None, row not in present) for row in of_kind[letter]}
    for row, (until, partly, _) in ended_messages(db, of_kind["m"], owner, now).items():
        if not partly:
            states["m", row] = until, False
    return states


def _with_state(
    reply: CandidateRow, sources: Sequence[tuple[str | None, bool]], replaced: Sequence[Row]
) -> CandidateRow:
    """The reply as what it rests on holds. `replaced`: what facts among the rows have replaced, which it may state."""
    if ended := [until for until, _ in sources if until]:
        partly = len(ended) < len(sources)
        reply = reply._replace(ended=timestamp(max(ended)), partly=partly, outdated=not partly)
    if any(deleted for _, deleted in sources):
        reply = reply._replace(withdrawn=True)
    for statement, object, until in replaced:
        if reply.ended is None and not _lacking(terms.content_words(f"{statement} {object}"), reply.text.casefold()):
            reply = reply._replace(ended=timestamp(until), outdated=True)
    return reply


def _repeats(reply: str, others: Sequence[tuple[str, Set[str]]], given: _Given | None) -> bool:
    """Whether a short reply says only what one of the others says, apart from the words of the question before it."""
    if len(reply) > _LONGEST:
        return False
    said = _CITED.sub("", reply)
    words = set(words_of(said))
    telling = _beginnings((words - given.asked if given else words) or words)
    least, figures = len(telling) - int(_UNLIKE * len(telling)), {each for each in telling if each.isdigit()}
    return any(
        len(telling & held) >= least and figures <= held and terms.is_negated(said) == terms.is_negated(text)
        for text, held in others
    )


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
