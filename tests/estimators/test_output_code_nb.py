"""OutputCodeNB: codes it draws or is given, and what it decides."""

import numpy as np
import pytest
from sklearn.datasets import load_digits
from sklearn.utils.estimator_checks import parametrize_with_checks

import streamnb as snb

X, Y = load_digits(return_X_y=True)
X, Y = X[:600], Y[:600]


@parametrize_with_checks([snb.OutputCodeNB("gaussian", code_size=3)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_one_bit_a_class_is_each_class_against_the_rest():
    model = snb.OutputCodeNB("bernoulli", code=np.eye(10), binarize=7).fit(X, Y)
    rest = snb.LinearNB("bernoulli", scheme="ovr", binarize=7).fit(X, Y)
    np.testing.assert_allclose(model.coef_, rest.coef_, atol=1e-10)
    assert (model.predict(X) == rest.predict(X)).all()


def test_the_word_of_the_highest_likelihood_is_decided():
    model = snb.OutputCodeNB("bernoulli", code_size=2.0, seed=1, binarize=7).fit(X, Y)
    shares = snb.LinearNB("bernoulli", binarize=7).fit(X, model.code_[Y].astype(int)).predict_proba(X[:50])
    likelihood = [
        [np.log(np.where(word, row, 1.0 - row)).sum() for word in model.code_] for row in np.clip(shares, 1e-300, 1.0)
    ]
    sure = (shares.max(axis=1) < 1.0) & (shares.min(axis=1) > 0.0)  # else 1 - p has no digits
    assert (model.predict(X[:50])[sure] == np.argmax(likelihood, axis=1)[sure]).all() and sure.sum() > 20


def test_a_class_without_rows_is_never_decided_and_two_classes_have_one_row_of_weights():
    model = snb.OutputCodeNB(code_size=2).fit(X, Y, classes=np.arange(11))
    assert not (model.predict(X) == 10).any() and model.code_.shape == (11, 22)
    two = snb.OutputCodeNB().fit(X, Y < 5)
    assert two.coef_.shape == (1, 64) and two.score(X, Y < 5) > 0.7


def test_wrong_parameters_are_refused():
    for options, words in (
        ({"code_size": 0}, "code_size=0 should be above 0"),
        ({"code_size": 0.1}, "makes 1 bits for 10 classes"),
        ({"seed": -1}, "seed=-1"),
        ({"code": np.eye(4)}, "code has 4 words; it should have one for each of the 10 classes"),
    ):
        with pytest.raises(ValueError, match=words):
            snb.OutputCodeNB(**options).fit(X, Y)
