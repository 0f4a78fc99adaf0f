"""Hashes of texts under a key of the file: equal things can be told to be equal, and nothing can be guessed."""

from agent_cli.store.db import Database


def digest(db: Database, text: str) -> str:
    """The hash of a text, in hexadecimal digits. The key is made with the first one."""
    import hashlib  # 3 ms, and most commands hash nothing

    with db.write():
        db.execute("insert into meta values ('hash key', lower(hex(randomblob(32)))) on conflict do nothing")
        key = db.value("select value from meta where key = 'hash key'")
    return hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=bytes.fromhex(key), digest_size=16).hexdigest()
