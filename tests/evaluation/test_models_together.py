"""Several models judged on the same rows at once: each as it would be alone."""

import math

import numpy as np
import pytest

import streamnb as snb
from streamnb.core import persistence
from streamnb.problem.schemes import Joint, MultiLabel, OneVsRest

G, K, N = 3, 4, 60
rng = np.random.default_rng(0)
EVERYTHING = ("confusion", "ranking", "probabilities")
VALUES = {
    "confusion": lambda e: e.confusion_matrix(),
    "ranking": lambda e: e.roc_auc(None),
    "probabilities": lambda e: [e.log_loss(), e.brier()],
}
labels, weight = rng.integers(0, K - 1, N), rng.choice([0.0, 0.1, 1.0 / 3.0, 2.0], N)  # class K - 1 has no rows


def margins(n_rows, n=N):
    """Margins of G models, and room behind them that must not count."""
    return np.concatenate([rng.normal(size=(n, n_rows, G)), np.full((n, n_rows, 2), 1e6)], axis=2)


def alone(needs, scheme, given, codes, w, n_classes=K, **options):
    for g in range(G):
        here = np.ascontiguousarray(given[:, :, g])
        evaluation = snb.Evaluation(n_classes, needs, **options)
        said = {"predicted": scheme.decide(here), "ranking": scheme.ranking(here), "log_proba": scheme.log_proba(here)}
        evaluation.add(codes, w, **said)
        yield evaluation


CASES = {
    "joint": (Joint(), EVERYTHING),
    "ovr": (OneVsRest(), EVERYTHING),
    "joint, hits": (Joint(), ("hits",)),
    "joint, ranking": (Joint(), ("ranking", "pairs")),
    "joint, reliability": (Joint(), ("probabilities", "reliability")),
    "joint, nothing": (Joint(), ()),
    "sets": (MultiLabel(), (*EVERYTHING, "multilabel", "reliability")),
    "sets, hits": (MultiLabel(), ("hits",)),
}


@pytest.mark.parametrize("exact_rows", [N, 10], ids=["scores", "histograms"])
@pytest.mark.parametrize("case", CASES)
def test_each_model_is_judged_as_alone(case, exact_rows, tmp_path):
    """In two blocks, one of them from a file, and in one."""
    (scheme, needs), given = CASES[case], margins(K)
    multilabel = scheme.multilabel
    codes = (rng.random((N, K)) < 0.4).astype(int) if multilabel else labels
    form = {"multilabel": multilabel, "exact_rows": exact_rows}
    parts = [snb.Evaluation(K, needs, n_models=G, **form) for _ in range(2)]
    for part, some in zip(parts, (slice(0, 25), slice(25, N))):
        part.add_margins(scheme, given[some], codes[some], weight[some])
    persistence.save(tmp_path / "models.snb", parts[0])
    whole = snb.load(tmp_path / "models.snb") + parts[1]
    for own, expected in zip(whole.models, alone(needs, scheme, given, codes, weight, **form), strict=True):
        assert own.n_rows == N and own.weight == math.fsum(weight) and repr(own) == repr(expected)
        for need, value in VALUES.items():
            if need in needs and (need != "confusion" or not multilabel):
                np.testing.assert_array_equal(value(own), value(expected))
        if "hits" in needs or "confusion" in needs:
            np.testing.assert_array_equal(own.recall(None), expected.recall(None))
    whole.add_margins(scheme, given, codes, weight)
    assert whole.of_model(0).n_rows == 2 * N


def test_states_that_no_models_have_are_refused():
    judged = snb.Evaluation(K, EVERYTHING, n_models=G)
    judged.add_margins(Joint(), margins(K), labels, weight)
    state = judged._to_state()
    without = {name: tally for name, tally in state["tallies"].items() if name != "losses"}
    sizes = {"n_models": 10**12}, {"n_models": 2}, {"n_models": -1}, {"tallies": without}
    for change in ({"classes": 3}, *sizes, {"reference": 3}):
        with pytest.raises((ValueError, TypeError)):
            snb.Evaluation._from_state({**state, **change})


def test_one_model_is_no_bucket():
    sets, given = (rng.random((N, K)) < 0.4).astype(int), margins(K)
    needs = {"hits", "probabilities", "multilabel", "ranking"}
    one = snb.Evaluation(K, needs, multilabel=True, n_models=1)
    one.add_margins(MultiLabel(), given, sets, weight)
    assert repr(one) == repr(next(alone(needs, MultiLabel(), given, sets, weight, multilabel=True)))


def test_rows_of_one_model_are_not_added_to_several():
    with pytest.raises(ValueError, match=r"add is of one model .* n_models=2 .* give rows to add_margins"):
        snb.Evaluation(K, "hits", n_models=2).add(labels, weight, predicted=labels)
