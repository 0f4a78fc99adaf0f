"""What is remembered, as pages for a person: lists, hits, reasons, a row in its place, a proposal for review."""

import re
import textwrap
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any

from agent_cli import clock, kinds
from agent_cli.errors import UsageError
from agent_cli.memory.conversations import log, sessions
from agent_cli.memory.dates import moments
from agent_cli.memory.facts import facts
from agent_cli.memory.language import terms
from agent_cli.memory.planner import notes, tasks
from agent_cli.memory.review.review import ENDS, EVERYWHERE, LATER, STAYS, Proposal
from agent_cli.memory.search import recall_log
from agent_cli.memory.search.recall import Hit
from agent_cli.render import layout
from agent_cli.render.layout import cell_width, split_words, wrapped
from agent_cli.render.reply_lines import marked
from agent_cli.render.styles import BOLD, DIM, DONE, FAILED, NEEDS_YOU, Display, bar, marked_words
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import capitalised, clean, counted, one_line, visible


def _hanging(lead: str, text: str, indent: int, display: Display, *, least: int = 20) -> list[str]:
    """A text behind a lead of so many cells, and its further lines below its first."""
    first, *rest = wrapped(clean(text), max(least, display.width() - 2 - indent))
    return [lead + first, *(" " * indent + line for line in rest)]


def facts_page(rows: Sequence[tuple[facts.Fact, str]], display: Display) -> str:
    """Facts with their words as shown, below whom they are about: the person first, what is about nobody last."""
    groups: dict[str, list[tuple[facts.Fact, str]]] = {"You": []}
    for row in rows:
        groups.setdefault(facts.about(row[0]), []).append(row)
    groups["Other"] = groups.pop("Other", [])
    lines: list[str] = []
    handles = max((len(fact.handle) for fact, _ in rows), default=0)
    for heading, group in groups.items():
        lines += ["", display.styled(clean(heading), BOLD)] if group else []
        for fact, words in group:
            lead = f"  {fact.handle:<{handles}}  {display.styled(fact.day, DIM)}  "
            lines += _hanging(lead, words, 2 + handles + 2 + len(fact.day) + 2, display)
    return "\n".join(lines[1:])


_APART = {"ask": "Asked on their own", "schedule": "Run by a schedule"}


def sessions_page(rows: Sequence[Mapping[str, Any]], now: datetime) -> str:
    """Rows of `sessions.listing`, aligned, below a heading for each kind that is no conversation."""
    width = max((len(last_said(row, now)) for row in rows), default=0)
    lines = [session_line(row, now, width) for row in rows if row["kind"] not in sessions.ONE_SHOTS]
    for kind in sessions.ONE_SHOTS:
        if apart := [session_line(row, now, width) for row in rows if row["kind"] == kind]:
            lines += [*([""] if lines else []), f"{_APART[kind]}:", *apart]
    return "\n".join(lines)


def session_line(row: Mapping[str, Any], now: datetime, width: int = 0) -> str:
    """`s4     today, 14:05   3 turns  Router in the attic`."""
    return f"{row['id']:<6} {last_said(row, now):<{width}}  {counted(row['turns'], 'turn'):>8}  {row['title']}"


def last_said(row: Mapping[str, Any], now: datetime) -> str:
    """When something was last said: `today, 14:05`, `Fri 20 Nov, 15:00`."""
    return _moment(clock.local(row["last_at"], clock.offset(now)), now)


def _moment(at: datetime, now: datetime) -> str:
    """A time without seconds, with its year where it is another one."""
    near = {-1: "yesterday", 0: "today", 1: "tomorrow"}.get((at.date() - now.date()).days)
    day = near or f"{at:%a} {at.day} {at:%b}{f' {at.year}' if at.year != now.year else ''}"
    return f"{day}, {at:%H:%M}"


_NARROW = 24  # cells beside the times below which a task stands below its time


