"""Rows, labels and weights of any dtype and layout, sparse arrays that contradict themselves: refused or right."""

import math
from collections import defaultdict

import dask
import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from tests.support.hostile import outcome
from tests.support.refusals import WRONG, refused

N_ROWS, N_FEATURES = 6, 4
few = settings(max_examples=40, derandomize=True, database=None)
DTYPES = ["b1", "i1", "u1", "i2", ">i2", "i4", "u4", ">i4", "i8", "u8", "f2", "f4", ">f4", "f8", ">f8", "g"]
DTYPES += ["c8", "c16", "M8[s]", "m8[s]", "S3", "U3", "O", "V4", "i4,f4"]
SPECIAL = [0, 1, 2, -1, 3, 255, 2**31, 2**53, 2**53 + 1, 2**63 - 1, 1e100, 1e101]
SPECIAL += [1e308, 5e-324, np.nan, np.inf, -np.inf, -0.0]
INTEGERS = [-(2**63), -(2**31), -1, 0, 1, 2, 3, 4, 5, 6, 7, 2**31 - 1, 2**31, 2**32, 2**63 - 1]


def cast(values, dtype):
    """Values as a dtype; what has no place in it becomes something else, as in an array that was damaged."""
    with np.errstate(all="ignore"):
        try:
            return np.array(values, float).astype(dtype)
        except (TypeError, ValueError):
            return np.zeros(np.shape(values), dtype)


LAYOUTS = {
    "plain": lambda a: a,
    "Fortran": np.asfortranarray,
    "backwards": lambda a: a[::-1].copy()[::-1],
    "strided": lambda a: np.repeat(a, 2, axis=0)[::2],
    "one row for all": lambda a: np.broadcast_to(a[:1], a.shape),
    "read-only": lambda a: np.lib.stride_tricks.as_strided(a, writeable=False),
    "unaligned": lambda a: np.frombuffer(b"x" + a.tobytes(), np.uint8)[1:].view(a.dtype).reshape(a.shape),
    "matrix": np.asmatrix,
    "masked": lambda a: np.ma.array(a) if a.ndim == 2 or not a.dtype.names else a,
    "list": lambda a: a.tolist(),
    "memory": lambda a: memoryview(np.ascontiguousarray(a)),
}


@st.composite
def arrays_of(draw, shape, values=SPECIAL, usual=30):
    """An array of some dtype and layout; most values are small."""
    size = math.prod(shape)
    number = st.one_of(*[st.integers(0, 3)] * usual, st.sampled_from(values))
    numbers = [draw(number) for _ in range(size)]
    array = cast(np.array(numbers, object).reshape(shape), draw(st.sampled_from(DTYPES)))
    layout = LAYOUTS[draw(st.sampled_from(list(LAYOUTS)))]
    try:
        return layout(array)
    except (TypeError, ValueError):  # numpy knows no such array
        return array


def sums(x, y, w):
    """Class sums by definition."""
    parts = defaultdict(list)
    for row, label, weight in zip(x, y, w):
        parts[label].append([float(v) * float(weight) for v in row])
    return {label: [math.fsum(column) for column in zip(*rows)] for label, rows in parts.items()}


def right(stats, x, y, w):
    expected = sums(x, y, w)
    assert stats.classes.tolist() == sorted(expected)
    np.testing.assert_allclose(stats.sum, [expected[label] for label in stats.classes.tolist()], rtol=1e-15)


@few
@given(st.data())
def test_dense_rows_of_any_dtype_and_layout(data):
    x = data.draw(arrays_of((N_ROWS, N_FEATURES)))
    y = data.draw(st.one_of(st.just(np.arange(N_ROWS) % 2), arrays_of((N_ROWS,), [0, 1, np.nan, 0.5, 2**63 - 1])))
    w = data.draw(st.one_of(st.just(np.ones(N_ROWS)), arrays_of((N_ROWS,), [0, -1, np.nan, np.inf, 1e101])))
    stats = outcome(lambda: snb.scan(x, y, sample_weight=w))
    if stats is not None:
        labels = np.asarray(y).tolist()
        right(
            stats,
            np.asarray(x).astype(float),
            [v.decode() if isinstance(v, bytes) else v for v in labels],
            np.asarray(w),
        )


@few
@given(st.data(), st.sampled_from(["scan", "predict", "write_csr", "rank"]))
def test_sparse_rows_that_were_tampered_with(data, use):
    """Whatever stands in indptr, indices and data, nothing outside of them is touched."""
    x = sp.csr_array(np.arange(N_ROWS * N_FEATURES, dtype=float).reshape(N_ROWS, N_FEATURES) % 3)
    spare = sp.csr_array((x.data, x.indices, x.indptr), shape=x.shape)
    for _ in range(data.draw(st.integers(0, 3))):
        name = data.draw(st.sampled_from(["indptr", "indices", "data", "lengths", "dtype", "shape"]))
        if name == "lengths":
            part, cut = data.draw(st.sampled_from(["indptr", "indices", "data"])), data.draw(st.integers(0, 5))
            setattr(spare, part, getattr(spare, part)[: max(len(getattr(spare, part)) - cut, 0)])
        elif name == "dtype":
            part = data.draw(st.sampled_from(["indptr", "indices", "data"]))
            setattr(spare, part, cast(getattr(spare, part), data.draw(st.sampled_from(DTYPES))))
        elif name == "shape":
            spare._shape = data.draw(
                st.sampled_from([(N_ROWS, 1), (N_ROWS, 2**40), (2, 4), (7, 4), (0, 4), (N_ROWS, 0)])
            )
        elif len(getattr(spare, name)):
            array = getattr(spare, name).astype(np.float64 if name == "data" else np.int64)
            value = data.draw(st.sampled_from(SPECIAL if name == "data" else INTEGERS))
            array[data.draw(st.integers(0, len(array) - 1))] = value
            setattr(spare, name, array)
    y = np.arange(N_ROWS) % 2
    model = snb.LinearNB("poisson").fit(np.ones((N_ROWS, N_FEATURES)), y)
    runs = {
        "scan": lambda: snb.scan(spare, y),
        "predict": lambda: model.predict(spare),
        "write_csr": lambda: snb.scan(snb.write_csr({}, [(spare, y)], n_features=N_FEATURES), "y"),
        "rank": lambda: snb.FeatureSelector("f_classif", k=1).fit(spare, y).stats_,
    }
    stats = outcome(runs[use])
    if stats is not None and use == "scan" and stats.n_features < 100:
        dense = np.zeros((N_ROWS, stats.n_features))
        for row in range(N_ROWS):
            for p in range(int(spare.indptr[row]), int(spare.indptr[row + 1])):
                dense[row, int(spare.indices[p])] += float(spare.data[p])
        right(stats, dense, y.tolist(), np.ones(N_ROWS))


