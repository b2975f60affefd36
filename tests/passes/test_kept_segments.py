"""Segments that workers keep: read once, the same bits, found again by later reads, freed, and lost without harm."""

import os
import signal
import subprocess
import sys
from itertools import count
from pathlib import Path

import dask
import distributed
import numpy as np
import pytest
from sklearn.base import clone

import streamnb as snb
from streamnb.passes.dask_workers import KeptSegments
from streamnb.rows import row_blocks
from streamnb.rows.keeping import Keeping, Space
from tests.support.clusters import cluster_of, in_thread, until, watched, workers_of

pytestmark = [pytest.mark.cluster, pytest.mark.process]


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    """Two workers, which come again when they end; they steal no tasks, so that what is kept where is certain."""
    with (
        dask.config.set({"distributed.scheduler.work-stealing": False}),
        cluster_of(2, tmp_path_factory.mktemp("workers"), memory_limit="1GB") as client,
    ):
        yield client


@pytest.fixture(autouse=True)
def small_segments(monkeypatch):
    monkeypatch.setattr(row_blocks, "SEGMENT_BYTES", 1_000)


@pytest.fixture(scope="module")
def lines(tmp_path_factory):
    path, r = tmp_path_factory.mktemp("rows") / "rows.jsonl", np.random.default_rng(0)
    path.write_text("".join(f'{{"text": "w{a} w{b}", "y": {int(a > b)}}}\n' for a, b in r.integers(0, 9, (500, 2))))
    return path


@pytest.fixture(scope="module")
def here(lines):
    with dask.config.set(scheduler="threads"):
        return fit(lines, "no")


def fit(lines, keep, model=None, **options):
    rows = snb.text(lines, text="text", y="y", n_features=256)
    return (model or snb.SoftmaxRegression(tol=1e-6)).fit(rows, keep=keep, **options)


def search(lines, keep):
    """Scores of naive Bayes, which takes two reads, and of models of several reads; and the weights of the best."""
    rows, model = snb.text(lines, text="text", y="y", n_features=256), snb.SoftmaxRegressionCV(l2=[0.1, 1.0], tol=1e-1)
    found = snb.search(rows, families=["poisson"], models=[model], folds=2, show=False, keep=keep)
    return found.results_.filter(like="score").to_numpy(), found.best_.coef_


def held():
    """What this process has for rows: bytes of memory, files without a name, and fits."""
    names = [os.readlink(link) for link in Path("/proc/self/fd").iterdir() if os.path.lexists(link)]
    n_files = sum("/dask-scratch-space/" in name and name.endswith("(deleted)") for name in names)
    return Space.taken_by_all, n_files, len(Keeping.on_workers)


def held_by_workers(client):
    return np.sum(list(client.run(held).values()), axis=0)


def check_all_is_freed(client):
    until(lambda: not held_by_workers(client).any())


@pytest.fixture
def before_third_read(monkeypatch):
    """A list of functions without arguments, which are called once, before the second read of what was kept."""
    actions, prepare, n_reads = [], KeptSegments.prepare, count()

    def counted(self, step):
        n_threads = prepare(self, step)
        if next(n_reads) == 3:
            while actions:
                actions.pop()()
        return n_threads

    monkeypatch.setattr(KeptSegments, "prepare", counted)
    return actions


@pytest.mark.parametrize("keep", ["auto", "memory", "disk"])
def test_workers_read_the_source_once(keep, client, lines, here, before_third_read):
    seen = []
    before_third_read.append(lambda: seen.append((held_by_workers(client), watched(client))))
    model = fit(lines, keep)
    np.testing.assert_array_equal(model.coef_, here.coef_)
    assert model.report_.reads == here.report_.reads == model.report_.reads_kept + 1
    n_bytes, n_files, n_fits = seen[0][0]
    assert (n_bytes > 0, n_files > 0) == (keep != "disk", keep == "disk") and n_fits > 0
    n_segments, n_tasks = lines.stat().st_size // 1_000, watched(client)[1]
    assert n_tasks <= (model.report_.reads - 3) * n_segments / 2  # a few segments each
    check_all_is_freed(client)


