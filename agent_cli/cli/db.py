"""`agent db`: the one file that holds everything."""

import os
import shlex
from enum import StrEnum
from pathlib import Path
from typing import Annotated

from typer import Exit, Option

from agent_cli import clock, kinds, terminal
from agent_cli.app.app import App
from agent_cli.cli import output
from agent_cli.cli.invocation import Invocation
from agent_cli.cli.options import AsJson, argument, flag, noun, option
from agent_cli.config import settings_file
from agent_cli.errors import FileRefused, NobodyAsked, StoreBusy, StoreError, UsageError
from agent_cli.memory.transfers import transfer
from agent_cli.messages import Receipt
from agent_cli.store import backup as backups
from agent_cli.store import file as files
from agent_cli.store import file_check, keyed_hash, sealing
from agent_cli.store.db import Database, key_of
from agent_cli.text import counted, format_size

# An enumeration, for an option with a Literal cannot be given again and again.
ExportableKind = StrEnum("ExportableKind", {kind.shown: kind.shown for kind in kinds.KINDS if kind.exportable})  # type: ignore[misc]
_WAYS_OUT = "`agent db restore FILE` restores a backup, `agent db salvage FILE` saves what can be read into a new file"
_NAMES = {kind.shown: kind.name for kind in kinds.KINDS}

app = noun("Back up, restore, check, salvage, seal, export and compact the database file.")
key_app = noun("How the file is sealed; change: give it another key.")
app.add_typer(key_app, name="key")

Passphrase = Annotated[bool, Option("--passphrase", help="Ask for a passphrase, now and at each start.")]
KeyFile = Annotated[Path | None, Option("--key-file", help="A file that has the key; made if there is none.")]
KeyCommand = Annotated[str | None, Option("--command", help='What prints the key, as in "pass show agent".')]


@app.command()
def path(invocation: Invocation) -> None:
    """Print the path of the database. It is not opened."""
    output.say(str(_path(invocation)))


@app.command()
def status(app_: App, as_json: AsJson = False) -> None:
    """Show how large the database is and what it holds."""
    found = backups.status(app_.db)
    if as_json:
        output.put_json(found)
        return
    sizes = [(name, format_size(found[name])) for name in ("size", "wal", "free")]
    plain = [(name, found[name]) for name in ("format", "journal", "sealed", "sqlite")]
    copies = [("copy", each) for each in found["backups"]]
    output.fields([("path", found["path"]), *sizes, *plain, ("holds", _rows(found["rows"])), *copies], 12)


@app.command()
def backup(
    invocation: Invocation,
    file: Path = argument("Where the copy goes."),
    force: bool = flag("--force", "Overwrite an existing file."),
) -> None:
    """Copy the database while it is in use, and check the copy."""
    db = invocation.app().db
    pages = int(db.value("pragma page_count"))
    with output.ProgressLine(invocation.quiet) as line:
        copied = backups.create(
            db, file, force=force, progress=lambda left: line.step("copied", pages - left, pages, "pages")
        )
    output.say(f"copied to {copied.path} and checked: {format_size(copied.size)}, {_rows(copied.rows)}")


@app.command()
def export(
    app_: App, kind: list[ExportableKind] | None = option("--kind", "Only this kind; may be given again.")
) -> None:
    """Print everything as JSON lines: `agent db export > FILE`."""
    for row in transfer.export_rows(app_.db, app_.scope.owner, [_NAMES[each.value] for each in kind or ()]):
        output.put_json_line(row)


@app.command(decides=True)
def restore(invocation: Invocation, file: Path = argument("A copy that `agent db backup` wrote.")) -> None:
    """Replace the database by a copy; the former file is kept."""
    place = _path(invocation)
    restored = backups.restore(place, file, clock.now(), invocation.note)  # unopened: it may be damaged
    output.say(f"restored {place} from {file}: {_rows(restored.rows)}")
    if restored.former:
        output.say(f"the former database is kept in {restored.former}")
    if restored.sealed:
        output.note("the copy was not sealed; the database has the key that it had before")
    if restored.revives_erased:
        output.note("something was forgotten after this copy was made, and is back with it: forget it again")


