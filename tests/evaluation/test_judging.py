"""A fitted model on rows: what is said of it, of which rows, and what merges."""

import sys

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn import metrics as sk

import streamnb as snb
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.judging import Sheet, judged

rng = np.random.default_rng(0)
y = rng.choice(["ash", "beech", "oak"], 90)
X = rng.poisson(0.5 + 2.0 * (np.unique(y, return_inverse=True)[1][:, None] == np.arange(5) % 3)).astype(float)
weight = rng.choice([0.5, 1.0, 2.0], 90)
stats = snb.scan(X, y)
model = snb.solve(stats, "poisson")[0]


@pytest.mark.parametrize("rows", [X, sp.csr_array(X)], ids=["dense", "sparse"])
def test_decisions_and_ranking_are_those_of_the_model(rows):
    evaluation = judged(model, rows, y, weight, ["confusion", "ranking"])
    found = model.predict(X)
    assert evaluation.n_rows == 90 and evaluation.classes.tolist() == ["ash", "beech", "oak"]
    assert evaluation.accuracy() == pytest.approx(sk.accuracy_score(y, found, sample_weight=weight))
    np.testing.assert_allclose(evaluation.confusion_matrix(), sk.confusion_matrix(y, found, sample_weight=weight))
    odds = model.predict_log_proba(X) - np.log1p(-model.predict_proba(X))
    areas = [sk.roc_auc_score(y == label, odds[:, k], sample_weight=weight) for k, label in enumerate(model.classes_)]
    np.testing.assert_allclose(evaluation.roc_auc(None), areas)


def test_only_what_is_needed_is_said():
    evaluation = judged(model, X, y, None, ["ranking"])
    assert evaluation.needs == {"ranking"}
    with pytest.raises(ValueError, match="needs 'hits'"):
        evaluation.accuracy()


def test_a_label_that_the_model_does_not_know_is_one_it_gets_wrong():
    strange = np.where(np.arange(90) < 30, "palm", y)
    evaluation = judged(model, X, strange, None, ["confusion"])
    assert evaluation.accuracy() == pytest.approx(np.mean(model.predict(X) == strange))
    assert evaluation.confusion_matrix().sum() == 60


def test_labels_of_another_kind_are_a_mistake():
    with pytest.raises(ValueError, match="give all labels one kind"):
        judged(model, X, np.arange(90) % 3, None, ["confusion"])
    with pytest.raises(ValueError, match="y is an indicator of labels; the model was fitted with one label a row"):
        judged(model, X, np.eye(3, dtype=int)[np.arange(90) % 3], None, ["confusion"])


def test_models_of_sets_of_labels():
    Y = (X[:, :3] + rng.poisson(0.3, (90, 3)) > 1.0).astype(int)
    of_sets = snb.solve(snb.scan(X, Y), "poisson")[0]
    evaluation = judged(of_sets, X, Y, weight, ["confusion", "ranking"])
    assert evaluation.hamming_loss() == pytest.approx(sk.hamming_loss(Y, of_sets.predict(X), sample_weight=weight))
    with pytest.raises(ValueError, match="y is one label a row; the model was fitted with an indicator of labels"):
        judged(of_sets, X, y, None, ["confusion"])


def test_rows_that_are_rejected_have_no_place_among_decisions():
    rejecting = snb.LinearNB("poisson", threshold=0.99999, reject_label="none").fit(X, y)
    rejecting = rejecting._model
    assert (rejecting.predict(X) == "none").any()
    with pytest.raises(ValueError, match=r"rejects rows.*refit\(threshold=None\)"):
        judged(rejecting, X, y, None, ["confusion"])
    assert judged(rejecting, X, y, None, ["ranking"]).roc_auc() > 0.5


def sheet(label):
    evaluation = Evaluation(2, "hits")
    evaluation.add([label], predicted=[1])
    return Sheet([[evaluation, evaluation]], 1000, np.array([1, 2]))


def test_sheets_merge_model_by_model():
    one, two = sheet(0), sheet(1)
    both = one + two
    assert [e.accuracy() for e in both.evaluations[0]] == [0.5, 0.5] and both.rows.tolist() == [2, 4]
    assert one.evaluations[0][0].n_rows == 1 and both.finish() is both
    again = Sheet(**both.arrays()) + one
    assert [e.n_rows for e in again.evaluations[0]] == [3, 3] and again.nbytes == 1000
    assert sys.getsizeof(both) >= 1000  # what Dask asks before it moves them
    with pytest.raises(ValueError, match="zip"):
        one + Sheet([[]], 0)
