"""Recognises files by their first bytes or their names, and opens them, compressed or not."""

import bz2
import io
import lzma
import os
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from functools import partial
from glob import glob, has_magic
from pathlib import Path
from typing import Any, TypeVar

from streamnb.core import stored_files
from streamnb.core.messages import DataError
from streamnb.core.stored_files import FileAhead, RemoteFile, StoredFile, is_url, listed
from streamnb.core.threads import in_order

T = TypeVar("T")
BOM = b"\xef\xbb\xbf"
HEAD = 1 << 12  # first bytes that are inspected
REMOTE_BYTES = 8 << 20  # of a request to an object store
REQUESTS = 16  # at the same time
HDF5, PARQUET, IPC, CSV, JSON, LINES = "HDF5", "Parquet", "Arrow IPC", "CSV", "JSON lines", "lines"
SEQUENCES = "sequences"
WARC, FILES = "WARC", "files"  # documents: records of web archives, and files that are a row each
MAGIC = {b"\x89HDF": HDF5, b"PAR1": PARQUET, b"ARROW1": IPC}
COMPRESSED = {b"\x1f\x8b": "gzip", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
COMPRESSED |= {b"\x28\xb5\x2f\xfd": "zstd", b"\x04\x22\x4d\x18": "lz4"}
SKIPPABLE = b"\x2a\x4d\x18"  # after a byte from 0x50 to 0x5f: a frame of zstd and lz4 that holds something else
MEMBERS: dict[str, Any] = {  # what unpacks a member of a file, of which it has one or several
    "gzip": partial(zlib.decompressobj, 31),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lzma.LZMADecompressor,
}
ENDINGS = {
    **dict.fromkeys((".h5", ".hdf5", ".h5ad", ".loom"), HDF5),
    **dict.fromkeys((".parquet", ".pq"), PARQUET),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), IPC),
    **dict.fromkeys((".csv", ".tsv"), CSV),
    **dict.fromkeys((".warc", ".wet"), WARC),
    **dict.fromkeys((".fasta", ".fa", ".fna", ".fastq", ".fq"), SEQUENCES),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), JSON),
}
WRITTEN_PARTS = {"parquet": ".parquet", "jsonl": ".jsonl", "jsonl.zst": ".jsonl.zst", "jsonl.gz": ".jsonl.gz"}
DAMAGED = EOFError, zlib.error, lzma.LZMAError, OSError  # what reading a damaged file raises
PACKED = {".gz": "gzip", ".bgz": "gzip", ".bz2": "bzip2", ".xz": "xz", ".zst": "zstd", ".lz4": "lz4"}  # by endings
UNPACKED_BYTES = 1 << 17  # of a file that is unpacked at once
_SVMLIGHT = ".svm", ".svmlight", ".libsvm"
_LINE = re.compile(rb"\s*[-+.\w,]*\s*(?:qid:\d+\s+)?\d+:[^\s:]+(?:\s|$)")  # the beginning of one
_TABLE = "open it with snb.table(path, y=..)"
_TEXTS = f'{_TABLE}, texts with snb.text(path, text="field", y=..); its name should end with what it is, such as'
CALLED = {
    HDF5: "an HDF5 file",
    PARQUET: "a Parquet file",
    IPC: "an Arrow IPC file",
    CSV: "a CSV file",
    JSON: "a JSON file",
    WARC: "a WARC file",
    SEQUENCES: "a file of sequences",
}
CURES = {
    HDF5: "pass an .h5ad file of AnnData; of another file a dataset, read by h5py: h5py.File(path)['..'][:]",
    PARQUET: _TABLE,
    IPC: _TABLE,
    CSV: f"{_TEXTS} .csv",
    SEQUENCES: "open it with snb.sequences(path, y=..)",
    WARC: "open its texts with snb.text(path)",
    JSON: f"{_TEXTS} .jsonl, a record a line",
}


def pyarrow_for(what: str) -> Any:
    """Import pyarrow, or say how to install it."""
    try:
        import pyarrow
    except ImportError as error:
        raise ImportError(f"{what} needs pyarrow: pip install streamnb[tables]") from error
    return pyarrow