@app.command()
def check(invocation: Invocation, as_json: AsJson = False) -> None:
    """Read the whole database and check it. Exit 6 when it is damaged."""
    db = _opened_to_check(invocation)
    found = file_check.check(db)
    copies = backups.at_hand(db) if found.canonical else []
    if as_json:
        whole = not (found.canonical or found.derived)
        paths = {"backups": [path for path, _ in copies]} if found.canonical else {}
        output.put_json({"ok": whole, "damaged": found.canonical, "indexes": found.derived, **paths})
        if not whole:
            raise Exit(StoreError.exit_code)
        return
    output.lines([*found.canonical, *found.derived])
    if found.canonical:
        listed = ", ".join(f"{path} ({at:%Y-%m-%d %H:%M})" for path, at in copies)
        output.say(f"backups: {listed or 'none that this file knows of'}")
        raise StoreError(f"{db.path}: the database is damaged; {_WAYS_OUT}")
    if found.derived:
        raise StoreError(
            f"{db.path}: an index is damaged, and no damage was found in what it is made of; "
            "`agent index rebuild` rebuilds it"
        )
    output.say(f"{db.path} is whole: {_rows(backups.counts(db))}")


def _opened_to_check(invocation: Invocation) -> Database:
    """The database; when it is too damaged for the program to work with it, as it is. Raises StoreError."""
    try:
        return invocation.app().db
    except (FileRefused, StoreBusy):
        raise
    except StoreError as error:
        try:
            return files.open_damaged(_path(invocation))
        except StoreError:
            raise StoreError(f"{error}; {_WAYS_OUT}") from error


@app.command(decides=True)
def salvage(invocation: Invocation, file: Path = argument("The new file."), as_json: AsJson = False) -> None:
    """Save what can be read of a damaged database into a new file."""
    target = file.expanduser().absolute()
    if target.exists():
        raise UsageError(f"{target} exists already; name a new file")
    saved = backups.salvage(_path(invocation), target, clock.now())
    found = [each for each in saved if each.copied or each.lost != 0]
    if as_json:
        output.put_json([vars(each) for each in found])
        return
    for each in found:
        lost = "it is not known how many were lost" if each.lost is None else f"{each.lost} lost"
        mended = f", {each.mended} of them with marks for bytes that were no text" if each.mended else ""
        output.say(f"{each.table:<16} {each.copied:>7} saved{mended}, {lost}")
    output.note(
        Receipt(f"saved in {target}; `agent --db {target}` looks at it, `agent db restore {target}` puts it in place")
    )


@app.command(decides=True)
def seal(
    invocation: Invocation, passphrase: Passphrase = False, key_file: KeyFile = None, command: KeyCommand = None
) -> None:
    """Encrypt the database and its backups.

    Without an option the program makes a key and keeps it in the keyring of the system. Whoever loses the key loses
    what is in the file.
    """
    place = _path(invocation).resolve()
    if not (key := key_of(place)):
        _seal_anew(invocation, place, passphrase, key_file, command)
    elif passphrase or key_file or command:
        raise UsageError(f"{place} is sealed already; `agent db key change` gives it another key")
    else:
        _reseal(place, key)


@app.command(decides=True)
def unseal(invocation: Invocation) -> None:
    """Decrypt the database and its backups. A key in the keyring stays there."""
    _reseal(_path(invocation).resolve(), None)


@key_app.command()
def show(invocation: Invocation, as_json: AsJson = False) -> None:
    """Say how the database is sealed, and by which name the keyring has its key."""
    head = sealing.head_of(_path(invocation))
    kind, name = (sealing.kind_of(head), sealing.name_of(head)) if head else (None, None)
    if as_json:
        output.put_json({"sealed": kind, "name": name})
    else:
        output.say(f"sealed: {kind}, {name}" if head else "not sealed")


@key_app.command(decides=True)
def change(
    invocation: Invocation, passphrase: Passphrase = False, key_file: KeyFile = None, command: KeyCommand = None
) -> None:
    """Give the database and its backups another key. The former one stays in the keyring."""
    place = _path(invocation).resolve()
    if key_of(place) is None:
        raise UsageError(f"{place} is not sealed; `agent db seal` seals it")
    _seal_anew(invocation, place, passphrase, key_file, command)


