"""Candidates for an answer: hits of the word index, and of the trigram index for words that it lacks.

A query is an OR of its content words. In a large file words are taken from the rarest on, up to a budget of rows, and
common ones count where they stand beside these: dropping them outright costs four to fifteen points of recall.
"""

import math
import re
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence, Set
from dataclasses import field, replace
from datetime import datetime, timedelta
from functools import cache, cached_property, partial
from itertools import accumulate, islice
from typing import TypeVar

from agent_cli import kinds
from agent_cli.errors import UsageError
from agent_cli.memory.language import languages, statements, terms
from agent_cli.memory.search import graph, word_tables
from agent_cli.memory.search.vectors import QueryEmbedder, VectorSet
from agent_cli.store.db import Database, IndexDamaged
from agent_cli.values import frozen

T = TypeVar("T")

WORDS = 150  # most hits of the word index
_GUESSED = 20  # most hits of a word that is looked for by its letters
_FEW = 30  # rows that the idfs assume at least: in a new file the only word of a note would weigh next to nothing
MIN_BUDGET, BUDGET = 5_000, 0.08  # rows that may be scored, and their share of all
DECISIVE = 0.12  # share of the rows up to which a word decides among hits of rarer ones: commoner ones gain nothing
LEADING = 1_500  # rows that are scored in any case: those with the rarest words
APART = 8  # common words that are looked for one by one: up to twelve or so it takes less than all together
SURE = 60  # hits that no row with further words may exceed, or they lead too
ASKING = 0.4  # weight of a word that need not be in the answer, as "now" and "remember"
_PAST, _FUTURE = languages.pattern(r"\b<PAST_QUESTION>\b"), languages.pattern(r"\b<FUTURE_QUESTION>\b")
_MOST, _ONCE = 1.6, 1.3  # times its idf: about the most that a word adds to a score, and that one said once adds
_UMLAUTS = {"ae": "ä", "oe": "ö", "ue": "ü", "ss": "ß"}  # how they are typed where the keyboard has none
_NONE: Mapping[str, float] = {}
_Hits = Mapping[int, float]  # passages, and the score of each


@frozen
class Filter:
    """What may be found. Times are seconds since 1970."""

    owner: str
    kinds: tuple[str, ...] = ()  # empty: all
    place: str | None = None
    since: float | None = None
    until: float | None = None
    author: str | None = None
    excluded_messages: tuple[int, ...] = ()  # messages that are not to be found
    current_place: str | None = None  # where it is asked: facts of other places must be clearly meant; None: anywhere
    current_session: int | None = None  # the session it is asked in: facts that are true in another are not found
    unit: str | None = None  # of summaries only these: session, day, week, month, quarter or year
    fact_half_life: float = 0.0  # days after which a fact counts half; 0: its age counts as that of all else
    files: bool = False  # whether among sections of files, which are searched apart from all else

    def holds_at(self, moment: float) -> bool:
        return (self.since is None or moment >= self.since) and (self.until is None or moment < self.until)

    def within(self, since: datetime | None, until: datetime | None) -> "Filter":
        """Only what lies in this time too."""
        begins = [each for each in (since.timestamp() if since else None, self.since) if each is not None]
        ends = [each for each in (until.timestamp() if until else None, self.until) if each is not None]
        return replace(self, since=max(begins, default=None), until=min(ends, default=None))

    @property
    def is_narrow(self) -> bool:
        """Whether it excludes so much that filtering the best hits afterwards would not leave enough."""
        restrictions = (self.place, self.since, self.until, self.author, self.unit)
        return any(each is not None for each in restrictions) or bool(self.kinds and "message" not in self.kinds)


def between_days(now: datetime, least: int | None, most: int | None) -> tuple[float | None, float | None]:
    """`since` and `until` of what is at least and at most so many days old. Raises UsageError."""
    if least is not None and most is not None and least > most:
        raise UsageError(f"nothing is at least {least} and at most {most} days ago: the least must not exceed the most")
    since, until = (None if days is None else (now - timedelta(days=days)).timestamp() for days in (most, least))
    return since, until


