"""Components of labels among models that are trained and judged in shared reads."""

import numpy as np
import pytest

from streamnb.rows.boundary import as_chunk
from streamnb.solving.label_axes import LabelAxes
from streamnb.training.conjugate import Solved, of_labels
from streamnb.training.reading import FactoredWeights, judged_scores, n_used, scores_of

rng = np.random.default_rng(0)
AXES = LabelAxes(rng.normal(size=(2, 5)), np.ones(2), rng.normal(size=5))
WEIGHTS = np.insert(rng.normal(size=(4, 2)), 1, 0.0, axis=0)  # of 4 features, one of which nobody has


def test_a_product_of_few_columns_scores_as_all_weights_do():
    judged = of_labels(WEIGHTS, AXES)
    assert isinstance(judged, FactoredWeights)
    whole, (chunk, _) = judged.expanded(), as_chunk(rng.normal(size=(7, 4)))
    np.testing.assert_allclose(judged_scores(chunk, judged), scores_of(chunk, whole))
    np.testing.assert_array_equal(judged_scores(chunk, whole), scores_of(chunk, whole))
    np.testing.assert_array_equal(n_used(judged), n_used(whole))
    few = LabelAxes(AXES.axes[:, :2], AXES.scatter, AXES.base[:2])
    assert isinstance(of_labels(WEIGHTS, few), np.ndarray)  # no smaller as a product


def test_what_is_solved_has_one_thing_to_judge_and_nothing_to_read():
    judged = of_labels(2.0 * WEIGHTS, AXES)
    reads = Solved(None, FactoredWeights(WEIGHTS, AXES.axes, AXES.base), judged).reads()
    assert next(reads) == (None, judged)
    with pytest.raises(StopIteration) as end:
        next(reads)
    np.testing.assert_allclose(end.value.value.weights[:-1], WEIGHTS[:-1] @ AXES.axes)
    np.testing.assert_allclose(end.value.value.weights[-1], WEIGHTS[-1] @ AXES.axes + AXES.base)
