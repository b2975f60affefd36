"""Bins as a transformer: scikit-learn's contract, rows in every form, and models on binned columns."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import zarr
from sklearn.preprocessing import KBinsDiscretizer

import streamnb as snb
from tests.support.refusals import refuses

rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=300), rng.integers(0, 4, 300), 10.0 ** rng.integers(-9, 9, 300)])
GAPS = np.where(rng.random(X.shape) < 0.1, np.nan, X)
WHOLE = snb.Bins(8).fit(GAPS)


def blocks(x=GAPS):
    return (x[start : start + 70] for start in range(0, 300, 70))


def test_quantile_bins_are_nearly_those_of_scikit_learn():
    x = rng.normal(size=(500, 2))
    theirs = KBinsDiscretizer(4, strategy="quantile", quantile_method="inverted_cdf").fit(x)
    ours = snb.Bins(4).fit(x)
    for column, mine, edges in zip(x.T, ours.edges_, theirs.bin_edges_, strict=True):
        assert (mine > edges[1:-1]).all()  # half way to the next value
        np.testing.assert_array_equal(*((column <= border[:, None]) for border in (mine, edges[1:-1])))
    assert ours.precision_.tolist() == [0.0, 0.0]
    many = rng.normal(size=(20_000, 1))
    close, true = snb.Bins(4).fit(many), np.quantile(many, [0.25, 0.5, 0.75], method="inverted_cdf")
    at = np.searchsorted(np.sort(many[:, 0]), true + close.precision_ * np.abs(true), side="right")
    assert (close.edges_[0] >= true).all() and (close.edges_[0] <= np.sort(many[:, 0])[at]).all()
    assert 0 < close.precision_[0] < 0.01


def test_names_come_from_frames_and_files_keep_all(tmp_path):
    frame = pd.DataFrame(GAPS, columns=["a", "b", "c"])
    bins = snb.Bins(2).fit(frame)
    names = bins.get_feature_names_out().tolist()
    assert names[0].startswith("a in (-inf, ") and names[2] == "a is missing"
    bins.save(tmp_path / "b.snb")
    again = snb.load(tmp_path / "b.snb")
    assert again.get_feature_names_out().tolist() == names and again.get_params() == bins.get_params()
    np.testing.assert_array_equal(again.transform(frame).toarray(), bins.transform(frame).toarray())
    refuses(ValueError, "feature names", lambda: again.transform(frame[["b", "a", "c"]]))


def test_borders_may_be_given():
    bins = snb.Bins(edges=[0.0, 1.0]).fit(X)
    assert [one.tolist() for one in bins.edges_] == [[0.0, 1.0]] * 3 and not bins.missing_.any()
    assert snb.Bins(edges=[0.0], missing=True).fit(X).transform(GAPS).shape == (300, 9)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"n_bins": 1}, "n_bins=1"),
        ({"strategy": "kmeans"}, "strategy='kmeans' is unknown"),
        ({"missing": "never"}, "missing='never'"),
        ({"missing": False}, r"X has \d+ NaN in column 0, and missing=False leaves no bin for them"),
        ({"edges": [1, 0]}, "edges="),
    ],
)
def test_wrong_parameters_are_named(options, message):
    refuses(ValueError, message, lambda: snb.Bins(**options).fit(GAPS))
    with pytest.raises(ValueError, match=r"X has NaN at row \d+, column 0, whose bins were learned without one"):
        snb.Bins().fit(X).transform(GAPS)
    refuses(ValueError, "infinity", lambda: snb.Bins().fit(np.where(X > 5, np.inf, X)))


def test_rows_become_bins_within_the_scan(tmp_path):
    y = np.random.default_rng(1).integers(0, 3, 300)
    store = zarr.create_array(tmp_path / "x.zarr", data=GAPS, chunks=(50, 3))
    binned = WHOLE.transform(GAPS)
    model = snb.LinearNB("bernoulli").fit(binned, y)
    forms = {
        "memory": WHOLE.rows(GAPS, y),
        "zarr": WHOLE.rows(store, y),
        "stream": WHOLE.rows(lambda: zip(blocks(), np.split(y, range(70, 300, 70)), strict=True)),
        "dask": WHOLE.rows(da.from_array(GAPS, chunks=(64, 3)), y),
    }
    for name, rows in forms.items():
        np.testing.assert_array_equal(snb.LinearNB("bernoulli").fit(rows).coef_, model.coef_, err_msg=name)
    np.testing.assert_array_equal(model.predict(WHOLE.rows(store)), model.predict(binned))
    found = snb.LinearNBCV("bernoulli", snb.L1([0.5, 2.0]), folds=3).fit(forms["zarr"])
    expected = snb.LinearNBCV("bernoulli", snb.L1([0.5, 2.0]), folds=3).fit(binned, y)
    np.testing.assert_array_equal(found.cv_results_["mean_test_score"], expected.cv_results_["mean_test_score"])
    refuses(ValueError, "4 features", lambda: WHOLE.rows(np.ones((2, 4))))
