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


def add(db: Database, texts: Iterable[str], now: datetime, owner: str = PERSON, *, repeated: bool = False) -> None:
    """Store the hashes of erased texts. `repeated`: those that were stored before get a later time. Runs in the
    caller's transaction."""
    hashes = set(keyed_hash.digests(db, (_owned_form(owner, text) for text in texts if text.strip())))
    query = """insert into forgotten (hash, at) values (?, ?) on conflict do update set seen = '{}',
                  at = max(excluded.at, strftime('%Y-%m-%dT%H:%M:%fZ', at, '+0.001 seconds')) where ?"""
    db.execute_many(query, [(each, clock.utc(now), repeated) for each in hashes])


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
    return {text for text, at in zip(asked, _times(db, asked, owner), strict=True) if at}


def erased_at(db: Database, text: str) -> str:
    """When the person erased this text; empty: it was not erased."""
    return _times(db, [text], PERSON)[0] if text.strip() and any_exist(db) else ""


def _times(db: Database, texts: Iterable[str], owner: str) -> list[str]:
    """When each of these texts was erased; empty: it was not."""
    hashes = keyed_hash.all_digests(db, (_owned_form(owner, text) for text in texts))
    asked = [each for of_text in hashes for each in of_text]
    query = "select hash, at from forgotten where hash in (select value from json_each(?))"
    known: dict[str, str] = dict(db.rows(query, (asked,)))
    return [max(known.get(each, "") for each in of_text) for of_text in hashes]


def receive(db: Database, hash: str, at: str) -> bool:
    """Store the hash of a text that was erased on another machine; whether it is new. Runs in the caller's
    transaction."""
    query = """insert into forgotten values (?, ?, (select json_group_object(name, seq) from sqlite_sequence))
               on conflict do update set at = excluded.at, seen = excluded.seen where excluded.at > at"""
    return bool(db.execute(query, (hash, at)))


def known_at(db: Database, text: str, table: str, id: int) -> str:
    """The last time of which it was known that the text of this row was erased, when the row was made; empty: it was
    not known. Clocks do not matter, they may be wrong: a row that was made later has a higher id."""
    query = """select max(at) from forgotten where hash in (select value from json_each(?))
               and ? > coalesce(seen ->> ?, 0)"""
    (hashes,) = keyed_hash.all_digests(db, [_owned_form(PERSON, text)])
    return db.value(query, (hashes, id, table)) or ""


def time_of(db: Database, hash: str) -> str | None:
    """When the text with this hash was erased."""
    at: str | None = db.value("select at from forgotten where hash = ?", (hash,))
    return at


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
