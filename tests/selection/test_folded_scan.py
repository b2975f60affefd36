"""The idf of models without a fold is of the rows outside it, as if they were fitted to these alone."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.metrics import log_loss

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


def outside(fold, **options):
    """The log loss of a fold by a model that was fitted to the other rows alone."""
    held = fold == FOLDS
    model = snb.SoftmaxRegression(0.1, max_passes=6, **options).fit(X[~held], Y[~held])
    return -log_loss(Y[held], model.predict_proba(X[held]))


def scores(model):
    return [model.cv_results_[f"split{fold}_test_score"][-1] for fold in range(3)]


@pytest.mark.usefixtures("as_in_folds")
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_scores_are_those_of_models_that_never_saw_the_fold(class_weight):
    options = {**TF_IDF, "class_weight": class_weight}
    model = snb.SoftmaxRegressionCV([0.1], max_passes=6, **options, **LOSS).fit(X, Y)
    np.testing.assert_allclose(scores(model), [outside(fold, **options) for fold in range(3)], rtol=1e-6)


def test_searches_take_it_and_so_do_least_squares_by_products():
    model = snb.SoftmaxRegressionCV([0.1], max_passes=6, **TF_IDF)
    found = snb.search(X, Y, families=[], models=[model], folds=FOLDS, scoring="neg_log_loss", show=False)
    best = found.candidates[0].point["max_passes"]
    alone = snb.SoftmaxRegressionCV([0.1], max_passes=6, **TF_IDF, **LOSS).fit(X, Y)
    expected = [alone.cv_results_[f"split{fold}_test_score"][best - 1] for fold in range(3)]
    np.testing.assert_array_equal(found.candidates[0].scores["neg_log_loss"], expected)
    products = {"solver": "products", **TF_IDF}
    squares = snb.LeastSquaresClassifierCV([1.0], folds=FOLDS, scoring="accuracy", **products).fit(X, Y)
    for fold, score in enumerate(scores(squares)):
        held = fold == FOLDS
        assert score == snb.LeastSquaresClassifier(1.0, **products).fit(X[~held], Y[~held]).score(X[held], Y[held])


def test_calibration_goes_by_models_without_the_fold():
    hinge = snb.MarginClassifier(1.0, max_passes=10, calibration="sigmoid", **TF_IDF)
    y = X[:, 1:4].argmax(axis=1)
    whole, sparse = hinge.fit(X, y).predict_proba(X), hinge.fit(sp.csr_array(X), y).predict_proba(X)
    np.testing.assert_array_equal(whole, sparse)
    leaking = TfidfTransformer().fit_transform(X).toarray()
    told = snb.MarginClassifier(1.0, max_passes=10, calibration="sigmoid").fit(leaking, y)
    assert np.abs(told.predict_proba(leaking) - whole).max() > 1e-6  # though both have the idf of all rows
