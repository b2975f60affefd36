"""The idf of models without a fold is of the rows outside it, as if they were fitted to these alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer

import streamnb as snb

rng = np.random.default_rng(0)
FOLDS = snb.fold_numbers(60, 3)
Y = rng.integers(0, 3, 60)
X = np.ceil(sp.random(60, 30, 0.2, rng=rng, format="csr").toarray() * 3)
X[FOLDS == 0, 0], X[FOLDS != 0, 0] = 3.0, 0.0  # a word that fold 0 has, and no other row
X[:2, 0] = 3.0
pytestmark = pytest.mark.filterwarnings("ignore:max_passes:streamnb.StreamnbWarning")
TF_IDF = {"idf": True, "normalize": "l2"}
LOSS = {"folds": FOLDS, "scoring": "neg_log_loss"}


def test_searches_take_it():
    model = snb.SoftmaxRegressionCV([0.1], max_passes=6, **TF_IDF)
    found = snb.search(X, Y, families=[], models=[model], folds=FOLDS, scoring="neg_log_loss", show=False)
    best = found.candidates[0].point["max_passes"]
    alone = snb.SoftmaxRegressionCV([0.1], max_passes=6, **TF_IDF, **LOSS).fit(X, Y)
    expected = [alone.cv_results_[f"split{fold}_test_score"][best - 1] for fold in range(3)]
    np.testing.assert_array_equal(found.candidates[0].scores["neg_log_loss"], expected)


def test_calibration_goes_by_models_without_the_fold():
    hinge = snb.MarginClassifier(1.0, max_passes=10, calibration="sigmoid", **TF_IDF)
    y = X[:, 1:4].argmax(axis=1)
    whole, sparse = hinge.fit(X, y).predict_proba(X), hinge.fit(sp.csr_array(X), y).predict_proba(X)
    np.testing.assert_array_equal(whole, sparse)
    leaking = TfidfTransformer().fit_transform(X).toarray()
    told = snb.MarginClassifier(1.0, max_passes=10, calibration="sigmoid").fit(leaking, y)
    assert np.abs(told.predict_proba(leaking) - whole).max() > 1e-6  # though both have the idf of all rows
