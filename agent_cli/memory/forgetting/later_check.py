"""Repeats the last check of an erasure that left something, for instance after a backup that was named is deleted.

The erased words themselves are not stored, only their hashes (kept_hashes.py): so each word of the file and of its
backups is hashed and compared. Parts of words, freed pages of a backup and compressed indexes cannot be compared with a
hash; for these the person names the words again, and the files are read byte for byte.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

from agent_cli import clock
from agent_cli.errors import StoreError, UsageError
from agent_cli.memory.forgetting import erasure_receipt, forget, kept_hashes, remaining_rows, word_search
from agent_cli.memory.forgetting.erasure_receipt import Receipt, Sought
from agent_cli.memory.forgetting.word_search import WordMatcher
from agent_cli.memory.language import keywords
from agent_cli.memory.language.keywords import Keywords, SearchTerms
from agent_cli.memory.planner import schedules
from agent_cli.store import traces
from agent_cli.store.db import Database

_HASHED = "the words of the last erasure (kept only as hashes)"


def repeat(db: Database, time: clock.Clock, words: Iterable[str] = (), drafts: Sequence[Path] = ()) -> Receipt:
    """Check again, for the words of the last erasure or for these. Raises UsageError when there is none.

    `drafts`: temporary files of the editor.
    """
    schedules.remember_outputs(db)  # forgets those that are gone
    text_files = [*schedules.outputs(db), *drafts]
    named = tuple(dict.fromkeys(each for word in words for each in keywords.plain(word).split()))
    if named:
        sought = Sought(SearchTerms(words=frozenset(named)), Keywords(named), files=text_files)
        return erasure_receipt.check(db, time, sought)
    wanted = kept_hashes.matcher(db)
    if wanted is None:
        raise UsageError(
            "the last erasure left nothing, so nothing of its words is kept: name what to look for, as in "
            "`agent forget --verify Graz`"
        )
    receipt = _compare(db, time, wanted, text_files)
    if receipt.clean:
        kept_hashes.drop(db)
    return receipt


def _compare(db: Database, time: clock.Clock, wanted: WordMatcher, text_files: Sequence[Path]) -> Receipt:
    blocked = not forget.empty_journal(db, time)
    remaining = remaining_rows.find(db, wanted)
    files, copies = traces.files(db.path), erasure_receipt.copies_of(db)
    return Receipt(
        0,
        0,
        traces.total_size([*files, *copies]),
        blocked,
        traces.free_pages(files[0])[1] if files and not blocked else 0,
        {str(path): many for path in copies if (many := _in_backup(path, wanted))},
        remaining.handles,
        str(traces.litestream_folder(db.path) or ""),
        _HASHED,
        [*remaining.named, *remaining_rows.in_files(wanted, text_files)],
    )


def _in_backup(path: Path, wanted: WordMatcher) -> int:
    """How many texts of a backup have a wanted word. Raises StoreError when it cannot be read."""
    if path.name.endswith(("-wal", "-journal")):
        return 0
    try:
        copy = Database(path, read_only=True)
        try:
            return sum(bool(word_search.found_in(wanted, text)) for text in word_search.all_texts(copy))
        finally:
            copy.close()
    except StoreError as error:
        raise StoreError(f"{path} cannot be read, so it cannot be searched: delete it, or make it again") from error
