"""What is kept beside conversations, as forgetting sees it: tasks, schedules, sections of files, requests of callers.

A task or a schedule that a model made in an exchange goes with it; what the person made by hand stays. Of a file the
words go, and the file stays on the disk: nobody asked that it be deleted. What is called by a path that says the topic
goes whole.
"""

import json
import os
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

from agent_cli.memory.conversations import callers
from agent_cli.memory.documents import documents
from agent_cli.memory.planner import schedules, tasks
from agent_cli.memory.scope import short, where
from agent_cli.store import ids
from agent_cli.store.db import Database
from agent_cli.values import frozen

Ids = tuple[int, ...]

_NAMED = 3  # files that are named
_AT = "in (select value from json_each(?))"
_SINCE = "owner = :owner and at >= coalesce(:since, '') and at < coalesce(:until, 'a')"
_BELOW = (
    "iif(instr({0} || '/', :home) = 1, substr({0}, length(:home) + 1), {0})"  # or all of /home/anna would be about Anna
)

# What says a topic in its own words; of the rest it is said by what it belongs to.
_SAYS = {
    "tasks": f"select id from task where {_SINCE} and instr(fold(text || char(10) || told), :told)",
    "schedules": f"""select id from schedule where {_SINCE} and instr(fold(prompt || char(10) || skill || char(10)
                     || target_path), :told)""",
}
_SAYS_OF_FILES = {
    "sections": f"""select id from section where {_SINCE} and (instr(fold(heading || char(10) || text), :told)
                    or document_id in (select id from document where owner = :owner and instr(fold(title), :told)))""",
    "documents": f"""select id from document where {_SINCE} and (instr(fold({_BELOW.format("path")}), :told)
                     or instr(fold(title), :told)
                     and not exists (select 1 from section where document_id = document.id))""",
    "collections": f"select id from collection where {_SINCE} and instr(fold({_BELOW.format('pattern')}), :told)",
    "requests": f"select id from answered where {_SINCE} and instr(fold(key), :told)",
}


@frozen
class Belongings:
    """The numbers of rows, by kind."""

    tasks: Ids = ()
    schedules: Ids = ()
    sections: Ids = ()
    documents: Ids = ()  # that go whole
    collections: Ids = ()
    requests: Ids = ()  # of callers

    @property
    def handles(self) -> list[str]:
        kinds = (("task", self.tasks), ("schedule", self.schedules), ("section", self.sections))
        return [ids.handle(kind, id) for kind, found in kinds for id in found]

    @property
    def counts(self) -> dict[str, int]:
        return {
            "tasks": len(self.tasks), "schedules": len(self.schedules), "sections of files": len(self.sections),
            "documents": len(self.documents), "collections": len(self.collections),
            "requests of callers": len(self.requests),
        }  # fmt: skip


def saying(
    db: Database, owner: str, topic: str, since: str | None, until: str | None, recalled: Iterable[int] = ()
) -> Belongings:  # fmt: skip
    """All that says this literally. Without a topic what was made then: of files nothing, which were said by nobody.

    `recalled`: sections that say it in other words.
    """
    asked = {"owner": owner, "told": topic.casefold(), "since": since, "until": until, "home": f"{Path.home()}/"}
    found = {name: _ids(db, sql, asked) for name, sql in (_SAYS | (_SAYS_OF_FILES if topic else {})).items()}
    sections = tuple(sorted({*found.pop("sections", ()), *recalled}))
    return Belongings(sections=sections, **found)


def walk(db: Database, named: Belongings, messages: Sequence[int], sessions: Sequence[int]) -> Belongings:
    """What is named with what belongs to it, and what came of messages and sessions that go."""
    made = _ids(db, f"select id from task where message_id {_AT} and origin = 'model'", _listed(messages))
    made += _ids(  # its message went before
        db, f"select id from task where session_id {_AT} and origin = 'model' and message_id is null", _listed(sessions)
    )
    whole = named.documents
    whole += _ids(db, f"select id from document where collection_id {_AT}", _listed(named.collections))
    sections = named.sections + _ids(db, f"select id from section where document_id {_AT}", _listed(whole))
    requests = named.requests + _ids(db, f"select id from answered where message_id {_AT}", _listed(messages))
    requests += _ids(db, f"select id from answered where session_id {_AT}", _listed(sessions))
    return Belongings(
        _sorted(named.tasks + made), named.schedules, _sorted(sections), _sorted(whole), named.collections,
        _sorted(requests),
    )  # fmt: skip


