"""A ranking as a value: what it says of itself, and files that hold none."""

import numpy as np
import pytest

from streamnb.selection.feature_ranking import FeatureRanking

SCORES = np.array([0.1, 0.4, 0.2])


def ranking(**changed):
    parts = {"by": "sfs", "scores": SCORES, "ranking": np.array([2, 1, 0]), "chosen": np.array([2])}
    return FeatureRanking(**{**parts, "curve": np.array([[0.5, 0.7]]), **changed})


def test_it_says_what_is_kept():
    assert repr(ranking()) == "<FeatureRanking by 'sfs': 3 features, 1 kept, best 2, 1, 0>"
    again = FeatureRanking._from_state(ranking()._to_state())
    assert again.chosen.tolist() == [2] and again.curve.tolist() == [[0.5, 0.7]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"chosen": np.array([1])},
        {"chosen": np.arange(4)},
        {"chosen": np.array([2.0])},
        {"curve": np.zeros(2)},
        {"curve": np.zeros((0, 2))},
    ],
    ids=str,
)
def test_parts_that_do_not_go_together_are_refused(wrong):
    with pytest.raises(ValueError, match=r"chosen|curve"):
        FeatureRanking._from_state(ranking(**wrong)._to_state())
