"""Tells what a file holds by its first bytes or its name, and opens it, compressed or not."""

import bz2
import gzip
import lzma
import os
import re
import zlib
from codecs import getincrementaldecoder
from collections.abc import Iterable
from typing import Any

HEAD = 1 << 12  # bytes that are inspected
REMOTE_BYTES = 8 << 20  # of a request to an object store
HDF5, PARQUET, IPC, CSV, JSON, LINES = "HDF5", "Parquet", "Arrow IPC", "CSV", "JSON lines", "lines"
SEQUENCES = "sequences"
WARC, FILES = "WARC", "files"  # documents: records of web archives, and files that are a row each
MAGIC = {b"\x89HDF": HDF5, b"PAR1": PARQUET, b"ARROW1": IPC}
COMPRESSED = {b"\x1f\x8b": "gzip", b"\x28\xb5\x2f\xfd": "zstd", b"BZh": "bzip2", b"\xfd7zXZ": "xz"}
ENDINGS = {
    **dict.fromkeys((".h5", ".hdf5", ".h5ad", ".loom"), HDF5),
    **dict.fromkeys((".parquet", ".pq"), PARQUET),
    **dict.fromkeys((".arrow", ".feather", ".ipc"), IPC),
    **dict.fromkeys((".csv", ".tsv"), CSV),
    **dict.fromkeys((".warc", ".wet"), WARC),
    **dict.fromkeys((".fasta", ".fa", ".fna", ".fastq", ".fq"), SEQUENCES),
    **dict.fromkeys((".jsonl", ".ndjson", ".json"), JSON),
}
DAMAGED = EOFError, zlib.error, lzma.LZMAError, OSError  # what reading a damaged file raises
TEXT_PACKED = {".gz": "gzip", ".zst": "zstd"}  # endings of compressed text files
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")
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
    HDF5: "pass an .h5ad file of AnnData under a path of this machine; of another file a dataset, read by h5py: "
    "h5py.File(path)['..'][:]",
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
    """The first bytes of a file; none of a folder, of a URL that is none, or where there is no file."""
    try:
        with raw_file(path) as file:
            return file.read(HEAD)
    except (OSError, ValueError, ImportError):
        return b""


def no_such_file(path: str, otherwise: str = "") -> FileNotFoundError:
    """The error for a path of tables, texts or sequences at which there is no local file."""
    if "://" in path:
        return FileNotFoundError(f"X={path!r} is not a local file: {_copied_first(path)}")
    return FileNotFoundError(f"X={path!r}: there is no such file{otherwise}")


def _copied_first(url: str) -> str:
    """How to use a file that is read from local disks only."""
    copy = f"fsspec.filesystem({url.partition('://')[0]!r}).get({url!r}, 'folder/')"
    return f"tables, texts and sequences are copied first, by {copy}; snb.write_predictions and snb.select read URLs"


def raw_file(path: Any) -> Any:
    """Open a file, here or at a URL that fsspec knows, to read its bytes as they are; a context manager."""
    if "://" not in os.fspath(path):
        return open(path, "rb", buffering=0)
    from fsspec.core import url_to_fs

    files, name = url_to_fs(path)
    return files.open(name, "rb", block_size=REMOTE_BYTES)


def size_of(path: str) -> int:
    """Bytes of a file, here or at a URL."""
    if "://" not in path:
        return os.path.getsize(path)
    from fsspec.core import url_to_fs

    files, name = url_to_fs(path)
    return int(files.size(name))


def packing_said(path: str) -> str | None:
    """How a text file is packed by its name; None if it is not."""
    return next((how for end, how in TEXT_PACKED.items() if path.endswith(end)), None)


def by_magic(head: bytes, kinds: dict[bytes, str]) -> str | None:
    """What a file is by its first bytes."""
    return next((kind for magic, kind in kinds.items() if head.startswith(magic)), None)


def by_name(path: str, packed: Iterable[str] = _PACKED) -> str | None:
    """What a file is by its name, before an extension that says how it is compressed."""
    name = _unpacked_name(path, packed)
    return next((kind for ending, kind in ENDINGS.items() if name.endswith(ending)), None)


def _unpacked_name(path: str, packed: Iterable[str]) -> str:
    name = path.lower().rstrip("/")
    return next((name.removesuffix(end) for end in packed if name.endswith(end)), name)


def kind_of(path: str) -> str | None:
    """What a file is, by its first bytes or else its name; None if it is not recognised."""
    head = head_of(path)
    if head.lstrip().startswith((b"{", b"[")):
        return JSON
    return by_magic(head, MAGIC) or (CSV if _is_csv(head) else by_name(path))


def unlike_zarr(path: Any) -> str | None:
    """A message that says what the file is and how to read it; None if it does not exist or is not recognised."""
    if not isinstance(path, str) or not (os.path.exists(path) or "://" in path):
        return None
    kind = kind_of(path)
    if kind == HDF5 and os.path.isfile(path) and not is_hdf5(path):
        return "is not an HDF5 file, as its name says; write it again, or rename it"
    if kind is None:
        return None
    return f"is {CALLED[kind]}, not a Zarr store; {_copied_first(path) if '://' in path else CURES[kind]}"


def with_sizes(paths: Iterable[str]) -> tuple[tuple[str, int], ...]:
    return tuple((path, size_of(path)) for path in paths)


def compression_of(path: Any) -> str | None:
    """How a file is compressed, by its first bytes; None if it is not."""
    with raw_file(path) as file:
        return by_magic(file.read(8), COMPRESSED)


def opened_file(path: Any) -> Any:
    """Open a file for reading, decompressed on the fly; a context manager."""
    packed = compression_of(path)
    if packed is None:
        return raw_file(path)
    here = os.fspath(path) if "://" not in os.fspath(path) else raw_file(path)
    if packed == "zstd":
        return pyarrow_for(".zst files").input_stream(here, compression="zstd")
    unpacked: Any = {"gzip": gzip.open, "bzip2": bz2.open, "xz": lzma.open}[packed]
    return unpacked(here)


def is_svmlight(path: Any) -> bool:
    """Whether a path is a svmlight file, compressed or not, by its name or its first line."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return False
    if _unpacked_name(os.fspath(path), _PACKED).endswith(_SVMLIGHT):
        return True
    try:
        with opened_file(path) as file:
            head = file.read(HEAD)
    except (*DAMAGED, ImportError):
        return False
    lines = (line for line in head.split(b"\n") if line.strip() and not line.startswith(b"#"))
    return any(_LINE.match(line) for _, line in zip(range(1), lines, strict=False))


def holds_numbers(path: Any) -> bool:
    """Whether a path holds numeric rows: a URL, a Zarr store, a svmlight or an HDF5 file."""
    path = os.fspath(path)
    store = any(os.path.exists(os.path.join(path, name)) for name in ("zarr.json", ".zgroup", ".zarray"))
    return "://" in path or store or is_svmlight(path) or is_hdf5(path)


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
