"""A weight of k is k copies of a row, and a row of weight 0 is left out, in whatever is learned from rows."""

import inspect
import re
from functools import partial

import numpy as np
import onnx
import onnxruntime
import pandas as pd
import pytest
import scipy.sparse as sp
from onnx import numpy_helper

import streamnb as snb
from streamnb.estimators.classifier import Classifier

N = 240
rng = np.random.default_rng(5)
Y = rng.integers(0, 3, N)
WEIGHT = rng.integers(0, 4, N)
COUNTS = rng.poisson(1.0 + 2.0 * np.eye(3)[Y] @ rng.random((3, 6))).astype(float)
COUNTS[WEIGHT == 0, 0] += 40.0  # rows of weight 0 differ from all others
REAL = rng.normal(size=(N, 4)) + 0.8 * Y[:, None] + 30.0 * (WEIGHT == 0)[:, None]
CODES = np.where((WEIGHT == 0)[:, None], 7.0, np.minimum(COUNTS, 5.0))
TARGET = REAL @ [1.0, -1.0, 0.5, 0.0] + rng.normal(size=N)
AMOUNTS = rng.gamma(2.0, np.exp(0.3 * Y))
LABELS = np.column_stack([Y == 0, REAL[:, 0] > 0.5, Y != 2]).astype(int)
FOLDS = rng.integers(0, 5, N)
TEXTS = np.array(
    [" ".join(f"w{k}{j}" for j in rng.integers(0, 9, 4)) + " gone" * 9 * int(WEIGHT[i] == 0) for i, k in enumerate(Y)],
    object,
)
FRAME = pd.DataFrame(
    {
        "number": np.where(rng.random(N) < 0.1, np.nan, REAL[:, 0]),
        "kind": np.array(["a", "b", "c", "gone"])[np.where(WEIGHT == 0, 3, (Y + rng.integers(0, 2, N)) % 3)],
        "when": pd.Timestamp("2024-01-01") + pd.to_timedelta(np.where(WEIGHT == 0, 900, rng.integers(0, 60, N)), "D"),
    }
)
COPIES, LEFT = np.repeat(np.arange(N), WEIGHT), np.flatnonzero(WEIGHT)

CLASSIFIERS = {  # what has to be given, and rows that are no counts
    "AdditiveClassifier": {"interactions": 1, "l2": 1.0, "pair_factor": 3.0, "X": REAL},
    "CrammerSingerSVM": {"C": 0.1, "tol": 1e-6},
    "CrammerSingerSVMCV": {"C": [0.001, 0.01], "tol": 1e-4},
    **{name: {"l2": [0.1, 10.0]} for name in ("LeastSquaresClassifierCV", "MarginClassifierCV", "SoftmaxRegressionCV")},
    "CategoricalNB": {"X": CODES},
    "HierarchyNB": {"hierarchy": {"0": "low", "1": "low"}, "y": np.array(["0", "1", "2"], object)[Y]},
    "LabelSpace": {"y": LABELS},
    "LabelSpaceCV": {"y": LABELS, "folds": FOLDS},
    "LinearDiscriminantAnalysis": {"X": REAL},
    "QuadraticDiscriminantAnalysis": {"X": REAL},
    "StackedNB": {"families": ["poisson", "bernoulli"], "folds": FOLDS},
}
MAPPED = snb.Gaussian(covariance="full", shrinkage=[(0.0, 0.1), (1.0, 0.0)], maps="auto")
CURVES = {"interactions": 1, "l2": 1.0, "pair_factor": 3.0, "folds": FOLDS, "tol": 1e-7}
CHOSEN = {"folds": FOLDS, "tol": 1e-8, "n_alphas": 4}
REGRESSIONS = {
    "lasso": snb.Lasso,
    "ridge": snb.Ridge,
    "elastic net": snb.ElasticNet,
    "elastic net, chosen": partial(snb.ElasticNetCV, folds=FOLDS, n_alphas=10),
    "curves": partial(snb.AdditiveRegressor, **CURVES),
    "curves of quantiles": partial(snb.AdditiveRegressor, "quantile", quantile=0.7, **CURVES),
}
OF_AMOUNTS = {
    "Poisson": partial(snb.PoissonRegressor, 0.1, tol=1e-8),
    "Gamma": partial(snb.GammaRegressor, 0.1, tol=1e-8),
    "Tweedie": partial(snb.TweedieRegressor, 1.5, 0.1, tol=1e-8),
    "Poisson, chosen": partial(snb.PoissonRegressorCV, **CHOSEN),
    "Gamma, chosen": partial(snb.GammaRegressorCV, **CHOSEN),
    "Tweedie, chosen": partial(snb.TweedieRegressorCV, 1.5, **CHOSEN),
    "curves of counts": partial(snb.AdditiveRegressor, "poisson", **CURVES),
}
ENCODED = {  # a model, and its rows
    "bins": (lambda: snb.LinearNB("bernoulli", transform=snb.Bins(5)), REAL),
    "bins of equal width": (lambda: snb.LinearNB("bernoulli", transform=snb.Bins(5, strategy="uniform")), REAL),
    "bins of sparse rows": (lambda: snb.LinearNB("categorical", transform=snb.Bins(3)), sp.csr_array(COUNTS)),
    "ranks": (lambda: snb.LinearNB("gaussian", transform="quantile_normal"), REAL),
    "categories": (lambda: snb.LinearNB("categorical"), CODES),
    "maps": (lambda: snb.LinearNBCV(MAPPED, folds=FOLDS), COUNTS),
    "idf": (lambda: snb.LinearNB("multinomial", idf=True), COUNTS),
    "trees of bins": (lambda: snb.TreeNB(transform=snb.Bins(3)), REAL),
    "a table": (lambda: snb.LinearNB("auto"), FRAME),
    "a table with curves": (lambda: snb.AdditiveClassifier(0, l2=[1.0, 0.1], min_count=60, folds=FOLDS), FRAME),
}


