"""Hashes of texts with a secret key: equal texts can be recognised, and who has only the file can guess none.

The key lies apart from the file and its backups, in the person's state folder; the database names it by a hash. Where
it is missing, because the file was moved to another machine, a new one is made, and what was erased before is no longer
recognised in an import. A database without such a folder, or whose folder cannot be written, holds its key itself; so
does one that is sealed, for with the key one can read what the machines exchange.

The machines of one person that exchange what is remembered share the key, so that hashes mean the same on each.
"""

import base64
import json
import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from agent_cli import atomic_file
from agent_cli.errors import UsageError
from agent_cli.store import meta
from agent_cli.store.db import Database

_NAME = "hash key name"
_HELD = "hash key of "  # before the name of a key that the database holds itself
_FORMER = "hash keys before"  # their names, where the key of another machine took their place
_LENGTH = 32  # bytes


def digest(db: Database, text: str) -> str:
    return digests(db, [text])[0]


def digests(db: Database, texts: Iterable[str]) -> list[str]:
    """The hashes of texts in hexadecimal digits. The key is created with the first hash."""
    return _digests(texts, secret(db))


def all_digests(db: Database, texts: Iterable[str]) -> list[tuple[str, ...]]:
    """The hashes of each text by the present key and by those before it."""
    words, former = list(texts), json.loads(meta.get(db, _FORMER) or "[]")
    keys = [secret(db), *(key for name in former if (key := _content(db, name)))]
    return list(zip(*(_digests(words, key) for key in keys), strict=True))


def _digests(texts: Iterable[str], key: bytes) -> list[str]:
    return [_hash(text.encode("utf-8", "surrogatepass"), key, 16) for text in texts]


def secret(db: Database) -> bytes:
    """The key, which is created where there is none."""
    if db.hash_key is None:
        with db.write():
            key = _content(db, meta.get(db, _NAME) or "")
            settled = key if not is_in_plain_database(db) else None
            db.hash_key = settled or _use(db, key or os.urandom(_LENGTH))
    return db.hash_key


def name_of(key: bytes) -> str:
    """By which a key is known; it tells nothing of it."""
    return _hash(key, b"", 8)


def derived(key: bytes, purpose: bytes) -> bytes:
    """A key of the same length for another purpose."""
    return bytes.fromhex(_hash(purpose, key, _LENGTH))


def adopt(db: Database, key: bytes) -> None:
    """Use the key of another machine from now on."""
    former = secret(db)
    if former == key:
        return
    names = json.loads(meta.get(db, _FORMER) or "[]")
    with db.write():
        meta.put(db, _FORMER, json.dumps([*names, name_of(former)]))
        db.hash_key = _use(db, key)


def written(key: bytes) -> str:
    """A key as the person copies it: letters and digits in groups of four, the last ones a checksum."""
    letters = base64.b32encode(key + bytes.fromhex(_hash(key, b"copied", 3))).decode()
    return "-".join(letters[at : at + 4] for at in range(0, len(letters), 4))


def read_written(copied: str) -> bytes:
    """The key that was copied. Raises UsageError when it is not whole."""
    try:
        whole = base64.b32decode("".join(copied.replace("-", " ").split()).upper())
    except ValueError:
        whole = b""
    key = whole[:_LENGTH]
    if len(key) != _LENGTH or whole[_LENGTH:].hex() != _hash(key, b"copied", 3):
        raise UsageError("that is not the whole key, or a letter of it is wrong: copy it again from the other machine")
    return key


def key_file(db: Database) -> Path | None:
    """The file with the key; None when there is none, or the database holds its key itself."""
    name = meta.get(db, _NAME)
    path = db.key_folder / f"{name}.key" if db.key_folder and name else None
    return path if path and path.is_file() else None


def renew_missing(db: Database) -> bool:
    """Make a new key, if the one that the database names is not on this machine; whether it was missing."""
    name = meta.get(db, _NAME)
    if name is None or _content(db, name):
        return False
    with db.write():
        db.hash_key = _use(db, os.urandom(_LENGTH))
    return True


def is_in_plain_database(db: Database) -> bool:
    return not db.key and bool(meta.keys(db, _HELD))


def _content(db: Database, name: str) -> bytes | None:
    """The key with this name; None where it is missing."""
    if name and (held := meta.get(db, _HELD + name)):
        return bytes.fromhex(held)
    try:
        content = (db.key_folder / f"{name}.key").read_bytes() if db.key_folder and name else b""
    except OSError:  # unreadable is as good as missing
        return None
    return content if len(content) == _LENGTH else None


def _use(db: Database, key: bytes) -> bytes:
    """Keep a key where it belongs, and use it from now on."""
    _keep(db, key)
    meta.put(db, _NAME, name_of(key))
    return key


def settle(db: Database) -> list[Path]:
    """Bring the keys where they belong after the database was sealed or unsealed; returns the files that then have them
    as well, for nothing."""
    names = {meta.get(db, _NAME) or "", *json.loads(meta.get(db, _FORMER) or "[]")}
    found = {name: key for name in names if (key := _content(db, name))}
    for key in found.values():
        _keep(db, key)
    return [db.key_folder / f"{name}.key" for name in found] if db.key and db.key_folder else []


def _keep(db: Database, key: bytes) -> None:
    """Keep a key in the folder, durably; in the database where that is sealed, or there is no folder to write to."""
    name = name_of(key)
    if db.key_folder and not db.key:
        path = db.key_folder / f"{name}.key"
        with suppress(OSError):
            atomic_file.make_folder(path.parent)
            if not path.exists():
                atomic_file.write(path, key)
            if path.read_bytes() == key:
                meta.drop(db, _HELD + name)
                return
    meta.put(db, _HELD + name, key.hex())


def _hash(text: bytes, key: bytes, size: int) -> str:
    import hashlib  # most commands hash nothing

    return hashlib.blake2b(text, key=key, digest_size=size).hexdigest()
