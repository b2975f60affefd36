"""CrammerSingerSVM beside liblinear, with planes shared by several C, calibrated, kept in files."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.svm import LinearSVC
from sklearn.utils.estimator_checks import parametrize_with_checks

import streamnb as snb

X, Y = load_iris(return_X_y=True)
X, Y = X[:, 1:] / 4.0, np.array(["setosa", "versicolor", "virginica"])[Y]


def objective(coef, intercept, C, X, y, weight=1.0):
    classes, rows = np.unique(y), np.arange(len(X))
    codes, scores = np.searchsorted(classes, y), X @ coef.T + intercept
    losses = (scores + (np.arange(len(classes)) != codes[:, None])).max(axis=1) - scores[rows, codes]
    return 0.5 * (np.sum(coef**2) + np.sum(np.square(intercept))) + C * (weight * losses).sum()


@pytest.mark.filterwarnings("ignore:max_passes:streamnb.StreamnbWarning")
@parametrize_with_checks([snb.CrammerSingerSVM(max_passes=8)])
def test_scikit_learns_checks(estimator, check):
    check(estimator)


@pytest.mark.parametrize("C", [0.03, 1.0])
@pytest.mark.parametrize("fit_intercept", [False, True])
def test_the_optimum_is_that_of_liblinear_within_the_gap(C, fit_intercept):
    ours = snb.CrammerSingerSVM(C, fit_intercept=fit_intercept).fit(sp.csr_array(X), Y)
    theirs = LinearSVC(C=C, multi_class="crammer_singer", fit_intercept=fit_intercept, tol=1e-8, max_iter=100_000)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", (ConvergenceWarning, FutureWarning))
        theirs.fit(X, Y)
    found, least = (objective(m.coef_, m.intercept_, C, X, Y) for m in (ours, theirs))
    assert ours.converged_ and ours.gap_ <= 1e-3 * found
    assert -1e-6 * least <= found - least <= ours.gap_
    assert (ours.predict(X) == theirs.predict(X)).mean() > 0.95


def test_two_classes_have_one_row_and_weights_count_as_often():
    two = Y != "setosa"
    weight = np.arange(two.sum()) % 3
    ours = snb.CrammerSingerSVM(0.5, 1e-6).fit(X[two], Y[two], weight)
    often = snb.CrammerSingerSVM(0.5, 1e-6).fit(np.repeat(X[two], weight, axis=0), np.repeat(Y[two], weight))
    assert ours.coef_.shape == (1, 3) and ours.decision_function(X).shape == (150,)
    np.testing.assert_allclose(ours.coef_, often.coef_, atol=1e-3)
    double = snb.CrammerSingerSVM(0.25, 1e-6, class_weight={"versicolor": 2.0, "virginica": 2.0})
    np.testing.assert_allclose(double.fit(X[two], Y[two], weight).coef_, ours.coef_, atol=1e-3)


def test_planes_of_another_c_save_reads_and_those_of_other_rows_are_refused():
    small = snb.CrammerSingerSVM(0.3).fit(X, Y)
    led, alone = snb.CrammerSingerSVM(1.0, start=small.planes_).fit(X, Y), snb.CrammerSingerSVM(1.0).fit(X, Y)
    assert led.n_passes_ < alone.n_passes_
    values = [objective(m.coef_, m.intercept_, 1.0, X, Y) for m in (led, alone)]
    assert abs(values[0] - values[1]) <= max(led.gap_, alone.gap_)
    with pytest.raises(ValueError, match="planes of other rows"):
        snb.CrammerSingerSVM(1.0, start=small.planes_).fit(X[1:], Y[1:])


def test_files_chunks_and_checkpoints_give_the_same_bits(tmp_path):
    def model(**options):
        return snb.CrammerSingerSVM(0.1, transform="sqrt", idf=True, **options)

    whole = model().fit(X, Y)
    with pytest.warns(snb.StreamnbWarning, match="max_passes=3 reads were spent: the objective may be"):
        model(max_passes=3).fit(X, Y, checkpoint=tmp_path / "reads")
    resumed = model().fit(X, Y, checkpoint=tmp_path / "reads")
    pieces = [(sp.csr_array(X[i : i + 17]), Y[i : i + 17]) for i in range(0, 150, 17)]
    calibrated = model(calibration="sigmoid").fit(lambda: iter(pieces), n_threads=1)
    for other in (resumed, calibrated):
        np.testing.assert_array_equal(other.planes_.products, whole.planes_.products)
    calibrated.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    np.testing.assert_array_equal(loaded.predict_proba(X), calibrated.predict_proba(X))
    assert loaded.gap_ == whole.gap_ > 0.0 and loaded.score(X, Y) > 0.9


@pytest.mark.parametrize(
    ("options", "y", "words"),
    [
        ({"C": 0.0}, Y, "C=0 should be above 0"),
        ({"C": -1.0}, Y, "C=-1.0 should be finite and at least 0"),
        ({"start": "zero"}, Y, "start='zero'"),
        ({"fit_intercept": "yes"}, Y, "fit_intercept='yes'"),
        ({}, np.eye(150, 3, dtype=int), "CrammerSingerSVM needs one label a row"),
    ],
)
def test_what_is_wrong_is_said(options, y, words):
    with pytest.raises(ValueError, match=words):
        snb.CrammerSingerSVM(**options).fit(X, y)
