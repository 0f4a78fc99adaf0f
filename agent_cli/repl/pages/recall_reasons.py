"""Why something was recalled, in words: what the score was made of, told as a person would ask for it."""

import re

from agent_cli.memory.conversations import log
from agent_cli.memory.language import terms
from agent_cli.memory.search import recall_log
from agent_cli.memory.search.recall_log import RecalledRow
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.text import one_line
from agent_cli.values import frozen

_WORDS = 3  # words of the question that are named
_REASONS = 3
_STEM = 5  # first letters in which two forms of a word agree
_OF_LEG = {
    "speaker": "said by the one you named",
    "entity": "about someone you named",
    "time": "of the time you asked for",
    "moment": "names a time, as you asked",
    "place": "names a place, as you asked",
    "number": "names a number, as you asked",
    "wish": "tells a preference in the matter",
    "meaning": "near in meaning",
    "similar": "has words like yours",
    "nearby": "your words stand close together in it",
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
    held = {word[:_STEM] for word in terms.content_words(text)}
    return [word for word in dict.fromkeys(terms.content_words(asked)) if word[:_STEM] in held]


def _told(row: RecalledRow, asked: str) -> str:
    words = [_as_written(word, asked) for word in shared_words(asked, row.text)[:_WORDS]]
    parts = [f"you wrote {', '.join(f'“{one_line(word, 30)}”' for word in words)}"] if words else []
    covered = {"words", "covered", "exchange"} if words else set()
    legs = sorted(((share, name) for name, share in row.legs.items() if share > 0), reverse=True)
    parts += [_OF_LEG[name] for _, name in legs if name in _OF_LEG and name not in covered]
    against = [reason for name, reason in _AGAINST.items() if row.legs.get(name, 0.0) < 0]
    return "; ".join([*parts[:_REASONS], *against]) or f"named by {ids.handle(row.kind, row.row)}"


def _as_written(word: str, text: str) -> str:
    """A folded word as it stands in the text."""
    return next((each for each in re.findall(r"\w+", text) if terms.content_words(each) == [word]), word)
