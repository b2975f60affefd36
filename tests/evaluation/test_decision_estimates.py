"""Intervals of metrics of decisions: the variance is that of what rows, or groups, add to the metric."""

import numpy as np
import pytest

from streamnb.evaluation.intervals import ESTIMATES
from tests.support.influence import drawn, influences, judged, of_groups

METRICS = [
    ("balanced_accuracy", {}),
    ("precision", {"average": "macro"}),
    ("recall", {"average": "weighted"}),
    ("specificity", {"average": "micro"}),
    ("f_score", {"average": "macro", "beta": 2.0}),
    ("f_score", {"average": "weighted"}),
    ("f_score", {"average": "micro"}),
    ("precision", {"average": None}),
    ("specificity", {"average": None}),
    ("f_score", {"average": None}),
    ("matthews_corrcoef", {}),
    ("cohen_kappa", {}),
]
SINGLE = {"balanced_accuracy", "matthews_corrcoef", "cohen_kappa"}
UNKNOWN = -1


def problem(multilabel=False, **options):
    made, labels, outputs = drawn(0, multilabel=multilabel, interval=0.9, **{"n": 40, **options})
    if not multilabel:
        labels = np.where(np.arange(len(labels)) < 4, UNKNOWN, labels)
    needs = {"hits"} if options.get("n_classes") == 2 else {"confusion"}
    return {**made, "needs": needs}, labels, {"predicted": outputs["predicted"]}


def check(problem, weight=None):
    made, labels, outputs = problem
    groups = np.arange(len(labels)) // 7
    n = np.ones(len(labels)) if weight is None else weight
    alone = judged(made, labels, outputs, weight)
    together = judged({**made, "grouped": True}, labels, outputs, weight, groups)
    metrics = [one for one in METRICS if not (made["multilabel"] and one[0] in SINGLE)]
    for (name, options), added in zip(metrics, influences(problem, metrics, weight), strict=True):
        of_rows, grouped = (ESTIMATES[name](one, **options) for one in (alone, together))
        np.testing.assert_allclose(of_rows.variance, np.square(added).T @ n, rtol=1e-5, err_msg=name)
        expected, n_groups = of_groups((added.T * n).T, groups)
        np.testing.assert_allclose(grouped.variance, expected, rtol=1e-5, err_msg=f"{name} {options}")
        np.testing.assert_array_equal(grouped.df, n_groups - 1)


def test_variances_are_those_of_what_rows_add():
    check(problem())
    check(problem(multilabel=True))


@pytest.mark.parametrize("needs", ["confusion", "hits"])
def test_of_whole_weights_and_with_no_table(needs):
    made, labels, outputs = problem(n=30)
    labels = np.abs(labels)
    check(({**made, "needs": {needs}}, labels, outputs), np.arange(30) % 3 + 1.0)


def test_two_classes():
    made, labels, outputs = drawn(1, K=2, interval=0.95)
    for needs in ("hits", "confusion"):
        one = judged({**made, "needs": {needs}}, labels, {"predicted": outputs["predicted"]})
        recall, precision = (ESTIMATES[name](one) for name in ("recall", "precision"))
        hit, true, predicted = ((a & b).sum() for a, b in _sides(labels, outputs["predicted"]))
        for found, n in ((recall, true), (precision, predicted)):
            assert found.value == hit / n and found.variance == pytest.approx(hit / n * (1.0 - hit / n) / n)
            assert found.n_rows == n
        (added,) = influences(({**made, "needs": {needs}}, labels, outputs), [("f_score", {"average": "macro"})])
        assert ESTIMATES["f_score"](one, "macro").variance == pytest.approx(np.square(added).sum(), rel=1e-5)


def _sides(labels, predicted):
    true, said = labels == 1, predicted == 1
    return (true, said), (true, true), (said, said)


def test_of_classes_without_rows_there_is_no_interval():
    made, labels, outputs = problem()
    made = {**made, "n_classes": 4}
    for one in (
        judged(made, labels, outputs),
        judged({**made, "grouped": True}, labels, outputs, None, np.abs(labels)),
    ):
        low, high = one.interval("recall", average=None)
        assert np.isnan([low[3], high[3]]).all() and np.isfinite([low[:3], high[:3]]).all()
        assert np.isfinite(one.interval("recall", average="macro")).all()
