"""Rows in: every form of X and y gives the same bits, is read once, is left as it was, and is answered in kind."""

import copy
from dataclasses import dataclass
from typing import Annotated

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given
from hypothesis import strategies as st
from zarr.storage import MemoryStore

import streamnb as snb
from tests.support.strategies import (
    FORMS,
    LABELS,
    SIZES,
    as_dask,
    build,
    chunkings,
    dask_columns,
    example,
    is_weighted,
    labelled,
    messy_csr,
    same_stats,
    same_sums,
    stream,
    sums_of,
)
from tests.support.zarr_stores import FULL, write_arrays, write_labels

# ------------------------------------------------------------------------------------- every form, same bits


@pytest.fixture(scope="module")
def models():
    """Reference models of the example: with weights and without."""
    rows = example()
    return {w: snb.LinearNB().fit(rows.x, rows.y, sample_weight=rows.w if w else None) for w in (True, False)}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_gives_the_same_statistics(name, tmp_path):
    rows = example()
    stats = snb.scan(**build(name, rows, tmp_path))
    assert same_sums(stats, sums_of(rows, weighted=is_weighted(name)))
    assert (stats.n_rows, stats.n_features) == rows.x.shape


@pytest.mark.parametrize("name", [*FORMS][::3])
def test_forms_give_the_same_model_and_scores(name, tmp_path, models):
    rows = example()
    model = snb.LinearNB().fit(**build(name, rows, tmp_path))
    expected = models[is_weighted(name)]
    assert np.array_equal(model.coef_, expected.coef_)
    assert np.array_equal(model.intercept_, expected.intercept_)
    assert model.classes_.tolist() == expected.classes_.tolist()
    assert model.n_features_in_ == 9
    if "dask" not in name:  # whose answers are lazy
        X = build(name, rows, tmp_path / "asked")["X"]
        scores = model.decision_function(X)
        assert isinstance(scores, np.ndarray) and np.array_equal(scores, expected.decision_function(rows.x))


@given(rows=labelled(low=-2), name=st.sampled_from(["csr_array", "csr messy", "csc_array", "coo with duplicates"]))
def test_sparse_forms_give_the_same_statistics_on_any_rows(rows, name, tmp_path):
    assert same_sums(snb.scan(**build(name, rows, tmp_path)), sums_of(rows))


@given(data=st.data(), rows=labelled(low=-2), seed=st.integers(0, 1000))
def test_every_chunking_gives_the_same_statistics(data, rows, seed):
    sizes = data.draw(chunkings(len(rows)))
    blocks = data.draw(st.sampled_from([None, sp.csr_array, lambda x: messy_csr(x, seed)]))
    streamed = snb.scan(stream(rows, "x", "y", "w", sizes=sizes, blocks=blocks), None)
    assert same_sums(streamed, sums_of(rows))
    chunked = as_dask(rows, blocks, known=seed % 2 == 0, sizes=tuple(sizes))
    assert same_stats(snb.scan(chunked, **dask_columns(rows, sizes=tuple(sizes))), streamed)


@given(rows=labelled(min_rows=2, low=-2), seed=st.integers(0, 1000), chunk=st.integers(1, 9))
def test_zarr_rows_that_straddle_chunks(rows, seed, chunk):
    group = write_arrays(zarr.create_group(MemoryStore()), rows, x=messy_csr(rows.x, seed), chunk=chunk)
    assert same_sums(snb.scan(group, "y", sample_weight=rows.w), sums_of(rows))


DOUBLE = ["fortran order", "csr messy", "zarr csr values float64", "dask csr array", "csc chunks"]


@pytest.mark.parametrize("name", DOUBLE)
@pytest.mark.parametrize("options", [{"transform": "log1p", "normalize": "l2"}, {"transform": "sqrt"}], ids=str)
def test_transformed_values_do_not_depend_on_the_form(name, options, tmp_path):
    rows = example()
    passed = build(name, rows, tmp_path)
    assert same_stats(snb.scan(**passed, **options), snb.scan(rows.x, rows.y, sample_weight=rows.w, **options))


def test_missing_chunks_of_dense_rows_count_as_the_fill_value_and_are_counted():
    rows = example()
    rows.x[:21] = 0
    array = zarr.create_array(MemoryStore(), data=rows.x, chunks=(7, 9))
    lacking = (
        r"^X: array '' in .* lacks 3 of its \d+ chunks, whose values count as 0.0; copy the store again, or if its"
    )
    with pytest.warns(snb.StreamnbWarning, match=lacking):
        stats = snb.scan(array, rows.y)
    assert same_sums(stats, sums_of(rows, weighted=False))
    array.attrs["write_empty_chunks"] = False  # no warning, which would be an error
    assert same_sums(snb.scan(array, rows.y), sums_of(rows, weighted=False))


