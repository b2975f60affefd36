"""The same calls on object stores, through fsspec and obstore, and what happens where the store fails or is slow."""

import gzip
import json
import pickle

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
import zarr
from obstore.store import S3Store
from s3fs import S3FileSystem
from zarr.storage import FsspecStore, ObjectStore, WrapperStore

import streamnb as snb
from streamnb.core import stored_files
from streamnb.corpora import reading
from streamnb.rows.opening import opened
from tests.support import corpora, object_store
from tests.support.clusters import cluster_of, prefixes, watched
from tests.support.processes import PATIENCE

pytestmark = pytest.mark.process
BUCKET = "rows"
N_ROWS, N_FEATURES = 3000, 40


@pytest.fixture(scope="module")
def rows():
    rng = np.random.default_rng(0)
    return sp.csr_array(rng.poisson(0.3, (N_ROWS, N_FEATURES)).astype(np.float32)), rng.integers(0, 3, N_ROWS)


@pytest.fixture(scope="module")
def server():
    with object_store.running(BUCKET) as server, pytest.MonkeyPatch.context() as patch:
        for name, value in {
            "AWS_ACCESS_KEY_ID": "tests",
            "AWS_SECRET_ACCESS_KEY": "tests",
            "AWS_DEFAULT_REGION": "us-east-1",
            "AWS_ENDPOINT_URL": server.url,
            "no_proxy": "*",
        }.items():
            patch.setenv(name, value)
        for timeout in ("connect_timeout", "read_timeout"):
            patch.setattr(S3FileSystem, timeout, PATIENCE)
        yield server


@pytest.fixture(scope="module")
def url(server, rows):
    X, y = rows
    snb.write_csr(
        f"s3://{BUCKET}/sparse", ((X[i : i + 700], y[i : i + 700]) for i in range(0, N_ROWS, 700)), n_features=40
    )
    return f"s3://{BUCKET}/sparse"


@pytest.fixture(autouse=True)
def sound(server, monkeypatch):
    """No fault is left by another test, and nobody waits long."""
    server.faults()
    monkeypatch.setattr(stored_files, "PAUSE", 0.01)


def plain(server, path, read_timeout=PATIENCE, read_only=True):
    """A store whose client, which is kept, tries nothing twice and gives up when nothing comes for so many seconds."""
    timeouts = {"read_timeout": read_timeout, "connect_timeout": PATIENCE}
    config = {**timeouts, "retries": {"total_max_attempts": 1}}
    options = {"config_kwargs": config, "endpoint_url": server.url}
    store = FsspecStore.from_url(f"s3://{BUCKET}/{path}", storage_options=options, read_only=read_only)
    store.fs.retries = 1
    return store


class Impatient(WrapperStore):
    """A store that reads the chunks of `data` through a client which gives up soon, all else through a patient one."""

    def __init__(self, store, hasty):
        super().__init__(store)
        self.hasty = hasty

    def _with_store(self, store):
        return type(self)(store, self.hasty)

    async def get(self, key, prototype, byte_range=None):
        store = self.hasty if "data/c/" in key else self._store
        return await store.get(key, prototype, byte_range)


def impatient(server):
    return Impatient(plain(server, "sparse"), plain(server, "sparse", read_timeout=0.5))


def same(model, rows):
    X, y = rows
    return np.array_equal(model.coef_, snb.LinearNB("poisson").fit(X, y).coef_)


def test_urls_stores_and_groups_are_fitted_and_predicted_as_rows_in_memory(server, url, rows):
    X, y = rows
    array = zarr.create_array(f"s3://{BUCKET}/dense", shape=X.shape, chunks=(500, N_FEATURES), dtype="f4")
    array[:] = X.toarray()
    group = zarr.open_group(url, mode="r", storage_options={"endpoint_url": server.url})
    s3 = S3Store(BUCKET, prefix="sparse", endpoint=server.url, client_options={"allow_http": True})
    obstore = ObjectStore(s3, read_only=True)
    for stored, labels in ((url, "y"), (obstore, "y"), (f"s3://{BUCKET}/dense", y), (group, group["y"])):
        assert same(snb.LinearNB("poisson").fit(stored, labels), rows)
    model = snb.LinearNB("poisson").fit(X, y)
    assert np.array_equal(model.predict(url), model.predict(X))


