"""Rows that the workers of a Dask cluster read themselves: the same bits, in few tasks at a time, or a clear error."""

import gzip
import json
import re
from functools import partial

import anndata
import dask
import dask.array as da
import dask.sizeof
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from distributed import Client, LocalCluster, get_client
from sklearn.base import clone
from sklearn.datasets import dump_svmlight_file
from zarr.storage import LocalStore, MemoryStore, WrapperStore

import streamnb as snb
from streamnb.passes import dask_workers
from streamnb.rows import line_files, opening, row_blocks, source
from tests.support.clusters import SlowStore, cluster_of, in_thread, n_tasks, prefixes, rows_in_store, until, watched
from tests.support.processes import PATIENCE
from tests.support.strategies import build, example, same_stats
from tests.support.zarr_stores import write_arrays

pytestmark = pytest.mark.cluster
N_ROWS, BLOCK, N_CELLS = 10_000, 8_000, 60


@pytest.fixture(scope="module")
def client(tmp_path_factory):
    with cluster_of(2, tmp_path_factory.mktemp("workers")) as client:
        yield client


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    folder = tmp_path_factory.mktemp("rows") / "rows.zarr"
    rows_in_store(folder, n_rows=N_ROWS, whole=False)
    return folder


@pytest.fixture
def small_segments(monkeypatch):
    """Segments of so few bytes that little rows make many of them."""
    monkeypatch.setattr(row_blocks, "SEGMENT_BYTES", 40_000)


def here(function, *args, **options):
    """The same without the cluster."""
    with dask.config.set(scheduler="threads"):
        return function(*args, **options)


FORMS = ["zarr sharded", "zarr csr v3", "zarr csr messy", "zarr, y in zarr", "url to group"]
FORMS += ["anndata root v3, kind column"]  # of categories


@pytest.mark.parametrize("name", FORMS)
def test_workers_sum_what_is_summed_here(name, client, tmp_path, monkeypatch):
    monkeypatch.setattr(row_blocks, "SEGMENT_BYTES", 200)
    passed = build(name, example(), tmp_path)
    assert same_stats(snb.scan(**passed), here(snb.scan, **passed))
    assert "streamnb-scan" in prefixes(client)


@pytest.mark.parametrize("n_workers", [1, 3])
def test_any_number_of_workers_gives_the_same_model(n_workers, store, small_segments, tmp_path):
    expected = here(snb.LinearNB("gaussian").fit, store, "y")
    with cluster_of(n_workers, tmp_path, processes=False) as client:
        model = snb.LinearNB("gaussian").fit(store, "y", client=client)
    assert np.array_equal(model.coef_, expected.coef_) and np.array_equal(model.intercept_, expected.intercept_)
    assert model.report_.rows == expected.report_.rows


def test_the_penalty_is_chosen_by_the_same_scores(client, store, small_segments):
    y = zarr.open_group(store)["y"][:]
    weights = np.random.default_rng(0).choice([0.25, 2.0], len(y))
    search, groups = snb.LinearNBCV("poisson", snb.L1([1.0, 9.0]), folds=2), np.arange(len(y)) // 7
    expected = here(clone(search).fit, store, "y", weights, groups=groups)
    model = search.fit(store, "y", weights, groups=groups)
    assert model.best_params_ == expected.best_params_ and np.array_equal(model.coef_, expected.coef_)
    for name, column in expected.cv_results_.items():
        assert np.array_equal(model.cv_results_[name], column), name
    assert {"streamnb-scan", "streamnb-scoring", "streamnb-merge"} <= prefixes(client)


def test_comparisons_and_later_rows_go_to_the_workers_too(client, store, small_segments):
    options = {"families": "poisson", "penalties": {"plain": None, "L1": snb.L1([1.0, 5.0])}, "folds": 2, "show": False}
    expected = here(snb.compare, store, "y", **options)
    assert str(snb.compare(store, "y", client=client, **options)) == str(expected)
    twice = snb.LinearNB().fit(store, "y").partial_fit(store, "y", client=client)
    assert np.array_equal(twice.stats_.sum, (expected_stats := here(snb.scan, store, "y")).sum + expected_stats.sum)


@pytest.mark.parametrize("method", ["predict", "predict_proba"])
def test_workers_predict_what_is_predicted_here(method, client, store, small_segments):
    model = here(snb.LinearNB("poisson").fit, store, "y")
    expected = here(getattr(model, method), store)
    watched(client)
    assert np.array_equal(getattr(model, method)(store), expected)
    assert watched(client)[1] > 10
    out = np.empty_like(expected)
    assert getattr(model, method)(store, out=out) is out and np.array_equal(out, expected)


