"""What interactive users touch of every estimator, in any state: names, completion, texts and tables."""

import inspect

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import BaseEstimator
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer

import streamnb as snb
from streamnb.estimators.classifier import Classifier, check_parameters
from streamnb.models import on_demand
from streamnb.solving import weight_paths
from tests.support.refusals import refuses

rng = np.random.default_rng(0)
y = np.arange(40) % 3
X = rng.integers(1, 4, (40, 5)).astype(float)
X[np.arange(40), y] += 2.0
MANY = np.repeat(np.arange(60), 2)  # classes of sparse rows, whose weights take more than LIMIT
ROWS = sp.random_array((120, 500), density=0.02, format="csr", rng=rng)
LIMIT = "100kB"

FAMILIES = ["multinomial", "poisson", "bernoulli", "gaussian", snb.Geometric(), snb.Laplace(1.0), snb.Binomial(9)]
FAMILIES += [snb.NegativeBinomial(2.0), snb.Gamma(), snb.InverseGaussian(), snb.ChiSquared()]
FAMILIES += [snb.Mixed({"poisson": [0, 1], "gaussian": ...})]
PENALTIES = [None, snb.L1(0.3), snb.L2(1.0), snb.TopK(2), snb.Separable(lambda w: -w, 0.5), snb.L1(0.1) + snb.TopK(3)]
DROP_INS = [snb.MultinomialNB, snb.ComplementNB, snb.BernoulliNB, snb.GaussianNB, snb.CategoricalNB, snb.PoissonNB]
ESTIMATORS = [kind() for kind in DROP_INS]
ESTIMATORS += [snb.LinearNB("poisson", snb.L1(0.1)), snb.LinearNBCV(folds=2), snb.FeatureSelector(k=2), snb.Bins(4)]
ESTIMATORS += [
    snb.LinearDiscriminantAnalysis(),
    snb.QuadraticDiscriminantAnalysis(reg_param=0.1),
    snb.TreeNB(family="categorical"),
]


def walk(value):
    """Touch whatever a notebook, a debugger and a completion touch; return the names that are there."""
    names = {*object.__dir__(value), *dir(value)}
    there = {name for name in names if hasattr(value, name)}
    assert {name for name, _ in inspect.getmembers(value)} <= there
    assert isinstance(repr(value), str)
    if isinstance(value, BaseEstimator):
        assert set(dir(value)) <= there
        assert "<" in value._repr_html_() and value._repr_mimebundle_()
    return there


@pytest.mark.parametrize(
    ("family", "penalty"),
    [
        pytest.param(family, penalty, id=f"{family}-{penalty}")
        for i, family in enumerate(FAMILIES)
        for j, penalty in enumerate([*PENALTIES, snb.Decorrelation(0.05)])
        if (i + j) % 6 == 0
    ],
)
def test_every_name_of_a_model_can_be_touched(family, penalty):
    if family == "multinomial" and isinstance(penalty, snb.Decorrelation):
        penalty = snb.L1(0.3, scale="score")  # the other is not defined
    model = snb.LinearNB(family, penalty, scheme="ovr")
    assert "coef_" not in walk(model)
    model.fit(X, y)
    assert {"coef_", "intercept_", "predict", "predict_proba"} <= walk(model)
    assert {"coef_", "predict_proba"} <= walk(model._model)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=lambda e: type(e).__name__)
def test_every_name_of_each_estimator_and_of_pipelines_of_it_can_be_touched(estimator):
    walk(estimator)
    walk(make_pipeline(FunctionTransformer(), estimator))
    assert "n_features_in_" in walk(estimator.fit(X, y))
    walk(make_pipeline(FunctionTransformer(), estimator).fit(X, y))
    walk(getattr(estimator, "stats_", estimator))


@pytest.mark.parametrize(
    ("penalty", "options"),
    [(None, {}), (snb.L1(0.3), {"scheme": "ovo"}), (snb.L2(1.0), {"family": snb.Laplace(1.0), "scheme": "ovo"})],
    ids=str,
)
def test_every_name_of_a_model_whose_weights_are_not_held_can_be_touched(penalty, options, monkeypatch):
    monkeypatch.setattr(weight_paths, "PAIRS_BYTES", 0)
    monkeypatch.setattr(on_demand, "NUMBERS", 1000)
    few = MANY < 9 if options else MANY < 49
    model = snb.LinearNB(**{"family": "poisson", "penalty": penalty, **options})
    model.fit(ROWS[few], MANY[few], memory_limit=None if options else LIMIT)
    there = walk(model)
    assert "coef_" not in there and "intercept_" in there
    assert "coef_" not in walk(model._model)
    refuses(AttributeError, r"coef_ would take .* and 500 features; predictions compute", lambda: model.coef_)
    refuses(MemoryError, "coef_ would take", lambda: model.coef_)


