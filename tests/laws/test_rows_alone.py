"""What is fitted depends on the rows alone: not on what holds them, on cuts, threads, memory, or reads broken off."""

import inspect
import pickle
import tracemalloc
from functools import cache, partial

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from sklearn.base import clone
from zarr.storage import MemoryStore

import streamnb as snb

LIMITS = "400kB", "50kB"  # of models that take as much as large ones do of gigabytes
N, D = 240, 12
RNG = np.random.default_rng(0)
Y = np.arange(N) % 3
X = RNG.poisson(1.0 + 2.0 * (np.arange(D) % 3 == Y[:, None]), (N, D)).astype(float)
X[:, 0] = (X[:, 1] > 1.0) ^ (Y == 0)
NUMBERS = X[:, 1] - X[:, 2] + RNG.normal(size=N)
WEIGHT = RNG.random(N) + 0.5  # which no sums of floats hold exactly
SETS = np.column_stack([Y == 0, Y != 1, X[:, 3] > 1.0]).astype(int)

OF_SETS = {"LabelSpace", "LabelSpaceCV", "indicator"}
OPTIONS = {
    "StackedNB": {"families": ["poisson", snb.LinearNB("bernoulli", transform="log1p")]},
    "HierarchyNB": {"hierarchy": {0: 10, 2: 10}},
    "AdditiveClassifier": {"l2": 1.0, "resolutions": (4,), "pair_factor": 3.0, "tol": 1e-2},
    "AdditiveRegressor": {"l2": 1.0, "resolutions": (4,), "pair_factor": 3.0, "tol": 1e-2},
    "CrammerSingerSVM": {"C": 0.01},
    "CrammerSingerSVMCV": {"C": [0.001, 0.01], "calibration": "sigmoid", "folds": 5},
    "MarginClassifierCV": {"calibration": "isotonic", "folds": 5},
}
ESTIMATORS = sorted(
    name
    for name in snb.__all__
    if inspect.isclass(kind := getattr(snb, name))
    and hasattr(kind, "fit")
    and "memory_limit" in inspect.signature(kind.fit).parameters
)

WIDE = (
    *("CategoryCounters", "FeatureSelector", "GaussianNB", "GeneralizedNB", "LinearNB", "LinearNBCV", "Ridge"),
    *("SoftmaxRegression", "SoftmaxRegressionCV", "StackedNB"),
)


def dense(answer):
    return answer.toarray() if sp.issparse(answer) else np.asarray(answer)


def said(model, rows):
    """What a fitted estimator says of rows."""
    for name in ("predict_proba", "decision_function", "predict", "transform"):
        if hasattr(model, name):
            return dense(getattr(model, name)(rows))
    raise AssertionError(f"{model} says nothing")


def estimator(name):
    """An estimator of few folds, penalties and reads."""
    kind = getattr(snb, name)
    taken = inspect.signature(kind).parameters
    few = {"folds": 2, "n_alphas": 3} | ({"l2": [0.1, 1.0]} if name.endswith("CV") else {})
    few |= {"max_passes": 20, "tol": 1e-2} if "max_passes" in taken else {}
    return kind(**{option: few[option] for option in few.keys() & taken.keys()} | OPTIONS.get(name, {}))


def labels_for(name, model):
    if name in OF_SETS:
        return SETS
    if name.startswith("Gamma"):
        return np.abs(NUMBERS) + 1.0
    return NUMBERS if getattr(model, "_estimator_type", None) == "regressor" else Y


