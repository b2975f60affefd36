"""Estimators on given folds: what they need, and what they lack."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.svm import LinearSVC

import streamnb as snb
from streamnb.evaluation.scorers import as_scorer
from streamnb.searching.of_estimators import fitted_other, in_memory, judged_other, named_models

rng = np.random.default_rng(1)
Y = np.arange(60) % 2
X = rng.normal(size=(60, 3)) + Y[:, None]
FOLDS = np.arange(60) // 2 % 3


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix, pd.DataFrame, lambda X: X.tolist()])
def test_rows_of_any_form_in_memory_give_the_same_scores(form):
    given = *in_memory(form(X), Y), np.arange(60) % 3
    judged = judged_other("it", LogisticRegression(), given, FOLDS, as_scorer(["accuracy", "neg_log_loss"]))
    for fold in range(3):
        held = fold == FOLDS
        rest = ~held
        model = LogisticRegression().fit(X[rest], Y[rest], given[2][rest])
        own = model.score(X[held], Y[held], given[2][held])
        np.testing.assert_allclose(judged.scores["accuracy"][fold], own, rtol=1e-12)
    assert judged.n_features == judged.reads == -1 and judged.mean("neg_log_loss") < 0.0


def test_what_an_estimator_lacks_is_said():
    given = X, Y, None
    assert judged_other("it", LinearSVC(), given, FOLDS, as_scorer("roc_auc")).mean("roc_auc") > 0.8
    with pytest.raises(ValueError, match="needs probabilities, and it has none"):
        judged_other("it", LinearSVC(), given, FOLDS, as_scorer("neg_log_loss"))
    with pytest.raises(ValueError, match="its fit takes none"):
        fitted_other(KNeighborsClassifier(), (X, Y, np.ones(60)))
    with pytest.raises(ValueError, match="a class has no rows outside fold 0"):
        judged_other("it", LinearSVC(), given, 1 - Y, as_scorer("accuracy"))


def test_models_are_named_by_what_they_are():
    names = named_models([snb.SoftmaxRegressionCV(max_passes=3), snb.MarginClassifierCV()])
    assert list(names) == ["SoftmaxRegressionCV(max_passes=3)", "MarginClassifierCV()"]
    with pytest.raises(ValueError, match="twice"):
        named_models([snb.MarginClassifierCV(), snb.MarginClassifierCV()])
