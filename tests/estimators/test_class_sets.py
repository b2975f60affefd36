"""Sets of classes from one scan, against indicators of the sets that are scanned by themselves."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import streamnb as snb
from tests.support.refusals import refuses

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
def test_what_sums_of_classes_do_not_have_is_refused(model):
    name = type(model).__name__
    with pytest.raises(ValueError, match=f"has covariances, which sums of classes do not have; {name} takes"):
        type(model)(**{**model.get_params(), "family": snb.Gaussian(covariance="pooled")}).fit(X, Y)
    with pytest.raises(ValueError, match=f"2-D indicator of labels; {name} takes one label a row"):
        model.fit(X, np.eye(4, dtype=int)[np.arange(120) % 4])
    refuses(ValueError, f"leave it out for {name}", lambda: model.fit(X, Y).predict(X, predictive=True))
    refuses(ValueError, "one class only", lambda: model.fit(X, np.full(120, "ash")))


PETS = {"cat": "pet", "dog": "pet", "pet": "animal", "cow": "animal"}
PET = np.array(["cat", "dog", "cow", "oak", "pet"])[rng.integers(0, 5, 200)]
PET_ROWS = rng.poisson(0.7 + (np.arange(5) == np.unique(PET, return_inverse=True)[1][:, None]))


def test_an_ancestor_follows_from_its_descendant():
    model = snb.HierarchyNB(PETS, "poisson").fit(PET_ROWS, PET)
    assert model.labels_.tolist() == ["animal", "cat", "cow", "dog", "oak", "pet"]
    found, shares = model.predict(PET_ROWS), model.predict_proba(PET_ROWS)
    for label, above in PETS.items():
        below, up = (model.labels_.tolist().index(one) for one in (label, above))
        assert (found[:, up] >= found[:, below]).all() and (shares[:, up] >= shares[:, below]).all()
    assert (found == (shares > 0.5)).all()
    assert (model.decision_function(PET_ROWS)[found == 0] <= 0.0).all()
    assert model.explain(PET_ROWS[:1], "animal").attrs["score"] == pytest.approx(
        model.decision_function(PET_ROWS[:1])[0, 0]
    )


def test_what_it_cannot_do_is_said(tmp_path):
    model = snb.HierarchyNB(PETS).fit(PET_ROWS, PET)
    refuses(ValueError, "labels that follow from others are in no such file", lambda: model.export(tmp_path / "m.json"))
    refuses(ValueError, "calibrate needs one label a row or an indicator", lambda: model.calibrate(PET_ROWS, PET))
    with pytest.raises(ValueError, match="a circle, 'cat' -> 'pet' -> 'cat'"):
        snb.HierarchyNB({"cat": "pet", "pet": "cat"}).fit(PET_ROWS, PET)
    refuses(ValueError, "labels of one kind", lambda: snb.HierarchyNB({1: 2}).fit(PET_ROWS, PET))


def test_labels_that_no_row_bears_are_named():
    with pytest.warns(snb.StreamnbWarning, match=r"without any weight: \['eel', 'fish'\]"):
        snb.HierarchyNB({**PETS, "eel": "fish"}).fit(PET_ROWS, PET)


DIGITS, DIGIT = (part[:600] for part in load_digits(return_X_y=True))


def test_the_word_of_the_highest_likelihood_is_decided():
    model = snb.OutputCodeNB("bernoulli", code_size=2.0, seed=1, binarize=7).fit(DIGITS, DIGIT)
    shares = (
        snb.LinearNB("bernoulli", binarize=7).fit(DIGITS, model.code_[DIGIT].astype(int)).predict_proba(DIGITS[:50])
    )
    likelihood = [
        [np.log(np.where(word, row, 1.0 - row)).sum() for word in model.code_] for row in np.clip(shares, 1e-300, 1.0)
    ]
    sure = (shares.max(axis=1) < 1.0) & (shares.min(axis=1) > 0.0)  # else 1 - p has no digits
    assert (model.predict(DIGITS[:50])[sure] == np.argmax(likelihood, axis=1)[sure]).all() and sure.sum() > 20


def test_wrong_parameters_are_refused():
    for options, words in (
        ({"code_size": 0}, "code_size=0 should be above 0"),
        ({"code_size": 0.1}, "makes 1 bits for 10 classes"),
        ({"seed": -1}, "seed=-1"),
        ({"code": np.eye(4)}, "code has 4 words; it should have one for each of the 10 classes"),
    ):
        refuses(ValueError, words, snb.OutputCodeNB(**options).fit, DIGITS, DIGIT)
