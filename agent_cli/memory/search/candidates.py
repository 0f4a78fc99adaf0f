"""Where an answer may stand: the hits of the word index, and of the trigram index where words found nothing.

A question is an OR of its content words: a plain one would find nothing if all had to be there. At scale words are
taken from the rarest on, up to a budget of rows, and the common ones come back by a second query: dropping them
outright costs four to fifteen points of recall.
"""

from collections.abc import Mapping, Sequence

from agent_cli import kinds
from agent_cli.memory.language import terms
from agent_cli.memory.search import index, ranking
from agent_cli.store.db import Database
from agent_cli.values import frozen

WORDS = 150  # hits of the word leg
_COUNTED = 100_000  # rows up to which words are counted; of more, a part is
_WINDOWS, _WINDOW = 4, 0.005  # how many parts, and the share of all rows in each
_FEW = 500  # rows up to which a word is counted in any case
LEAST_BUDGET, BUDGET = 5_000, 0.08  # rows that may be scored, and their share of all


@frozen
class Filter:
    """What may be found. Times are seconds since 1970."""

    owner: str
    kinds: tuple[str, ...] = ()  # empty: all
    session: int | None = None
    besides: int | None = None  # a session to leave out
    place: str | None = None
    since: float | None = None
    until: float | None = None
    author: str | None = None
    but: tuple[int, ...] = ()  # messages that are not to be found
    here: str | None = None  # where it is asked: facts of other places must be clearly meant; None: anywhere
    within: int | None = None  # the session it is asked in: facts that are true in another are not found
    grain: str | None = None  # of summaries only these: session, day, week, month, quarter or year
    files: bool = False  # whether among sections of files, which are searched apart from all else

    @property
    def narrow(self) -> bool:
        """Whether it leaves out so much that the best hits of all would not do."""
        told = (self.session, self.place, self.since, self.until, self.author, self.grain)
        return any(each is not None for each in told) or bool(self.kinds and "message" not in self.kinds)


@frozen
class Question:
    """What is asked, as the word index knows it."""

    words: Mapping[str, int]  # content words, and in how many rows each is found
    runs: Mapping[str, int]  # pieces of scripts without spaces, and the same
    idfs: Mapping[str, float]  # of the stems and runs
    besides: int = 0  # rows that are the question itself


def question(db: Database, query: str, besides: int = 0, *, files: bool = False) -> Question:
    """Take a question apart and weigh its words. `besides`: rows that do not count, because they are the question."""
    rows = size(db, files)

    def count(phrase: str) -> int:
        return max(0, _count(db, phrase, rows, files) - besides)

    words = {word: count(_quoted(word)) for word in terms.content_words(query)}
    runs = {run: count(_gram_phrase(run)) for run in terms.unspaced_runs(query)}
    for run in [run for run, found in runs.items() if not found]:  # a whole sentence, perhaps
        del runs[run]
        runs |= {pair: count(_gram_phrase(pair)) for pair in terms.content_pairs(run)}
    idfs = {stem: ranking.idf(rows, min(count, rows)) for word, count in words.items() for stem in db.tokens(word)}
    idfs |= {run: ranking.idf(rows, min(count, rows)) for run, count in runs.items()}
    return Question(words, runs, idfs, besides)


def unweighed(db: Database, query: str) -> Question:
    """A question whose words cannot be counted, because the word index is damaged."""
    words, runs = terms.content_words(query), terms.unspaced_runs(query)
    stems = [stem for word in words for stem in db.tokens(word)]
    return Question(dict.fromkeys(words, 0), dict.fromkeys(runs, 0), dict.fromkeys([*stems, *runs], 1.0))


def by_words(db: Database, question: Question, allowed: Filter) -> list[tuple[int, float]]:
    """(passage, BM25 of its own words), best first."""
    phrases = {_quoted(word): count for word, count in question.words.items() if count}
    phrases |= {_gram_phrase(run): count for run, count in question.runs.items() if count}
    ordered = sorted(phrases, key=lambda phrase: phrases[phrase])
    budget = max(LEAST_BUDGET, int(BUDGET * size(db, allowed.files)))
    kept, spent = ordered[:1], phrases[ordered[0]] if ordered else 0
    rest: list[str] = []
    for phrase in ordered[1:]:
        spent += phrases[phrase]
        (kept if spent <= budget else rest).append(phrase)
    best = _best(db, kept, rest, allowed)
    ordered_hits = sorted(best.items(), key=lambda hit: (-hit[1], hit[0]))
    if allowed.kinds:
        wanted = {
            id
            for (id,) in db.rows(
                """select p.id from json_each(?) c cross join passage p on p.id = c.value
                   where p.kind in (select value from json_each(?))""",
                (best.keys(), values(allowed)["kinds"]),
            )
        }
        ordered_hits = [hit for hit in ordered_hits if hit[0] in wanted]
    return ordered_hits[:WORDS]


def _best(db: Database, kept: Sequence[str], rest: Sequence[str], allowed: Filter) -> dict[int, float]:
    """Hits of the words within the budget, and the full score of those that hold some of the rest as well."""
    either = " OR ".join(kept)
    if not rest:
        return dict(_matching(db, either, allowed)) if kept else {}
    both = f"({either}) AND ({' OR '.join(rest)})"
    if len(kept) == 1:  # what holds this word alone stands behind what holds another too
        best = dict(_matching(db, both, allowed))
        return best if len(best) >= WORDS else dict(_matching(db, either, allowed)) | best
    best = dict(_matching(db, either, allowed))
    for id, score in _matching(db, both, allowed):
        best[id] = max(best.get(id, 0.0), score)
    return best


