"""Quadratic scores by their definition, and what they have not."""

import numpy as np
import pytest
from scipy.stats import norm

from streamnb.models.quadratic import QuadraticModel
from streamnb.problem.schemes import Joint, TwoClasses


def test_scores_are_log_densities():
    means, variance = np.array([[0.0, 1.0], [2.0, -1.0]]), np.array([[1.0, 4.0], [0.0, 0.5]])
    x, classes = np.array([[0.5, 0.0], [0.0, 3.0]]), np.array([0, 1])
    made = {"means": means, "variance": variance, "log_priors": np.log([0.25, 0.75]), "largest": 1e14}
    model = QuadraticModel.of(**made, classes_=classes, scheme=Joint())
    spread = np.sqrt(np.where(variance > 0, variance, 0.1))  # 1e-15 of the largest, where a feature does not vary
    expected = norm.logpdf(x[:, None], means, spread).sum(axis=2) + np.log([0.25, 0.75])
    np.testing.assert_allclose(model.decision_function(x), expected, rtol=1e-12)
    two = QuadraticModel.of(**made, classes_=classes, scheme=TwoClasses())
    np.testing.assert_allclose(two.decision_function(x), expected[:, 1] - expected[:, 0], rtol=1e-12)
    np.testing.assert_allclose(two.shifted(0.5).decision_function(x), two.decision_function(x) + 0.5)
    with pytest.raises(ValueError, match=r"sparsify\(\) is of linear scores"):
        model.sparsify()
