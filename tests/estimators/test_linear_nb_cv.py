"""The choice of tau: two scans, whatever the folds, repeats and grid; the same as refitting fold by fold."""

import dask.array as da
import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, roc_auc_score
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler

import streamnb as snb

X, y = load_digits(return_X_y=True)
X, y = X[:600], y[:600]
three = y < 3


def by_hand(model, rows, labels, numbers, point, penalty):
    """Decision scores of every row by the model fitted without its fold."""
    params = {**model.get_params(), "penalty": penalty(point)}
    plain = snb.LinearNB(**{k: v for k, v in params.items() if k in snb.LinearNB().get_params()})
    scores = [None] * (numbers.max() + 1)
    for fold in range(numbers.max() + 1):
        fitted = plain.fit(rows[numbers != fold], labels[numbers != fold], classes=np.unique(labels))
        scores[fold] = fitted.decision_function(rows[numbers == fold]), fitted.predict(rows[numbers == fold])
    return scores


@pytest.mark.parametrize(
    ("family", "scheme", "options"),
    [
        ("multinomial", "joint", {"idf": True}),
        ("bernoulli", "ovr", {"binarize": 4.0}),
        ("gaussian", "ovo", {"transform": "sqrt", "normalize": "l2"}),
    ],
)
def test_scores_are_those_of_refitting_fold_by_fold(family, scheme, options):
    penalty = snb.L1([0.5, 4.0, 20.0], scale="score")
    model = snb.LinearNBCV(family, penalty, folds=4, scoring="accuracy", scheme=scheme, seed=3, **options)
    of_each = [clone(model).fit(rows, y).cv_results_ for rows in (X, sp.csr_array(X))]
    numbers = snb.fold_numbers(len(y), 4, seed=3)
    for at, point in enumerate(of_each[0]["params"]):
        hand = by_hand(model, X, y, numbers, point, lambda p: snb.L1(p["l1"], scale="score"))
        for fold, (_, predicted) in enumerate(hand):
            expected = accuracy_score(y[numbers == fold], predicted)
            assert [found[f"split{fold}_test_score"][at] for found in of_each] == [expected, expected]


def test_roc_auc_of_one_class_of_many():
    model = snb.LinearNBCV("poisson", snb.L1([0.0, 10.0]), folds=3, scheme="ovr").fit(X, y)
    numbers = snb.fold_numbers(len(y), 3)
    scores = by_hand(model, X, y, numbers, {"l1": 10.0}, lambda p: snb.L1(p["l1"]))
    of_four = [roc_auc_score(y[numbers == f] == 4, scores[f][0][:, 4]) for f in range(3)]
    np.testing.assert_allclose(model.cv_results_["class_test_score_4"][1], np.mean(of_four))


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
    assert model.best_ == table["params"][table["mean_test_score"].argmax()]
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


def test_rules():
    model = snb.LinearNBCV("poisson", folds=5).fit(X, y)
    mean, n_features = model.cv_results_["mean_test_score"], model.cv_results_["n_features"]
    model.refit(rule="parsimonious")
    chosen = list(model.cv_results_["params"]).index(model.best_)
    assert mean[chosen] >= 0.99 * mean.max()
    assert n_features[chosen] == n_features[mean >= 0.99 * mean.max()].min()
    assert np.count_nonzero(model.coef_.any(axis=0)) == n_features[chosen]
    model.refit(rule="one_se")
    top = int(mean.argmax())
    error = np.std([model.cv_results_[f"split{s}_test_score"][top] for s in range(5)], ddof=1) / np.sqrt(5)
    chosen = list(model.cv_results_["params"]).index(model.best_)
    assert n_features[chosen] == n_features[mean >= mean[top] - error].min()


def test_fewest_features_of_each_class():
    model = snb.LinearNBCV("poisson", folds=3, scheme="ovr").fit(X, y)
    per_class = snb.solve(model.stats_, "poisson", snb.L1(model.cv_results_["param_l1"], scale="score"), scheme="ovr")
    for k in range(10):
        scores = model.cv_results_[f"class_test_score_{k}"]
        enough = scores >= 0.99 * scores.max()
        assert model.n_features_per_class_[k] == per_class.n_features_per_class[enough, k].min()


