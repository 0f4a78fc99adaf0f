"""Summaries of sessions and periods, with the sources of each sentence; and how one of a session is made, always from
the transcript. Without a model the most telling sentences are extracted, and replaced when a model answers. Sources are
found by shared words, rare ones first (idf). A sentence whose sources retention removed ("orphaned") is kept when its
summary is made again."""

import math
from bisect import bisect_left, bisect_right
from collections.abc import Callable, Iterable, Iterator, Sequence
from collections.abc import Set as AbstractSet
from itertools import accumulate
from typing import Any

from agent_cli import clock, text
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import digest, log, sessions
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.language import keywords, secrets, statements
from agent_cli.memory.language.terms import STOP_WORDS
from agent_cli.memory.search import index
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

MODEL, EXTRACT = "model", "extract"  # the method; an extract is replaced when a model answers
JOB = "summary"
SENTENCES = 5
_EXTRACTED = 20_000  # characters of a transcript
_DETAILS = 300
_MAX_REPLY = 4_000  # characters of a model's reply
_MAX_SOURCES = 3  # for each sentence
_MIN_SHARE, _MIN_OF_BEST = 0.3, 0.7  # of the weight shared with all sources together, and with the best source

_SELECT = """select y.id, y.session_id, y.grain, y.period, y.text, y.details, y.method,
        coalesce(s.started_at, y.last_at, y.at), coalesce(s.utc_offset, y.utc_offset), y.at, y.pinned, y.model
    from summary y left join session s on s.id = y.session_id"""

AskModel = Callable[[str], Iterator[str]]
"""Puts one question to a language model and streams its words. Raises AgentError."""

_RULES = """At most five short sentences, in the language of the conversation. Keep names, numbers, dates, preferences,
decisions and what was left open. State only what is said. No heading, no list, no introduction."""

_CONVERSATION = """

<conversation>
{transcript}
</conversation>"""

_QUESTION = f"""Summarise this conversation between a person and their assistant for the assistant's own memory.
{_RULES}{_CONVERSATION}"""

_AFTER = f"""The program asks this, not the person: the conversation ends here. Summarise it for your own memory, and
call no tool: what was said above, not what the program put beside it.
{_RULES}{{earlier}}"""

_EARLIER = f"""

It began with this, which is no longer shown above:{_CONVERSATION}"""


@frozen
class Source:
    """A row that a sentence comes from: message, session, summary or fact."""

    kind: str
    row: int

    @property
    def handle(self) -> str:
        return ids.handle(self.kind, self.row)


Sentence = tuple[str, tuple[Source, ...]]
"""(words, sources)."""


@frozen
class NewSummary:
    """A summary to be stored. `sources`: of each sentence, as split by `text.sentences`."""

    text: str
    details: str
    method: str
    model: str
    sources: tuple[tuple[Source, ...], ...] = ()
    all_sources: tuple[Source, ...] = ()  # all sources of a period


@frozen
class Summary(ids.Handled):
    kind = "summary"
    id: int
    session: int | None
    unit: str
    period: str
    text: str
    details: str
    method: str
    started_at: str  # when the session began; for a period, its last moment
    utc_offset: int
    at: str
    pinned: int
    model: str


def stream(transcript: str, ask: AskModel | None) -> Iterator[str]:
    """The words of a summary as they arrive, at most five sentences. Without `ask` it is extracted."""
    if ask is None:
        yield extract(transcript)
    elif transcript:  # else a model would make something up
        question = _QUESTION.format(transcript=digest.escape_end_tag(transcript, "conversation"))
        yield from first_sentences(ask(question), SENTENCES)


def stream_after(folded: str, ask: AskModel) -> Iterator[str]:
    """The words of a summary as they arrive, where `ask` shows the conversation itself, without the part `folded`."""
    earlier = _EARLIER.format(transcript=text.unfenced(digest.escape_end_tag(folded, "conversation"))) if folded else ""
    yield from first_sentences(ask(_AFTER.format(earlier=earlier)), SENTENCES)