def lines(db: Database, found: Belongings, limit: int) -> list[tuple[str, str, str]]:
    """(handle, day, words) of what goes; at most so many, below zero all."""
    told: list[tuple[str, str, str]] = []
    for letter, of, wanted in (
        ("t", "task", found.tasks), ("c", "schedule", found.schedules), ("d", "section", found.sections),
        ("file", "document", found.documents), ("files", "collection", found.collections),
    ):  # fmt: skip
        words = {
            "task": "text", "schedule": "cron || '  ' || iif(skill = '', prompt, skill)", "document": "path",
            "collection": "pattern", "section": "text",
        }[of]  # fmt: skip
        join = "join document d on d.id = o.document_id" if of == "section" else ""
        place = "d.path, o.line, o.page" if join else "null, 0, null"
        for id, day, said, path, line, page in db.rows(
            f"""select o.id, datetime(o.at, o.utc_offset || ' minutes'), o.{words}, {place} from {of} o {join}
                where o.id {_AT} order by o.id limit ?""",
            (json.dumps(wanted), limit if limit < 0 else max(0, limit - len(told))),
        ):
            shown = (
                f"{where(os.path.basename(path), line, page)} {said}"
                if join
                else short(said)
                if len(letter) > 1
                else said
            )
            told.append((f"{letter}{id}" if len(letter) == 1 else letter, str(day)[:10], str(shown)))
    return told


def files(db: Database, found: Belongings) -> list[str]:
    """Sentences about the files whose words go."""
    rows = db.rows(
        f"""select distinct d.id, d.path from section s join document d on d.id = s.document_id where s.id {_AT}
            union select id, path from document where id {_AT} order by 2""",
        (json.dumps(found.sections), json.dumps(found.documents)),
    )
    whole = [path for id, path in rows if id in found.documents]
    part = [path for id, path in rows if id not in found.documents]
    told = [f"{_named(part)} on the disk: no sync brings these words of {_it(part)} back"] if part else []
    return told + ([f"{_named(whole)} on the disk: no sync reads {_it(whole)} again"] if whole else [])


def texts(db: Database, found: Belongings) -> tuple[list[str], list[str], list[str]]:
    """The words that go: those of the person, those of sections of files, and others."""

    def of(sql: str, wanted: Ids) -> list[str]:
        return [str(told) for row in db.rows(sql, _listed(wanted)) for told in row if told]

    own = of(f"select text, told from task where id {_AT}", found.tasks)
    own += of(f"select prompt from schedule where id {_AT}", found.schedules)
    for target, path in db.rows(f"select target, target_path from schedule where id {_AT}", _listed(found.schedules)):
        own += json.loads(path) if target == "command" else [path]
    own += of(f"select path, title from document where id {_AT}", found.documents)
    own += of(f"select pattern from collection where id {_AT}", found.collections)
    other = of(f"select skill, error from schedule where id {_AT}", found.schedules)
    other += of(f"select error from document where id {_AT}", found.documents)
    other += of(f"select key from answered where id {_AT}", found.requests)
    return own, of(f"select heading, text from section where id {_AT}", found.sections), other


def statements(db: Database, found: Belongings) -> list[str]:
    """What tasks have said: told elsewhere it is no chance, however short it is."""
    return [told for (told,) in db.rows(f"select text from task where id {_AT}", _listed(found.tasks))]


def erase(db: Database, found: Belongings, messages: Sequence[int], sessions: Sequence[int]) -> bool:
    """Delete it, and have what stays name no message and session that go. Whether the index must be written anew.

    Runs in the caller's transaction, before messages and sessions are deleted.
    """
    tasks.erase(db, found.tasks)
    schedules.erase(db, found.schedules)
    leave(db, messages, sessions, found.requests)
    return documents.forget(db, found.sections, found.documents, found.collections)


def leave(db: Database, messages: Sequence[int], sessions: Sequence[int] = (), requests: Sequence[int] = ()) -> None:
    """Have nothing name messages and sessions that go. Runs in the caller's transaction."""
    tasks.leave(db, sessions, messages)
    schedules.leave(db, sessions)
    callers.erase_answered(db, messages, sessions, requests)


def _named(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - _NAMED} more" if len(paths) > _NAMED else ""
    return f"{', '.join(map(short, paths[:_NAMED]))}{more} {'stays' if len(paths) == 1 else 'stay'}"


def _it(paths: Sequence[str]) -> str:
    return "it" if len(paths) == 1 else "them"


def _ids(db: Database, sql: str, values: Any) -> Ids:
    return tuple(id for (id,) in db.rows(sql, values))


def _listed(found: Iterable[int]) -> tuple[str]:
    return (json.dumps(list(found)),)


def _sorted(found: Iterable[int]) -> Ids:
    return tuple(sorted(set(found)))
