"""Scratch files on a local disk, which vanish with the process that writes them, however it ends."""

from __future__ import annotations

import os
import shutil
import tempfile
import threading
from contextlib import suppress
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from streamnb.core import messages
from streamnb.core.memory import check_memory_limit, size

VARIABLE = "STREAMNB_SCRATCH"
LIMIT = "100GB"
DEFAULT = "/var/tmp"  # for files too large for /tmp, which is often in memory
SPARE = 0.1  # of the disk's free space, which is left to others
ALIGNED = 64
IN_MEMORY = "tmpfs", "ramfs"
NETWORK = (
    *("nfs", "nfs4", "cifs", "smb3", "smbfs", "lustre", "gpfs", "beegfs", "ceph", "glusterfs", "9p", "afs", "panfs"),
    *("pvfs2", "orangefs", "wekafs", "fuse.sshfs", "fuse.glusterfs", "fuse.ceph-fuse", "fuse.s3fs", "fuse.gcsfuse"),
    *("fuse.goofys", "fuse.blobfuse2", "fuse.juicefs", "fuse.rclone"),
)


class _Settings:
    """The folder that was set, None for none, and the bytes that the files of this process may take and take now."""

    folder: Path | None = None
    limit: int = 100 * 10**9  # as LIMIT says, which takes an import of Dask to read
    used = 0
    warned_of: ClassVar[set[Path]] = set()  # folders
    lock = threading.RLock()  # the collector may free kept rows while a thread holds it


def set_scratch(path: Any = None, limit: Any = LIMIT) -> None:
    """Set the folder in which fits keep prepared rows on disk, and how much they may take.

    Files in it have no name: the system frees them when the fit or the process ends, even if it is killed. There is
    nothing to clean up, and several processes may share a folder.

    Parameters
    ----------
    path : path, optional
        A folder on a local disk, which is created if it is missing. None: the folder in the environment variable
        ``STREAMNB_SCRATCH``, or else ``/var/tmp``. A Dask worker uses its `local_directory` instead of ``/var/tmp``;
        ``client.run(snb.set_scratch, path)`` sets another folder.
    limit : int or str
        Bytes that all scratch files of this process may take, such as "100GB". A tenth of the free space is never used.

    Raises
    ------
    ValueError
        The folder is not writable, or the limit is not a number of bytes.

    Warns
    -----
    StreamnbWarning
        The folder is on a network disk, or in memory.

    Examples
    --------
    >>> import tempfile
    >>> import streamnb as snb
    >>> X, y = [[0.0], [0.0], [1.0], [1.0]], [0, 0, 1, 1]
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     snb.set_scratch(folder, limit="10GB")
    ...     model = snb.SoftmaxRegression().fit(lambda: iter([(X, y)]), keep="disk")
    >>> model.report_.reads - model.report_.reads_kept
    1
    >>> snb.set_scratch()  # the default again
    """
    most = check_memory_limit(LIMIT if limit is None else limit, "limit") or 0
    folder = None if path is None else Path(path)
    if folder is not None:
        try:
            folder.mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=folder).close()
        except OSError as error:
            raise ValueError(
                f"path={str(path)!r} cannot be written ({error.strerror or error}); give a folder on a local disk"
            ) from error
        _Settings.warned_of.discard(folder)
        _warn_of(folder)
    _Settings.folder, _Settings.limit = folder, most


def folder() -> Path:
    """The scratch folder: the one set, that of the environment, or the default."""
    default = DEFAULT if os.path.isdir(DEFAULT) else tempfile.gettempdir()
    return _Settings.folder or Path(os.environ.get(VARIABLE) or default)


def chosen_by_user() -> bool:
    """Whether the folder was set, here or in the environment."""
    return _Settings.folder is not None or bool(os.environ.get(VARIABLE))


def space(where: Path) -> int:
    """Bytes that may still be written to a folder; 0 where there is none."""
    try:
        free = int((1 - SPARE) * shutil.disk_usage(where).free)
    except OSError:
        return 0
    return max(min(free, _Settings.limit - _Settings.used), 0)


def drawback(where: Path, mounts: str = "/proc/self/mounts") -> str | None:
    """Why a folder does not suit scratch files, as far as its file system tells; None where it does."""
    kind = _file_system(os.path.realpath(where), mounts)
    if kind in NETWORK:
        return f"lies on a network disk ({kind})"
    return f"is in memory ({kind})" if kind in IN_MEMORY else None


