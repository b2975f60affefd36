"""Values and indices of every dtype give the sums and scores that the same numbers give in float64, bit for bit."""

import re
from dataclasses import replace
from itertools import product

import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

import streamnb as snb
from streamnb.rows.boundary import Domain, as_chunk, survey_values
from streamnb.stats.moment_sums import MOMENTS
from tests.support.strategies import same_stats


@pytest.mark.parametrize("wrong", [np.nan, -np.nan, np.inf, -np.inf])
def test_what_is_not_finite_is_seen_wherever_it_is(wrong):
    for place, width in product((0, 7, -1), (1, 4)):
        values = np.ones(5000, np.float32)
        values[place] = wrong
        assert not survey_values(values, width).top < np.inf


VALUES = st.sampled_from([0.0, 0.0, 1.0, 2.0, 0.5, -1.0])
ENDS = st.sampled_from([-np.inf, -1.0, 0.0, np.nextafter(0.0, 1.0), 0.5, 1.0, np.inf])
SHAPES = array_shapes(min_dims=2, max_dims=2, max_side=4)


@pytest.mark.parametrize("storage", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@given(arrays(np.float64, SHAPES, elements=VALUES), ENDS, ENDS.filter(lambda end: end >= 0), st.data())
def test_a_value_is_refused_where_there_is_one_outside(storage, dtype, x, lowest, highest, data):
    columns = data.draw(st.none() | st.builds(slice, st.integers(0, 3)) | st.just([0]))
    domain = Domain("Own", lowest, highest, columns, "y")
    mine = np.zeros(x.shape, bool)
    mine[:, slice(None) if columns is None else columns] = True
    outside = mine & ((x < lowest) | (x > highest))
    rows = as_chunk(storage(x.astype(dtype)), 10)
    if not outside.any():
        domain.check(*rows)
        return
    with pytest.raises(ValueError, match=r"Own") as error:
        domain.check(*rows)
    row, column = map(int, re.search(r"row (\d+), column (\d+)", str(error.value)).groups())
    assert outside[row - 10, column]
    stored = outside & (storage is np.asarray or x != 0)  # of these the first, then of those absent
    assert [row - 10, column] == np.argwhere(stored if stored.any() else outside)[0].tolist()


@pytest.mark.parametrize(
    ("domain", "value", "words"),
    [
        (Domain("Own", 0.0), -2.0, r"Negative values in data passed to Own: row 0, column 1 is -2\.0"),
        (Domain("Own", 1.0, what="y"), 0.5, r"^y has 0\.5 at row 0, column 1; Own takes values of at least 1$"),
        (Domain("Own", np.nextafter(1.0, 2.0)), 1.0, r"^X has 1\.0 at .* takes values above 1$"),
        (Domain("Own", -1.0), -2.0, r"Negative values in data passed to Own"),
        (Domain("Own", highest=3.0), 4.0, r"^X has 4\.0 at row 0, column 1; Own takes values of at most 3$"),
        (Domain("Own", highest=np.nextafter(3.0, 2.0)), 3.0, r"takes values below 3$"),
        (Domain("Own", highest=-3.0), 4.0, r"takes values of at most -3$"),
    ],
)
def test_each_end_has_its_words(domain, value, words):
    inside = 2.0 if domain.highest > 0 else -5.0
    with pytest.raises(ValueError, match=words):
        domain.check(*as_chunk(np.array([[inside, value]])))


def test_an_end_that_single_precision_cannot_tell_from_zero():
    above_zero = Domain("Own", np.nextafter(0.0, 1.0))
    above_zero.check(*as_chunk(np.ones((2, 2), np.float32)))
    with pytest.raises(ValueError, match=r"^X has 0\.0 at row 0, column 0; Own takes values above 0$"):
        above_zero.check(*as_chunk(np.zeros((2, 2), np.float32)))


DTYPES = ["?", "i1", "u1", "i2", "u2", ">i2", "i4", "u4", "i8", "u8", "f2", "f4", "f8"]
OPTIONS = {
    "plain": {},
    "negative threshold": {"binarize": -1.0},
    "transformed": {"transform": "binary", "normalize": "l2"},
    "folds": {"folds": 3, "repeats": 2},
    "every moment": {"moments": MOMENTS, "centre": 2.5},
}


def problem(dtype):
    """Rows with the smallest and largest numbers of the dtype that float64 holds, and their labels."""
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2 if dtype == "?" else 5, (40, 6)) * (rng.random((40, 6)) < 0.7)
    x = x.astype(dtype)
    if x.dtype.kind in "iu" and x.dtype.itemsize < 8:
        x[[1, 5, 5], [2, 2, 4]], x[[2, 3], [2, 0]] = np.iinfo(dtype).max, np.iinfo(dtype).min
    return x, rng.integers(0, 3, 40)


