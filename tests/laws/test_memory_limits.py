"""What is fitted does not depend on how much memory there is: with less of it, there are more reads or an error."""

import inspect
import tracemalloc
from functools import partial

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb

LIMITS = "8MB", "400kB", "150kB", "50kB"  # of models that take as much as large ones do of gigabytes
N, D = 240, 12
RNG = np.random.default_rng(0)
Y = np.arange(N) % 3
X = RNG.poisson(1.0 + 2.0 * (np.arange(D) % 3 == Y[:, None]), (N, D)).astype(float)
X[:, 0] = (X[:, 1] > 1.0) ^ (Y == 0)
NUMBERS = X[:, 1] - X[:, 2] + RNG.normal(size=N)
SETS = np.column_stack([Y == 0, Y != 1, X[:, 3] > 1.0]).astype(int)

OF_SETS = {"LabelSpace", "LabelSpaceCV"}
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


def said(model, rows):
    """What a fitted estimator says of rows."""
    for name in ("predict_proba", "decision_function", "predict", "transform"):
        if hasattr(model, name):
            found = getattr(model, name)(rows)
            return found.toarray() if sp.issparse(found) else np.asarray(found)
    raise AssertionError(f"{model} says nothing")


def estimator(name):
    """An estimator of few folds and reads."""
    kind = getattr(snb, name)
    taken = inspect.signature(kind).parameters
    few = {key: value for key, value in {"folds": 2, "max_passes": 20}.items() if key in taken}
    return kind(**{**few, **OPTIONS.get(name, {})})


def labels_for(name, model):
    if name in OF_SETS:
        return SETS
    if name.startswith("Gamma"):
        return np.abs(NUMBERS) + 1.0
    return NUMBERS if getattr(model, "_estimator_type", None) == "regressor" else Y


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
@pytest.mark.parametrize("name", ESTIMATORS)
def test_every_limit_gives_the_same_model_or_an_error(name):
    model = estimator(name)
    y = labels_for(name, model)
    expected = said(model.fit(X, y, memory_limit="4GB", progress=False), X)
    for limit in LIMITS:
        try:
            found = said(model.fit(X, y, memory_limit=limit, progress=False), X)
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


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
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
