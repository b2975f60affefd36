"""Margins as columns of new rows: the mean of the models of all folds."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.estimators.stacked_nb import MarginColumns
from streamnb.rows.boundary import as_chunk

rng = np.random.default_rng(0)
Y = np.arange(60) % 3
X = rng.poisson(1.0 + (Y[:, None] == np.arange(5) % 3), (60, 5)).astype(float)
FAMILIES = [snb.LinearNB("poisson", idf=True), snb.LinearNB("gaussian"), snb.LinearNB(snb.Gaussian(covariance="own"))]
NUMBER = snb.fold_numbers(60, 3)


def model_of(family, rows):
    return family.fit(X[rows], Y[rows])._model


OF_FOLDS = [[model_of(family, fold != NUMBER) for family in FAMILIES] for fold in range(3)]


def test_new_rows_have_the_mean_of_all_models():
    step = MarginColumns.of(OF_FOLDS)
    assert [len(models) for models in step.members] == [1, 1, 3]  # linear ones are one
    assert (step.n_features, step.n_columns) == (5, 9)
    expected = np.mean([np.hstack([m.margins(*as_chunk(X)) for m in models]) for models in OF_FOLDS], axis=0)
    np.testing.assert_allclose(step.applied(as_chunk(X)[0]), expected)
    with pytest.raises(ValueError, match="features"):
        step.applied(as_chunk(X[:, :4])[0])
