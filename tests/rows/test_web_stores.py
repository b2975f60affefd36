"""Zarr stores on a web server that lists no files, and how many requests they take."""

from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp
import zarr

import streamnb as snb
from streamnb.core import stored_files
from tests.rows.test_opening import read_before_and_after
from tests.support.web_server import serving

pytestmark = pytest.mark.process


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return sp.csr_array(rng.poisson(0.3, (3_000, 40)).astype(np.uint8)), np.arange(3_000) % 3


@pytest.fixture
def server():
    with serving() as server:
        yield server


def put(server, folder):
    """Serve the files of a store; returns its URL."""
    for path in folder.rglob("*"):
        if path.is_file():
            server.put(f"rows.zarr/{path.relative_to(folder)}", path.read_bytes())
    return f"{server.url}/rows.zarr"


def test_a_sparse_store_without_lists_is_read_and_what_it_lacks_is_named(server, rows, tmp_path):
    snb.write_csr(tmp_path / "rows.zarr", [rows], n_features=40)
    url = put(server, tmp_path / "rows.zarr")
    assert np.array_equal(snb.scan(url, "y").sum, snb.scan(*rows).sum)
    del server.files["/rows.zarr/indices/c/0"]
    with pytest.raises(snb.DataError, match="lacks 1 of its 1 chunks"):
        snb.scan(url, "y")


def test_each_shard_of_a_store_is_one_request(server, rows, tmp_path):
    x, group = rows[0].toarray(), zarr.create_group(tmp_path / "rows.zarr")
    group.create_array("X", data=x, chunks=(50, 40), shards=(600, 40))
    group.create_array("y", data=rows[1], chunks=(3_000,))
    url = put(server, tmp_path / "rows.zarr")
    assert np.array_equal(snb.scan(url, "y").sum, snb.scan(*rows).sum)
    read = [path for method, path, _ in server.asked if method == "GET" and "/X/c/" in path]
    assert sorted(read) == [f"/rows.zarr/X/c/{k}/0" for k in range(5)]


def test_a_store_of_a_busy_server_is_read_and_one_that_stays_busy_is_named(server, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(stored_files, "PAUSE", 0.0)
    snb.write_csr(tmp_path / "rows.zarr", [rows], n_features=40)
    url, part = put(server, tmp_path / "rows.zarr"), "/rows.zarr/indices/c/0"
    server.wait, server.fail[part], server.cut[part] = 0, [503, 429], [100]
    assert np.array_equal(snb.scan(url, "y").sum, snb.scan(*rows).sum)
    assert not server.fail[part]
    server.fail[part] = [503] * 99
    with pytest.raises(snb.DataError, match=r"'indices' in .*chunk 0 cannot be read in 5 attempts .*503"):
        snb.scan(url, "y")


def test_a_chunk_that_the_server_has_cut_short_is_named(server, rows, tmp_path, monkeypatch):
    monkeypatch.setattr(stored_files, "PAUSE", 0.0)
    snb.write_csr(tmp_path / "rows.zarr", [rows], n_features=40)
    url, part = put(server, tmp_path / "rows.zarr"), "/rows.zarr/data/c/0"
    server.files[part] = server.files[part][:-9]
    with pytest.raises(snb.DataError, match=r"'data' in .*chunk 0 cannot be read"):
        snb.scan(url, "y")


def test_a_dense_store_that_loses_a_chunk_is_refused_and_one_that_lacks_it_is_warned_of(server, rows, tmp_path):
    group = zarr.create_group(tmp_path / "rows.zarr")
    group.create_array("X", data=rows[0].toarray(), chunks=(600, 40))
    group.create_array("y", data=rows[1], chunks=(3_000,))
    url = put(server, tmp_path / "rows.zarr")
    with pytest.raises(snb.DataError, match=r"array 'X' in .* has lost \['X/c/2/0'\] since it was opened"):
        snb.drive(read_before_and_after(partial(server.files.pop, "/rows.zarr/X/c/2/0")), url, "y")
    with pytest.warns(snb.StreamnbWarning, match="lacks 1 of its 5 chunks"):
        snb.scan(url, "y")