def rows_of(X, rows):
    return X.iloc[rows].reset_index(drop=True) if hasattr(X, "iloc") else X[rows]


def outputs(model, X):
    """What a model says of rows."""
    name = next(one for one in ("predict_proba", "decision_function", "predict") if hasattr(model, one))
    return getattr(model, name)(X)


def fitted(make, X, y, rows, weight):
    """A model of some rows; fold numbers among its parameters are those of the rows."""
    model = make()
    folds = {name: value[rows] for name, value in model.get_params(deep=False).items() if value is FOLDS}
    return model.set_params(**folds).fit(rows_of(X, rows), y[rows], sample_weight=weight)


def check(make, X, y, rtol=1e-6):
    known = rows_of(X, LEFT)
    weighted = outputs(fitted(make, X, y, np.arange(N), WEIGHT.astype(float)), known)
    np.testing.assert_allclose(weighted, outputs(fitted(make, X, y, LEFT, WEIGHT[LEFT]), known), rtol=rtol, atol=rtol)
    np.testing.assert_allclose(weighted, outputs(fitted(make, X, y, COPIES, None), known), rtol=rtol, atol=rtol)


def is_classifier(name):
    return inspect.isclass(getattr(snb, name)) and issubclass(getattr(snb, name), Classifier)


def case(name):
    """How a classifier is made, and its rows and labels."""
    given = dict(CLASSIFIERS.get(name, {}))
    make, X, y = getattr(snb, name), given.pop("X", COUNTS), given.pop("y", Y)
    if "folds" in inspect.signature(make).parameters:
        given["folds"] = FOLDS
    if "tol" in inspect.signature(make).parameters and "Discriminant" not in name:
        given.setdefault("tol", 1e-7)
    return lambda: make(**given), X, y


NAMES = sorted(filter(is_classifier, snb.__all__))


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
@pytest.mark.parametrize("name", NAMES)
def test_classifiers(name):
    check(*case(name), 1e-4)


# decisions of one class against another depend on all classes: code words, and penalties of the weights of each
NOT_ALIKE = {
    "OutputCodeNB",
    "CrammerSingerSVM",
    "CrammerSingerSVMCV",
    "GeneralizedNB",
    "SoftmaxRegressionCV",
    "StackedNB",
}
ONE_LABEL = [name for name in NAMES if name not in ("HierarchyNB", "LabelSpace", "LabelSpaceCV")]


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
@pytest.mark.parametrize("name", ONE_LABEL)
def test_a_class_without_weight_is_impossible(name, tmp_path):
    make, X, y = case(name)
    others = np.flatnonzero((y != 1) & (WEIGHT > 0))
    weight = np.isin(np.arange(N), others).astype(float)
    model, alone = fitted(make, X, y, np.arange(N), weight), fitted(make, X, y, others, None)
    known = X[others]
    assert model.classes_.tolist() == [0, 1, 2] and not (model.predict(known) == 1).any()
    if hasattr(model, "predict_proba"):
        p = model.predict_proba(known)
        assert (p[:, 1] == 0.0).all()
        np.testing.assert_allclose(p.sum(axis=1), 1.0)
        if name not in NOT_ALIKE:
            np.testing.assert_allclose(p[:, [0, 2]], alone.predict_proba(known), atol=1e-4)
    model.evaluate(known, y[others])
    model.save(tmp_path / "model.snb")
    np.testing.assert_array_equal(outputs(snb.load(tmp_path / "model.snb"), known), outputs(model, known))
    try:
        model.export(tmp_path / "model.json")
    except (TypeError, AttributeError):  # its scores are not linear
        return
    model.export(tmp_path / "model.onnx")
    assert not set(re.findall(r"NaN|Infinity", (tmp_path / "model.json").read_text()))
    graph = onnx.load(tmp_path / "model.onnx").graph
    assert all(
        np.isfinite(part).all() for part in map(numpy_helper.to_array, graph.initializer) if part.dtype.kind == "f"
    )
    run = onnxruntime.InferenceSession(tmp_path / "model.onnx").run(None, {"rows": known.astype(np.float32)})
    assert not (run[0] == 1).any() and np.isfinite(run[1]).all()