@frozen
class Request:
    """What is asked, and what it is searched with."""

    db: Database
    query: str
    allowed: Filter
    now: datetime
    embedder: QueryEmbedder | None = None
    vector: Sequence[float] | None = None  # of the query
    vector_set: VectorSet | None = None
    logged: bool = False  # whether the question is in the log too
    damaged: list[str] = field(default_factory=list)  # indexes that could not be used; more are added

    def use(self, index: str, search: Callable[[], T], otherwise: T) -> T:
        """What an index finds, or `otherwise` when it is damaged."""
        try:
            with self.db.index_access():
                return search()
        except IndexDamaged:
            self.damaged.append(index)
            return otherwise


@frozen
class Question:
    """A question as it is understood, before passages are compared with it."""

    text: str = ""
    idfs: Mapping[str, float] = field(default_factory=dict)  # of its stems, and of its runs in scripts without spaces
    asked: Mapping[str, Sequence[str]] = field(default_factory=dict)  # stems of words that name no author, and runs
    stems: Mapping[str, Sequence[str]] = field(default_factory=dict)  # of each content word
    words: Mapping[str, int] = field(default_factory=dict)  # content words, and the number of rows with each
    runs: Mapping[str, int] = field(default_factory=dict)  # runs of scripts without spaces, and the same
    counts: Mapping[str, int] = field(default_factory=dict)  # rows with each stem or run
    rows: int = 0  # all rows
    excluded_rows: int = 0  # rows not counted, because they are the question itself
    only_asking: Set[str] = frozenset()  # stems that only ask, of a question that has others too
    authors: frozenset[str] = frozenset()  # those that it names
    average: float = 1.0  # the average length of passages
    vector_set: VectorSet | None = None  # whose cosines count
    fact_half_life: float = 0.0  # days; see Filter

    def names(self, db: Database, value: str) -> bool:
        """Whether it holds a word of this value."""
        return any(stem in self.idfs for stem in db.tokens(value))

    @cached_property
    def of_the_past(self) -> bool:
        return bool(_PAST.search(self.text))

    @cached_property
    def of_the_future(self) -> bool:
        return bool(_FUTURE.search(self.text))

    @cached_property
    def about_replies(self) -> bool:
        """Whether it is about what the assistant said."""
        return statements.asks_for_reply(self.text)

    @cached_property
    def asks_for_replies(self) -> bool:
        """Whether a reply may answer it: it is about what the assistant said, or how something was worked out."""
        return self.about_replies or statements.asks_how_it_was_done(self.text)

    @cached_property
    def is_own(self) -> bool:
        """Whether the person asks about themselves, and not what the assistant said."""
        return statements.is_in_first_person(self.text) and not self.about_replies

    @property
    def is_contextual(self) -> bool:
        """Whether it is compared by a model that reads a text as a whole."""
        return self.vector_set is not None and self.vector_set.unit is not None

    @cached_property
    def weights(self) -> dict[str, float]:
        return {word: max((self.idfs[stem] for stem in stems), default=0.0) for word, stems in self.asked.items()}

    @cached_property
    def total(self) -> float:
        return sum(self.weights.values()) or 1.0

    @cached_property
    def words_with(self) -> dict[str, list[str]]:
        return {stem: [word for word, stems in self.asked.items() if stem in stems] for stem in self.idfs}

    def words_in(self, found: Iterable[str]) -> set[str]:
        """Its words of which a stem was found."""
        return set().union(*map(self.words_with.__getitem__, found))

    def with_idfs(self, empty: Sequence[Mapping[str, int]] = (), vector_set: VectorSet | None = None) -> "Question":
        """The same, its words weighed without empty rows, each given as its stems: one is not common because it was
        asked. Words that only ask count less."""
        rows, holding = max(self.rows - len(empty), _FEW), Counter(stem for stems in empty for stem in stems)
        idfs = {
            term: idf(rows, max(0, count - holding[term])) * (ASKING if term in self.only_asking else 1.0)
            for term, count in self.counts.items()
        }
        return replace(self, idfs=idfs or self.idfs, vector_set=vector_set)


