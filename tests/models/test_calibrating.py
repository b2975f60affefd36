"""Calibration by temperature and biases, by Platt's method, by curves, and by a matrix of scores."""

import warnings

import dask.array as dask_array
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import log_softmax
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_digits
from sklearn.frozen import FrozenEstimator
from sklearn.isotonic import IsotonicRegression
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import streamnb as snb
from streamnb.estimators.classifier import fitted_model
from streamnb.models.calibrating import (
    BIAS_RIDGE,
    MATRIX_RIDGE,
    RIDGE,
    fit_matrix,
    fit_platt,
    fit_softmax,
    platt_targets,
)


@pytest.fixture(scope="module")
def digits():
    """Rows to learn from, to calibrate by and to judge by."""
    X, y = load_digits(return_X_y=True)
    X, held, y, of_held = train_test_split(X, y, test_size=0.5, random_state=0, stratify=y)
    first, last = (held[::2], of_held[::2]), (held[1::2], of_held[1::2])
    return (X, y), first, last


def test_temperature_and_biases_are_those_of_least_loss():
    rng = np.random.default_rng(0)
    scores, weight, codes = rng.normal(scale=30.0, size=(80, 3)), rng.random(80), rng.integers(0, 3, 80)
    scores[np.arange(80), codes] += 20.0
    targets = np.eye(3)[codes]
    factor, bias = fit_softmax(scores, targets, weight)
    scale = weight @ np.abs(scores - scores.mean(axis=1, keepdims=True)).mean(axis=1) / weight.sum()

    def loss(theta):
        logs = log_softmax(theta[0] / scale * scores + theta[1:], axis=1)
        ridge = np.array([RIDGE, *[BIAS_RIDGE] * 3])
        return -(weight @ (targets * logs).sum(axis=1)) + 0.5 * ridge @ theta**2

    found = minimize(loss, np.zeros(4), tol=1e-12).x
    assert factor == pytest.approx(found[0] / scale, rel=1e-4)
    np.testing.assert_allclose(bias, found[1:], atol=1e-4)
    assert abs(bias.sum()) < 1e-9


def test_the_ridge_goes_by_most_scores_not_by_the_largest():
    """Otherwise one long text, whose score is far beyond the others, would flatten all probabilities."""
    rng = np.random.default_rng(0)
    scores, codes = rng.normal(size=(500, 3)), np.append(rng.integers(0, 3, 500), 0)
    scores[np.arange(500), codes[:-1]] += 2.0
    scores = np.vstack([scores, [[1e4, 0.0, 0.0]]])  # and right
    with_it, without = (fit_softmax(scores[:n], np.eye(3)[codes[:n]], np.ones(n))[0] for n in (501, 500))
    assert with_it == pytest.approx(without, rel=0.1)


def test_biases_of_many_classes_with_few_rows_are_not_those_of_chance():
    rng = np.random.default_rng(0)
    log_odds, (few, many) = rng.normal(size=(4000, 40)), (slice(0, 400), slice(400, None))
    codes = (log_odds + rng.gumbel(size=log_odds.shape)).argmax(axis=1)  # so that these are right as they are

    def loss(bias):
        logs = log_softmax(log_odds[many] + bias, axis=1)
        return -logs[np.arange(3600), codes[many]].mean()

    rows = log_odds[few], np.eye(40)[codes[few]], np.ones(400)
    biases = [fit_softmax(*rows, bias_ridge=ridge)[1] for ridge in (BIAS_RIDGE, RIDGE)]
    assert loss(0.0) < loss(biases[0]) < loss(biases[1])


def test_scores_that_say_the_opposite_leave_the_shares():
    margin, target = np.array([3.0, 2.0, 1.0, -1.0, -2.0]), np.array([0.0, 0.0, 0.0, 1.0, 1.0])
    factor, bias = fit_platt(margin, target, np.ones(5))
    assert factor == 0.0
    smoothed = (3 * 1 / 5 + 2 * 3 / 4) / 5
    assert 1 / (1 + np.exp(-bias)) == pytest.approx(smoothed, rel=1e-2)