def first_sentences(pieces: Iterable[str], count: int) -> Iterator[str]:
    """A streamed reply up to the end of its `count`-th sentence, and at most _MAX_REPLY characters."""
    reply = ""
    for piece in pieces:
        before, reply = reply, (reply + piece)[:_MAX_REPLY]
        if len(text.sentences(reply)) > count:
            yield text.first_sentences(reply, count)[len(before) :]
            return
        yield reply[len(before) :]
        if len(reply) == _MAX_REPLY:
            return


def extract(transcript: str) -> str:
    """The five sentences with the most frequent words of a transcript, in order; small talk if it has no other."""
    found = digest.sentences(transcript)
    telling = [each for each in found if not statements.is_small_talk(each.words)] or found
    return digest.narration(sorted(telling, key=lambda each: (-each.weight, each.place))[:SENTENCES])


def sensible(words: str) -> str:
    """A model's summary; empty when it is made of signs, or mostly of sentences that stand more than once."""
    said = [each.casefold() for each in text.sentences(words)]
    dense = "".join(words.split())
    return words if 2 * sum(map(str.isalnum, dense)) > len(dense) and 2 * len(set(said)) > len(said) else ""


def compose(db: Database, session: int, words: str, method: str, model: str) -> NewSummary | None:
    """The summary in these words, with its sources and details; None to keep the model's earlier one."""
    words, earlier, entries = sensible(words), of_session(db, session), log.history(db, session)
    if not words:  # the model had nothing to say
        if earlier and earlier.method == MODEL:
            return None  # otherwise an extract is stored with the model's name, so that it is not asked again
        words, method = extract(digest.transcript(entries, _EXTRACTED)), EXTRACT
        if not words:
            return None
    spoken = (each for each in entries if log.is_spoken(each) and each.message.text)
    items = [(Source("message", each.id), each.message.text) for each in spoken]
    orphaned = orphaned_sentences(db, earlier) if earlier else []
    new = text.sentences(" ".join(text.sentences(words)[:SENTENCES]))
    whole, sources = join_sentences([*orphaned, *attribute(new, items)])
    extracted = keywords.newest_details((said for _, said in items), _DETAILS, whole)
    if earlier and orphaned:  # keep the details of removed messages too
        extracted = keywords.merge_details([earlier.details, extracted], _DETAILS, whole)
    return NewSummary(whole, extracted, method, model, sources)


def attribute(sentences: Sequence[str], items: Sequence[tuple[Source, str]]) -> list[Sentence]:
    """The sentences with the sources of the (source, text) items that they come from, the likeliest first."""
    word_sets = [_words(words) for _, words in items]
    found = []
    for sentence in sentences:
        in_texts = {word: sum(word in each for each in word_sets) for word in _words(sentence)}
        weights = {word: math.log(1 + len(word_sets) / count) for word, count in in_texts.items() if count}
        shared = [sum(weights[word] for word in weights.keys() & each) for each in word_sets]
        enough = max(_MIN_SHARE * sum(weights.values()), _MIN_OF_BEST * max(shared, default=0.0))
        best = [n for n, score in enumerate(shared) if score and score >= enough]
        best.sort(key=lambda n: (-shared[n], n))
        found.append((sentence, tuple(items[n][0] for n in best[:_MAX_SOURCES])))
    return found


def _words(sentence: str) -> set[str]:
    return {word for word in text.words(sentence) if word not in STOP_WORDS and (len(word) > 2 or word.isdigit())}


def join_sentences(sentences: Sequence[Sentence]) -> tuple[str, tuple[tuple[Source, ...], ...]]:
    """One text of sentences, and the sources of each as `text.sentences` splits it: two may run together."""
    words = [*(text.with_full_stop(each) for each, _ in sentences[:-1]), *(each for each, _ in sentences[-1:])]
    ends = list(accumulate(len(each) + 1 for each in words))
    whole, at = " ".join(words), 0
    sources: list[tuple[Source, ...]] = []
    for piece in text.split_sentences(whole):
        first, at = at, at + len(piece)
        if piece.strip():
            inside = slice(bisect_right(ends, first + 1), bisect_left(ends, at) + 1)  # a piece begins with a blank
            sources.append(tuple(dict.fromkeys(each for _, found in sentences[inside] for each in found)))
    return whole, tuple(sources)