def tasks_page(listed: Sequence[tasks.Task], now: datetime, display: Display) -> str:
    """The tasks in aligned lines, those that are overdue before the others."""

    def is_overdue(task: tasks.Task) -> bool:
        return task.state == "open" and task.comes_up is not None and task.comes_up <= clock.utc(now)

    def time(task: tasks.Task) -> str:
        if task.state == "done" or task.comes_up is None:
            return "done" if task.state == "done" else "any time"
        at = datetime.fromisoformat(task.comes_up).astimezone(moments.get_zone(task.zone, now))
        return f"{'overdue: ' if is_overdue(task) else ''}{_moment(at, now)}"

    handles, width = max(len(task.handle) for task in listed), max(cell_width(time(task)) for task in listed)
    lines: list[str] = []
    for task in sorted(listed, key=lambda task: not is_overdue(task)):
        style = NEEDS_YOU.style if is_overdue(task) else DIM
        lead = f"{task.handle:<{handles}}  {display.styled(time(task), style)}"
        indent = handles + 2 + width + 2
        if display.width() - 2 - indent < _NARROW:
            lines.append(lead)
            lead, indent = " " * 4, 4
        else:
            lead += " " * (width - cell_width(time(task)) + 2)
        repeats = f" ({one_line(task.due_words, 60)})" if task.repeats else ""
        lines += _hanging(lead, f"{task.name}{repeats}", indent, display, least=1)
    return "\n".join(lines)


_STATS_BAR = 16  # cells


def stats_page(rows: Sequence[dict[str, Any]], display: Display) -> str:
    """The rows of records.token_usage, each with a bar: its tokens beside those of the row that took most."""
    columns = [name for name in rows[0] if name != "cost" or any(row["cost"] for row in rows)]
    names = [name.replace("_", " ") for name in columns]
    cells = [[str(row[name]) for name in columns] for row in rows]
    if not display.screen_reader:
        tokens = [row["tokens_in"] + row["tokens_out"] for row in rows]
        names.append(" ")
        for line, count in zip(cells, tokens, strict=True):
            line.append(bar(count / max([1, *tokens]), _STATS_BAR))
    return layout.table(names, cells, display)


_SHOWN = 220  # characters of a hit
_STEM = 5  # first letters of a word that are marked with what follows, and in which two forms of it agree
_SPEAKERS = {"user": "you", "assistant": "agent", "tool": "tool"}


def hits_page(db: Database, owner: str, query: str, hits: Sequence[Hit], display: Display) -> str:
    lines: list[str] = []
    words = [word[: max(_STEM, len(word) - 2)] for word in terms.content_words(query)]
    groups: dict[int | str, list[Hit]] = {}  # by session, or by kind
    for hit in hits:
        groups.setdefault(hit.session if hit.kind == "message" and hit.session else hit.kind, []).append(hit)
    for key, group in groups.items():
        beside = [f"{clock.from_timestamp(hit.at):%Y-%m-%d}" for hit in group]
        if isinstance(key, int):
            session = sessions.get(db, key, owner)
            day = clock.local(session.last_at, session.utc_offset)
            heading = f"{session.handle} “{sessions.name(db, session)}”, {day:%-d %B %Y}"
            roles = log.roles(db, [hit.id for hit in group])
            beside = [_SPEAKERS.get(roles.get(hit.id, "")) or at for hit, at in zip(group, beside, strict=True)]
        else:
            heading = kinds.BY_NAME[key].shown_plural.capitalize()
        lines += ["", *(display.styled(line, BOLD) for line in wrapped(clean(heading), display.width() - 2))]
        handles, width = max(len(hit.handle) for hit in group), max(map(len, beside))
        for hit, said in zip(group, beside, strict=True):
            lead = f"  {hit.handle:<{handles}}  {said:<{width}}  "
            first, *rest = _hanging("", one_line(f"{hit.label} {hit.text}".strip(), _SHOWN), len(lead), display)
            lines.append(display.styled(lead, DIM) + marked_words(first, words, display))
            lines += [marked_words(line, words, display) for line in rest]
    return "\n".join(lines[1:])


