"""Curves from scores to probabilities, and margins that have these."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.core.persistence import load, save
from streamnb.models.decision_rule import Curves
from streamnb.problem.schemes import Joint, OneVsRest, Reference, TwoClasses, probabilities

KNOTS = [(np.array([-1.0, 1.0]), np.array([0.2, 0.6])), (np.array([0.0]), np.array([0.5])), (np.r_[2.0], np.r_[0.3])]


def test_probabilities_are_those_of_the_curves():
    found = Curves(KNOTS[:1]).applied(TwoClasses(), np.array([[-9.0], [0.0], [9.0]]))
    np.testing.assert_allclose(probabilities(TwoClasses(), found)[:, 1], [0.2, 0.4, 0.6])
    margins = np.array([[0.0, 3.0, 1.0]])
    np.testing.assert_allclose(
        probabilities(OneVsRest(), Curves(KNOTS).applied(OneVsRest(), margins)), [[0.4 / 1.2, 0.5 / 1.2, 0.3 / 1.2]]
    )
    even, share = np.zeros((1, 3)), np.interp(-np.log(2.0), *KNOTS[0])  # the log-odds of one of three
    expected = np.array([[share, 0.5, 0.3]]) / (share + 0.8)
    np.testing.assert_allclose(probabilities(Joint(), Curves(KNOTS).applied(Joint(), even)), expected)
    to_last = Reference(3, 2)
    np.testing.assert_allclose(probabilities(to_last, Curves(KNOTS).applied(to_last, even[:, :2])), expected)


@pytest.mark.parametrize("knots", [[(np.r_[1.0, 0.0], np.r_[0.1, 0.2])], [(np.r_[0.0], np.r_[1.0])], [([], [])]])
def test_a_file_with_other_curves_is_damaged(knots, tmp_path):
    save(tmp_path / "curves.snb", Curves([tuple(np.asarray(part, float) for part in each) for each in knots]))
    with pytest.raises(snb.DataError, match="rising scores"):
        load(tmp_path / "curves.snb")


def test_there_is_a_curve_for_each_score():
    assert Curves(KNOTS).check(Joint(), 3).knots is KNOTS
    with pytest.raises(ValueError, match="3 curves for 1 scores"):
        Curves(KNOTS).check(TwoClasses(), 2)
