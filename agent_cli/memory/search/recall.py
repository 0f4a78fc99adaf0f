"""Recall: `find` gives the best passages for a question, and whether the answer is known at all; `mentions`, for a
person who searches, what only mentions it. A damaged index is left out, and the others answer."""

import math
from collections.abc import Collection, Iterable, Mapping, Sequence, Set
from dataclasses import dataclass, field, replace
from datetime import date, datetime, timedelta
from functools import cache, partial
from itertools import chain, islice
from typing import Any

from agent_cli import clock, kinds, text
from agent_cli.errors import StoreError
from agent_cli.memory import scope
from agent_cli.memory.dates import periods
from agent_cli.memory.language import secrets, spans, statements, terms
from agent_cli.memory.search import candidates, index, passage_context, ranking, validity, vectors, word_tables
from agent_cli.memory.search.candidates import Filter, Question, Request
from agent_cli.memory.search.ranking import Scored
from agent_cli.store import ids, meta
from agent_cli.store.db import Database, IndexDamaged, Row
from agent_cli.values import frozen

RESCORED = 60  # hits of the word index that are scored again with their context
VECTORS, CONTEXTUAL_VECTORS = 10, 30  # the same, of the vectors, and of those of a contextual embedder
READ = 52  # of many messages proposed those whose texts are read: with more of them the same was found
WITH_NEIGHBOURS = 16  # word hits that bring their neighbours: from 10 to 20 recall differs by single questions
VECTORS_WITH_NEIGHBOURS = 5  # the nearest that bring theirs, unless words found them: with ten the same was found

_MAX_QUERY = 2000  # characters of a question that count
FILE = "section"  # the kind of files
LEAST = 0.35  # relevance of a hit that is shown unasked, as a share of that of the best
_NEAREST = 200  # passages among which a message that tells a preference is looked for
_OWN_WORDS = "('typed', 'import')"  # origins of parts of a message that are the person's words
_IN_TIME = 60  # of the newest in a time, what may be shown of it
_FINDING = {"words", "exchange", "entity"}  # legs of what was not only found as a neighbour
_SHORT = 60  # characters of a message that is told with what was said before it


@frozen
class Hit(ids.Handled):
    kind: str
    id: int
    external_id: str | None
    session: int | None
    at: float
    score: float
    text: str
    legs: Mapping[str, float]
    label: str = ""  # what must be shown beside its words
    path: str = ""  # of a file
    line: int = 0  # where the section of the file begins
    page: int | None = None  # of a PDF
    coverage: float = 0.0  # the share of the question's words that it holds
    certainty: float = -math.inf  # the log-odds that it answers the question
    empty: str = ""  # why it tells nothing: a question, small talk, an empty reply, or a repetition of another hit
    unsupported: bool = False  # a reply that rests on nothing kept
    period: str = ""  # of a summary, as in 2026-W47
    author: str = ""  # who said it, where that is not the person or the assistant
    role: str = ""  # of a message: user, or assistant
    before: str = ""  # of a short message: what was said before it

    @property
    def file(self) -> str:
        """The name and line of a file, else empty."""
        return self.label.rpartition("/")[2] if self.path else ""


@frozen
class RecallResult:
    verdict: str  # known, maybe, nothing
    hits: tuple[Hit, ...]
    damaged: tuple[str, ...] = ()  # indexes that could not be used: "words", "trigrams", "vectors"
    likely: bool = False  # whether it is certain enough to be shown unasked


@dataclass(eq=False)
class _Search:
    """A search under way: the question as it was understood, and the candidates, of which more are found."""

    request: Request
    question: Question
    hits: Sequence[tuple[int, float]]  # of the word index
    proposed: Sequence[int]  # by words, names and trigrams
    times: Filter | None  # the time that the question names
    named: Mapping[int, float]  # passages of facts about an entity that it names, and their weights
    unknown: set[str]  # words that were looked for by their letters
    guessed: dict[int, frozenset[str]]  # passages that hold words like these, and the stems of these
    nearest: Sequence[int] = ()  # proposed by vectors
    rows: dict[int, passage_context.CandidateRow] = field(default_factory=dict)
    judged: set[int] = field(default_factory=set)
    unread: list[int] = field(default_factory=list)  # candidates that were left out, the most promising first


