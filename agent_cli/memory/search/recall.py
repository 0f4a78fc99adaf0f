"""Recall: `find` gives the best passages for a question, and whether the answer is known at all.

Words, trigrams and vectors propose candidates; these and their neighbours in the conversation are fetched and scored
again with their context (ranking.py). A damaged index is left out, and the others answer.
"""

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, Protocol, TypeVar

from agent_cli import clock, kinds, text
from agent_cli.memory import scope
from agent_cli.memory.dates import time_range
from agent_cli.memory.search import (
    candidates,
    index,
    judgement,
    later_statements,
    passage_context,
    ranking,
    selection,
    vectors,
)
from agent_cli.memory.search.candidates import Filter, ParsedQuery
from agent_cli.memory.search.ranking import CandidateRow, QueryContext, Scored
from agent_cli.store import damaged_indexes, ids
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

_MAX_QUERY = 2000  # characters of a question that count
FILE = "section"  # the kind of files
LEAST = 0.35  # relevance of a hit that is shown unasked, as a share of that of the best
RESCORED = 60  # hits of the word index that are scored again with their context
VECTORS = 15  # the same, of the vectors
WITH_NEIGHBOURS = 20  # word hits that bring their neighbours: for all sixty recall gains 0.2 points, in 3 ms


class QueryEmbedder(Protocol):
    """Compares by meaning; each gives None when it cannot."""

    def embed_query(self, question: str) -> list[float] | None:
        """The vector of a question."""

    def match_words(self, words: Sequence[str], texts: Sequence[Sequence[str]]) -> list[list[float]] | None:
        """For each text, given as its words, the greatest cosine of any of them to each of `words`."""


T = TypeVar("T")


@frozen
class Hit:
    kind: str
    id: int
    external_id: str | None
    session: int | None
    at: float
    score: float
    text: str
    legs: Mapping[str, float]
    place: str = ""  # where it holds, when that is another place
    ended: float | None = None  # when it ceased to be true, in seconds since 1970
    partly: bool = False  # whether only partly
    begins: float | None = None  # of a fact that is planned: from when it is true
    ends: float | None = None  # of a fact that ends in the future: until when
    coverage: float = 0.0  # the share of the question's words that it holds
    empty: str = ""  # why it tells nothing: a question, small talk, an empty reply, or a repetition of another hit
    withdrawn: bool = False  # a reply whose source was deleted
    unsupported: bool = False  # a reply that rests on nothing kept
    replaced_in: str = ""  # the handle of a later statement that holds instead
    period: str = ""  # of a summary, as in 2026-W47
    path: str = ""  # of a file
    line: int = 0  # where the section of the file begins
    page: int | None = None  # of a PDF

    @property
    def label(self) -> str:
        """What must be shown beside its words, or empty."""
        if self.path:
            return self.where
        notes = [f"summary of {self.period}"] if self.period else []
        if self.place:
            notes.append(f"true in {text.one_line(self.place, 60)}")
        if self.ended:
            notes.append(f"{'partly ' if self.partly else ''}no longer true since {_day(self.ended)}")
        if self.begins:
            notes.append(f"planned, true from {_day(self.begins)}")
        if self.ends:
            notes.append(f"true until {_day(self.ends)}")
        if self.withdrawn:
            notes.append("its source was deleted")
        if self.replaced_in:
            notes.append(f"said otherwise later, in {self.replaced_in}")
        return f"({'; '.join(notes)})" if notes else ""

    @property
    def where(self) -> str:
        """The path and line of a file, as in ~/notes/router.md:14; else empty."""
        return scope.file_location(self.path, self.line, self.page) if self.path else ""

    @property
    def file(self) -> str:
        """The file name and line, without the folder."""
        return self.where.rpartition("/")[2]

    @property
    def handle(self) -> str:
        return ids.handle(self.kind, self.id)


@frozen
class RecallResult:
    verdict: str  # known, maybe, nothing
    hits: tuple[Hit, ...]
    damaged: tuple[str, ...] = ()  # indexes that could not be used: "words", "trigrams", "vectors"


def find(
    db: Database,
    query: str,
    allowed: Filter,
    now: datetime,
    limit: int = 10,
    embedder: QueryEmbedder | None = None,
    *,
    logged: bool = False,
    least: float = 0.0,
) -> RecallResult:
    """The best passages for a question. Any text is safe as a question.

    `logged`: the question is in the log too; passages that only repeat it are left out.
    `least`: how relevant a passage must be, as a share of the relevance of the best.
    """
    query = text.without_surrogates(query[:_MAX_QUERY])
    while True:
        vector_set = vectors.current(db)
        found = _find(db, query, allowed, now, limit, embedder, vector_set, logged, least)
        if vectors.current(db) == vector_set:
            return found
        # The vectors of another embedder were swapped in meanwhile: search again.


