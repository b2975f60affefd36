"""What is judged where nobody says what: of dense rows covariances, of sparse ones tf-idf."""

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_iris

import streamnb as snb
from streamnb.rows.opening import opened
from streamnb.searching.blind import is_sparse, usual_for, usual_transforms
from streamnb.searching.encodings import Encoded


def of(X):
    return usual_for(Encoded(opened(X, labelled=False), (X, None, None)))


def test_rows_of_each_kind_have_candidates_that_suit_them():
    assert [len(part) for part in of(np.ones((4, 3)))] == [4, 1] == [1 + len(of(np.ones((4, 400)))[0]), 1]
    families, models = of(sp.csr_array(np.eye(6)))
    assert families == ["multinomial", "bernoulli"] and [model.idf for model in models] == [True, True, False]
    assert usual_transforms(Encoded(opened(np.ones((4, 3)), labelled=False), (None, None, None))) == ["quantile_normal"]
    assert not usual_transforms(Encoded(snb.text(["ash birch"], n_features=16), (None, None, None)))
    assert not is_sparse(opened(lambda: iter([np.ones((4, 3))]), labelled=False))
    assert is_sparse(snb.text(["ash birch"], n_features=2**18))


def test_a_blind_search_finds_what_suits_flowers():
    X, y = load_iris(return_X_y=True)
    found = snb.search(X, y, folds=3, show=False)
    assert found.candidates[-1].name.startswith("SoftmaxRegressionCV(l2=") and len(found.candidates) == 11
    assert found.scorings == ["accuracy_and_roc_auc", "accuracy", "roc_auc"]
    assert found.ranked[0].mean("accuracy") > 0.95 and found.best_.score(X, y) > 0.97
