"""The scores of terms, read and written."""

import numpy as np
import pytest

import streamnb as snb

RNG = np.random.default_rng(0)
X = RNG.normal(size=(200, 2))
Y = X[:, 0] * X[:, 1] > 0


@pytest.fixture
def model():
    return snb.AdditiveClassifier(1, l2=1.0, pair_factor=1.0, resolutions=(4,)).fit(X, Y)


def test_scores_by_name(model):
    scores = model.term_scores_
    assert list(scores) == ["x0", "x1", ("x0", "x1")]
    assert len(scores) == 3
    assert scores["x0"].shape == (4, 1)
    assert scores["x1", "x0"].shape == (32, 32, 1) or scores["x1", "x0"].shape == (4, 4, 1)
    np.testing.assert_array_equal(scores["x0"][:, 0], model.term("x0")["score"])


def test_scores_written_back_change_predictions(model):
    before = model.decision_function(X)
    model.term_scores_["x0"] = model.term_scores_["x0"] + 1.0
    np.testing.assert_allclose(model.decision_function(X), before + 1.0)


def test_scores_do_not_change_in_place(model):
    with pytest.raises(ValueError, match="read-only"):
        model.term_scores_["x0"][0] = 5.0


def test_wrong_scores_are_refused(model):
    scores = model.term_scores_
    with pytest.raises(ValueError, match=r"shape \(3,\).* of shape \(4, 1\)"):
        scores["x0"] = [1.0, 2.0, 3.0]
    with pytest.raises(ValueError, match="finite"):
        scores["x0"] = np.full((4, 1), np.nan)
    with pytest.raises(KeyError, match="no term of 'x7'"):
        scores["x7"]
    assert "x7" not in scores and scores.get("x7") is None
    with pytest.raises(TypeError, match="set it to zeros"):
        del scores["x0"]


def test_scores_of_a_model_that_is_not_fitted():
    with pytest.raises(AttributeError):
        snb.AdditiveClassifier().term_scores_["x0"]
