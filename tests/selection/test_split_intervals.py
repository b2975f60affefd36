"""Intervals over splits: the corrected variance, and how often they hold the truth."""

import numpy as np
import pytest
from scipy import stats
from sklearn.datasets import load_iris

import streamnb as snb
from streamnb.selection.score_table import split_interval, standard_error


def test_the_corrected_interval_by_hand():
    scores = np.array([0.8, 0.9, 0.85, 0.7])
    half = stats.t.ppf(0.95, 3) * np.sqrt((1 / 4 + 1 / 3) * np.var(scores, ddof=1))
    np.testing.assert_allclose(split_interval(scores, 4, 0.9), (scores.mean() - half, scores.mean() + half))
    low, high = split_interval(np.array([scores, [np.nan, 0.8, 0.6, np.nan], [np.nan] * 3 + [0.5]]), 4)
    assert low[1] < 0.7 < high[1] and low[1] + high[1] == pytest.approx(1.4)
    assert np.isnan([low[2], high[2]]).all()


def test_the_standard_error_leaves_out_missing_scores():
    assert standard_error(np.array([0.8, np.nan, 0.9, 0.7])) == stats.sem([0.8, 0.9, 0.7])
    assert standard_error(np.array([0.8, np.nan])) == standard_error(np.array([])) == 0.0


@pytest.mark.filterwarnings("ignore:max_passes")
@pytest.mark.filterwarnings("ignore:alpha=:streamnb.StreamnbWarning")
def test_every_table_of_splits_has_it():
    X, y = load_iris(return_X_y=True)
    several = ["accuracy", "roc_auc"]
    models = [
        snb.LinearNBCV("gaussian", snb.TopK([1, 4]), folds=3, repeats=2, scoring=several),
        snb.SoftmaxRegressionCV(l2=[1.0], folds=3, max_passes=2, scoring=several),
    ]
    for model in models:
        table = model.fit(X, y).cv_results_
        for name in ("score", *several):
            splits = np.stack(
                [table[key] for key in table if key.startswith("split") and key.endswith(f"_test_{name}")]
            )
            ends = table[f"low_test_{name}"], table[f"high_test_{name}"]
            np.testing.assert_array_equal(ends, split_interval(splits.T, 3))
    regression = snb.ElasticNetCV(alphas=[0.1, 1.0], folds=4).fit(X, X[:, 0] - X[:, 1])
    ends = regression.cv_results_["low_test_score"], regression.cv_results_["high_test_score"]
    np.testing.assert_array_equal(ends, split_interval(-regression.mse_path_, 4))
