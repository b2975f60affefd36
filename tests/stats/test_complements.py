"""What is left without a class keeps its digits, however much the class outweighs the others."""

from fractions import Fraction

import numpy as np
import pytest

import streamnb as snb
from streamnb.stats.complements import HEAVY, complements, weight_outside


@pytest.mark.parametrize("heavy", [1.0, 1e6, 1e12, 1e16])
def test_the_weight_outside_a_class(heavy):
    weight = np.array([heavy, 0.1, 0.2, 0.3])
    stats = snb.scan(np.ones((4, 1)), [0, 1, 1, 2], sample_weight=weight)
    exact = [sum(Fraction(w) for w, k in zip(weight, [0, 1, 1, 2]) if k != one) for one in range(3)]
    np.testing.assert_allclose(weight_outside(stats), [float(e) for e in exact], rtol=1e-15)


def test_only_heavy_classes_are_formed_anew():
    asked = []

    def of_heavy(classes):
        asked.extend(classes.tolist())
        return [7.0] * len(classes)

    counts = np.array([1.0, 2.0, 4.0 * HEAVY])
    assert complements(counts.sum(), counts, of_heavy).tolist() == [2.0 + 4.0 * HEAVY, 1.0 + 4.0 * HEAVY, 7.0]
    assert asked == [2]
