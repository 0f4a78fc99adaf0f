"""What else tells of rows that are to be erased: replies that cite them, questions of which only the answer goes, and
rows that share their words.

Of a message that says more, only the sentences with these words are offered. Whatever would go along with what is
offered is listed by name too. None of it is erased unless the person takes it.
"""

import re
from collections.abc import Collection, Sequence
from dataclasses import replace

from agent_cli import kinds, text
from agent_cli.errors import UsageError
from agent_cli.memory import lineage
from agent_cli.memory.forgetting import occurrences, provenance
from agent_cli.memory.forgetting.provenance import TABLES
from agent_cli.memory.language.keywords import Keywords
from agent_cli.memory.lineage import Ids, Walk
from agent_cli.memory.search import recall_log
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

QUESTION = "which of them go too? all, none, or numbers as in 1 3 (Enter: none): "
_MOST_SENTENCES = 6  # of a message; where more have the words, the whole message is offered
_ALONG = "mnfkt"  # summaries are made again, and a session without messages has no text
_CITED = re.compile(r"\[([^\]\n]{2,80}+)\]")


@frozen
class RelatedRow:
    handle: str
    day: str
    text: str
    reason: str

    def described(self) -> dict[str, str]:
        return {"id": self.handle, "day": self.day, "text": self.text, "reason": self.reason}


def find(db: Database, walk: Walk, blanked: Ids, wanted: Keywords) -> list[RelatedRow]:
    """The rows that stay and say the same, those with the most of the words first. `blanked`: messages without text."""
    citing = _citing(db, walk)
    given = _given(db, walk)
    shared = _sharing(db, walk, blanked, wanted)
    found = []
    for handle in sorted({*shared, *citing}, key=lambda each: (-len(shared.get(each, ())), each[0], int(each[1:]))):
        reasons = [f"cites {citing[handle]}"] if handle in citing else []
        if handle in given and handle not in citing:
            reasons.append(f"was given {given[handle]}")
        sentences = {} if reasons else _sentences(db, handle, shared[handle], wanted)
        for sentence, (line, having) in sentences.items():
            found.append(replace(_described(db, handle, _share(having, wanted)), handle=sentence, text=line))
        if words := shared.get(handle):
            reasons.append(_share(words, wanted))
        if not sentences:
            found.append(_described(db, handle, " · ".join(reasons)))
    questions = {each: reply for each, reply in _asking(db, walk, blanked).items() if each not in shared}
    found += [_described(db, each, f"asks for {reply}") for each, reply in questions.items()]
    return [*found, *_going_along(db, walk, [row.handle for row in found])]


def _sentences(
    db: Database, handle: str, words: Collection[str], wanted: Keywords
) -> dict[str, tuple[str, frozenset[str]]]:
    """The sentences of a message of the person that have the words, by handle; none when it says nothing else."""
    said = db.value("select text from message where role = 'user' and id = ?", (int(handle[1:]),)) or ""
    spans, matcher = text.sentence_spans(said) if handle[0] == "m" else [], occurrences.matcher(db, wanted)
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
        along = provenance.walk(db, provenance.select_by_handle(db, walk.request.owner, [handle])).handles
        for each in (each for each in along if each not in named and each[0] in _ALONG):
            row = _described(db, each, f"goes with {handle}")
            found += [row] if row.text else []
            named.add(each)
    return found


def choose(related: Sequence[RelatedRow], answer: str) -> list[str]:
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
    return (
        f"shares {len(words)} of {len(wanted.words)} words: {', '.join(each for each in wanted.words if each in words)}"
    )


def _sharing(db: Database, walk: Walk, blanked: Ids, wanted: Keywords) -> dict[str, frozenset[str]]:
    """The words that remaining rows of the same owner share, by handle."""
    found: dict[str, frozenset[str]] = {}
    if not wanted:
        return found
    for row in occurrences.rows_with(db, occurrences.matcher(db, wanted), stated=True):
        if not row.handle or row.id in (*walk.losing_words(row.table), *(blanked if row.table == "message" else ())):
            continue
        if _forgettable(db, row.handle, walk.request.owner):
            found[row.handle] = found.get(row.handle, frozenset()) | row.words
    return found


def _citing(db: Database, walk: Walk) -> dict[str, str]:
    """The remaining replies that cite an erased row, and what they cite."""
    cited = {*walk.handles}
    found: dict[str, str] = {}
    condition = " or ".join(["instr(text, ?)"] * len(cited))
    if not cited or len(cited) > 50:  # more are a whole session, whose citations nobody looks up
        return found
    for id, words in db.rows(
        f"select id, text from message where role = 'assistant' and owner = ? and ({condition}) order by id",
        (walk.request.owner, *cited),
    ):
        handles = {each.strip() for inner in _CITED.findall(words) for each in inner.split(",")}
        if id not in walk["message"] and (named := cited & handles):
            found[ids.handle("message", id)] = ", ".join(sorted(named))
    return found


def _asking(db: Database, walk: Walk, blanked: Ids) -> dict[str, str]:
    """The remaining messages of the person whose answer is erased, and this answer."""
    answered = """select max(m.id), r.id from message r
                  join message m on m.session_id = r.session_id and m.role = 'user' and m.id < r.id
                  where r.role = 'assistant' and r.id {ids} group by r.id"""
    staying = {asked: reply for asked, reply in lineage.rows(db, answered, walk["message"]) if asked not in blanked}
    return {
        ids.handle("message", asked): ids.handle("message", reply)
        for asked, reply in sorted(staying.items())
        if asked not in walk.losing_words("message")
    }


def _given(db: Database, walk: Walk) -> dict[str, str]:
    """The replies to messages for which an erased row was recalled, and what was recalled."""
    return {
        ids.handle("message", reply): ids.handle(kind.name, row)
        for kind in kinds.FORGETTABLE
        for reply, row in recall_log.replies_given(db, kind.name, walk.losing_words(kind.table))
    }


def _forgettable(db: Database, handle: str, owner: str) -> bool:
    kind = kinds.BY_LETTER[handle[0]]
    return kind in kinds.FORGETTABLE and bool(
        db.value(f"select 1 from {kind.table} where id = ? and owner = ?", (int(handle[1:]), owner))
    )


def _described(db: Database, handle: str, reason: str) -> RelatedRow:
    kind = kinds.BY_LETTER[handle[0]]
    table = TABLES[kind.table]
    line = "text" if kind.table == "message" else table.line
    row = db.row(
        f"select datetime({table.day or table.time}, utc_offset || ' minutes'), {line} from {table.name} where id = ?",
        (int(handle[1:]),),
    )
    day, *words = row or ("",)
    return RelatedRow(handle, str(day)[:10], text.one_line(table.format_line(*words), 100), reason)
