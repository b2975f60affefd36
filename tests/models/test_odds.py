"""Scores relative to a row of zeros, also where an event is impossible."""

import numpy as np

from streamnb.models.linear import OddsModel, sums_of_logs

CLASSES = np.array(["a", "b", "c"])
PRESENT = np.array([[0.5, 0.25], [0.0, 0.75], [0.125, 0.5]])  # the first feature is never there in class b
X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])


def by_hand(present):
    likelihood = [np.prod(np.where(X > 0, p, 1.0 - p), axis=1) for p in present]
    with np.errstate(divide="ignore"):
        return np.log(np.stack(likelihood, axis=1) / 3.0)


def logs(p):
    with np.errstate(divide="ignore"):
        return np.log(p)


def test_sums_leave_out_what_is_impossible_and_count_it():
    sums, impossible = sums_of_logs(logs(np.array([[1.0, 0.5, 0.0], [0.0, 0.0, 1.0]])))
    np.testing.assert_allclose(sums, [np.log(0.5), 0.0])
    assert impossible.tolist() == [1, 2]


def test_scores_are_log_probabilities():
    for present in (PRESENT, 1.0 - PRESENT, 0.5 * PRESENT + 0.25):
        absent = logs(1.0 - present)
        model = OddsModel.of(CLASSES, logs(present), absent, sums_of_logs(absent), np.full(3, -np.log(3.0)))
        np.testing.assert_allclose(model.decision_function(X), by_hand(present))
        assert model.predict(X).tolist() == CLASSES[by_hand(present).argmax(axis=1)].tolist()