@pytest.mark.parametrize("zarr_format", [2, 3])
@pytest.mark.parametrize("name", ["y", "sample_weight", "groups"])
def test_missing_chunks_of_labels_weights_and_groups_are_refused(name, zarr_format, tmp_path):
    rows = example()
    group = zarr.create_group(tmp_path / "x.zarr", zarr_format=zarr_format)
    group.create_array("X", data=rows.x, chunks=(7, 9), config=FULL)
    for part in ("y", "sample_weight", "groups"):
        group.create_array(part, data=np.arange(len(rows.y)) % 4 + (part == "groups"), chunks=(10,), config=FULL)

    def scan():
        y, weight, groups = (group[part] for part in ("y", "sample_weight", "groups"))
        return snb.scan(group["X"], y, sample_weight=weight, folds=2, groups=groups)

    assert scan().n_rows == len(rows.y)
    (tmp_path / "x.zarr" / name / ("c/1" if zarr_format == 3 else "1")).unlink()
    lacking = (
        rf"^{name}: array '{name}' in .* lacks 1 of its \d chunks, whose values count as 0; .* or pass {name}=array"
    )
    with pytest.raises(snb.DataError, match=lacking):
        scan()
    group[name].attrs["write_empty_chunks"] = False
    assert scan().n_rows == len(rows.y)


@dataclass
class Total(snb.Statistic):
    value: Annotated[float, np.add] = 0.0

    def add(self, rows):
        self.value = self.value + rows.X.sum() + rows.y.sum()


def read_before_and_after(change):
    """The totals of two reads; the rows are opened once."""
    (before,) = yield [snb.Pass(Total())]
    change()
    (after,) = yield [snb.Pass(Total())]
    return before.value, after.value


