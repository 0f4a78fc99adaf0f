"""Hashes of texts with a secret key of the file: equal texts can be recognised, and no text can be guessed."""

import os
from collections.abc import Iterable

from agent_cli.store import meta
from agent_cli.store.db import Database

_KEY = "hash key"


def digest(db: Database, text: str) -> str:
    """The hash of a text in hexadecimal digits. The key is created with the first hash."""
    return digests(db, [text])[0]


def digests(db: Database, texts: Iterable[str]) -> list[str]:
    """The hash of each text."""
    import hashlib  # 3 ms, and most commands hash nothing

    secret = bytes.fromhex(_key(db))
    return [
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=secret, digest_size=16).hexdigest() for text in texts
    ]


def _key(db: Database) -> str:
    with db.write():
        key = meta.get(db, _KEY)
        if key is None:
            key = os.urandom(32).hex()
            meta.put(db, _KEY, key)
    return key
