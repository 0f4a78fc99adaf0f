"""The hits of a search: what was said by its conversation, with who said it; then the rest by kind. The words of the
question are marked."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import groupby

from agent_cli import clock, kinds
from agent_cli.memory.conversations import readings, sessions
from agent_cli.memory.language import terms
from agent_cli.memory.search.recall import Hit
from agent_cli.render.layout import wrap
from agent_cli.render.styles import BOLD, DIM, Display, marked_words
from agent_cli.store.db import Database
from agent_cli.text import clean, one_line

_SHOWN = 220  # characters of a hit
_STEM = 5  # first letters of a word that are marked with what follows
_SPEAKERS = {"user": "you", "assistant": "agent", "tool": "tool"}


def page(db: Database, owner: str, query: str, hits: Sequence[Hit], display: Display) -> str:
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
            roles = readings.roles(db, [hit.id for hit in group])
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
