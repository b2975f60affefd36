"""Checkpoints of a long pass, which only a pass over the same data resumes."""

import re
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import takewhile
from pathlib import Path
from typing import Any, Self

import numpy as np

from streamnb.core import persistence
from streamnb.core.messages import DataError
from streamnb.core.stored_files import remove_unfinished
from streamnb.passes import stopping
from streamnb.passes.contract import PassTask, Report
from streamnb.rows.row_blocks import Block, digest_of
from streamnb.rows.source import Source

SECONDS = 10.0  # between two writes: at most so much work is lost
SHARE = 50  # the next write waits this many times as long as the last one took: a fiftieth of the time at most
SAMPLES = 8  # positions at which rows are read to recognise the data
SAMPLE_ROWS = 64
SUMS = 2  # raised when a new version of the code computes other sums or digests

Range = tuple[int, int]  # rows [start, stop)
PartDone = tuple[int, int, dict[str, int]]  # rows [start, stop), and digests of their labels, weights and splits


@persistence.register
@dataclass
class Checkpoint:
    """The state of a pass that is not finished; `snb.load` reads one that was written.

    Attributes
    ----------
    about : dict of str
        The data and the task as text, and digests of labels and other columns of the rows that are done.
    done : list of (start, stop)
        The ranges of rows that are done, sorted and disjoint.
    stats : ClassStats or another total, or None
        The total of these rows; None while there are none. A total of a class that `load` does not know is a dict of
        its arrays by name.
    report : Report
        Of the work so far.
    """

    about: dict[str, str]
    done: list[Range]
    stats: Any
    report: Report
    path: Path = Path()
    task: PassTask = field(default_factory=PassTask)  # the task that is resumed

    def __post_init__(self) -> None:
        self._written, self._cost = time.monotonic(), 0.0

    @classmethod
    def open(cls, path: Any, task: PassTask, source: Source) -> Self:
        """Read the checkpoint of the same data and task, or write a new one if there is no such file.

        Raises
        ------
        ValueError
            The file is a checkpoint of another pass: the message says what differs.
        DataError
            It is damaged, or no checkpoint.
        OSError
            It cannot be written.
        """
        about, path = description(task, source), persistence.check_path("checkpoint", path)
        remove_unfinished(path)
        if not path.exists():
            self = cls(about, [], None, Report(), path, task)
            self._write()
            return self
        try:
            self = persistence.load(path, cls)
        except DataError as error:
            raise DataError(f"checkpoint: {error}; remove the file to start anew, or name another") from error
        self.path, self.task = path, task
        self._check(_with_digests(about, _parts(source, self.done)))
        if self.stats is not None and not persistence.registered(self.stats):
            self.stats = task.total(self.stats)
        return self

    def _check(self, about: dict[str, str]) -> None:
        for name in {**self.about, **about}:
            there, here = self.about.get(name, "none"), about.get(name, "none")
            if there != here:
                raise ValueError(
                    f"checkpoint={str(self.path)!r} is of another scan: {_difference(name, there, here)}; "
                    "remove the file to start anew, or name another"
                )

    def remaining(self, ranges: Iterable[Range]) -> list[Range]:
        """The parts of these ranges of rows that are not done yet."""
        left = list(ranges)
        for start, stop in self.done:
            cut = [((a, min(b, start)), (max(a, stop), b)) for a, b in left]
            left = [part for parts in cut for part in parts if part[0] < part[1]]
        return left

    @property
    def total(self) -> tuple[Any, Report]:
        """The total of all rows, and the report."""
        return self.task.unpacked(self.stats), self.report

    @property
    def due(self) -> bool:
        """True if it is time to `add` the rows done since the last write."""
        return stopping.requested.is_set() or time.monotonic() - self._written >= max(SECONDS, SHARE * self._cost)

    def add(self, total: Any, report: Report, parts: Sequence[PartDone]) -> None:
        """Add the total of some rows, none of which was added before, and write the file."""
        began = time.monotonic()
        self.done = _merged([*self.done, *(part[:2] for part in parts)])
        self.about = _with_digests(self.about, parts)
        more = self.task.packed(total)
        self.stats = more if self.stats is None else self.task.packed(self.stats + more)
        self.report = self.report + replace(report, seconds=time.monotonic() - self._written)
        self._write()
        self._cost = self._written - began  # with the sum

    def _write(self) -> None:
        persistence.save(self.path, self)
        self._written = time.monotonic()

    def _to_state(self) -> dict[str, Any]:
        done = np.array(self.done, np.int64).reshape(-1, 2)
        known = self.stats is None or persistence.registered(self.stats)
        stats = self.stats if known else dict(self.stats.arrays())
        return {"about": self.about, "done": done, "stats": stats, "report": asdict(self.report)}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        form = {"about": dict[str, str], "done": "i8[n_ranges, 2]", "stats": Any, "report": dict[str, Any]}
        about, done, stats, report = persistence.parts(cls, state, **form)
        if (np.diff(done.reshape(-1)) <= 0).any():
            raise ValueError("the ranges of rows should be disjoint and sorted")
        return cls(about, list(map(tuple, done.tolist())), stats, persistence.restored(Report, report))


