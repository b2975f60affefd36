"""The estimator: scikit-learn's contract, and one model whatever the order and the parts the rows came in."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError
from sklearn.utils import get_tags

import streamnb as snb
from streamnb.estimators.classifier import fitted_model
from streamnb.problem.families import as_family
from streamnb.solving.posteriors import log_evidence, strength
from tests.support.refusals import refuses
from tests.support.strategies import LABELS, example

MODELS = [
    snb.LinearNB(),
    snb.LinearNB(family="poisson"),
    snb.LinearNB("bernoulli"),
    snb.LinearNB("gaussian"),
    snb.LinearNB("gaussian", snb.L1(0.5)),
    snb.LinearNB("poisson", snb.L1(0.2, scale="score") + snb.L2(0.1), scheme="ovr"),
    snb.LinearNB(snb.Multinomial(), snb.L2(0.3), idf=True),
    snb.LinearNB("multinomial", snb.L1(0.1), transform="log1p", normalize="l2"),
    snb.LinearNB("bernoulli", snb.L1(0.3), binarize=0.5, scheme="ovr", priors="uniform"),
]


def outcome(model):
    return model.classes_.tolist(), model.coef_.tolist(), np.asarray(model.intercept_).tolist()


@pytest.mark.parametrize("model", [MODELS[1], MODELS[4], MODELS[5]], ids=str)
def test_the_model_is_the_solution_of_its_statistics(model):
    rows = example()
    parts = [snb.scan(p.x, p.y, sample_weight=p.w) for p in rows.split((20, 21))]
    fitted = clone(model).fit(rows.x, rows.y, sample_weight=rows.w)
    solved = snb.solve(parts[0] + parts[1], model.family, model.penalty, scheme=model.scheme)[0]
    assert outcome(solved) == outcome(fitted)
    assert np.array_equal(solved.predict(rows.x), fitted.predict(rows.x))
    assert np.array_equal(solved.predict_proba(rows.x), fitted.predict_proba(rows.x))


def test_forgetting_a_class_drops_it_unless_it_was_listed():
    rows = example()
    theirs = rows.y == "b"
    fitted = snb.LinearNB().fit(rows.x, rows.y)
    assert fitted.forget(rows.x[theirs], rows.y[theirs]).classes_.tolist() == ["ash", "willow"]
    listed = snb.LinearNB().fit(rows.x, rows.y, classes=LABELS["str"])
    with pytest.warns(snb.StreamnbWarning, match="b"):
        listed.forget(rows.x[theirs], rows.y[theirs])
        assert listed.classes_.tolist() == LABELS["str"]
        assert listed.intercept_[1] == -np.inf and not listed.coef_[1].any()
    assert "b" not in listed.predict(rows.x)


def test_refit_needs_no_data_and_takes_other_options():
    rows = example()
    model = snb.LinearNB().fit(rows.x, rows.y)
    for options in (
        {"penalty": snb.L1(0.5)},
        {"family": "poisson", "penalty": None, "smoothing": 0.1},
        {"family": snb.Multinomial(), "scheme": "ovr", "priors": "uniform"},
        {"penalty": snb.L2(2.0) + snb.L1(0.1, scale="score"), "scheme": "joint"},
    ):
        assert model.refit(**options) is model
        expected = clone(model).set_params(**options).fit(rows.x, rows.y)
        assert outcome(model) == outcome(expected)


def test_refit_refuses_what_needs_the_rows_again():
    rows = example()
    model = snb.LinearNB().fit(rows.x, rows.y)
    for option in ({"transform": "log1p"}, {"normalize": "l2"}, {"binarize": 1.0}):
        refuses(ValueError, next(iter(option)), model.refit, **option)
    refuses(ValueError, "sum_sq", lambda: model.refit(family="gaussian"))
    refuses(ValueError, "binarize=.* is applied in the scan", snb.BernoulliNB().fit(rows.x, rows.y).refit, binarize=0.5)
    refuses((TypeError, ValueError), "smothing", lambda: model.refit(smothing=2.0))


@pytest.mark.parametrize("kind", ["int", "str"])
def test_partial_fit_with_one_class_waits_for_a_second(kind):
    rows = example(kind)
    first = rows.y == rows.y[0]
    model = snb.LinearNB().partial_fit(rows.x[first], rows.y[first])
    refuses(ValueError, r"(?i)one class|second class|two classes|2 classes", lambda: model.predict(rows.x))
    model.partial_fit(rows.x[~first], rows.y[~first])
    assert outcome(model) == outcome(snb.LinearNB().fit(rows.x, rows.y))


def test_tags_say_what_a_family_takes():
    assert all(get_tags(model).input_tags.sparse for model in MODELS)
    positive = [get_tags(snb.LinearNB(f)).input_tags.positive_only for f in ("multinomial", "poisson", "gaussian")]
    assert positive == [True, True, False]


def test_weights_and_methods_are_there_where_they_mean_something():
    rows = example("str")
    model = snb.LinearNB(scheme="ovo")
    assert not hasattr(model, "coef_") and not hasattr(model, "decision_function")  # counts take no negative values
    assert hasattr(snb.LinearNB("gaussian"), "decision_function") and hasattr(snb.LinearNB("none"), "sparsify")
    model.partial_fit(rows.x[rows.y == "ash"], rows.y[rows.y == "ash"])
    refuses(AttributeError, "LinearNB has no 'intercept_' before it has seen two classes", lambda: model.intercept_)
    refuses(NotFittedError, "has seen one class only", lambda: model.predict(rows.x))
    model.fit(rows.x, rows.y)
    assert hasattr(model, "decision_function") and not hasattr(model, "predict_proba")
    assert (fitted_model(model).coef_ == model.coef_).all()
    assert model.fit(rows.x, rows.y == "ash").predict_proba(rows.x).shape == (41, 2)


def test_rows_may_be_predicted_by_the_posterior_in_place_of_an_estimate():
    rows = example("bool", n_rows=12)
    model = snb.LinearNB("poisson").fit(rows.x, rows.y)
    plain, averaged = (model.predict_proba(rows.x, predictive=by) for by in (False, True))
    assert (plain != averaged).any() and np.allclose(averaged.sum(axis=1), 1.0)
    refuses(ValueError, r"^predictive='yes' is unknown", lambda: model.predict(rows.x, predictive="yes"))


X = pd.DataFrame({"a": [1, 1, 0, 0, 3], "b": [0, 2, 1, 0, 1]})
Y = ["u", "u", "v", "v", "v"]


def test_a_classifier_knows_its_posterior_and_evidence(tmp_path):
    model = snb.LinearNB("poisson", snb.L1(0.1), smoothing="evidence").fit(X, Y)
    s = strength(model.stats_, as_family("poisson"), "posterior_mean")
    assert model.smoothing_ == s
    assert model.log_evidence() == log_evidence(model.stats_, as_family("poisson"), s, "posterior_mean", None)
    table = model.posterior(interval=0.5)
    assert table["feature"].tolist() == ["a", "a", "b", "b"] and table["class"].tolist() == ["u", "v"] * 2
    mean = model.stats_.sum.sum(axis=0) / 5
    np.testing.assert_allclose(
        table["mean"], ((model.stats_.sum + s * mean) / (model.stats_.weight[:, None] + s)).T.ravel()
    )
    model.save(tmp_path / "m.snb")
    again = snb.load(tmp_path / "m.snb")
    assert again.smoothing_ == s and (again.coef_ == model.coef_).all()
    other = model.refit(smoothing=2.0, class_weight={"u": 3.0})
    assert other.smoothing_ == 2.0 and other.posterior(0.5)["mean"].tolist() != table["mean"].tolist()


def test_without_a_prior_there_is_neither():
    with pytest.raises(ValueError, match=r"posterior\(\) is of the values that were scanned, which idf=True"):
        snb.LinearNB("poisson", idf=True).fit(X, Y).posterior()
    refuses(ValueError, "needs a conjugate prior", snb.LinearNB("gaussian").fit(X, Y).posterior)
    with pytest.raises(TypeError, match=r"smoothing='evidense' should be 'auto', a number, a prior .*, 'evidence' or"):
        snb.LinearNB("poisson", smoothing="evidense").fit(X, Y)