_WORDS = 3  # words of the question that are named
_REASONS = 3
_OF_LEG = {
    "speaker": "said by the one you named",
    "entity": "about someone you named",
    "time": "of the time you asked for",
    "moment": "names a time, as you asked",
    "place": "names a place, as you asked",
    "number": "names a number, as you asked",
    "wish": "tells a preference in the matter",
    "preference": "a need or liking of yours, as you ask for advice",
    "called": "you named it",
    "meaning": "near in meaning",
    "similar": "has words like yours",
    "nearby": "your words stand close together in it",
    "session": "its conversation is about this",
    "meaning before": "follows what you ask about",
    "meaning after": "comes before what you ask about",
    "facts": "facts came of it",
    "mine": "in your own words",
    "words": "shares rare words with your message",
    "covered": "holds much of your question",
    "asked reply": "a reply, as you asked",
    "exchange": "the question and its reply hold your words",
}
_AGAINST = {"outdated": "not true today, so it counts half", "empty": "tells little, so it counts less"}


def _why(row: recall_log.RecalledRow, asked: str) -> str:
    """Why a row was recalled, in words; the words of the question that it has too as they were written."""
    held = {word[:_STEM] for word in terms.content_words(row.text)}
    shared = [word for word in dict.fromkeys(terms.content_words(asked)) if word[:_STEM] in held][:_WORDS]
    written = [(each, terms.content_words(each)) for each in re.findall(r"\w+", asked)]
    words = [next((each for each, folded in written if folded == [word]), word) for word in shared]
    parts = [f"you wrote {', '.join(f'“{one_line(word, 30)}”' for word in words)}"] if words else []
    covered = {"words", "covered", "exchange"} if words else set()
    covered |= {"mine"} if row.kind in ("summary", "section", "skill") else set()  # not what the person said
    legs = sorted(((share, name) for name, share in row.legs.items() if share > 0), reverse=True)
    parts += [_OF_LEG[name] for _, name in legs if name in _OF_LEG and name not in covered]
    against = [reason for name, reason in _AGAINST.items() if row.legs.get(name, 0.0) < 0]
    return "; ".join([*parts[:_REASONS], *against]) or "is about this"


_BAR = 8  # cells


def why_page(db: Database, owner: str, message: int, display: Display, *, scores: bool = False) -> str:
    """The lines recalled for a message; `scores`: with what each score is made of."""
    asked = log.context_of(db, owner, message, 0, 0)[0].message.text
    rows = recall_log.recalled_for(db, message)
    best = max((each.score for each in rows), default=0.0) or 1.0
    lines: list[str] = []
    for row in rows:
        text, share, said = clean(row.text).removeprefix("- "), max(0.0, row.score) / best, [_why(row, asked)]
        if scores:
            said.append(f"{row.score:z.2f} = {' + '.join(f'{leg} {part:z.2f}' for leg, part in row.legs.items())}")
        if display.screen_reader:
            lines += [f"{text} ({round(100 * share)} % of the best)", *said]
            continue
        indent = " " * (_BAR + 2)
        lines += _hanging(f"{bar(share, _BAR):<{_BAR}}  ", text, len(indent), display, least=1)
        room = display.width() - len(indent) - 2
        lines += [indent + display.styled(line, DIM) for each in said for line in wrapped(clean(each), room)]
    return "\n".join(lines) or recall_log.nothing_for(db, message)


_AROUND = 2  # messages before and after the one that is shown
_IN_SESSION = 20  # last messages of a session


def row_page(db: Database, owner: str, handle: str, now: datetime, display: Display) -> str:
    """What a handle names. Raises UsageError for one that names nothing, or nothing that is shown here."""
    kind = {"m": "message", "s": "session", "n": "note", "f": "fact", "t": "task"}.get(handle[:1].lower(), "")
    if not kind or not handle[1:].isdigit():
        raise UsageError(f"{handle!r} is not shown here: name a message, note, fact, task or session, as in /show m12")
    number = ids.number(kind, handle)
    match kind:
        case "message" | "session":
            return "\n".join(_messages(db, owner, kind, number, display))
        case "note":
            note = notes.get(db, number, owner)
            head = f"{note.handle}, {clock.local(note.at, note.utc_offset):%-d %B %Y}"
            text = f"{note.title}\n\n{note.text}" if note.title else note.text
        case "fact":
            fact = facts.get(db, number, owner)
            head = f"{fact.handle}, {fact.days(now)}, {fact.state}{', hidden' if fact.hidden_at else ''}"
            text = fact.statement
        case _:
            task = tasks.get(db, number, owner)
            when = "done" if task.state == "done" else tasks.format_due(task, now) or "any time"
            head, text = clean(f"{task.handle}, {when}"), task.text
    return "\n".join([display.styled(head, BOLD), *wrapped(clean(text), display.width() - 2)])


