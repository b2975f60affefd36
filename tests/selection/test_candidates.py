"""What is learned before the scan is learned of the rows outside each fold, for the models that are judged on it."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.metrics import log_loss

import streamnb as snb

rng = np.random.default_rng(0)
N, FOLDS = 100, 4
FOLD = snb.fold_numbers(N, FOLDS)
Y = rng.integers(0, 3, N)
X = np.exp(rng.normal(size=(N, 5)) + 0.8 * np.eye(3, 5)[Y])
CODES = rng.integers(0, 6, (N, 4))
CODES[0, 0] = 9  # which one row has
STEPS = {"quantile_normal": "gaussian", snb.Bins(4): "multinomial"}
LOSS = {"folds": FOLDS, "scoring": "neg_log_loss"}


def loss(model, held, X=X):
    return -log_loss(Y[held], model.predict_proba(X[held]))


def splits(model, at=0, what="test_score"):
    return [model.cv_results_[f"split{split}_{what}"][at] for split in range(FOLDS)]


@pytest.mark.parametrize(("transform", "family"), STEPS.items(), ids=str)
def test_naive_bayes_scores_are_those_of_models_and_of_a_search_that_never_saw_the_fold(transform, family):
    asked = {"transform": transform}
    model = snb.LinearNBCV(family, "none", **asked, **LOSS).fit(X, Y)
    alone = [snb.LinearNB(family, **asked).fit(X[fold != FOLD], Y[fold != FOLD]) for fold in range(FOLDS)]
    np.testing.assert_allclose(splits(model), [loss(one, fold == FOLD) for fold, one in enumerate(alone)], rtol=1e-12)
    how = {"families": [family], "transforms": [transform], "penalties": [None], "models": [], "show": False}
    found = snb.search(X, Y, **how, **LOSS)
    np.testing.assert_array_equal(splits(model), found.candidates[0].scores["neg_log_loss"])
    tables = snb.compare(X, Y, families=family, penalties=["plain"], scheme="joint", show=False, **asked, **LOSS)
    assert tables.scores[0, 0, -1] == model.best_score_
    np.testing.assert_array_equal(model.coef_, snb.LinearNB(family, **asked).fit(X, Y).coef_)  # of all rows


def test_values_of_categories_are_those_of_the_other_rows():
    model = snb.LinearNBCV("categorical", "none", **LOSS).fit(CODES, Y)
    alone = [snb.LinearNB("categorical").fit(CODES[fold != FOLD], Y[fold != FOLD]) for fold in range(FOLDS)]
    expected = [loss(one, fold == FOLD, CODES) for fold, one in enumerate(alone)]
    np.testing.assert_allclose(splits(model), expected, rtol=1e-12)


def test_maps_that_a_family_tries_are_learned_outside_each_fold():
    asked = snb.Gaussian(covariance="pooled", shrinkage=[(1.0, 0.5)], maps=["none", "quantile_normal"])
    model = snb.LinearNBCV(asked, **LOSS).fit(X, Y)
    for at, name in enumerate(model.cv_results_["param_map"].tolist()):
        one = snb.LinearNB(snb.Gaussian(covariance="pooled", shrinkage=[(1.0, 0.5)], maps=name))
        expected = [loss(one.fit(X[fold != FOLD], Y[fold != FOLD]), fold == FOLD) for fold in range(FOLDS)]
        np.testing.assert_allclose(splits(model, at), expected, rtol=1e-9)


def test_repeats_and_training_scores_have_maps_of_their_own():
    asked = {"transform": "quantile_normal", "repeats": 2, "return_train_score": True}
    model = snb.LinearNBCV("gaussian", "none", **asked, **LOSS).fit(X, Y)
    held = snb.fold_numbers(N, FOLDS, repeat=1) == 2
    alone = snb.LinearNB("gaussian", transform="quantile_normal").fit(X[~held], Y[~held])
    np.testing.assert_allclose(model.cv_results_["split6_test_score"][0], loss(alone, held), rtol=1e-12)
    np.testing.assert_allclose(model.cv_results_["split6_train_score"][0], loss(alone, ~held), rtol=1e-12)


@pytest.mark.usefixtures("as_in_folds")
@pytest.mark.parametrize("transform", STEPS, ids=str)
@pytest.mark.filterwarnings("ignore:max_passes:streamnb.StreamnbWarning")
def test_models_of_several_reads_are_as_honest(transform):
    kinds = {"Softmax": (snb.SoftmaxRegressionCV, snb.SoftmaxRegression, "neg_log_loss")}
    kinds["margin"] = snb.MarginClassifierCV, snb.MarginClassifier, "accuracy"
    kinds["squares"] = snb.LeastSquaresClassifierCV, snb.LeastSquaresClassifier, "accuracy"
    for chooses, plain, scoring in kinds.values():
        asked = {"transform": transform, "max_passes": 4}
        model = chooses([1.0], folds=FOLDS, scoring=scoring, **asked).fit(X, Y)
        for fold, score in enumerate(splits(model, -1)):
            held = fold == FOLD
            alone = plain(1.0, **asked).fit(X[~held], Y[~held])
            expected = loss(alone, held) if scoring == "neg_log_loss" else alone.score(X[held], Y[held])
            assert score == pytest.approx(expected, rel=1e-9), (chooses, fold)


def test_a_gap_that_one_fold_has_finds_a_bin():
    gaps = X.copy()
    gaps[3, 0] = np.nan
    asked = {"transform": snb.Bins(4), "calibration": "sigmoid"}
    for model in (snb.LinearNBCV("multinomial", "none", **asked), snb.MarginClassifierCV([1.0], **asked)):
        assert np.isfinite(model.fit(gaps, Y).predict_proba(gaps)).all()


@pytest.mark.parametrize("transform", STEPS, ids=str)
def test_calibration_is_by_models_that_learned_outside_the_fold(transform):
    """Of two classes: a model whose one column is the score held out, calibrated by all rows."""
    y, folds = Y > 0, snb.fold_numbers(N, 5)
    bayes = snb.LinearNBCV(STEPS[transform], "none", folds=5, transform=transform, calibration="sigmoid")
    for model in (bayes, snb.MarginClassifier(tol=1e-8, transform=transform, calibration="sigmoid")):
        plain = snb.LinearNB(STEPS[transform], transform=transform) if model is bayes else clone(model)
        plain = plain if model is bayes else plain.set_params(calibration=None)
        margin = np.empty((N, 1))
        for fold in range(5):
            held = fold == folds
            margin[held, 0] = plain.fit(X[~held], y[~held]).decision_function(X[held])
        expected = snb.LinearNB("gaussian").fit(margin, y).calibrate(margin, y)
        raw = plain.fit(X, y).decision_function(X)[:, None]
        np.testing.assert_allclose(model.fit(X, y).predict_proba(X), expected.predict_proba(raw), rtol=1e-3)


def test_folds_without_rows_and_weight_are_named():
    asked = snb.LinearNBCV("gaussian", "none", transform="quantile_normal", folds=4)
    with pytest.raises(ValueError, match=r"folds=4: fold \d has no row, there are too few of the groups"):
        asked.fit(X, Y, groups=np.arange(N) // 50)
    with pytest.raises(ValueError, match="sample_weight is 0 in all rows outside fold 1"):
        asked.fit(X, Y, sample_weight=(snb.fold_numbers(N, 4) == 1).astype(float))


def test_fewer_columns_outside_a_fold_than_of_all_rows():
    """A value that one row alone has makes a bin, of all rows and of those outside two of three folds."""
    x = rng.integers(0, 4, (60, 3)).astype(float)
    x[0, 0], y = 9.0, np.arange(60) % 2
    bins = {"transform": snb.Bins(8), "folds": 3}
    n_columns = snb.LinearNB("multinomial", transform=snb.Bins(8)).fit(x, y).coef_.shape[1]
    kept = snb.LinearNBCV("multinomial", snb.TopK([1, n_columns]), scoring="neg_log_loss", **bins).fit(x, y)
    every = snb.LinearNBCV("multinomial", "none", scoring="neg_log_loss", **bins).fit(x, y)
    assert kept.cv_results_["mean_test_score"][1] == pytest.approx(every.best_score_, rel=1e-12)
    with pytest.raises(ValueError, match=r"feature_weight has shape .* learned from the rows outside fold 2"):
        snb.LinearNBCV("multinomial", "none", feature_weight=np.ones(n_columns), **bins).fit(x, y)


def test_one_class_outside_a_fold_is_named():
    r = np.random.default_rng(0)
    X, y = r.normal(size=(60, 4)), r.integers(0, 2, 60)
    full = {"families": [snb.Gaussian(covariance="full")], "penalties": [None], "folds": y, "show": False}
    with (
        pytest.warns(snb.StreamnbWarning, match="2 of 2 folds lack rows"),
        pytest.raises(ValueError, match=r"y holds one class only \(\[1\]\) outside fold 0; use fewer folds"),
    ):
        snb.search(X, y, scoring="accuracy", **full)
