"""Rows at URLs: the same bits as from files, in memory, on a web server and under file://."""

import gzip
import json
import pickle

import fsspec
import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.feather
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.core import stored_files
from streamnb.rows import files as rows_files
from streamnb.rows.opening import opened
from tests.support.web_server import serving

N = 300
RNG = np.random.default_rng(0)
Y = RNG.integers(0, 3, N)


def texts(url):
    return snb.LinearNB("multinomial").fit(snb.text(url, "text", y="y", n_features=64))


def table(url):
    return snb.LinearNB("multinomial").fit(url, "y")


WAYS = {
    "t.parquet": table,
    "t.csv": table,
    "t.arrow": table,
    "t.jsonl": texts,
    "t.jsonl.gz": texts,
    "t.jsonl.zst": texts,
    "t.txt": lambda url: snb.LinearNB("multinomial").fit(url, Y),
    "t.svm": lambda url: snb.LinearNB("multinomial").fit(url),
    "t.svm.gz": lambda url: snb.LinearNB("multinomial").fit(url),
    "t.fasta": lambda url: snb.LinearNB("multinomial").fit(snb.sequences(url, "header", k=2)),
    "t.h5ad": lambda url: snb.LinearNB("multinomial").fit(url, "y"),
}


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    anndata, pd = pytest.importorskip("anndata"), pytest.importorskip("pandas")
    folder = tmp_path_factory.mktemp("rows")
    words = RNG.choice(["red", "white", "green", "wine", "tea", "milk"], (N, 4))
    said = [" ".join([*row, f"w{y}"]) for row, y in zip(words, Y)]
    rows = pa.table({"a": RNG.normal(size=N) + Y, "b": words[:, 0], "y": Y})
    pq.write_table(rows, folder / "t.parquet", row_group_size=70)
    pa.csv.write_csv(rows, folder / "t.csv")
    pa.feather.write_feather(rows, str(folder / "t.arrow"), chunksize=70)
    lines = "".join(json.dumps({"text": text, "y": int(y)}) + "\n" for text, y in zip(said, Y)).encode()
    numbers = "".join(f"{y} {y + 1}:1 {4 + k % 7}:2\n" for k, y in enumerate(Y)).encode()
    (folder / "t.jsonl").write_bytes(lines)
    (folder / "t.jsonl.gz").write_bytes(gzip.compress(lines))
    (folder / "t.jsonl.zst").write_bytes(pa.compress(lines, "zstd", asbytes=True))
    (folder / "t.svm").write_bytes(numbers)
    (folder / "t.svm.gz").write_bytes(gzip.compress(numbers))
    (folder / "t.txt").write_text("\n".join(said))
    (folder / "t.fasta").write_text("".join(f">s{k} c{y}\n{'ACGT'[y:] * 3}{'ACGT'[k % 4]}\n" for k, y in enumerate(Y)))
    X = sp.csr_array(RNG.poisson(0.5, (N, 9)) + (np.arange(9) == Y[:, None]))
    anndata.AnnData(sp.csr_matrix(X), pd.DataFrame({"y": Y.astype(str)}, map(str, range(N)))).write_h5ad(
        folder / "t.h5ad"
    )
    return folder


@pytest.fixture(scope="module")
def web(folder):
    with serving() as server:
        for path in folder.iterdir():
            server.put(path.name, path.read_bytes())
        yield server


@pytest.fixture(scope="module")
def memory(folder):
    files = fsspec.filesystem("memory")
    files.put(f"{folder}/", "/rows_at_urls", recursive=True)
    yield files
    files.rm("/rows_at_urls", recursive=True)


@pytest.fixture(autouse=True)
def in_ranges(monkeypatch):
    """No file is small, so that ranges are read; and nobody waits long."""
    monkeypatch.setattr(stored_files, "SMALL", 0)
    monkeypatch.setattr(rows_files, "REMOTE_BYTES", 1 << 14)
    monkeypatch.setattr(stored_files, "PAUSE", 0.0)


@pytest.mark.parametrize("name", WAYS)
def test_the_same_bits_as_from_a_file(name, folder, web, memory):
    path = str(folder / name)
    model = WAYS[name](path)
    for url in (f"file://{path}", f"memory://rows_at_urls/{name}", f"{web.url}/{name}?signed=x.y"):
        there = WAYS[name](url)
        assert np.array_equal(there.coef_, model.coef_) and np.array_equal(there.predict(url), model.predict(path))


