"""Estimates the tokens of a text, with a factor for each model learned from what its server counted."""

from agent_cli.store import meta
from agent_cli.store.db import Database

_LEAST, _MOST = (
    0.8,
    2.0,
)  # bounds of the factor; below: the server left out cached tokens; above: it counted something else
_WEIGHT = 0.3  # of the newest count
_LEAST_CHANGE = 0.02  # of the factor, to be written


def tokens(words: str) -> int:
    """The estimated tokens of a text: one for four ASCII characters or for one other character.

    Rather too many for English (4.2 to 4.7) and for scripts without spaces (0.7 to 1 per character); code is denser.
    """
    plain = sum(1 for character in words if character < "\x80") if not words.isascii() else len(words)
    return (plain + 3) // 4 + len(words) - plain


def factor(db: Database, model: str) -> float:
    """Tokens of this model for each estimated token; 1 until it has answered."""
    return float(meta.get(db, f"tokens {model}") or 1.0)


def learn(db: Database, model: str, estimated: int, counted: int) -> None:
    """Adjust the factor of a model by what its server counted for a prompt."""
    if not estimated or counted < _LEAST / 2 * estimated:
        return
    before = factor(db, model)
    after = before + _WEIGHT * (min(_MOST, max(_LEAST, counted / estimated)) - before)
    if abs(after - before) > _LEAST_CHANGE:
        meta.put(db, f"tokens {model}", f"{after:.3f}")
