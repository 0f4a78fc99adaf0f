"""Who has to do with whom: entities and relations, made from accepted facts. Derived; dropped and rebuilt at will."""

from agent_cli.store.db import Database


def learn(db: Database, fact: int, owner: str, subject: str, predicate: str, object: str) -> None:
    """Take a fact that is true now in. Runs in the caller's transaction."""
    forget(db, fact)


def forget(db: Database, fact: int) -> None:
    """Take a fact out, with the names that no other fact holds. Runs in the caller's transaction."""
    db.execute("delete from relation where fact_id = ?", (fact,))