def test_workers_score_what_is_scored_here(client, store, small_segments):
    weights = np.random.default_rng(0).random(N_ROWS)
    model = here(snb.LinearNB("poisson").fit, store, "y")
    expected = here(model.score, store, "y", weights)
    watched(client)
    assert model.score(store, "y", weights) == expected
    assert watched(client)[1] > 10
    options = {"interval": 0.95, "groups": np.arange(N_ROWS) % 300}
    assert model.evaluate(store, "y", **options).summary() == here(model.evaluate, store, "y", **options).summary()


def files_of(rows, folder):
    """X and y of the same rows in files of every kind, and whether they are cut into several segments."""
    dump_svmlight_file(rows.x, np.unique(rows.y, return_inverse=True)[1], str(folder / "rows.svm"))
    (folder / "rows.svm.gz").write_bytes(gzip.compress((folder / "rows.svm").read_bytes()))
    obs = pd.DataFrame({"kind": rows.y}, index=[*map(str, range(N_CELLS))])
    cells = anndata.AnnData(sp.csr_matrix(rows.x), obs=obs)
    cells.write_h5ad(folder / "rows.h5ad")
    lines = [json.dumps({"t": f"word{i % 5} of {i}", "y": str(i % 3)}) + "\n" for i in range(N_CELLS)]
    (folder / "rows.jsonl").write_text("".join(lines))
    yield folder / "rows.svm", None, True
    yield folder / "rows.svm.gz", None, False
    yield folder / "rows.h5ad", "obs/kind", True
    yield snb.text(folder / "rows.jsonl", "t", "y", n_features=64), None, True


def test_workers_read_files_of_every_kind(client, tmp_path, monkeypatch):
    monkeypatch.setattr(row_blocks, "SEGMENT_BYTES", 200)
    monkeypatch.setattr(line_files, "PIECE_BYTES", 100)
    for X, y, several in files_of(example(n_rows=N_CELLS), tmp_path):
        watched(client)
        found = snb.scan(X, y, client=client)
        assert same_stats(found, here(snb.scan, X, y))
        assert watched(client)[1] > (5 if several else 0)
        model = snb.LinearNB("poisson").fit(X, y, client=client)
        assert np.array_equal(model.predict(X), here(model.predict, X))
    moved = opening.opened(tmp_path / "rows.h5ad", "obs/kind")
    with open(tmp_path / "rows.h5ad", "ab") as file:
        file.write(b"more")
    with pytest.raises(snb.DataError, match=r"finds another .*rows\.h5ad"):
        dask_workers.check_found(moved)


def test_rows_that_workers_cannot_reach_are_summed_here(client):
    rows = example()
    group = write_arrays(zarr.create_group(MemoryStore()), rows)
    watched(client)
    for X in (rows.x, group, zarr.create_array(MemoryStore(), data=rows.x), iter([(rows.x, rows.y)])):
        y = None if hasattr(X, "__next__") else rows.y
        assert same_stats(snb.scan(X, y, client=client), here(snb.scan, rows.x, rows.y))
    assert watched(client)[1] == 0


class Unsendable(WrapperStore):
    """A store that holds what cannot be pickled."""

    def __reduce__(self):
        raise TypeError("it holds a connection")


def test_a_store_that_cannot_be_sent_to_workers_is_refused_in_clear_words(client, store):
    group = zarr.open_group(Unsendable(LocalStore(store)), mode="r")
    model = here(snb.LinearNB().fit, store, "y")
    for use in (lambda: snb.scan(group, "y"), lambda: model.predict(group)):
        with pytest.raises(TypeError, match=r"the store of array 'data'.*it holds a connection.*give its path"):
            use()
    assert same_stats(here(snb.scan, group, "y"), here(snb.scan, store, "y"))


# ---------------------------------------------------------------------------------------------- Dask arrays


def rows_of(number):
    return sp.random_array((BLOCK, 40), density=0.5, format="csr", rng=np.random.default_rng(number))


def as_blocks(known):
    """Twelve blocks of sparse rows, made on the workers, and their labels."""
    x = da.map_blocks(
        lambda block_info=None: rows_of(block_info[None]["chunk-location"][0]),
        chunks=((BLOCK,) * 12, (40,)),
        meta=sp.csr_array((0, 0)),
    )
    y = da.from_array(np.arange(12 * BLOCK) % 3, chunks=BLOCK)
    if not known:
        x._chunks, y = ((np.nan,) * 12, x.chunks[1]), y[y >= 0]
    return x, y


