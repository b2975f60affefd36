"""Models of several reads: any form of rows to the last bit, starts, checkpoints, what is refused and said."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression

import streamnb as snb
from tests.support.refusals import refuses

rng = np.random.default_rng(0)
N = 150
X = rng.poisson(1.0, (N, 6)) * rng.choice([0.5, 1.0, 1.5], (N, 6))
Y = np.array(["ash", "birch", "cedar"])[(X[:, :2] + rng.normal(size=(N, 2)) > [1.0, 1.5]).sum(axis=1)]
SETS = (X[:, :3] + rng.normal(size=(N, 3)) > 1.0).astype(int)
WEIGHT = rng.random(N) + 0.1
CLOSE = {"tol": 1e-7, "max_passes": 500}
LABELLED = {
    "softmax of classes": (snb.SoftmaxRegression, Y),
    "softmax of labels": (snb.SoftmaxRegression, SETS),
    "margins of classes": (snb.MarginClassifier, Y),
    "margins of two": (snb.MarginClassifier, Y == "ash"),
    "squares of two": (snb.LeastSquaresClassifier, Y == "ash"),
    "squares of labels": (snb.LeastSquaresClassifier, SETS),
}


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_of_idf_and_normalize_idf_comes_first_as_in_scikit_learn(form, tmp_path):
    x = TfidfTransformer().fit(X).transform(X).toarray()
    theirs = LogisticRegression(C=2.0, tol=1e-10, max_iter=10_000).fit(x, Y)
    ours = snb.SoftmaxRegression(0.5, normalize="l2", idf=True, **CLOSE).fit(form(X), Y, checkpoint=tmp_path)
    assert ours.report_.rows == N * (2 + ours.n_passes_) and (tmp_path / "idf.snb").exists()
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=2e-4)
    ours.save(tmp_path / "m.snb")
    again = snb.load(tmp_path / "m.snb")
    np.testing.assert_array_equal(again.predict_proba(X[::-1]), ours.predict_proba(form(X))[::-1])
    np.testing.assert_allclose(again.predict_proba(X), theirs.predict_proba(x), atol=1e-4)
    led = snb.SoftmaxRegression(0.5, normalize="l2", idf=True, start=again._model, **CLOSE).fit(X, Y)
    np.testing.assert_allclose(led.coef_, ours.coef_, atol=1e-4)
    with pytest.raises(ValueError, match="with the same transform, normalize and idf"):
        snb.SoftmaxRegression(0.5, normalize="l2", start=again._model).fit(X, Y)
    refuses(ValueError, "X has 5 features, but", lambda: again.predict(X[:, :5]))


@pytest.mark.parametrize(("kind", "y"), LABELLED.values(), ids=LABELLED)
def test_a_start_at_another_model_comes_to_the_same_optimum(kind, y):
    bayes = snb.solve(snb.scan(X, y), "gaussian", scheme="ovr")[0]
    straight, led = kind(**CLOSE).fit(X, y), kind(start=bayes, **CLOSE).fit(X, y)
    np.testing.assert_allclose(led.coef_, straight.coef_, atol=1e-4)
    assert led.history_["objective"][0] != straight.history_["objective"][0]
    itself = kind(start=straight._model, max_passes=1, tol=0.0)
    with pytest.warns(snb.StreamnbWarning, match="max_passes=1"):
        itself.fit(X, y)
    np.testing.assert_allclose(itself.history_["objective"], straight.history_["objective"][-1:], rtol=1e-6)


def test_a_start_of_other_rows_is_refused():
    other = snb.solve(snb.scan(X[:, :3], Y), "poisson")[0]
    with pytest.raises(ValueError, match="should have the classes and features of X, and 3 rows of weights"):
        snb.SoftmaxRegression(start=other).fit(X, Y)
    presence = snb.solve(snb.scan(X, Y), "bernoulli")[0]
    with pytest.raises(ValueError, match="should be linear in x, with the same transform"):
        snb.SoftmaxRegression(start=presence).fit(X, Y)


@pytest.mark.parametrize(("kind", "y"), LABELLED.values(), ids=LABELLED)
def test_calibrated_models_have_probabilities_that_fit_other_rows(kind, y, tmp_path):
    model = kind(0.01, tol=0.1).fit(X[::2], y[::2])
    assert hasattr(model, "predict_proba") == hasattr(model, "predict_log_proba") == (kind is snb.SoftmaxRegression)
    before = model.decision_function(X)
    assert model.calibrate(X[1::2], y[1::2], WEIGHT[1::2]) is model
    model.save(tmp_path / "m.snb")
    proba = snb.load(tmp_path / "m.snb").predict_proba(X)
    np.testing.assert_array_equal(proba, model.predict_proba(X))
    found = model.decision_function(X)  # linear in those before
    for a, b in zip(np.atleast_2d(before.T), np.atleast_2d(found.T), strict=True):
        np.testing.assert_allclose(np.polyval(np.polyfit(a, b, 1), a), b, atol=1e-9)
    for shares, truth in ((proba, SETS),) if y is SETS else ():  # the mean of a label is that of the rows, nearly
        means = WEIGHT[1::2] @ shares[1::2] / WEIGHT[1::2].sum()
        np.testing.assert_allclose(means, WEIGHT[1::2] @ truth[1::2] / WEIGHT[1::2].sum(), atol=0.02)
    curved = clone(model).fit(X[::2], y[::2]).calibrate(X[1::2], y[1::2], method="isotonic")
    assert ((curved.predict_proba(X) >= 0.0) & (curved.predict_proba(X) <= 1.0)).all()
    refuses(ValueError, "should be linear in x", lambda: clone(model).set_params(start=curved._model).fit(X, y))
    refuses(ValueError, "method='platt'", lambda: curved.calibrate(X, y, method="platt"))
    assert hasattr(clone(model).fit(X, y), "predict_proba") == (kind is snb.SoftmaxRegression)
    assert hasattr(model.fit(X, y), "predict_proba") == (kind is snb.SoftmaxRegression)


def test_a_fit_that_was_broken_off_goes_on_to_the_same_bits(tmp_path):
    folder, model = tmp_path / "reads", snb.SoftmaxRegression(0.2, max_passes=4, tol=1e-6)
    with pytest.warns(snb.StreamnbWarning, match="max_passes=4"):
        model.fit(X, Y, WEIGHT, checkpoint=folder)
    names = ["read-001.snb", "read-002.snb", "read-003.snb", "sample-to-train.snb", "scan.snb"]
    assert sorted(path.name for path in folder.iterdir()) == names
    written = {name: (folder / name).stat().st_mtime_ns for name in names}
    again = clone(model).set_params(max_passes=60).fit(X, Y, WEIGHT, checkpoint=folder)
    assert again.converged_ and {name: (folder / name).stat().st_mtime_ns for name in names} == written
    straight = clone(again).fit(X, Y, WEIGHT)
    np.testing.assert_array_equal(again.coef_, straight.coef_)
    np.testing.assert_array_equal(again.history_["objective"], straight.history_["objective"])
    with pytest.raises(ValueError, match=r"read-001\.snb' is of another scan: penalties or start had other values"):
        clone(again).set_params(l2=0.3).fit(X, Y, WEIGHT, checkpoint=folder)
    with pytest.raises(ValueError, match="checkpoint= needs rows that can be read again"):
        model.fit(lambda: iter([(X, Y)]), checkpoint=tmp_path / "stream")
    refuses(ValueError, "is a file; several reads keep a folder", model.fit, X, Y, checkpoint=folder / "scan.snb")


def test_spent_reads_are_one_warning_and_a_usable_model():
    with pytest.warns(snb.StreamnbWarning) as caught:
        model = snb.SoftmaxRegression(max_passes=3).fit(X, Y)
    assert len(caught) == 1 and "max_passes=3 reads were not enough" in str(caught[0].message)
    assert model.n_passes_ == 3 and not model.converged_ and model.score(X, Y) > 0.5


def test_wrong_rows():
    model = snb.MarginClassifier()
    with pytest.raises(ValueError, match=r"y holds one class only \(\['ash'\]\); MarginClassifier needs at least 2"):
        model.fit(X, np.repeat("ash", N))
    of_weight = r"y holds one class only \(\['ash'\]\), apart from classes of weight 0; SoftmaxRegression needs"
    with pytest.raises(ValueError, match=of_weight):
        snb.SoftmaxRegression(class_weight={"oak": 0.0}).fit(X, np.where(np.arange(N) % 2 == 0, "ash", "oak"))
    refuses(ValueError, "NaN", lambda: model.fit(np.where(X > 2.9, np.nan, X), Y))
    refuses(ValueError, "pass a callable that returns a fresh iterator", lambda: model.fit(iter([(X, Y)]), keep="no"))
    with pytest.raises(ValueError, match="one label a row; give sample_weight"):
        snb.MarginClassifier(class_weight="balanced").fit(X, SETS)
    refuses(MemoryError, "memory_limit", lambda: model.fit(X, Y, memory_limit=1000))
    for later in (snb.SoftmaxRegression(), snb.LeastSquaresClassifier(), snb.MarginClassifier(calibration="sigmoid")):
        times = iter(range(100))
        with pytest.raises(ValueError, match=r"X gave 149 rows of 6 features in read 2 and 150 rows of .*; a callable"):
            later.fit(lambda times=times: iter([(X, Y)] if next(times) == 0 else [(X[:-1], Y[:-1])]), keep="no")
    times = iter(range(100))
    with pytest.raises(ValueError, match="X has 5 features, but the first read is expecting 6"):
        model.fit(lambda: iter([(X, Y)] if next(times) == 0 else [(X[:, 1:], Y)]), keep="no")
    assert not hasattr(model, "coef_") and not hasattr(model, "classes_")
    assert snb.SoftmaxRegression().fit(1e-300 * X, Y).n_passes_ == 0  # their squares are 0: as of constants
    refuses(ValueError, "separable", snb.SoftmaxRegression(l2=0.0, tol=1e-2, max_passes=200).fit, X[:5], Y[:5] == Y[0])


@pytest.mark.parametrize("kind", [snb.GeneralizedNB, snb.LabelSpaceCV, snb.CrammerSingerSVM, snb.SoftmaxRegressionCV])
def test_wrong_parameters_are_for_fit_to_report(kind):
    for name in kind().get_params():
        model = kind(**{name: "wrong"})
        assert hasattr(model, "predict_proba") == hasattr(kind(), "predict_proba") and "<" in model._repr_html_()
        refuses((ValueError, TypeError), name, model.fit, X, SETS if kind is snb.LabelSpaceCV else Y)