def find(
    db: Database,
    query: str,
    allowed: Filter,
    now: datetime,
    limit: int = 10,
    embedder: vectors.QueryEmbedder | None = None,
    *,
    logged: bool = False,
    least: float = 0.0,
) -> RecallResult:
    """The best passages for a question, which may be any text. `logged`: it is in the log too, so passages that only
    repeat it are left out. `least`: how relevant a passage must be, as a share of the relevance of the best."""
    query = text.without_surrogates(query[:_MAX_QUERY])
    while True:
        vector_set = vectors.current(db)
        vector = embedder.embed_query(query) if embedder and vector_set else None
        damaged = meta.damaged_indexes(db)
        request = Request(db, query, allowed, now, embedder, vector, vector_set, logged, damaged)
        found = _find(request, limit, least)
        if vectors.current(db) == vector_set:
            return found
        # The vectors of another embedder were swapped in meanwhile: search again.


def mentions(db: Database, query: str, allowed: Filter, now: datetime, limit: int) -> tuple[Hit, ...]:
    """What holds all words of a query but those that only ask, the best first: earlier questions too."""
    request = Request(db, text.without_surrogates(query[:_MAX_QUERY]), allowed, now)
    question = request.use("words", partial(candidates.parse, request), Question())
    wanted = [stems for word, stems in question.stems.items() if not terms.only_asks(word)]
    wanted += [(run,) for run in question.runs]
    look = partial(candidates.by_words, db, question, allowed)
    hits = request.use("words", look, list[tuple[int, float]]()) if wanted else []
    rows = _read_alone(request, [id for id, _ in hits], question)
    found = (row for row in rows if all(row.own_words.keys() & stems for stems in wanted))
    return _to_hits(db, (Scored(row, 0.0) for row in islice(found, limit)))


def to_show(db: Database, query: str, found: RecallResult, allowed: Filter, now: datetime, limit: int) -> list[Hit]:
    """The hits for a person who searches; where nothing is known, or words were given and no question, what mentions
    it too. Each question of the person is followed by what a model said to it."""
    hits = () if found.verdict == "nothing" else found.hits
    if not hits or not statements.is_question(query):
        shown = {(hit.kind, hit.id) for hit in hits}
        others = (hit for hit in mentions(db, query, allowed, now, limit) if (hit.kind, hit.id) not in shown)
        hits = (*hits, *islice(others, limit - len(hits)))
    return _with_replies(db, hits)


def _with_replies(db: Database, hits: Sequence[Hit]) -> list[Hit]:
    sql = """select r.id, r.text from said q join said r on r.id = (
            select min(id) from said where session_id = q.session_id and id > q.id and role <> 'tool' and text <> '')
        where q.id = ? and r.role = 'assistant' and r.model <> 'offline'"""
    found, shown = list[Hit](), {hit.id for hit in hits if hit.kind == "message"}
    for hit in hits:
        replies = db.rows(sql, (hit.id,)) if hit.role == "user" and statements.only_asks(hit.text) else ()
        found += [hit, *(replace(hit, id=id, text=words) for id, words in replies if id not in shown)]
    return found


def _read_alone(request: Request, ids: Iterable[int], question: Question) -> list[passage_context.CandidateRow]:
    """The rows of these that are allowed and current, in order, without what stands around them."""
    ids = list(ids)
    shown = {id for id, *_ in passage_context.outlines(request, ids)}
    rows = passage_context.fetch(request, {id: passage_context.ALONE for id in ids if id in shown}, question)
    return [rows[id] for id in ids if id in rows]