@pytest.mark.parametrize(("path", "times"), [("indices/c/0", 1), ("y/c/0", 1), ("zarr.json", 2)])
def test_what_fails_is_read_and_opened_again(server, url, rows, path, times):
    store = plain(server, "sparse")
    server.faults({"path": path, "method": "GET", "times": times, "status": "500 broken"})
    assert same(snb.LinearNB("poisson").fit(store, "y"), rows)


def test_what_keeps_failing_is_named_after_a_bounded_number_of_attempts(server, url, caplog):
    store = plain(server, "sparse")
    server.faults({"path": "indices/c/0", "method": "GET", "times": 10**6, "status": "500 broken"})
    with pytest.raises(snb.DataError, match=r"'indices' in .*chunk 0 cannot be read in 5 attempts"):
        snb.LinearNB("poisson").fit(store, "y")
    assert (
        sum("indices" in r.getMessage() or "failed" in r.getMessage() for r in caplog.records)
        == stored_files.ATTEMPTS - 1
    )


def test_a_store_that_is_too_slow_is_named(server, url):
    server.faults({"path": "data/c/0", "method": "GET", "times": 10**6, "seconds": PATIENCE})
    with pytest.raises(snb.DataError, match=r"'data' in .*chunk 0 cannot be read in 5 attempts .*[Tt]ime"):
        snb.LinearNB("poisson").fit(impatient(server), "y")


def test_slowness_now_and_then_does_no_harm(server, url, rows, monkeypatch):
    monkeypatch.setattr(stored_files, "ATTEMPTS", 1000)  # the machine may be slow, too
    monkeypatch.setattr(stored_files, "PAUSE", 0.0)
    server.faults({"path": "data/c/0", "method": "GET", "times": 1, "seconds": PATIENCE})
    assert same(snb.LinearNB("poisson").fit(impatient(server), "y"), rows)


def test_a_chunk_that_is_missing_is_not_asked_for_again(server, url, caplog):
    with pytest.raises(snb.DataError, match="cannot be opened"):
        snb.LinearNB("poisson").fit(f"s3://{BUCKET}/nothing", "y")
    assert not caplog.records


def test_writing_is_tried_again_and_then_named(server, rows):
    X, y = rows
    server.faults({"path": "again/data/c/0", "method": "PUT", "times": 1, "status": "500 broken"})
    snb.write_csr(plain(server, "again", read_only=False), [(X, y)], n_features=N_FEATURES)
    assert same(snb.LinearNB("poisson").fit(f"s3://{BUCKET}/again", "y"), rows)
    server.faults({"path": "never/data/c/0", "method": "PUT", "times": 10**6, "status": "500 broken"})
    with pytest.raises(snb.DataError, match=r"'data' in .* cannot be written"):
        snb.write_csr(plain(server, "never", read_only=False), [(X, y)], n_features=N_FEATURES)


def test_errors_on_this_machine_are_raised_at_once(tmp_path, rows, caplog):
    X, y = rows
    snb.write_csr(tmp_path / "rows", [(X, y)], n_features=N_FEATURES)
    (tmp_path / "rows/data/c/0").write_bytes(b"nonsense")
    with pytest.raises(snb.DataError, match=r"chunk 0 cannot be read \("):
        snb.LinearNB("poisson").fit(tmp_path / "rows", "y")
    assert not caplog.records


@pytest.mark.cluster
def test_workers_read_the_object_store_themselves(url, rows, lines, tmp_path):
    assert same(snb.LinearNB("poisson").fit(pickle.loads(pickle.dumps(opened(url, "y")))), rows)
    with cluster_of(1, tmp_path, processes=False) as client:
        model = snb.LinearNB("poisson").fit(url, "y")
        assert "streamnb-scan" in prefixes(client)
        assert same(model, rows)
        assert np.array_equal(model.predict(url), model.predict(rows[0]))
        watched(client)
        assert np.array_equal(learned(lines[0]).coef_, lines[1].coef_) and watched(client)[1] > 0