def parse(request: Request, *, counted: bool = True) -> Question:
    """`counted`: whether its words can be counted; not where the word index is damaged."""
    db, files, excluded = request.db, request.allowed.files, int(request.logged)
    rows, name = size(db, files), cache(partial(word_tables.table, db, "words"))

    def count(phrase: str) -> int:
        return max(0, word_tables.count(db, name(), phrase, rows, files) - excluded) if counted else 0

    def as_written(word: str) -> str:
        umlauts = re.sub("|".join(_UMLAUTS), lambda found: _UMLAUTS[found[0]], word)
        return umlauts if umlauts != word and not count(quoted(word)) and count(quoted(umlauts)) else word

    words = {word: count(quoted(word)) for word in map(as_written, terms.content_words(request.query))}
    runs = {run: count(gram_phrase(run)) for run in terms.unspaced_runs(request.query)}
    for run in [run for run, found in runs.items() if not found]:  # the run may be a whole sentence
        del runs[run]
        runs |= {pair: count(gram_phrase(pair)) for pair in terms.content_pairs(run)}
    stems = dict(zip(words, db.tokens_of(words), strict=True))
    counts = {stem: min(count, rows) for word, count in words.items() for stem in stems[word]}
    counts |= {run: min(count, rows) for run, count in runs.items()}
    only_asking = {stem for word in words if terms.only_asks(word) for stem in stems[word]}
    if not counts.keys() - only_asking:
        only_asking = set()
    # The authors in the log that it names; none when it names all of them.
    tokens = {author: set(db.tokens(author)) for author in db.column("select name from speaker")}
    asked = set(db.tokens(request.query))
    authors = frozenset(author for author, stems_of in tokens.items() if asked & stems_of)
    authors = authors if len(authors) < len(tokens) else frozenset()
    names = set[str]().union(*(tokens[author] for author in authors))
    telling = {word: stems_of for word, stems_of in stems.items() if names.isdisjoint(stems_of)}
    telling |= {run: [run] for run in runs}
    question = Question(request.query, {}, telling, stems, words, runs, counts, rows, excluded, only_asking, authors)
    return replace(question.with_idfs(), fact_half_life=request.allowed.fact_half_life)


def idf(rows: int, found: int) -> float:
    """log(1 + (N - n + 1/2) / (n + 1/2)), never below zero."""
    return math.log(1 + max(0.0, rows - found + 0.5) / (found + 0.5))


def by_words(db: Database, question: Question, allowed: Filter) -> list[tuple[int, float]]:
    """(passage, BM25 score of its own words), best first."""
    phrases = {quoted(word): count for word, count in question.words.items() if count}
    phrases |= {gram_phrase(run): count for run, count in question.runs.items() if count}
    ordered = sorted(phrases, key=lambda phrase: phrases[phrase])
    # What FTS5 weighs a word: log((N - n + 1/2) / (n + 1/2)), and next to nothing one that most rows hold.
    idfs = {
        phrase: max(1e-6, math.log((max(0, question.rows - phrases[phrase]) + 0.5) / (phrases[phrase] + 0.5)))
        for phrase in ordered
    }
    totals = list(accumulate(phrases[phrase] for phrase in ordered))
    first = max(1, bisect_right(totals, LEADING))
    budget = max(MIN_BUDGET, int(BUDGET * question.rows))
    decisive = min(max(MIN_BUDGET, DECISIVE * question.rows), question.rows / 2)  # FTS5 weighs no commoner word
    useful = [phrase for phrase in ordered if phrases[phrase] <= decisive]
    matching = partial(_matching, db, word_tables.table(db, "words") if phrases else "", allowed)
    best = _best(matching, ordered[:first], {phrase: idfs[phrase] for phrase in useful[first:]})
    sure = sorted(best.values(), reverse=True)[SURE - 1] if len(best) >= SURE else 0.0
    last = bisect_right(totals, budget)
    while last > first and _MOST * idfs[ordered[last - 1]] < sure:
        last -= 1
    if last > first:
        alone = _ONCE * idfs[ordered[first]] >= sure or last - first > APART
        further = _best(matching, ordered[first:last], {phrase: idfs[phrase] for phrase in useful[last:]}, alone=alone)
        best = _greatest((best, further))
    if allowed.kinds:
        sql = """select p.id from json_each(?) c cross join passage p on p.id = c.value
            where p.kind in (select value from json_each(?))"""
        best = {id: best[id] for id in db.column(sql, (best.keys(), bindings(allowed)["kinds"]))}
    return sorted(best.items(), key=lambda hit: (-hit[1], hit[0]))[:WORDS]


