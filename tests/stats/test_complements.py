"""What is left without a class, or below an upper bound, keeps its digits, however small it is."""

from fractions import Fraction

import numpy as np
import pytest

import streamnb as snb
from streamnb.stats.complements import Slack, weight_outside
from streamnb.stats.tables import SparseTable


@pytest.mark.parametrize("heavy", [1.0, 1e6, 1e12, 1e16])
def test_the_weight_outside_a_class(heavy):
    weight = np.array([heavy, 0.1, 0.2, 0.3])
    stats = snb.scan(np.ones((4, 1)), [0, 1, 1, 2], sample_weight=weight)
    exact = [sum(Fraction(w) for w, k in zip(weight, [0, 1, 1, 2]) if k != one) for one in range(3)]
    np.testing.assert_allclose(weight_outside(stats), [float(e) for e in exact], rtol=1e-15)


@pytest.mark.parametrize("labels", [[0, 0, 1, 1, 2], np.array([[1, 0], [1, 1], [0, 1], [0, 1], [0, 0]])])
def test_slack_is_that_of_fractions(labels):
    x, weight = np.array([[3.0, 1.0], [3.0, 3.0], [3.0, 2.0], [0.0, 3.0], [3.0, 3.0]]), [1e16, 0.1, 0.7, 1e-9, 1e12]
    stats = snb.scan(x, labels, sample_weight=weight)
    labels = np.asarray(labels)
    member = labels == 1 if labels.ndim == 2 else labels[:, None] == np.arange(3)

    def exactly(rows):
        return [float(sum((Fraction(weight[i]) * Fraction(3.0 - x[i, j]) for i in rows), Fraction())) for j in (0, 1)]

    for table in (stats, stats.with_tables(SparseTable.of)):
        slack, K = Slack(table, "sum", 3.0, np.array([0, 1])), member.shape[1]
        assert slack.sums().tolist() == [exactly(np.flatnonzero(member[:, k])) for k in range(K)]
        np.testing.assert_allclose(slack.total, exactly(range(5)), rtol=1e-15)
        classes = np.repeat(np.arange(K), 2)
        outside = slack.outside(np.tile([0, 1], K), classes).reshape(K, 2)
        np.testing.assert_allclose(outside, [exactly(np.flatnonzero(~member[:, k])) for k in range(K)], rtol=1e-15)