def csr_group(data, indices, indptr, shape):
    group = zarr.create_group(zarr.storage.MemoryStore())
    for name, values in (("data", data), ("indices", indices), ("indptr", indptr)):
        group.create_array(name, data=values)
    group.attrs.update({"encoding-type": "csr_matrix", "encoding-version": "0.1.0", "shape": list(shape)})
    return group


def in_zarr(x, index=np.uint16):
    csr = sp.csr_array(x.astype(np.float64))
    return csr_group(csr.data.astype(x.dtype), csr.indices.astype(index), csr.indptr, x.shape)


@pytest.mark.parametrize(
    ("dtype", "options"),
    [
        (dtype, name)
        for dtype in DTYPES
        for name in OPTIONS
        if name == "plain" or dtype in ("?", "u1", ">i2", "i8", "f4")
    ],
)
def test_sums_do_not_depend_on_the_dtype(dtype, options):
    x, y = problem(dtype)
    found, expected = (snb.scan(rows, y, **OPTIONS[options]) for rows in (x, x.astype(np.float64)))
    assert same_stats(found, expected) and found.negatives == (x < 0).sum() * (options != "transformed")
    if options != "every moment":  # an absent value has no logarithm
        assert same_stats(snb.scan(in_zarr(x), y, **OPTIONS[options]), expected)


@pytest.mark.parametrize("dtype", DTYPES)
def test_scores_do_not_depend_on_the_dtype(dtype):
    x, y = problem(dtype)
    for family in ("gaussian", "bernoulli", snb.Laplace(1.5)):
        model = snb.LinearNB(family).fit(x, y)
        assert (model.decision_function(x) == model.decision_function(x.astype(np.float64))).all()
        sparse = sp.csr_array(x.astype(np.float64))
        assert (model.decision_function(in_zarr(x)) == model.decision_function(sparse)).all()


@pytest.mark.parametrize("family", ["gaussian", "poisson"])
def test_drop_ins_and_predictive_scores_do_not_depend_on_the_dtype(family):
    x, y = problem("u1")
    smoothing = snb.NormalInverseGamma(0.0, 1.0, 2.0, 1.0) if family == "gaussian" else 1.0
    model = snb.LinearNB(family, smoothing=smoothing).fit(x, y)
    for rows, same in ((x, x.astype(np.float64)), (in_zarr(x), sp.csr_array(x.astype(np.float64)))):
        assert (model.predict_proba(rows, predictive=True) == model.predict_proba(same, predictive=True)).all()
        assert (snb.GaussianNB().fit(x, y).predict_proba(rows) == snb.GaussianNB().fit(x, y).predict_proba(same)).all()


@pytest.mark.parametrize("index", ["i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_indices_of_every_dtype_give_the_same_sums_and_are_checked(index):
    highest = min(np.iinfo(index).max, 70_000)
    indices = np.array([0, highest, highest, 3, highest - 1], index)  # the last row is not in order
    group = csr_group(np.array([1, 2, 3, 4, 5], np.uint8), indices, np.array([0, 2, 3, 5]), (3, highest + 1))
    stats = snb.scan(group, [0, 1, 0], moments=["sum"])
    expected = np.zeros((2, highest + 1))
    expected[[0, 0, 0, 0, 1], [0, highest, 3, highest - 1, highest]] = 1, 2, 4, 5, 3
    assert (stats.sum == expected).all()
    group = csr_group(np.ones(3, np.uint8), np.array([0, 7, 1], index), np.array([0, 1, 3]), (2, 7))
    with pytest.raises(ValueError, match="column 7 in row 1"):
        snb.scan(group, [0, 1])


@pytest.mark.parametrize("n_classes", [3, 12])
def test_models_with_weights_in_half_the_memory_score_sparse_rows_as_dense_ones(n_classes):
    rng = np.random.default_rng(0)
    X = rng.poisson(0.5, (40, 9)).astype(float)
    model = snb.solve(snb.scan(X, np.arange(40) % n_classes))[0]
    small = replace(model, weights=model.weights.astype(np.float32))
    assert (small.decision_function(sp.csr_array(X)) == small.decision_function(X)).all()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_missing_values_pass_only_where_they_are_asked_for(dtype):
    X = np.array([[1.0, np.nan], [2.0, 3.0]], dtype)
    np.testing.assert_array_equal(as_chunk(X, missing=True)[0].values, X)
    for wrong, missing in ((X, False), (np.where(np.isnan(X), np.inf, X), True)):
        with pytest.raises(ValueError, match="column 1"):
            as_chunk(wrong, 7, missing)
