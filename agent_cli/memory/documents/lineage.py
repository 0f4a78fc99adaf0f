"""The lineage of documents: their stored text is erased, the file itself stays on the disk.

A document whose path mentions the topic is erased completely.
"""

import os
from collections.abc import Sequence

from agent_cli import clock
from agent_cli.memory import lineage, tombstones
from agent_cli.memory.documents import documents
from agent_cli.memory.lineage import Owner, Table, Walk
from agent_cli.memory.scope import file_location, short_path
from agent_cli.store import jobs
from agent_cli.store.db import Database

_NAMED = 3  # files that are named
# A path without the home folder, or all that lies in /home/anna would be about Anna.
_BELOW = "iif(instr({0} || '/', :home) = 1, substr({0}, length(:home) + 1), {0})"


def _section(path: str, line: int, page: int | None, words: str) -> str:
    return f"{file_location(os.path.basename(path), line, page)} {words}"


_TABLES = (
    Table(
        "collection",
        text_columns="place pattern",
        other_columns="uid owner at synced_at",
        counts={("collections", "collection"): "true"},
        line="pattern",
        format_line=short_path,
        label="files",
        mentions=lineage.mentions_topic(_BELOW.format("pattern")),
        dated=False,
        stated_text="pattern",
        personal_texts=("pattern",),
    ),
    Table(
        "document",
        text_columns="path title error",
        other_columns="uid owner hash at read_at",
        made_from={"collection": "collection_id {ids}"},
        counts={("documents", "document"): "true"},
        line="path",
        format_line=short_path,
        label="file",
        mentions=f"""{lineage.mentions_topic(_BELOW.format("path"))} or {lineage.mentions_topic("title")}
                     and not exists (select 1 from section where document_id = document.id)""",
        dated=False,
        stated_text=lineage.joined("path", "title"),
        personal_texts=("path, title",),
        other_texts=("error",),
    ),
    Table(
        "section",
        text_columns="heading text",
        other_columns="owner at",
        made_from={"document": "document_id {ids}"},
        letter="d",
        counts={("sections of files", "section of a file"): "true"},
        line="(select path from document where id = document_id), line, page, text",
        format_line=_section,
        mentions=f"""{lineage.mentions_topic("heading", "text")} or document_id in (
                     select id from document where owner = :owner and {lineage.mentions_topic("title")})""",
        dated=False,
        stated_text=lineage.joined("heading", "text"),
        file_texts=("heading, text",),
    ),
)


def _erase(db: Database, walk: Walk, time: clock.Clock) -> None:
    """Tombstones of files use their paths, which all owners share."""
    sections, whole = walk["section"], walk["document"]
    tombstones.add(db, documents.to_remember(db, sections, whole), time())
    if documents.erase_all(db, sections, whole, walk["collection"]):
        jobs.add(db, tombstones.JOB, tombstones.PAGES, time())


DOCUMENTS = Owner(_TABLES, _erase)


def files(db: Database, walk: Walk) -> list[str]:
    """Sentences about the files whose text is erased."""
    of = "select distinct d.id, d.path from section s join document d on d.id = s.document_id where s.id {ids}"
    found = {
        *lineage.rows(db, of, walk["section"]),
        *lineage.rows(db, "select id, path from document where id {ids}", walk["document"]),
    }
    rows = sorted(found, key=lambda row: row[1])
    whole = [path for id, path in rows if id in walk["document"]]
    part = [path for id, path in rows if id not in walk["document"]]
    sentences = [f"{_named(part)} on the disk: no sync brings these words of {_pronoun(part)} back"] if part else []
    return sentences + ([f"{_named(whole)} on the disk: no sync reads {_pronoun(whole)} again"] if whole else [])


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f"{', '.join(map(short_path, paths[:_NAMED]))}{more} {'stays' if len(paths) == 1 else 'stay'}"


def _pronoun(paths: Sequence[str]) -> str:
    return "it" if len(paths) == 1 else "them"
