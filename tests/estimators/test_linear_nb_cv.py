"""The choice of tau in two scans; tests/selection compares its scores with models refitted fold by fold."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_digits

import streamnb as snb
from tests.support.refusals import refuses

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]


def test_results_are_a_table():
    penalty = snb.L1([0.0, 5.0]) + snb.L2([0.0, 1.0, 7.0])
    model = snb.LinearNBCV("poisson", penalty, folds=3, repeats=2).fit(X, y)
    table = pd.DataFrame(model.cv_results_)
    assert len(table) == 6
    assert table["param_l1"].tolist() == [0.0, 0.0, 0.0, 5.0, 5.0, 5.0]
    splits = table[[f"split{s}_test_score" for s in range(6)]].to_numpy()
    np.testing.assert_allclose(table["mean_test_score"], splits.mean(axis=1))
    np.testing.assert_allclose(table["std_test_score"], splits.std(axis=1))
    assert table["rank_test_score"].min() == 1
    assert model.best_params_ == table["params"][table["mean_test_score"].argmax()]
    assert model.best_score_ == table["mean_test_score"].max()
    path = snb.solve(model.stats_, "poisson", penalty)
    assert (table["n_features"] == path.n_features).all()
    best = path[int(table["mean_test_score"].argmax())]
    assert (model.coef_ == best.coef_).all()
    assert (model.intercept_ == best.intercept_).all()


def test_the_grid_comes_from_the_data_without_a_penalty():
    model = snb.LinearNBCV("poisson", folds=3).fit(X, y)
    n_features = model.cv_results_["n_features"]
    assert n_features[0] == np.count_nonzero(X.any(axis=0) & (np.ptp(X, axis=0) > 0))
    assert n_features[-1] == 1
    assert (np.diff(n_features) < 0).all()


@pytest.mark.filterwarnings("ignore:2 of 2 splits lack")
def test_what_is_kept_of_many_labels_stays_within_the_memory_limit():
    labels = sp.csr_array((np.ones(600, np.uint8), (np.arange(600), np.arange(600) % 300)), shape=(600, 300))
    model = snb.LinearNBCV("poisson", snb.L1([0.0, 1.0, 4.0]), folds=2)
    with pytest.raises(MemoryError, match=r"keeps of 2 x 3 models of 300 classes .* 4.4 MB, and .* allows 3.0 MB"):
        model.fit(X, labels, memory_limit="3MB")
    decided = model.set_params(scoring="f1_micro")
    expected = decided.fit(X, labels).cv_results_["mean_test_score"]
    within = decided.fit(X, labels, memory_limit="2MB").cv_results_["mean_test_score"]  # weights of few rows at a time
    np.testing.assert_array_equal(within, expected)
    with pytest.raises(MemoryError, match=r"keeps of 2 x 3 models of 2 classes .* fewer penalties or folds$"):
        model.set_params(scoring="accuracy").fit(X, np.arange(600) % 2, memory_limit=200)


@pytest.mark.slow
def test_where_scores_do_not_fit_histograms_come_close(monkeypatch):
    from streamnb.selection import folded_scan

    models = {}
    for kept in (folded_scan.KEPT_SCORES, 1 << 20):  # room for all 6000 rows of a fold, and for 4369
        monkeypatch.setattr(folded_scan, "KEPT_SCORES", kept)
        rows, labels = np.tile(X, (30, 1)), np.tile(y, 30)
        models[kept] = snb.LinearNBCV("poisson", snb.L1(n_taus=8), folds=3).fit(rows, labels).cv_results_
    exact, near = models.values()
    for name in exact:
        if name.startswith(("mean", "class")):
            np.testing.assert_allclose(near[name], exact[name], atol=1e-3)
    error = np.abs(near["mean_test_score"] - exact["mean_test_score"])
    assert error.max() > 0.0 and (error <= near["mean_test_score_error"]).all()
    assert near["mean_test_score_error"][0] < 1e-3 and "mean_test_score_error" not in exact


def test_bounds_on_the_errors_of_scores_are_saved_with_them(monkeypatch, tmp_path):
    from streamnb.selection import folded_scan

    monkeypatch.setattr(folded_scan, "KEPT_SCORES", 1 << 12)
    model = snb.LinearNBCV("poisson", folds=2).fit(X, y)
    model.save(tmp_path / "model.snb")
    bounds = [each.cv_results_["mean_test_score_error"] for each in (model, snb.load(tmp_path / "model.snb"))]
    assert (bounds[0] > 0.0).any() and np.array_equal(*bounds)


def test_groups_and_given_folds():
    groups = np.arange(600) // 7
    by_group = snb.LinearNBCV("poisson", folds=4, scoring="accuracy").fit(X, y, groups=groups)
    numbers = snb.fold_numbers(600, 4, groups=groups)
    given = snb.LinearNBCV("poisson", folds=numbers, scoring="accuracy").fit(X, y)
    assert (given.cv_results_["mean_test_score"] == by_group.cv_results_["mean_test_score"]).all()


def test_a_stream_that_can_be_read_once():
    refuses(ValueError, "reads the rows more than once", snb.LinearNBCV("poisson").fit, iter([(X, y)]), keep="no")
    with pytest.raises(ValueError, match=r"twice|0 rows of 0 features in read 2|0 sample"):
        once = iter([(X, y)])
        snb.LinearNBCV("poisson").fit(lambda: once, keep="no")


def test_more_groups_than_none():
    with pytest.raises(ValueError, match="too few of the groups"):
        snb.LinearNBCV("poisson", folds=5).fit(X, y, groups=np.arange(600) % 2)


def test_plain_naive_bayes_is_judged_without_a_penalty(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = snb.LinearNBCV("poisson", "none", folds=5, scoring="accuracy", calibration="sigmoid").fit(X, y)
    zero = snb.LinearNBCV("poisson", snb.L1([0.0]), folds=5, scoring="accuracy", calibration="sigmoid").fit(X, y)
    assert model.best_params_ == {} and model.best_score_ == zero.best_score_
    np.testing.assert_array_equal(model.predict_proba(X), zero.predict_proba(X))
    model.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb").refit(rule="one_se")
    np.testing.assert_array_equal(loaded.coef_, snb.LinearNB("poisson").fit(X, y).coef_)
    refuses(ValueError, "rule='per_split' needs TopK", lambda: model.refit(rule="per_split"))
    for wrong in ("plain", "None"):
        refuses(TypeError, f"penalty='{wrong}'", snb.LinearNBCV("poisson", wrong).fit, X, y)
