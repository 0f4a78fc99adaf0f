"""Requests of callers, other programs, that were answered and are not carried out twice."""

import json
from collections.abc import Sequence

from agent_cli.store.db import Database


def erase_answered(
    db: Database, messages: Sequence[int], sessions: Sequence[int] = (), requests: Sequence[int] = ()
) -> None:  # fmt: skip
    """Forget these requests, and which ones these messages answered. Runs in the caller's transaction."""
    for column, gone in (("message_id", messages), ("session_id", sessions), ("id", requests)):
        db.execute(
            f"delete from answered where {column} in (select value from json_each(?))", (json.dumps(list(gone)),)
        )
