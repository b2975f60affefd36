"""Matrix scaling: the least loss, in any units of scores, and what it does for models of several classes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.datasets import load_digits
from sklearn.metrics import log_loss

import streamnb as snb
from streamnb.models.calibrating import BIAS_RIDGE, fit_softmax
from streamnb.models.matrix_scaling import RIDGE, fit_matrix

X, Y = load_digits(return_X_y=True)
FIT, HELD, NEW = (slice(i, None, 3) for i in range(3))


def scored(n_rows=300):
    """Scores of three classes, of which two are mixed up, with weights."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, n_rows)
    scores = 40.0 * np.eye(3)[codes] + rng.normal(scale=30.0, size=(n_rows, 3))
    return scores @ np.array([[1.0, 0.8, 0.0], [0.0, 1.0, 0.0], [0.0, 0.3, 1.0]]), np.eye(3)[codes], rng.random(n_rows)


def fitted(scores, targets, weight):
    return fit_matrix(scores, targets, weight, *fit_softmax(scores, targets, weight), BIAS_RIDGE)


def test_matrix_and_biases_are_those_of_least_loss():
    scores, targets, weight = scored()
    factor, _ = fit_softmax(scores, targets, weight)
    centred = scores - scores.mean(axis=1, keepdims=True)
    size = weight @ np.abs(centred).mean(axis=1) / weight.sum()

    def loss(theta):
        apart, bias = theta[:9].reshape(3, 3), theta[9:]
        logs = log_softmax(centred @ (apart / size + factor * np.eye(3)) + bias, axis=1)
        return -(weight @ (targets * logs).sum(axis=1)) + 0.5 * (
            RIDGE * (apart**2).sum() + BIAS_RIDGE * (bias**2).sum()
        )

    best = minimize(loss, np.zeros(12), tol=1e-10)
    matrix, bias = fitted(scores, targets, weight)
    logs = log_softmax(scores @ matrix + bias, axis=1)
    apart = (matrix - factor * np.eye(3)) * size
    apart -= apart.mean(axis=0) - (best.x[:9].reshape(3, 3)).mean(axis=0)  # what all scores share says nothing
    ours = -(weight @ (targets * logs).sum(axis=1))
    penalty = 0.5 * (RIDGE * (apart**2).sum() + BIAS_RIDGE * (bias**2).sum())
    assert ours + penalty == pytest.approx(best.fun, rel=1e-5)
    mixing = best.x[:9].reshape(3, 3) / size + factor * np.eye(3)
    np.testing.assert_allclose(matrix, mixing - mixing.mean(axis=0), atol=2e-3 * np.abs(matrix).max())


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e6, 1e150])
def test_units_of_scores_and_what_all_of_them_share_do_not_matter(unit):
    scores, targets, weight = scored()
    expected, bias = fitted(scores, targets, weight)
    again, same = fitted(scores * unit, targets, weight)
    np.testing.assert_allclose(again * unit, expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(same, bias, rtol=1e-3, atol=1e-6)
    moved, same = fitted(scores + 1e3, targets, weight)
    np.testing.assert_allclose(moved, expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(same, bias, rtol=1e-3, atol=1e-6)


@pytest.mark.parametrize(
    "make",
    [
        pytest.param(lambda: snb.LinearNB("poisson"), id="naive Bayes"),
        pytest.param(lambda: snb.LeastSquaresClassifier(l2=10.0), id="least squares"),
        pytest.param(lambda: snb.MarginClassifier(l2=1e4), id="margins"),
    ],
)
def test_it_improves_decisions_and_probabilities_and_is_kept(make, tmp_path):
    plain, model = (make().fit(X[FIT], Y[FIT]).calibrate(X[HELD], Y[HELD], method=m) for m in ("sigmoid", "matrix"))
    losses = [log_loss(Y[NEW], one.predict_proba(X[NEW])) for one in (plain, model)]
    assert losses[1] < 0.8 * losses[0]
    assert model.score(X[NEW], Y[NEW]) > plain.score(X[NEW], Y[NEW])
    scores = model.decision_function(X[NEW])
    np.testing.assert_allclose(scores, X[NEW] @ model.coef_.T + model.intercept_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X[NEW]), np.exp(log_softmax(scores, axis=1)), atol=1e-12)
    model.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb")
    np.testing.assert_array_equal(loaded.predict_proba(X[NEW]), model.predict_proba(X[NEW]))
    np.testing.assert_array_equal(loaded.to_sklearn().predict(X[NEW]), model.predict(X[NEW]))


@pytest.mark.parametrize(
    ("model", "labels"),
    [
        (snb.LinearNB("poisson"), Y > 4),
        (snb.LinearNB("poisson", scheme="reference", reference=3), Y),
        (snb.LinearNB("poisson"), np.column_stack([Y > 4, Y > 6, Y % 2]).astype(int)),
    ],
)
def test_models_whose_scores_cannot_be_mixed_are_refused(model, labels):
    model.fit(X, labels)
    before = model.predict_proba(X[:9])
    with pytest.raises(ValueError, match="'matrix' mixes the scores of three classes or more"):
        model.calibrate(X, labels, method="matrix")
    np.testing.assert_array_equal(model.predict_proba(X[:9]), before)


def test_sparse_weights_stay_sparse():
    model = snb.LinearNB("poisson", snb.L1(5.0)).fit(X, Y).sparsify()
    with pytest.raises(ValueError, match="dense weights"):
        model.calibrate(X, Y, method="matrix")
