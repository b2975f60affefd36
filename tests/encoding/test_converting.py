"""Rows of any kind in a store: names, labels, weights and groups come along, and fits are the same."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import streamnb as snb
from tests.support.refusals import refused

rng = np.random.default_rng(0)
N = 50
X, Y, W = rng.poisson(1.0, (N, 4)), np.array(["a", "b", "c"])[np.arange(N) % 3], rng.choice([0.5, 1.0, 2.0], N)
GROUPS, SETS = np.arange(N) // 5, (rng.random((N, 3)) < 0.5).astype(int)
FRAME = pd.DataFrame(X, columns=["age", "height", "pulse", "fever"])


@pytest.mark.parametrize("y", [Y, SETS])
def test_all_that_is_beside_the_rows_is_kept(y, tmp_path):
    group = snb.convert(FRAME, tmp_path / "rows.zarr", y, sample_weight=W, groups=GROUPS)
    assert group["feature_names"][:].tolist() == FRAME.columns.tolist()
    options = {"sample_weight": "sample_weight", "groups": "groups", "folds": 2}
    found, expected = snb.scan(group, "y", **options), snb.scan(X, y, sample_weight=W, groups=GROUPS, folds=2)
    assert np.array_equal(found.sum, expected.sum)
    assert np.array_equal(found.without_fold(0).sum, expected.without_fold(0).sum)
    model = snb.LinearNB("poisson").fit(tmp_path / "rows.zarr", "y")
    assert model.feature_names_in_.tolist() == FRAME.columns.tolist()
    assert np.array_equal(model.predict(FRAME.iloc[:, ::-1]), model.predict(FRAME))
    with refused(ValueError, "feature names should match"):
        model.predict(FRAME.iloc[:, 1:])


def test_files_and_streams_are_converted(tmp_path):
    codes = np.arange(N) % 3
    dump_svmlight_file(X, codes, str(tmp_path / "rows.svm"), zero_based=False)
    snb.convert(str(tmp_path / "rows.svm"), tmp_path / "a.zarr")
    snb.convert(iter([(sp.csr_array(X[:9]), codes[:9], W[:9]), (X[9:], codes[9:], W[9:])]), tmp_path / "b.zarr")
    for name, weight in (("a", None), ("b", W)):
        stored = None if weight is None else "sample_weight"
        found = snb.scan(tmp_path / f"{name}.zarr", "y", sample_weight=stored)
        assert np.array_equal(found.sum, snb.scan(X, codes, sample_weight=weight).sum)
    snb.convert(tmp_path / "b.zarr", tmp_path / "c.zarr", "y", sample_weight="sample_weight")
    assert np.array_equal(snb.scan(tmp_path / "c.zarr", "y").sum, snb.scan(X, codes).sum)


def test_texts_are_converted(tmp_path):
    texts, labels = ["red wine", "green tea", "red grape", "tea leaf"], ["wine", "tea", "wine", "tea"]
    rows = snb.text(texts, y=labels, vocabulary=5)
    group = snb.convert(rows, tmp_path / "a.zarr", groups=[0, 0, 1, 1])
    assert group["feature_names"][:].tolist() == rows.feature_names.tolist()
    assert group["groups"][:].tolist() == [0, 0, 1, 1]
    snb.convert(texts, tmp_path / "b.zarr", labels)
    expected = snb.LinearNB("poisson").fit(texts, labels)
    np.testing.assert_array_equal(snb.LinearNB("poisson").fit(tmp_path / "b.zarr", "y").coef_, expected.coef_)


def test_what_cannot_be_converted_is_refused(tmp_path):
    with refused(TypeError, "X is in Dask", "write_csr"):
        snb.convert(da.from_array(X), tmp_path / "a.zarr")
    with refused(ValueError, "y has|y holds|y"):
        snb.convert(X, tmp_path / "b.zarr", Y[:-1])
    with refused(ValueError, "some come with sample_weight or groups"):
        snb.write_csr(tmp_path / "c.zarr", [(X, Y, W), (X, Y)], n_features=4)
    with refused(ValueError, "feature_names has 1 names"):
        snb.write_csr(tmp_path / "d.zarr", [X], n_features=4, feature_names=["age"])
    with refused(ValueError, "a tuple of 5"):
        snb.write_csr(tmp_path / "e.zarr", [(X, Y, W, Y, Y)], n_features=4)
