"""Replaces files and folders safely: the old one stays whole until the new one is complete and in its place.

A process that is killed leaves only hidden files beside them, which the next write ignores or removes.
"""

import os
import re
import shutil
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO

from streamnb.core.remote import uploading


@contextmanager
def replacing(path: Path | str) -> Iterator[IO[bytes]]:
    """Open a new file beside `path`, which replaces it once it is written and synced to disk; a str is a URL."""
    if isinstance(path, str):
        with uploading(path) as new:
            yield new
        return
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
    """Yield the path of a new folder beside `path`, which replaces it once it is complete.

    No system call exchanges two folders on every platform, so the old one has another name for a moment. If an error
    ends that moment, the old folder is put back; if the process ends in it, `put_back` does that.
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
    """Restore a folder that was being replaced when a process ended; remove the old one if the new one is in place."""
    path = path.resolve()
    for old in _left(path, "replaced"):
        if not path.exists():
            old.rename(path)
        else:
            _remove(old)


def remove_unfinished(path: Path) -> None:
    """Remove unfinished files of processes that were killed while they wrote this file."""
    for left in _left(path, "unfinished"):
        left.unlink(missing_ok=True)


def _beside(path: Path, state: str) -> Path:
    """A hidden path beside `path` that no other thread uses."""
    return path.with_name(f".{path.name}.{os.getpid()}.{threading.get_ident()}.{state}")


def _left(path: Path, state: str) -> list[Path]:
    """Paths that `_beside` has made for this path; longer names with the same start belong to other paths."""
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
    """Sync a folder, so that the new name survives a crash, where the system supports it."""
    with suppress(OSError):
        opened = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(opened)
        finally:
            os.close(opened)
