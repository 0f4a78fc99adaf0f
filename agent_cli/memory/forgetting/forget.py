"""Erases rows and everything derived from them in one transaction; tombstones keep imports from restoring them. A job
empties the journal; erasure_receipt.py then checks the files."""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace
from typing import Any

from agent_cli import clock, kinds, text
from agent_cli.errors import UsageError
from agent_cli.memory import lineage, tombstones
from agent_cli.memory.conversations import sessions
from agent_cli.memory.dates import periods
from agent_cli.memory.forgetting import occurrences, selection, tables
from agent_cli.memory.forgetting.occurrences import Copies
from agent_cli.memory.forgetting.tables import COPIES, OWNERS, SINGULAR, TABLES
from agent_cli.memory.language.keywords import NO_KEYWORDS, KeywordMatcher, Keywords, SearchTerms
from agent_cli.memory.lineage import ErasedLine, ErasureRequest, Walk
from agent_cli.memory.search import index, recall_log, word_tables
from agent_cli.memory.skills import skills
from agent_cli.memory.summaries import period_summaries, summaries
from agent_cli.store import events, ids, jobs
from agent_cli.store.db import Database
from agent_cli.values import frozen

_SHOWN = 20
_MOST_NAMED = 20  # rows named by hand up to which it is looked for what else says the same


@frozen
class RelatedRow:
    handle: str
    day: str
    text: str
    reason: str


@frozen
class ErasurePlan:
    walk: Walk
    verbatim_copies: Copies
    wanted: SearchTerms  # to search for in the files
    counts: dict[str, int]
    lines: Sequence[ErasedLine]
    more: int  # number of lines that are not shown
    version: tuple[int, int]  # change counter of the file at planning
    skills: Sequence[str] = ()  # lines about skills that lose a version
    files: Sequence[str] = ()  # sentences about files of which sections are erased
    keywords: Keywords = NO_KEYWORDS  # the words to look for in the rows that stay
    related: Sequence[RelatedRow] = ()  # rows that stay and say the same

    @property
    def rebuilt_summaries(self) -> list[str]:
        return [*(ids.handle("session", id) for id in self.walk.staying("session")), *self.walk.rebuilt_periods]

    def format_lines(self) -> list[str]:
        rows = [f"{handle:<6} {day}  {text.one_line(words, 100)}" for handle, day, words in self.lines]
        more = [f"       and {self.more} more"] if self.more else []
        rebuilt = ", ".join(self.rebuilt_summaries)
        notes = [f"{rebuilt}: summarised anew from what is left"] if rebuilt else []
        for id, sentences in self.walk.partial["summary"].items():
            many = text.counted(len(sentences), "sentence")
            notes.append(f"{ids.handle('summary', id)}: keeps {many} that could not be made again")
        notes += [*self.skills, *self.files]
        if losing_quotes := ", ".join(ids.handle("fact", id) for id in self.walk.staying("fact")):
            notes.append(f"{losing_quotes}: stays, because it has another source, and loses its quote")
        return [*rows, *more, f"to be erased: {self.format_counts}", *notes]

    def format_related(self) -> list[str]:
        if not self.related:
            return []
        rows = [
            f"{number:>3}  {row.handle:<6} {row.day}  {text.one_line(row.text, 80)}  ({row.reason})"
            for number, row in enumerate(self.related, 1)
        ]
        return ["the same is also said here, and stays unless you take it:", *rows]

    @property
    def question(self) -> str:
        if not self.related:
            return "erase it for good? type yes: "
        return "erase it for good? type yes; or all, or numbers as in 1 3, to erase these too: "

    @property
    def format_counts(self) -> str:
        return ", ".join(f"{many} {name if many > 1 else SINGULAR[name]}" for name, many in self.counts.items())

    def described(self) -> dict[str, Any]:
        related = [{"id": row.handle, "day": row.day, "text": row.text, "reason": row.reason} for row in self.related]
        return {
            "counts": self.counts,
            "rows": [dict(zip(("id", "day", "text"), line, strict=True)) for line in self.lines],
            "more": self.more,
            "summaries_made_again": self.rebuilt_summaries,
            "summaries_in_part": [ids.handle("summary", id) for id in self.walk.partial["summary"]],
            "skills": list(self.skills),
            "files": list(self.files),
            "words": list(self.keywords.words),
            "related": related,
        }


