"""Training: by hand, where it begins, what it does when nothing can be gained, and what it would take."""

import re
import weakref

import numpy as np
import pytest

import streamnb as snb
from streamnb.solving import fitting
from streamnb.solving.descent import Penalties
from streamnb.solving.fitting import DescentMethod, DescentTrainer
from streamnb.solving.method import Trained
from streamnb.solving.objectives import Logistic, Softmax, SquaredHinge, softmax_of
from tests.support import training

BY_HAND = np.repeat([[0.0], [1.0]], [8, 4], axis=0), np.repeat([0, 1, 0, 1], [6, 2, 1, 3])


known = []  # those that have trained


def trained(X, y, objective, l2=0.0, l1=0.0, tol=1e-9, max_passes=60):
    trainer = DescentTrainer(training.scanned(X, y, objective), Penalties(l2, l1), tol, max_passes)
    known.append(weakref.ref(trainer))
    return training.trained(trainer, X, y)


def test_one_binary_feature_by_hand():
    found = trained(*BY_HAND, Logistic())
    np.testing.assert_allclose(found.weights[:, 0], [2.19722, -1.09861], atol=1e-5)
    assert found.converged and len(found.history["seconds"]) > 1


def test_one_line_tells_which_read_it_is_and_how_good_the_model_is(capsys):
    model = snb.SoftmaxRegression().fit(*BY_HAND, progress=True)
    shown = capsys.readouterr().err
    assert "\rread 1" in shown and "\rread 2, objective " in shown
    at_the_end = re.search(r"\rread \d+, objective (\S+)\n$", shown)
    assert float(at_the_end[1]) == pytest.approx(model.history_["objective"][-1], rel=1e-3)
    assert len(re.findall(r"read \d+, objective \S+\n", shown)) == 1


def test_many_rows_are_not_read_for_little_gain(monkeypatch):
    kind = snb.SoftmaxRegression
    rng = np.random.default_rng(0)
    X = rng.integers(0, 2, (10_000, 12)) * np.geomspace(1.0, 30.0, 12)
    X[:, 1:] += X[:, :-1]  # columns that go together take many reads
    y = (X @ rng.normal(size=(12, 3)) / 30.0 + rng.gumbel(size=(10_000, 3))).argmax(axis=1)
    fewer, fewest = kind().fit(X, y), kind().fit(X[:-1], y[:-1])
    monkeypatch.setattr(fitting, "MANY", np.inf)
    exact, same = kind(tol=1e-6, max_passes=400).fit(X, y), kind().fit(X[:-1], y[:-1])
    assert fewer.converged_ and fewer.n_passes_ < same.n_passes_ == fewest.n_passes_
    np.testing.assert_array_equal(fewest.coef_, same.coef_)  # of fewer rows, reads cost nothing
    objective = fewer.history_["objective"][-1] / 10_000
    assert objective - exact.history_["objective"][-1] / 10_000 < 1e-4


def test_history_has_a_row_for_each_read_and_falls():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 5)), rng.integers(0, 3, 80)
    found = trained(X, y, Softmax(), l2=0.5, tol=1e-6)
    objective = found.history["objective"]
    np.testing.assert_allclose(found.weights[:-1].sum(axis=1), 0.0, atol=1e-12)  # as at the optimum under l2
    assert (
        len(objective) < 20
        and objective[-1] <= objective.min() + 1e-9
        and objective[2] < objective[0]
        and found.converged
    )
    for max_passes in (1, 2, 3):
        few = trained(X, y, Softmax(), l2=0.5, tol=1e-6, max_passes=max_passes)
        assert not few.converged
        np.testing.assert_array_equal(few.history["objective"], objective[:max_passes])


def test_where_no_feature_tells_anything_nothing_is_read():
    found = trained(np.ones((6, 2)), [0, 1, 0, 1, 1, 1], Logistic(), l2=1.0)
    assert found.converged and not len(found.history["objective"])
    np.testing.assert_allclose(found.weights[:, 0], [0.0, 0.0, np.log(2.0)])


@pytest.mark.parametrize("kind", [snb.SoftmaxRegression, snb.MarginClassifier, snb.LeastSquaresClassifier])
def test_columns_far_from_0_are_learned_as_those_about_it(kind):
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(60, 3)).round(3), rng.integers(0, 3, 60)
    X[:, 0] += y
    X[:, 2] = 0.1
    far = X + np.array([1e8, -1e6, 1e9])
    near, found = (kind(l2=0.5).fit(rows, y) for rows in (X, far))
    assert found.converged_ and found.n_passes_ <= near.n_passes_ + 2
    np.testing.assert_allclose(found.coef_, near.coef_, atol=1e-4)
    np.testing.assert_array_equal(found.coef_[:, 2], 0.0)  # a constant, wherever it is
    np.testing.assert_array_equal(found.predict(far), near.predict(X))


def test_l1_leaves_nothing_from_the_largest_score_statistic_on():
    X, y = BY_HAND
    sums = training.scanned(X, y, Logistic()).sums
    largest = float(np.abs(sums.own - sums.share * sums.whole[:, None]).max())
    assert not trained(X, y, Logistic(), l1=largest * (1 + 1e-12)).weights[:-1].any()
    assert trained(X, y, Logistic(), l1=0.9 * largest).weights[:-1].all()


def test_separable_rows_have_no_best_weights_unless_they_are_penalised():
    X, y = np.arange(8.0)[:, None], np.arange(8) // 4
    with pytest.raises(ValueError, match=r"separable, all of them on their right side: .*l2 above 0"):
        trained(X, y, Logistic(), tol=1e-3)
    word = np.column_stack([[1.0, 0, 2, 0, 1, 0, 2, 1], [0.0, 0, 0, 0, 0, 0, 1, 0]])  # the second of one class alone
    with pytest.raises(ValueError, match="separable in part: feature 1 is 0 in all rows of one side"):
        trained(word, [0, 1, 1, 0, 1, 0, 1, 0], Logistic(), tol=1e-3)
    assert trained(word, [0, 1, 1, 0, 1, 0, 1, 0], Logistic(), l1=1e-3, tol=1e-3).converged
    with pytest.raises(ValueError, match="separable, or features nearly the same"):
        rng = np.random.default_rng(5)
        z, e = rng.normal(size=(2, 40))
        trained(np.column_stack([z, z + 1e-6 * e]), e + rng.normal(size=40) > 0.0, Logistic())
    assert trained(X, y, Logistic(), l2=1e-3, tol=1e-3).converged
    assert trained(X, y, SquaredHinge(), tol=1e-6).converged


def test_digits_that_are_not_enough_are_said():
    trained = Trained(np.zeros((2, 1)), False, 0.125, {"seconds": np.zeros(3)})
    said = DescentMethod(softmax_of).unconverged(trained, 1e-4, 4, 4)
    assert said.startswith("after 3 reads the objective falls no more") and said.endswith("tol=0.0001; raise tol")
