"""How many tokens a text is, about, and how far off that is for each model: learned from what its server counted."""

from agent_cli.store import meta
from agent_cli.store.db import Database

_LEAST, _MOST = 0.8, 2.0  # below: the server left out what it had cached; above: it counted something else
_WEIGHT = 0.3  # of the newest count
_WORTH = 0.02  # a change that is worth writing


def tokens(words: str) -> int:
    """About how many tokens a text is: four ASCII characters each, or one other character.

    On the safe side for English (4.2 to 4.7) and for scripts without spaces (0.7 to 1 per character); code is denser.
    """
    plain = sum(1 for character in words if character < "\x80") if not words.isascii() else len(words)
    return (plain + 3) // 4 + len(words) - plain


def factor(db: Database, model: str) -> float:
    """Tokens of this model for each estimated one; 1 until it has answered."""
    return float(meta.get(db, f"tokens {model}") or 1.0)


def learn(db: Database, model: str, estimated: int, counted: int) -> None:
    """Take in what a server counted for a prompt."""
    if not estimated or counted < _LEAST / 2 * estimated:
        return
    before = factor(db, model)
    after = before + _WEIGHT * (min(_MOST, max(_LEAST, counted / estimated)) - before)
    if abs(after - before) > _WORTH:
        meta.put(db, f"tokens {model}", f"{after:.3f}")