@pytest.mark.parametrize("known", [True, False], ids=["known chunks", "unknown chunks"])
def test_blocks_of_a_dask_array_are_summed_where_they_are(known, client):
    x, y = as_blocks(known)
    expected = here(snb.scan, x, y, folds=3)
    before = moved(client)
    stats = snb.scan(x, y, folds=3, client=client)
    assert all(same_stats(stats.fold(f), expected.fold(f)) for f in range(3))
    n_bytes = 12 * sum(part.nbytes for part in (rows_of(0).data, rows_of(0).indices))
    assert moved(client) - before < n_bytes / 10
    assert {"streamnb-plan", "streamnb-merge"} <= prefixes(client)


def test_rows_that_dask_does_not_number_are_counted_for_labels_in_memory(client):
    x, y = as_blocks(known=False)
    labels = y.compute()
    with pytest.warns(snb.StreamnbWarning, match="X has unknown row-chunk sizes and y is in memory: .* once more"):
        stats = snb.scan(x, labels, sample_weight=2.0, folds=3, client=client)
    assert same_stats(stats, here(snb.scan, x, y, sample_weight=da.full_like(y, 2.0), folds=3))
    with pytest.warns(snb.StreamnbWarning), pytest.raises(ValueError, match=r"\[96000, 95999\]; y should have one"):
        snb.scan(x, labels[1:], client=client)


def test_tiny_blocks_are_made_and_summed_many_to_a_task(tmp_path):
    table = da.from_array(np.arange(6000.0).reshape(-1, 4) % 5, chunks=(5, 4)) + 1
    x, y = table[:, :3], table[:, 3].astype(int)  # of the same blocks
    with cluster_of(2, tmp_path, processes=False) as other:
        watched(other)
        stats = snb.scan(x, y, client=other)
        assert watched(other)[1] < 20
        assert same_stats(snb.scan(other.persist(x), y, client=other), stats)
    assert same_stats(stats, here(snb.scan, x, y))


def test_columns_cut_into_chunks_are_put_together_with_a_warning(client):
    x, y = np.arange(1200.0).reshape(-1, 6) % 7, np.arange(200) % 3
    blocks, labels = da.from_array(x, chunks=(20, 2)), da.from_array(y, chunks=20)
    for use in (partial(snb.scan, client=client), partial(here, snb.scan)):
        with pytest.warns(snb.StreamnbWarning, match=r"X has its features in several chunks, .*rechunk\(\{1: -1\}\)"):
            assert same_stats(use(blocks, labels), snb.scan(x, y))


def moved(client):
    """Bytes that workers ever had from one another."""
    logs = client.run(lambda dask_worker: [entry["total"] for entry in dask_worker.transfer_incoming_log])
    return sum(map(sum, logs.values()))


# ---------------------------------------------------------------------------------------------- how it goes


def test_tasks_in_flight_are_bounded_and_all_forgotten(client, store, monkeypatch):
    monkeypatch.setattr(row_blocks, "SEGMENT_BYTES", 10_000)
    monkeypatch.setattr(dask_workers, "FEWEST", 4)
    monkeypatch.setattr(dask_workers, "GROUP", 8)
    n_segments = len(source.row_ranges(opening.opened(store, "y")))
    watched(client)
    stats = snb.scan(store, "y")
    most, computed = watched(client)
    assert n_segments > 60 and computed > n_segments  # the sums, too
    assert 8 < most < 50
    assert same_stats(stats, here(snb.scan, store, "y"))
    until(lambda: n_tasks(client) == 0)


def test_a_store_of_one_segment_keeps_all_threads_busy(client, store, monkeypatch):
    monkeypatch.setattr(dask_workers, "LEAST_BYTES", 1000)
    parts = dask_workers.segments_for(opening.opened(store, "y"), client)
    assert 8 <= len(parts) <= 9 and len(source.row_ranges(opening.opened(store, "y"))) == 1
    watched(client)
    assert same_stats(snb.scan(store, "y"), here(snb.scan, store, "y"))
    assert watched(client)[1] > len(parts)


def test_the_bar_counts_segments(client, store, small_segments, capsys):
    snb.scan(store, "y", progress=True)
    n_segments = len(source.row_ranges(opening.opened(store, "y")))
    shown = capsys.readouterr().err
    assert f"{n_segments}/{n_segments}" in shown and "scan" in shown