@pytest.mark.parametrize("kind", [snb.MultinomialNB, snb.BernoulliNB, snb.PoissonNB, snb.FeatureSelector])
def test_every_name_of_tables_too_large_to_be_dense_can_be_touched(kind, monkeypatch):
    monkeypatch.setattr("streamnb.stats.tables.LARGE", 0)
    estimator = kind().partial_fit(ROWS, MANY, memory_limit=LIMIT)
    monkeypatch.setattr("streamnb.core.memory.free_memory", lambda: 1000)
    there = walk(estimator)
    assert "feature_count_" not in there and "stats_" in there
    assert not {"sum", "above", "sum_sq"} & walk(estimator.stats_)
    with pytest.raises(MemoryError, match="would take") as refused:
        estimator.predict(ROWS) if hasattr(estimator, "predict") else estimator.transform(ROWS)
    assert type(refused.value) is MemoryError


def test_what_cannot_be_computed_is_missing_and_says_why():
    model = snb.LinearNB("poisson", priors=[0.5, 0.5]).partial_fit(X, y)  # a third class came
    assert not hasattr(model, "coef_") and "coef_" not in dir(model)
    for error in (AttributeError, ValueError):
        refuses(error, "priors has shape", lambda: model.coef_)
    with pytest.raises(ValueError, match="priors has shape") as refused:
        model.predict(X)
    assert type(refused.value) is ValueError
    nb = snb.MultinomialNB(class_prior=[0.5, 0.5]).partial_fit(X, y)
    assert not hasattr(nb, "class_log_prior_") and not hasattr(nb, "_model") and hasattr(nb, "feature_log_prob_")
    with pytest.raises(ValueError, match="class_prior has 2 entries") as refused:
        nb.predict(X)  # which follows from two attributes that are missing
    assert type(refused.value) is ValueError
    with pytest.raises(AttributeError, match=r"'feature_log_prob_' follows from the statistics; .* with refit"):
        nb.feature_log_prob_ = 0.0
    refuses(ValueError, "these statistics lack the moment 'sum_sq'", lambda: nb.stats_.sum_sq)
    assert not hasattr(nb.stats_, "sum_sq")


@pytest.mark.parametrize(
    "wrong", [{"family": "none such"}, {"family": 3}, {"penalty": "L1"}, {"scheme": "none"}], ids=str
)
def test_wrong_parameters_are_for_fit_to_report(wrong):
    walk(snb.LinearNB(**wrong))
    walk(snb.LinearNBCV(**wrong))


REQUIRED = {"HierarchyNB": {"hierarchy": {"dog": "animal"}}, "StackedNB": {"families": ["poisson"]}}
CLASSES = {name: value for name in snb.__all__ if isinstance(value := getattr(snb, name), type)}
CLASSIFIERS = [name for name, value in CLASSES.items() if issubclass(value, Classifier)]


@pytest.mark.parametrize("name", CLASSIFIERS)
def test_every_parameter_with_a_check_is_named_where_it_is_wrong(name):
    kind, required = CLASSES[name], REQUIRED.get(name, {})
    check_parameters(kind(**required))  # defaults are right
    for parameter in kind._checks.keys() & kind(**required).get_params().keys():
        with pytest.raises((ValueError, TypeError), match=f"^{parameter}='wrong'"):
            check_parameters(kind(**required, **{parameter: "wrong"}))


def test_a_parameter_that_is_no_attribute():
    model = snb.LinearNB(transform="sqrt")
    assert model.get_params()["transform"] == "sqrt" and not hasattr(model, "transform")


TAUS = {"no tau": snb.L1(), "a grid of 2 taus": snb.L2(1.0) + snb.L1([1.0, 2.0])}


@pytest.mark.parametrize("what", TAUS)
def test_one_model_has_one_tau(what):
    for kind in (snb.LinearNB, snb.TreeNB):
        with pytest.raises(ValueError, match=f"has {what}, but {kind.__name__} fits one model; give one tau"):
            check_parameters(kind(penalty=TAUS[what]))
