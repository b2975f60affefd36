"""Scans that are broken off and go on: the same sums to the last bit, nothing read twice but what was in flight."""

import resource
import shutil
from collections import Counter
from pathlib import Path

import dask.array as da
import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import MemoryStore

import streamnb as snb
from streamnb.passes import checkpoint
from streamnb.passes.checkpoint import Checkpoint
from streamnb.passes.contract import Report
from streamnb.rows import row_blocks
from streamnb.rows.row_blocks import digest_of
from streamnb.stats.tables import Table
from tests.support import saved_kinds
from tests.support.clusters import cluster_of, watched
from tests.support.interrupted import OPTIONS
from tests.support.processes import python
from tests.support.refusals import cases, refused
from tests.support.stores import CountingStore
from tests.support.strategies import Rows, same_sums
from tests.support.zarr_stores import write_arrays

N_ROWS, N_CHUNKS, SAMPLES, KILLS = 1000, 50, 2, 7
AT_A_PLACE = 3 * (checkpoint.SAMPLE_ROWS * N_CHUNKS // N_ROWS + 2)  # chunks of data, indices and indptr

RNG = np.random.default_rng(0)
X = RNG.normal(size=(N_ROWS, 8)).astype(np.float32) * (RNG.random((N_ROWS, 8)) < 0.5)  # whose sums take pairs
ROWS = Rows(X, RNG.choice(["ash", "birch", "cedar"], N_ROWS), RNG.random(N_ROWS))


def dense(store, rows=ROWS):
    return zarr.create_array(store, data=rows.x, chunks=(N_ROWS // N_CHUNKS, 8))


def csr(store, rows=ROWS):
    return write_arrays(zarr.create_group(store), rows, chunk=np.count_nonzero(rows.x) // N_CHUNKS)


FORMS = {"dense": dense, "csr": csr}
forms = pytest.mark.parametrize("form", FORMS.values(), ids=FORMS)


@pytest.fixture(autouse=True)
def short(monkeypatch):
    """Small blocks, each followed by a checkpoint, and few places to look at."""
    monkeypatch.setattr(checkpoint, "SAMPLES", SAMPLES)
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 1 << 11)
    monkeypatch.setattr(checkpoint, "SECONDS", 0.0)
    monkeypatch.setattr(checkpoint, "SHARE", 0)


def alike(a, b):
    """Whether two statistics are equal to the last bit, and those of their folds."""
    names, parts = ("classes", "rows", *b.tables), zip([a, *a.folds], [b, *b.folds], strict=True)
    alike = (same_sums(one, {name: getattr(other, name) for name in names}) for one, other in parts)
    return a.tables.keys() == b.tables.keys() and all(alike)


class BrokenOff(Exception):
    pass


class FailingStore(CountingStore):
    """Stops the process, so to speak, once so many chunks were read."""

    most = None

    async def get(self, key, prototype, byte_range=None):
        if self.most is not None and sum(self.reads.values()) >= self.most:
            raise BrokenOff(key)
        return await super().get(key, prototype, byte_range)

    def _with_store(self, store):
        copy = super()._with_store(store)
        copy.most = self.most
        return copy


# ------------------------------------------------------------------------------------------------ killed for good


@pytest.mark.process
@pytest.mark.slow
def test_a_process_killed_at_any_moment_goes_on(tmp_path):
    csr(tmp_path / "store.zarr")
    np.save(tmp_path / "y.npy", ROWS.y)
    ran = python("-m", "tests.support.interrupted", tmp_path, KILLS, cwd=Path(__file__).parents[2])
    assert ran.returncode == 0, ran.stderr
    found, expected = sorted(tmp_path.glob("stats-*.snb")), snb.scan(ROWS.x, ROWS.y, **OPTIONS)
    assert all(alike(snb.load(path), expected) for path in found)
    assert len({0, *map(int, (tmp_path / "progress").read_text().split()), N_ROWS}) >= 4  # all along the way
    of_values = Counter(key for key in (tmp_path / "reads").read_text().split() if key.split("/")[0] in ("c", "data"))
    assert len(of_values) >= N_CHUNKS
    at_a_start = SAMPLES * AT_A_PLACE + 16  # chunks that tell the data, of the block in hand, and of the next
    assert sum(of_values.values()) <= len(found) * len(of_values) + (KILLS + len(found)) * at_a_start
    assert not list(tmp_path.glob(".*unfinished"))


# -------------------------------------------------------------------------------------------- broken off in here


@forms
def test_a_scan_that_fails_goes_on_and_reads_only_what_is_left(form, tmp_path):
    inner = MemoryStore()
    form(inner)
    n_chunks = sum("c/" in key and not key.startswith("y/") for key in inner._store_dict)
    options = {"checkpoint": tmp_path / "c.snb", "sample_weight": ROWS.w, "folds": 3, "seed": 1}
    failing, healthy = FailingStore(inner), CountingStore(inner)
    failing.most = 0.5 * n_chunks + SAMPLES * AT_A_PLACE
    with pytest.raises((BrokenOff, snb.DataError)):
        snb.scan(zarr.open(failing, mode="r"), ROWS.y, **options)
    done = snb.load(tmp_path / "c.snb").report.rows
    assert 0 < done < N_ROWS
    assert alike(
        snb.scan(zarr.open(healthy, mode="r"), ROWS.y, **options),
        snb.scan(ROWS.x, ROWS.y, sample_weight=ROWS.w, folds=3, seed=1),
    )
    left = (1.0 - done / N_ROWS) * n_chunks
    assert sum(healthy.reads.values()) <= left + SAMPLES * AT_A_PLACE + 10


@forms
def test_a_complete_scan_is_not_repeated(form, tmp_path):
    store = CountingStore(MemoryStore())
    form(store)
    X, path = zarr.open(store, mode="r"), tmp_path / "c.snb"
    first = snb.scan(X, ROWS.y, checkpoint=path)
    written, store.reads = path.read_bytes(), Counter()
    assert alike(snb.scan(zarr.open(store, mode="r"), ROWS.y, checkpoint=path), first)
    assert path.read_bytes() == written
    assert sum(store.reads.values()) <= SAMPLES * AT_A_PLACE


def break_off_after(n_writings, monkeypatch):
    """End the next scan when it has written its checkpoint so often; those after it do not end early."""
    add, left = Checkpoint.add, iter(range(n_writings))

    def add_and_count(self, *part):
        add(self, *part)
        if next(left, None) == n_writings - 1:
            raise BrokenOff

    monkeypatch.setattr(Checkpoint, "add", add_and_count)


def test_sums_of_few_rows_take_little_room(tmp_path):
    """As dense tables they would be 32 MB for each part of the scan."""
    rng = np.random.default_rng(0)
    x, y = sp.random_array((300, 20_000), density=0.001, format="csr", rng=rng), rng.integers(0, 200, 300)
    stats = snb.scan(x, y, moments=["sum"], checkpoint=tmp_path / "c.snb")
    assert (tmp_path / "c.snb").stat().st_size < 1_000_000
    assert np.array_equal(stats.sum, snb.scan(x, y).sum) and isinstance(stats.table("sum"), Table)


@pytest.mark.cluster
def test_workers_go_on_where_workers_or_this_process_ended(tmp_path, monkeypatch):
    csr(tmp_path / "store.zarr")
    options = {"X": tmp_path / "store.zarr", "y": ROWS.y, "folds": 3, "checkpoint": tmp_path / "c.snb"}
    expected = snb.scan(ROWS.x, ROWS.y, folds=3)
    monkeypatch.setattr(row_blocks, "SEGMENT_BYTES", 1 << 10)
    with cluster_of(2, tmp_path / "workers", processes=False) as client:
        break_off_after(2, monkeypatch)
        with pytest.raises(BrokenOff):
            snb.scan(**options)  # here
        for last in (5, 9):
            before = snb.load(tmp_path / "c.snb").report
            break_off_after(last, monkeypatch)
            watched(client)
            with pytest.raises(BrokenOff):
                snb.scan(**options, client=client)
            after = snb.load(tmp_path / "c.snb").report
            assert before.rows < after.rows < N_ROWS
        assert alike(snb.scan(**options, client=client), expected)
        assert alike(snb.scan(**options, client=client), expected)
        with refused(ValueError, "y had other values;"):
            snb.scan(**{**options, "y": Y}, client=client)
    assert snb.load(tmp_path / "c.snb").report.rows == N_ROWS


# ------------------------------------------------------------------------------------------------- other scans

CHANGED = ROWS.x + (np.arange(8 * N_ROWS).reshape(N_ROWS, 8) == 8 * N_ROWS - 5)
Y = ROWS.y.copy()
Y[17] = "ash" if Y[17] != "ash" else "birch"
WEIGHT = ROWS.w.copy()
WEIGHT[5] = 0.5
NAMES = [*np.unique(ROWS.y).tolist(), *(f"m{i}" for i in range(99))]
DIFFERENCES = {
    "rows": ({"X": ROWS.x[:-1], "y": ROWS.y[:-1], "sample_weight": ROWS.w[:-1]}, "shape of X", "1000", "999"),
    "features": ({"X": ROWS.x[:, 1:]}, "shape of X", "8", "7"),
    "values": ({"X": CHANGED}, "rows of X had other values;"),
    "one label": ({"y": Y}, "scan: y had other values;"),
    "one weight": ({"sample_weight": WEIGHT}, "sample_weight had other values;"),
    "no weights": ({"sample_weight": None}, "sample_weight was given and is none;"),
    "many classes": ({"classes": NAMES}, "classes was None and is .*'m1', .*[.][.];"),
    "moments": ({"moments": ["sum"]}, "moments", "sum_sq"),
    "transform": ({"transform": "binary"}, "transform", "None", "binary"),
    "binarize": ({"binarize": 0.25}, "binarize", "0.25"),
    "folds": ({"folds": 3}, "folding", "n_folds=3"),
    "seed": ({"seed": 7}, "folding", "seed=7"),
    "classes": ({"classes": ["ash", "birch", "cedar", "yew"]}, "classes", "yew"),
    "groups": ({"groups": np.arange(N_ROWS)}, "groups"),
}


def scanned(path, **changes):
    options = {"X": ROWS.x, "y": ROWS.y, "sample_weight": ROWS.w, "folds": 2} | changes
    return snb.scan(**options, checkpoint=path)


def begun(path, monkeypatch):
    """Break a scan off, and return how many rows are done."""
    break_off_after(3, monkeypatch)
    with pytest.raises(BrokenOff):
        scanned(path)
    return snb.load(path).report.rows


@cases(DIFFERENCES)
def test_a_checkpoint_of_another_scan_is_refused_and_the_difference_named(case, tmp_path, monkeypatch):
    changes, *words = case
    begun(tmp_path / "c.snb", monkeypatch)
    before = (tmp_path / "c.snb").read_bytes()
    with refused(ValueError, "checkpoint", "c.snb", "another scan", "remove", *words):
        scanned(tmp_path / "c.snb", **changes)
    assert (tmp_path / "c.snb").read_bytes() == before


def test_labels_of_rows_that_are_done_are_compared_each_and_no_others(tmp_path, monkeypatch):
    done, y = begun(tmp_path / "c.snb", monkeypatch), ROWS.y.copy()
    y[done:] = np.roll(y[done:], 1)
    for row in (0, done // 2, done - 1):
        with refused(ValueError, "scan: y had other values;"):
            scanned(tmp_path / "c.snb", y=np.where(np.arange(N_ROWS) == row, "larch", y))
    assert alike(scanned(tmp_path / "c.snb", y=y, n_threads=1), snb.scan(ROWS.x, y, sample_weight=ROWS.w, folds=2))


def test_labels_are_read_with_their_rows_alone(tmp_path):
    store = CountingStore(MemoryStore())
    n_chunks = csr(store)["y"].nchunks
    store.reads.clear()
    snb.scan(zarr.open(store, mode="r"), "y", checkpoint=tmp_path / "c.snb")
    assert sum(n for key, n in store.reads.items() if key.startswith("y/c/")) < 1.5 * n_chunks


LABELS = np.random.default_rng(0).integers(0, 3, 40_000)
COLUMNS = [LABELS, LABELS + 0.5, np.array(["", "ash", "é"])[LABELS], sp.csr_array(np.eye(3)[LABELS])]


@pytest.mark.parametrize("rows", COLUMNS, ids=["whole", "numbers", "texts", "sets"])
def test_digests_add_up_and_tell_rows_that_change_places(rows):
    whole, by_dtype = digest_of(rows, 9), {"i": "i1", "f": "f4", "U": "U9"}
    others = [digest_of(rows[np.arange(40_000) ^ 1], 9), digest_of(rows[::-1], 9), digest_of(rows, 10), whole]
    assert len({other % 2**64 for other in others}) == 4
    for cut in (0, 1, 20_000):
        assert (digest_of(rows[:cut], 9) + digest_of(rows[cut:], 9 + cut) - whole) % 2**64 == 0
    assert digest_of(rows.astype(by_dtype[rows.dtype.kind]), 9) == whole


def test_a_checkpoint_of_an_earlier_release_is_refused(tmp_path):
    shutil.copy(saved_kinds.HERE / "v2-checkpoint.snb", tmp_path / "c.snb")
    with refused(ValueError, "the way of summing was number 1 and is number 2;", "remove the file"):
        saved_kinds.stats(folds=2, checkpoint=tmp_path / "c.snb")


def test_what_differs_beyond_what_is_shown_is_named(tmp_path):
    scanned(tmp_path / "c.snb", classes=NAMES)
    with refused(ValueError, "classes had other values than .*'m1', .* further on;"):
        scanned(tmp_path / "c.snb", classes=[*NAMES, "n"])


def test_the_last_rows_of_a_store_of_few_chunks_are_looked_at(tmp_path):
    changed = ROWS.x.copy()
    changed[-1] += 1.0
    of_one_chunk = [zarr.create_array(MemoryStore(), data=x, chunks=x.shape) for x in (ROWS.x, changed)]
    scanned(tmp_path / "c.snb", X=of_one_chunk[0])
    with refused(ValueError, "rows of X had other values"):
        scanned(tmp_path / "c.snb", X=of_one_chunk[1])


def test_a_store_of_other_chunks_is_another_scan(tmp_path):
    scanned(tmp_path / "c.snb", X=dense(MemoryStore()))
    other = zarr.create_array(MemoryStore(), data=ROWS.x, chunks=(500, 8))
    with refused(ValueError, "chunks", "20, 8", "500, 8"):
        scanned(tmp_path / "c.snb", X=other)


def test_a_table_of_other_row_groups_is_the_same_scan(tmp_path):
    y = np.append(np.arange(3999) % 5, 300)  # the last block alone has a label of more than a byte
    for n_rows in (4000, 1000):
        pq.write_table(pa.table({"a": np.arange(4000.0), "y": y}), tmp_path / "t.parquet", row_group_size=n_rows)
        table = snb.table(tmp_path / "t.parquet", y="y", bins=None)
        assert snb.scan(table, moments=["sum"], checkpoint=tmp_path / "part.snb").n_rows == 4000


def test_another_model_is_another_scan(tmp_path):
    x = np.abs(ROWS.x)
    snb.LinearNB("poisson").fit(x, ROWS.y, checkpoint=tmp_path / "c.snb")
    with refused(ValueError, "another scan", "geometric", "poisson"):
        snb.LinearNB(snb.Geometric()).fit(x, ROWS.y, checkpoint=tmp_path / "c.snb")


# --------------------------------------------------------------------------------------------- files and mistakes


def test_a_damaged_checkpoint_is_refused(tmp_path):
    path = tmp_path / "c.snb"
    scanned(path)
    content = path.read_bytes()
    for damaged in (content[: len(content) // 2], content[:500] + b"\x01" + content[501:], b""):
        path.write_bytes(damaged)
        with refused(snb.DataError, "checkpoint", "c.snb", "remove"):
            scanned(path)
        assert path.read_bytes() == damaged


def test_a_file_of_something_else_is_never_overwritten(tmp_path):
    path = tmp_path / "model.snb"
    snb.LinearNB("gaussian").fit(ROWS.x, ROWS.y).save(path)
    with refused(snb.DataError, "checkpoint", "LinearNB", "another"):
        scanned(path)
    assert snb.load(path).n_features_in_ == 8


def test_places_that_cannot_be_written_are_refused_before_anything_is_read(tmp_path):
    store = CountingStore(MemoryStore())
    dense(store)
    store.reads.clear()
    with pytest.raises(OSError, match=r"nowhere.*cannot be written"):
        scanned(tmp_path / "nowhere" / "c.snb", X=zarr.open(store, mode="r"))
    assert sum(store.reads.values()) <= SAMPLES * AT_A_PLACE
    with refused(OSError, "folder"):
        (tmp_path / "folder").mkdir()
        scanned(tmp_path / "folder")
    with refused(TypeError, "checkpoint=True", "path"):
        scanned(True)


def test_a_disk_that_is_full_ends_the_scan_and_leaves_the_last_checkpoint(tmp_path):
    """A limit on the size of files stands for the disk."""
    path, limits = tmp_path / "c.snb", resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (3000, limits[1]))
    try:
        with pytest.raises(OSError, match=r"c\.snb cannot be written"):
            scanned(path)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, limits)
    assert snb.load(path).done == []
    assert [found.name for found in tmp_path.iterdir()] == ["c.snb"]
    assert alike(scanned(path), snb.scan(ROWS.x, ROWS.y, sample_weight=ROWS.w, folds=2))


UNREADABLE = {
    "iterator": (lambda: iter([(ROWS.x, ROWS.y)]), "stream", "write_csr"),
    "callable": (lambda: lambda: iter([(ROWS.x, ROWS.y)]), "stream", "write_csr"),
    "dask": (lambda: da.from_array(ROWS.x, chunks=(100, 8)), "Dask", "Zarr"),
}


@cases(UNREADABLE)
def test_rows_that_cannot_be_read_again_are_refused(case, tmp_path):
    make, *words = case
    with refused(ValueError, "checkpoint", *words):
        snb.scan(make(), None if "stream" in words else ROWS.y, checkpoint=tmp_path / "c.snb")
    assert not list(tmp_path.iterdir())


# ----------------------------------------------------------------------------------------------- what is done


@given(ranges=st.lists(st.lists(st.integers(0, 30), min_size=2, max_size=2).map(sorted), max_size=6), data=st.data())
def test_what_remains_and_what_is_done_are_all_rows_once(ranges, data, tmp_path_factory):
    taken, parts = set(), []
    for start, stop in ranges:
        if start < stop and taken.isdisjoint(range(start, stop)):
            taken |= set(range(start, stop))
            parts.append((start, stop))
    path = tmp_path_factory.mktemp("done") / "c.snb"
    held = Checkpoint({}, [], None, Report(), path)
    while parts:
        n = data.draw(st.integers(1, len(parts)))
        rows = np.concatenate([np.arange(*part) for part in parts[:n]])
        held.add(snb.scan(ROWS.x[rows], ROWS.y[rows]), Report(), [(*part, {}) for part in parts[:n]])
        parts = parts[n:]
    if taken:
        held = snb.load(path)
        assert alike(held.stats, snb.scan(ROWS.x[sorted(taken)], ROWS.y[sorted(taken)]))
    segments = [(0, 7), (7, 20), (20, 30)]
    left = [row for part in held.remaining(segments) for row in range(*part)]
    assert left == sorted(set(range(30)) - taken)
    assert all(a[1] < b[0] for a, b in zip(held.done, held.done[1:]))
