"""Recall: `find` gives the best passages for a question, and whether the answer is known at all; `mentions`, for a
person who searches, what only mentions it.

A damaged index is left out, and the others answer.
"""

import math
from collections.abc import Iterable, Mapping
from dataclasses import replace
from datetime import date, datetime, timedelta
from itertools import islice

from agent_cli import clock, kinds, text
from agent_cli.errors import StoreError
from agent_cli.memory import scope
from agent_cli.memory.dates import periods, spans
from agent_cli.memory.dates.spans import Span
from agent_cli.memory.language import statements, terms
from agent_cli.memory.search import candidates, index, passage_context, scoring, selection, vectors, word_tables
from agent_cli.memory.search.candidates import Filter, ParsedQuery
from agent_cli.memory.search.ranking import Scored
from agent_cli.memory.search.scoring import RecallRequest
from agent_cli.memory.search.vectors import QueryEmbedder
from agent_cli.store import ids, meta
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

_MAX_QUERY = 2000  # characters of a question that count
FILE = "section"  # the kind of files
LEAST = 0.35  # relevance of a hit that is shown unasked, as a share of that of the best
_NEAREST = 200  # passages among which a message that tells a preference is looked for
_OWN_WORDS = "('typed', 'import')"  # origins of parts of a message that are the person's words
_IN_TIME = 60  # of the newest in a time, what may be shown of it
_SHORT = 60  # characters of a message that is told with what was said before it


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
    author: str = ""  # who said it, where that is not the person or the assistant
    role: str = ""  # of a message: user, or assistant
    certainty: float = -math.inf  # the log-odds that it answers the question
    before: str = ""  # of a short message: what was said before it

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
            notes.append(f"replaced by {self.replaced_in}")
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
    likely: bool = False  # whether it is certain enough to be shown unasked


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
        vector = embedder.embed_query(query) if embedder and vector_set else None
        damaged = meta.damaged_indexes(db)
        request = RecallRequest(db, query, allowed, now, embedder, vector, vector_set, logged, damaged)
        found = _find(request, limit, least)
        if vectors.current(db) == vector_set:
            return found
        # The vectors of another embedder were swapped in meanwhile: search again.


def mentions(db: Database, query: str, allowed: Filter, now: datetime, limit: int) -> tuple[Hit, ...]:
    """What holds all words of a query but those that only ask, the best first: earlier questions too."""
    question = candidates.parse_query(db, text.without_surrogates(query[:_MAX_QUERY]))
    wanted = [stems for word, stems in question.stems.items() if not terms.only_asks(word)]
    wanted += [(run,) for run in question.runs]
    try:
        with db.index_access():
            ids = [id for id, _ in candidates.by_words(db, question, allowed)] if wanted else []
    except IndexDamaged:
        return ()
    shown = [id for id, *_ in passage_context.outlines(db, ids, allowed, now)]
    rows = passage_context.fetch(db, dict.fromkeys(shown, passage_context.ALONE), question, {}, allowed, now)
    found = (rows[id] for id in ids if id in rows and all(rows[id].own_words.keys() & stems for stems in wanted))
    return _to_hits(db, (Scored(row, 0.0, {}, 0.0) for row in islice(found, limit)))


def all_with_words(db: Database, query: str, allowed: Filter) -> set[tuple[str, int]]:
    """(kind, id) of all indexed rows that hold every word of a query in some form, those not shown any more too.

    Raises StoreError when the word index is damaged: some may be missing from it.
    """
    words, runs = [word for word in terms.content_words(query) if db.tokens(word)], terms.unspaced_runs(query)
    if not (words or runs):
        return set()
    damage = (
        f"{db.path}: the index of words is damaged, and texts may be missing: run `agent index rebuild`, then again"
    )
    if "words" in meta.damaged_indexes(db):
        raise StoreError(damage)
    name = word_tables.table(db, "words")
    phrases = [f"own : {candidates.quoted(word)}" for word in words]
    phrases += [candidates.gram_phrase(run) for run in runs if len(run) > 1]
    by_phrase = f"{name} cross join passage p on p.id = {name}.rowid", f"{name} match :value"
    by_character = "passage_text t join passage p on p.id = t.id", "instr(t.own, :value)"  # the index has pairs
    wanted = [(*by_phrase, phrase) for phrase in phrases] + [(*by_character, run) for run in runs if len(run) == 1]
    found: list[set[tuple[str, int]]] = []
    for table, holds, value in wanted:
        sql = f"""select p.kind, p.row from {table} join area a on a.id = p.area
            where {holds} and {candidates.conditions(allowed)}"""
        try:
            with db.index_access():
                found.append(set(db.rows(sql, {"value": value, **candidates.bindings(allowed)})))
        except IndexDamaged as error:
            raise StoreError(damage) from error
    return {(kinds.BY_LETTER[letter].name, row) for letter, row in set.intersection(*found)}


