"""Identifies a file by its first bytes or its name, and says how to open what is not a Zarr store."""

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
_HDF5 = "an HDF5"
_TABLE = "open it with snb.table(path, y=..)"
_TEXTS = f'{_TABLE}, texts with snb.text(path, text="field", y=..); its name should end with what it is, such as'
CURES = {
    _HDF5: "pass an .h5ad file of AnnData under a path of this machine; of another file a dataset, read by h5py: "
    "h5py.File(path)['..'][:]",
    "a Parquet": _TABLE,
    "a CSV": f"{_TEXTS} .csv",
    "a JSON": f"{_TEXTS} .jsonl, a record a line",
}
_SVMLIGHT = ".svm", ".svmlight", ".libsvm"
_LINE = re.compile(rb"\s*[-+.\w,]*\s*(?:qid:\d+\s+)?\d+:[^\s:]+(?:\s|$)")  # the beginning of one
_MAGIC = {b"\x89HDF": _HDF5, b"PAR1": "a Parquet", b"{": "a JSON", b"[": "a JSON"}
_ENDINGS = {
    _HDF5: (".h5", ".hdf5", ".h5ad", ".loom"),
    "a Parquet": (".parquet", ".pq"),
    "a CSV": (".csv", ".tsv"),
    "a JSON": (".json", ".jsonl", ".ndjson"),
}
_OPENERS: dict[bytes, Any] = {b"\x1f\x8b": gzip.open, b"BZh": bz2.open, b"\xfd7zXZ": lzma.open}
_PACKED = (".gz", ".bz2", ".xz", ".zst", ".zip")


def unlike_zarr(path: Any) -> str | None:
    """A message that says what the file is and how to read it; None if it does not exist or is not recognised."""
    if not isinstance(path, str) or not (os.path.exists(path) or "://" in path):
        return None
    kind = kind_of(path)
    if kind == _HDF5 and os.path.isfile(path) and not is_hdf5(path):
        return "is not an HDF5 file, as its name says; write it again, or rename it"
    return None if kind is None else f"is {kind} file, not a Zarr store; {CURES[kind]}"


def kind_of(path: str) -> str | None:
    """The kind of file, with its article, by its first bytes or else its name; None if it is not recognised."""
    try:
        with open(path, "rb") as file:
            head = file.read(HEAD)
    except OSError:  # a folder, or a URL
        head = b""
    magic = next((kind for begins, kind in _MAGIC.items() if head.lstrip().startswith(begins)), None)
    if magic or _is_csv(head):
        return magic or "a CSV"
    name = unpacked_name(path, _PACKED)
    return next((kind for kind, endings in _ENDINGS.items() if name.endswith(endings)), None)


def opener(path: Any) -> Any:
    """A function like `open` that decompresses the file, chosen by its first bytes; None if it is not compressed."""
    with open(path, "rb") as file:
        head = file.read(8)
    return next((unpacking for magic, unpacking in _OPENERS.items() if head.startswith(magic)), None)


def unpacked_name(path: str, packed: Iterable[str]) -> str:
    """The name of a file in lower case, without the extension of its compression."""
    name = path.lower().rstrip("/")
    return next((name.removesuffix(end) for end in packed if name.endswith(end)), name)


def is_svmlight(path: Any) -> bool:
    """Whether a path is a svmlight file, compressed or not, by its name or its first line."""
    if not isinstance(path, (str, os.PathLike)) or not os.path.isfile(path):
        return False
    if unpacked_name(os.fspath(path), _PACKED).endswith(_SVMLIGHT):
        return True
    try:
        with (opener(path) or open)(path, "rb") as file:
            head = file.read(HEAD)
    except (OSError, EOFError, zlib.error, lzma.LZMAError):
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
    if not isinstance(path, (str, os.PathLike)):
        return False
    try:
        with open(path, "rb") as file:
            return file.read(4) == b"\x89HDF"
    except OSError:
        return False


def _is_csv(head: bytes) -> bool:
    """Whether the first two lines have the same number of columns, and more than one."""
    try:
        lines = getincrementaldecoder("utf-8-sig")().decode(head).splitlines()[:2]  # it may end within a character
    except UnicodeDecodeError:
        return False
    return len(lines) == 2 and any(lines[0].count(mark) == lines[1].count(mark) > 0 for mark in ",;\t")
