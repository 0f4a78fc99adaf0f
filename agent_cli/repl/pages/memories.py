"""What memory finds, and what a handle names: the hits of a search, why something was recalled, and a row in its place.

Hits stand by conversation, with who said them; then the rest by kind, the words of the question marked. Of what was
added to a question, a bar shows how strongly each line speaks for itself, and the reason stands in words. A message
is shown between its neighbours.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from datetime import datetime
from itertools import groupby

from agent_cli import clock, kinds
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.conversations.sessions import Session
from agent_cli.memory.facts import facts
from agent_cli.memory.language import terms
from agent_cli.memory.planner import notes, tasks
from agent_cli.memory.search import recall_log
from agent_cli.memory.search.recall import Hit
from agent_cli.memory.search.recall_log import RecalledRow
from agent_cli.render.layout import wrap
from agent_cli.render.reply_lines import marked
from agent_cli.render.styles import BOLD, DIM, Display, bar, marked_words
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import clean, one_line
from agent_cli.values import frozen

_SHOWN = 220  # characters of a hit
_STEM = 5  # first letters of a word that are marked with what follows
_SPEAKERS = {"user": "you", "assistant": "agent", "tool": "tool"}


def hits_page(db: Database, owner: str, query: str, hits: Sequence[Hit], display: Display) -> str:
    """The hits, the group with the best one first."""
    lines: list[str] = []
    words = [word[: max(_STEM, len(word) - 2)] for word in terms.content_words(query)]
    for heading, group in _groups(db, owner, hits):
        lines += ["", *(display.styled(line, BOLD) for line in wrap(clean(heading), display.width() - 2).split("\n"))]
        beside = [speaker or f"{clock.from_timestamp(hit.at):%Y-%m-%d}" for hit, speaker in group]
        handles, width = max(len(hit.handle) for hit, _ in group), max(map(len, beside))
        for (hit, _), said in zip(group, beside, strict=True):
            lines += _hit_lines(hit, f"  {hit.handle:<{handles}}  {said:<{width}}  ", words, display)
    return "\n".join(lines[1:])


def _groups(db: Database, owner: str, hits: Sequence[Hit]) -> Iterator[tuple[str, list[tuple[Hit, str]]]]:
    """(heading, (hit, who said it)) for each conversation and for each other kind."""
    place = {_group(hit): n for n, hit in reversed([*enumerate(hits)])}
    for key, found in groupby(sorted(hits, key=lambda hit: place[_group(hit)]), _group):
        group = list(found)
        if isinstance(key, int):
            session = sessions.get(db, key, owner)
            day = clock.local(session.last_at, session.utc_offset)
            roles = log.roles(db, [hit.id for hit in group])
            shown = [(hit, _SPEAKERS.get(roles.get(hit.id, ""), "")) for hit in group]
            yield f"{session.handle} “{sessions.name(db, session)}”, {day:%-d %B %Y}", shown
        else:
            yield kinds.BY_NAME[key].shown_plural.capitalize(), [(hit, "") for hit in group]


def _group(hit: Hit) -> int | str:
    return hit.session if hit.kind == "message" and hit.session else hit.kind


def _hit_lines(hit: Hit, lead: str, words: Iterable[str], display: Display) -> Iterator[str]:
    text = clean(one_line(f"{hit.label} {hit.text}".strip(), _SHOWN))
    first, *rest = wrap(text, max(20, display.width() - len(lead) - 2)).split("\n")
    yield display.styled(lead, DIM) + marked_words(first, words, display)
    yield from (" " * len(lead) + marked_words(line, words, display) for line in rest)


_WORDS = 3  # words of the question that are named
_REASONS = 3
_REASON_STEM = 5  # first letters in which two forms of a word agree
_OF_LEG = {
    "speaker": "said by the one you named",
    "entity": "about someone you named",
    "time": "of the time you asked for",
    "moment": "names a time, as you asked",
    "place": "names a place, as you asked",
    "number": "names a number, as you asked",
    "title": "names a title, as you asked",
    "wish": "tells a preference in the matter",
    "meaning": "near in meaning",
    "similar": "has words like yours",
    "nearby": "your words stand close together in it",
    "session": "its conversation is about this",
    "meaning before": "follows what you ask about",
    "meaning after": "comes before what you ask about",
    "facts": "facts came of it",
    "mine": "in your own words",
    "words": "shares rare words with it",
    "covered": "holds much of your question",
    "asked reply": "a reply, as you asked",
    "exchange": "the question and its reply hold your words",
}
_AGAINST = {"outdated": "not true today, so it counts half", "empty": "tells little, so it counts less"}


@frozen
class Reason:
    row: RecalledRow
    share: float  # of the best score
    text: str


def of_message(db: Database, owner: str, message: int) -> list[Reason]:
    """Why each row was recalled for a message, the best first."""
    asked = log.context_of(db, owner, message, 0, 0)[0].message.text
    rows = recall_log.recalled_for(db, message)
    best = max((each.score for each in rows), default=0.0) or 1.0
    return [Reason(each, max(0.0, each.score) / best, _told(each, asked)) for each in rows]


def score_line(row: RecalledRow) -> str:
    """The score and what it is made of, in numbers."""
    return f"{row.score:z.2f} = {' + '.join(f'{name} {share:z.2f}' for name, share in row.legs.items())}"


def shared_words(asked: str, text: str) -> list[str]:
    """The words of the question that the text has too, in some form."""
    held = {word[:_REASON_STEM] for word in terms.content_words(text)}
    return [word for word in dict.fromkeys(terms.content_words(asked)) if word[:_REASON_STEM] in held]


def _told(row: RecalledRow, asked: str) -> str:
    words = [_as_written(word, asked) for word in shared_words(asked, row.text)[:_WORDS]]
    parts = [f"you wrote {', '.join(f'“{one_line(word, 30)}”' for word in words)}"] if words else []
    covered = {"words", "covered", "exchange"} if words else set()
    covered |= {"mine"} if row.kind == "summary" else set()  # the program wrote it
    legs = sorted(((share, name) for name, share in row.legs.items() if share > 0), reverse=True)
    parts += [_OF_LEG[name] for _, name in legs if name in _OF_LEG and name not in covered]
    against = [reason for name, reason in _AGAINST.items() if row.legs.get(name, 0.0) < 0]
    return "; ".join([*parts[:_REASONS], *against]) or f"named by {ids.handle(row.kind, row.row)}"


def _as_written(word: str, text: str) -> str:
    """A folded word as it stands in the text."""
    return next((each for each in re.findall(r"\w+", text) if terms.content_words(each) == [word]), word)


_BAR = 8  # cells


def why_page(db: Database, owner: str, message: int, display: Display, *, scores: bool = False) -> str:
    """The lines recalled for a message; `scores`: with what each score is made of."""
    found = of_message(db, owner, message)
    if not found:
        return recall_log.NOTHING
    return "\n".join(line for each in found for line in _lines(each, display, scores))


def _lines(reason: Reason, display: Display, scores: bool) -> Iterator[str]:
    text = clean(reason.row.text).removeprefix("- ")
    said = [reason.text, *([score_line(reason.row)] if scores else [])]
    if display.screen_reader:
        yield from (f"{text} ({round(100 * reason.share)} % of the best)", *said)
        return
    indent = " " * (_BAR + 2)
    room = display.width() - len(indent) - 2
    first, *rest = [line for part in text.split("\n") for line in wrap(part, room).split("\n")]
    yield f"{bar(reason.share, _BAR):<{_BAR}}  {first}"
    yield from (indent + line for line in rest)
    for each in said:
        yield from (indent + display.styled(line, DIM) for line in wrap(clean(each), room).split("\n"))


_AROUND = 2  # messages before and after the one that is shown
_IN_SESSION = 20  # last messages of a session


def row_page(db: Database, owner: str, handle: str, now: datetime, display: Display) -> str:
    """Raises UsageError for a handle that names nothing, or nothing that is shown here."""
    shown = _PAGES.get(handle[:1].lower())
    if shown is None or not handle[1:].isdigit():
        raise UsageError(f"{handle!r} is not shown here: name a message, note, fact, task or session, as in /show m12")
    return "\n".join(shown(db, owner, handle.lower(), now, display))


def _message(db: Database, owner: str, handle: str, now: datetime, display: Display) -> Iterator[str]:
    found = ids.number("message", handle)
    around = log.context_of(db, owner, found, _AROUND, _AROUND)
    session = sessions.get(db, log.session_of(db, found) or 0, owner)
    yield from _title(db, session, display)
    for entry in around:
        yield from _entry_lines(entry, display, chosen=entry.id == found)


def _session(db: Database, owner: str, handle: str, now: datetime, display: Display) -> Iterator[str]:
    session = sessions.get(db, ids.number("session", handle), owner)
    yield from _title(db, session, display)
    for entry in log.history(db, session.id, _IN_SESSION):
        if entry.message.text:
            yield from _entry_lines(entry, display)


def _title(db: Database, session: Session, display: Display) -> Iterator[str]:
    for line in wrap(clean(f"{session.handle} “{sessions.name(db, session)}”"), display.width() - 2).split("\n"):
        yield display.styled(line, BOLD)


def _entry_lines(entry: log.Entry, display: Display, *, chosen: bool = False) -> Iterator[str]:
    day = clock.local(entry.at, entry.utc_offset)
    speaker = _SPEAKERS.get(entry.message.role, entry.message.role)
    head = f"{entry.handle} {speaker}, {day:%-d %B %Y, %H:%M}"
    yield display.styled(head, BOLD if chosen else DIM)
    for line in wrap(marked(entry.message.text.strip()), display.width() - 4).split("\n"):
        yield f"  {line}"


def _note(db: Database, owner: str, handle: str, now: datetime, display: Display) -> Iterator[str]:
    note = notes.get(db, ids.number("note", handle), owner)
    yield display.styled(f"{note.handle}, {clock.local(note.at, note.utc_offset):%-d %B %Y}", BOLD)
    yield from _wrapped(f"{note.title}\n\n{note.text}" if note.title else note.text, display)


def _fact(db: Database, owner: str, handle: str, now: datetime, display: Display) -> Iterator[str]:
    fact = facts.get(db, ids.number("fact", handle), owner)
    yield display.styled(f"{fact.handle}, since {fact.day}, {fact.state}{', hidden' if fact.hidden_at else ''}", BOLD)
    yield from _wrapped(fact.statement, display)


def _task(db: Database, owner: str, handle: str, now: datetime, display: Display) -> Iterator[str]:
    task = tasks.get(db, ids.number("task", handle), owner)
    when = "done" if task.state == "done" else tasks.format_due(task, now) or "any time"
    yield display.styled(clean(f"{task.handle}, {when}"), BOLD)
    yield from _wrapped(task.text, display)


def _wrapped(text: str, display: Display) -> list[str]:
    return wrap(clean(text), display.width() - 2).split("\n")


_PAGES: dict[str, Callable[[Database, str, str, datetime, Display], Iterator[str]]] = {
    "m": _message,
    "s": _session,
    "n": _note,
    "f": _fact,
    "t": _task,
}
