"""The files of a corpus, and the parts in which they are read: small files together, large ones in several pieces."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from streamnb.core.messages import DataError
from streamnb.core.stored_files import is_url
from streamnb.rows.files import (
    CSV,
    FILES,
    IPC,
    JSON,
    LINES,
    MAGIC,
    PARQUET,
    TEXT_PACKED,
    WARC,
    by_magic,
    by_name,
    compression_of,
    files_at,
    head_of,
    listed_at,
    no_such_file,
    with_sizes,
)

PART_BYTES = 64 << 20  # stored bytes of files that are read as one part, or of a piece of a larger file
DIVISIBLE = JSON, LINES, PARQUET, IPC  # kinds that are read from any place on; quoted fields of CSV may span lines
Files = list[tuple[str, int]]  # paths and sizes


@dataclass(frozen=True)
class CorpusPart:
    """Rows that are read and written together: those of some files, or one of several pieces of a file."""

    number: int
    files: tuple[str, ...] = ()
    piece: int = 0
    n_pieces: int = 1

    def __str__(self) -> str:
        return f"part {self.number}, of {self.files[0]}"


def files_of(X: Any) -> Files:
    """The files of a path, pattern, folder or URL, or of several, sorted within each."""
    several = isinstance(X, list | tuple)
    if not several and not isinstance(X, str | os.PathLike):
        raise TypeError(
            f"X is of type {type(X).__name__}; it should be a path, a pattern such as 'crawl/*.jsonl.zst', a folder, "
            "or a list of these"
        )
    found = [file for one in (X if several else [X]) for file in _files(os.fspath(one))]
    if not found:
        raise ValueError("X=[] names no file")
    return found


def _files(path: str) -> Files:
    if is_url(path):
        return listed_at(path)
    if not os.path.isdir(path):
        return list(with_sizes(map(os.path.abspath, files_at(path))))
    inside = (file for file in sorted(Path(path).rglob("*")) if file.is_file())
    hidden = ".", "_"
    found = [str(file) for file in inside if not any(part.startswith(hidden) for part in file.relative_to(path).parts)]
    if not found:
        raise no_such_file(path)
    return list(with_sizes(map(os.path.abspath, found)))


def kind_of_files(files: Files, whole_files: bool = False) -> str:
    """What all files are: lines, JSON lines, CSV, Parquet, Arrow IPC, WARC, or with `whole_files` a row each."""
    if whole_files:
        return FILES
    kinds = {path: by_name(path, TEXT_PACKED) or LINES for path, _ in files}
    first = files[0][0]
    for path, kind in kinds.items():
        if kind != kinds[first]:
            raise DataError(f"{path} is {kind}, but {first} is {kinds[first]}; give files of one format")
    kind = kinds[first]
    if kind not in (LINES, JSON, CSV, PARQUET, IPC, WARC):
        raise DataError(f"{first} is {kind}; a corpus is of JSON lines, CSV, text, Parquet, Arrow IPC or WARC files")
    other = by_magic(head_of(first), MAGIC)
    if other is not None and other != kind:
        raise DataError(f"{first} is {other}, unlike its name; rename it")
    return kind


def parts_of(files: Files, kind: str) -> list[CorpusPart]:
    """The parts in which files are read; they depend on the names and sizes of the files alone."""
    groups: list[tuple[list[str], int]] = []
    together = 0
    for path, size in files:
        n_pieces = max(-(-size // PART_BYTES), 1) if kind in DIVISIBLE and size > PART_BYTES else 1
        if n_pieces > 1 and kind in (JSON, LINES) and compression_of(path) is not None:
            n_pieces = 1  # a packed file is read from its beginning
        if groups and n_pieces == groups[-1][1] == 1 and together + size <= PART_BYTES:
            groups[-1][0].append(path)
            together += size
        else:
            groups.append(([path], n_pieces))
            together = size
    pieces = [(tuple(paths), k, n) for paths, n in groups for k in range(n)]
    return [CorpusPart(number, *piece) for number, piece in enumerate(pieces)]
