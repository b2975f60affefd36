import numpy as np
import pytest
from scipy.special import logit

import streamnb as snb

RNG = np.random.default_rng(0)
X = RNG.poisson(2.0, (300, 5)).astype(float)
NAMES = np.array(["ash", "birch", "cedar"])


def labels(n_classes):
    scores = X @ RNG.normal(size=(5, n_classes)) + 3.0 * RNG.gumbel(size=(300, n_classes))
    return NAMES[(scores - scores.mean(axis=0)).argmax(axis=1)]


MODELS = [
    lambda: snb.LinearNB("poisson"),
    lambda: snb.LinearNB("poisson", scheme="ovr"),
    lambda: snb.SoftmaxRegression(),
    lambda: snb.MarginClassifier(),
    lambda: snb.StackedNB(["poisson", "gaussian"]),
]


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("make", MODELS)
def test_models_decide_by_the_threshold_that_was_found(make, n_classes, tmp_path):
    y = labels(n_classes)
    model = make().fit(X, y)
    found = model.evaluate(X, y).threshold("birch", recall=0.8)
    scores, plain = model.decision_function(X), model.predict(X)
    decided = model.set_threshold(found).predict(X)
    probabilities = hasattr(model, "predict_proba")
    score = scores if n_classes == 2 else logit(model.predict_proba(X)[:, 1]) if probabilities else scores[:, 1]
    np.testing.assert_array_equal(decided == "birch", score >= found.value)
    np.testing.assert_array_equal(model.decision_function(X), scores)
    if n_classes == 3:
        others = np.where([True, False, True], scores, -np.inf).argmax(axis=1)
        np.testing.assert_array_equal(decided[score < found.value], NAMES[others][score < found.value])
    again = model.evaluate(X, y)
    assert again.recall(average=None)[1] == pytest.approx(found.recall) and found.recall >= 0.8
    assert again.precision(average=None)[1] == pytest.approx(found.precision)
    model.save(tmp_path / "m.snb")
    again = snb.load(tmp_path / "m.snb")
    np.testing.assert_array_equal(again.predict(X), decided)
    assert repr(again).endswith(f"), which predicts 'birch' from a score of {found.value:.6g} on")
    np.testing.assert_array_equal(model.set_threshold(None).predict(X), plain)


def test_class_0_of_two_and_the_linear_model():
    y = labels(2)
    linear = snb.solve(snb.scan(X, y), "poisson")[0].with_threshold(0.5, "ash")
    np.testing.assert_array_equal(linear.predict(X) == "ash", -linear.decision_function(X) >= 0.5)
    assert not (linear.with_threshold(np.inf, "ash").predict(X) == "ash").any()  # the cheapest may be never
    np.testing.assert_array_equal(linear.with_threshold(None).predict(X) == "ash", linear.decision_function(X) <= 0.0)


def test_the_next_change_of_the_model_undoes_it():
    y = labels(2)
    model = snb.LinearNB("poisson").fit(X, y)
    plain = model.predict(X)
    np.testing.assert_array_equal(model.set_threshold(1.0).refit().predict(X), plain)
    assert str(model) == repr(model)


def test_wrong_arguments(tmp_path):
    y = labels(3)
    model = snb.LinearNB("poisson").fit(X, y)
    for given, message in (((1.0,), "class_ is missing"), ((1.0, "elm"), "class_='elm' is not a class")):
        with pytest.raises(ValueError, match=message):
            model.set_threshold(*given)
    for guess, cure in (("probability", r"log\(p / \(1"), ("positive", "class_="), ("recall", r"threshold\(label")):
        with pytest.raises(TypeError, match=rf"LinearNB.set_threshold\(\) got an .* argument '{guess}': use .*{cure}"):
            model.set_threshold(**{guess: 0.9})
    for wrong in (np.nan, "high"):
        with pytest.raises((ValueError, TypeError), match="threshold="):
            model.set_threshold(wrong, "ash")
    with pytest.warns(snb.StreamnbWarning, match="threshold=0.01 is taken as log-odds; for a probability"):
        model.set_threshold(0.01, "ash")
    with pytest.raises(TypeError, match="threshold is of type ndarray; it should be a number"):
        model.set_threshold(X, "ash")
    with pytest.raises(ValueError, match=r"refit\(loss=None"):
        snb.LinearNB("poisson", loss=1 - np.eye(3)).fit(X, y).set_threshold(1.0, "ash")
    with pytest.raises(ValueError, match="one label a row"):
        snb.LinearNB("poisson").fit(X, y[:, None] == NAMES).set_threshold(1.0, 0)
    with pytest.raises(ValueError, match=r"set_threshold\(None\)"):
        model.set_threshold(1.0, "ash").export(tmp_path / "m.json")