def head_of(path: Any) -> bytes:
    """The first bytes of a file; empty if it cannot be opened, or is a store at a URL by its name."""
    if is_url(path) and _named_as_store(path):
        return b""
    try:
        with raw_file(path) as file:
            return file.read(HEAD)
    except (OSError, ValueError, ImportError):
        return b""


def _named_as_store(path: Any) -> bool:
    return os.fspath(path).rstrip("/").endswith(".zarr")


def no_such_file(path: str, otherwise: str = "") -> FileNotFoundError:
    """The error for a path of rows at which there is no file."""
    return FileNotFoundError(f"X={path!r}: there is no such file{'' if is_url(path) else otherwise}")


def listed_at(url: str) -> list[tuple[str, int]]:
    """The files that a URL or a pattern names, or those below a folder, sorted, with their sizes."""
    with _named():
        files = listed(url)
    if not files:
        raise no_such_file(url)
    return files


@contextmanager
def _named() -> Iterator[None]:
    """Name the argument in errors of URLs."""
    try:
        yield
    except (OSError, ImportError, DataError) as error:
        raise type(error)(f"X={error}") from error


def files_at(path: str, otherwise: str = "", recursive: bool = True) -> list[str]:
    """The files that a path, a URL or a pattern names, sorted; an error, with `otherwise` at its end, without any."""
    if is_url(path):
        return [file for file, _ in listed_at(path)]
    pattern = has_magic(path) and not os.path.exists(path)
    if pattern:
        check_no_history(os.path.dirname(path))
    files = [file for file in (sorted(glob(path, recursive=recursive)) if pattern else [path]) if os.path.isfile(file)]
    if not files:
        raise no_such_file(path, otherwise)
    return files


def files_in(folder: str) -> list[str]:
    """The files in a folder or below a URL, sorted; here without hidden ones, and those in hidden folders."""
    if is_url(folder):
        return files_at(folder)
    check_no_history(folder)
    inside = (path for path in sorted(Path(folder).rglob("*")) if path.is_file())
    hidden = ".", "_"
    return [str(path) for path in inside if not any(part.startswith(hidden) for part in path.relative_to(folder).parts)]


def check_no_history(folder: str) -> None:
    """Refuse a folder here of a table that keeps its history; one at a URL is refused when its files are listed."""
    with _named():
        stored_files.check_no_history(folder, map(str, Path(folder).glob("*/*")))


def is_folder(path: str) -> bool:
    """Whether a path or URL is a folder; False where that cannot be found out."""
    if not is_url(path):
        return os.path.isdir(path)
    try:
        return stored_files.is_folder(path)
    except (OSError, ImportError, DataError):  # opening it says what is wrong
        return False


def files_below(url: str) -> list[str]:
    """The files of a folder at a URL; none if its name has an ending, or it holds numbers."""
    has_ending = "." in url.rpartition("/")[2]
    return files_at(url) if not has_ending and is_folder(url) and not holds_numbers(url) else []


def holds_text_files(X: Any) -> bool:
    """Whether X is a path of plain text files by name: ".txt", compressed or not, a pattern or folders of them."""
    if not isinstance(X, str | os.PathLike):
        return False
    path = Path(X)
    if is_url(X):
        path = Path(without_query(next(iter(files_below(os.fspath(X))), os.fspath(X))))
    elif path.is_dir():
        path = next((file for file in (*path.glob("*"), *path.glob("*/*")) if file.is_file()), path)
    elif not path.is_file() and not has_magic(str(X)):
        return False
    return _unpacked_name(path.name).endswith(".txt")


def stored(path: Any) -> StoredFile:
    """A file as it is now, here or at a URL."""
    path = os.fspath(path)
    if not is_url(path):
        return StoredFile(path, os.path.getsize(path))
    with _named():
        return stored_files.stored(path)


def raw_file(path: Any, expected: StoredFile | None = None) -> Any:
    """Open a file to read its bytes, still compressed; a context manager. A file at a URL must be as `expected`."""
    return RemoteFile(os.fspath(path), expected) if is_url(path) else open(path, "rb", buffering=0)


def read_ahead(path: Any, expected: StoredFile | None = None) -> Any:
    """Open a file that is read from front to back; at a URL in blocks, several at a time."""
    return FileAhead(os.fspath(path), expected) if is_url(path) else raw_file(path, expected)