def all_with_words(db: Database, query: str, allowed: Filter) -> set[tuple[str, int]]:
    """(kind, id) of all indexed rows that hold every word of a query. Raises StoreError when the index is damaged."""
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
    wanted = [(f"{name} t cross join passage p on p.id = t.rowid", f"{name} match :value", each) for each in phrases]
    by_character = "passage_text t join passage p using (id)"
    wanted += [(by_character, "instr(t.own, :value)", run) for run in runs if len(run) == 1]  # the index has pairs
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
    db: Database, query: str, allowed: Filter, now: datetime, limit: int, embedder: vectors.QueryEmbedder
) -> tuple[Hit, ...]:
    """What bears on a request for advice, nearest in meaning first: facts, limits and likings that the person told."""
    query = text.without_surrogates(query[:_MAX_QUERY])
    vector_set, vector = vectors.current(db), embedder.embed_query(query)
    if vector_set is None or vector is None or "vectors" in meta.damaged_indexes(db):
        return ()
    request = Request(db, query, allowed, now, logged=True)
    of_facts = replace(allowed, kinds=("fact",))
    sql = f"select p.id from passage p join area a on a.id = p.area where {candidates.conditions(of_facts)}"
    facts = db.column(sql, candidates.bindings(of_facts))
    near = [id for id, _ in vectors.nearest(db, vector_set, vector, _NEAREST)]
    said = {id for id, is_message, _, role, *_ in passage_context.outlines(request, near) if role == "user"}
    given = f"""select p.id from json_each(?) c cross join passage p on p.id = c.value join message m on m.id = p.row
        where p.kind = 'm'
            and exists (select 1 from json_each(m.parts) part where part.value ->> 0 not in {_OWN_WORDS})"""
    said.difference_update(db.column(given, (said,)))  # a pasted letter tells somebody else's
    cosines = vectors.cosines(db, vector_set, vector, [*said, *facts])
    telling = [
        Scored(row, 1 + cosines[row.id], {"preference": 1 + cosines[row.id]})
        for row in _read_alone(request, cosines, Question())
        if not (row.ended or row.outdated) and (row.kind == "f" or statements.preferences(row.text))
    ]
    return _to_hits(db, ranking.choose(sorted(telling, key=lambda each: -each.score), limit, 0.0))


def newest(db: Database, allowed: Filter, now: datetime, limit: int) -> tuple[Hit, ...]:
    """The newest that is allowed and current, whatever its words."""
    sql = f"""select p.id from passage p join area a on a.id = p.area
        where p.start = 0 and {passage_context.conditions(allowed)} order by p.at desc, p.row desc limit :limit"""
    values = {**candidates.bindings(allowed), "now": clock.utc(now), "limit": limit}
    rows = _read_alone(Request(db, "", allowed, now), db.column(sql, values), Question())
    return _to_hits(db, (Scored(row, 0.0) for row in rows))


def _find(request: Request, limit: int, least: float) -> RecallResult:
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
        remembered = run(request)
    if FILE in (searched or (FILE,)) and candidates.size(db, True):
        files = request.vector_set.files if request.vector_set else None
        among = replace(request.allowed, files=True)
        from_files = run(replace(request, allowed=among, vector_set=files, logged=False))
    verdict, scored = ranking.merge(request.query, remembered, from_files)
    best = _to_hits(db, ranking.choose(scored, limit, least))
    likely = ranking.is_likely(request.query, scored)
    return RecallResult(verdict, best, tuple(dict.fromkeys(request.damaged)), likely)


def _of_time(request: Request, named: spans.Span, limit: int) -> tuple[Hit, ...]:
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
        replace(hit, score=score, legs={"time": score}, coverage=1.0, certainty=ranking.KNOWN, empty="")
        for number, hit in enumerate(found)
        for score in (1 / (1 + number),)
    )


def _summaries_of(db: Database, within: Filter, named: spans.Span, now: datetime) -> list[Hit]:
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
        for at in db.column(sql, (within.owner, period.key)):
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
    said = {
        ("m", id): {"external_id": external, "before": secrets.mask(before or "")} for id, external, before in messages
    }
    return tuple(_to_hit(db, each, said.get((each.row.kind, each.row.row), {"external_id": None})) for each in found)