def planned(db: Database, request: ErasureRequest, wanted: Keywords | None = None) -> ErasurePlan:
    """What a request erases, and where its words or these stand elsewhere. Raises UsageError when that is nothing."""
    index.refresh_all(db)  # the rest of long texts may wait: only words that many rows have are counted in it
    version = db.change_counter()
    walk = selection.walk(db, request)
    _refuse_unfinished(db, walk)
    keywords = _keywords(db, request) if wanted is None else wanted
    copies, terms = occurrences.find_copies(db, walk, keywords)
    counts = selection.counts(db, walk)
    for copy in COPIES:
        if many := len(copies.rows[copy.name]) + len(walk[copy.name]):
            counts[copy.name] = counts.get(copy.name, 0) + many
    if not counts:
        about = f" about {request.topic!r}" if request.topic else ""
        raise UsageError(f"nothing is remembered{about}: nothing was erased")
    lines, count = selection.lines(db, walk, _SHOWN)
    blanked = [id for copy in COPIES if copy.table == "message" for id in copies.rows[copy.name]]
    return ErasurePlan(
        *(walk, copies, terms, counts, lines, count - len(lines), version),
        skills.describe_shortened(db, walk),
        tables.files(db, walk),
        keywords,
        _find_related(db, walk, blanked, keywords),
    )


def agreed(db: Database, plan: ErasurePlan, answer: str) -> ErasurePlan | None:
    """The plan that an answer to its question agrees to; None for a no. Raises UsageError like `choose_related`."""
    if answer == "yes":
        return plan
    taken = choose_related(plan.related, answer) if plan.related else []
    return with_related(db, plan, taken) if taken else None


def with_related(db: Database, plan: ErasurePlan, handles: Sequence[str]) -> ErasurePlan:
    """The plan with these rows as well. A summary that the others take along is made again, so it is named last."""
    for are_summaries in (False, True):
        offered = {row.handle for row in plan.related}
        if left := [each for each in handles if each.startswith("y") == are_summaries and each in offered]:
            more = selection.select_by_handle(db, plan.walk.request.owner, left)
            plan = planned(db, plan.walk.request.with_(more), plan.keywords)
    return plan


def _keywords(db: Database, request: ErasureRequest) -> Keywords:
    """The words of what is named; none for a session or a file, much of which other rows say by chance."""
    if request.topic:
        return occurrences.choose_keywords(db, [request.topic])
    if "session" in request.rows or sum(map(len, request.rows.values())) > _MOST_NAMED:
        return NO_KEYWORDS
    cut = {"message": tables.cut_messages(db, request)}
    texts = selection.texts(db, Walk(request, dict(request.rows), dict[str, dict[int, Any]](cut)))
    # The words around what became a fact are another fact's.
    quotes = {*lineage.texts(db, ["select quote from fact where id {ids}"], request.rows.get("fact", ()))}
    personal = [each for each in texts.personal if each not in quotes or each in texts.statements]
    return occurrences.choose_keywords(db, personal or texts.other)


def erase(db: Database, plan: ErasurePlan, time: clock.Clock) -> None:
    """Delete all that was planned, or nothing. Raises UsageError when it has changed since it was planned."""
    version, copies = plan.version, plan.verbatim_copies
    if db.change_counter() != version:  # outside of the transaction: this may take seconds
        version, copies = db.change_counter(), occurrences.find_copies(db, plan.walk, plan.keywords)[0]
    with db.write():
        walk = selection.walk(db, plan.walk.request)
        if walk != plan.walk:
            raise UsageError("something was added to it meanwhile: nothing was erased; look at it again")
        _refuse_unfinished(db, walk)
        if db.change_counter() != version:
            copies = occurrences.find_copies(db, walk, plan.keywords)[0]
        for copy in COPIES:
            copy.erase(db, copies.rows[copy.name])
        for table in TABLES.values():
            texts = table.texts(db, table.remembered, walk.losing_words(table.name))
            tombstones.add(db, texts, time(), walk.request.owner, repeated=not walk.request.elsewhere)
        for owner in reversed(OWNERS):  # referring rows first; rows leave the index before their text goes
            owner.erase(db, walk, time)
        index.drop_unused(db)
        _rebuild(db, walk, time)
        tombstones.count_erasure(db)
        jobs.add(db, tombstones.JOB, tombstones.JOURNAL, time())
        if word_tables.has_page_terms(db, plan.wanted.words):
            jobs.add(db, tombstones.JOB, tombstones.PAGES, time())
        events.append(db, time, "forgotten", next(iter(walk.handles), ""), actor="person")
    index.refresh_all(db)


def is_pending(db: Database) -> bool:
    return jobs.is_pending(db, tombstones.JOB)


