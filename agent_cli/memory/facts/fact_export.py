"""Facts for other programs: JSON lines that can be imported again, and the MEMORY.md and USER.md of other agents.

Facts that hold in one session alone are left out: other databases do not have that session.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from agent_cli import atomic_file, clock, text
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.facts.facts import Fact
from agent_cli.memory.language import languages
from agent_cli.store.db import Database

_SELF = languages.pattern(r"\b<OF_SELF>\b")
MARK = "<!-- written by `agent facts export`: it is written over by the next one -->"


def json_rows(db: Database, found: Sequence[Fact]) -> Iterator[dict[str, Any]]:
    """Each fact as a JSON object, the oldest first, without empty fields."""
    ordered = [each for each in sorted(found, key=lambda each: each.id) if each.session_id is None]
    messages = [each.message_id for each in ordered if each.message_id]
    external_ids: dict[int | None, str] = dict(
        db.rows(
            """select m.id, coalesce(m.external_id, m.uid)
               from json_each(?) c cross join message m on m.id = c.value""",
            (messages,),
        )
    )
    for each in ordered:
        row = {
            "statement": each.statement,
            "at": _local_time(each, each.learned_at),
            "since": _local_time(each, each.valid_from),
            "until": _local_time(each, each.valid_to),
            "subject": each.subject,
            "predicate": each.predicate,
            "object": each.object,
            "place": each.place,
            "quote": each.quote,
            "source": external_ids.get(each.message_id),
        }
        yield {name: value for name, value in row.items() if value}


def documents(found: Sequence[Fact]) -> dict[str, str]:
    """Name and text of each file: facts about the person in USER.md, the others in MEMORY.md."""
    ordered = [each for each in sorted(found, key=lambda each: (each.place, each.id)) if each.session_id is None]
    about_person = [each for each in ordered if _is_about_person(each)]
    others = [each for each in ordered if not _is_about_person(each)]
    return {
        "USER.md": _document("About the person", about_person),
        "MEMORY.md": _document("What is known besides", others),
    }


def write_files(folder: Path, files: Mapping[str, str], *, force: bool = False) -> list[Path]:
    """Write the files, readable by their owner alone.

    Raises UsageError, with nothing written, when a file exists that this program did not write.
    """
    paths = {folder / name: words for name, words in files.items()}
    for path in paths:
        if not force and path.exists() and not _is_export(path):
            raise UsageError(f"{path} was not written by this program; say --force to write over it")
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for path, words in paths.items():
            atomic_file.write(path, words.encode("utf-8", "replace"))
    except OSError as error:
        raise StoreError(f"{folder}: nothing can be written there ({error.strerror})") from error
    return list(paths)


def _is_about_person(fact: Fact) -> bool:
    """Decided by the subject; without one, by a pronoun of the first person in the statement."""
    return fact.subject == "person" or (not fact.subject and bool(_SELF.search(fact.statement)))


def _is_export(path: Path) -> bool:
    """Whether an earlier export wrote the file: Markdown begins with the mark, JSON lines with a statement."""
    try:
        with path.open(encoding="utf-8", errors="replace") as file:
            first = file.readline().strip()
    except OSError:
        return False
    if path.suffix == ".md":
        return first == MARK
    try:
        return not first or "statement" in json.loads(first)
    except (ValueError, TypeError):
        return False


def _document(title: str, found: Sequence[Fact]) -> str:
    lines = [MARK, "", f"# {title}", ""]
    place = ""
    for each in found:
        if each.place != place:
            place = each.place
            lines += ["", f"## In {text.one_line(place, 200)}", ""]
        lines.append(f"- {' '.join(text.clean(each.statement).split())} ({each.day})")
    return "\n".join(lines) + "\n"


def _local_time(fact: Fact, moment: str | None) -> str | None:
    return clock.local(moment, fact.utc_offset).isoformat() if moment else None