EQUAL = pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
MADE = {name: partial(estimator, name) for name in ESTIMATORS} | {
    "Gaussian": lambda: snb.LinearNB("gaussian", transform="log1p"),
    "Mixed": lambda: snb.LinearNB(snb.Mixed({"gaussian": [0, 3], "bernoulli": ...})),
    "full covariance": lambda: snb.LinearNB(snb.Gaussian(covariance="full", shrinkage=(0.2, 0.01))),
    "indicator": lambda: snb.LinearNB("poisson"),
    "idf": lambda: snb.LinearNB(idf=True, normalize="l2"),
    "bins": lambda: snb.LinearNB("bernoulli", transform=snb.Bins(4)),
    "calibrated margins": lambda: snb.MarginClassifier(tol=1e-2, calibration="sigmoid", idf=True, normalize="l2"),
    "calibrated scores": lambda: snb.LinearNBCV("poisson", snb.L1([0.0, 2.0]), folds=5, calibration="sigmoid"),
    "Ridge of gradients": lambda: snb.Ridge(0.5, solver="conjugate_gradients"),
    "TreeFeatures": lambda: snb.FeatureSelector(snb.TreeFeatures(), "auto"),
}


@EQUAL
@pytest.mark.parametrize("name", MADE)
def test_answers_come_in_the_kind_of_the_rows(name):
    _, model = of_arrays(name)
    for method in ("predict", "predict_proba", "decision_function", "transform"):
        if not hasattr(model, method):
            continue
        ask = getattr(model, method)
        expected = dense(ask(X))
        lazy = ask(da.from_array(X, chunks=(70, D)))
        assert isinstance(lazy, da.Array) and sp.issparse(lazy._meta) == sp.issparse(ask(X))
        assert lazy.dtype == expected.dtype and lazy.shape == expected.shape
        for answer in (lazy.compute(), ask(sp.csr_array(X)), ask(zarr.create_array(MemoryStore(), data=X))):
            np.testing.assert_allclose(dense(answer), expected, rtol=1e-9, atol=1e-12)


# BLAS rounds sums of products of values that are no whole numbers, or less many bits
OF_PRODUCTS = {"ElasticNet", "ElasticNetCV", "ForwardRegression", "Ridge"}
OF_PRODUCTS_IN_PARTS = {"LinearDiscriminantAnalysis", "QuadraticDiscriminantAnalysis", "TreeNB", "full covariance"}
OF_PRODUCTS_IN_PARTS |= OF_PRODUCTS


def parts_of(given, size):
    """The rows in parts, as tuples of X, y and weights."""
    return [tuple(column[at : at + size] for column in given) for at in range(0, N, size)]


@cache
def of_arrays(name):
    """Arrays to fit to, without weights where none are taken, and the fitted model."""
    model = MADE[name]()
    takes = inspect.signature(model.fit).parameters
    given = [X, labels_for(name, model), WEIGHT][: 3 if "sample_weight" in takes else 1]
    return given, model.fit(*given, progress=False)


def ways(given, takes, folder):
    """The same rows in other containers, in parts, with other threads, and from a checkpoint."""
    store = zarr.open_group(folder / "rows.zarr", mode="w")
    for key, column in zip("Xyw", given):
        store[key] = column
    yield [da.from_array(column, chunks=(70, *column.shape[1:])) for column in given], {"n_threads": 1}
    parts = parts_of([sp.csr_array(given[0]), *given[1:]], 37)
    yield [lambda: iter(parts if len(given) > 1 else [part for (part,) in parts])], {"n_threads": 3}
    if "checkpoint" in takes:
        for _ in range(2):
            yield [folder / "rows.zarr", *"yw"[: len(given) - 1]], {"checkpoint": folder / "kept"}
            if (folder / "kept").is_dir():  # the last read was never made
                max((folder / "kept").iterdir(), key=lambda path: path.stat().st_mtime_ns).unlink()


@EQUAL
@pytest.mark.parametrize("name", MADE)
def test_containers_cuts_threads_checkpoints_and_files_change_no_bit(name, tmp_path):
    given, model = of_arrays(name)
    expected = said(model, X)
    for rows, options in ways(given, inspect.signature(model.fit).parameters, tmp_path):
        other = clone(model).fit(*rows, progress=False, **options)
        rounded = 1e-10 if name in OF_PRODUCTS else 0.0
        np.testing.assert_allclose(said(other, X), expected, rtol=rounded, err_msg=f"{type(rows[0])} {options}")
    model.save(tmp_path / "model.snb")
    for other in (snb.load(tmp_path / "model.snb"), pickle.loads(pickle.dumps(model))):
        assert str(other) == str(model) and type(other) is type(model)
        np.testing.assert_array_equal(said(other, X), expected)