def empty_journal(db: Database, time: clock.Clock, patience: float = 2.0) -> bool:
    """Empty the journal, waiting for `patience` seconds; False while another process reads the database."""
    if jobs.is_pending(db, tombstones.JOB, tombstones.PAGES):
        word_tables.rewrite(db)
    if not db.truncate_journal(patience):
        return False
    if is_pending(db):
        jobs.finish_kind(db, tombstones.JOB, time())
        db.truncate_journal(patience)  # of the finished job as well
    return True


def _refuse_unfinished(db: Database, walk: Walk) -> None:
    """A reply that another process still writes cannot be deleted."""
    unfinished = "select session_id from message where finish is null and id {ids}"
    for id in lineage.column(db, unfinished, walk.losing_words("message"))[:1]:
        if sessions.is_open_elsewhere(db, id):
            raise UsageError(f"s{id} is being answered in another terminal: stop it there, or wait until it is done")


def _rebuild(db: Database, walk: Walk, time: clock.Clock) -> None:
    """Delete the jobs about erased rows, and restart those about what loses a part: a running one loses its lease."""
    stay = {ids.handle("session", id): id for id in walk.staying("session")}
    waiting = "select kind, subject from job where state <> 'done' and subject in (select value from json_each(?))"
    restarted = db.rows(waiting, (list(stay),))
    jobs.erase(db, walk["job"])
    for handle, id in stay.items():
        if db.value("select 1 from session where id = ? and closed_at is not null and kind = 'chat'", (id,)):
            restarted.append((summaries.JOB, handle))
    for kind, subject in restarted:
        jobs.add(db, kind, subject, time())
    running = "select id, subject from job where kind = ? and state = 'running'"  # they may have read erased rows
    for id, subject in db.rows(running, (period_summaries.JOB,)):
        jobs.erase(db, [id])
        jobs.add(db, period_summaries.JOB, subject, time())
    for key in walk.rebuilt_periods:
        period_summaries.queue(db, walk.request.owner, periods.parse(key), time())


# What else tells of the rows that are to be erased: replies that cite them, questions of which only the answer goes,
# and rows that share their words. Of a message that says more, only the sentences with these words are offered.
# Whatever would go along with what is offered is listed by name too. None of it is erased unless the person takes it.

_MOST_SENTENCES = 6  # of a message; where more have the words, the whole message is offered
_ALONG = "mnfkt"  # summaries are made again, and a session without messages has no text
_CITED = re.compile(r"\[([^\]\n]{2,80}+)\]")


def _find_related(db: Database, walk: Walk, blanked: Sequence[int], wanted: Keywords) -> list[RelatedRow]:
    """The rows that stay and say the same, those with the most of the words first. `blanked`: messages without text."""
    citing, shared = _citing(db, walk), _sharing(db, walk, blanked, wanted)
    given = {  # replies to messages for which an erased row was recalled, and this row
        ids.handle("message", reply): ids.handle(kind.name, row)
        for kind in kinds.FORGETTABLE
        for reply, row in recall_log.replies_given(db, kind.name, walk.losing_words(kind.name))
    }
    found = list[RelatedRow]()
    for handle in sorted({*shared, *citing}, key=lambda each: (-len(shared.get(each, ())), each[0], int(each[1:]))):
        reason = f"cites {citing[handle]}" if handle in citing else f"was given {given.get(handle, '')}"
        reasons = [reason] if handle in citing or handle in given else []
        sentences = {} if reasons else _sentences(db, handle, shared[handle], wanted)
        for sentence, (line, having) in sentences.items():
            found.append(replace(_described(db, handle, _share(having, wanted)), handle=sentence, text=line))
        if not sentences:
            reasons += [_share(shared[handle], wanted)] if handle in shared else []
            found.append(_described(db, handle, " · ".join(reasons)))
    questions = {each: reply for each, reply in _asking(db, walk, blanked).items() if each not in shared}
    found += [_described(db, each, f"asks for {reply}") for each, reply in questions.items()]
    return [*found, *_going_along(db, walk, [row.handle for row in found])]


def _sentences(
    db: Database, handle: str, words: Collection[str], wanted: Keywords
) -> dict[str, tuple[str, frozenset[str]]]:
    """The sentences of a message of the person that have the words, by handle; none when it says nothing else."""
    said = db.value("select text from message where role = 'user' and id = ?", (int(handle[1:]),)) or ""
    spans, matcher = text.sentence_spans(said) if handle[0] == "m" else [], KeywordMatcher(wanted, db.tokens_of)
    found = {
        f"{handle}.{number}": (text.one_line(said[first:last], 100), having)
        for number, (first, last) in enumerate(spans, 1)
        if (having := occurrences.found_in(matcher, said[first:last]))
    }
    in_sentences = {word for _, having in found.values() for word in having}
    return found if len(found) < min(len(spans), _MOST_SENTENCES) and in_sentences == {*words} else {}