def in_blocks(path: Any, expected: StoredFile | None = None, block: int = REMOTE_BYTES) -> Any:
    """Open a file at a URL that is read in blocks of so many bytes, anywhere in it."""
    return io.BufferedReader(raw_file(path, expected), block)


def damaged(path: Any, error: BaseException, name: str = "X") -> DataError:
    """The error for a file whose reading raised one of `DAMAGED`; `name` is the argument that names the file."""
    return DataError(f"{name}={str(path)!r} is damaged or cut off ({error}); copy or pack it again")


def size_of(path: str) -> int:
    """Bytes of a file, here or at a URL."""
    return stored(path).size


def check_file(path: str, n_bytes: int) -> None:
    """Refuse, on a worker, a file that is not the one of the process where the pass began; URLs are checked as read."""
    if is_url(path):
        return
    if not os.path.isfile(path):
        raise DataError(f"a worker cannot open {path}; workers should reach files under the same path")
    if os.path.getsize(path) != n_bytes:
        raise DataError(f"a worker finds another {path}, not of {n_bytes} bytes; it should be the same for all")


def compression_by_name(path: str) -> str | None:
    """How a text file is compressed according to its name; None if it is not."""
    return PACKED.get(os.path.splitext(without_query(path))[1])


def without_query(path: str) -> str:
    """A path, or a web address without its query."""
    return path.partition("?")[0] if path.startswith(("http://", "https://")) else path


def by_magic(head: bytes, kinds: dict[bytes, str]) -> str | None:
    """The kind of a file by its first bytes."""
    return next((kind for magic, kind in kinds.items() if head.startswith(magic)), None)


def by_name(path: str) -> str | None:
    """The kind of a file by the ending of its name, before an ending for its compression."""
    name = _unpacked_name(path)
    return next((kind for ending, kind in ENDINGS.items() if name.endswith(ending)), None)


def _unpacked_name(path: str) -> str:
    name = without_query(path).lower().rstrip("/")
    rest, ending = os.path.splitext(name)
    return rest if ending in PACKED else name


def kind_of(path: str) -> str | None:
    """The kind of a file by its first bytes or else its name; None if it is not recognised."""
    head = head_of(path)
    if head.lstrip().startswith((b"{", b"[")):
        return JSON
    return by_magic(head, MAGIC) or (CSV if _is_csv(head) else by_name(path))


def unlike_zarr(path: Any) -> str | None:
    """A message that says what the file is and how to read it; None if it does not exist or is not recognised."""
    if not isinstance(path, str) or not (os.path.exists(path) or is_url(path)):
        return None
    kind = kind_of(path)
    if kind == HDF5 and os.path.isfile(path) and not is_hdf5(path):
        return "is not an HDF5 file, despite its name; write it again, or rename it"
    if kind is None:
        return None
    return f"is {CALLED[kind]}, not a Zarr store; {CURES[kind]}"


def of_each(function: Callable[[str], T], paths: Iterable[str], n_threads: int = 1) -> list[T]:
    """The results of a function for each file; at URLs in more threads, because requests take time."""
    paths = list(paths)
    n_threads = max(n_threads, REQUESTS * any(map(is_url, paths)))
    return list(in_order(function, paths, n_threads))