def test_a_fit_in_a_task_works_where_it_runs(client, store):
    model = client.submit(lambda path: snb.LinearNB().fit(path, "y").coef_, store, pure=False).result()
    assert np.array_equal(model, here(snb.LinearNB().fit, store, "y").coef_)


@pytest.mark.parametrize("blocks", [False, True], ids=["zarr", "dask"])
def test_a_task_that_is_given_a_client_leaves_its_thread_to_others(blocks, store, small_segments, tmp_path):
    def total(path):
        rows = (da.ones((8, 2), chunks=(2, 2)), da.arange(8, chunks=2) % 2) if blocks else (path, "y")
        return [snb.scan(*rows, client=get_client()).sum for _ in range(2)]

    expected = here(snb.scan, np.ones((8, 2)), np.arange(8) % 2) if blocks else here(snb.scan, store, "y")
    with cluster_of(1, tmp_path, processes=False) as client:
        for found in client.submit(total, store).result(PATIENCE):
            assert np.array_equal(found, expected.sum)


# ------------------------------------------------------------------------------------------------- errors


def test_a_client_of_another_kind_is_refused(store, tmp_path):
    with pytest.raises(TypeError, match=r"client is of type str; it should be a dask\.distributed\.Client"):
        snb.scan(store, "y", client="tcp://localhost:8786")
    with cluster_of(1, tmp_path, processes=False) as client:
        pass
    with pytest.raises(ValueError, match="client is closed"):
        snb.scan(store, "y", client=client)


def test_a_cluster_will_do_for_its_client(client, store, small_segments):
    watched(client)
    assert same_stats(snb.scan(store, "y", client=client.cluster), here(snb.scan, store, "y"))
    assert watched(client)[1] > 10


def test_a_cluster_that_is_closed_is_refused(store):
    with LocalCluster(n_workers=0, processes=False, dashboard_address=":0") as cluster:
        pass
    with pytest.raises(ValueError, match=r"client is a cluster that gives no client .*; give one that runs"):
        snb.scan(store, "y", client=cluster)


def test_a_client_that_closes_in_the_middle_of_a_scan_is_named(store, small_segments, tmp_path):
    with cluster_of(1, tmp_path, processes=False) as other:
        client = Client(other.cluster, set_as_default=False)
        slow = SlowStore(LocalStore(store), 0.05)
        with in_thread(snb.scan, slow, "y", client=client) as out:
            until(lambda: n_tasks(other) > 10)
            client.close()
        assert isinstance(out[0], RuntimeError)
        assert re.match(r"scan of rows \d+ to \d+: the task was cancelled .* the client should stay open", str(out[0]))


def test_an_asynchronous_client_is_refused(client, store):
    async def attempt():
        async with Client(client.scheduler.address, asynchronous=True, set_as_default=False) as other:
            snb.scan(store, "y", client=other)

    with pytest.raises(ValueError, match="client is asynchronous"):
        client.sync(attempt)


def test_a_wrong_value_is_named_by_its_row_of_the_table(client, tmp_path, small_segments):
    rows = example(n_rows=500)
    rows.x[333, 2] = -1.0
    write_arrays(zarr.create_group(tmp_path / "rows.zarr"), rows, chunk=50)
    with pytest.raises(ValueError, match="row 333, column 2"):
        snb.LinearNB("poisson").fit(tmp_path / "rows.zarr", "y")
    until(lambda: n_tasks(client) == 0)


def test_a_damaged_chunk_is_named_with_its_array_and_its_segment(client, tmp_path, small_segments):
    folder = tmp_path / "rows.zarr"
    rows_in_store(folder)
    (folder / "indices" / "c" / "0").write_bytes(b"nothing")
    with pytest.raises(snb.DataError, match=r"^rows \d+ to \d+: array 'indices' in .*: chunk 0 cannot be read"):
        snb.scan(folder, "y")


def test_a_store_that_is_gone_from_the_workers_is_an_error_not_zeros(client, tmp_path, small_segments):
    rows = example()
    group = write_arrays(zarr.create_group(tmp_path / "rows.zarr"), rows)
    array = zarr.create_array(tmp_path / "dense.zarr", data=rows.x)
    y = group["y"]
    (tmp_path / "dense.zarr").rename(tmp_path / "elsewhere.zarr")
    with pytest.raises(snb.DataError, match=r"^rows 0 to 41: a worker cannot open array '' in .*same path or URL"):
        snb.scan(array, y)
    zarr.create_array(tmp_path / "dense.zarr", data=rows.x[:40])
    with pytest.raises(snb.DataError, match="a worker finds another array ''"):
        snb.scan(array, y)
