"""Find what is remembered: `find` gives the best passages for a question, and says whether it is known at all.

Words, trigrams and vectors propose candidates; these and their neighbours in the conversation are fetched and scored
once more, with what stands around them (ranking.py). An index that is damaged is left out, and the others answer.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from functools import partial
from typing import Any, TypeVar

from agent_cli import clock, kinds, text
from agent_cli.memory import scope
from agent_cli.memory.dates import time_range
from agent_cli.memory.language import terms
from agent_cli.memory.search import candidates, damaged_indexes, graph, index, passage_context, ranking, vectors
from agent_cli.memory.search.candidates import Filter, SearchQuery
from agent_cli.memory.search.ranking import Row, Scored
from agent_cli.store import ids
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

KNOWN, MAYBE = 0.68, 0.35  # coverage from which a question counts as known, or perhaps
_LONGEST = 2000  # characters of a question that count
FILE, FILES = "section", 0.9  # of files: their kind, and the weight of the best beside what was said as fully
RESCORED = 60  # hits of the word leg, and
VECTORS = 15  # of the vector leg, are scored again with what stands around them; and
NEIGHBOURED = 20  # of the word leg bring their neighbours along: of all sixty they find 0.2 points more, in 3 ms

Meaning = Callable[[str], list[float] | None]
"""The vector of a question."""

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
    place: str = ""  # where alone it is true, when that is elsewhere
    ended: float | None = None  # since when it is true no more, or
    partly: bool = False  # some of it
    period: str = ""  # what it is the summary of, as in 2026-W47
    path: str = ""  # of a file: where it lies,
    line: int = 0  # where in it the section begins, and
    page: int | None = None  # on which page of a PDF

    @property
    def label(self) -> str:
        """What must be told beside its words, or nothing."""
        if self.path:
            return self.where
        told = [f"summary of {self.period}"] if self.period else []
        if self.place:
            told.append(f"true in {text.one_line(self.place, 60)}")
        if self.ended:
            day = clock.from_timestamp(self.ended)
            told.append(f"{'partly ' if self.partly else ''}no longer true since {day.day} {day:%B %Y}")
        return f"({'; '.join(told)})" if told else ""

    @property
    def where(self) -> str:
        """Of a file its path and line, as in ~/notes/router.md:14; else nothing."""
        return scope.where(self.path, self.line, self.page) if self.path else ""

    @property
    def file(self) -> str:
        """The same by its name alone."""
        return self.where.rpartition("/")[2]

    @property
    def handle(self) -> str:
        return ids.handle(self.kind, self.id)


@frozen
class Found:
    verdict: str  # known, maybe, nothing
    hits: tuple[Hit, ...]
    damaged: tuple[str, ...] = ()  # indexes that could not be used: "words", "trigrams", "vectors"


def find(
    db: Database, query: str, allowed: Filter, now: datetime, limit: int = 10, meaning: Meaning | None = None,
    *, logged: bool = False,
) -> Found:  # fmt: skip
    """The best passages for a question. Any text is safe as a question.

    `logged`: the question stands in the log too. What says no more than it is left out: it would answer best of all.
    """
    query = text.without_surrogates(query[:_LONGEST])
    while True:
        among = vectors.current(db)
        found = _find(db, query, allowed, now, limit, meaning, among, logged)
        if vectors.current(db) == among:
            return found
        # Another embedder's vectors were swapped in meanwhile: those that were asked for are no more.


def _find(
    db: Database, query: str, allowed: Filter, now: datetime, limit: int, meaning: Meaning | None,
    among: vectors.Set | None, logged: bool,
) -> Found:  # fmt: skip
    """Files are searched apart from all else, so that any number of them changes nothing of what else is found."""
    damaged = damaged_indexes.damaged(db)
    vector = meaning(query) if meaning and among else None
    said, filed = [], list[Scored]()
    if set(allowed.kinds or (kind.name for kind in kinds.SEARCHABLE)) - {FILE}:
        said = _scored(db, query, allowed, now, vector, among, logged, damaged)
    if FILE in (allowed.kinds or (FILE,)) and candidates.size(db, True):
        files = among.files if among else None
        filed = _scored(db, query, replace(allowed, files=True), now, vector, files, False, damaged)
    verdict, scored = _joined(said, filed)
    kept = _distinct(scored, limit)
    return Found(verdict, tuple(_hit(db, each) for each in kept), tuple(dict.fromkeys(damaged)))


def _joined(said: Sequence[Scored], filed: Sequence[Scored]) -> tuple[str, Sequence[Scored]]:
    """Two lists as one: each score is a share of the best of its own list, and the best of files counts for less the
    less of the question it holds."""
    verdict = _verdict(said)
    if not filed or (verdict != "nothing" and _verdict(filed) == "nothing"):
        return verdict, said
    most = said[0].coverage if said else 0.0
    weight = FILES * min(1.0, filed[0].coverage / most) if most else 1.0
    filed = [replace(each, score=weight * each.score, legs=_weighed(each.legs, weight)) for each in filed]
    verdict = min((verdict, _verdict(filed)), key=("known", "maybe", "nothing").index)
    return verdict, sorted((*said, *filed), key=lambda each: -each.score)


def _weighed(legs: Mapping[str, float], weight: float) -> dict[str, float]:
    """The parts of a score that has been weighed; what they lose stands apart."""
    return {**legs, "file": (weight - 1) * sum(legs.values())} if weight < 1 else dict(legs)


def _scored(
    db: Database, query: str, allowed: Filter, now: datetime, vector: list[float] | None, among: vectors.Set | None,
    logged: bool, damaged: list[str],
) -> list[Scored]:  # fmt: skip
    """What answers best among files, or among all else. `damaged`: to be added to."""
    files = allowed.files
    none: list[tuple[int, float]] = []
    unguessed: dict[int, frozenset[str]] = {}

    def leg(name: str, search: Callable[[], T], otherwise: T) -> T:
        try:
            with db.index_access():
                return search()
        except IndexDamaged:
            damaged.append(name)
            return otherwise

    near = _near(db, among, vector)
    asked = leg("words", lambda: candidates.parse_query(db, query, int(logged), files=files), SearchQuery({}, {}, {}))
    hits = leg("words", lambda: candidates.by_words(db, asked, allowed), none)
    if "words" in damaged:
        asked = candidates.parse_unweighted(db, query)
    guessed = leg("trigrams", lambda: candidates.by_trigrams(db, asked, files=files), unguessed)
    then = None if files else _then(query, allowed, now)  # when a file was changed says little of what it tells
    if then:  # what was said then comes first; when nothing was, the rest may still answer
        timely = leg("words", lambda: candidates.by_words(db, asked, then), none)
        hits = sorted({*hits, *timely}, key=lambda hit: (-hit[1], hit[0]))
    sessions, average, named = _sessions(db, hits), _average(db, files), _named(db, query)
    besides = query if logged else ""
    alone = {id for id, _ in hits[NEIGHBOURED:]}

    def fetched(ids: Iterable[int]) -> dict[int, Row]:
        rows = passage_context.rows(db, list(ids), asked, guessed, allowed, now, besides, alone)
        if among and vector:
            leg("vectors", partial(_add_cosines, db, rows, among, vector), None)
        return rows

    about = [] if files else candidates.passages_of_facts(db, graph.facts_named_in(db, allowed.owner, query))
    proposed = dict.fromkeys([*[id for id, _ in hits[:RESCORED]], *guessed, *about])
    rows = fetched(proposed)
    for id in about:
        if id in rows:
            rows[id].named = True
    nearest = leg("vectors", near, none)  # only now: meanwhile another core has looked through them
    rows |= fetched(id for id, _ in nearest if id not in proposed)
    if then:
        _mark_timely(db, rows, then)
    floor = among.floor if among and nearest else 1.0
    scored = ranking.score(query, list(rows.values()), asked.idfs, average, sessions, named, floor)
    scored = [each for each in scored if each.score > 0 and ("words" in each.legs or each.row.cosine > floor)]
    if allowed.place is None and allowed.current_place is not None:  # of another place: only what is clearly meant
        scored = [each for each in scored if not each.row.place or each.coverage >= KNOWN]
    return scored


def _then(query: str, allowed: Filter, now: datetime) -> Filter | None:
    """The filter narrowed to the time that the question names."""
    named = time_range.find(query, now)
    if named is None:
        return None
    since, until = (moment.timestamp() if moment else None for moment in (named.since, named.until))
    return replace(allowed, since=since, until=until)


def _near(
    db: Database, among: vectors.Set | None, vector: Sequence[float] | None
) -> Callable[[], list[tuple[int, float]]]:
    """Begin to look for the nearest vectors, while words are looked for."""
    if among is None or vector is None:
        return list
    return index.beside(db, lambda other: vectors.nearest(other, among, vector, VECTORS))


def _add_cosines(db: Database, rows: Mapping[int, Row], among: vectors.Set, vector: Sequence[float]) -> None:
    """Give each row its nearness to the question."""
    for id, cosine in vectors.cosines(db, among, vector, list(rows)).items():
        rows[id].cosine = cosine


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


def _named(db: Database, query: str) -> frozenset[str]:
    """The people who speak in the log and whom the question names."""
    asked = set(db.tokens(query))
    return frozenset(name for (name,) in db.rows("select name from speaker") if asked & set(db.tokens(name)))


def _average(db: Database, files: bool) -> float:
    """The length of a passage, by the newest thousand."""
    newest = "id < min(0, (select min(id) from passage) + 1000)"  # one bound: with two SQLite reads from the wrong one
    if not files:
        newest = "id > max(0, (select max(id) from passage) - 1000)"
    return float(db.value(f"select avg(length) from passage where {newest}") or 1.0)


def _mark_timely(db: Database, rows: Mapping[int, Row], then: Filter) -> None:
    for (id,) in db.rows(
        """select p.id from json_each(?) c cross join passage p on p.id = c.value
           where p.at >= coalesce(?, p.at) and p.at < coalesce(?, p.at + 1)""",
        (rows.keys(), then.since, then.until),
    ):
        rows[id].timely = True


def _distinct(scored: Iterable[Scored], limit: int) -> list[Scored]:
    """The best, without further pieces of the same text and without what says the same again."""
    kept: dict[tuple[str, int], tuple[Scored, frozenset[tuple[str, ...]]]] = {}
    for each in scored:
        if len(kept) == limit:
            break
        source, shingles = (each.row.kind, each.row.row), terms.shingles(each.row.text)
        if source not in kept and not any(
            terms.nearly_equal(shingles, known) and terms.is_similar(each.row.text, other.row.text)
            for other, known in kept.values()
        ):
            kept[source] = each, shingles
    return [each for each, _ in kept.values()]


def _verdict(scored: Sequence[Scored]) -> str:
    if not scored:
        return "nothing"
    if scored[0].coverage >= KNOWN:
        return "known"
    return "maybe" if scored[0].coverage >= MAYBE or "meaning" in scored[0].legs else "nothing"


def _hit(db: Database, scored: Scored) -> Hit:
    row = scored.row
    outer = db.value("select external_id from message where id = ?", (row.row,)) if row.kind == "m" else None
    period = db.value("select period from summary where id = ?", (row.row,)) if row.kind == "y" else ""
    file: tuple[Any, ...] = ()
    if row.kind == index.FILES:
        sql = "select path, line, page from section s join document d on d.id = s.document_id where s.id = ?"
        file = db.row(sql, (row.row,)) or ()
    return Hit(kinds.BY_LETTER[row.kind].name, row.row, outer, row.session, row.at, scored.score, row.text, scored.legs,
               row.place, row.ended, row.partly, period or "", *file)  # fmt: skip
