"""What labels of an indicator are set against."""

import copy
import pickle

import numpy as np
import pytest
from sklearn.base import clone

import streamnb as snb
from streamnb.problem.sides import check_overlap, reference_number

Y = np.array([[1, 1, 0], [0, 1, 0], [0, 0, 0], [1, 0, 1]])
STATS = snb.scan(np.arange(8.0).reshape(4, 2), Y)


def test_unlabelled_stays_itself(tmp_path):
    for again in (copy.deepcopy(snb.UNLABELLED), pickle.loads(pickle.dumps(snb.UNLABELLED))):
        assert again == snb.UNLABELLED and repr(again) == "snb.UNLABELLED"
    model = clone(snb.LinearNB("poisson", scheme="reference", reference=snb.UNLABELLED))
    model.fit(np.arange(8.0).reshape(4, 2), Y).save(tmp_path / "model.snb")
    assert snb.load(tmp_path / "model.snb").reference == snb.UNLABELLED


def test_a_file_with_a_reference_that_did_nothing_is_read():
    model = snb.LinearNB("poisson").fit(np.arange(8.0).reshape(4, 2), Y)
    state = model._to_state()
    state["params"]["reference"] = 1
    with pytest.warns(snb.StreamnbWarning, match="reference=1 under scheme='joint', where it did nothing"):
        again = snb.LinearNB._from_state(state)
    assert again.reference is None
    np.testing.assert_array_equal(again.refit(smoothing=0.5).coef_, model.refit(smoothing=0.5).coef_)


def test_overlaps_are_refused_with_their_numbers():
    with pytest.raises(ValueError, match=r"reference=0 overlaps .* 1 bear label 1 too, 1 bear label 2 too; take"):
        check_overlap(STATS, 0, "refuse")
    check_overlap(STATS, 0, "keep")


@pytest.mark.parametrize("reference", [1, snb.UNLABELLED])
def test_a_reference_is_refused_where_nothing_is_set_against_it(reference):
    X, told = np.arange(8.0).reshape(4, 2), "reference=.* needs scheme='reference', not scheme="
    for call in (
        lambda: snb.LinearNB("poisson", reference=reference).fit(X, Y),
        lambda: snb.LinearNBCV("poisson", reference=reference, folds=2).fit(X, Y),
        lambda: snb.solve(STATS, "poisson", reference=reference),
        lambda: snb.compare(X, Y, families="poisson", reference=reference, folds=2),
    ):
        with pytest.raises(ValueError, match=told):
            call()


def test_rows_that_bear_the_reference_and_another_label_are_not_added():
    X, y = np.arange(8.0).reshape(4, 2), np.array([[1, 0], [0, 1], [1, 0], [0, 1]])
    model = snb.LinearNB("poisson", scheme="reference", reference=1).partial_fit(X, y)
    with pytest.raises(ValueError, match=r"reference=1 overlaps .* 1 bear label 0 too"):
        model.partial_fit(X[:1], [[1, 1]])
    assert model.stats_.n_rows == 4 and model.predict(X).shape == (4, 2)
    assert model.set_params(overlap="keep").partial_fit(X[:1], [[1, 1]]).stats_.n_rows == 5


@pytest.mark.parametrize("reference", [[1], (1,), True, np.array([1]), {1: 1}])
def test_a_reference_is_a_label(reference):
    for multilabel in (True, False):
        with pytest.raises(ValueError, match=r"reference=.* is not a (label|class); it should be one of \[0, 1, 2\]"):
            reference_number(np.arange(3), reference, multilabel)
    assert reference_number(np.array([False, True]), True, False) == reference_number(np.arange(3), 1.0, True) == 1