@pytest.mark.parametrize("lost", ["X/c/1/1", "shards/c/1/1", "y/c/1", "data/c/0", "indices/c/0", "indptr/c/0"])
def test_chunks_that_are_lost_after_opening_are_named_and_chunks_of_zeros_are_read(lost, tmp_path):
    rows, store = example(), tmp_path / "x.zarr"
    n_rows, name = len(rows.y), lost.partition("/")[0]
    x = np.hstack([np.zeros((n_rows, 3)), rows.x[:, :6]])  # the first column of chunks holds zeros
    snb.write_csr(store, [(x, np.arange(n_rows))], n_features=9)
    group = zarr.open_group(store)
    group.create_array("X", data=x, chunks=(2, 3), config=FULL)
    group.create_array("shards", data=x, chunks=(2, 3), shards=(4, 3), config=FULL)
    group.create_array("y", data=np.arange(n_rows) // 5, chunks=(5,), config=FULL, overwrite=True)
    x = group[name] if name in ("X", "shards") else group
    before, after = snb.drive(read_before_and_after(lambda: None), x, group["y"])
    assert before == after > 0
    with pytest.raises(snb.DataError, match=rf"array '{name}' in .* has lost \['{lost}'\] since it was opened"):
        snb.drive(read_before_and_after((store / lost).unlink), x, group["y"])


def test_columns_of_anndata_whose_first_category_fills_chunks_are_read_with_a_warning(tmp_path):
    """anndata leaves out chunks of zeros, so that cells in the order of their types lack the codes of the first."""
    rows = example()
    group = zarr.create_group(MemoryStore())
    column = group.create_group("kind", attributes={"encoding-type": "categorical"})
    codes = np.sort(rows.y.argsort().argsort() % 2).astype(np.int8)
    column.create_array("codes", data=codes, chunks=(5,), attributes={"encoding-type": "array"})
    column.create_array("categories", data=np.array([4, 9]), config=FULL)
    with pytest.warns(snb.StreamnbWarning, match="y: array 'kind/codes' in .* lacks"):
        stats = snb.scan(rows.x, column)
    assert stats.classes.tolist() == [4, 9] and stats.rows.tolist() == np.bincount(codes).tolist()


# ------------------------------------------------------------------------------------------------ labels

Y_FORMS = {
    "list": lambda y: y.tolist(),
    "tuple": lambda y: tuple(y.tolist()),
    "objects": lambda y: y.astype(object),
    "read-only": lambda y: copy.copy(np.frombuffer(y.tobytes(), y.dtype)),
    "series": lambda y: pd.Series(y, index=np.arange(len(y))[::-1]),
    "categorical": lambda y: pd.Series(pd.Categorical(y)),
    "categorical array": pd.Categorical,
    "unused categories": lambda y: pd.Series(pd.Categorical(y)).cat.add_categories([_unused(y)]),
    "masked, nothing missing": np.ma.asarray,
    "dask": lambda y: da.from_array(y, chunks=9),
    "zarr": lambda y: write_labels(zarr.create_group(MemoryStore()), "y", y),
    "frame column": lambda y: pd.DataFrame({"label": y})["label"],
}


def _unused(y):
    return "zzz" if y.dtype.kind == "U" else 99


@pytest.mark.parametrize("kind", LABELS)
@pytest.mark.parametrize("name", Y_FORMS)
def test_every_form_of_labels(name, kind):
    rows = example(kind)
    stats = snb.scan(rows.x, Y_FORMS[name](rows.y))
    assert same_sums(stats, sums_of(rows, weighted=False))
    assert stats.classes.dtype.kind == rows.y.dtype.kind


def test_longer_labels_in_later_chunks_are_not_cut():
    chunks = [(np.eye(2), ["a", "b"]), (np.eye(2), ["a", "beech"]), (np.eye(2), ["bee", "b"])]
    assert snb.scan(iter(chunks), None).classes.tolist() == ["a", "b", "bee", "beech"]


# --------------------------------------------------------------------------------- what is left untouched


def arrays_in(value):
    """The NumPy arrays that a passed value is made of."""
    if isinstance(value, np.ndarray):
        return [value]
    return [getattr(value, part) for part in ("data", "indices", "indptr", "row", "col") if hasattr(value, part)]


@pytest.mark.parametrize("name", ["numpy f8", "strided", "csr messy", "csr messy int64", "csc_array", "coo_array"])
@pytest.mark.parametrize("transform", [None, "log1p"])
def test_the_users_arrays_are_never_changed(name, transform, tmp_path):
    passed = build(name, example(), tmp_path)
    held = [array for value in passed.values() for array in arrays_in(value)]
    before = copy.deepcopy(held)
    model = snb.LinearNB(transform=transform, normalize="l2", idf=True).fit(**passed)
    model.predict_proba(passed["X"])
    assert all(np.array_equal(a, b) for a, b in zip(held, before, strict=True))
    if sp.issparse(passed["X"]):
        assert passed["X"].nnz == before[0].size
    if "messy" in name:
        assert not passed["X"].has_canonical_format and not passed["X"].has_sorted_indices


# ------------------------------------------------------------------------------------ predictions in kind


def lazy(model):
    return [model.predict, model.predict_proba, model.predict_log_proba, model.decision_function]


DASK = ["dask", "dask csr array", "dask csr messy", "dask int32 from zarr"]


@pytest.mark.parametrize(("name", "kind"), [*((name, "str") for name in DASK), ("dask", "int"), ("dask", "bool")])
def test_dask_in_lazy_dask_out(name, kind, tmp_path):
    rows = example(kind)
    model = snb.LinearNB("poisson").fit(rows.x, rows.y)
    X = build(name, rows, tmp_path)["X"]
    for method in lazy(model):
        got, expected = method(X), method(rows.x)
        assert isinstance(got, da.Array)
        assert got.shape == expected.shape and got.chunks[0] == X.chunks[0]
        assert got.dtype == expected.dtype and got._meta.dtype == expected.dtype
        assert isinstance(got._meta, np.ndarray) and got._meta.ndim == expected.ndim
        values = got.compute(scheduler="sync")
        assert values.dtype == expected.dtype and np.array_equal(values, expected)
    with pytest.raises(ValueError, match="out: X is a Dask array"):
        model.predict(X, out=np.empty(len(rows.x), "U9"))


def test_dask_predictions_of_unknown_chunks():
    rows = example()
    model = snb.LinearNB().fit(rows.x, rows.y)
    for X in (as_dask(rows, known=False), as_dask(rows, sp.csr_array, known=False)):
        got = model.predict_proba(X)
        assert np.isnan(got.chunks[0]).all() and got.shape[1] == 3
        assert np.array_equal(got.compute(scheduler="sync"), model.predict_proba(rows.x))
        assert np.array_equal(model.predict(X).compute(scheduler="sync"), model.predict(rows.x))


def test_dask_blocks_are_computed_when_asked_for_only():
    rows = example()
    computed = []
    X = as_dask(rows).map_blocks(lambda x: computed.append(len(x)) or x, meta=np.zeros((0, 0)))
    model = snb.LinearNB().fit(X, rows.y)
    assert sorted(size for size in computed if size) == sorted(size for size in SIZES if size)  # one pass
    computed.clear()
    predicted = model.predict(X)
    assert not computed
    assert len(predicted[:7].compute(scheduler="sync")) == 7
    assert sum(computed) == 7
