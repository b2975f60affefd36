"""Sets of classes from one scan, against indicators of the sets that are scanned by themselves."""

import numpy as np
import pytest

import streamnb as snb

rng = np.random.default_rng(0)
Y = np.array(["ash", "birch", "cat", "dog"])[rng.integers(0, 4, 120)]
X = rng.poisson(1.0 + 2.0 * (np.arange(6) == np.unique(Y, return_inverse=True)[1][:, None]))
CODE = np.array([[0, 1, 1], [1, 0, 1], [1, 1, 0], [0, 0, 0]])
ABOVE = {"ash": "tree", "birch": "tree", "cat": "animal", "dog": "animal"}
MODELS = [snb.OutputCodeNB(code=CODE), snb.HierarchyNB(ABOVE)]


@pytest.mark.parametrize(
    "options", [{}, {"family": "gaussian"}, {"family": "bernoulli", "penalty": snb.L1(1.0)}], ids=str
)
def test_weights_are_those_of_indicators(options):
    number = np.unique(Y, return_inverse=True)[1]
    bits = snb.LinearNB(**options).fit(X, CODE[number])
    model = snb.OutputCodeNB(code=CODE, **options).fit(X, Y)
    np.testing.assert_allclose(model.coef_, CODE @ bits.coef_, atol=1e-12)
    np.testing.assert_allclose(model.intercept_, CODE @ bits.intercept_, atol=1e-12)
    tree = snb.HierarchyNB(ABOVE, **options).fit(X, Y)
    indicator = np.column_stack([(label == Y) | (np.vectorize(ABOVE.get)(Y) == label) for label in tree.labels_])
    apart = snb.LinearNB(**options).fit(X, indicator.astype(int))
    np.testing.assert_array_equal(tree.coef_, apart.coef_)
    np.testing.assert_array_equal(tree.decision_function(X), apart.decision_function(X))


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_rows_may_be_added(model):
    model.fit(X, Y)
    expected = model.predict_proba(X)
    model.fit(X[:80], Y[:80], classes=np.unique(Y)).partial_fit(X[80:], Y[80:])
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    before = model.coef_
    assert model.score(X, Y) > 0.3 and not (model.refit(penalty=snb.L1(5.0)).coef_ == before).all()


@pytest.mark.parametrize("model", MODELS, ids=lambda model: type(model).__name__)
def test_what_sums_of_classes_do_not_have_is_refused(model):
    name = type(model).__name__
    with pytest.raises(ValueError, match=f"has covariances, which sums of classes do not have; {name} takes"):
        type(model)(**{**model.get_params(), "family": snb.Gaussian(covariance="pooled")}).fit(X, Y)
    with pytest.raises(ValueError, match=f"2-D indicator of labels; {name} takes one label a row"):
        model.fit(X, np.eye(4, dtype=int)[np.arange(120) % 4])
    with pytest.raises(ValueError, match=f"leave it out for {name}"):
        model.fit(X, Y).predict(X, predictive=True)
    with pytest.raises(ValueError, match="one class only"):
        model.fit(X, np.full(120, "ash"))
