"""Statistics of an indicator of labels: a row adds to each of its labels, and to the total once."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
import zarr

import streamnb as snb
from tests.support.contracts import same

rng = np.random.default_rng(1)
X = rng.poisson(0.7, (150, 6)).astype(float)
Y = (rng.random((150, 5)) < [0.5, 0.2, 0.05, 0.9, 0.0]).astype(int)
weight = rng.random(150)


@pytest.mark.parametrize("weights", [None, weight], ids=["plain", "weighted"])
def test_each_label_and_the_total_are_scans_of_their_rows(weights):
    stats = snb.scan(X, Y, sample_weight=weights)
    assert stats.multilabel
    assert stats.n_rows == 150
    assert stats.classes.tolist() == [0, 1, 2, 3, 4]
    every = snb.scan(X, np.zeros(150, int), sample_weight=weights)
    assert (stats.every.sum == every.sum).all()
    assert stats.total_weight == every.weight[0]
    for label in range(5):
        of_label = snb.scan(X, Y[:, label], sample_weight=weights, classes=[0, 1])
        assert (stats.sum[label] == of_label.sum[1]).all()
        assert stats.weight[label] == of_label.weight[1]


@pytest.mark.compiled
def test_the_result_does_not_depend_on_what_holds_the_rows(tmp_path):
    expected = snb.scan(X, Y)
    store = snb.write_csr(tmp_path / "x.zarr", [sp.csr_array(X)], n_features=6)
    store.create_array("dense", data=Y, chunks=(40, 5))
    snb.write_csr(tmp_path / "labels.zarr", [sp.csr_array(Y.astype(float))], n_features=5)
    labels = zarr.open(tmp_path / "labels.zarr")
    lazy = da.from_array(X, chunks=(29, 6))
    stream = ((X[a : a + 20], Y[a : a + 20]) for a in range(0, 150, 20))
    forms = {
        "sparse y": snb.scan(X, sp.csr_matrix(Y)),
        "bools": snb.scan(X, Y.astype(bool)),
        "lists": snb.scan(X.tolist(), Y.tolist()),
        "frame": snb.scan(X, pd.DataFrame(Y)),
        "explicit zeros": snb.scan(X, sp.csr_array((Y.ravel(), np.tile(np.arange(5), 150), np.arange(0, 751, 5)))),
        "zarr": snb.scan(store, "dense"),
        "zarr csr": snb.scan(store, labels),
        "dask": snb.scan(lazy, da.from_array(Y, chunks=(40, 5))),
        "dask unknown": snb.scan(_of_unknown_lengths(lazy), _of_unknown_lengths(da.from_array(Y, chunks=(29, 5)))),
        "dask x": snb.scan(lazy, sp.csr_array(Y)),
        "stream": snb.scan(stream),
    }
    for stats in forms.values():
        same(stats, expected)


def _of_unknown_lengths(array):
    return array[da.ones(len(array), chunks=array.chunks[0], dtype=bool)]


def test_labels_are_named_in_the_order_of_their_columns():
    names = ["sport", "art", "war", "tax", "zoo"]
    stats = snb.scan(X, Y, classes=names)
    assert stats.classes.tolist() == names
    same(stats + stats, snb.scan(np.vstack([X, X]), np.vstack([Y, Y]), classes=names))


def test_a_thousand_labels_cost_as_many_rows_as_they_have():
    many = sp.random_array((2000, 3000), density=0.001, format="csr", rng=rng)
    many.data[:] = 1.0
    rows = sp.random_array((2000, 50), density=0.1, format="csr", rng=rng)
    stats = snb.scan(rows, many, moments=["nonzero"])
    assert (stats.nonzero == many.T @ (rows != 0).astype(float)).all()


@pytest.mark.parametrize(
    ("y", "classes", "message"),
    [
        (Y * 2, None, "indicator of labels should hold 0 and 1"),
        (Y - 0.5, None, "row 0, column 0"),
        (Y[:99], None, "inconsistent numbers of samples"),
        (Y.astype(str), None, "an indicator of labels should hold 0 and 1"),
        (Y, ["a", "b"], "indicator of 5 labels, but classes names 2"),
    ],
)
def test_indicators_that_cannot_be(y, classes, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.scan(X, y, classes=classes)


def test_one_kind_of_y():
    with pytest.raises(ValueError, match="one label a row"):
        snb.scan(iter([(X, Y), (X, Y[:, 0])]))
    with pytest.raises(ValueError, match="one label a row"):
        snb.scan(iter([(X, Y[:, 0]), (X, Y)]))
    with pytest.raises(ValueError, match=r"5 before|different classes"):
        snb.scan(iter([(X, Y), (X, Y[:, :3])]))
    with pytest.raises(ValueError, match="indicator"):
        snb.scan(X, Y) + snb.scan(X, Y[:, 0])