def test_platts_method_stays_finite_where_groups_are_parted():
    factor, bias = fit_platt(np.array([-2e4, -1e4, 1e4, 2e4]), np.array([0.0, 0.0, 1.0, 1.0]), np.ones(4))
    assert 0 < factor < 1e-3 and abs(bias) < 1.0


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
@pytest.mark.parametrize("scheme", ["joint", "ovr", "reference"])
def test_log_loss_of_digits_is_that_of_scikit_learns_calibration(digits, scheme, method):
    """Below the base rate's, and at most 5 % above scikit-learn's of the same model and rows."""
    fitted, held, (X, y) = digits
    model = snb.LinearNB(scheme=scheme, reference=0 if scheme == "reference" else None).fit(*fitted)
    theirs = CalibratedClassifierCV(FrozenEstimator(model), method=method).fit(*held)
    their_loss, before = log_loss(y, theirs.predict_proba(X)), log_loss(y, model.predict_proba(X))
    assert model.calibrate(*held, method=method) is model
    loss = log_loss(y, model.predict_proba(X))
    assert loss < before and loss < np.log(10.0)
    assert loss <= 1.05 * their_loss


def test_two_classes_and_labels_are_calibrated_one_by_one(digits):
    (X, y), (held, of_held), (rows, _) = digits
    two = snb.LinearNB().fit(X, y > 4)
    margin = two.decision_function(held)[:, None] / 10
    peer = LogisticRegression(C=1e6).fit(margin, of_held > 4)
    two.calibrate(held, of_held > 4)
    np.testing.assert_allclose(two.predict_proba(held)[:, 1], peer.predict_proba(margin)[:, 1], atol=0.02)

    labels = np.column_stack([y > 4, y % 2 == 0]).astype(int)
    of_rows = np.column_stack([of_held > 4, of_held % 2 == 0]).astype(int)
    many = snb.LinearNB().fit(X, labels).calibrate(held, of_rows)
    np.testing.assert_allclose(many.predict_proba(rows)[:, 0], two.predict_proba(rows)[:, 1])


def test_isotonic_curves_are_those_of_scikit_learn():
    """Of one row of weights, and for each label; its targets are Platt's, so that none is 0 or 1."""
    rng = np.random.default_rng(0)
    X, weight = rng.poisson(2.0, (300, 3)).astype(float), rng.integers(1, 4, 300)
    y = (rng.random(300) < 1 / (1 + np.exp(3 - X[:, 0]))).astype(int)
    model = snb.LinearNB("poisson").fit(X[:100], y[:100])
    margin = model.decision_function(X)
    peer = IsotonicRegression(out_of_bounds="clip")
    on, off = weight[100:] @ y[100:], weight[100:] @ (1 - y[100:])
    peer.fit(margin[100:], np.where(y[100:] == 1, (on + 1) / (on + 2), 1 / (off + 2)), weight[100:])
    p = model.calibrate(X[100:], y[100:], weight[100:], method="isotonic").predict_proba(X)[:, 1]
    np.testing.assert_allclose(p, peer.predict(margin), rtol=1e-9)
    np.testing.assert_array_equal(model.predict(X), p > 0.5)
    with pytest.raises(ValueError, match="not linear; shift it before"):
        fitted_model(model).shifted(1.0)

    labels = snb.LinearNB("poisson").fit(X[:100], np.column_stack([y, 1 - y])[:100])
    labels.calibrate(X[100:], np.column_stack([y, 1 - y])[100:], weight[100:], method="isotonic")
    np.testing.assert_allclose(labels.predict_proba(X)[:, 0], p, rtol=1e-9)
    with pytest.raises(ValueError, match="method='platt'"):
        labels.calibrate(X, y, method="platt")


