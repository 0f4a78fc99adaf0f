"""Questions whose answer must mention something: the person's own test of what is recalled."""

import json
from collections.abc import Sequence

from agent_cli.store.db import Database


def erase(db: Database, found: Sequence[int]) -> None:
    """Runs in the caller's transaction."""
    db.execute("delete from fact_test where id in (select value from json_each(?))", (json.dumps(list(found)),))