def _seal_anew(
    invocation: Invocation, place: Path, passphrase: bool, key_file: Path | None, command: str | None
) -> None:
    """Seal with another key, which is found again at the next start. Raises UsageError, FileSealed and StoreError."""
    if sum((passphrase, key_file is not None, command is not None)) > 1:
        raise UsageError("--passphrase, --key-file and --command exclude each other")
    entry, value, loaded = "", "", invocation.settings()
    if passphrase:
        head, secret = sealing.new_head("passphrase"), _typed_passphrase()
    elif key_file:
        entry, value = "key_file", str(key_file.expanduser().absolute())
        sealing.make_key_file(Path(value))
        if os.name != "nt" and Path(value).stat().st_mode & 0o077:
            output.note(f"others on this machine can read the key; `chmod 600 {shlex.quote(value)}` ends that")
        head, secret = sealing.new_head("key file"), sealing.read(Path(value))
    elif command:
        entry, value = "key_command", command
        head, secret = sealing.new_head("key command"), sealing.printed(command)
    else:
        head, secret = sealing.new_head("keyring"), sealing.new_key()
        sealing.put_in_keyring(head, secret)
    if not secret.strip():
        raise UsageError("an empty key seals nothing; nothing was changed")
    key = sealing.KEYS.found.setdefault(head, sealing.derived(secret, head))
    if entry:  # beside the former one, until no file has that: whatever fails meanwhile, each of them can be opened
        former = [each for each in sealing.named(loaded.config.seal, entry) if each != value]
        settings_file.write(loaded.file, f"seal.{entry}", settings_file.toml_line([value, *former]))
    _reseal(place, key)
    if entry:
        settings_file.write(loaded.file, f"seal.{entry}", settings_file.toml_line(value))


def _typed_passphrase() -> str:
    first = terminal.secret("new passphrase: ")
    if first is None:
        raise NobodyAsked("a passphrase is typed at a terminal, and there is none here; nothing was changed")
    if first != terminal.secret("the same again: "):
        raise UsageError("the two passphrases differ; nothing was changed")
    return first


def _reseal(place: Path, key: bytes | None) -> None:
    """Give the database and all its copies this key, or none, and say what is left. Raises StoreError."""
    done, left = list[Path](), list[str]()
    if not place.is_file():
        raise UsageError(f"there is no database {place} yet; `agent` makes it")
    keys = settings_file.key_folder()
    done += [place] if backups.reseal(place, key, keys) else []
    with Database(place, key_folder=keys) as db:
        for copy in map(Path, files.known_copies(db)):
            if not copy.is_file():
                output.note(f"{copy} is not there now; if you have it elsewhere, it is as it was")
                continue
            try:
                done += [copy] if backups.reseal(copy, key, keys) else []
            except StoreError as error:
                left.append(str(error))
        for file in () if left else keyed_hash.settle(db):
            try:
                file.unlink(missing_ok=True)
            except OSError as error:
                left.append(f"{file} cannot be deleted ({error.strerror}): it has a key that belongs into the database")
    what = "sealed" if key else "no longer sealed"
    output.lines(f"{what}: {each}" for each in done)
    if not (done or left):
        output.note(f"nothing to do: {place} and its backups {'have this key' if key else 'are not sealed'}")
    if left:
        raise StoreError("not everything was changed; do this again once it can be:\n" + "\n".join(left))


@app.command(decides=True)
def compact(app_: App) -> None:
    """Give free space in the file back to the disk. Needs twice the size of the file meanwhile."""
    before, after = backups.compact(app_.db)
    gained = format_size(max(0, before - after))
    output.say(f"compacted: {format_size(before)} before, {format_size(after)} after, {gained} gained")


def _path(invocation: Invocation) -> Path:
    return settings_file.database(invocation.settings().config, os.environ)


def _rows(rows: dict[str, int]) -> str:
    return ", ".join(counted(count, name, kinds.BY_NAME[name].shown_plural) for name, count in rows.items())
