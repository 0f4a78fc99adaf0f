"""The known facts by whom they are about: the person first."""

from collections.abc import Iterable, Sequence
from itertools import groupby

from agent_cli.memory.facts.facts import Fact
from agent_cli.render.layout import wrap
from agent_cli.render.styles import BOLD, DIM, Display
from agent_cli.text import clean

_YOU = "You"
_PERSON = ("", "person")  # subjects of facts about the person


def page(rows: Sequence[tuple[Fact, str]], display: Display) -> str:
    """Facts with their words as shown, under their subjects; in each the order stays."""
    lines: list[str] = []
    handles = max((len(fact.handle) for fact, _ in rows), default=0)
    for subject, group in _by_subject(rows):
        lines += ["", display.styled(clean(subject), BOLD)]
        for fact, words in group:
            indent = 2 + handles + 2 + len(fact.day) + 2
            first, *rest = wrap(clean(words), max(20, display.width() - 2 - indent)).split("\n")
            lines.append(f"  {fact.handle:<{handles}}  {display.styled(fact.day, DIM)}  {first}")
            lines += [" " * indent + line for line in rest]
    return "\n".join(lines[1:])


def _by_subject(rows: Sequence[tuple[Fact, str]]) -> Iterable[tuple[str, list[tuple[Fact, str]]]]:
    """(subject, its facts): the person first, then in the order of their first facts."""
    place: dict[str, int] = {_YOU: -1}
    for n, (fact, _) in enumerate(rows):
        place.setdefault(_subject(fact), n)
    ordered = sorted(rows, key=lambda row: place[_subject(row[0])])
    return [(subject, list(group)) for subject, group in groupby(ordered, lambda row: _subject(row[0]))]


def _subject(fact: Fact) -> str:
    return _YOU if fact.subject in _PERSON else fact.subject
