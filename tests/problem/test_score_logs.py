"""What is read off scores of classes."""

import numpy as np
import pytest
from scipy.special import log_softmax as reference
from scipy.special import logsumexp

from streamnb.problem.schemes import log_odds, log_ratio, log_softmax

NORMAL = np.random.default_rng(0).normal(size=(50, 4))
NORMAL[::5, 1] = -np.inf


@pytest.mark.parametrize("scale", [1.0, 30.0, 3000.0])
def test_probabilities_and_odds(scale):
    """Odds are s - ln sum exp of the others', without cancellation, also where exp would underflow."""
    scores = NORMAL * scale
    np.testing.assert_allclose(log_softmax(scores), reference(scores, axis=1), rtol=1e-13, atol=1e-13)
    others = np.stack([logsumexp(np.delete(scores, k, axis=1), axis=1) for k in range(4)], axis=1)
    np.testing.assert_allclose(log_odds(scores), scores - others, rtol=1e-13, atol=1e-14 * scale)


def test_a_side_without_rows():
    assert log_ratio(np.array([-np.inf, -1.0]), np.array([-np.inf, -3.0])).tolist() == [-np.inf, pytest.approx(2.0)]
