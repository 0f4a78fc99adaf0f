"""Hashes of texts under a key of the file: equal things can be told to be equal, and nothing can be guessed."""

from collections.abc import Iterable

from agent_cli.store.db import Database


def digest(db: Database, text: str) -> str:
    """The hash of a text, in hexadecimal digits. The key is made with the first one."""
    return digests(db, [text])[0]


def digests(db: Database, texts: Iterable[str]) -> list[str]:
    """The hash of each text."""
    import hashlib  # 3 ms, and most commands hash nothing

    with db.write():
        db.execute("insert into meta values ('hash key', lower(hex(randomblob(32)))) on conflict do nothing")
        key = db.value("select value from meta where key = 'hash key'")
    secret = bytes.fromhex(key)
    return [
        hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=secret, digest_size=16).hexdigest() for text in texts
    ]