@pytest.mark.parametrize(("number", "name"), [*enumerate([*REGRESSIONS, *OF_AMOUNTS])])
def test_regressions(number, name):
    X = FRAME if number % 2 else REAL
    if name in REGRESSIONS:
        check(REGRESSIONS[name], X, TARGET, 1e-5)
    else:  # rows of weight 0 have amounts that no other row may have
        check(OF_AMOUNTS[name], X, np.where(WEIGHT == 0, -1.0, AMOUNTS))


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
@pytest.mark.parametrize("name", ENCODED)
def test_what_is_learned_of_columns(name):
    make, X = ENCODED[name]
    check(make, X, Y)


def encoding(weight, rows=slice(None), **options):
    """What a table and a vocabulary learn of rows."""
    frame, y = FRAME.iloc[rows].reset_index(drop=True), Y[rows]
    vocabulary = snb.text(TEXTS[rows], y=y, weight=weight, vocabulary=6, chars=(2, 2)).vocabulary
    return vocabulary, snb.table(frame, y, weight=weight, **options).feature_names.tolist()


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
@pytest.mark.parametrize("options", [{}, {"min_count": 120, "bins": 5}, {"hash_features": 2, "bins": None}])
def test_columns_of_tables_and_vocabularies(options):
    learned = encoding(WEIGHT, **options)
    assert learned == encoding(WEIGHT[LEFT], LEFT, **options) == encoding(None, COPIES, **options)


@pytest.mark.parametrize("factor", [0.1, 1 / 3, 1e-9, 1e9, 1e60])
def test_the_unit_of_weights_does_not_matter(factor):
    learned, again = encoding(WEIGHT), encoding(WEIGHT * factor)
    assert learned == again
    for transform in (snb.Bins(7), "quantile_normal"):
        one, other = (
            snb.LinearNB("gaussian", transform=transform).fit(REAL, Y, sample_weight=weight)._preparation.step
            for weight in (WEIGHT, WEIGHT * factor)
        )
        for name in ("edges", "quantiles"):
            np.testing.assert_array_equal(getattr(one, name, 0), getattr(other, name, 0))


def test_rows_of_weight_0_may_have_what_no_other_row_has():
    X, weight = REAL.copy(), WEIGHT.astype(float)
    X[WEIGHT == 0, 1] = np.nan
    assert np.isfinite(snb.LinearNB("bernoulli", transform=snb.Bins(3)).fit(X, Y, sample_weight=weight).coef_).all()
    X[WEIGHT == 0, 1] = -5.0
    X[WEIGHT > 0] += 9.0
    chosen = snb.Gaussian(covariance="full", shrinkage=[(0.0, 0.1), (1.0, 0.0)], maps=["log1p", "none"])
    model = snb.LinearNBCV(chosen, folds=FOLDS).fit(X, Y, sample_weight=weight)
    assert np.isfinite(model.predict_proba(X[LEFT])).all()


@pytest.mark.parametrize("y", [Y, LABELS], ids=["classes", "labels"])
def test_weights_that_are_all_0_are_refused(y):
    for given in ({"transform": snb.Bins(3)}, {"transform": "quantile_normal"}, {}):
        with pytest.raises(ValueError, match="sums to zero"):
            snb.LinearNB("gaussian", **given).fit(REAL, y, sample_weight=np.zeros(N))
    with pytest.raises(ValueError, match="sums to zero"):
        snb.table(FRAME, Y, weight=np.zeros(N))
