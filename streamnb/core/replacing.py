"""Files and folders that take the place of others: the old one stays whole until the new one is, and is in its place.

What a process that was killed leaves beside a file is hidden, and in nobody's way.
"""

import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replacing(path: Path) -> Iterator[BinaryIO]:
    """A new file beside `path`, which takes its place once it is written and safe from a crash."""
    unfinished = _beside(path, "unfinished")
    try:
        with open(unfinished, "w+b") as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        os.replace(unfinished, path)
        _sync_folder(path.parent)
    except OSError as error:  # a full disk does not say which file
        raise OSError(error.errno, f"{path} cannot be written: {error.strerror or error}") from error
    finally:
        with suppress(OSError):
            unfinished.unlink()


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Where a new folder is to be made beside `path`, whose place it takes once it is whole.

    No system call of every platform exchanges two folders: for a moment the old one has another name. It is put back
    where that moment ends in an error, and by `put_back` where it ended the process.
    """
    put_back(path)
    path = path.resolve()
    new = _beside(path, "unfinished")
    try:
        yield new
        if path.exists():
            path.rename(_beside(path, "replaced"))
        new.rename(path)
        _sync_folder(path.parent)
    finally:
        put_back(path)
        _remove(new)


def put_back(path: Path) -> None:
    """Give a folder its name again that was about to be replaced when a process ended; remove it if it was replaced."""
    path = path.resolve()
    for old in _left(path, "replaced"):
        if not path.exists():
            old.rename(path)
        else:
            _remove(old)


def remove_unfinished(path: Path) -> None:
    """Clear away what processes left that were killed while they wrote this file."""
    for left in _left(path, "unfinished"):
        left.unlink(missing_ok=True)


def _beside(path: Path, state: str) -> Path:
    """A name beside a path that no other thread takes."""
    return path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.{state}")


def _left(path: Path, state: str) -> list[Path]:
    """What `_beside` has named so; names that begin alike are of others."""
    name = re.compile(rf"\.{re.escape(path.name)}\.\d+\.\d+\.{state}")
    return sorted(found for found in path.parent.glob(f".*.{state}") if name.fullmatch(found.name))


def _remove(path: Path) -> None:
    """Remove a file or a folder, as far as that is possible."""
    with suppress(OSError):
        if path.is_dir():
            shutil.rmtree(path)
        else:
            path.unlink(missing_ok=True)


def _sync_folder(folder: Path) -> None:
    """Make the new name safe from a crash, where the system and the disk can."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
