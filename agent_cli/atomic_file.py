"""Replaces a file so that it is the old one or the new one, whatever fails: the program, the disk or the power."""

import os
from contextlib import suppress
from pathlib import Path


def write(path: Path, content: bytes, mode: int = 0o600) -> None:
    """Replace or create a file. Raises OSError; what was there before is unchanged then."""
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        with open(os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            os.chmod(part, mode)  # whatever the umask is
            file.write(content)
        move(part, path)
    except BaseException:
        with suppress(OSError):
            part.unlink()
        raise


def move(part: Path, path: Path) -> None:
    """Give a finished file its final name, durably. Raises OSError; the file has its former name then."""
    _sync(part)
    os.replace(part, path)
    with suppress(OSError):  # not every file system can sync a folder
        _sync(path.parent)


def _sync(path: Path) -> None:
    handle = os.open(path, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def make_folder(folder: Path) -> None:
    """Create a folder, and those above it that are missing, for their owner alone. Raises OSError."""
    for each in reversed((folder, *folder.parents)):
        if not each.exists():
            each.mkdir(exist_ok=True)  # another process may do the same
            each.chmod(0o700)  # whatever the umask is
    folder.mkdir(exist_ok=True)  # raises where something else has its name


def touch(file: Path) -> None:
    """See to it that there is such a file, a new one for its owner alone. Raises OSError."""
    make_folder(file.parent)
    is_new = not file.exists()
    os.close(os.open(file, os.O_RDWR | os.O_CREAT, 0o600))
    if is_new:
        file.chmod(0o600)  # whatever the umask is
