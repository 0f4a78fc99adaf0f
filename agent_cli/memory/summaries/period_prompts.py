"""The prompts for summaries of periods, and the extract used without a model.

Each unit has a prompt of its own: events, people and facts for a day, a story for a week, themes and milestones for
longer periods. What does not fit is left out of the longest sources first.
"""

from collections.abc import Sequence
from itertools import groupby

from agent_cli import text
from agent_cli.memory.conversations import digest
from agent_cli.memory.dates.periods import Period
from agent_cli.memory.summaries.period_sources import Item

SENTENCES = {"day": 6, "week": 6, "month": 8, "quarter": 8, "year": 10}
DETAILS = {"day": 400, "week": 500, "month": 600, "quarter": 700, "year": 800}  # characters
_MAX_SENTENCE = 300  # characters of an extracted sentence

_INSTRUCTIONS = {
    "day": "Say what happened, whom it was about, and what was learned, decided and left open.",
    "week": "Tell it as a short story from its first day to its last: what began, what went on, how it ended.",
    "month": "Say which themes came up again and again, and which milestones were reached. Leave out what passed.",
    "quarter": "Say which themes lasted, which milestones were reached, and what changed from month to month.",
    "year": "Say what the year was about: its lasting themes, its milestones in their order, and what changed.",
}
_QUESTION = """Summarise {what} of a person and their assistant for the assistant's own memory.
{wanted} At most {most} short sentences, in the language of the texts. Keep names, numbers, dates, preferences and
decisions. State only what is said. No heading, no list, no introduction.

<{unit}>
{sources}
</{unit}>"""


def prompt(period: Period, items: Sequence[Item], characters: int) -> str:
    """The prompt for a model, with at most this many characters of sources."""
    what = {"day": f"the day {period.key}", "week": f"the week {period.key}"}.get(period.unit, period.key)
    return _QUESTION.format(
        what=what,
        wanted=_INSTRUCTIONS[period.unit],
        most=SENTENCES[period.unit],
        unit=period.unit,
        sources=digest.escape_end_tag(_format_sources(items, characters), period.unit),
    )


def extract(period: Period, items: Sequence[Item]) -> str:
    """The sentences with the most frequent words: the best of each source, then the next best."""
    lines = [(n, line) for n, item in enumerate(items) for line in _lines(item)]
    pieces = [(n, sentence) for n, line in lines for sentence in text.sentences(line.partition(": ")[2])]
    weighed = list(zip(pieces, digest.sentences("\n".join(line for _, line in lines)), strict=True))
    weighed.sort(key=lambda each: (-each[1].weight, each[1].place))
    seen: dict[int, int] = {}
    ranked = []
    for (n, _), sentence in weighed:
        seen[n] = seen.get(n, 0) + 1
        ranked.append((seen[n], n, sentence))
    ranked.sort(key=lambda each: (each[0], -each[2].weight, each[2].place))
    best = sorted(ranked[: SENTENCES[period.unit]], key=lambda each: each[2].place)
    return " ".join(
        text.one_line(digest.narration([each]) if items[n].spoken else each.words, _MAX_SENTENCE) for _, n, each in best
    )


def _lines(item: Item) -> list[str]:
    """Its text as lines of a conversation."""
    if item.spoken:
        return item.text.splitlines()
    return [f"person: {' '.join(each.split())}" for each in text.sentences(item.text)]


def _format_sources(items: Sequence[Item], characters: int) -> str:
    shares = _shares([len(item.text) for item in items], characters)
    shortened = [(item.title, digest.shorten(item.text, share)) for item, share in zip(items, shares, strict=True)]
    parts = [
        f"## {title}\n" + "\n".join(words for _, words in each) for title, each in groupby(shortened, lambda it: it[0])
    ]
    return "\n\n".join(parts)


def _shares(sizes: Sequence[int], room: int) -> list[int]:
    """How much of each size fits: short ones whole, long ones the same share of the rest."""
    shares = [0] * len(sizes)
    by_size = sorted(range(len(sizes)), key=lambda n: sizes[n])
    for waiting, n in zip(range(len(sizes), 0, -1), by_size, strict=True):
        shares[n] = min(sizes[n], room // waiting)
        room -= shares[n]
    return shares
