"""What the person had erased must not come back by an import or from a model: keyed hashes of it, never its words."""

from collections.abc import Iterable
from datetime import datetime

from agent_cli import clock
from agent_cli.memory.scope import PERSON
from agent_cli.store import keyed_hash, meta
from agent_cli.store.db import Database

SHORT = 12  # characters under which a text is nobody's own
_ROUNDS = "forgotten rounds"

JOB = "forget"  # empties the journal of what was erased
JOURNAL, PAGES = "all", "pages"  # subjects: the journal, and the words by which an index finds its pages


def remember(db: Database, texts: Iterable[str], now: datetime, owner: str = PERSON) -> None:
    """Runs in the caller's transaction."""
    hashes = set(keyed_hash.digests(db, (_of(owner, text) for text in texts if text.strip())))
    db.execute_many(
        "insert into forgotten values (?, ?) on conflict do nothing", [(each, clock.utc(now)) for each in hashes]
    )


def anything(db: Database) -> bool:
    """Whether anything was ever erased."""
    return bool(db.value("select 1 from forgotten limit 1"))


def knows(db: Database, text: str, owner: str = PERSON) -> bool:
    """Whether just this was erased by its owner. Nobody finds out by asking what another had erased."""
    hash = keyed_hash.digest(db, _of(owner, text)) if anything(db) else ""
    return bool(hash) and bool(db.value("select 1 from forgotten where hash = ?", (hash,)))


def known(db: Database, texts: Iterable[str]) -> set[str]:
    """Which of these were erased."""
    if not anything(db):
        return set()
    asked = list(texts)
    hashes = keyed_hash.digests(db, map(_plain, asked))
    sql = "select hash from forgotten where hash in (select value from json_each(?))"
    found = {hash for (hash,) in db.rows(sql, (hashes,))}
    return {text for text, hash in zip(asked, hashes, strict=True) if hash in found}


def said(at: str, text: str) -> str:
    """What is kept of a message: a short one only as said at this moment (UTC), or no "yes" could be imported again."""
    return text if len(_plain(text)) >= SHORT else f"{at} {text}"


def rounds(db: Database) -> int:
    """How often something was erased in this file: who holds words notices by it that they must go."""
    return meta.number(db, _ROUNDS)


def count_round(db: Database) -> None:
    """Runs in the caller's transaction."""
    meta.increase(db, _ROUNDS)


def _of(owner: str, text: str) -> str:
    return _plain(text) if owner == PERSON else f"{owner}\n{_plain(text)}"  # a plain text has no line breaks


def _plain(text: str) -> str:
    """Case, spaces and the last mark make no other text of it."""
    return " ".join(text.casefold().split()).rstrip(".!…")
