"""A billion rows through the real pipeline: `python -m benchmarks.billion FOLDER [RUN ..] [--rows N]`.

Files are real and so is every read: a store, a table or a folder of lines has up to a thousand distinct chunks, encoded
as users' are, and all others are hard links to these. 39 billion nonzeros then take 3 GB of a disk, and the reader,
who does not know, decodes each of them. The sums are known exactly: those of the distinct rows, times whole numbers.

Each run is a process of its own with two threads. It prints rows and values a second and core (CPU seconds, decoding
included), the peak of the memory, reads, seconds outside of reads, and whether sums and counters are exact.

With `--kills N` a run keeps checkpoints, is killed at N random moments and begun again each time. Printed are the share
of the CPU seconds of a run without checkpoints that writing takes, the size of the files, and the seconds of work that
kills cost. The model in the end has the same bits as one that was never killed.
"""

import argparse
import hashlib
import json
import multiprocessing
import os
import re
import shutil
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import scipy.sparse as sp
import zarr

import streamnb as snb
from streamnb.passes import run as running
from streamnb.passes.checkpoint import Checkpoint
from streamnb.passes.contract import Report
from streamnb.rows.zarr_reading import Clock

FIELDS, N_FEATURES = 39, 2**20  # as click logs have, hashed
WIDTH = N_FEATURES // FIELDS
CHUNK = 2**20  # nonzeros of a chunk, as `write_csr` makes them, and rows of the smallest part that repeats
DENSE_ROWS, DENSE_COLUMNS = 2**14, 100
FILE_ROWS, DISTINCT_FILES = 250_000, 20
THREADS = 2


# ---- input -----------------------------------------------------------------------------------------------------------


def clicks(n_rows: int, n_classes: int, seed: int) -> tuple[sp.csr_array, np.ndarray]:
    """Rows of 39 categories, frequent ones in front, and a class that the first of them tell about."""
    rng = np.random.default_rng(seed)
    columns = (rng.random((n_rows, FIELDS), np.float32) ** 4 * WIDTH).astype(np.int32)
    told = columns[:, 0] * 7 + columns[:, 1] + (rng.random(n_rows) < 0.3) * rng.integers(0, n_classes, n_rows)
    columns += np.arange(FIELDS, dtype=np.int32) * WIDTH
    ends = np.arange(n_rows + 1, dtype=np.int64) * FIELDS
    values = np.ones(n_rows * FIELDS, np.uint8)
    x = sp.csr_array((values, columns.reshape(-1), ends), shape=(n_rows, N_FEATURES))
    return x, (told % n_classes).astype(np.int16)