def _matching(db: Database, match: str, allowed: Filter) -> list[tuple[int, float]]:
    name = index.table(db, "words")
    there = f"{name} match :match and {_side(allowed.files)}"
    scored = f"select rowid as id, bm25({name}, 1, 2, .5, 1, 1) as s from {name} where {there}"
    if not allowed.narrow:
        sql = f"{scored} order by s limit {2 * WORDS}"
    else:  # bm25() cannot stand in a join
        sql = f"""with hit as materialized ({scored})
                  select hit.id, hit.s from hit cross join passage p on p.id = hit.id join area a on a.id = p.area
                  where {CONDITIONS} order by hit.s limit {2 * WORDS}"""
    return [(id, -s) for id, s in db.rows(sql, {"match": match, **values(allowed)})]


def facts(db: Database, ids: Sequence[int]) -> list[int]:
    """The passages of facts."""
    rows = db.rows("select p.id from json_each(?) c cross join passage p on p.kind = 'f' and p.row = c.value", (ids,))
    return [id for (id,) in rows]


def by_trigrams(db: Database, question: Question, *, files: bool = False) -> dict[int, frozenset[str]]:
    """Passages that hold something like a word the word index has not, with the stems of those words."""
    guessed: dict[int, frozenset[str]] = {}
    for word, count in question.words.items():
        for id in _like(db, word, question.besides, files) if not count else ():
            guessed[id] = guessed.get(id, frozenset()).union(db.tokens(word))
    return guessed


def _like(db: Database, word: str, besides: int, files: bool, limit: int = 20) -> list[int]:
    """Passages that hold this word as a part of a longer one, or misspelt."""
    if len(word) < 3:
        return []
    name = index.table(db, "trigrams")
    folded = word.casefold()
    triples = list(dict.fromkeys(_quoted(folded[n : n + 3]) for n in range(len(folded) - 2)))
    half = len(triples) // 2
    whole = " AND ".join(triples)
    sql = f"select rowid from {name} where {name} match ? and {_side(files)} limit 200"
    found = [id for (id,) in db.rows(sql, (whole,))]
    if len(found) <= besides and half >= 2:  # a slip of the pen spoils one half of a word's trigrams
        halves = f"({' AND '.join(triples[:half])}) OR ({' AND '.join(triples[-half:])})"
        found = [id for (id,) in db.rows(sql, (halves,))]
    texts = db.rows(
        "select t.id, t.own, t.facts from json_each(?) c cross join passage_text t on t.id = c.value",
        (found,),
    )
    return [id for id, own, facts in texts if terms.contains_similar(folded, f"{own}\n{facts or ''}")][:limit]


def size(db: Database, files: bool) -> int:
    """How many passages there are, about; the ids tell."""
    return int(db.value(f"select {'-min' if files else 'max'}(id) from passage where {_side(files, 'id')}") or 0)


def _side(files: bool, id: str = "rowid") -> str:
    return f"{id} < 0" if files else f"{id} > 0"


def _count(db: Database, match: str, rows: int, files: bool) -> int:
    """In how many of so many rows: of a common word in a large log guessed from some parts of it."""
    name = index.table(db, "words")
    found_there = f"from {name} where {name} match ? and {_side(files)}"
    if rows <= _COUNTED:
        return int(db.value(f"select count(*) {found_there}", (match,)))
    few = int(db.value(f"select count(*) from (select 1 {found_there} limit {_FEW})", (match,)))
    if few < _FEW:
        return few
    width = int(rows * _WINDOW)
    found = 0
    for first in range(rows // _WINDOWS - width, rows, rows // _WINDOWS):  # each quarter's end
        part = f"select count(*) from {name} where {name} match ? and rowid between ? and ?"
        ends = (-first - width, -first - 1) if files else (first + 1, first + width)
        found += db.value(part, (match, *ends))
    return max(few, round(found / (_WINDOWS * _WINDOW)))


CONDITIONS = """a.owner = :owner and (:kinds = '[]' or p.kind in (select value from json_each(:kinds)))
    and (:session is null or p.session_id = :session) and (:besides is null or p.session_id is not :besides)
    and (:place is null or a.place = :place)
    and (:since is null or p.at >= :since) and (:until is null or p.at < :until)
    and (:author is null or p.author = :author)
    and (:grain is null or p.kind <> 'y' or exists (select 1 from summary where id = p.row and grain = :grain))
    and not (p.kind = 'm' and p.row in (select value from json_each(:but)))"""


def values(allowed: Filter) -> dict[str, object]:
    """What CONDITIONS binds."""
    letters = [kinds.BY_NAME[kind].letter for kind in allowed.kinds]
    return {
        "owner": allowed.owner, "kinds": letters, "session": allowed.session, "besides": allowed.besides,
        "place": allowed.place, "since": allowed.since, "until": allowed.until, "author": allowed.author,
        "but": allowed.but, "here": allowed.here, "within": allowed.within,
        "grain": allowed.grain,
    }  # fmt: skip


def _quoted(word: str) -> str:
    return '"' + word.replace('"', '""').replace("\0", " ") + '"'


def _gram_phrase(run: str) -> str:
    return f'grams : "{terms.bigrams(run)}"'