def test_the_result_does_not_depend_on_what_holds_the_rows(tmp_path):
    options = {"folds": 4, "repeats": 2, "scoring": "accuracy"}
    expected = snb.LinearNBCV("poisson", **options).fit(X, y)
    snb.write_csr(tmp_path / "x.zarr", [(sp.csr_array(X), y)], n_features=64)
    lazy = da.from_array(X, chunks=(130, 64)), da.from_array(y, chunks=170)
    rows = lazy[0][da.ones(600, chunks=130, dtype=bool)], lazy[1].rechunk(130)[da.ones(600, chunks=130, dtype=bool)]

    def stream():
        return ((X[a : a + 90], y[a : a + 90]) for a in range(0, 600, 90))

    for given in ((sp.csr_array(X), y), (tmp_path / "x.zarr", "y"), lazy, rows, (stream,)):
        model = snb.LinearNBCV("poisson", **options).fit(*given)
        for name, column in expected.cv_results_.items():
            if name != "params":
                assert (model.cv_results_[name] == column).all(), name
        assert (model.coef_ == expected.coef_).all()


@pytest.mark.filterwarnings("ignore:2 of 2 splits lack")
def test_what_is_kept_of_many_labels_stays_within_the_memory_limit():
    labels = sp.csr_array((np.ones(600, np.uint8), (np.arange(600), np.arange(600) % 300)), shape=(600, 300))
    model = snb.LinearNBCV("poisson", snb.L1([0.0, 1.0, 4.0]), folds=2)
    with pytest.raises(
        MemoryError, match=r"keeps of 2 x 3 models of 300 classes .* 4.4 MB, and memory_limit allows 3.0 MB"
    ):
        model.fit(X, labels, memory_limit="3MB")
    decided = model.set_params(scoring="f1_micro")
    expected = decided.fit(X, labels).cv_results_["mean_test_score"]
    within = decided.fit(X, labels, memory_limit="2MB").cv_results_["mean_test_score"]  # weights of few rows at a time
    np.testing.assert_array_equal(within, expected)
    with pytest.raises(MemoryError, match=r"keeps of 2 x 3 models of 2 classes .* fewer penalties or folds$"):
        model.set_params(scoring="accuracy").fit(X, np.arange(600) % 2, memory_limit=200)


@pytest.mark.slow
def test_where_scores_do_not_fit_histograms_come_close(monkeypatch):
    from streamnb.selection import fold_judge

    models = {}
    for kept in (fold_judge.KEPT_SCORES, 1 << 20):  # room for all 6000 rows of a fold, and for 4369
        monkeypatch.setattr(fold_judge, "KEPT_SCORES", kept)
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
    from streamnb.selection import fold_judge

    monkeypatch.setattr(fold_judge, "KEPT_SCORES", 1 << 12)
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


def test_a_scoring_of_ones_own():
    def recall_of_three(evaluation):
        return evaluation.recall(None)[3]

    own = snb.LinearNBCV("poisson", snb.L1([0.0, 30.0]), folds=3, scoring=recall_of_three).fit(X, y)
    numbers = snb.fold_numbers(600, 3)
    hand = by_hand(own, X, y, numbers, {"l1": 30.0}, lambda p: snb.L1(p["l1"]))
    expected = np.mean([np.mean(hand[f][1][y[numbers == f] == 3] == 3) for f in range(3)])
    np.testing.assert_allclose(own.cv_results_["mean_test_score"][1], expected)


def test_a_class_missing_in_a_fold_is_nan_there_and_said_once():
    labels = np.where(np.arange(600) == 17, 99, y)
    with pytest.warns(snb.StreamnbWarning, match="lack rows of a class") as caught:
        model = snb.LinearNBCV("poisson", snb.L1([0.0, 5.0]), folds=3).fit(X, labels)
    assert len(caught) == 1
    assert np.isfinite(model.cv_results_["mean_test_score"]).all()
    assert np.isfinite(model.cv_results_["class_test_score_99"]).all()  # of the one fold that has it


