"""The lineage of recalled rows, and the derived tables of the indexes."""

from agent_cli import clock
from agent_cli.memory import lineage
from agent_cli.memory.lineage import Copy, Owner, Table, Walk
from agent_cli.memory.search import index, recall_log
from agent_cli.store.db import Database

_TABLES = (
    Table(
        "recollection",
        text_columns="text",
        other_columns="kind legs at",
        owner="(select owner from message where id = message_id)",
        made_from={"message": "message_id {ids}"},
        counts={("recollections", "recollection"): "true"},
    ),
    Table("passage", text_columns="author facts grams masked text", other_columns="kind", derived=True),
    Table("speaker", text_columns="name", derived=True),
    Table("area", text_columns="place", other_columns="owner", derived=True),
    Table("day", other_columns="words"),  # of a date
    Table("stale", other_columns="kind"),
    Table("entity", text_columns="name", other_columns="owner", derived=True),
    Table("alias", text_columns="folded", other_columns="owner", derived=True),
    Table("relation", text_columns="predicate", derived=True),
)


def _derive(db: Database, walk: Walk) -> None:
    """Add what shows rows that lose text."""
    for kind in {*walk.rows, *walk.partial}:
        shows = f"select id from recollection where kind = '{kind}' and row {{ids}}"
        if found := walk.losing_words(kind):
            walk.add("recollection", lineage.column(db, shows, found))


def _erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    """Remove messages from the index while their text exists; other owners remove their own rows from it."""
    index.erase(db, "m", walk.losing_words("message"))
    recall_log.erase(db, walk["recollection"])


_RECALLED = Copy("recollections", "recollection", "recollection", "text", recall_log.erase)
INDEXES = Owner(_TABLES, _erase, _derive, (_RECALLED,))
