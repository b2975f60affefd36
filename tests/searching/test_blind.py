"""What is judged where nobody says what: of dense rows covariances, of sparse ones tf-idf."""

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_iris

import streamnb as snb
from streamnb.rows.opening import opened
from streamnb.searching.blind import is_sparse, usual_for


def test_rows_of_each_kind_have_candidates_that_suit_them():
    few, many = opened(np.ones((4, 3)), labelled=False), opened(np.ones((4, 400)), labelled=False)
    assert [len(part) for part in usual_for(few)] == [4, 1] and [len(part) for part in usual_for(many)] == [3, 1]
    families, models = usual_for(opened(sp.csr_array(np.eye(6)), labelled=False))
    assert len(families) == 3 and all(model.idf for model in models) and len(models) == 2
    assert not is_sparse(opened(lambda: iter([np.ones((4, 3))]), labelled=False))
    assert is_sparse(snb.text(["ash birch"], n_features=2**18))


def test_a_blind_search_finds_what_suits_flowers():
    X, y = load_iris(return_X_y=True)
    found = snb.search(X, y, folds=3, show=False)
    assert found.candidates[-1].name == "SoftmaxRegressionCV()" and len(found.candidates) == 8
    assert found.ranked[0].mean("accuracy") > 0.96 and found.best_.score(X, y) > 0.97