def test_labels_against_a_reference_are_calibrated_on_their_own_rows(digits):
    """Label u against r is what two classes are, on the rows of one of them alone."""
    fitted, held, (X, _) = digits
    two = [np.isin(y, [1, 8]) for _, y in (fitted, held)]
    for method in ("sigmoid", "isotonic"):
        alone = snb.LinearNB("poisson").fit(fitted[0][two[0]], fitted[1][two[0]] == 8)
        alone.calibrate(held[0][two[1]], held[1][two[1]] == 8, method=method)
        labels = snb.LinearNB("poisson", scheme="reference", reference=0)
        labels.fit(fitted[0], (fitted[1][:, None] == [1, 8]).astype(int))
        labels.calibrate(held[0], (held[1][:, None] == [1, 8]).astype(int), method=method)
        np.testing.assert_allclose(labels.predict_proba(X)[:, 1], alone.predict_proba(X)[:, 1], rtol=1e-6)


@pytest.mark.parametrize("make", [snb.LinearNB, lambda: snb.LinearNBCV(penalty=snb.L1([0.0, 5.0]), folds=2)])
def test_bits_do_not_depend_on_chunks_and_are_saved_and_undone(make, digits, tmp_path):
    fitted, (held, of_held), (X, _) = digits
    model = make().fit(*fitted)
    before = model.predict_proba(X)
    expected = model.calibrate(held, of_held).predict_proba(X)
    assert (expected != before).any()

    model.save(tmp_path / "model.snb")
    np.testing.assert_array_equal(snb.load(tmp_path / "model.snb").predict_proba(X), expected)
    np.testing.assert_array_equal(model.refit().predict_proba(X), before)

    chunks = [(held[i : i + 7], of_held[i : i + 7]) for i in range(0, len(held), 7)]
    np.testing.assert_array_equal(model.calibrate(iter(chunks)).predict_proba(X), expected)

    np.testing.assert_allclose(model.refit().sparsify().calibrate(held, of_held).predict_proba(X), expected)


def test_weights_may_lie_far_apart():
    """Biases that all are raised by the same change nothing, and no ridge holds them beside weights of 1e12."""
    margin = np.array([-2.0, -1.0, 0.5, -0.5, 1.0, 2.0])
    target = np.array([0.0, 0.0, 0.0, 1.0, 1.0, 1.0])
    weight = np.where(target > 0.0, 1e12, 1.0)
    factor, bias = fit_platt(margin, target, weight)
    p = 1 / (1 + np.exp(-factor * margin - bias))
    assert factor > 0.0
    assert weight @ (p - platt_targets(target, weight)) == pytest.approx(
        0.0, abs=0.2
    )  # what is expected is what is there


def test_what_cannot_be_calibrated_is_refused(digits):
    fitted, (held, of_held), (X, _) = digits
    model = snb.LinearNB().fit(*fitted)
    before = model.predict_proba(X)
    with pytest.raises(ValueError, match=r"one class only \(\[3\]\)"):
        model.calibrate(held[:2], [3, 3])
    with pytest.raises(ValueError, match="label 11 at row 1"):
        model.calibrate(held[:2], [3, 11])
    with pytest.raises(ValueError, match="as in fit"):
        model.calibrate(held[:2], [[1] * 10, [0] * 10])
    with pytest.raises(ValueError, match="no rows"):
        model.calibrate(iter([]))
    with pytest.raises(TypeError, match="X is in Dask"):
        model.calibrate(dask_array.from_array(held), dask_array.from_array(of_held))
    np.testing.assert_array_equal(model.predict_proba(X), before)
    assert not hasattr(snb.LinearNB(scheme="ovo").fit(*fitted), "calibrate")
    labels = snb.LinearNB().fit(fitted[0], np.column_stack([fitted[1] > 4, fitted[1] > 6]).astype(int))
    with pytest.raises(ValueError, match="each label on all rows or on none"):
        labels.calibrate(held[:2], [[1, 0], [1, 0]])


# ---- rows of weight 0, and classes and labels that nothing is known of -----------------------------------------------


@pytest.mark.parametrize("method", ["sigmoid", "isotonic", "matrix"])
def test_rows_of_weight_0_are_left_out(digits, method):
    (X, y), (held, of_held), (judged, _) = digits
    weight = (np.arange(len(held)) % 3 > 0).astype(float)  # some scores have weight 0 only
    one, other = snb.LinearNB().fit(X, y), snb.LinearNB().fit(X, y)
    one.calibrate(held, of_held, weight, method=method)
    other.calibrate(held[weight > 0], of_held[weight > 0], method=method)
    np.testing.assert_array_equal(one.predict_proba(judged), other.predict_proba(judged))


