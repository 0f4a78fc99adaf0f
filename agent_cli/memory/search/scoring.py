"""One search, among files or among all else: candidates are proposed, read with their context, and scored.

Words, names, trigrams and vectors propose. When the best of them tell nothing, as questions and small talk do, others
take their places; what holds only words that were misspelt before is looked for by its letters.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import field
from datetime import datetime
from functools import cache
from itertools import chain, islice
from typing import TypeVar

from agent_cli.memory.dates import spans
from agent_cli.memory.language import statements
from agent_cli.memory.search import (
    candidates,
    index,
    judgement,
    passage_context,
    ranking,
    selection,
    vectors,
)
from agent_cli.memory.search.candidates import Filter, ParsedQuery
from agent_cli.memory.search.passage_context import Around
from agent_cli.memory.search.ranking import CandidateRow, QueryContext, Scored
from agent_cli.memory.search.vectors import QueryEmbedder, VectorSet
from agent_cli.store.db import Database, IndexDamaged, Pending, Row
from agent_cli.values import frozen

RESCORED = 60  # hits of the word index that are scored again with their context
VECTORS, CONTEXTUAL_VECTORS = 10, 30  # the same, of the vectors, and of those of a contextual embedder
READ = 52  # of many messages proposed those whose texts are read: with more of them the same was found
WITH_NEIGHBOURS = 16  # word hits that bring their neighbours: from 10 to 20 recall differs by single questions
VECTORS_WITH_NEIGHBOURS = 5  # the nearest that bring theirs, unless words found them: with ten the same was found

T = TypeVar("T")


@frozen
class RecallRequest:
    """What is asked, and what it is searched with."""

    db: Database
    query: str
    allowed: Filter
    now: datetime
    embedder: QueryEmbedder | None
    vector: Sequence[float] | None  # of the query
    vector_set: VectorSet | None
    logged: bool  # whether the question is in the log too
    damaged: list[str]  # indexes that could not be used; more are added


@frozen
class Search:
    """A search under way: the question as it was understood, and the candidates, of which more are found."""

    request: RecallRequest
    question: ParsedQuery
    hits: Sequence[tuple[int, float]]  # of the word index
    proposed: Sequence[int]  # by words, names and trigrams
    times: Filter | None  # the time that the question names
    named: Mapping[int, float]  # passages of facts about an entity that it names, and their weights
    sessions: Mapping[int, float]
    average: float
    authors: frozenset[str]  # those that it names
    words: Mapping[str, Sequence[str]]  # the stems of each content word that names no author, and of each run
    unknown: set[str]  # words that were looked for by their letters
    guessed: dict[int, frozenset[str]]  # passages that hold words like these, and the stems of these
    nearest: list[int] = field(default_factory=list)  # proposed by vectors
    rows: dict[int, CandidateRow] = field(default_factory=dict)
    unread: list[int] = field(default_factory=list)  # candidates that were left out, the most promising first

    @property
    def compared(self) -> VectorSet | None:
        """The vectors that count, if any."""
        return self.request.vector_set if self.nearest else None


def run(request: RecallRequest) -> list[Scored]:
    """The scored candidates, best first. Damaged indexes are left out, and added to `request.damaged`."""
    find_nearest = _start_nearest(request)
    search = _propose(request)
    ids = [] if find_nearest.is_ready() else search.proposed
    if ids:  # another thread looks for the nearest meanwhile; to read all candidates together takes less
        _add(search, ids)
    search.nearest.extend(id for id, _ in _use(request, "vectors", find_nearest, list[tuple[int, float]]()))
    if others := [id for id in dict.fromkeys([*search.proposed, *search.nearest]) if id not in ids]:
        _add(search, others)
    if request.logged:
        _guess_repeated(search)
    question, scored = _score(search)
    if partners := _partners(search, scored):
        _add(search, partners, alone=True)
        question, scored = _score(search)
    later: Collection[int] = ()
    if not request.allowed.files:
        question, scored = _judge(search, question, scored)
        if later := _mark_replaced(search, scored):
            _add(search, [id for id in later if id not in search.rows])
            question, scored = _score(search)
    closely = [each.row for each in scored[: ranking.CLOSELY]]
    passage_context.add_surroundings(request.db, closely, search.question)
    scored = ranking.score_closely(question, scored, request.embedder)
    found = [each for each in scored if _is_found(search, each, later)]
    scored = selection.plausible(question, selection.later_first(selection.judge(question, found)))
    if request.allowed.place is None and request.allowed.current_place is not None:  # facts of others if clearly meant
        return [each for each in scored if not each.row.place or selection.is_clear(each)]
    return scored


def _propose(request: RecallRequest) -> Search:
    """Understand the question, and propose candidates."""
    db, query, allowed, files = request.db, request.query, request.allowed, request.allowed.files
    nothing_parsed, no_hits = ParsedQuery({}, {}, {}), list[tuple[int, float]]()

    def parse() -> ParsedQuery:
        return candidates.parse_query(db, query, int(request.logged), files=files)

    question = _use(request, "words", parse, nothing_parsed)
    hits = _use(request, "words", lambda: candidates.by_words(db, question, allowed), no_hits)
    if "words" in request.damaged:
        question = candidates.parse_unweighted(db, query)
    unknown = {word for word, count in question.words.items() if not count}
    guessed = _by_trigrams(request, question, unknown)
    times = None if files else _named_time(request)  # when a file was changed says little about its content
    if times:  # prefer what was said then, but keep the rest
        timely = _use(request, "words", lambda: candidates.by_words(db, question, times), no_hits)
        hits = sorted({*hits, *timely}, key=lambda hit: (-hit[1], hit[0]))
    best = [id for id, _ in hits[:RESCORED]]
    named = {} if files else _by_names(request, question, best)
    for id, (_, stems) in named.items():
        guessed[id] = guessed.get(id, frozenset()) | stems
    authors = _authors_named(db, query)
    return Search(
        request,
        question,
        hits,
        list(dict.fromkeys([*best, *guessed])),
        times,
        {id: weight for id, (weight, _) in named.items()},
        _sessions(db, hits) if passage_context.is_between_people(db) else {},
        _average(db, files),
        authors,
        candidates.stems(db, question, authors),
        unknown,
        guessed,
    )


def _by_names(
    request: RecallRequest, question: ParsedQuery, hits: Sequence[int]
) -> dict[int, tuple[float, frozenset[str]]]:
    """The weights of passages about what the question names, and the stems that each answers to."""
    db, query, allowed = request.db, request.query, request.allowed

    def said() -> dict[int, tuple[float, frozenset[str]]]:
        return judgement.about_relatives(db, query, question, allowed)

    none = dict[int, tuple[float, frozenset[str]]]()
    return candidates.by_names(db, allowed.owner, query, question, hits) | _use(request, "words", said, none)


def _use(request: RecallRequest, index: str, search: Callable[[], T], otherwise: T) -> T:
    """What an index finds, or `otherwise` when it is damaged."""
    try:
        with request.db.index_access():
            return search()
    except IndexDamaged:
        request.damaged.append(index)
        return otherwise


def _by_trigrams(
    request: RecallRequest, question: ParsedQuery, words: Iterable[str], but: Collection[int] = ()
) -> dict[int, frozenset[str]]:
    def search() -> dict[int, frozenset[str]]:
        files, knows = request.allowed.files, request.embedder.knows_word if request.embedder else lambda _: False
        return candidates.by_trigrams(request.db, words, knows, question.excluded_rows, files=files, but=but)

    return _use(request, "trigrams", search, {})


def _add(search: Search, ids: Collection[int], *, alone: bool = False) -> None:
    """Read candidates and their neighbours, or these `alone`."""
    request, db = search.request, search.request.db
    others = {id for id, _ in search.hits}.union(search.nearest[VECTORS_WITH_NEIGHBOURS:])
    single = ids if alone else others.difference(id for id, _ in search.hits[:WITH_NEIGHBOURS])
    places = passage_context.neighbours(db, list(ids), single)
    cosines = _use(request, "vectors", lambda: _cosines(request, places), dict[int, float]())
    outlines = passage_context.outlines(db, places, request.allowed, request.now)
    unread = _least_promising(search, outlines, places, cosines) if len(outlines) > READ else []
    search.unread.extend(unread)
    read = {id for id, *_ in outlines}.difference(unread)
    rows = passage_context.fetch(
        db,
        {id: around for id, around in places.items() if id in read},
        search.question,
        search.guessed,
        request.allowed,
        request.now,
        request.query if request.logged else "",
    )
    for row in rows.values():
        row.cosine = cosines.get(row.id, 0.0)
        row.cosines_around = cosines.get(row.neighbours[0], 0.0), cosines.get(row.neighbours[1], 0.0)
        row.timely = search.times is not None and search.times.holds_at(row.at)
    for id in search.named.keys() & rows.keys():
        rows[id].named = search.named[id]
    search.rows.update(rows)


def _guess(search: Search, misspelt: Set[str], but: Collection[int]) -> None:
    """Add what holds words like these."""
    search.unknown.update(misspelt)
    alike = _by_trigrams(search.request, search.question, misspelt, but)
    search.guessed.update({id: stems | search.guessed.get(id, frozenset()) for id, stems in alike.items()})
    _add(search, alike)


def _guess_repeated(search: Search) -> None:
    """Look by their letters for words that only the question holds, in the log too."""
    repeated = {id for id in search.proposed if id not in search.rows and id not in search.unread}
    if not repeated:
        return
    held = {stem for row in search.rows.values() for stem in row.own_words}
    question = search.question
    only_repeated = candidates.only_in(question, [question.counts] * len(repeated)) - search.unknown
    if misspelt := {word for word in only_repeated if held.isdisjoint(question.stems[word])}:
        _guess(search, misspelt, repeated)


def _score(search: Search) -> tuple[QueryContext, list[Scored]]:
    idfs = candidates.weigh_telling(search.question, [row.own_words for row in search.rows.values() if row.empty])
    question = _context(search, idfs)
    if question.asks_for_replies:
        passage_context.add_exchanges(search.request.db, search.rows.values(), search.question, question.text)
    return question, ranking.score(question, list(search.rows.values()))


def _context(search: Search, idfs: Mapping[str, float]) -> QueryContext:
    return QueryContext(
        search.request.query,
        idfs,
        search.words,
        search.average,
        search.sessions,
        search.authors,
        search.compared,
        search.request.allowed.fact_half_life,
    )


def _partners(search: Search, scored: Sequence[Scored]) -> list[int]:
    """The other halves of the best exchanges."""
    partners = dict.fromkeys(each.row.partner for each in scored[:WITH_NEIGHBOURS] if each.row.exchange)
    return [id for id in partners if id not in search.rows]


def _judge(search: Search, question: QueryContext, scored: list[Scored]) -> tuple[QueryContext, list[Scored]]:
    """Mark what tells nothing among the best, and let others take its place, until the best were all judged."""
    request = search.request
    while judgement.judge(
        request.db, [each.row for each in scored[: ranking.CLOSELY]], search.question, request.allowed, request.now
    ):
        empty = {row.id: row.own_words for row in search.rows.values() if row.empty}
        others = islice(chain(search.unread, (id for id, _ in search.hits[RESCORED:])), len(empty))
        if further := [id for id in others if id not in search.rows]:
            _add(search, further, alone=True)
        if only_asked := candidates.only_in(search.question, [*empty.values()]) - search.unknown:
            _guess(search, only_asked, empty)
        question, scored = _score(search)
    if only_answered := _only_answered(search, question) - search.unknown:
        _guess(search, only_answered, search.rows)
        return _judge(search, *_score(search))
    return question, scored


def _only_answered(search: Search, question: QueryContext) -> set[str]:
    """The words of a question about the person that only questions and replies hold: they may have told it in others,
    of "garage" as "Garagentor"."""
    if question.asks_for_replies or not statements.is_in_first_person(question.text):
        return set()
    telling = [row.own_words for row in search.rows.values() if not row.empty and row.role != "assistant"]
    return {word for word, stems in search.question.stems.items() if not any(stems & held.keys() for held in telling)}


def _mark_replaced(search: Search, scored: Sequence[Scored]) -> Collection[int]:
    """Mark the best that a later statement replaces; returns the passages of the later ones."""
    request, best = search.request, [each.row for each in scored[: judgement.LOOKED_AT]]
    return _use(
        request,
        "words",
        lambda: judgement.mark_stated_later(request.db, best, search.question, request.allowed, request.now),
        list[int](),
    )


def _is_found(search: Search, each: Scored, later: Collection[int]) -> bool:
    """Whether it was found by words, a name or its meaning, and not only as a neighbour."""
    if each.score <= 0:
        return False
    legs = each.legs
    found = "words" in legs or "exchange" in legs or "entity" in legs
    near = search.compared is not None and each.row.cosine > search.compared.floor
    return found or near or each.row.id in later


def _named_time(request: RecallRequest) -> Filter | None:
    """The filter narrowed to the time that the question names."""
    named = spans.of_question(request.query, request.now)
    if named is None:
        return None
    return request.allowed.within(named.since, named.until)


def _start_nearest(request: RecallRequest) -> Pending[list[tuple[int, float]]]:
    """Start to search the nearest vectors while words are searched."""
    vector_set, vector = request.vector_set, request.vector
    if vector_set is None or vector is None:
        return Pending(list)

    most = CONTEXTUAL_VECTORS if vector_set.unit else VECTORS
    return index.search_in_background(request.db, lambda db: vectors.nearest(db, vector_set, vector, most))


def _cosines(request: RecallRequest, places: Mapping[int, Around]) -> dict[int, float]:
    """The cosines of passages, and of those before and after them, to the question."""
    if request.vector_set is None or request.vector is None:
        return {}
    ids = sorted({*places, *chain.from_iterable(around[1:] for around in places.values())} - {0})
    return vectors.cosines(request.db, request.vector_set, request.vector, ids)


def _least_promising(
    search: Search, outlines: Sequence[Row], places: Mapping[int, Around], cosines: Mapping[int, float]
) -> list[int]:
    """Of many candidates those to leave unread, the best first: all but READ of the messages, by a rough score of each.

    Notes, facts and other kinds are always read, and messages that were found by a name or by letters.
    """
    question, among = _context(search, search.question.idfs), search.request.vector_set
    weights = question.feature_weights
    if question.asks_for_replies:  # what decides is the whole of a question and its answer
        return []
    held, best = dict(search.hits), search.hits[0][1] if search.hits else 1.0
    itself, spread = weights["words"] / best, (weights["nearby"] + weights["covered"]) / best
    floor, unit = (among.floor, among.unit or 1 - among.floor) if among else (0.0, 1.0)
    itself_alike, before_alike, after_alike = (
        weights[name] / unit for name in ("meaning", "meaning before", "meaning after")
    )

    @cache
    def said_by(author: str, role: str) -> float:
        return sum(weights[name] * value for name, value in question.said_by(author, role).items())

    promise: dict[int, float] = {}
    for id, is_message, author, role, length, at in outlines:
        if not is_message or id in search.guessed:
            continue
        _, before, after = places[id]
        words = held.get(id, 0.0) + ranking.BEFORE * held.get(before, 0.0) + ranking.AFTER * held.get(after, 0.0)
        promise[id] = (
            said_by(author, role)
            + words * (itself + spread * ranking.brevity(length))
            + itself_alike * (cosines.get(id, floor) - floor)  # 0 without a vector
            + before_alike * (cosines.get(before, floor) - floor)
            + after_alike * (cosines.get(after, floor) - floor)
        )
        if search.times and search.times.holds_at(at):
            promise[id] += weights["time"]
    return sorted(promise, key=promise.__getitem__, reverse=True)[READ:]


def _sessions(db: Database, hits: Sequence[tuple[int, float]]) -> dict[int, float]:
    """The sum of the best hits of each session: as good as an index of whole sessions, at no cost."""
    scores = dict(hits)
    sums: dict[int, float] = {}
    for id, session in db.rows(
        "select p.id, p.session_id from json_each(?) c cross join passage p on p.id = c.value",
        (scores.keys(),),
    ):
        if session is not None:
            sums[session] = sums.get(session, 0.0) + scores[id]
    return sums


def _authors_named(db: Database, query: str) -> frozenset[str]:
    """The authors in the log that the question names; none when it names all of them."""
    stems, authors = set(db.tokens(query)), [name for (name,) in db.rows("select name from speaker")]
    named = frozenset(name for name in authors if stems & set(db.tokens(name)))
    return named if len(named) < len(authors) else frozenset()


def _average(db: Database, files: bool) -> float:
    """The average length of the newest thousand passages."""
    newest = "id < min(0, (select min(id) from passage) + 1000)"  # one bound: with two SQLite reads from the wrong one
    if not files:
        newest = "id > max(0, (select max(id) from passage) - 1000)"
    return float(db.value(f"select avg(length) from passage where {newest}") or 1.0)
