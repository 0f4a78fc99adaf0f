"""Keyed hashes of erased texts, so that neither an import nor a model restores them. Owns the table forgotten."""

from collections.abc import Iterable
from datetime import datetime

from agent_cli import clock
from agent_cli.memory.scope import PERSON
from agent_cli.store import keyed_hash, meta
from agent_cli.store.db import Database

SHORT = 12  # characters; shorter texts are too common to be recognised
_ROUNDS = "forgotten rounds"

JOB = "forget"  # empties the journal of erased rows
JOURNAL, PAGES = "all", "pages"  # subjects: the journal, and the first words of index pages


def add(db: Database, texts: Iterable[str], now: datetime, owner: str = PERSON) -> None:
    """Store the hashes of erased texts. Runs in the caller's transaction."""
    hashes = set(keyed_hash.digests(db, (_owned_form(owner, text) for text in texts if text.strip())))
    db.execute_many(
        "insert into forgotten values (?, ?) on conflict do nothing", [(each, clock.utc(now)) for each in hashes]
    )


def any_exist(db: Database) -> bool:
    return bool(db.value("select 1 from forgotten limit 1"))


def contains(db: Database, text: str, owner: str = PERSON) -> bool:
    """Whether this owner erased this text. What other owners erased is not revealed."""
    return bool(erased_among(db, [text], owner))


def erased_among(db: Database, texts: Iterable[str], owner: str = PERSON) -> set[str]:
    """Those of these texts that this owner erased."""
    if not any_exist(db):
        return set()
    asked = list(texts)
    hashes = keyed_hash.digests(db, (_owned_form(owner, text) for text in asked))
    known = {*db.rows("select hash from forgotten where hash in (select value from json_each(?))", (hashes,))}
    return {text for text, hash in zip(asked, hashes, strict=True) if (hash,) in known}


def message_form(at: str, text: str) -> str:
    """The form of a message to hash: a short one with its UTC time, or no "yes" could be imported again."""
    return text if len(_normalized(text)) >= SHORT else f"{at} {text}"


def erasure_count(db: Database) -> int:
    """How often something was erased in this file: a process compares it to notice that its copies are outdated."""
    return meta.number(db, _ROUNDS)


def count_erasure(db: Database) -> None:
    """Count one more erasure. Runs in the caller's transaction."""
    meta.increase(db, _ROUNDS)


def _owned_form(owner: str, text: str) -> str:
    return _normalized(text) if owner == PERSON else f"{owner}\n{_normalized(text)}"  # it has no line breaks


def _normalized(text: str) -> str:
    """A text without differences of case, spaces and final punctuation."""
    return " ".join(text.casefold().split()).rstrip(".!…")