def _going_along(db: Database, walk: Walk, handles: Sequence[str]) -> list[RelatedRow]:
    """The rows that would be erased with these, and are not named yet."""
    named, found = {*walk.handles, *handles}, list[RelatedRow]()
    for handle in handles:
        along = selection.walk(db, selection.select_by_handle(db, walk.request.owner, [handle])).handles
        fresh = [each for each in along if each not in named and each[0] in _ALONG]
        found += [row for each in fresh if (row := _described(db, each, f"goes with {handle}")).text]
        named.update(fresh)
    return found


def choose_related(related: Sequence[RelatedRow], answer: str) -> list[str]:
    """The handles that an answer names: all, none, or numbers or handles. Raises UsageError."""
    words = answer.replace(",", " ").split()
    if words in ([], ["none"], ["no"]):
        return []
    if words == ["all"]:
        return [row.handle for row in related]
    names = {name: row.handle for number, row in enumerate(related, 1) for name in (str(number), row.handle)}
    if unknown := [word for word in words if word not in names]:
        raise UsageError(
            f"{unknown[0]!r} is not one of the rows that say the same: say all, none, or name them; nothing was erased"
        )
    return list(dict.fromkeys(names[word] for word in words))


def _share(words: Collection[str], wanted: Keywords) -> str:
    if len(wanted.words) == 1:
        return f"has the word {wanted.words[0]}"
    shared = ", ".join(each for each in wanted.words if each in words)
    return f"shares {len(words)} of {len(wanted.words)} words: {shared}"


def _sharing(db: Database, walk: Walk, blanked: Sequence[int], wanted: Keywords) -> dict[str, frozenset[str]]:
    """The words that remaining rows of the same owner share, by handle."""
    found: dict[str, frozenset[str]] = {}
    for row in occurrences.rows_with(db, KeywordMatcher(wanted, db.tokens_of), stated=True) if wanted else ():
        going = (*walk.losing_words(row.table), *(blanked if row.table == "message" else ()))
        kind = kinds.BY_LETTER.get(row.handle[:1])
        if row.id in going or kind not in kinds.FORGETTABLE:
            continue
        if db.value(f"select 1 from {kind.name} where id = ? and owner = ?", (row.number, walk.request.owner)):
            found[row.handle] = found.get(row.handle, frozenset()) | row.words
    return found


def _citing(db: Database, walk: Walk) -> dict[str, str]:
    """The remaining replies that cite an erased row, and what they cite."""
    cited = {*walk.handles}
    condition = " or ".join(["instr(text, ?)"] * len(cited))
    if not cited or len(cited) > 50:  # more are a whole session, whose citations nobody looks up
        return {}
    found = {}
    for id, words in db.rows(
        f"select id, text from message where role = 'assistant' and owner = ? and ({condition}) order by id",
        (walk.request.owner, *cited),
    ):
        named = cited & {each.strip() for inner in _CITED.findall(words) for each in inner.split(",")}
        if named and id not in walk["message"]:
            found[ids.handle("message", id)] = ", ".join(sorted(named))
    return found


def _asking(db: Database, walk: Walk, blanked: Sequence[int]) -> dict[str, str]:
    """The remaining messages of the person whose answer is erased, and this answer."""
    answered = """select max(m.id), r.id from message r
                  join message m on m.session_id = r.session_id and m.role = 'user' and m.id < r.id
                  where r.role = 'assistant' and r.id {ids} group by r.id"""
    going = {*blanked, *walk.losing_words("message")}
    staying = {asked: reply for asked, reply in lineage.rows(db, answered, walk["message"]) if asked not in going}
    return {ids.handle("message", asked): ids.handle("message", reply) for asked, reply in sorted(staying.items())}


def _described(db: Database, handle: str, reason: str) -> RelatedRow:
    table = TABLES[kinds.BY_LETTER[handle[0]].name]
    line = "text" if table.name == "message" else table.line
    day = f"datetime({table.day or table.time}, utc_offset || ' minutes')"
    row = db.row(f"select {day}, {line} from {table.name} where id = ?", (int(handle[1:]),))
    shown, *words = row or ("",)
    return RelatedRow(handle, str(shown)[:10], text.one_line(table.format_line(*words), 100), reason)