def save_session(db: Database, session: int, made: NewSummary, time: clock.Clock) -> int:
    """Store the summary of a session in place of an earlier one. Runs in the caller's transaction."""
    [(owner, place, last_at)] = db.rows("select owner, place, last_at from session where id = ?", (session,))
    subject = {"owner": owner, "place": place, "session_id": session, "grain": "session", "period": ""}
    return _save(db, of_session(db, session), subject, made, last_at, time)


def save_period(db: Database, owner: str, period: Period, made: NewSummary, last_at: str, time: clock.Clock) -> int:
    """The same of a period. `last_at`: the last moment it covers."""
    subject = {"owner": owner, "place": "", "session_id": None, "grain": period.unit, "period": period.key}
    return _save(db, of_period(db, owner, period.key), subject, made, last_at, time)


def _save(
    db: Database, earlier: Summary | None, subject: dict[str, Any], made: NewSummary, last_at: str, time: clock.Clock
) -> int:
    now = time()
    columns: dict[str, Any] = {"text": secrets.mask(made.text), "details": secrets.mask(made.details)}
    columns |= {"method": made.method, "model": made.model}
    columns |= {"last_at": last_at, "at": clock.utc(now), "utc_offset": clock.offset(now)}
    if earlier:
        id = earlier.id
        index.erase(db, "y", [id])  # before its words change
        db.update("summary", id, columns)
    else:
        id = db.insert("summary", {"uid": ids.new(now), **subject, **columns})
    _set_sources(db, id, made)
    return id


def _set_sources(db: Database, id: int, made: NewSummary) -> None:
    set_sources(db, id, [(n, each) for n, found in enumerate([made.all_sources, *made.sources]) for each in found])


def set_sources(db: Database, id: int, numbered: Iterable[tuple[int, Source]]) -> None:
    """Replace the sources by these, each with the number of its sentence. Runs in the caller's transaction."""
    db.execute("delete from summary_source where summary_id = ?", (id,))
    db.execute_many(
        "insert into summary_source values (?, ?, ?, ?) on conflict do nothing",
        [(id, sentence, each.kind, each.row) for sentence, each in numbered],
    )


def of_session(db: Database, session: int) -> Summary | None:
    return _one(db, "y.session_id = ?", (session,))


def of_period(db: Database, owner: str, key: str) -> Summary | None:
    return _one(db, "y.owner = ? and y.period = ?", (owner, key))


def get(db: Database, id: int, owner: str) -> Summary:
    """Raises UsageError when this owner has no such summary."""
    if found := _one(db, "y.id = ? and y.owner = ?", (id, owner)):
        return found
    raise UsageError(f"there is no summary y{id}; `agent summaries list` shows them all")


def _one(db: Database, condition: str, values: Sequence[object]) -> Summary | None:
    row = db.row(f"{_SELECT} where {condition}", tuple(values))
    return Summary(*row) if row else None


def is_current(db: Database, session: int) -> bool:
    """Whether a model made its summary, and nothing was said since."""
    query = "select y.method, y.at >= s.last_at from summary y join session s on s.id = y.session_id where s.id = ?"
    return db.row(query, (session,)) == (MODEL, 1)


def recent(db: Database, owner: str, place: str | None, limit: int, besides: Sequence[int] = ()) -> list[Summary]:
    """The newest summaries of conversations in this place, or in all folders, the most recent last."""
    query = f"""{_SELECT} where y.owner = :owner and {sessions.CARRIED} and y.hidden_at is null
                   and s.id not in (select value from json_each(:besides)) order by s.last_at desc limit :limit"""
    rows = db.rows(query, {"owner": owner, "place": place, "besides": list(besides), "limit": limit})
    return [Summary(*row) for row in reversed(rows)]


def newest(db: Database, owner: str, limit: int, unit: str | None = None) -> list[Summary]:
    """The newest summaries, of all units or one, without hidden ones."""
    query = f"""{_SELECT} where y.owner = :owner and y.hidden_at is null and s.hidden_at is null
                  and (:grain is null or y.grain = :grain)
                order by coalesce(y.last_at, y.at) desc, y.id desc limit :limit"""
    return [Summary(*row) for row in db.rows(query, {"owner": owner, "grain": unit, "limit": limit})]