def with_sizes(paths: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple((file.path, file.size) for file in of_each(stored, paths))


def compression_of(path: Any) -> str | None:
    """How a file is compressed, by its first bytes; None if it is not."""
    return _head_and_packing(path)[1]


def compression_of_text(path: str) -> str | None:
    """How a file of text is compressed, None if it is not; refuse files of other kinds than their names say."""
    named, (head, packed) = compression_by_name(path), _head_and_packing(path)
    if named is not None and packed != named:
        raise DataError(f"{path} is not a {named} file, despite its name; it begins with the bytes {head!r}")
    other = by_magic(head, {**MAGIC, b"PK\x03\x04": "a zip"})
    if other is not None:
        raise DataError(f"{path} is {other}, not a text file; give JSON lines, CSV or lines of text")
    return packed


def _head_and_packing(path: Any) -> tuple[bytes, str | None]:
    """The first bytes of a file, after frames to be skipped, and how it is compressed."""
    with raw_file(path) as file:
        head, packed = file.read(8), None
        while head[1:4] == SKIPPABLE and head[0] >> 4 == 5:
            file.seek(int.from_bytes(head[4:], "little"), os.SEEK_CUR)
            head, packed = file.read(8), "zstd"
    return head, by_magic(head, COMPRESSED) or packed


def opened_file(path: Any) -> Any:
    """Open a file for reading, decompressed on the fly; a context manager."""
    return unpacked_file(path, compression_of(path))


def unpacked_file(path: Any, packed: str | None, expected: StoredFile | None = None) -> Any:
    """Open a file that is known to be compressed in this way, or not at all; see `raw_file`."""
    file = read_ahead(path, expected)
    if packed in MEMBERS:
        return io.BufferedReader(_Unpacked(file, MEMBERS[packed]), UNPACKED_BYTES)
    if packed is not None:
        return pyarrow_for(f"a {packed} file").input_stream(file, compression=packed)
    return file


class _Unpacked(io.RawIOBase):
    """The content of a compressed file."""

    def __init__(self, file: Any, new_member: Callable[[], Any]):
        self._file, self._parts, self._rest = file, _parts_of(file, new_member), memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        rest = self._rest or memoryview(next(self._parts, b""))
        n = min(len(rest), len(buffer))
        buffer[:n], self._rest = rest[:n], rest[n:]
        return n

    def close(self) -> None:
        self._file.close()
        super().close()


def _parts_of(file: Any, new_member: Callable[[], Any]) -> Iterator[bytes]:
    """Yield the content of all members of a file, also where zeros are between or after them, as tapes and xz have."""
    stored = file.read(UNPACKED_BYTES)
    while stored:
        member = new_member()
        while not member.eof:
            part = member.decompress(stored, UNPACKED_BYTES)
            stored = getattr(member, "unconsumed_tail", b"")
            if part:
                yield part
            elif not stored and not member.eof:
                stored = file.read(UNPACKED_BYTES)
                if not stored:
                    raise EOFError("it ends before what is compressed does")
        stored = member.unused_data.lstrip(b"\0")
        while not stored and (more := file.read(UNPACKED_BYTES)):
            stored = more.lstrip(b"\0")


def content_of(path: str, packed: str | None, name: str = "X") -> bytes:
    """The whole content of a file, decompressed; `name` is the argument that names it."""
    try:
        with unpacked_file(path, packed) as file:
            return b"".join(iter(lambda: file.read(1 << 20), b""))
    except DAMAGED as error:
        raise damaged(path, error, name) from error


def is_svmlight(path: Any) -> bool:
    """Whether a path is a svmlight file, compressed or not, by its name or its first line."""
    if not isinstance(path, (str, os.PathLike)) or not (is_url(path) or os.path.isfile(path)):
        return False
    if _unpacked_name(os.fspath(path)).endswith(_SVMLIGHT):
        return True
    if is_url(path) and (_named_as_store(path) or by_name(os.fspath(path))):  # without a request
        return False
    try:
        with opened_file(path) as file:
            head = file.read(HEAD)
    except (*DAMAGED, ImportError, DataError):
        return False
    first = next((line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#")), b"")
    return _LINE.match(first) is not None


def holds_numbers(path: Any) -> bool:
    """Whether a path holds numeric rows: a Zarr store, a svmlight or an HDF5 file."""
    path = os.fspath(path)
    if is_url(path) and by_name(path) not in (None, HDF5):
        return False
    exists = stored_files.exists if is_url(path) else os.path.exists
    is_store = without_query(path) == path and any(
        exists(f"{path.rstrip('/')}/{name}") for name in ("zarr.json", ".zgroup", ".zarray")
    )
    return is_store or is_svmlight(path) or is_hdf5(path)


def is_hdf5(path: Any) -> bool:
    """Whether a path is an HDF5 file, by its first bytes."""
    return isinstance(path, (str, os.PathLike)) and head_of(path).startswith(b"\x89HDF")


def _is_csv(head: bytes) -> bool:
    """Whether the first two lines have the same number of columns, and more than one."""
    try:
        lines = getincrementaldecoder("utf-8-sig")().decode(head).splitlines()[:2]  # it may end within a character
    except UnicodeDecodeError:
        return False
    return len(lines) == 2 and any(lines[0].count(mark) == lines[1].count(mark) > 0 for mark in ",;\t")