def test_corpora_are_read_and_written_in_parts(server, tmp_path, monkeypatch):
    monkeypatch.setattr(reading, "PART_BYTES", 100)
    fitted, pattern = corpora.model(), corpora.corpus(tmp_path / "in", packing=".zst")
    S3FileSystem().put(str(tmp_path / "in"), f"{BUCKET}/crawl", recursive=True)
    server.faults({"path": "part-00001", "method": "PUT", "times": 2, "status": "503 Slow Down"})
    how = {"label": "good", "share": 0.1, "text": "text"}
    snb.select(fitted, pattern, tmp_path / "kept", **how)
    for n_there in (0, 3):
        found = snb.select(fitted, f"s3://{BUCKET}/crawl/*.zst", f"s3://{BUCKET}/kept", **how)
        assert (found.rows, found.kept, found.there) == (300, 30, n_there)
    S3FileSystem().get(f"{BUCKET}/kept/", str(tmp_path / "got"), recursive=True)
    assert corpora.written(tmp_path / "got") == corpora.written(tmp_path / "kept")


@pytest.fixture(scope="module")
def lines(server):
    """JSON lines of texts on the object store, and the model that is learned from them here."""
    texts = [" ".join(("red", "wine", "tea")[k] for k in (n % 3, n % 2)) for n in range(400)]
    content = "".join(json.dumps({"text": text, "y": text[:3]}) + "\n" for text in texts).encode()
    S3FileSystem().pipe_file(f"{BUCKET}/texts/a.jsonl.gz", gzip.compress(content))
    rows = snb.text(texts, y=[text[:3] for text in texts], n_features=64)
    return f"s3://{BUCKET}/texts/*.jsonl.gz", snb.LinearNB("multinomial").fit(rows)


def learned(pattern):
    return snb.LinearNB("multinomial").fit(snb.text(pattern, "text", y="y", n_features=64))


def test_texts_and_tables_are_read_and_models_are_saved(server, lines, rows, tmp_path):
    pattern, expected = lines
    server.faults({"path": "a.jsonl.gz", "method": "GET", "times": 2, "status": "500 broken"})
    model = learned(pattern)
    assert np.array_equal(model.coef_, expected.coef_)
    server.faults({"path": "m.snb", "method": "PUT", "times": 1, "status": "503 Slow Down"})
    model.save(f"s3://{BUCKET}/m.snb")
    assert np.array_equal(snb.load(f"s3://{BUCKET}/m.snb").coef_, expected.coef_)
    pq.write_table(pa.table({"a": rows[1], "y": rows[1]}), tmp_path / "t.parquet", row_group_size=500)
    S3FileSystem().put(str(tmp_path / "t.parquet"), f"{BUCKET}/tables/t.parquet/part-0.parquet")
    assert snb.table(f"s3://{BUCKET}/tables/t.parquet", "y").n_rows == N_ROWS  # a folder, as Spark writes


def test_objects_that_are_replaced_are_noticed(lines):
    rows = snb.text(lines[0], "text", y="y")
    content = gzip.decompress(S3FileSystem().cat_file(f"{BUCKET}/texts/a.jsonl.gz"))
    S3FileSystem().pipe_file(f"{BUCKET}/texts/a.jsonl.gz", gzip.compress(content, mtime=1))
    with pytest.raises(snb.DataError, match="has changed since it was opened"):
        snb.LinearNB().fit(rows)


def test_objects_and_buckets_that_are_missing_are_named(server):
    for url in (f"s3://{BUCKET}/no.parquet", "s3://none/no.parquet"):
        with pytest.raises(FileNotFoundError, match=f"X={url}: there is no such file"):
            snb.LinearNB().fit(url, "y")
        with pytest.raises(FileNotFoundError, match=f"{url}: there is no such file"):
            snb.load(url)
    with pytest.raises(FileNotFoundError, match=r"cannot be written .*NoSuchBucket"):
        snb.LinearNB().fit([[0], [1]], [0, 1]).save("s3://none/m.snb")