def test_a_client_that_is_not_the_default_one_will_do(client, lines, here, monkeypatch):
    monkeypatch.setattr(distributed.client, "_global_clients", {})
    model = fit(lines, "memory", client=client)
    np.testing.assert_array_equal(model.coef_, here.coef_)
    assert model.report_.reads_kept > 1


def test_workers_keep_nothing_unless_asked(client, lines, here):
    model = fit(lines, "no")
    np.testing.assert_array_equal(model.coef_, here.coef_)
    assert model.report_.reads_kept == model.report_.bytes_kept == 0


def test_a_choice_among_penalties_has_the_same_scores_of_what_was_kept(client, lines):
    search = snb.SoftmaxRegressionCV(l2=[0.1, 10.0], folds=3, tol=1e-2)
    with dask.config.set(scheduler="threads"):
        expected = fit(lines, "no", clone(search))
    model = fit(lines, "memory", search)
    assert model.best_params_ == expected.best_params_ and model.report_.reads_kept > 1
    np.testing.assert_array_equal(model.coef_, expected.coef_)
    check_all_is_freed(client)


def test_a_worker_that_is_lost_between_reads_changes_no_bit(client, lines, here, before_third_read):
    def lose_one():
        address, process = next(iter(client.run(os.getpid).items()))
        os.kill(process, signal.SIGKILL)
        until(lambda: address not in workers_of(client))

    before_third_read.append(lose_one)
    model = fit(lines, "memory")
    np.testing.assert_array_equal(model.coef_, here.coef_)
    assert not before_third_read and 0 < model.report_.reads_kept < model.report_.reads - 1
    client.wait_for_workers(2)
    check_all_is_freed(client)


def test_a_fit_that_fails_leaves_nothing_on_the_workers(client, lines, before_third_read):
    def fail():
        assert held_by_workers(client).all(where=[True, False, True])
        raise RuntimeError("it was stopped")

    before_third_read.append(fail)
    with pytest.raises(RuntimeError, match="it was stopped"):
        fit(lines, "memory")
    check_all_is_freed(client)


def test_without_space_workers_read_the_source_and_a_warning_says_so(client, lines, here, tmp_path):
    client.run(snb.set_scratch, tmp_path, limit=1)
    try:
        with pytest.warns(snb.StreamnbWarning, match="on a worker, rows cannot be kept on disk .*more than the limit"):
            model = fit(lines, "disk")
    finally:
        client.run(snb.set_scratch)
    np.testing.assert_array_equal(model.coef_, here.coef_)
    assert model.report_.reads_kept == 0


def test_two_fits_at_once_do_not_disturb_one_another(client, lines, here):
    with in_thread(fit, lines, "memory", client=client) as out:
        fitted = fit(lines, "disk", client=client)
    for model in (*out, fitted):
        np.testing.assert_array_equal(model.coef_, here.coef_)
        assert model.report_.reads_kept == model.report_.reads - 1
    check_all_is_freed(client)


KILLED = """
import signal, sys
from dask.distributed import Client
from streamnb.passes.dask_workers import KeptSegments
from streamnb.rows import row_blocks
from tests.passes.test_kept_segments import search

prepare, reads = KeptSegments.prepare, iter(range(99))

def counted(self, step):
    if next(reads) == 3:
        print("kept", flush=True)
        signal.pause()
    return prepare(self, step)

KeptSegments.prepare, row_blocks.SEGMENT_BYTES = counted, 1_000
with Client(sys.argv[1]):
    search(sys.argv[2], "disk")
"""


def test_workers_free_what_a_killed_search_had_them_keep_and_it_can_be_begun_anew(client, lines):
    command = [sys.executable, "-c", KILLED, client.scheduler.address, lines]
    killed = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    assert killed.stdout.readline() == "kept\n"
    assert held_by_workers(client)[1] > 0
    killed.kill()
    killed.wait()
    check_all_is_freed(client)
    again = search(lines, "disk")
    with dask.config.set(scheduler="threads"):
        expected = search(lines, "no")
    for one, other in zip(again, expected, strict=True):
        np.testing.assert_array_equal(one, other)
    check_all_is_freed(client)