def repeat(array: Path, n_distinct: int, n_whole: int) -> None:
    """Give an array of `n_distinct` values as many as `n_whole`, a multiple; further chunks are links to the first."""
    said = json.loads((array / "zarr.json").read_text())
    (length, *_), grid = said["shape"], said["chunk_grid"]["configuration"]["chunk_shape"]
    if length != n_distinct or length % grid[0] or n_whole % length:
        raise ValueError(f"{array.name} has {length} values in chunks of {grid[0]}, which do not repeat to {n_whole}")
    chunks, tail = length // grid[0], "/0" * (len(grid) - 1)
    for k in range(chunks, n_whole // grid[0]):
        target = array / f"c/{k}{tail}"
        target.parent.mkdir(parents=True, exist_ok=True)
        os.link(array / f"c/{k % chunks}{tail}", target)
    said["shape"][0] = n_whole
    (array / "zarr.json").write_text(json.dumps(said))


def write_clicks(folder: Path, n_rows: int, n_classes: int = 2) -> int:
    """A CSR store; returns its number of rows, a multiple of those that are distinct."""
    n_distinct = min(25, n_rows // CHUNK) * CHUNK  # 25 x 39 chunks of nonzeros
    n_times = n_rows // n_distinct
    pieces = (clicks(CHUNK, n_classes, seed) for seed in range(n_distinct // CHUNK))
    snb.write_csr(folder, pieces, n_features=N_FEATURES)
    of_few = zarr.open_array(folder / "indptr")
    shutil.rmtree(folder / "indptr")
    n_rows = n_distinct * n_times
    for name, length in (("data", FIELDS), ("indices", FIELDS), ("y", 1)):
        repeat(folder / name, n_distinct * length, n_rows * length)
    group = zarr.open_group(folder)
    ends = group.create_array(
        "indptr", shape=(n_rows + 1,), chunks=of_few.chunks, dtype="int64", compressors=of_few.compressors
    )
    for start in range(0, n_rows + 1, CHUNK * 16):
        ends[start : start + CHUNK * 16] = np.arange(start, min(start + CHUNK * 16, n_rows + 1)) * FIELDS
    group.attrs["shape"] = [n_rows, N_FEATURES]
    return n_rows


def write_dense(folder: Path, n_rows: int) -> int:
    """An array of float32 and its labels."""
    n_distinct = min(1000, n_rows // DENSE_ROWS) * DENSE_ROWS
    group = zarr.create_group(folder)
    x = group.create_array("X", shape=(n_distinct, DENSE_COLUMNS), chunks=(DENSE_ROWS, DENSE_COLUMNS), dtype="float32")
    y = group.create_array("y", shape=(n_distinct,), chunks=(DENSE_ROWS,), dtype="int8")
    slopes = np.random.default_rng(0).normal(size=DENSE_COLUMNS).astype(np.float32)
    for start in range(0, n_distinct, DENSE_ROWS):
        rng = np.random.default_rng(start)
        values = rng.normal(size=(DENSE_ROWS, DENSE_COLUMNS)).astype(np.float32)
        x[start : start + DENSE_ROWS] = values
        y[start : start + DENSE_ROWS] = values @ slopes + 5 * rng.logistic(size=DENSE_ROWS) > 0
    n_rows = n_rows // n_distinct * n_distinct
    repeat(folder / "X", n_distinct, n_rows)
    repeat(folder / "y", n_distinct, n_rows)
    return n_rows


def linked(folder: Path, n_rows: int, write: Callable[[Path, np.random.Generator], None], ending: str) -> int:
    """A folder of files of 250,000 rows, twenty of which are distinct."""
    folder.mkdir()
    n_files = n_rows // FILE_ROWS
    for k in range(n_files):
        path = folder / f"{k:05}{ending}"
        if k < DISTINCT_FILES:
            write(path, np.random.default_rng(k))
        else:
            os.link(folder / f"{k % DISTINCT_FILES:05}{ending}", path)
    return n_files * FILE_ROWS


def loans(path: Path, rng: np.random.Generator) -> None:
    """A Parquet file of ten columns, of numbers and of categories, and a label."""
    numbers = {f"x{k}": rng.normal(size=FILE_ROWS).astype(np.float32).round(3) for k in range(6)}
    categories = {f"c{k}": rng.integers(0, 4 * 3**k, FILE_ROWS).astype(str) for k in range(4)}
    score = (
        np.sin(2 * numbers["x0"]) + numbers["x1"] ** 2 - 1 + (categories["c0"] == "2") + rng.logistic(size=FILE_ROWS)
    )
    pq.write_table(pa.table({**numbers, **categories, "late": score > 0}), path)


def tickets(path: Path, rng: np.random.Generator) -> None:
    """JSON lines of twelve words and a topic of ten."""
    topic = rng.integers(0, 10, FILE_ROWS)
    words = (rng.random((FILE_ROWS, 12)) ** 3 * 20_000).astype(int) + (rng.random((FILE_ROWS, 12)) < 0.2) * topic[
        :, None
    ]
    with open(path, "w") as file:
        for k, row in zip(topic, words, strict=True):
            file.write(f'{{"text": "{" ".join(f"w{word}" for word in row)}", "topic": {k}}}\n')


# ---- runs ------------------------------------------------------------------------------------------------------------


class Run(NamedTuple):
    """What is run on which input, of how many values a row."""

    write: Callable[[Path, int], int]
    fit: Callable[..., Any]  # of the path, with options of `fit`
    n_values: int
    share: float = 1.0  # of the rows that were asked for


def fitted(estimator: Any, path: Path, y: str = "y", **options: Any) -> Any:
    return estimator.fit(path, y, n_threads=THREADS, progress=False, **options)


def counted(path: Path, **options: Any) -> Any:
    """A scan of counts; each sum is that of the distinct rows, times a whole number, exactly."""
    model = fitted(snb.LinearNB("multinomial"), path, **options)
    stats, n_rows = model.stats_, zarr.open_group(path)["y"].shape[0]
    times = n_rows // (min(25, n_rows // CHUNK) * CHUNK)
    sums = np.asarray(stats.sum)
    if stats.n_rows != n_rows or sums.sum() != n_rows * FIELDS or (sums % times).any() or model.report_.rows != n_rows:
        raise ValueError(f"sums of {stats.n_rows:,} of {n_rows:,} rows are not exact: {sums.sum():,.0f}")
    return model


def judged(path: Path, **options: Any) -> Any:
    """An evaluation with intervals, of a model of a sample."""
    group = zarr.open_group(path)
    model = snb.SoftmaxRegression().fit(group["X"][:20_000], group["y"][:20_000])
    began = time.perf_counter()
    judged = snb.evaluate(model, path, "y", interval=0.95, **options)
    model.report_ = Report(judged.n_rows, seconds=time.perf_counter() - began, reads=1)
    return model


RUNS = {
    "LinearNB, clicks": Run(write_clicks, counted, FIELDS),
    "LinearNB, clicks of 1,000 classes": Run(partial(write_clicks, n_classes=1000), counted, FIELDS, 0.1),
    "LinearNBCV, clicks": Run(
        write_clicks,
        partial(fitted, snb.LinearNBCV("multinomial", snb.TopK([10**k for k in range(2, 6)]))),
        FIELDS,
        0.1,
    ),
    "SoftmaxRegression, clicks": Run(write_clicks, partial(fitted, snb.SoftmaxRegression()), FIELDS, 0.1),
    "LinearNB, dense": Run(write_dense, partial(fitted, snb.LinearNB("gaussian")), DENSE_COLUMNS, 0.2),
    "SoftmaxRegression, dense": Run(write_dense, partial(fitted, snb.SoftmaxRegression()), DENSE_COLUMNS, 0.05),
    "Ridge, dense": Run(write_dense, partial(fitted, snb.Ridge()), DENSE_COLUMNS, 0.05),
    "evaluate, dense": Run(write_dense, judged, DENSE_COLUMNS, 0.1),
    "AdditiveClassifier, Parquet": Run(
        partial(linked, write=loans, ending=".parquet"), partial(fitted, snb.AdditiveClassifier(), y="late"), 10, 0.02
    ),
    "LinearNB, JSON lines": Run(
        partial(linked, write=tickets, ending=".jsonl"),
        lambda path, **options: fitted(snb.LinearNB(), snb.text(f"{path}/*.jsonl", "text", y="topic"), None, **options),
        12,
        0.05,
    ),
}


class Cost(NamedTuple):
    """What a run took: seconds outside of reads are `seconds` less `reading`, `writing` those of its checkpoints."""

    rows: int
    reads: int
    reading: float
    cpu: float
    seconds: float
    writing: float
    peak: float
    bits: str


def child(sender: Any, name: str, path: Path, options: dict[str, Any]) -> None:
    """One run; says when it begins, and sends its cost."""
    writing = Clock()
    for owner, function in ((Checkpoint, "open"), (Checkpoint, "add"), (running, "part_of")):
        setattr(owner, function, watched(getattr(owner, function), writing))
    sender.send(None)
    began, cpu = time.perf_counter(), time.process_time()
    model = RUNS[name].fit(path, **options)
    used = time.process_time() - cpu, time.perf_counter() - began
    peak = int(re.search(r"VmHWM:\s+(\d+)", Path("/proc/self/status").read_text())[1]) / 2**10  # Linux
    report, bits = model.report_, hashlib.sha256(np.ascontiguousarray(model.coef_)).hexdigest()
    sender.send(Cost(report.rows, report.reads, report.seconds, *used, writing.seconds, peak, bits))


def watched(function: Callable, clock: Clock) -> Callable:
    def run(*arguments: Any) -> Any:
        with clock:
            return function(*arguments)

    return run


@contextmanager
def begun(name: str, path: Path, **options: Any) -> Iterator[tuple[Any, Any]]:
    """A process in which a run has just begun, and what receives its cost."""
    receiver, sender = multiprocessing.get_context("spawn").Pipe(duplex=False)
    process = multiprocessing.get_context("spawn").Process(target=child, args=(sender, name, path, options))
    process.start()
    sender.close()
    receiver.recv()
    yield process, receiver
    process.join()


def cost(name: str, path: Path, **options: Any) -> Cost:
    with begun(name, path, **options) as (_, receiver):
        return receiver.recv()


HEAD = (
    "| | rows | reads | seconds | CPU seconds | million values a second and core | peak MiB | seconds outside reads |\n"
    "| --- | --- | --- | --- | --- | --- | --- | --- |"
)


def measured(name: str, path: Path, n_rows: int) -> str:
    """A row of the table."""
    used = cost(name, path)
    speed, outside = used.rows * RUNS[name].n_values / used.cpu / 1e6, used.seconds - used.reading
    return (
        f"| {name} | {n_rows:,} | {used.reads} | {used.seconds:.0f} | {used.cpu:.0f} | {speed:,.0f} | "
        f"{used.peak:,.0f} | {outside:.1f} |"
    )


# ---- checkpoints -----------------------------------------------------------------------------------------------------


def saved(files: Path) -> float:
    """Seconds of work that checkpoints hold."""
    paths = sorted(files.rglob("*.snb")) if files.is_dir() else [files]
    return sum(snb.load(path).report.seconds for path in paths if path.exists())


def killed(name: str, path: Path, files: Path, seconds: float) -> float:
    """Kill a run after so many seconds; return those of work that are lost."""
    before = saved(files)
    with begun(name, path, checkpoint=files) as (process, receiver):
        if receiver.poll(seconds):
            return 0.0  # it was faster
        process.kill()
    return max(seconds - (saved(files) - before), 0.0)


HEAD_OF_KILLS = (
    "| | seconds | writing checkpoints | MB | seconds lost by kills | the same bits |\n"
    "| --- | --- | --- | --- | --- | --- |"
)


def with_kills(name: str, path: Path, n_kills: int) -> str:
    """A row of the table of checkpoints."""
    moments, plain = np.random.default_rng(0).uniform(0, 2, n_kills) / n_kills, cost(name, path)
    with tempfile.TemporaryDirectory(dir=path.parent) as folder:
        whole = cost(name, path, checkpoint=Path(folder) / "whole.snb")
        files = Path(folder) / "killed.snb"
        lost = [killed(name, path, files, moment * whole.seconds) for moment in moments]
        size = sum(file.stat().st_size for file in [*files.rglob("*"), files] if file.is_file())
        again = cost(name, path, checkpoint=files)
    same = plain.bits == whole.bits == again.bits
    lost_at, share = ", ".join(f"{seconds:.1f}" for seconds in sorted(lost)), whole.writing / whole.seconds
    return f"| {name} | {whole.seconds:.0f} | {share:.1%} | {size / 1e6:,.1f} | {lost_at} | {same} |"


def main(arguments: list[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path, help="for the input, which is kept there for the next time")
    parser.add_argument("runs", nargs="*", metavar="RUN", help="all unless given: " + "; ".join(RUNS))
    parser.add_argument("--rows", type=float, default=1e9, help="of the largest; others have a share of them")
    parser.add_argument("--kills", type=int, default=0, help="how often runs with checkpoints are killed")
    options = parser.parse_args(arguments)
    print(HEAD_OF_KILLS if options.kills else HEAD)
    for name in options.runs or RUNS:
        run = RUNS[name]
        n_rows = int(options.rows * run.share)
        path = options.folder / f"{name.split(', ')[1].replace(' ', '-')}-{n_rows}"
        kept = path.parent / f"{path.name}.rows"  # the number of rows, once all of them are there
        if not kept.exists():
            shutil.rmtree(path, ignore_errors=True)
            path.parent.mkdir(parents=True, exist_ok=True)
            kept.write_text(str(run.write(path, n_rows)))
        n_rows = int(kept.read_text())
        row = with_kills(name, path, options.kills) if options.kills else measured(name, path, n_rows)
        print(row, flush=True)


if __name__ == "__main__":
    main()