@pytest.mark.parametrize(
    ("make", "method"),
    [(snb.LinearNB, "sigmoid"), (snb.SoftmaxRegression, "isotonic"), (snb.MarginClassifier, "sigmoid")],
)
def test_labels_that_are_never_or_always_set(digits, make, method):
    """They have probability 0 and 1; the others are calibrated as if these were not there."""
    (X, y), (held, of_held), (judged, _) = digits

    def labels(y):
        return np.column_stack([y > 4, 0 * y, 0 * y + 1, y % 2]).astype(int)

    both = [0, 3]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snb.StreamnbWarning)
        whole = make().fit(X, labels(y)).calibrate(held, labels(of_held), method=method)
        alone = make().fit(X, labels(y)[:, both]).calibrate(held, labels(of_held)[:, both], method=method)
    p = whole.predict_proba(judged)
    assert (p[:, 1] == 0.0).all() and (p[:, 2] == 1.0).all()
    np.testing.assert_allclose(p[:, both], alone.predict_proba(judged), atol=1e-2)


@pytest.mark.parametrize("how", ["sigmoid", "isotonic", "auto"])
def test_fits_calibrate_the_other_labels(digits, how):
    (X, y), _, (judged, _) = digits
    labels = np.column_stack([y > 4, 0 * y, 0 * y + 1, y == y[0], np.arange(len(y)) == 0]).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snb.StreamnbWarning)
        p = snb.MarginClassifier(calibration=how).fit(X, labels).predict_proba(judged)
    assert np.isfinite(p).all() and (p[:, 1] == 0.0).all() and (p[:, 2] == 1.0).all()
    assert p[:, 0].min() > 0.0 and p[:, 0].max() < 1.0


@pytest.mark.parametrize("method", ["sigmoid", "isotonic"])
def test_labels_of_one_kind_of_rows_get_one_probability_and_a_warning(digits, method):
    (X, y), (held, of_held), (judged, _) = digits
    model = snb.LinearNB().fit(X, np.column_stack([y > 4, y > 6]).astype(int))
    with pytest.warns(snb.StreamnbWarning, match="y has label 1 on all rows or on none"):
        model.calibrate(held, np.column_stack([of_held > 4, 0 * of_held]), method=method)
    p = model.predict_proba(judged)
    assert np.ptp(p[:, 0]) > 0.5
    np.testing.assert_allclose(p[:, 1], 1.0 / (len(held) + 2.0), rtol=0.1)


@pytest.mark.parametrize(
    ("scheme", "method"), [("joint", "matrix"), ("joint", "sigmoid"), ("ovr", "isotonic"), ("reference", "sigmoid")]
)
def test_classes_without_rows_stay_impossible(digits, scheme, method):
    (X, y), (held, of_held), (judged, _) = digits
    kept, weight = np.isin(of_held, [0, 1, 2, 9]), np.isin(y, [0, 1, 2, 9]).astype(float)
    given = {"scheme": scheme, **({"reference": 9} if scheme == "reference" else {})}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snb.StreamnbWarning)
        whole = snb.LinearNB(**given).fit(X, y, sample_weight=weight)
    alone = snb.LinearNB(**given).fit(X[weight > 0], y[weight > 0])
    for model in (whole, alone):
        model.calibrate(held[kept], of_held[kept], method=method)
    p = whole.predict_proba(judged)
    assert (p[:, 3:9] == 0.0).all()
    np.testing.assert_allclose(p[:, [0, 1, 2, 9]], alone.predict_proba(judged), atol=1e-9)


# ---- matrix scaling --------------------------------------------------------------------------------------------------


def scored(n_rows=300):
    """Scores of three classes, of which two are mixed up, with weights."""
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 3, n_rows)
    scores = 40.0 * np.eye(3)[codes] + rng.normal(scale=30.0, size=(n_rows, 3))
    return scores @ np.array([[1.0, 0.8, 0.0], [0.0, 1.0, 0.0], [0.0, 0.3, 1.0]]), np.eye(3)[codes], rng.random(n_rows)