def _best(
    matching: Callable[..., _Hits], rare: Sequence[str], common: Mapping[str, float], *, alone: bool = True
) -> _Hits:
    """Hits of the rare words, with the score of common words (given with their idfs) where they hold these as well.
    `alone`: whether hits count that hold one word only."""
    either = " OR ".join(rare)
    if alone and len(rare) > 1 and len(common) <= APART:  # of one rare word too many rows have no other word
        return matching(either, common)
    wanted = [f"({either}) AND ({' OR '.join(common)})"] if common else []
    if not alone:
        wanted += [f"{word} AND ({' OR '.join(rare[place:])})" for place, word in enumerate(rare[:-1], 1)]
    best = _greatest(matching(each) for each in wanted)
    if alone and rare and (len(rare) > 1 or len(best) < WORDS):  # hits of one word rank after hits of another word too
        best = _greatest((best, matching(either)))
    return best


def _greatest(found: Iterable[_Hits]) -> _Hits:
    best = dict[int, float]()
    for each in found:
        for id, score in each.items():
            best[id] = max(best.get(id, 0.0), score)
    return best


def _matching(db: Database, name: str, allowed: Filter, match: str, common: Mapping[str, float] = _NONE) -> _Hits:
    """What matches, and its score. `common`: phrases and what each adds: FTS5 would count all rows that hold one."""

    def matches(parameter: str) -> str:
        return f"{name} match :{parameter} and {word_tables.id_range(allowed.files)}"

    values = {"match": match, **bindings(allowed)}
    tables, score = list[str](), f"bm25({name}, 1, 2, .5, 1, 1)"
    for number, (phrase, idf) in enumerate(common.items()):
        tables.append(f"t{number} as materialized (select rowid from {name} where {matches(f't{number}')})")
        score += f" - :idf{number} * (rowid in t{number})"
        values |= {f"t{number}": f"({match}) AND {phrase}", f"idf{number}": idf}
    scored = f"select rowid as id, {score} as s from {name} where {matches('match')}"
    limit = 2 * WORDS if allowed.kinds else WORDS  # other kinds are left out afterwards
    sql = f"{scored} order by s limit {limit}"
    if allowed.is_narrow:  # bm25() does not work in a join
        tables.append(f"hit as materialized ({scored})")
        sql = f"""select hit.id, hit.s from hit cross join passage p on p.id = hit.id join area a on a.id = p.area
                  where {conditions(allowed)} order by hit.s limit {limit}"""
    return {id: -s for id, s in db.rows(f"with {', '.join(tables)} {sql}" if tables else sql, values)}


def by_names(request: Request, question: Question, hits: Sequence[int]) -> dict[int, tuple[float, frozenset[str]]]:
    """The passages of facts about what the question names: the weight of each, and the stems that it answers to."""
    db = request.db
    mentions = graph.mentions(db, request.allowed.owner, request.query)
    if not mentions:
        return {}
    sql = "select p.row from json_each(?) c cross join passage p on p.id = c.value where p.kind = 'f'"
    named = graph.facts(db, mentions, db.column(sql, (hits,)))
    sql = "select p.id, p.row from json_each(?) c cross join passage p on p.kind = 'f' and p.row = c.value"
    found = {id: named[fact] for id, fact in db.rows(sql, (named.keys(),))}
    stems = {word: question.idfs.keys() & set(db.tokens(word)) for _, words in found.values() for word in words}
    return {
        id: (weight, frozenset[str]().union(*map(stems.__getitem__, words))) for id, (weight, words) in found.items()
    }


def only_in(question: Question, empty: Sequence[Mapping[str, int]]) -> set[str]:
    """The words that only these rows hold, each given as its stems: perhaps a typing mistake that was made before."""
    holding = Counter(stem for stems in empty for stem in stems)
    return {
        word
        for word, count in question.words.items()
        if count and all(holding[stem] >= question.counts.get(stem, 0) for stem in question.stems[word])
    }


def by_trigrams(
    request: Request, question: Question, words: Iterable[str], but: Collection[int] = ()
) -> dict[int, frozenset[str]]:
    """Passages, but these, with something similar to words that the word index lacks, and the stems of such words."""
    guessed: dict[int, frozenset[str]] = {}
    knows = request.embedder.knows_word if request.embedder else lambda _: False
    for word in words:
        similar = _similar(request, question, word, knows, but)
        if len(similar) <= question.excluded_rows and terms.may_be_misspelt(word, knows):
            similar += _with_near_stems(request, word, but)
        for id in similar:
            guessed[id] = guessed.get(id, frozenset()).union(request.db.tokens(word))
    return guessed


