"""All models of a grid judged at once: each as it would be alone."""

import math

import numpy as np
import pytest

import streamnb as snb
from streamnb.core import persistence
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.grid_evaluation import EachEvaluation, GridEvaluation
from streamnb.problem.schemes import Joint, MultiLabel, OneVsRest

G, K, N = 3, 4, 60
rng = np.random.default_rng(0)
EVERYTHING = ("confusion", "ranking", "probabilities")
VALUES = {
    "hits": lambda e: e.recall(None),
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
        evaluation = Evaluation(n_classes, needs, **options)
        said = {"predicted": scheme.decide(here), "ranking": scheme.ranking(here), "log_proba": scheme.log_proba(here)}
        evaluation.add(codes, w, **said)
        yield evaluation


def same(one, two):
    np.testing.assert_equal(one._to_state(), two._to_state())


@pytest.mark.parametrize("scheme", [Joint(), OneVsRest()], ids=lambda scheme: scheme.name)
@pytest.mark.parametrize("needs", [EVERYTHING, ("hits",), ("ranking",), ("probabilities",)], ids="-".join)
def test_each_model_is_judged_as_alone(scheme, needs):
    given, grid = margins(K), GridEvaluation.of(Evaluation(K, needs), G)
    grid.add(scheme, given, labels, weight)
    for g, expected in enumerate(alone(needs, scheme, given, labels, weight)):
        own = grid.of_point(g)
        assert own.n_rows == N and own.weight == math.fsum(weight) and repr(own) == repr(expected)
        for need, value in VALUES.items():
            if need in needs:
                np.testing.assert_array_equal(value(own), value(expected))


def test_sets_of_labels_are_judged_model_by_model():
    sets, given = (rng.random((N, K)) < 0.4).astype(int), margins(K)
    needs = {"confusion", "ranking", "probabilities", "multilabel"}
    each = EachEvaluation([Evaluation(K, needs, multilabel=True) for _ in range(G)])
    each.add(MultiLabel(), given, sets, weight)
    for g, expected in enumerate(alone(needs, MultiLabel(), given, sets, weight, multilabel=True)):
        same(each.of_point(g), expected)
    twice = each + each
    assert twice.of_point(0).n_rows == 2 * N and each.of_point(0).n_rows == N
    assert twice.of_point(1).hamming_loss() == pytest.approx(each.of_point(1).hamming_loss())


@pytest.mark.parametrize("exact_rows", [N, 10], ids=["scores", "histograms"])
@pytest.mark.parametrize("needs", [EVERYTHING, ("hits",), ("ranking",), ()], ids="-".join)
def test_a_grid_is_made_again_of_a_file_and_takes_more_rows(needs, exact_rows, tmp_path):
    grids = [GridEvaluation.of(Evaluation(K, needs, exact_rows=exact_rows), G) for _ in range(2)]
    for grid, some in zip(grids, (slice(0, 25), slice(25, N))):
        grid.add(Joint(), margins(K)[some], labels[some], weight[some])
    persistence.save(tmp_path / "grid.snb", grids[0])
    again, whole = snb.load(tmp_path / "grid.snb") + grids[1], grids[0] + grids[1]
    for g in range(G):
        same(again.of_point(g), whole.of_point(g))
    again.add(Joint(), margins(K), labels, weight)


def test_a_grid_of_sets_of_labels_too(tmp_path):
    each = EachEvaluation([Evaluation(K, ("hits",), multilabel=True) for _ in range(G)])
    each.add(MultiLabel(), margins(K), (rng.random((N, K)) < 0.4).astype(int), weight)
    persistence.save(tmp_path / "each.snb", each)
    same(snb.load(tmp_path / "each.snb").of_point(2), each.of_point(2))
    for wrong in ([1], "abc", None):
        with pytest.raises(ValueError, match="it should be list"):
            EachEvaluation._from_state({"each": wrong})


def test_states_that_no_grid_has_are_refused():
    grid = GridEvaluation.of(Evaluation(K, EVERYTHING), G)
    grid.add(Joint(), margins(K), labels, weight)
    state = grid._to_state()
    sizes = {"n_points": 10**12}, {"n_points": 2}, {"n_points": -1}, {"losses": []}
    for change in ({"empty": 3}, *sizes, {"decisions": None}, {"ranking": None}):
        with pytest.raises((ValueError, TypeError)):
            GridEvaluation._from_state({**state, **change})
