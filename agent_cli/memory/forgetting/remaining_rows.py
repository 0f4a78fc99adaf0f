"""What still has the words of erased text: rows by their handles, and names of folders, callers and backups."""

from collections.abc import Iterable, Sequence
from pathlib import Path

from agent_cli import kinds
from agent_cli.memory.forgetting import word_search
from agent_cli.memory.forgetting.owners import SINGULAR, TABLES
from agent_cli.memory.forgetting.word_search import RowWithWords, WordMatcher
from agent_cli.memory.language import keywords
from agent_cli.memory.scope import PERSON
from agent_cli.store import backup
from agent_cli.store.db import Database
from agent_cli.values import frozen

_NAMED = 5  # of a sort
_LABELS = {"caller": "the name of a caller", "prompt": "a line that was typed at the prompt"}


@frozen
class RemainingRows:
    """`handles`: rows that the person can forget by name. `named`: everything else, in words."""

    handles: Sequence[str] = ()
    named: Sequence[str] = ()


def find(db: Database, wanted: WordMatcher) -> RemainingRows:
    """Everything in the file that has a wanted word."""
    handles: dict[str, None] = {}
    folders: dict[str, None] = {}
    others: dict[str, int] = {}
    for row in word_search.rows_with(db, wanted):
        name = _forgettable(db, row)
        if name and not row.only_place:
            handles[name] = None
        elif row.only_place:
            folders[row.handle or _label(row)] = None
        else:
            others[_label(row)] = others.get(_label(row), 0) + 1
    named = [f"the name of the folder of {_listed(folders)}"] if folders else []
    named += [label if many == 1 else f"{label} ({many} times)" for label, many in others.items()]
    named += [
        f"the path of the backup {path}" for path in backup.known_copies(db) if word_search.found_in(wanted, path)
    ]
    return RemainingRows(tuple(handles), tuple(named))


def names_with(db: Database, words: Iterable[str]) -> Sequence[str]:
    """The names of folders, callers and backups that have one of these words, everyday words apart."""
    rare = keywords.choose(words)
    return () if rare.together or not rare else find(db, word_search.matcher(db, rare)).named


def in_files(wanted: WordMatcher, files: Iterable[Path]) -> list[str]:
    """Those of these text files that have a wanted word, in words. A file that cannot be read is named too."""
    found = []
    for path in files:
        try:
            if word_search.found_in(wanted, path.read_text(encoding="utf-8", errors="replace")):
                found.append(f"the file {path}")
        except OSError as error:
            found.append(f"perhaps the file {path}, which cannot be read ({error.strerror})")
    return found


def _forgettable(db: Database, row: RowWithWords) -> str:
    """The handle of a row that `agent forget` takes; empty for another, and for a title: it names a whole session."""
    kind = kinds.BY_LETTER.get(row.handle[:1])
    if kind is None or kind not in kinds.FORGETTABLE or kind.table == "session":
        return ""
    owner = db.value(f"select owner from {kind.table} where id = ?", (row.number,))
    return row.handle if owner == PERSON else ""


def _label(row: RowWithWords) -> str:
    if row.table == "session":
        return f"the title or the opening of {row.handle}"
    if row.handle:
        return f"a {kinds.BY_LETTER[row.handle[0]].name} of another caller"
    table = TABLES[row.table]
    counted = next((singular for _, singular in table.counts), "")
    return _LABELS.get(row.table) or f"a {counted or SINGULAR.get(row.table, row.table)}"


def _listed(names: Iterable[str]) -> str:
    listed = list(names)
    more = f" and {len(listed) - _NAMED} more" if len(listed) > _NAMED else ""
    return f"{', '.join(listed[:_NAMED])}{more}"