def _warn_of(where: Path) -> None:
    """Warn once of a folder that does not suit."""
    if where not in _Settings.warned_of and (why := drawback(where)):
        _Settings.warned_of.add(where)
        messages.warn(f"the scratch folder {where} {why}; snb.set_scratch(path) sets another, on a local disk")


def _file_system(path: str, mounts: str) -> str | None:
    """The type of the file system that holds a path; None where the system does not say."""
    try:
        lines = [line.split() for line in Path(mounts).read_text().splitlines()]
    except OSError:  # not Linux
        return None
    points = {line[1].encode().decode("unicode_escape"): line[2] for line in lines}
    above = [point for point in points if path == point or path.startswith(point.rstrip("/") + "/")]
    return points[max(above, key=len)] if above else None


def checksum_of(parts: list[memoryview]) -> int:
    """The sum of all words of 8 bytes, which takes a quarter of the time of a CRC."""
    total = 0
    for part in parts:
        end = len(part) - len(part) % 8
        total += int(np.frombuffer(part[:end], np.uint64).sum()) + int.from_bytes(part[end:], "little")
    return total % 2**64


class ScratchFile:
    """A file without a name, to which records are appended, each with its checksum.

    All errors of disks are OSError, also that of a record that has changed.
    """

    def __init__(self, where: Path):
        if not hasattr(os, "pread"):  # Windows
            raise OSError("scratch files need a system that reads a file from several threads, as Linux and macOS do")
        where.mkdir(parents=True, exist_ok=True)
        _warn_of(where)
        self.where, self.nbytes = where, 0
        self._free = int((1 - SPARE) * shutil.disk_usage(where).free)
        self._file = tempfile.TemporaryFile(dir=where)  # noqa: SIM115 - closed by close()
        self._records: list[tuple[int, list[int], int]] = []  # offset, lengths of the parts, checksum

    def __len__(self) -> int:
        return len(self._records)

    def append(self, parts: list[memoryview]) -> None:
        """Write a record: parts, each of which begins at a multiple of ALIGNED bytes."""
        offset = self.nbytes
        padded = [part for each in parts for part in (each, memoryview(bytes(-len(each) % ALIGNED)))]
        n_bytes = sum(map(len, padded))
        if n_bytes > _Settings.limit - _Settings.used:
            raise OSError(f"scratch files would take more than the limit of {size(_Settings.limit)}")
        if n_bytes > self._free - self.nbytes:
            raise OSError(f"the disk of {self.where} has no space for more than {size(self._free)} of them")
        for part in padded:
            self._file.write(part)
        self._records.append((offset, list(map(len, parts)), checksum_of(parts)))
        self._take(n_bytes)

    def close_writing(self) -> None:
        """Pass everything on to the system."""
        self._file.flush()

    def read(self, number: int) -> list[memoryview]:
        """The parts of a record, in a buffer of their own."""
        offset, lengths, checksum = self._records[number]
        starts = [0]
        for length in lengths:
            starts.append(starts[-1] + length + -length % ALIGNED)
        record = self._bytes(offset, starts[-1])
        view = memoryview(record)
        parts = [view[start : start + length] for start, length in zip(starts, lengths, strict=False)]
        if checksum_of(parts) != checksum:
            raise OSError(f"a scratch file in {self.where} has changed at byte {offset}: its checksum is wrong")
        return parts

    def _bytes(self, offset: int, n_bytes: int) -> bytes:
        """Bytes of the file; not of a mapping, whose errors would end the process."""
        if self._file.closed:
            raise OSError(f"a scratch file in {self.where} is closed")
        parts: list[bytes] = []
        while n_bytes:  # the system reads at most 2 GB at once
            parts.append(os.pread(self._file.fileno(), n_bytes, offset))
            if not parts[-1]:
                raise OSError(f"a scratch file in {self.where} ends at byte {offset}")
            offset, n_bytes = offset + len(parts[-1]), n_bytes - len(parts[-1])
        return parts[0] if len(parts) == 1 else b"".join(parts)

    def _take(self, n_bytes: int) -> None:
        self.nbytes += n_bytes
        with _Settings.lock:
            _Settings.used += n_bytes

    def close(self) -> None:
        """Free the file."""
        self._take(-self.nbytes)
        self._records.clear()
        with suppress(OSError):  # what is still to be written may not fit
            self._file.close()