def _messages(db: Database, owner: str, kind: str, number: int, display: Display) -> Iterator[str]:
    """A message among its neighbours, or the last messages of a session, below the name of the session."""
    if kind == "message":
        shown = log.context_of(db, owner, number, _AROUND, _AROUND)
        session = sessions.get(db, log.session_of(db, number) or 0, owner)
    else:
        session = sessions.get(db, number, owner)
        shown = [entry for entry in log.history(db, session.id, _IN_SESSION) if entry.message.text]
    for line in wrapped(clean(session_name(db, session)), display.width() - 2):
        yield display.styled(line, BOLD)
    for entry in shown:
        day = clock.local(entry.at, entry.utc_offset)
        head = f"{entry.handle} {_SPEAKERS.get(entry.message.role, entry.message.role)}, {day:%-d %B %Y, %H:%M}"
        yield display.styled(head, BOLD if kind == "message" and entry.id == number else DIM)
        yield from (f"  {line}" for line in wrapped(marked(entry.message.text.strip()), display.width() - 4))


def session_name(db: Database, session: sessions.Session) -> str:
    """`s4 “Router in the attic”`."""
    return f"{session.handle} “{sessions.name(db, session)}”"


StyledLine = tuple[str, str]
"""A line and the style of the whole of it."""

_QUOTE = 240  # characters
_PASSAGE = 600
_NEW = {"insert": "new fact", "update": "changes what is known", "delete": "ends what is known"}
_SOURCES = {  # by origin: what stands before a quote, and what a model read besides
    "pasted": ("you pasted", "what was pasted"),
    "piped": ("piped in", "what was piped in"),
    "file": ("from a file", "a file"),
    "tool": ("a tool said", "what a tool said"),
    "import": ("imported", "what was imported"),
    "http": ("over HTTP", "what came over HTTP"),
    "editor": ("from an editor", "what came from an editor"),
    "mcp": ("another program said", "what another program said"),
    "schedule": ("", "what a schedule said"),
}
_SPOKEN_SIGNS = {"+": "New line", "-": "Taken out", " ": "As it was", "@": "Here"}
_STYLES = {"-": FAILED.style, "~": FAILED.style, "+": DONE.style}  # by the sign before a line

# Number for a screen reader, key, name, whether the name has room in a narrow window, help. The numbers never change:
# people learn them.
CHOICES = (
    (1, "y", "keep", True, "keep it"),
    (10, "r", "replace", True, "keep it, and end what it contradicts"),  # where y does not: after something foreign
    (2, "b", "keep both", True, "keep it, and what it contradicts too"),
    (3, "n", "no", True, "reject it; the same proposal does not come back"),
    (4, "e", "edit", True, "change its words here; what you wrote is shown and waits for y"),
    (5, "E", "editor", False, "change its words in your editor"),
    (6, "s", "later", False, "leave it for later"),
    (7, "o", "more", False, "show how it is filed, and the messages around its source"),
    (8, "u", "undo", False, "take the last decision back"),
    (9, "A", "all", False, "keep this and all that follow, as y does, after a typed yes"),
    (0, "q", "quit", False, "leave; what is decided stays, the rest waits (also Ctrl-C)"),
)
KEYS_BY_NUMBER = {str(number): key for number, key, *_ in CHOICES}  # for a screen reader
_IN_LINE = "yrbnesouq"