LIES = {
    "more rows than said": lambda b: np.vstack([b, b]),
    "fewer rows than said": lambda b: b[:1],
    "no rows": lambda b: b[:0],
    "another width": lambda b: b[:, :2],
    "one dimension": lambda b: b[:, 0],
    "words": lambda b: b.astype(str),
    "complex": lambda b: b + 1j,
    "objects": lambda b: np.full(b.shape, None),
    "nothing": lambda b: None,
    "sparse": lambda b: sp.csr_array(b) if b.shape[1] > 1 else b,
    "NaN": lambda b: b * np.nan,
    "other numbers": lambda b: b.astype(np.int8),
}


@pytest.mark.parametrize("lie", LIES.values(), ids=LIES)
@pytest.mark.parametrize(("of", "blocks"), [("X", "one of them"), ("y", "all")])
def test_dask_blocks_that_are_not_what_their_array_says(lie, of, blocks):
    x, y = np.arange(24.0).reshape(12, 2) % 5 + 0.0, np.arange(12) % 2
    x = np.hstack([x, x])

    def changed(block, block_id=None):
        values = block if of == "X" else block[:, None]
        bad = lie(values) if block_id[0] == 1 or blocks == "all" else values
        return bad if of == "X" or bad is None or bad.ndim == 1 or sp.issparse(bad) else bad[:, 0]

    X, labels = da.from_array(x, chunks=(4, -1)), da.from_array(y, chunks=4)
    if of == "X":
        X = X.map_blocks(changed, dtype=X.dtype, meta=np.empty((0, 0)))
    else:
        labels = labels.map_blocks(changed, dtype=labels.dtype, meta=np.empty(0, int))
    with dask.config.set(scheduler="synchronous"):
        stats = outcome(lambda: snb.scan(X, labels))
    if stats is not None:
        whole = snb.scan(x, y)
        assert stats.n_rows == 12 and (stats.sum == whole.sum).all() and [*map(int, stats.classes)] == [0, 1]


ABSURD = {
    "rows of records": np.zeros(4, "f4,f4"),
    "masked records": np.ma.array(np.zeros((4, 3), "f4,f4")),
    "a sparse vector": sp.coo_array(np.ones(4)),
    "a generator of nothing": iter(()),
    "a generator of None": iter([None]),
    "a generator of itself": iter([iter([np.ones((2, 2))])]),
    "a dictionary": {"a": [1, 2]},
    "a set": {1, 2},
    "text": "no such store",
    "a number": 5,
    "a class": np.ndarray,
}


@pytest.mark.parametrize("use", ["fit", "predict", "evaluate", "selector"])
@pytest.mark.parametrize("x", ABSURD.values(), ids=ABSURD)
def test_what_is_no_table_of_rows(use, x):
    y = np.array([0, 1, 0, 1])
    model = snb.LinearNB("gaussian").fit(np.eye(4), y)
    runs = {
        "fit": lambda: snb.LinearNB("gaussian").fit(x, y),
        "predict": lambda: model.predict(x),
        "evaluate": lambda: snb.evaluate(x, y),
        "selector": lambda: snb.FeatureSelector(k=1).fit(x, y),
    }
    with pytest.raises((*WRONG, OSError), match=r"\w{3}"):
        runs[use]()


@pytest.mark.parametrize("form", ["csr", "csc", "coo", "bsr"])
def test_indices_of_any_format_are_looked_at_before_scipy_goes_by_them(form):
    y = np.array([0, 1, 0, 1, 0, 1])
    for name, at, value in (
        ("indices", 3, 99),
        ("indices", 0, -1),
        ("indptr", 1, 10**6),
        ("indptr", -1, 99),
        ("row", 1, 77),
    ):
        x = sp.csr_array(np.eye(6)[:, :4] + np.tri(6, 4)).asformat(form)
        parts = x.coords[0] if form == "coo" else getattr(x, name, None)
        if (name == "row") == (form == "coo"):
            parts[at] = value
            with refused(ValueError, r"X\.(indices|indptr|coords)"):
                snb.scan(x, y)


@pytest.mark.parametrize("name", ["indices", "indptr"])
def test_a_sparse_indicator_of_labels_is_looked_at_too(name):
    for at, value in ((2, 50), (0, -1), (1, 2**40)):
        y = sp.csr_array(np.tri(6, 3, dtype=int))
        parts = getattr(y, name).astype(np.int64)
        parts[at] = value
        setattr(y, name, parts)
        with refused(ValueError, rf"y\.{name}"):
            snb.scan(np.ones((6, 2)), y)