def checkpoint_folder(given: Any) -> Path | None:
    """The folder for the checkpoints of several passes, created if it does not exist."""
    if given is None:
        return None
    folder = persistence.check_path("checkpoint", given)
    if folder.exists() and not folder.is_dir():
        raise ValueError(f"checkpoint={str(folder)!r} is a file; several reads keep a folder: name another")
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _merged(ranges: Iterable[Range]) -> list[Range]:
    """The same rows in as few ranges as possible, sorted."""
    merged: list[Range] = []
    for start, stop in sorted(ranges):
        if merged and merged[-1][1] == start:
            start = merged.pop()[0]
        if start < stop:
            merged.append((start, stop))
    return merged


# ---- the data and the task of a pass ---------------------------------------------------------------------------------


def description(task: PassTask, source: Source) -> dict[str, str]:
    """A description of a pass, by which it is recognised: its parameters, the layout of X and some rows."""
    about = {"the way of summing": f"number {SUMS}", **task.about()}
    about["the shape of X"] = repr((source.n_rows, source.n_features))
    return about | source.layout() | {"the rows of X": f"{_samples(source) % 2**64:016x}"}


def _difference(name: str, *texts: str) -> str:
    """How two descriptions differ, for a message; digests, which mean nothing to a reader, are left out."""
    was, now = (re.sub(r"^[0-9a-f]{16}$", "given", re.sub(r" \([0-9a-f]{16}\)$", "", text)) for text in texts)
    if was != now:
        return f"{name} was {was} and is {now}"
    return f"{name} had other values" if was == "given" else f"{name} had other values than {was[:-2]} further on"


def _with_digests(about: dict[str, str], parts: Iterable[PartDone]) -> dict[str, str]:
    """A description with the digests of more rows."""
    about = dict(about)
    for part in parts:
        for name, digest in part[2].items():
            about[name] = f"{(int(about.get(name, '0'), 16) + digest) % 2**64:016x}"
    return about


def part_of(block: Block) -> PartDone:
    """The rows of a block, with digests of the columns beside them."""
    columns = {"y": block.y, "sample_weight": block.weight, "groups or folds": block.split}
    digests = {name: digest_of(column, block.first_row) for name, column in columns.items() if column is not None}
    return block.first_row, block.stop, digests


def _parts(source: Source, done: list[Range]) -> Iterator[PartDone]:
    """The rows that are done, with digests of columns as the source has them now."""
    end = max((stop for _, stop in done), default=0)
    for block in takewhile(lambda block: block.first_row < end, source.row_columns()):
        parts = [(max(start, block.first_row), min(stop, block.stop)) for start, stop in done]
        yield from (part_of(block.cut(start, stop)) for start, stop in parts if start < stop)


def _samples(source: Source) -> int:
    """A digest of rows from a few positions, including the first and last row; few compared with a whole pass."""
    assert source.n_rows is not None
    found, n_rows = 0, source.n_rows
    n_places = min(max(n_rows // (4 * source.rows_near(1)), 2), SAMPLES)  # a chunk is read at each
    for start in np.linspace(0, max(n_rows - SAMPLE_ROWS, 0), n_places).astype(int).tolist():
        for block in source.blocks(start, min(start + SAMPLE_ROWS, n_rows)):
            parts: Any = (block.X,)
            if isinstance(block.X, tuple):  # CSR, whose offsets depend on how rows that are kept were cut
                data, indices, indptr, _ = block.X
                parts = data, indices, np.diff(indptr)
            found += sum(digest_of(part, block.first_row) for part in parts if hasattr(part, "dtype"))
    return found