def proposal_lines(
    proposal: Proposal, place: tuple[int, int], now: datetime, width: int | None, *, more: bool = False
) -> list[StyledLine]:
    """A proposal in lines of at most `width` cells (None: unlimited), without its keys; `more`: how it is filed too."""

    def drawn(texts: Iterable[str], style: str, first: str = "    ") -> list[StyledLine]:
        return [(line, style) for words in texts for line in indented(words, width, first, "    ")]

    left = f"{NEEDS_YOU.sign} {proposal.kind.capitalize()} {place[0]} of {place[1]} · {proposal.handle}"
    right = origin(proposal, now)
    room = (width or 0) - cell_width(left) - cell_width(right)
    head = [left + " " * room + right] if room >= 2 else [left, *indented(right, width, "    ")]
    return [
        *((line, "") for line in ([f"{left} · {right}"] if width is None else head)),
        *drawn(tainted(proposal), NEEDS_YOU.style, "  ! "),
        *diff_lines(proposal, width),
        *drawn(_source(proposal, more=more), DIM),
        *drawn(_consequences(proposal, "y", "b"), "", "  ~ "),
    ]


def diff_lines(proposal: Proposal, width: int | None) -> list[StyledLine]:
    """What would be removed, in the colour of a failure, and what would be added, in that of what is done."""
    heading = [(line, BOLD) for line in indented(proposal.heading, width, "    ")] if proposal.body else []
    pairs = [(each[0], each[2:].expandtabs(4)) for each in proposal.body]
    if not pairs:
        known = [(each.outcome, f"{each.statement} (since {each.day}, {each.handle})") for each in proposal.known]
        pairs = [("=" if outcome == LATER else "-", words) for outcome, words in known]
        pairs.append(("~" if proposal.operation == "delete" else "+", f"{proposal.statement}{_dates(proposal)}"))
    rest = "      " if proposal.body else "    "
    return heading + [
        (line, _STYLES.get(sign, "")) for sign, words in pairs for line in indented(words, width, f"  {sign} ", rest)
    ]


def spoken_lines(proposal: Proposal, place: tuple[int, int], now: datetime, *, more: bool = False) -> list[str]:
    lines = [f"{proposal.kind.capitalize()} {place[0]} of {place[1]}, {proposal.handle}, {origin(proposal, now)}."]
    lines += map(_sentence, tainted(proposal))
    lines += [f"Known since {each.day}, {each.handle}: {each.statement}" for each in proposal.known]
    if proposal.body:
        lines.append(f"Proposed: {proposal.heading}")
        lines += [f"{_SPOKEN_SIGNS[each[0]]}: {each[2:]}" for each in proposal.body]
    else:
        what = "The reason" if proposal.operation == "delete" else "Proposed"
        lines.append(f"{what}: {proposal.statement}{_dates(proposal)}")
    said = [*_source(proposal, more=more), *_consequences(proposal, "choice 1", "choice 2")]
    return lines + [_sentence(words) for words in said]


def _dates(proposal: Proposal) -> str:
    """From when until when it is true; where that is not known and it contradicts something, when it was said."""
    dates = [f"{'ended' if proposal.operation == 'delete' else 'since'} {proposal.since}"] if proposal.since else []
    if proposal.known and not proposal.since:
        dates.append(f"said {clock.format_day(proposal.at, proposal.utc_offset)}")
    dates += [f"until {proposal.until}"] if proposal.until else []
    return f" ({', '.join(dates)})" if dates else ""


def origin(proposal: Proposal, now: datetime) -> str:
    """`from s4 “router setup”, 2 days ago`."""
    age = clock.ago(proposal.at, now)
    return f"from {proposal.session} “{one_line(proposal.title, 40)}”, {age}" if proposal.session else age


def tainted(proposal: Proposal) -> list[str]:
    """That something of another author was read in the turn that proposed it, where that is so."""
    return [f"proposed after reading {proposal.read}"] if proposal.read else []


