"""Votes of pairs of classes, cast some pairs at a time."""

import numpy as np

from streamnb.problem.voting import Ballot


def test_votes_and_what_decides_between_equal_ones():
    earlier, later = np.array([0, 0, 1]), np.array([1, 2, 2])
    margins = np.array([[1.0, -1.0, 3.0], [-2.0, -1.0, 5.0]])  # round a circle; the first class wins both
    ballot = Ballot(2, 3, earlier, later)
    for pairs in (slice(0, 2), slice(2, 3)):
        ballot.cast(margins[:, pairs], pairs)
    scores = ballot.scores()
    assert np.array_equal(np.round(scores), [[1, 1, 1], [2, 0, 1]])
    bounded = margins / (1.0 + np.abs(margins))
    confidence = np.array(
        [-bounded[0, 0] - bounded[0, 1], bounded[0, 0] - bounded[0, 2], bounded[0, 1] + bounded[0, 2]]
    )
    np.testing.assert_allclose(scores[0] - 1.0, confidence / (3.0 * (np.abs(confidence) + 1.0)), rtol=1e-15)
