"""`LinearNBCV(calibration=)`: scores of the rows held out, without another read."""

import contextlib

import dask.array as dask_array
import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

import streamnb as snb
from streamnb.searching import rounds
from streamnb.stats import row_sample

X, Y = load_digits(return_X_y=True)
FEW = snb.L1([0.0, 5.0])


def out_of_fold(penalty, y):
    """What models give the rows of each fold, fitted on the others."""
    folds, scores = snb.fold_numbers(len(X), 5), np.empty(len(X))
    for fold in range(5):
        fitted = snb.LinearNB("poisson", penalty).fit(X[folds != fold], y[folds != fold])
        scores[folds == fold] = fitted.decision_function(X[folds == fold])
    return scores[:, None]


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_it_is_the_calibration_by_scores_of_rows_held_out(method):
    """Of two classes: a model whose one column is that score, calibrated by all rows."""
    y = Y > 4
    model = snb.LinearNBCV("poisson", FEW, calibration=method).fit(X, y)
    penalty = snb.L1(model.best_params_["l1"])
    margin = out_of_fold(penalty, y)
    expected = snb.LinearNB("gaussian").fit(margin, y).calibrate(margin, y, method=method)
    raw = snb.LinearNB("poisson", penalty).fit(X, y).decision_function(X)[:, None]
    np.testing.assert_allclose(model.predict_proba(X), expected.predict_proba(raw), rtol=1e-4)


def test_without_another_read_in_any_chunks_kept_and_undone(tmp_path):
    n_reads = []

    def chunks(size):
        n_reads.append(size)
        return ((X[i : i + size], Y[i : i + size]) for i in range(0, len(X), size))

    plain = snb.LinearNBCV("poisson", FEW).fit(X, Y)
    model = snb.LinearNBCV("poisson", FEW, calibration="sigmoid").fit(lambda: chunks(100), keep="no")
    assert len(n_reads) == 2
    proba = model.predict_proba(X)
    assert log_loss(Y, proba) < 0.3 * log_loss(Y, plain.predict_proba(X))
    np.testing.assert_array_equal(model.predict(X), proba.argmax(axis=1))
    for rows in ((lambda: chunks(333),), map(dask_array.from_array, (X, Y))):
        again = snb.LinearNBCV("poisson", FEW, calibration="sigmoid").fit(*rows)
        np.testing.assert_array_equal(again.predict_proba(X), proba)
    model.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb")
    np.testing.assert_array_equal(loaded.predict_proba(X), proba)
    for kept in (model, loaded):
        np.testing.assert_array_equal(kept.refit().predict_proba(X), plain.predict_proba(X))
    with pytest.raises(ValueError, match="calibration='isotonic' needs scores of the rows"):
        model.refit(calibration="isotonic")


def test_a_sample_does_nearly_as_well_as_all_rows(monkeypatch):
    every = log_loss(Y, snb.LinearNBCV("poisson", FEW, calibration="sigmoid").fit(X, Y).predict_proba(X))
    monkeypatch.setattr(row_sample, "ROWS", 400)
    some = log_loss(Y, snb.LinearNBCV("poisson", FEW, calibration="sigmoid").fit(X, Y).predict_proba(X))
    assert every < some < 1.05 * every


def test_labels_references_and_classes_of_one_row():
    labels = np.column_stack([Y % 2 == 0, Y > 4, np.arange(len(Y)) == 7]).astype(int)  # of which one has one row
    with pytest.warns(snb.StreamnbWarning, match="4 of 5 splits lack rows"):
        plain, model = (snb.LinearNBCV("poisson", FEW, calibration=c).fit(X, labels) for c in (None, "sigmoid"))
    before, after = (snb.evaluate(labels, proba=m.predict_proba(X)).log_loss() for m in (plain, model))
    assert after < before
    options = {"scheme": "reference", "scoring": "roc_auc_reference", "calibration": "isotonic"}
    model = snb.LinearNBCV("poisson", FEW, reference=snb.UNLABELLED, **options).fit(X, labels[:, :2])
    assert ((model.predict_proba(X) > 0.0) & (model.predict_proba(X) < 1.0)).all()
    rare = np.where(np.arange(len(Y)) == 7, 10, Y)
    for method in ("sigmoid", "isotonic"):
        with pytest.warns(snb.StreamnbWarning, match="4 of 5 splits lack rows"):
            model = snb.LinearNBCV("poisson", FEW, calibration=method).fit(X, rare)
        assert log_loss(rare, model.predict_proba(X)) < 0.5


def test_what_cannot_be_calibrated_is_refused_before_a_read():
    def fit(y=Y, **options):
        snb.LinearNBCV("poisson", FEW, **({"calibration": "sigmoid"} | options)).fit(X, y)

    for folds in (4, np.arange(len(X)) % 3):
        with pytest.raises(ValueError, match="calibration='sigmoid' needs at least 5 folds, not"):
            fit(folds=folds)
    with pytest.raises(ValueError, match="one class only"):
        fit(np.zeros(len(X)))
    with pytest.raises(ValueError, match="scheme='ovo' lacks"):
        fit(scheme="ovo")
    with pytest.raises(ValueError, match="calibration='platt'"):
        fit(calibration="platt")
    for model in (snb.LinearNBCV("poisson", calibration="matrix"), snb.MarginClassifier(calibration="matrix")):
        with pytest.raises(ValueError, match="is for three classes or more, and there are 2; use 'sigmoid'"):
            model.fit(X, Y > 4)