def _to_hit(db: Database, scored: Scored, said: Mapping[str, Any]) -> Hit:
    row, period, (path, line, page) = scored.row, "", ("", 0, None)
    if row.kind == "y":
        period = db.value("select period from summary where id = ?", (row.row,)) or ""
    elif row.kind == index.FILES:
        sql = "select path, line, page from section s join document d on d.id = s.document_id where s.id = ?"
        path, line, page = db.row(sql, (row.row,)) or ("", 0, None)
    values = {name: getattr(row, name) for name in ("session", "at", "text", "empty", "unsupported", "role")}
    values |= {name: getattr(scored, name) for name in ("score", "legs", "coverage", "certainty")}
    values |= {"author": "" if row.with_assistant else row.author, "period": period, "path": path, "line": line}
    values["label"] = scope.file_location(path, line, page) if path else _label(row, period)
    return Hit(kinds.BY_LETTER[row.kind].name, row.row, page=page, **values, **said)


def _label(row: passage_context.CandidateRow, period: str) -> str:
    """What must be shown beside the words of a row: whether, where and when it holds."""
    notes = [f"summary of {period}"] if period else []
    if row.place:
        notes.append(f"true in {text.one_line(row.place, 60)}")
    if row.ended:
        notes.append(f"{'partly ' if row.partly else ''}no longer true since {_day(row.ended)}")
    if row.begins:
        notes.append(f"planned, true from {_day(row.begins)}")
    if row.ends:
        notes.append(f"true until {_day(row.ends)}")
    if row.withdrawn:
        notes.append("its source was deleted")
    if row.replaced_in:
        notes.append(f"replaced by {row.replaced_in}")
    return f"({'; '.join(notes)})" if notes else ""


def _day(timestamp: float) -> str:
    day = clock.from_timestamp(timestamp)
    return f"{day.day} {day:%B %Y}"


def run(request: Request) -> list[Scored]:
    """The scored candidates among files, or among all else, best first. Where what words, names, trigrams and vectors
    propose tells nothing, others take its place. Damaged indexes are left out, and added to `request.damaged`."""
    db, allowed = request.db, request.allowed
    search = _propose(request)
    search.nearest = _nearest(request)
    _add(search, list(dict.fromkeys([*search.proposed, *search.nearest])))
    if request.logged:
        _guess_repeated(search)
    question, scored = _score(search)
    partners = dict.fromkeys(each.row.exchange.partner for each in scored[:WITH_NEIGHBOURS] if each.row.exchange)
    if others := [id for id in partners if id not in search.rows]:  # the other halves of the best exchanges
        _add(search, others, alone=True)
        question, scored = _score(search)
    later: Collection[int] = ()
    if not allowed.files:
        question, scored = _judge(search, question, scored)
        best = [search.rows[each.row.id] for each in scored[: validity.LOOKED_AT]]
        find_later = partial(validity.replaced_later, request, best, search.question)
        replaced, later = request.use("words", find_later, (list[passage_context.CandidateRow](), list[int]()))
        if later:
            search.rows |= {row.id: row for row in replaced}
            _add(search, [id for id in later if id not in search.rows])
            question, scored = _score(search)
    closely = [search.rows[each.row.id] for each in scored[: ranking.CLOSELY]]
    closely = passage_context.with_context(db, closely, search.question)
    scored[: ranking.CLOSELY] = [each._replace(row=row) for each, row in zip(scored, closely, strict=False)]
    floor = question.vector_set.floor if question.vector_set else math.inf
    found = [  # by words, a name or their meaning, and not only as neighbours
        each
        for each in ranking.score_closely(question, scored, request.embedder)
        if each.score > 0
        and (not each.legs.keys().isdisjoint(_FINDING) or each.row.cosine > floor or each.row.id in later)
    ]
    scored = ranking.plausible(question, ranking.later_first(ranking.rate(question, found)))
    if allowed.place is None and allowed.current_place is not None:  # facts of others if clearly meant
        return [each for each in scored if not each.row.place or each.certainty >= ranking.KNOWN]
    return scored


def _nearest(request: Request) -> list[int]:
    vector_set, vector = request.vector_set, request.vector
    if vector_set is None or vector is None:
        return []
    most = CONTEXTUAL_VECTORS if vector_set.unit else VECTORS
    look = partial(vectors.nearest, request.db, vector_set, vector, most)
    return [id for id, _ in request.use("vectors", look, list[tuple[int, float]]())]