def sources(db: Database, id: int) -> dict[int, list[Source]]:
    """The sources of each sentence, by its number from 1; under 0 those of the whole summary."""
    found: dict[int, list[Source]] = {}
    rows = db.rows("select sentence, kind, row from summary_source where summary_id = ? order by sentence, row", (id,))
    for sentence, kind, row in rows:
        found.setdefault(sentence, []).append(Source(kind, row))
    return found


def made_from(db: Database, sources: Iterable[Source]) -> list[int]:
    query = """select distinct y.summary_id from json_each(?) c cross join summary_source y
                 on y.kind = c.value ->> 0 and y.row = c.value ->> 1 order by 1"""
    return db.column(query, ([(each.kind, each.row) for each in sources],))


def missing_sources(db: Database, summary: Summary) -> set[Source]:
    named = {each for found in sources(db, summary.id).values() for each in found}
    return {each for each in named if not db.value(f"select 1 from {each.kind} where id = ?", (each.row,))}


def orphaned_sentences(db: Database, summary: Summary, emptied: AbstractSet[Source] = frozenset()) -> list[Sentence]:
    """The sentences whose sources are all missing, with these: they could not be made again. Those without known
    sources may come from a missing one, and count too. `emptied`: sources that hold nothing any more."""
    known, missing = sources(db, summary.id), missing_sources(db, summary) | emptied
    found = [(sentence, tuple(known.get(n, ()))) for n, sentence in enumerate(text.sentences(summary.text), 1)]
    return [(sentence, of) for sentence, of in found if missing and missing.issuperset(of)]


def pin(db: Database, id: int, pinned: bool) -> None:
    with db.write():
        db.execute("update summary set pinned = ? where id = ?", (int(pinned), id))


def erase(db: Database, found: Sequence[int]) -> None:
    """Delete summaries; others still name them as sources until `drop_sources`. Runs in the caller's transaction."""
    index.erase(db, "y", found)
    db.execute("delete from summary_source where summary_id in (select value from json_each(?))", (found,))
    db.execute("delete from summary where id in (select value from json_each(?))", (found,))


def shorten(db: Database, id: int, sentences: Sequence[Sentence]) -> None:
    """Keep only these sentences of a summary, until it is made again. Runs in the caller's transaction."""
    index.erase(db, "y", [id])  # before its words change
    whole = tuple(sources(db, id).get(0, ()))
    words, found = join_sentences(sentences)
    method = "iif(grain = 'session', 'extract', method)"
    db.execute(f"update summary set text = ?, details = '', method = {method} where id = ?", (words, id))
    _set_sources(db, id, NewSummary(words, "", "", "", found, whole))


def drop_sources(db: Database, found: Iterable[Source]) -> None:
    """Forget these rows as sources: sentences made from them must not count as orphaned. Runs in a transaction."""
    named = "(kind, row) in (select value ->> 0, value ->> 1 from json_each(?))"
    db.execute(f"delete from summary_source where {named}", ([(each.kind, each.row) for each in found],))


def made_without_model(db: Database) -> list[tuple[str, str, int | None]]:
    """(owner, period, session) of summaries that no model was asked for, and that can be made, the shortest first."""
    return db.rows(
        """select y.owner, y.period, y.session_id from summary y left join session s on s.id = y.session_id
           where y.method = 'extract' and y.model = '' and case when y.session_id is not null
                 then s.closed_at is not null and exists (select 1 from said where session_id = s.id)
                 else not exists (select 1 from summary_source where summary_id = y.id and sentence = 0)
                      or exists (select 1 from summary_source o where summary_id = y.id and sentence = 0
                                 and (exists (select 1 from summary t where kind = 'summary' and t.id = o.row)
                                      or exists (select 1 from message where kind = 'session'
                                                 and session_id = o.row))) end
           order by instr('session day week month quarter year', y.grain)"""
    )
