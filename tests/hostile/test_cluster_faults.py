"""What may befall a cluster in the middle of a scan: the same bits in the end, or an error that names the rows."""

import os
import signal
import threading
import time

import numpy as np
import pytest
import zarr
from zarr.storage import LocalStore

import streamnb as snb
from fuzz import lost_workers
from streamnb.passes.contract import RunOptions
from streamnb.passes.dask_workers import on_workers
from streamnb.rows import in_arrays, opening, row_blocks
from streamnb.rows.preparing import RowOptions
from streamnb.scanning.class_scan import ClassScan
from tests.support.clusters import SlowStore, cluster_of, in_thread, n_tasks, rows_in_store, until, workers_of
from tests.support.processes import PATIENCE
from tests.support.strategies import same_stats

pytestmark = [pytest.mark.cluster, pytest.mark.process, pytest.mark.slow]


@pytest.fixture(autouse=True)
def small_segments(monkeypatch):
    monkeypatch.setattr(row_blocks, "SEGMENT_BYTES", 20_000)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows") / "rows.zarr"
    x, y = rows_in_store(folder, n_rows=12_000, whole=False)
    group = zarr.create_group(folder.parent / "chunked.zarr")  # so many chunks that every segment has its own
    for name, values in {"data": x.data, "indices": x.indices, "indptr": x.indptr}.items():
        group.create_array(name, data=values, chunks=(1500,), config={"write_empty_chunks": True})
    group.create_array("y", data=np.unique(y, return_inverse=True)[1], chunks=(500,))
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(x.shape)})
    return folder.parent / "chunked.zarr"


@pytest.fixture(scope="module")
def expected(folder):
    return snb.scan(folder, "y")


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two workers, which come again when they end."""
    with cluster_of(2, tmp_path_factory.mktemp("workers"), memory_limit="800MB") as client:
        yield client


def slowly(folder, before):
    return SlowStore(LocalStore(folder), 0.02, before)


class Waits:
    """Waits with the last chunk, so that no scan ends before this context does."""

    def __init__(self, path):
        self.begun, self.ended = path.with_suffix(".begun"), path.with_suffix(".ended")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ended.touch()

    def __call__(self, key):
        if key == "data/c/47":
            self.begun.touch()
            until(self.ended.exists)


def worker_with_work(client):
    """The address and process of a worker that holds results and has more to do."""

    def find(dask_scheduler):
        return [w.address for w in dask_scheduler.workers.values() if w.has_what and w.processing]

    address = until(lambda: client.run_on_scheduler(find))[0]
    return address, client.run(os.getpid, workers=[address])[address]


def killed(client):
    os.kill(worker_with_work(client)[1], signal.SIGKILL)


def out_of_memory(client):
    address, _ = worker_with_work(client)
    hog = client.submit(take_memory, workers=[address], priority=100, pure=False)
    until(lambda: address not in workers_of(client))
    hog.release()


def take_memory():
    """More than the worker may have, until its nanny ends the process."""
    held = np.ones(100_000_000)
    time.sleep(PATIENCE)
    del held


@pytest.mark.parametrize("lost", [killed, out_of_memory])
def test_a_worker_lost_in_the_middle_of_a_scan_changes_no_bit(lost, client, folder, expected, tmp_path):
    client.wait_for_workers(2)
    waiting = Waits(tmp_path / "lost")
    with in_thread(snb.scan, slowly(folder, waiting), "y") as out, waiting:
        lost(client)
    assert same_stats(out[0], expected)


def test_a_worker_that_is_retired_hands_on_what_it_holds(folder, expected, tmp_path):
    waiting = Waits(tmp_path / "retired")
    with cluster_of(2, tmp_path) as client, in_thread(snb.scan, slowly(folder, waiting), "y") as out, waiting:
        client.retire_workers([worker_with_work(client)[0]])
    assert same_stats(out[0], expected)


def test_workers_lost_in_the_first_second_of_scans_change_no_bit(client, tmp_path):
    assert [found for _, found in lost_workers.scans(client, tmp_path, 5)] == [None] * 5


class Ends:
    """Ends the process that reads a chunk, as a fault of its memory would."""

    def __init__(self, key):
        self.key = key

    def __call__(self, key):
        if key == self.key:
            os._exit(1)


def test_rows_that_kill_every_worker_are_named(folder, expected, tmp_path):
    with cluster_of(1, tmp_path, allowed_failures=0) as client:
        with pytest.raises(RuntimeError, match=r"^scan of rows \d+ to \d+: the cluster gave the task up"):
            snb.scan(slowly(folder, Ends("data/c/3")), "y")
        until(lambda: n_tasks(client) == 0)
        client.wait_for_workers(1)
        assert same_stats(snb.scan(folder, "y"), expected)  # and it goes on


class Forgetful(in_arrays.ZarrCSRSource):
    """Loses the last block of every range: what must not go unnoticed."""

    def blocks(self, start=0, stop=None):
        yield from list(super().blocks(start, stop))[:-1]


def test_rows_that_get_lost_on_a_worker_are_noticed(client, folder):
    source = opening.opened(folder, "y")
    source.__class__ = Forgetful
    with pytest.raises(snb.DataError, match=r"^rows \d+ to \d+: 0 rows were read instead of \d+"):
        on_workers(ClassScan(("sum",), RowOptions()), source, client, RunOptions(), None)


def test_a_scan_that_is_interrupted_leaves_the_cluster_to_others(client, folder, tmp_path):
    def interrupt():
        until(waiting.begun.exists)
        signal.pthread_kill(threading.main_thread().ident, signal.SIGINT)

    with Waits(tmp_path / "interrupted") as waiting, in_thread(interrupt), pytest.raises(KeyboardInterrupt):
        snb.scan(slowly(folder, waiting), "y")
    until(lambda: n_tasks(client) == 0)
