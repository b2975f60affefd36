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
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import IO, Any, NamedTuple, TypeVar

from streamnb.core.messages import DataError, unsigned

T = TypeVar("T")
ATTEMPTS = 3  # in addition to those of the store's own client
PAUSE = 0.5  # seconds before the second attempt; doubled before each further one
FINAL = FileNotFoundError, PermissionError  # a retry would fail in the same way
_log = logging.getLogger("streamnb")
SMALL = 1 << 20  # bytes of a file that is fetched by one request
HERE = "file", "local", "memory"  # protocols of this machine, where no second attempt helps
WEB = "http", "https"
BUSY = 429, *range(500, 600)  # statuses of web servers that may answer later
PACKAGES = {
    **dict.fromkeys(WEB, "aiohttp"),
    **dict.fromkeys(("s3", "s3a"), "streamnb[s3]"),
    **dict.fromkeys(("gs", "gcs"), "gcsfs"),
    **dict.fromkeys(("az", "abfs", "abfss"), "adlfs"),
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
            time.sleep(PAUSE * 2 ** (attempt - 1))
    return action()


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
        self._at, self._whole, self._on_web = 0, b"", None
        if url.partition("://")[0] in WEB:
            self._on_web = self._files.open(self._name, size=self.stored.size, cache_type="none")

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
        part = self._between(self._at, min(self._at + len(buffer), self.stored.size))
        memoryview(buffer).cast("B")[: len(part)] = part
        self._at += len(part)
        return len(part)

    def readall(self) -> bytes:
        return self.read(self.stored.size - self._at)

    def _between(self, start: int, stop: int) -> bytes:
        """The bytes of a range."""
        if start >= stop:
            return b""
        if self.stored.size <= SMALL:
            self._whole = self._whole or asked(partial(self._request, 0, self.stored.size), self.stored.path)
            return self._whole[start:stop]
        return asked(partial(self._request, start, stop), self.stored.path)

    def _request(self, start: int, stop: int) -> bytes:
        if self._on_web is not None:  # an open file refuses a server without ranges before it reads a long answer
            self._on_web.seek(start)
            try:
                part: bytes = self._on_web.read(stop - start)
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