def mixing(scores, targets, weight):
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
            MATRIX_RIDGE * (apart**2).sum() + BIAS_RIDGE * (bias**2).sum()
        )

    best = minimize(loss, np.zeros(12), tol=1e-10)
    matrix, bias = mixing(scores, targets, weight)
    logs = log_softmax(scores @ matrix + bias, axis=1)
    apart = (matrix - factor * np.eye(3)) * size
    apart -= apart.mean(axis=0) - (best.x[:9].reshape(3, 3)).mean(axis=0)  # what all scores share says nothing
    ours = -(weight @ (targets * logs).sum(axis=1))
    penalty = 0.5 * (MATRIX_RIDGE * (apart**2).sum() + BIAS_RIDGE * (bias**2).sum())
    assert ours + penalty == pytest.approx(best.fun, rel=1e-5)
    theirs = best.x[:9].reshape(3, 3) / size + factor * np.eye(3)
    np.testing.assert_allclose(matrix, theirs - theirs.mean(axis=0), atol=2e-3 * np.abs(matrix).max())


@pytest.mark.parametrize("unit", [1e-200, 1e-3, 1e6, 1e150])
def test_units_of_scores_and_what_all_of_them_share_do_not_matter(unit):
    scores, targets, weight = scored()
    expected, bias = mixing(scores, targets, weight)
    again, same = mixing(scores * unit, targets, weight)
    np.testing.assert_allclose(again * unit, expected, rtol=1e-3, atol=1e-6)
    np.testing.assert_allclose(same, bias, rtol=1e-3, atol=1e-6)
    moved, same = mixing(scores + 1e3, targets, weight)
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
def test_a_matrix_improves_decisions_and_probabilities_and_is_kept(make, tmp_path):
    rows, labels = load_digits(return_X_y=True)
    fitted, held, (X, y) = ((rows[i::3], labels[i::3]) for i in range(3))
    plain, model = (make().fit(*fitted).calibrate(*held, method=m) for m in ("sigmoid", "matrix"))
    losses = [log_loss(y, one.predict_proba(X)) for one in (plain, model)]
    assert losses[1] < 0.8 * losses[0]
    assert model.score(X, y) > plain.score(X, y)
    scores = model.decision_function(X)
    np.testing.assert_allclose(scores, X @ model.coef_.T + model.intercept_, rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(model.predict_proba(X), np.exp(log_softmax(scores, axis=1)), atol=1e-12)
    model.save(tmp_path / "model.snb")
    loaded = snb.load(tmp_path / "model.snb")
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    np.testing.assert_array_equal(loaded.to_sklearn().predict(X), model.predict(X))


def test_models_whose_scores_cannot_be_mixed_are_refused(digits):
    (X, y), _, _ = digits
    for model, labels in (
        (snb.LinearNB("poisson"), y > 4),
        (snb.LinearNB("poisson", scheme="reference", reference=3), y),
        (snb.LinearNB("poisson"), np.column_stack([y > 4, y > 6, y % 2]).astype(int)),
        (snb.LinearNB("poisson", snb.L1(5.0)), y),
    ):
        model.fit(X, labels)
        model = model.sparsify() if model.penalty is not None else model
        before = model.predict_proba(X[:9])
        with pytest.raises(ValueError, match=r"'matrix' mixes the scores of three classes or more, .* dense weights"):
            model.calibrate(X, labels, method="matrix")
        np.testing.assert_array_equal(model.predict_proba(X[:9]), before)


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
def test_rows_that_tell_nothing_leave_scores_as_they_are():
    """As many classes as rows: models without a fold know no class of its rows."""
    X, y = np.random.default_rng(0).normal(size=(12, 3)), np.arange(12)
    for calibration in ("auto", "sigmoid", "matrix", "isotonic"):
        model = snb.MarginClassifierCV(calibration=calibration).fit(X, y)
        assert np.allclose(model.predict_proba(X).sum(axis=1), 1.0)
    assert snb.search(X, y, show=False).best_.predict_proba(X).shape == (12, 12)
