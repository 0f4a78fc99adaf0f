"""What the person only said or noted: which statement a later one replaces, and whom a relation names.

Facts replace one another when they are accepted (memory/facts/adoption.py), and their relations are in the graph of
entities. Of what was only said ("I live in Graz", then "I moved to Linz in June") the statement of a single-valued
predicate that became true last counts, and "my brother" is Lukas where the person said so. Both are looked for by the
words of the predicate, because they need not hold those of the question.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from functools import cache

from agent_cli import clock, kinds, text
from agent_cli.memory.dates import validity
from agent_cli.memory.entities import graph
from agent_cli.memory.language import statements, triples
from agent_cli.memory.language.triples import Triple
from agent_cli.memory.search import candidates, passage_context, word_tables
from agent_cli.memory.search.candidates import Filter, ParsedQuery
from agent_cli.memory.search.ranking import CandidateRow
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

LOOKED_AT = 8  # rows whose statements are compared with later ones
_LONGEST = 300  # characters of a message that is taken for statements
_NEWEST = 100  # passages with a word of the predicate, the newest first
_ABOUT_NAMES = 20  # passages about the people that a relation names, the newest first
_MAX_NAME_WORDS = 3

_OWN = f"""with hit as materialized (select rowid as id from {{table}} where {{table}} match :match and rowid > 0
        order by rowid desc limit {_NEWEST})
    select p.id, p.kind, p.row, p.at, t.own
    from hit cross join passage p on p.id = hit.id cross join area a on a.id = p.area
    cross join passage_text t on t.id = p.id left join message m on p.kind = 'm' and m.id = p.row
    where {candidates.CONDITIONS} and p.start = 0 and p.length <= {_LONGEST}
        and (p.kind = 'n' or (p.kind = 'm' and m.role = 'user' and (m.author in ('', m.role) or m.model <> '')))"""

_FACTS = """select p.id, p.row, f.object, f.learned_at, f.valid_from
    from fact f cross join passage p on p.kind = 'f' and p.row = f.id
    where f.owner = :owner and f.subject = :subject and f.predicate in (select value from json_each(:predicates))
        and f.state = 'accepted' and f.hidden_at is null and f.session_id is null and f.place = ''
        and coalesce(f.valid_from, '') <= :now and coalesce(f.valid_to > :now, true)"""


@frozen
class _Stated:
    """A value of a predicate, where and when it was stated, and from when it is true, if that is said."""

    passage: int
    kind: str
    row: int
    object: str  # case folded
    said: datetime
    since: datetime | None

    def replaces(self, earlier: "_Stated") -> bool:
        """Whether it holds instead of one that was said earlier: dates decide, where both have one."""
        return not (self.since and earlier.since) or self.since > earlier.since

    def has_begun(self, now: datetime) -> bool:
        """Whether it is no plan."""
        return self.since is None or self.since <= now


def mark(
    db: Database, rows: Sequence[CandidateRow], question: ParsedQuery, allowed: Filter, now: datetime
) -> list[int]:
    """Mark the rows that a later statement replaces with its passage; returns the passages of what holds instead.

    What a question of the past names ("when did I move to Linz?") is not replaced. A plan that is not asked for is only
    marked as outdated.
    """
    later: dict[int, None] = {}
    newest: dict[tuple[str, str], _Stated | None] = {}
    for row in rows:
        if not _is_own_statement(row):
            continue
        for key, mine in _stated(row.id, row.kind, row.row, row.at, row.text):
            if _is_asked_for(db, question, mine, now):
                continue
            if key not in newest:
                newest[key] = _newest(db, *key, allowed, now)
            other = newest[key]
            if other is None or other.object == mine.object:
                continue
            later[other.passage] = None
            if mine.has_begun(now):
                row.replaced_by = other.passage
                row.replaced_in = ids.handle(kinds.BY_LETTER[other.kind].name, other.row)
            else:
                row.outdated = True
    return list(later)


def _is_asked_for(db: Database, question: ParsedQuery, stated: _Stated, now: datetime) -> bool:
    """Whether a question of the past names this value, or one of the future is about this plan."""
    if stated.has_begun(now):
        return question.of_the_past and question.names(db, stated.object)
    return question.of_the_future or question.names(db, stated.object)


def about_relatives(
    db: Database, query: str, question: ParsedQuery, allowed: Filter
) -> dict[int, tuple[float, frozenset[str]]]:
    """What the person told of whom a relation in the question names: the weight of each passage, and its stems.

    The stems are those of the relation: what is told of Lukas need not say "brother".
    """
    found: dict[int, tuple[float, frozenset[str]]] = {}
    for predicate, word in graph.relations(query).items():
        stems = frozenset(stem for stem in db.tokens(word) if stem in question.idfs)
        in_facts = {name for *_, name in graph.related(db, allowed.owner, [predicate])}
        names = in_facts or _names_said(db, predicate, allowed)
        for name in names if stems else ():
            for id, *_ in _own_passages(db, candidates.quoted(name), allowed)[:_ABOUT_NAMES]:
                found[id] = graph.RELATED, stems | found.get(id, (0.0, frozenset[str]()))[1]
    return found


def _names_said(db: Database, predicate: str, allowed: Filter) -> set[str]:
    """The names that the person gave as this relation, as in "my brother is called Lukas"."""
    found = {
        triple.object
        for *_, words in _own_passages(db, _words_of(predicate), allowed)
        for _, triple in _triples(words)
        if (triple.subject, triple.predicate) == (graph.PERSON, predicate)
    }
    return {name for name in found if len(name.split()) <= _MAX_NAME_WORDS and name[:1].isupper()}


def _is_own_statement(row: CandidateRow) -> bool:
    is_own = row.kind == "n" or (row.kind == "m" and row.role == "user" and row.with_assistant)
    if not is_own or row.empty or row.ended or len(row.text) > _LONGEST:
        return False
    return not _predicate_words().isdisjoint(text.words(row.text.casefold()))


@cache
def _predicate_words() -> frozenset[str]:
    """The words by which statements of single-valued predicates are found: a text without one need not be parsed."""
    return frozenset(word for each in triples.SINGLE_VALUED for word in triples.search_words(each).split())


def _newest(db: Database, subject: str, predicate: str, allowed: Filter, now: datetime) -> _Stated | None:
    """The statement of this subject and predicate that is true now; None when there is none."""
    found = [
        stated
        for id, kind, row, at, words in _own_passages(db, _words_of(predicate), allowed)
        for key, stated in _stated(id, kind, row, at, words)
        if key == (subject, predicate) and stated.has_begun(now)
    ]
    visible = {letter: passage_context.visible(db, letter, [each.row for each in found]) for letter in "mn" if found}
    known = [each for each in found if each.row in visible[each.kind]]
    newest = None
    for each in sorted([*known, *_kept(db, subject, predicate, allowed, now)], key=lambda each: each.said):
        newest = each if newest is None or each.replaces(newest) else newest
    return newest


def _own_passages(db: Database, match: str, allowed: Filter) -> list[tuple[int, str, int, float, str]]:
    """(passage, kind, row, moment, text) of the newest short messages and notes of the person that match."""
    sql = _OWN.format(table=word_tables.table(db, "words"))
    return list(db.rows(sql, {"match": f"own : ({match})", **candidates.bindings(allowed)}))


def _words_of(predicate: str) -> str:
    return " OR ".join(candidates.quoted(word) for word in triples.search_words(predicate).split())


def _kept(db: Database, subject: str, predicate: str, allowed: Filter, now: datetime) -> Iterator[_Stated]:
    """The facts that say it."""
    if allowed.kinds and "fact" not in allowed.kinds:
        return
    values = {
        "owner": allowed.owner,
        "subject": subject,
        "predicates": triples.forms(predicate, triples.SINGLE_VALUED),
        "now": clock.utc(now),
    }
    for id, row, object, said, since in db.rows(_FACTS, values):
        begins = datetime.fromisoformat(since) if since else None
        yield _Stated(id, "f", row, object.casefold(), datetime.fromisoformat(said), begins)


def _stated(id: int, kind: str, row: int, at: float, words: str) -> Iterator[tuple[tuple[str, str], _Stated]]:
    """((subject, predicate), value) of each clause that states a value of a single-valued predicate."""
    said = clock.from_timestamp(at)
    for clause, triple in _triples(words):
        if triple.predicate in triples.SINGLE_VALUED:
            since = validity.find(clause, said).since
            yield (triple.subject, triple.predicate), _Stated(id, kind, row, triple.object.casefold(), said, since)


def _triples(words: str) -> Iterator[tuple[str, Triple]]:
    """Each clause that a rule can parse, with what it states."""
    for sentence in text.sentences(words):
        for clause in statements.clauses(sentence):
            if triple := triples.parse(clause):
                yield clause, triple
