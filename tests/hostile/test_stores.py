"""Stores whose metadata or chunks were changed at random: refused in clear words, or read as a plain reader does."""

import json
import shutil

import numpy as np
import pytest
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from tests.support import hostile
from tests.support.processes import python
from tests.support.refusals import refused
from tests.support.zarr_stores import anndata_root, csr_group, dense_array

ROWS = hostile.ROWS


def spoiled(name):
    """The law for one kind of store, for hypothesis here and for `make fuzz`."""

    @settings(max_examples=8, derandomize=True, database=None)
    @given(hostile.spoiled_stores(name))
    def law(store):
        path, y = store
        try:
            stats = hostile.outcome(lambda: snb.scan(path, y))
            assert stats is None or hostile.same_as_plain(stats, path, y)
        finally:
            shutil.rmtree(path.parent)

    return law


@pytest.mark.parametrize("name", hostile.STORES)
def test_spoiled_stores_are_refused_or_read_as_they_are(name):
    spoiled(name)()


@settings(max_examples=15, derandomize=True, database=None)
@given(hostile.spoiled_stores("csr"), st.sampled_from(["predict", "decision_function", "score"]))
def test_spoiled_stores_in_predictions(store, method):
    path, _ = store
    model = snb.LinearNB("poisson").fit(ROWS.x, ROWS.y)
    try:
        hostile.outcome(lambda: getattr(model, method)(path, *(("y",) if method == "score" else ())))
    finally:
        shutil.rmtree(path.parent)


# ------------------------------------------------------------------------------- what was found in this way


def edited(path, **changes):
    """A metadata file with some entries set: `a__b` stands for b inside a; None takes it out."""
    document = json.loads(path.read_text())
    for name, value in changes.items():
        *above, last = name.split("__")
        node, last = document, int(last) if last.isdigit() else last
        for key in above:
            node = node[int(key) if key.isdigit() else key]
        if value is None:
            del node[last]
        else:
            node[last] = value
    path.write_text(json.dumps(document))


CHUNKS = "chunk_grid__configuration__chunk_shape"
BROKEN = {
    "chunks of nothing": ("data", {CHUNKS: [0]}),
    "a shape beyond 64 bits": ("data", {"shape": [2**63]}),
    "a negative shape": ("indices", {"shape": [-3]}),
    "chunks of two dimensions": ("indptr", {CHUNKS: [7, 7]}),
    "no fill value": ("indptr", {"fill_value": None}),
}


@pytest.mark.parametrize(("name", "changes"), BROKEN.values(), ids=BROKEN)
def test_impossible_metadata(name, changes, tmp_path):
    csr_group(ROWS, tmp_path)
    edited(tmp_path / "csr.zarr" / name / "zarr.json", **changes)
    with refused(ValueError, "metadata|indptr has|data has|lacks", name):
        snb.scan(tmp_path / "csr.zarr", "y")


def test_attributes_that_are_a_list(tmp_path):
    dense_array(ROWS, tmp_path)
    edited(tmp_path / "dense.zarr" / "zarr.json", attributes=[])
    with refused(snb.DataError, "the metadata of array '' in .*dense.zarr is broken"):
        snb.scan(tmp_path / "dense.zarr", ROWS.y)


def test_a_chunk_that_does_not_fit_into_memory(tmp_path):
    dense_array(ROWS, tmp_path)
    edited(tmp_path / "dense.zarr" / "zarr.json", **{CHUNKS: [2**40, 9]})
    with refused(MemoryError, "one chunk", "dense.zarr", "smaller chunks"):
        snb.scan(tmp_path / "dense.zarr", ROWS.y)


@pytest.mark.parametrize("known", ["yes", 3, [], None, {"non_negative": 1, "explicit_zeros": 0}], ids=str)
def test_an_attribute_of_ours_that_says_something_else(known, tmp_path):
    group = snb.write_csr(tmp_path / "x.zarr", [(ROWS.x, ROWS.y)], n_features=9)
    group.attrs["streamnb"] = known
    assert (snb.scan(tmp_path / "x.zarr", "y").sum == snb.scan(ROWS.x, ROWS.y).sum).all()


@pytest.mark.parametrize("part", ["codes", "categories"])
def test_broken_metadata_of_a_categorical_column(part, tmp_path):
    anndata_root(ROWS, tmp_path)
    path = tmp_path / "root.zarr" / "obs" / "kind" / part / "zarr.json"
    root = zarr.open_group(tmp_path / "root.zarr", mode="r", use_consolidated=False)
    whole = path.read_text()
    for changes in ({"shape": None}, {"data_type": 9}, {"codecs": []}, {CHUNKS: ["one"]}):
        edited(path, **changes)
        with refused(snb.DataError, "metadata of|lacks", part):
            snb.scan(root, "obs/kind")
        path.write_text(whole)
    shutil.rmtree(path.parent)
    with refused(snb.DataError, "obs/kind", "lacks", "codes", "categories"):
        snb.scan(root, "obs/kind")


@pytest.mark.process
def test_an_index_of_a_shard_that_leads_anywhere_does_not_end_the_process(tmp_path):
    """The codecs in Rust abort where memory for a chunk of a damaged length cannot be had."""
    csr_group(ROWS, tmp_path, shards=(21,))
    edited(tmp_path / "csr.zarr" / "indices" / "zarr.json", codecs__0__configuration__index_codecs__1=None)
    code = (
        "import resource, streamnb as snb\n"
        "resource.setrlimit(resource.RLIMIT_AS, (8 << 30, 8 << 30))\n"
        f"snb.scan({str(tmp_path / 'csr.zarr')!r}, 'y')"
    )
    ran = python("-c", code)
    assert ran.returncode == 1
    assert "DataError" in ran.stderr and "array 'indices'" in ran.stderr


def test_a_store_of_many_chunks_is_looked_through_once(tmp_path):
    x = np.ones((600, 2))
    group = zarr.create_group(tmp_path / "x.zarr")
    attributes = {"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": [600, 2]}
    for name, values in {"data": x.ravel(), "indices": np.tile([0, 1], 600), "indptr": np.arange(0, 1201, 2)}.items():
        group.create_array(name, data=values, chunks=(4,), config={"write_empty_chunks": True})
    group.attrs.update(attributes)
    (tmp_path / "x.zarr" / "data" / "notes.txt").write_text("no chunk")
    assert snb.scan(group, np.arange(600) % 2).n_rows == 600
    (tmp_path / "x.zarr" / "data" / "c" / "123").unlink()
    with refused(snb.DataError, "array 'data'", "lacks 1 of its 300 chunks"):
        snb.scan(group, np.arange(600) % 2)


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("part", [0, 2], ids=["first chunk", "last chunk"])
@pytest.mark.parametrize("change", [lambda b: b + bytes(16), lambda b: b[:-8]], ids=["more bytes", "fewer bytes"])
def test_plain_chunks_of_another_size_are_refused(change, part, zarr_format, tmp_path):
    """The rows that an array has of its last chunk would be there."""
    x = np.arange(40.0).reshape(20, 2)
    zarr.create_array(tmp_path / "x.zarr", data=x, chunks=(8, 2), zarr_format=zarr_format, compressors=None)
    chunk = tmp_path / "x.zarr" / (f"{part}.0" if zarr_format == 2 else f"c/{part}/0")
    chunk.write_bytes(change(chunk.read_bytes()))
    with refused(snb.DataError, f"chunk {part} cannot be read"):
        snb.scan(tmp_path / "x.zarr", np.arange(20) % 2)
