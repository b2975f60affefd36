"""Stacks in a search: the scores are those of stacks that never saw the fold, fitted one by one."""

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import accuracy_score, roc_auc_score

import streamnb as snb

rng = np.random.default_rng(0)
Y = rng.integers(0, 2, 120)
X = rng.poisson(1.0 + Y[:, None] * np.arange(4) % 3, (120, 4)).astype(float)
STACK = snb.StackedNB(["poisson", "gaussian"], "gaussian")


def test_each_fold_is_judged_by_a_stack_of_the_others():
    found = snb.search(X, Y, families=[], models=[STACK], folds=3, scoring=["accuracy", "roc_auc"], show=False)
    (judged,), number = found.candidates, snb.fold_numbers(120, 3)
    assert judged.reads == 3 * 3  # two of each stack, and one that judges it
    for fold in range(3):
        rest = np.flatnonzero(number != fold)
        alone = snb.StackedNB(STACK.families, "gaussian", folds=np.searchsorted(np.unique(number[rest]), number[rest]))
        alone.fit(X[rest], Y[rest])
        own = number == fold
        assert judged.scores["accuracy"][fold] == pytest.approx(accuracy_score(Y[own], alone.predict(X[own])))
        auc = roc_auc_score(Y[own], alone.decision_function(X[own]))
        assert judged.scores["roc_auc"][fold] == pytest.approx(auc)
    whole = snb.StackedNB(STACK.families, "gaussian", folds=3).fit(X, Y)
    np.testing.assert_array_equal(found.best_.decision_function(X), whole.decision_function(X))


def test_labels_are_searched_by_models_of_all_together_beside_each_by_itself():
    sets = np.c_[Y, X[:, 1] > 1, rng.integers(0, 2, 120)].astype(int)
    frame = pd.DataFrame(sets, columns=["ill", "old", "any"])
    found = snb.search(X, frame, folds=3, scoring="f1_micro", show=False)
    assert found.best_.classes_.tolist() == ["ill", "old", "any"]
    assert snb.StackedNB(["poisson", "gaussian"]).fit(X, frame).classes_.tolist() == ["ill", "old", "any"]
    names = [judged.name for judged in found.candidates]
    assert any(name.startswith("LabelSpaceCV") for name in names)
    assert any(name.startswith("StackedNB") for name in names) and "bernoulli" in names
    assert not found.left_out


def test_a_scoring_that_needs_probabilities_leaves_out_a_stack_without():
    least = snb.StackedNB(["poisson"], snb.LeastSquaresClassifier())
    with pytest.warns(snb.StreamnbWarning, match="left out"):
        found = snb.search(X, Y, families=["poisson"], models=[least], folds=3, scoring="neg_log_loss", show=False)
    assert "its second level has none" in next(iter(found.left_out.values()))


def test_two_folds_are_too_few():
    with pytest.raises(ValueError, match="folds=2 leave no rows beside the fold that judges"):
        snb.search(X, Y, families=[], models=[STACK], folds=2, show=False)