def test_auto_keeps_probabilities_that_calibration_would_not_improve():
    """Overconfident naive Bayes is calibrated by "matrix" or "sigmoid"; rows that it describes exactly are not."""
    by = {how: snb.LinearNBCV("poisson", FEW, calibration=how).fit(X, Y) for how in ("auto", "matrix", "sigmoid")}
    np.testing.assert_array_equal(by["auto"].coef_, by["matrix"].coef_)
    assert log_loss(Y, by["auto"].predict_proba(X)) < 0.8 * log_loss(Y, by["sigmoid"].predict_proba(X))
    by = {how: snb.LinearNBCV("poisson", FEW, calibration=how).fit(X, Y > 4) for how in (None, "auto", "sigmoid")}
    np.testing.assert_array_equal(by["auto"].coef_, by["sigmoid"].coef_)
    assert log_loss(Y > 4, by["auto"].predict_proba(X)) < 0.6 * log_loss(Y > 4, by[None].predict_proba(X))
    r = np.random.default_rng(0)
    y = r.integers(0, 2, 1000)
    rows = r.poisson(np.array([[1.0, 3.0], [3.0, 1.0]])[y])
    fit, too_few = snb.LinearNBCV("poisson", FEW, calibration="auto"), snb.LinearNBCV("poisson", FEW, folds=3)
    np.testing.assert_array_equal(fit.fit(rows, y).coef_, snb.LinearNBCV("poisson", FEW).fit(rows, y).coef_)
    expected = too_few.fit(X, Y).coef_
    np.testing.assert_array_equal(too_few.set_params(calibration="auto").fit(X, Y).coef_, expected)


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_margins_of_cv_forms_have_probabilities_even_if_a_class_has_one_row():
    y = Y.copy()
    y[np.flatnonzero(y == 9)[1:]] = 8
    for model in (snb.MarginClassifierCV([1e4, 1e5], max_passes=30), snb.LeastSquaresClassifierCV([1e4])):
        with pytest.warns(snb.StreamnbWarning, match="4 of 5 splits lack rows of a class"):
            proba = model.fit(X, y).predict_proba(X)
        assert log_loss(y, proba) < 0.3
        assert not hasattr(model.set_params(calibration=None, folds=3).fit(X, Y), "predict_proba")


def test_a_search_calibrates_its_best_model_by_rows_held_out():
    """Also quadratic scores; and only where there are folds enough."""
    full = {"families": [snb.Gaussian(covariance="full", shrinkage=0.1)], "penalties": [None], "show": False}
    held, own = X[:600], slice(600, None)
    for folds, calibrated in ((5, True), (3, False)):
        found = {how: snb.search(X[own], Y[own], calibration=how, folds=folds, **full) for how in ("auto", None)}
        losses = {how: log_loss(Y[:600], one.best_.predict_proba(held)) for how, one in found.items()}
        assert (losses["auto"] < losses[None]) == calibrated and found["auto"].best_.score(held, Y[:600]) > 0.9
    scores = found["auto"].best_.mahalanobis(held), found[None].best_.mahalanobis(held)
    np.testing.assert_array_equal(*scores)
    with pytest.raises(ValueError, match="calibration='isotonic' is unknown; it should be one of"):
        snb.search(X, Y, calibration="isotonic")


def test_one_fold_of_many_rows_calibrates(monkeypatch):
    """The model that was chosen on it, without training those of the other folds."""
    monkeypatch.setattr(rounds, "MANY_ROWS", 500)
    r = np.random.default_rng(0)
    y = r.integers(0, 4, 6000)
    rows = r.poisson(np.eye(4)[y] + 1.0)
    models = {"families": [], "models": [snb.SoftmaxRegressionCV([3000.0])], "show": False, "scoring": "accuracy"}
    found = {how: snb.search(rows[:3000], y[:3000], calibration=how, **models) for how in ("auto", None)}
    assert found["auto"].ranked[0].n_folds == 1 and found["auto"].report_.reads < found[None].report_.reads + 3
    losses = [log_loss(y[3000:], one.best_.predict_proba(rows[3000:])) for one in found.values()]
    assert losses[0] < 0.95 * losses[1]


@pytest.mark.filterwarnings("ignore:.*of those tried")
def test_models_of_the_choice_calibrate_as_those_that_are_trained_for_it():
    """Where memory is short, the models without each fold are trained once more."""
    y, found = Y > 4, []
    model = snb.MarginClassifierCV([1e4, 1e5], tol=1e-2, folds=snb.fold_numbers(len(X), 5))
    for memory_limit, warns in ((None, contextlib.nullcontext()), ("80kB", pytest.warns(match="groups of"))):
        with warns:
            found.append(clone(model).fit(X, y, memory_limit=memory_limit))
    np.testing.assert_array_equal(found[0].predict_proba(X), found[1].predict_proba(X))
    assert found[0].best_params_ == found[1].best_params_ and found[0].report_.reads < found[1].report_.reads
