"""The text of the review: plain lines for a terminal of any width, whole sentences for a screen reader.

Everything that a yes keeps is shown in full; a quote and a passage, which only give the source, are shortened.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime

from agent_cli.memory.review import proposals
from agent_cli.memory.review.proposals import ENDS, LATER, STAYS, Proposal
from agent_cli.memory.review.review import PassageMessage
from agent_cli.render.styles import DIM, DONE, FAILED, NEEDS_YOU
from agent_cli.text import one_line, visible

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

# Number for a screen reader, key, short name, help. The numbers never change: people learn them.
CHOICES = (
    (1, "y", "keep", "keep it"),
    (2, "r", "replace", "keep it, and end what it contradicts"),
    (3, "n", "no", "reject it; the same proposal does not come back"),
    (4, "e", "edit", "change its words here; what you wrote is shown and waits for y"),
    (5, "E", "editor", "change its words in your editor"),
    (6, "s", "later", "leave it for later"),
    (7, "o", "source", "show its source, with the messages around it"),
    (8, "u", "undo", "take the last decision back"),
    (9, "A", "all", "keep this and all that follow, after a typed yes"),
    (0, "q", "quit", "leave; what is decided stays, the rest waits (also Ctrl-C)"),
)
_IN_LINE = "yrneosuq"


def proposal_lines(proposal: Proposal, place: tuple[int, int], now: datetime, width: int | None) -> list[str]:
    """A proposal in lines of at most `width` cells (None: unlimited), without its keys."""
    head = f"{NEEDS_YOU.sign} Review {place[0]} of {place[1]} · {proposal.handle}"
    return [
        *_at_both_ends(head, origin(proposal, now), width),
        *diff_lines(proposal, width),
        *(line for words in details(proposal) for line in wrap(words, width, "    ")),
        *(
            line
            for words in consequences(proposal, *(("y", "r") if width else ("a yes", "replacing")))
            for line in wrap(words, width, "  ~ ", "    ")
        ),
    ]


def diff_lines(proposal: Proposal, width: int | None) -> list[str]:
    """What would be removed and what would be added."""
    old = [
        line
        for each in proposal.known
        for line in wrap(f"{each.statement} (since {each.day}, {each.handle})", width, "  - ", "    ")
    ]
    if proposal.body:
        return [
            *wrap(proposal.heading, width, "    "),
            *(
                line
                for each in proposal.body
                for line in wrap(each[2:].expandtabs(4), width, f"  {each[0]} ", "      ")
            ),
        ]
    sign = "  ~ " if proposal.operation == "delete" else "  + "
    return [*old, *wrap(proposal.statement, width, sign, "    ")]


def line_styles(proposal: Proposal, width: int) -> dict[str, str]:
    """The styles of the lines of a proposal: what would go in the colour of a failure, what would come as done."""
    found, style = {}, ""
    rest = "      " if proposal.body else "    "  # before the rest of a wrapped line
    for line in diff_lines(proposal, width):
        style = style if line.startswith(rest) else _STYLES.get(line[:4].strip(), "")
        found[line] = style
    dimmed = [line for words in details(proposal) for line in wrap(words, width, "    ")]
    return {**dict.fromkeys(dimmed, DIM), **found}


def origin(proposal: Proposal, now: datetime) -> str:
    """`from s4 “router setup”, 2 days ago`."""
    age = proposals.describe_age(proposal.at, now)
    return f"from {proposal.session} “{one_line(proposal.title, 40)}”, {age}" if proposal.session else age


def details(proposal: Proposal) -> list[str]:
    """What a proposal changes, its scope and its source."""
    marks = [proposal.reach] if proposal.body else [_NEW[proposal.operation], proposal.reach]
    marks += [f"since {proposal.since}"] if proposal.since else []
    marks += [f"until {proposal.until}"] if proposal.until else []
    marks += ["inferred, not said in these words"] if proposal.inferred else []
    marks += ["in your words now"] if proposal.edited else []
    lines = [f"proposed after reading {proposal.read}"] if proposal.read else []
    lines.append(" · ".join(marks))
    if proposal.hidden:
        lines.append("(hidden characters were removed)")
    if proposal.filed:
        lines.append(f"filed as {proposal.filed}")
    if proposal.origin == "model" and proposal.body:
        return [*lines, _author(proposal)]
    where = f" (m{proposal.message})" if proposal.message else ""
    said = _SOURCES.get(proposal.trust) or _SOURCES.get(proposal.origin)
    if proposal.quote:
        said = said or ("read from" if proposal.inferred else "you said")
        lines.append(f"{said}: “{one_line(proposal.quote, _QUOTE)}”{where}")
    elif said or where:
        lines.append(f"{said or 'from a message'}{where}")
    return lines


def _author(proposal: Proposal) -> str:
    """The author of a skill that a model wrote, and its source."""
    author = f"a model wrote it after {proposal.session}" if proposal.session else "a model wrote it"
    source = _ALSO_READ.get(proposal.trust)
    return f"{author}, where it also read {source}" if source else author


def consequences(proposal: Proposal, yes: str, instead: str) -> list[str]:
    """What keeping the proposal does to known facts; `yes` and `instead` name the two choices."""
    lines = []
    if ends := _handles(proposal, ENDS):
        lines.append(f"{yes} ends {ends}")
    if later := _handles(proposal, LATER):
        lines.append(f"{yes} keeps it as what was true before {later}")
    if stays := _handles(proposal, STAYS):
        both = "both" if len(proposal.known) == 1 else "it"
        lines.append(f"it contradicts {stays}: {yes} keeps {both}, {instead} ends {stays}")
    if proposal.more:
        lines.append(f"{proposal.more} more facts differ from it by a number or a “not”, and stay")
    return lines


def key_lines(offered: Iterable[str], known: str, width: int) -> list[str]:
    """The offered keys, on as few lines as possible; `known`: handles that the proposal contradicts."""
    names = {key: f"{key} {name}" for _, key, name, _ in CHOICES if key in _IN_LINE and key in offered}
    if "r" in names:
        names["r"] += f" {known}"
    lines, line = [], " "
    for name in [*names.values(), "? help"]:
        if _cells(line) + 2 + len(name) > width and line.strip():
            lines.append(line)
            line = " "
        line += (" " if line == " " else "  ") + name
    return [*lines, line]


def help_lines(offered: Iterable[str]) -> list[str]:
    """What each offered key does."""
    return [f"  {key}  {explanation}" for _, key, _, explanation in CHOICES if key in offered]


def spoken_lines(proposal: Proposal, place: tuple[int, int], now: datetime) -> list[str]:
    """A proposal in sentences, for a screen reader."""
    lines = [f"Review {place[0]} of {place[1]}, {proposal.handle}, {origin(proposal, now)}."]
    lines += [f"Known since {each.day}, {each.handle}: {each.statement}" for each in proposal.known]
    if proposal.body:
        lines.append(f"Proposed: {proposal.heading}")
        lines += [f"{_SPOKEN_SIGNS[each[0]]}: {each[2:]}" for each in proposal.body]
    else:
        lines.append(f"{'The reason' if proposal.operation == 'delete' else 'Proposed'}: {proposal.statement}")
    lines += [f"{words[0].upper()}{words[1:]}.".replace(" · ", ", ") for words in details(proposal)]
    return lines + [f"{words[0].upper()}{words[1:]}." for words in consequences(proposal, "choice 1", "choice 2")]


def numbered_choices(offered: Iterable[str], known: str) -> list[str]:
    """The offered choices with their numbers, for a screen reader."""
    names = {key: (number, explanation.partition(";")[0]) for number, key, _, explanation in CHOICES if key in offered}
    if "r" in names:
        names["r"] = (names["r"][0], f"keep it, and end {known}")
    return [f"{number} {explanation}" for number, explanation in names.values()]


def key_of_number(typed: str) -> str:
    """The key of a typed number; empty when there is none."""
    return next((key for number, key, _, _ in CHOICES if typed.strip() == str(number)), "")


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
    """The handles of the known facts that a proposal contradicts or replaces."""
    return ", ".join(each.handle for each in proposal.known)


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
