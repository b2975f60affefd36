"""Files here and at URLs, through fsspec: read in ranges of bytes, and written whole or not at all.

Requests that fail for a while are tried again. A process that is killed leaves only hidden files beside those that it
writes, which the next write ignores or removes.
"""

import io
import logging
import os
import re
import shutil
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple, TypeVar

from streamnb.core.messages import DataError, unsigned
from streamnb.core.threads import in_order

T = TypeVar("T")
ATTEMPTS = 5  # in addition to those of the store's own client
PAUSE = 0.5  # seconds before the second attempt; doubled before each further one
LONGEST = 60.0  # seconds that a server may ask to wait for
FINAL = FileNotFoundError, PermissionError  # a retry would fail in the same way
_log = logging.getLogger("streamnb")
SMALL = 1 << 20  # bytes of a file that is fetched by one request
HERE = "file", "local", "memory"  # protocols of this machine, where no second attempt helps
WEB = "http", "https"
AT_ONCE, AHEAD_BYTES = 8, 4 << 20  # blocks of a file that is read from front to back
BUSY = 429, *range(500, 600)  # statuses of web servers that may answer later
PACKAGES = {
    **dict.fromkeys(WEB, "aiohttp"),
    **dict.fromkeys(("s3", "s3a"), "streamnb[s3]"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
}
# What lies in the folder of a table that keeps its history, the name of the format, and what reads the rows of today.
HISTORIES = {
    "/_delta_log/": ("Delta Lake", "deltalake.DeltaTable(folder).to_pyarrow_dataset() or polars.scan_delta(folder)"),
    ".metadata.json": ("Apache Iceberg", "polars.scan_iceberg(file), of its newest .metadata.json"),
    "/.hoodie/": ("Apache Hudi", "what its own library reads of it"),
}
VERSIONS = "ETag", "etag", "e_tag", "md5Hash", "LastModified", "Last-Modified", "last_modified", "mtime", "created"


def retried(action: Callable[[], T], what: Any, attempts: int, final: Any = FINAL) -> T:
    """Retry an action with growing pauses, up to `attempts` times; errors of type `final` are raised at once."""
    for attempt in range(1, attempts):
        try:
            return action()
        except final:
            raise
        except Exception as error:  # clients of object stores and clusters raise errors of any type
            _log.warning("%s: attempt %d of %d failed: %s", what, attempt, attempts, unsigned(repr(error)))
            time.sleep(max(PAUSE * 2 ** (attempt - 1), min(_asked_to_wait(error), LONGEST)))
    return action()


def _asked_to_wait(error: BaseException) -> float:
    """Seconds after which a web server that is busy will answer, as it says; 0 where it does not."""
    for each in (error, error.__cause__):
        said = (getattr(each, "headers", None) or {}).get("Retry-After", "")
        if said.isdigit():  # else a date
            return float(said)
    return 0.0


class StoredFile(NamedTuple):
    """A file as it was at some time; `version` tells an object at a URL from one that replaces it, if it is known."""

    path: str
    size: int
    version: str | None = None


def is_url(path: Any) -> bool:
    """Whether a path is a URL, such as s3://bucket/name."""
    return isinstance(path, str | os.PathLike) and "://" in os.fspath(path)


def file_system(url: str) -> tuple[Any, str]:
    """The file system of a URL, which fsspec opens, and the name that the file has there."""
    from fsspec.core import url_to_fs

    protocol = url.partition("://")[0]
    try:
        return url_to_fs(url)
    except ImportError as error:
        cure = f"; pip install {PACKAGES[protocol]}" if protocol in PACKAGES else ""
        raise ImportError(f"{url} needs another package: {error}{cure}") from error
    except ValueError as error:
        raise DataError(f"{url} is not a URL that fsspec can open ({error}), such as s3://.. or https://..") from error


def asked(request: Callable[[], T], url: str, doing: str = "read") -> T:
    """The answer to a request, which is made again if it fails."""
    attempts = 1 if url.partition("://")[0] in HERE else ATTEMPTS
    final = *FINAL, NotADirectoryError, DataError
    place = unsigned(url)
    try:
        return retried(partial(_answer, request), place, attempts, final)
    except (FileNotFoundError, NotADirectoryError) as error:
        what = "there is no such file" if doing == "read" else f"cannot be {doing}"
        raise FileNotFoundError(f"{place}: {what} ({unsigned(str(error.__cause__ or error))})") from error
    except PermissionError as error:
        raise PermissionError(f"{place}: access is denied ({unsigned(str(error))})") from error
    except DataError:
        raise
    except Exception as error:  # clients raise errors of any type
        raise DataError(f"{place} cannot be {doing} in {attempts} attempts ({unsigned(repr(error))})") from error


def _answer(request: Callable[[], T]) -> T:
    """The answer to one request; fsspec says of everything that fails on the web that there is no such file."""
    try:
        return request()
    except FileNotFoundError as error:
        cause = error.__cause__
        unreachable = isinstance(cause, OSError) and not isinstance(cause, FileNotFoundError)
        if unreachable or getattr(cause, "status", 0) in BUSY:
            raise ConnectionError(str(cause)) from cause
        raise


def _looked_up(url: str, look: Callable[[Any, str], T]) -> T:
    """What a file system says now; fsspec keeps older listings."""
    files, name = file_system(url)

    def ask() -> T:
        files.invalidate_cache()
        return look(files, name)

    return asked(ask, url)


def stored(url: str) -> StoredFile:
    """The file at a URL as it is now."""
    about = _looked_up(url, lambda files, name: files.info(name))
    if about["type"] == "directory":
        raise IsADirectoryError(f"{url} is a folder")
    version = next((str(about[key]) for key in VERSIONS if about.get(key)), None)
    return StoredFile(url, about["size"], version)


def exists(url: str) -> bool:
    """Whether there is a file at a URL."""
    try:
        stored(url)
    except (FileNotFoundError, IsADirectoryError, PermissionError):  # S3 denies what is missing to who may not list
        return False
    return True


def is_folder(url: str) -> bool:
    """Whether a URL is that of a folder; on the web, whether it ends like one."""
    if url.partition("://")[0] in WEB:
        return url.endswith("/")
    try:
        stored(url)
    except (FileNotFoundError, IsADirectoryError) as error:
        return isinstance(error, IsADirectoryError)
    return False


def check_no_history(folder: str, names: Iterable[str]) -> None:
    """Refuse the files of a table, some of which hold rows that have been changed or deleted since."""
    there = list(names)
    for mark, (kind, reader) in HISTORIES.items():
        if any(mark in name for name in there):
            raise DataError(
                f"{folder!r} is a table of {kind}, whose folder keeps rows that have been changed or deleted since; "
                f"pass {reader}"
            )


def listed(url: str) -> list[tuple[str, int]]:
    """The files that a URL or pattern names, or those below a folder, sorted, with their sizes; no hidden ones."""
    protocol, _, place = url.partition("://")
    pattern = any(sign in place for sign in ("*[" if protocol in WEB else "*?["))  # "?" begins the query of a URL
    if not pattern and not is_folder(url):
        return [(url, stored(url).size)]
    try:
        there = _looked_up(url, lambda files, name: (files.glob if pattern else files.find)(name, detail=True))
    except FileNotFoundError:
        return []
    check_no_history(url, there)
    folder = file_system(url)[1]
    found = []
    for one, about in sorted(there.items()):
        below = "/" + (one.rpartition("/")[2] if pattern else one.removeprefix(folder))
        if about["type"] != "file" or "/." in below or ("/_" in below and not pattern):
            continue
        place = one if "://" in one else f"{protocol}://{one}"
        found.append((place, stored(place).size if about["size"] is None else int(about["size"])))
    return found


def relative(url: str, folder: str) -> str:
    """The path of a listed file below a folder."""
    return file_system(url)[1].removeprefix(file_system(folder)[1]).lstrip("/")


class RemoteFile(io.RawIOBase):
    """The bytes of a file at a URL; `expected` is the file as it was before, which must not have changed."""

    def __init__(self, url: str, expected: StoredFile | None = None):
        self._files, self._name = file_system(url)
        self.stored = stored(url)
        if expected is not None and self.stored != expected:
            raise DataError(f"{unsigned(url)} has changed since it was opened; open it again")
        if self.stored.size is None:
            raise DataError(
                f"{unsigned(url)}: the server does not say how long the file is; download it and give its path"
            )
        self._at, self._whole = 0, b""

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        self._at = offset + {os.SEEK_SET: 0, os.SEEK_CUR: self._at, os.SEEK_END: self.stored.size}[whence]
        return self._at

    def tell(self) -> int:
        return self._at

    def readinto(self, buffer: Any) -> int:
        part = self.between(self._at, self._at + len(buffer))
        memoryview(buffer).cast("B")[: len(part)] = part
        self._at += len(part)
        return len(part)

    def readall(self) -> bytes:
        return self.read(self.stored.size - self._at)

    def between(self, start: int, stop: int) -> bytes:
        """The bytes of a range, up to the end of the file; threads may ask for several at a time."""
        stop = min(stop, self.stored.size)
        if start >= stop:
            return b""
        if self.stored.size <= SMALL:
            self._whole = self._whole or asked(partial(self._request, 0, self.stored.size), self.stored.path)
            return self._whole[start:stop]
        return asked(partial(self._request, start, stop), self.stored.path)

    def _request(self, start: int, stop: int) -> bytes:
        if self.stored.path.partition("://")[0] in WEB:
            file = self._files.open(self._name, size=self.stored.size, cache_type="none")
            file.seek(start)
            try:  # an open file refuses a server without ranges before it reads a long answer
                part: bytes = file.read(stop - start)
            except ValueError as error:
                raise DataError(
                    f"{unsigned(self.stored.path)}: the server gives whole files only, no ranges of bytes; download "
                    "the file and give its path"
                ) from error
        else:
            part = self._files.cat_file(self._name, start=start, end=stop)
        if len(part) != stop - start:
            raise DataError(f"{unsigned(self.stored.path)} is shorter than it was when it was opened")
        return part


class FileAhead(RemoteFile):
    """A file that is read from front to back: after the first block, several are asked for at a time."""

    _parts: Iterator[bytes] = iter(())
    _held, _end = memoryview(b""), -1

    def readinto(self, buffer: Any) -> int:
        if self._at != self._end:  # it is read from elsewhere on
            self._parts, self._held = self._blocks(self._at), memoryview(b"")
        out, n_read = memoryview(buffer).cast("B"), 0
        while n_read < len(out):
            self._held = self._held or memoryview(next(self._parts, b""))
            if not self._held:
                break
            part = self._held[: len(out) - n_read]
            out[n_read : n_read + len(part)] = part
            self._held, n_read = self._held[len(part) :], n_read + len(part)
        self._at = self._end = self._at + n_read
        return n_read

    def _blocks(self, start: int) -> Iterator[bytes]:
        starts = range(start, self.stored.size, AHEAD_BYTES)
        yield from map(self._block, starts[:1])
        yield from in_order(self._block, starts[1:], AT_ONCE)

    def _block(self, start: int) -> bytes:
        return self.between(start, start + AHEAD_BYTES)


@contextmanager
def downloaded(url: str) -> Iterator[IO[bytes]]:
    """A whole file at a URL, copied to a temporary one."""
    files, name = file_system(url)
    with TemporaryDirectory() as folder:  # Windows opens a file once only
        path = os.path.join(folder, "copy")
        asked(partial(files.get_file, name, path), url)
        with open(path, "rb") as file:
            yield file


@contextmanager
def uploading(url: str) -> Iterator[IO[bytes]]:
    """A new file, which is stored at a URL once it is written."""
    files, name = file_system(url)
    with TemporaryDirectory() as folder:
        path = os.path.join(folder, "copy")
        with open(path, "w+b") as file:
            yield file
        asked(partial(files.put_file, path, name), url, "written")


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
