"""Replaces a file so that it is the old one or the new one, whatever fails: the program, the disk or the power.

The content is written to a temporary file beside it, flushed to the disk, and renamed.
"""

import os
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path


def write(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace or create a file. Raises OSError; what was there before is unchanged then."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with _removed_on_failure(part):
        handle = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode)
        with open(handle, "wb") as file:
            os.chmod(part, mode)  # whatever the umask is
            file.write(content)
        move(part, path)


def move(part: Path, path: Path) -> None:
    """Give a finished file its final name, durably. Raises OSError; the file has its former name then."""
    _sync(part)
    os.replace(part, path)
    with suppress(OSError):  # not every file system can sync a folder
        _sync(path.parent)


@contextmanager
def _removed_on_failure(part: Path) -> Iterator[None]:
    try:
        yield
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)