def newest(db: Database, allowed: Filter, now: datetime, limit: int) -> tuple[Hit, ...]:
    """The newest that is allowed, whatever its words."""
    ids = passage_context.newest(db, allowed, now, limit)
    rows = passage_context.fetch(db, ids, ParsedQuery({}, {}, {}), {}, allowed, now, without_neighbours=ids)
    return tuple(_to_hit(db, Scored(rows[id], 0.0, {}, 0.0)) for id in ids if id in rows)


def _find(
    db: Database,
    query: str,
    allowed: Filter,
    now: datetime,
    limit: int,
    embedder: QueryEmbedder | None,
    vector_set: vectors.VectorSet | None,
    logged: bool,
    least: float,
) -> RecallResult:
    """Files are searched separately, so that their number does not affect other results."""
    damaged = damaged_indexes.damaged(db)
    vector = embedder.embed_query(query) if embedder and vector_set else None
    remembered, from_files = [], list[Scored]()
    if set(allowed.kinds or (kind.name for kind in kinds.SEARCHABLE)) - {FILE}:
        remembered = _score_candidates(db, query, allowed, now, vector, embedder, vector_set, logged, damaged)
    if FILE in (allowed.kinds or (FILE,)) and candidates.size(db, True):
        files = vector_set.files if vector_set else None
        among = replace(allowed, files=True)
        from_files = _score_candidates(db, query, among, now, vector, embedder, files, False, damaged)
    verdict, scored = selection.merge(query, remembered, from_files)
    best = selection.choose(scored, limit, least)
    return RecallResult(verdict, tuple(_to_hit(db, each) for each in best), tuple(dict.fromkeys(damaged)))


def _score_candidates(
    db: Database,
    query: str,
    allowed: Filter,
    now: datetime,
    vector: list[float] | None,
    embedder: QueryEmbedder | None,
    vector_set: vectors.VectorSet | None,
    logged: bool,
    damaged: list[str],
) -> list[Scored]:
    """The scored candidates among files, or among all else, best first. Damaged indexes are added to `damaged`."""
    files = allowed.files
    none: list[tuple[int, float]] = []
    no_ids: list[int] = []
    unguessed: dict[int, frozenset[str]] = {}

    def leg(name: str, search: Callable[[], T], otherwise: T) -> T:
        try:
            with db.index_access():
                return search()
        except IndexDamaged:
            damaged.append(name)
            return otherwise

    near = _start_nearest(db, vector_set, vector)
    parsed = leg("words", lambda: candidates.parse_query(db, query, int(logged), files=files), ParsedQuery({}, {}, {}))
    hits = leg("words", lambda: candidates.by_words(db, parsed, allowed), none)
    if "words" in damaged:
        parsed = candidates.parse_unweighted(db, query)
    unknown = {word for word, count in parsed.words.items() if not count}
    guessed = leg("trigrams", lambda: candidates.by_trigrams(db, unknown, parsed.excluded_rows, files=files), unguessed)
    time_filter = (
        None if files else _time_filter(query, allowed, now)
    )  # when a file was changed says little about its content
    if time_filter:  # prefer what was said then, but keep the rest
        timely = leg("words", lambda: candidates.by_words(db, parsed, time_filter), none)
        hits = sorted({*hits, *timely}, key=lambda hit: (-hit[1], hit[0]))
    sessions, average, named = _sessions(db, hits), _average(db, files), _authors_named(db, query)
    besides = query if logged else ""
    without_neighbours = {id for id, _ in hits[WITH_NEIGHBOURS:]}

    def fetch(ids: Iterable[int]) -> dict[int, CandidateRow]:
        rows = passage_context.fetch(db, list(ids), parsed, guessed, allowed, now, besides, without_neighbours)
        if vector_set and vector:
            leg("vectors", partial(_add_cosines, db, rows, vector_set, vector), None)
        for id in about_named.keys() & rows.keys():
            rows[id].named = about_named[id][0]
        if time_filter:
            _mark_timely(db, rows, time_filter)
        return rows

    proposed = [id for id, _ in hits[:RESCORED]]
    about_named = {} if files else candidates.by_names(db, allowed.owner, query, parsed, proposed)
    for id, (_, stems) in about_named.items():
        guessed[id] = guessed.get(id, frozenset()) | stems
    proposed = list(dict.fromkeys([*proposed, *guessed]))
    nearest = leg("vectors", near, none)  # now, because they were searched on another thread meanwhile
    rows = fetch(dict.fromkeys([*proposed, *(id for id, _ in nearest)]))
    floor = vector_set.floor if vector_set and nearest else 1.0
    words = candidates.stems(db, parsed, named)

    def score() -> tuple[QueryContext, list[Scored]]:
        idfs = candidates.weigh_telling(parsed, [row.own_words for row in rows.values() if row.empty])
        question = QueryContext(query, idfs, words, average, sessions, named, floor)
        return question, ranking.score(question, list(rows.values()))

    def mark_replaced(scored: Sequence[Scored]) -> list[int]:
        return later_statements.mark(db, [each.row for each in scored[: later_statements.LOOKED_AT]], allowed, now)

    def guess(misspelt: Set[str], but: Collection[int]) -> None:
        """Add what holds words like these."""
        unknown.update(misspelt)
        search = partial(candidates.by_trigrams, db, misspelt, parsed.excluded_rows, files=files, but=but)
        alike = leg("trigrams", search, unguessed)
        guessed.update({id: stems | guessed.get(id, frozenset()) for id, stems in alike.items()})
        rows.update(fetch(alike))

    if besides and (repeated := {id for id in proposed if id not in rows}):
        held = {stem for row in rows.values() for stem in row.own_words}
        only_repeated = candidates.only_in(parsed, [parsed.counts] * len(repeated)) - unknown
        if misspelt := {word for word in only_repeated if held.isdisjoint(parsed.stems[word])}:
            guess(misspelt, repeated)
    question, scored = score()
    while not files and judgement.judge(db, [each.row for each in scored[: ranking.CLOSELY]], parsed, allowed, now):
        empty = {row.id: row.own_words for row in rows.values() if row.empty}  # as many others take their places
        if further := [id for id, _ in hits[RESCORED : RESCORED + len(empty)] if id not in rows]:
            rows |= fetch(further)
        if only_asked := candidates.only_in(parsed, [*empty.values()]) - unknown:
            guess(only_asked, empty)
        question, scored = score()
    if later := leg("words", lambda: mark_replaced(scored), no_ids) if not files else no_ids:
        rows |= fetch(id for id in later if id not in rows)
        question, scored = score()
    scored = ranking.score_closely(question, scored, embedder.match_words if embedder else None)
    found = [
        each
        for each in scored
        if each.score > 0
        and (each.legs.keys() & {"words", "entity"} or each.row.cosine > floor or each.row.id in later)
    ]
    scored = selection.later_first(selection.judge(question, found))
    if allowed.place is None and allowed.current_place is not None:  # facts of another place only when clearly meant
        scored = [each for each in scored if not each.row.place or selection.is_clear(each)]
    return scored