def preferences(
    db: Database, query: str, allowed: Filter, now: datetime, limit: int, embedder: QueryEmbedder
) -> tuple[Hit, ...]:
    """What bears on a request for advice, nearest in meaning first: facts, and what the person said of their limits and
    likings, however the words differ."""
    vector_set, vector = vectors.current(db), embedder.embed_query(text.without_surrogates(query[:_MAX_QUERY]))
    if vector_set is None or vector is None or "vectors" in meta.damaged_indexes(db):
        return ()
    of_facts = replace(allowed, kinds=("fact",))
    sql = f"select p.id from passage p join area a on a.id = p.area where {candidates.conditions(of_facts)}"
    facts = [id for (id,) in db.rows(sql, candidates.bindings(of_facts))]
    near = [id for id, _ in vectors.nearest(db, vector_set, vector, _NEAREST)]
    said = {id for id, is_message, _, role, *_ in passage_context.outlines(db, near, allowed, now) if role == "user"}
    given = f"""select p.id from json_each(?) c cross join passage p on p.id = c.value join message m on m.id = p.row
        where p.kind = 'm'
            and exists (select 1 from json_each(m.parts) part where part.value ->> 0 not in {_OWN_WORDS})"""
    said.difference_update(id for (id,) in db.rows(given, (said,)))  # a pasted letter tells somebody else's
    cosines = vectors.cosines(db, vector_set, vector, [*said, *facts])
    shown = {id for id, *_ in passage_context.outlines(db, facts, of_facts, now)} | said
    places = dict.fromkeys((id for id in cosines if id in shown), passage_context.ALONE)
    rows = passage_context.fetch(db, places, ParsedQuery({}, {}, {}), {}, allowed, now, query)
    telling = [
        Scored(row, 1 + cosines[id], {"preference": 1 + cosines[id]}, 0.0)
        for id, row in rows.items()
        if not (row.ended or row.outdated) and (row.kind == "f" or statements.preferences(row.text))
    ]
    return _to_hits(db, selection.choose(sorted(telling, key=lambda each: -each.score), limit, 0.0))


def newest(db: Database, allowed: Filter, now: datetime, limit: int) -> tuple[Hit, ...]:
    """The newest that is allowed and current, whatever its words."""
    sql = f"""select p.id from passage p join area a on a.id = p.area
        where p.start = 0 and {passage_context.conditions(allowed)} order by p.at desc, p.row desc limit :limit"""
    values = {**candidates.bindings(allowed), "now": clock.utc(now), "limit": limit}
    places = {id: passage_context.ALONE for (id,) in db.rows(sql, values)}
    rows = passage_context.fetch(db, places, ParsedQuery({}, {}, {}), {}, allowed, now)
    return _to_hits(db, (Scored(rows[id], 0.0, {}, 0.0) for id in places if id in rows))


def _find(request: RecallRequest, limit: int, least: float) -> RecallResult:
    """Files are searched separately, so that their number does not affect other results."""
    db, searched = request.db, request.allowed.kinds
    if named := spans.of_question(request.query, request.now):
        if timely := _of_time(request, named, limit):
            return RecallResult("known", timely, tuple(dict.fromkeys(request.damaged)), likely=True)
        topic = statements.topic_of_saying(request.query, named.words)
        then = replace(request, query=topic, allowed=request.allowed.within(named.since, named.until))
        if topic and (said := _find(then, limit, least)).verdict != "nothing":
            return said
    remembered, from_files = list[Scored](), list[Scored]()
    if set(searched or (kind.name for kind in kinds.SEARCHABLE)) - {FILE}:
        remembered = scoring.run(request)
    if FILE in (searched or (FILE,)) and candidates.size(db, True):
        files = request.vector_set.files if request.vector_set else None
        among = replace(request.allowed, files=True)
        from_files = scoring.run(replace(request, allowed=among, vector_set=files, logged=False))
    verdict, scored = selection.merge(request.query, remembered, from_files)
    best = _to_hits(db, selection.choose(scored, limit, least))
    likely = selection.is_likely(request.query, scored)
    return RecallResult(verdict, best, tuple(dict.fromkeys(request.damaged)), likely)


