"""Hashes of texts with a secret key: equal texts can be recognised, and who has only the file can guess none.

The key lies apart from the file and its backups, in the person's state folder; the database names it by a hash. Where
it is missing, because the file was moved to another machine, a new one is made, and what was erased before is no longer
recognised in an import. A database without such a folder, or whose folder cannot be written, holds its key itself.
"""

import os
from collections.abc import Iterable
from pathlib import Path

from agent_cli import atomic_file
from agent_cli.store import meta
from agent_cli.store.db import Database

_KEY = "hash key"
_NAME = "hash key name"
_LENGTH = 32  # bytes


def digest(db: Database, text: str) -> str:
    return digests(db, [text])[0]


def digests(db: Database, texts: Iterable[str]) -> list[str]:
    """The hashes of texts in hexadecimal digits. The key is created with the first hash."""
    if db.hash_key is None:
        with db.write():
            db.hash_key = _read(db) or _write(db)
    return [_hash(text.encode("utf-8", "surrogatepass"), db.hash_key, 16) for text in texts]


def key_file(db: Database) -> Path | None:
    """The file with the key; None when there is none, or the database holds its key itself."""
    name = meta.get(db, _NAME)
    path = db.key_folder / f"{name}.key" if db.key_folder and name else None
    return path if path and path.is_file() else None


def renew_missing(db: Database) -> bool:
    """Make a new key, if the one that the database names is not on this machine; whether it was missing."""
    if meta.get(db, _NAME) is None or meta.get(db, _KEY) is not None or key_file(db):
        return False
    with db.write():
        meta.drop(db, _NAME)
        db.hash_key = _read(db) or _write(db)
    return True


def is_in_database(db: Database) -> bool:
    return meta.get(db, _KEY) is not None


def _read(db: Database) -> bytes | None:
    path = key_file(db)
    try:
        secret = path.read_bytes() if path else b""
    except OSError:  # unreadable is as good as missing
        return None
    return secret if len(secret) == _LENGTH else None


def _write(db: Database) -> bytes:
    """Keep the key of the database itself, or a new one, in the folder, or else in the database."""
    former = meta.get(db, _KEY)
    secret = bytes.fromhex(former) if former else os.urandom(_LENGTH)
    name = _hash(secret, b"", 8)
    if db.key_folder and _saved(db.key_folder / f"{name}.key", secret):
        meta.put(db, _NAME, name)
        meta.drop(db, _KEY)
    elif former is None:
        meta.put(db, _KEY, secret.hex())
    return secret


def _saved(path: Path, secret: bytes) -> bool:
    """Whether the key is in the file, durably: the database refers to it from now on."""
    try:
        atomic_file.make_folder(path.parent)
        if not path.exists():
            atomic_file.write(path, secret)
        return path.read_bytes() == secret
    except OSError:
        return False


def _hash(text: bytes, key: bytes, size: int) -> str:
    import hashlib  # most commands hash nothing

    return hashlib.blake2b(text, key=key, digest_size=size).hexdigest()