def _time_filter(query: str, allowed: Filter, now: datetime) -> Filter | None:
    """The filter narrowed to the time that the question names."""
    named = time_range.find(query, now)
    if named is None:
        return None
    since, until = (moment.timestamp() if moment else None for moment in (named.since, named.until))
    return replace(allowed, since=since, until=until)


def _start_nearest(
    db: Database, vector_set: vectors.VectorSet | None, vector: Sequence[float] | None
) -> Callable[[], list[tuple[int, float]]]:
    """Start to search the nearest vectors while words are searched; returns a function that waits for them."""
    if vector_set is None or vector is None:
        return list
    return index.search_in_background(db, lambda other: vectors.nearest(other, vector_set, vector, VECTORS))


def _add_cosines(
    db: Database, rows: Mapping[int, CandidateRow], vector_set: vectors.VectorSet, vector: Sequence[float]
) -> None:
    """Set the cosines of each row, and of what stands before and after it, to the question."""
    around = {id for row in rows.values() for id in row.neighbours if id}
    cosines = vectors.cosines(db, vector_set, vector, list(around.union(rows)))
    for row in rows.values():
        row.cosine = cosines.get(row.id, 0.0)
        row.cosines_around = cosines.get(row.neighbours[0], 0.0), cosines.get(row.neighbours[1], 0.0)


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


def _mark_timely(db: Database, rows: Mapping[int, CandidateRow], time_filter: Filter) -> None:
    for (id,) in db.rows(
        """select p.id from json_each(?) c cross join passage p on p.id = c.value
           where p.at >= coalesce(?, p.at) and p.at < coalesce(?, p.at + 1)""",
        (rows.keys(), time_filter.since, time_filter.until),
    ):
        rows[id].timely = True


def _to_hit(db: Database, scored: Scored) -> Hit:
    row = scored.row
    outer = db.value("select external_id from message where id = ?", (row.row,)) if row.kind == "m" else None
    period = db.value("select period from summary where id = ?", (row.row,)) if row.kind == "y" else ""
    file: tuple[Any, ...] = ()
    if row.kind == index.FILES:
        sql = "select path, line, page from section s join document d on d.id = s.document_id where s.id = ?"
        file = db.row(sql, (row.row,)) or ()
    return Hit(
        kinds.BY_LETTER[row.kind].name,
        row.row,
        outer,
        row.session,
        row.at,
        scored.score,
        row.text,
        scored.legs,
        row.place,
        row.ended,
        row.partly,
        row.begins,
        row.ends,
        scored.coverage,
        row.empty,
        row.withdrawn,
        row.unsupported,
        row.replaced_in,
        period or "",
        *file,
    )


def _day(timestamp: float) -> str:
    day = clock.from_timestamp(timestamp)
    return f"{day.day} {day:%B %Y}"