def test_patterns_lists_and_folders(folder, memory):
    expected = table([folder / "t.parquet"] * 2).coef_
    for name in ("a/1.parquet", "a/b/2.parquet", "a/_done", "c/k=1/1.parquet", "c/k=2/1.parquet", "all.parquet/1"):
        memory.pipe(f"/rows_at_urls/in/{name}", (folder / "t.parquet").read_bytes())
    here = "memory://rows_at_urls/in"
    memory.mv("/rows_at_urls/in/all.parquet/1", "/rows_at_urls/in/all.parquet/1.parquet")
    for url in (f"{here}/a", f"{here}/a/", f"{here}/a/**/*.parquet"):
        assert np.array_equal(table(url).coef_, expected)
    listed = [f"{here}/a/1.parquet", f"{here}/a/b/2.parquet"]
    assert np.array_equal(snb.LinearNB("multinomial").fit(snb.table(listed, "y")).coef_, expected)
    assert np.array_equal(table(listed).coef_, expected) and table(listed).predict(listed).shape == (2 * N,)
    addresses = snb.LinearNB("multinomial").fit(listed, [0, 1])  # without a column of labels they are texts
    assert addresses.predict(listed).shape == (2,)
    assert table(f"{here}/all.parquet").report_.rows == N
    parted = snb.table(f"{here}/c", "y")
    assert parted.n_rows == 2 * N and "k in (1.5, inf)" in parted.feature_names and len(parted.files) == 2


def test_lists_and_folders_of_texts(folder, memory):
    twice = ["memory://rows_at_urls/t.jsonl"] * 2
    assert snb.text(twice, "text", y="y").n_rows == 2 * N
    assert snb.text(twice, y=[0, 1]).n_rows == 2  # without a field the addresses are the texts
    for name in ("tea/1.txt", "wine/1.txt", "wine/old/2.txt"):
        memory.pipe(f"/rows_at_urls/drinks/{name}", f"{name[:3]} {name[:3]} drink".encode())
    rows = snb.text("memory://rows_at_urls/drinks")
    assert rows.n_rows == 3 and snb.LinearNB().fit(rows).predict(["a tea"]).tolist() == ["tea"]
    assert snb.LinearNB().fit("memory://rows_at_urls/drinks/").classes_.tolist() == ["tea", "wine"]
    assert snb.text("memory://rows_at_urls/drinks/wine/*.txt").n_rows == 1
    memory.pipe("/rows_at_urls/tax.tsv", "".join(f"s{k}\tc{y}\n" for k, y in enumerate(Y)).encode())
    rows = snb.sequences(["memory://rows_at_urls/t.fasta"], "memory://rows_at_urls/tax.tsv", k=2)
    assert np.array_equal(snb.LinearNB("multinomial").fit(rows).coef_, WAYS["t.fasta"](folder / "t.fasta").coef_)


@pytest.mark.parametrize("name", [name for name in WAYS if name != "t.h5ad"])
def test_reads_that_fail_are_tried_again(name, folder, web):
    web.cut[f"/{name}"], web.fail[f"/{name}"] = [3], [503]
    there = WAYS[name](f"{web.url}/{name}")
    assert web.cut[f"/{name}"] == web.fail[f"/{name}"] == []
    assert np.array_equal(there.coef_, WAYS[name](folder / name).coef_)


OPENED = {
    "t.parquet": lambda url: snb.table(url, "y"),
    "t.arrow": lambda url: snb.table(url, "y"),
    "t.csv": lambda url: snb.table(url, "y"),
    "t.jsonl.gz": lambda url: snb.text(url, "text", y="y"),
    "t.txt": lambda url: snb.text(url, y=Y),
    "t.svm": snb.svmlight,
    "t.svm.gz": snb.svmlight,
    "t.fasta": lambda url: snb.sequences(url, "header", k=2),
    "t.h5ad": lambda url: opened(url, "y"),
}


@pytest.mark.parametrize("name", OPENED)
def test_sources_are_pickled_with_their_urls_and_notice_files_that_change(name, folder, web):
    rows = OPENED[name](f"{web.url}/{name}")
    model, same = (snb.LinearNB("multinomial").fit(one) for one in (pickle.loads(pickle.dumps(rows)), rows))
    assert np.array_equal(model.coef_, same.coef_)
    content = web.files[f"/{name}"]
    web.files[f"/{name}"] = content[:-2] + content[:2]
    with pytest.raises(snb.DataError, match=rf"{name} has changed since it was opened"):
        model.score(rows)
    web.files[f"/{name}"] = content
    model.score(rows)


def test_small_files_of_servers_without_ranges(folder, monkeypatch):
    with serving(ranges=False) as web:
        url = web.put("t.parquet", (folder / "t.parquet").read_bytes())
        with pytest.raises(snb.DataError, match=r"t.parquet: the server gives whole files only, no ranges of bytes"):
            table(url)
        monkeypatch.setattr(stored_files, "SMALL", 1 << 20)
        assert np.array_equal(table(url).coef_, table(folder / "t.parquet").coef_)


@pytest.mark.parametrize("name", ["a.parquet", "a.jsonl", "a.txt", "a.svm", "a.h5ad", "a", "*.csv"])
def test_what_is_not_there_is_named(name):
    with pytest.raises((FileNotFoundError, snb.DataError), match=r"X='?memory://nothing/[*a]"):
        snb.LinearNB().fit(f"memory://nothing/{name}", "y")


def test_rows_that_only_this_process_has_are_not_sent_to_workers(memory, folder):
    from streamnb.passes.dask_workers import reachable

    assert not reachable(snb.table("memory://rows_at_urls/t.parquet", "y"))
    assert reachable(snb.table(f"file://{folder}/t.parquet", "y"))