def _source(proposal: Proposal, *, more: bool) -> list[str]:
    """What must be known before a yes, besides the words, and where they come from; `more`: how a fact is filed too."""
    marks = [proposal.reach] if proposal.body or proposal.reach != EVERYWHERE else []
    marks += ["inferred, not said in these words"] if proposal.inferred else []
    marks += ["filed in other words than these"] if proposal.filed else []
    marks += ["in your words now"] if proposal.edited else []
    lines = [" · ".join(marks)] if marks else []
    lines += ["(hidden characters were removed)"] if proposal.hidden else []
    where = f" (m{proposal.message})" if proposal.message else ""
    said = _SOURCES.get(proposal.trust, ("",))[0] or _SOURCES.get(proposal.origin, ("",))[0]
    if proposal.origin == "model" and proposal.body:  # a skill that a model wrote
        author = f"a model wrote it after {proposal.session}" if proposal.session else "a model wrote it"
        source = "" if proposal.read else _SOURCES.get(proposal.trust, ("", ""))[1]
        lines.append(f"{author}, where it also read {source}" if source else author)
    elif proposal.quote:
        said = said or ("read from" if proposal.inferred else "you said")
        lines.append(f"{said}: “{one_line(proposal.quote, _QUOTE)}”{where}")
    elif said or where:
        lines.append(f"{said or 'from a message'}{where}")
    if more and not proposal.body:
        filed = [f"filed as {proposal.filed}"] if proposal.filed else []
        lines.append(" · ".join([_NEW[proposal.operation], proposal.reach, *filed]))
    return lines


def _consequences(proposal: Proposal, yes: str, both: str) -> list[str]:
    """What the choices do to known facts where the lines and the names of the keys do not say it."""
    lines = []
    ends, stays, later = (handles(proposal, fate) for fate in (ENDS, STAYS, LATER))
    if ends and stays:
        lines.append(f"{both} keeps {stays}; {ends} ends either way")
    if later:
        lines.append(f"{yes} keeps it as what was true before {later}")
    if proposal.more:
        lines.append(f"{proposal.more} more facts differ from it by a number or a “not”, and stay")
    return lines


def handles(proposal: Proposal, *fates: str) -> str:
    """The handles of the known facts of which this becomes; without one, of those that a yes ends."""
    return ", ".join(each.handle for each in proposal.known if each.outcome in (fates or (ENDS, STAYS)))


def key_lines(offered: Iterable[str], proposal: Proposal, width: int) -> list[str]:
    """The offered keys, mostly on one line: in a narrow window without the names of those that decide nothing."""
    yes = "end it" if proposal.operation == "delete" else "replace" if handles(proposal) else "keep"
    shown = [each for each in CHOICES if each[1] in _IN_LINE and each[1] in offered]
    keys = [(key, yes if key == "y" else name, short) for _, key, name, short, _ in shown]
    whole = "  ".join(["", *(f"{key} {name}" for key, name, _ in keys), "? help"])
    if cell_width(whole) <= width:
        return [whole]
    narrow = [f"{key} {name}" for key, name, short in keys if short]
    rest = " ".join([*(key for key, _, short in keys if not short), "?"])
    return textwrap.wrap("  ".join([*narrow, rest]), width, initial_indent="  ", subsequent_indent="  ")


def explained(offered: Iterable[str], proposal: Proposal) -> list[tuple[int, str, str]]:
    ends = handles(proposal)
    known = {"b": f"keep it, and {handles(proposal, STAYS)} too"}
    known |= {"y": f"keep it, and end {ends}"} if ends else {}
    return [(number, key, known.get(key, words)) for number, key, _, _, words in CHOICES if key in offered]


def passage_lines(messages: Sequence[tuple[log.Entry, bool]], quote: str, width: int) -> list[str]:
    """The messages around the source of a proposal; the source is marked, and shown around its quote."""
    lines = []
    for entry, is_source in messages:
        words = one_line(visible(entry.message.text), _PASSAGE // 2)
        if is_source:
            flat = " ".join(visible(entry.message.text).split())
            at = max(0, flat.find(quote[:60]) - _PASSAGE // 3)
            words = f"{'…' if at else ''}{flat[at : at + _PASSAGE]}{'…' if at + _PASSAGE < len(flat) else ''}"
        speaker = {"user": "you"}.get(entry.message.role, entry.message.role)
        lines += indented(f"{entry.handle} {speaker}: {words}", width, "  > " if is_source else "    ", "    ")
    return lines


def _sentence(words: str) -> str:
    return f"{capitalised(words)}.".replace(" · ", ", ")


def indented(words: str, width: int | None, first: str, rest: str = "") -> list[str]:
    """Text in lines of `width` cells, indented by `first` and `rest`; a word longer than a line is broken."""
    if width is None:
        return [first + words]
    return layout.in_lines(split_words(words), width, first, len(rest or first), breaks=True)