def _propose(request: Request) -> _Search:
    db, query, allowed, files = request.db, request.query, request.allowed, request.allowed.files
    no_hits, no_names = list[tuple[int, float]](), dict[int, tuple[float, frozenset[str]]]()
    question = request.use("words", partial(candidates.parse, request), Question())
    hits = request.use("words", lambda: candidates.by_words(db, question, allowed), no_hits)
    if "words" in request.damaged:
        question = candidates.parse(request, counted=False)
    unknown = {word for word, count in question.words.items() if not count}
    no_stems = dict[int, frozenset[str]]()
    guessed = request.use("trigrams", partial(candidates.by_trigrams, request, question, unknown), no_stems)
    times = None
    if not files and (span := spans.of_question(query, request.now)):  # when a file was changed says little about it
        times = narrowed = allowed.within(span.since, span.until)  # prefer what was said then, but keep the rest
        timely = request.use("words", lambda: candidates.by_words(db, question, narrowed), no_hits)
        hits = sorted({*hits, *timely}, key=lambda hit: (-hit[1], hit[0]))
    best, named = [id for id, _ in hits[:RESCORED]], no_names
    if not files:
        named = candidates.by_names(request, question, best)
        named |= request.use("words", lambda: validity.about_relatives(request, question), no_names)
    for id, (_, stems) in named.items():
        guessed[id] = guessed.get(id, frozenset()) | stems
    question = replace(question, average=_average(db, files), vector_set=request.vector_set)
    weights = {id: weight for id, (weight, _) in named.items()}
    proposed = list(dict.fromkeys([*best, *guessed]))
    return _Search(request, question, hits, proposed, times, weights, unknown, guessed)


def _add(search: _Search, ids: Collection[int], *, alone: bool = False) -> None:
    """Read candidates and their neighbours, or these `alone`."""
    if not ids:
        return
    request, db = search.request, search.request.db
    others = {id for id, _ in search.hits}.union(search.nearest[VECTORS_WITH_NEIGHBOURS:])
    single = ids if alone else others.difference(id for id, _ in search.hits[:WITH_NEIGHBOURS])
    places = passage_context.neighbours(db, list(ids), single)
    cosines = dict[int, float]()
    if request.vector_set is not None and request.vector is not None:
        compared = sorted({*places, *chain.from_iterable(around[1:] for around in places.values())} - {0})
        compare = partial(vectors.cosines, db, request.vector_set, request.vector, compared)
        cosines = request.use("vectors", compare, cosines)
    outlines = passage_context.outlines(request, places)
    unread = _least_promising(search, outlines, places, cosines) if len(outlines) > READ else []
    search.unread += unread
    read = {id for id, *_ in outlines}.difference(unread)
    places = {id: around for id, around in places.items() if id in read}
    known = passage_context.Known(search.guessed, search.named, cosines, search.times)
    rows = passage_context.fetch(request, places, search.question, known)
    search.rows |= rows
    search.judged -= rows.keys()  # neighbours may have been read before


def _guess(search: _Search, misspelt: Set[str], but: Collection[int]) -> None:
    search.unknown |= misspelt
    look = partial(candidates.by_trigrams, search.request, search.question, misspelt, but)
    alike = search.request.use("trigrams", look, dict[int, frozenset[str]]())
    search.guessed |= {id: stems | search.guessed.get(id, frozenset()) for id, stems in alike.items()}
    _add(search, alike)


def _guess_repeated(search: _Search) -> None:
    """Look by their letters for words that only the question holds, in the log too."""
    if repeated := {id for id in search.proposed if id not in search.rows and id not in search.unread}:
        held = {stem for row in search.rows.values() for stem in row.own_words}
        question = search.question
        only_repeated = candidates.only_in(question, [question.counts] * len(repeated)) - search.unknown
        if misspelt := {word for word in only_repeated if held.isdisjoint(question.stems[word])}:
            _guess(search, misspelt, repeated)