def _of_time(request: RecallRequest, named: Span, limit: int) -> tuple[Hit, ...]:
    """What lies in the time that a question asks for and names nothing else: its summaries, the coarsest first, then
    messages and notes, the newest first. Questions count where nothing was told."""
    db, query, now, allowed = request.db, request.query, request.now, request.allowed
    wanted = {kind.name for kind in kinds.SEARCHABLE if kind.heading == kinds.MEMORY}.intersection(
        allowed.kinds or ("message", "note", "summary")
    )
    wanted -= {"fact"} if "message" in wanted else set()  # it says what the message says
    if not wanted or not statements.asks_only_for_time(query, named.words, past=named.has_passed(now)):
        return ()
    within = allowed.within(named.since, named.until)
    summed_up = _summaries_of(db, within, named, now) if "summary" in wanted else []
    others = tuple(wanted - {"summary"})
    said = newest(db, replace(within, kinds=others), now, _IN_TIME) if others else ()
    by_assistant = statements.asks_for_reply(query)
    said = tuple(
        hit
        for hit in said
        if (hit.role != "assistant" or by_assistant)
        and hit.text.strip() != query.strip()
        and not statements.is_small_talk(hit.text)
    )
    telling = [hit for hit in said if hit.kind != "message" or not statements.only_asks(hit.text)]
    found = [*summed_up, *(telling or said)][:limit]
    return tuple(
        replace(hit, score=score, legs={"time": score}, coverage=1.0, certainty=selection.KNOWN, empty="")
        for number, hit in enumerate(found)
        for score in (1 / (1 + number),)
    )


def _summaries_of(db: Database, within: Filter, named: Span, now: datetime) -> list[Hit]:
    """The summaries that together tell of a time, the coarsest first; where none does, that of the shortest period
    around it, which may be all that is left of it."""
    chosen: list[tuple[date, date, Hit]] = []
    for unit in (*reversed(periods.UNITS), "session"):
        for hit in newest(db, replace(within, kinds=("summary",), unit=unit), now, _IN_TIME):
            day = clock.from_timestamp(hit.at).date()
            first, end = periods.parse(hit.period)[:2] if hit.period else (day, day)
            is_begun = named.since is None or first >= named.since.date()
            is_over = named.until is None or end <= named.until.date()
            if is_begun and is_over and not any(start <= first and end <= until for start, until, _ in chosen):
                chosen.append((first, end, hit))
    if chosen or not (named.since and named.until):
        return [hit for *_, hit in chosen]
    first, last = named.since.date(), (named.until - timedelta(days=1)).date()
    around = [period for unit in periods.UNITS if (period := periods.containing(first, unit)).end > last]
    sql = """select p.at from summary y join passage p on p.kind = 'y' and p.row = y.id and p.start = 0
        where y.owner = ? and y.period = ?"""
    for period in around:
        for (at,) in db.rows(sql, (within.owner, period.key)):
            at_it = replace(within, kinds=("summary",), since=at, until=at + 1)
            if of_it := [hit for hit in newest(db, at_it, now, _IN_TIME) if hit.period == period.key]:
                return of_it
    return []


def _to_hits(db: Database, scored: Iterable[Scored]) -> tuple[Hit, ...]:
    found = list(scored)
    sql = f"""select m.id, m.external_id, iif(length(m.text) >= {_SHORT}, '', (select substr(b.text, 1, 300) from said b
            where b.session_id = m.session_id and b.id < m.id and b.role <> 'tool' order by b.id desc limit 1))
        from json_each(?) c cross join message m on m.id = c.value"""
    messages = db.rows(sql, ([each.row.row for each in found if each.row.kind == "m"],))
    outer = {id: (external, before or "") for id, external, before in messages}
    none = (None, "")
    return tuple(_to_hit(db, each, *outer.get(each.row.row, none) if each.row.kind == "m" else none) for each in found)


def _to_hit(db: Database, scored: Scored, outer: str | None, before: str) -> Hit:
    row = scored.row
    period = db.value("select period from summary where id = ?", (row.row,)) if row.kind == "y" else ""
    path, line, page = "", 0, None
    if row.kind == index.FILES:
        sql = "select path, line, page from section s join document d on d.id = s.document_id where s.id = ?"
        path, line, page = db.row(sql, (row.row,)) or (path, line, page)
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
        path,
        line,
        page,
        "" if row.with_assistant else row.author,
        row.role,
        scored.certainty,
        before,
    )


def _day(timestamp: float) -> str:
    day = clock.from_timestamp(timestamp)
    return f"{day.day} {day:%B %Y}"