BY_FOLDS_OR_BINS = {"ElasticNetCV", "ForwardRegression", "Ridge of gradients", "bins"}  # of the rows of the first part
IN_PARTS = [name for name in MADE if hasattr(MADE[name](), "partial_fit") and name not in BY_FOLDS_OR_BINS]


@EQUAL
@pytest.mark.parametrize("name", IN_PARTS)
def test_rows_in_parts_and_in_any_order_are_the_rows_at_once(name, tmp_path):
    given, whole = of_arrays(name)
    first, *others = parts_of(given, 53)
    model = clone(whole).partial_fit(*others[1][:2], sample_weight=others[1][2])
    model.save(tmp_path / "model.snb")
    model = snb.load(tmp_path / "model.snb")
    for part in (first, *others[2:], others[0]):
        model.partial_fit(*part[:2], sample_weight=part[2])
    np.testing.assert_allclose(said(model, X), said(whole, X), rtol=1e-10 if name in OF_PRODUCTS_IN_PARTS else 0.0)


KEEP_WHAT_THEY_SAW = {"CategoricalNB", "FeatureSelector"}  # categories; and nothing is taken away from a selection


@EQUAL
@pytest.mark.parametrize("name", IN_PARTS)
def test_rows_that_fade_or_are_forgotten_leave_the_model_of_what_is_left(name):
    (rows, y, weight), whole = of_arrays(name)
    old, new = np.s_[:90], np.s_[90:]
    rounded = 1e-8 if name in OF_PRODUCTS_IN_PARTS else 0.0
    model = clone(whole).partial_fit(rows[old], y[old], sample_weight=weight[old])
    model.partial_fit(rows[new], y[new], sample_weight=weight[new], decay=0.5)
    halves = clone(whole).fit(rows, y, weight * np.where(np.arange(N) < 90, 0.5, 1.0))
    np.testing.assert_allclose(said(model, X), said(halves, X), rtol=rounded)
    assert model.decay_ == 0.5
    if name in KEEP_WHAT_THEY_SAW:
        return
    model.forget(rows[old], y[old], sample_weight=0.5 * weight[old])
    left = clone(whole).fit(rows[new], y[new], weight[new])
    np.testing.assert_allclose(said(model, X), said(left, X), rtol=rounded)


@EQUAL
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_limit_gives_the_same_model_or_an_error(name):
    given, model = of_arrays(name)
    expected = said(model, X)
    for limit in LIMITS:
        try:
            found = said(clone(model).fit(*given, memory_limit=limit, progress=False), X)
        except MemoryError as error:
            assert "memory" in str(error)  # what takes how much
            break
        np.testing.assert_array_equal(found, expected, limit)


USES = {name: estimator(name).fit for name in WIDE} | {
    "partial_fit": estimator("LinearNB").partial_fit,
    "bins of a fit": snb.LinearNB("poisson", transform=snb.Bins(4)).fit,
    "bins of a scan": partial(snb.scan, transform=snb.Bins(4)),
    "ranks of a scan": partial(snb.scan, transform="quantile_normal"),
}


@EQUAL
@pytest.mark.parametrize("name", USES)
def test_rows_too_wide_for_the_limit_are_refused_before_anything_of_their_width_is_allocated(name):
    wide = sp.csr_array((np.ones(N), (np.arange(N), np.arange(N))), shape=(N, 1 << 25))
    y = NUMBERS if name == "Ridge" else Y
    tracemalloc.start()
    try:
        with pytest.raises(MemoryError, match=r"(columns|features).* would take .* memory_limit"):
            USES[name](wide, y, memory_limit="64MB", progress=False)
        assert tracemalloc.get_traced_memory()[1] < 64e6
    finally:
        tracemalloc.stop()