def test_inside_scikit_learn():
    pipeline = make_pipeline(MaxAbsScaler(), snb.LinearNBCV("poisson", folds=3))
    assert cross_val_score(pipeline, X, y, cv=3).mean() > 0.8
    search = GridSearchCV(snb.LinearNBCV("poisson", folds=3), {"rule": ["best", "parsimonious"]}, cv=3).fit(X, y)
    assert search.best_score_ > 0.8


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"scoring": "auc"}, "scoring='auc' is unknown; it should be one of 'accuracy'"),
        ({"scoring": 3}, "scoring=3"),
        ({"rule": "worst"}, "rule='worst'"),
        ({"folds": 1}, "folds=1"),
        ({"folds": 700}, "too few of the 600 rows"),
        ({"folds": np.zeros(600, int)}, "without gaps"),
        ({"folds": np.arange(9) % 3}, "inconsistent numbers"),
        ({"repeats": 0}, "repeats=0"),
        ({"seed": -3}, "seed=-3"),
        ({"scheme": "ovo", "scoring": "neg_log_loss"}, "needs probabilities"),
        ({"penalty": "l1"}, "penalty='l1'"),
        ({"scoring": "f1"}, "scoring='f1' is not for these rows.*'f1_macro'"),
    ],
)
def test_what_cannot_be(params, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.LinearNBCV("poisson", **params).fit(X, y)


@pytest.mark.parametrize("tau", [[], [1.0, np.inf], [np.nan], [-1.0]])
def test_grids_that_cannot_be(tau):
    with pytest.raises(ValueError, match="tau"):
        snb.LinearNBCV("poisson", snb.L1(tau)).fit(X, y)


def test_a_stream_that_can_be_read_once():
    with pytest.raises(ValueError, match="reads the rows more than once"):
        snb.LinearNBCV("poisson").fit(iter([(X, y)]), keep="no")
    with pytest.raises(ValueError, match=r"twice|0 rows of 0 features in read 2|0 sample"):
        once = iter([(X, y)])
        snb.LinearNBCV("poisson").fit(lambda: once, keep="no")


def test_more_groups_than_none():
    with pytest.raises(ValueError, match="too few of the groups"):
        snb.LinearNBCV("poisson", folds=5).fit(X, y, groups=np.arange(600) % 2)


def test_what_needs_another_scan_is_said():
    model = snb.LinearNBCV("poisson", folds=3).fit(X, y)
    with pytest.raises(ValueError, match="use fit"):
        model.refit(scoring="accuracy")
    assert not hasattr(model, "partial_fit")
    assert not hasattr(model, "forget")


def test_of_pairs_of_three_classes_no_row_of_weights_is_that_of_a_class():
    model = snb.LinearNBCV("poisson", snb.L1([1.0, 300.0]), folds=3, scheme="ovo").fit(X[three], y[three])
    for k, fewest in enumerate(model.n_features_per_class_):
        scores = model.cv_results_[f"class_test_score_{k}"]
        assert fewest == model.cv_results_["n_features"][scores >= 0.99 * scores.max()].min()


def test_plain_naive_bayes_is_judged_without_a_penalty(tmp_path):
    X, y = load_digits(return_X_y=True)
    model = snb.LinearNBCV("poisson", "none", folds=5, scoring="accuracy", calibration="sigmoid").fit(X, y)
    zero = snb.LinearNBCV("poisson", snb.L1([0.0]), folds=5, scoring="accuracy", calibration="sigmoid").fit(X, y)
    assert model.best_ == {} and model.best_score_ == zero.best_score_
    np.testing.assert_array_equal(model.predict_proba(X), zero.predict_proba(X))
    model.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb").refit(rule="one_se")
    np.testing.assert_array_equal(loaded.coef_, snb.LinearNB("poisson").fit(X, y).coef_)
    with pytest.raises(ValueError, match="rule='per_split' needs TopK"):
        model.refit(rule="per_split")
    for wrong in ("plain", "None"):
        with pytest.raises(TypeError, match=f"penalty='{wrong}'"):
            snb.LinearNBCV("poisson", wrong).fit(X, y)
