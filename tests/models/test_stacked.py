"""Margins as columns: of rows that took part by the models of other folds, of new ones by the mean of all."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.models.stacked import MarginColumns, MarginsOutOfFold
from streamnb.rows.boundary import as_chunk
from streamnb.rows.splits import Folding

rng = np.random.default_rng(0)
Y = np.arange(60) % 3
X = rng.poisson(1.0 + (Y[:, None] == np.arange(5) % 3), (60, 5)).astype(float)
FAMILIES = [snb.LinearNB("poisson", idf=True), snb.LinearNB("gaussian"), snb.LinearNB(snb.Gaussian(covariance="own"))]
NUMBER = snb.fold_numbers(60, 3)


def model_of(family, rows):
    return family.fit(X[rows], Y[rows])._model


OF_FOLDS = [[model_of(family, fold != NUMBER) for family in FAMILIES] for fold in range(3)]


@pytest.mark.parametrize("kind", [np.asarray, sp.csr_array])
def test_rows_have_margins_of_models_without_them_whatever_the_block(kind):
    step, expected = MarginsOutOfFold(OF_FOLDS, Folding(3)), np.empty((60, 9))
    for fold in range(3):
        own = fold == NUMBER
        margins = [model.margins(*as_chunk(X[own])) for model in OF_FOLDS[fold]]
        expected[own] = np.hstack(margins)
    for first, last in ((0, 60), (0, 7), (7, 60)):
        np.testing.assert_allclose(step.applied(as_chunk(kind(X[first:last]), first)[0]), expected[first:last])
    given = MarginsOutOfFold(OF_FOLDS, Folding(3, by="given"), NUMBER)
    np.testing.assert_array_equal(given.applied(as_chunk(X)[0]), expected)


def test_new_rows_have_the_mean_of_all_models():
    step = MarginColumns.of(OF_FOLDS)
    assert [len(models) for models in step.members] == [1, 1, 3]  # linear ones are one
    assert (step.n_features, step.n_columns) == (5, 9)
    expected = np.mean([np.hstack([m.margins(*as_chunk(X)) for m in models]) for models in OF_FOLDS], axis=0)
    np.testing.assert_allclose(step.applied(as_chunk(X)[0]), expected)
    with pytest.raises(ValueError, match="features"):
        step.applied(as_chunk(X[:, :4])[0])


@pytest.mark.filterwarnings("ignore:classes without any weight")
def test_a_class_that_a_fold_lacks_leaves_its_column_empty_and_the_mean_of_the_others():
    rest = model_of(FAMILIES[0], NUMBER != 0)
    lacking = snb.LinearNB("poisson", idf=True).fit(X[Y < 2], Y[Y < 2], classes=[0, 1, 2])._model
    assert np.isneginf(lacking.intercept_[2])
    assert (MarginsOutOfFold([[lacking]] * 2, Folding(2)).applied(as_chunk(X)[0])[:, 2] == 0.0).all()
    found = MarginColumns.of([[rest], [lacking]]).members[0][0]
    assert found.intercept_[2] == rest.intercept_[2] and np.isfinite(found.weights).all()