def _score(search: _Search) -> tuple[Question, list[Scored]]:
    empty = [row.own_words for row in search.rows.values() if row.empty]
    question = search.question.with_idfs(empty, search.question.vector_set if search.nearest else None)
    if question.asks_for_replies:
        search.rows |= passage_context.exchanges(search.request.db, search.rows.values(), question)
    return question, ranking.score(question, list(search.rows.values()))


def _judge(search: _Search, question: Question, scored: list[Scored]) -> tuple[Question, list[Scored]]:
    """Mark what tells nothing among the best, and let others take its place, until the best were all judged."""
    request = search.request
    while True:
        best = [each.row for each in scored[: ranking.CLOSELY]]
        new = [row for row in best if row.id not in search.judged]
        search.judged.update(row.id for row in new)
        search.rows |= {row.id: row for row in validity.marked(request, new, best, search.question)}
        if not any(row.empty or row.ended or row.withdrawn for row in (search.rows[each.id] for each in new)):
            break
        empty = {row.id: row.own_words for row in search.rows.values() if row.empty}
        others = islice(chain(search.unread, (id for id, _ in search.hits[RESCORED:])), len(empty))
        _add(search, [id for id in others if id not in search.rows], alone=True)
        if only_asked := candidates.only_in(search.question, [*empty.values()]) - search.unknown:
            _guess(search, only_asked, empty)
        question, scored = _score(search)
    if not question.asks_for_replies and statements.is_in_first_person(question.text):
        # What only questions and replies hold, the person may have told in other words, of "garage" as "Garagentor".
        telling = [row.own_words for row in search.rows.values() if not row.empty and row.role != "assistant"]
        words = search.question.stems.items()
        only_answered = {word for word, stems in words if not any(stems & held.keys() for held in telling)}
        if only_answered := only_answered - search.unknown:
            _guess(search, only_answered, search.rows)
            return _judge(search, *_score(search))
    return question, scored


def _least_promising(
    search: _Search, outlines: Sequence[Row], places: Mapping[int, passage_context.Around], cosines: Mapping[int, float]
) -> list[int]:
    """Of many candidates those to leave unread, the best first: all but READ of the messages, by a rough score of each,
    without those found by a name or by letters."""
    question, among = search.question, search.question.vector_set
    weights = ranking.CONTEXTUAL if search.nearest and question.is_contextual else ranking.WEIGHTS
    if question.asks_for_replies:  # what decides is the whole of a question and its answer
        return []
    held, best = dict(search.hits), search.hits[0][1] if search.hits else 1.0
    itself, spread = weights["words"] / best, (weights["nearby"] + weights["covered"]) / best
    floor, unit = (among.floor, among.unit or 1 - among.floor) if among else (0.0, 1.0)
    around = passage_context.OWN, passage_context.BEFORE, passage_context.AFTER
    alike = [weights[name] / unit for name in ("meaning", "meaning before", "meaning after")]

    @cache
    def of_speaker(author: str, role: str) -> float:
        return sum(weights[name] * value for name, value in ranking.of_speaker(question, author, role).items())

    promise: dict[int, float] = {}
    for id, is_message, author, role, length, at in outlines:
        if is_message and id not in search.guessed:
            near = id, *places[id][1:]
            words = sum([share * held.get(each, 0.0) for share, each in zip(around, near, strict=True)])
            close = sum([share * (cosines.get(each, floor) - floor) for share, each in zip(alike, near, strict=True)])
            promise[id] = of_speaker(author, role) + words * (itself + spread * ranking.brevity(length)) + close
            if search.times and search.times.holds_at(at):
                promise[id] += weights["time"]
    return sorted(promise, key=promise.__getitem__, reverse=True)[READ:]


def _average(db: Database, files: bool) -> float:
    newest = "id > max(0, (select max(id) from passage) - 1000)"  # one bound: with two SQLite reads from the wrong one
    if files:
        newest = "id < min(0, (select min(id) from passage) + 1000)"
    return float(db.value(f"select avg(length) from passage where {newest}") or 1.0)