def _similar(
    request: Request, question: Question, word: str, knows: Callable[[str], bool], but: Collection[int]
) -> list[int]:
    """Passages that hold this word within a longer one, in another form, or misspelt."""
    if len(word) < terms.SHORTEST_GUESSED:
        return []
    db, folded = request.db, word.casefold()
    name, in_range = word_tables.table(db, "trigrams"), word_tables.id_range(request.allowed.files)

    def matching(match: str) -> list[int]:
        sql = f"select rowid from {name} where {name} match ? and {in_range} limit 200"
        return [id for id in db.column(sql, (match,)) if id not in but]

    triples = list(dict.fromkeys(quoted(folded[n : n + 3]) for n in range(len(folded) - 2)))
    found, half = matching(" AND ".join(triples)), len(triples) // 2
    if len(found) <= question.excluded_rows and len(triples) >= 3:  # a typing mistake spoils one half of the trigrams
        either = f"({' AND '.join(triples[:half])}) OR ({' AND '.join(triples[-half:])})"
        found = matching(
            either if half >= 2 else f"{triples[0]} AND {triples[-1]}"
        )  # of five letters the middle: "lader"
    texts = "select t.id, t.own, t.facts from json_each(?) c cross join passage_text t on t.id = c.value"
    rows = db.rows(texts, (found,))
    similar = (id for id, *words in rows if terms.contains_likely(folded, "\n".join(filter(None, words)), knows))
    return list(islice(similar, _GUESSED))


def _with_near_stems(request: Request, word: str, but: Collection[int]) -> list[int]:
    """Passages with a stem of the index that begins as the word does and is like it: of "blodd" those with "blood"."""
    db, stem = request.db, next(iter(request.db.tokens(word)), "")
    name, in_range = word_tables.table(db, "words"), word_tables.id_range(request.allowed.files)
    db.execute(f"create virtual table if not exists temp.{name}_stems using fts5vocab('main', '{name}', 'row')")
    query = f"""select term from temp.{name}_stems where term >= :first and term < :first || char(1114111)
                and length(term) between :length - 2 and :length + 2"""
    stems = db.column(query, {"first": stem[:2], "length": len(stem)})
    near = [quoted(term) for term in stems if term != stem and terms.contains_similar(stem, term, 0.8)]
    sql = f"select rowid from {name} where {name} match ? and {in_range} order by rank limit ?"
    found = db.column(sql, (" OR ".join(near), _GUESSED + len(but))) if near else []
    return [id for id in found if id not in but][:_GUESSED]


def size(db: Database, files: bool) -> int:
    """About how many passages there are, by their ids."""
    last = "-min(id)" if files else "max(id)"
    return int(db.value(f"select {last} from passage where {word_tables.id_range(files, 'id')}") or 0)


def count_words(db: Database, text: str, rows: int) -> int:
    """How often passages that are not of files have the words of a text; `rows`: how many there are of these."""
    name = word_tables.table(db, "words")
    return sum(word_tables.count(db, name, quoted(word), rows, False) for word in terms.content_words(text))


_CONDITION_OF = {
    "owner": "a.owner = :owner",
    "kinds": "(:kinds = '[]' or p.kind in (select value from json_each(:kinds)))",
    "place": "(:place is null or a.place = :place)",
    "since": "(:since is null or p.at >= :since)",
    "until": "(:until is null or p.at < :until)",
    "author": "(:author is null or p.author = :author)",
    "unit": """(:unit is null or p.kind <> 'y' or exists (select 1 from summary where id = p.row and grain = :unit))""",
    "excluded_messages": "not (p.kind = 'm' and p.row in (select value from json_each(:excluded_messages)))",
}


def conditions(allowed: Filter) -> str:
    """SQL: whether a passage is allowed. Most filters need one condition, and each is evaluated for every row."""
    return " and ".join(sql for name, sql in _CONDITION_OF.items() if getattr(allowed, name) not in (None, ()))


def bindings(allowed: Filter) -> dict[str, object]:
    return vars(allowed) | {"kinds": [kinds.BY_NAME[kind].letter for kind in allowed.kinds]}


def quoted(word: str) -> str:
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'


def gram_phrase(run: str) -> str:
    """A single character is found where a pair begins with it."""
    return f'grams : "{terms.bigrams(run)}"{" *" if len(run) == 1 else ""}'
