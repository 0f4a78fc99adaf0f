"""The text of the review: plain lines for a terminal of any width, whole sentences for a screen reader.

Everything that a yes keeps is shown in full; a quote and a passage, which only give the source, are shortened. What is
known stands against what is new, each with its date; how a fact is filed and where it comes from follow on demand.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from agent_cli import clock
from agent_cli.memory.review import review
from agent_cli.memory.review.review import ENDS, EVERYWHERE, LATER, STAYS, PassageMessage, Proposal
from agent_cli.render.styles import BOLD, DIM, DONE, FAILED, NEEDS_YOU
from agent_cli.text import counted, one_line, visible

StyledLine = tuple[str, str]
"""A line and the style of the whole of it."""

_QUOTE = 240  # characters
_PASSAGE = 600
_NEW = {"insert": "new fact", "update": "changes what is known", "delete": "ends what is known"}
_SOURCES = {
    "pasted": "you pasted",
    "piped": "piped in",
    "file": "from a file",
    "tool": "a tool said",
    "import": "imported",
    "http": "over HTTP",
    "mcp": "another program said",
}
_ALSO_READ = {
    "pasted": "what was pasted",
    "piped": "what was piped in",
    "file": "a file",
    "tool": "what a tool said",
    "import": "what was imported",
    "http": "what came over HTTP",
    "mcp": "what another program said",
    "schedule": "what a schedule said",
}
_SPOKEN_SIGNS = {"+": "New line", "-": "Taken out", " ": "As it was", "@": "Here"}
_STYLES = {"-": FAILED.style, "~": FAILED.style, "+": DONE.style}  # by the sign before a line
_SPEAKERS = {"user": "you", "assistant": "assistant"}

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
_IN_LINE = "yrbnesouq"


def heading(kind: str, count: int) -> str:
    """The title of the page of a kind: `3 facts to review`."""
    return f"{counted(count, kind)} to review"


def proposal_lines(
    proposal: Proposal, place: tuple[int, int], now: datetime, width: int | None, *, more: bool = False
) -> list[StyledLine]:
    """A proposal in lines of at most `width` cells (None: unlimited), without its keys; `more`: how it is filed too."""
    head = f"{NEEDS_YOU.sign} {_number(proposal, place)} · {proposal.handle}"
    quotes = [*details(proposal), *([quote] if (quote := quoted(proposal)) else [])]
    return [
        *((line, "") for line in _at_both_ends(head, origin(proposal, now), width)),
        *((line, NEEDS_YOU.style) for line in wrap(tainted(proposal), width, "  ! ", "    ") if tainted(proposal)),
        *diff_lines(proposal, width),
        *((line, DIM) for words in quotes for line in wrap(words, width, "    ")),
        *((line, DIM) for words in filing(proposal) if more for line in wrap(words, width, "    ")),
        *((line, "") for words in consequences(proposal, "y", "b") for line in wrap(words, width, "  ~ ", "    ")),
    ]


def diff_lines(proposal: Proposal, width: int | None) -> list[StyledLine]:
    """What would be removed, in the colour of a failure, and what would be added, in that of what is done."""
    if proposal.body:
        return [
            *((line, BOLD) for line in wrap(proposal.heading, width, "    ")),
            *(
                (line, _STYLES.get(each[0], ""))
                for each in proposal.body
                for line in wrap(each[2:].expandtabs(4), width, f"  {each[0]} ", "      ")
            ),
        ]
    sign = "~" if proposal.operation == "delete" else "+"
    pairs = [
        ("=" if each.outcome == LATER else "-", f"{each.statement} (since {each.day}, {each.handle})")
        for each in proposal.known
    ]
    pairs.append((sign, f"{proposal.statement}{_dates(proposal)}"))
    return [(line, _STYLES.get(sign, "")) for sign, words in pairs for line in wrap(words, width, f"  {sign} ", "    ")]


def _dates(proposal: Proposal) -> str:
    """From when until when it is true; where that is not known and it contradicts something, when it was said."""
    said = clock.format_day(proposal.at, proposal.utc_offset) if proposal.known and not proposal.since else ""
    dates = [f"since {proposal.since}" if proposal.since else f"said {said}" if said else ""]
    dates.append(f"until {proposal.until}" if proposal.until else "")
    stated = ", ".join(filter(None, dates))
    return f" ({stated})" if stated else ""


def _number(proposal: Proposal, place: tuple[int, int]) -> str:
    return f"{proposal.kind.capitalize()} {place[0]} of {place[1]}"


def origin(proposal: Proposal, now: datetime) -> str:
    """`from s4 “router setup”, 2 days ago`."""
    age = review.describe_age(proposal.at, now)
    return f"from {proposal.session} “{one_line(proposal.title, 40)}”, {age}" if proposal.session else age


def tainted(proposal: Proposal) -> str:
    """That something of another author was read in the turn that proposed it; else empty."""
    return f"proposed after reading {proposal.read}" if proposal.read else ""


def details(proposal: Proposal) -> list[str]:
    """What must be known before a yes, besides the words."""
    marks = [proposal.reach] if proposal.body or proposal.reach != EVERYWHERE else []
    marks += ["inferred, not said in these words"] if proposal.inferred else []
    marks += ["filed in other words than these"] if proposal.filed else []
    marks += ["in your words now"] if proposal.edited else []
    lines = [" · ".join(marks)] if marks else []
    if proposal.hidden:
        lines.append("(hidden characters were removed)")
    if proposal.origin == "model" and proposal.body:
        lines.append(_author(proposal))
    return lines


def quoted(proposal: Proposal) -> str:
    """What was said, or where it comes from: `you said: “…” (m14)`."""
    if proposal.origin == "model" and proposal.body:
        return ""
    where = f" (m{proposal.message})" if proposal.message else ""
    said = _SOURCES.get(proposal.trust) or _SOURCES.get(proposal.origin)
    if proposal.quote:
        said = said or ("read from" if proposal.inferred else "you said")
        return f"{said}: “{one_line(proposal.quote, _QUOTE)}”{where}"
    return f"{said or 'from a message'}{where}" if said or where else ""


def filing(proposal: Proposal) -> list[str]:
    """How a fact is filed."""
    if proposal.body:
        return []
    filed = [f"filed as {proposal.filed}"] if proposal.filed else []
    return [" · ".join([_NEW[proposal.operation], proposal.reach, *filed])]


def _author(proposal: Proposal) -> str:
    """The author of a skill that a model wrote, and its source."""
    author = f"a model wrote it after {proposal.session}" if proposal.session else "a model wrote it"
    source = "" if proposal.read else _ALSO_READ.get(proposal.trust)
    return f"{author}, where it also read {source}" if source else author


def consequences(proposal: Proposal, yes: str, both: str) -> list[str]:
    """What the choices do to known facts where the lines and the names of the keys do not say it."""
    lines = []
    ends, stays = _handles(proposal, ENDS), _handles(proposal, STAYS)
    if ends and stays:
        lines.append(f"{both} keeps {stays}; {ends} ends either way")
    if later := _handles(proposal, LATER):
        lines.append(f"{yes} keeps it as what was true before {later}")
    if proposal.more:
        lines.append(f"{proposal.more} more facts differ from it by a number or a “not”, and stay")
    return lines


def names(proposal: Proposal) -> dict[str, str]:
    """The names of keys that depend on the proposal."""
    if proposal.operation == "delete":
        return {"y": "end it"}
    return {"y": "replace"} if any(each.outcome != LATER for each in proposal.known) else {}


def key_lines(offered: Iterable[str], proposal: Proposal, width: int) -> list[str]:
    """The offered keys, mostly on one line: in a narrow window without the names of those that decide nothing."""
    named = names(proposal)
    keys = [
        (key, named.get(key, name), short) for _, key, name, short, _ in CHOICES if key in _IN_LINE and key in offered
    ]
    whole = [*(f"{key} {name}" for key, name, _ in keys), "? help"]
    if _cells("  ".join(["", *whole])) <= width:
        return ["  ".join(["", *whole])]
    narrow = [*(f"{key} {name}" for key, name, short in keys if short)]
    rest = " ".join([*(key for key, _, short in keys if not short), "?"])
    return wrap("  ".join([*narrow, rest]), width, "  ")


def help_lines(offered: Iterable[str], proposal: Proposal) -> list[str]:
    """What each offered key does."""
    return [f"  {key}  {explanation}" for _, key, explanation in _explained(offered, proposal)]


def _explained(offered: Iterable[str], proposal: Proposal) -> list[tuple[int, str, str]]:
    """The number, key and explanation of each offered choice."""
    ends = handles(proposal)
    known = {
        "y": f"keep it, and end {ends}" if ends else "keep it",
        "b": f"keep it, and {_handles(proposal, STAYS)} too",
    }
    return [(number, key, known.get(key, words)) for number, key, _, _, words in CHOICES if key in offered]


def spoken_lines(proposal: Proposal, place: tuple[int, int], now: datetime, *, more: bool = False) -> list[str]:
    """A proposal in sentences, for a screen reader."""
    lines = [f"{_number(proposal, place)}, {proposal.handle}, {origin(proposal, now)}."]
    lines += [f"{_sentence(tainted(proposal))}"] if tainted(proposal) else []
    lines += [f"Known since {each.day}, {each.handle}: {each.statement}" for each in proposal.known]
    if proposal.body:
        lines.append(f"Proposed: {proposal.heading}")
        lines += [f"{_SPOKEN_SIGNS[each[0]]}: {each[2:]}" for each in proposal.body]
    else:
        words = f"{proposal.statement}{_dates(proposal)}"
        lines.append(f"{'The reason' if proposal.operation == 'delete' else 'Proposed'}: {words}")
    said = [*details(proposal), *([quote] if (quote := quoted(proposal)) else []), *(filing(proposal) if more else [])]
    said += consequences(proposal, "choice 1", "choice 2")
    return lines + [_sentence(words) for words in said]


def numbered_choices(offered: Iterable[str], proposal: Proposal) -> list[str]:
    """The offered choices with their numbers, for a screen reader."""
    return [f"{number} {words.partition(';')[0]}" for number, _, words in _explained(offered, proposal)]


def key_of_number(typed: str) -> str:
    """The key of a typed number; empty when there is none."""
    return next((key for number, key, *_ in CHOICES if typed.strip() == str(number)), "")


def passage_lines(messages: Sequence[PassageMessage], quote: str, width: int) -> list[str]:
    """The messages around the source of a proposal; the source is marked, and shown around its quote."""
    lines = []
    for each in messages:
        words = visible(each.text)
        name = f"{each.handle} {_SPEAKERS.get(each.role, each.role)}: "
        cut = _excerpt(words, quote, _PASSAGE) if each.source else one_line(words, _PASSAGE // 2)
        lines += wrap(name + " ".join(cut.split()), width, "  > " if each.source else "    ", "    ")
    return lines


def handles(proposal: Proposal) -> str:
    """The handles of the known facts that a yes ends."""
    return ", ".join(each.handle for each in proposal.known if each.outcome != LATER)


def _sentence(words: str) -> str:
    return f"{words[0].upper()}{words[1:]}.".replace(" · ", ", ")


def wrap(words: str, width: int | None, first: str, rest: str = "") -> list[str]:
    """Text in lines of `width` cells, indented by `first` and `rest`; a word longer than a line is broken."""
    rest = rest or first
    if width is None:
        return [first + words]
    lines, line, empty = [], first, True
    for word in words.split(" "):
        if not empty and (_cells(line) + 1 + _cells(word) <= width or _cells(rest + word) > width > _cells(line) + 8):
            line += " "
        elif not empty:
            lines.append(line)
            line = rest
        while _cells(line + word) > width:
            fits = max(1, _fitting_length(word, width - _cells(line)))
            if fits >= len(word):
                break
            lines.append(line + word[:fits])
            line, word = rest, word[fits:]
        line, empty = line + word, False
    return [*lines, line]


def _handles(proposal: Proposal, fate: str) -> str:
    return ", ".join(each.handle for each in proposal.known if each.outcome == fate)


def _at_both_ends(left: str, right: str, width: int | None) -> list[str]:
    """Two texts at the ends of one line, or on lines of their own."""
    if width is None:
        return [f"{left} · {right}"]
    room = width - _cells(left) - _cells(right)
    return [left + " " * room + right] if room >= 2 else [left, *wrap(right, width, "    ")]


def _excerpt(words: str, quote: str, characters: int) -> str:
    at = max(0, " ".join(words.split()).find(quote[:60]) - characters // 3)
    flat = " ".join(words.split())
    piece = flat[at : at + characters]
    return f"{'…' if at else ''}{piece}{'…' if at + characters < len(flat) else ''}"


def _fitting_length(word: str, cells: int) -> int:
    """How many first characters of a word fit into so many cells."""
    count = 0
    while count < len(word) and _cells(word[: count + 1]) <= cells:
        count += 1
    return count


def _cells(words: str) -> int:
    return _measure()(words)


def _measure() -> Callable[[str], int]:
    from prompt_toolkit.utils import get_cwidth  # takes 100 ms to import, and text for a pipe is not wrapped

    return get_cwidth
