"""All models of a grid judged at once: each as it would be alone."""

import math

import numpy as np
import pytest

import streamnb as snb
from streamnb.core import persistence
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.grid_evaluation import EachEvaluation, GridDecisions, GridEvaluation
from streamnb.problem.schemes import Joint, MultiLabel, OneVsRest, TwoClasses

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
    given, grid = margins(K), GridEvaluation(Evaluation(K, needs), G)
    grid.add(scheme, given, labels, weight)
    for g, expected in enumerate(alone(needs, scheme, given, labels, weight)):
        own = grid.of_point(g)
        assert own.n_rows == N and own.weight == math.fsum(weight) and repr(own) == repr(expected)
        for need, value in VALUES.items():
            if need in needs:
                np.testing.assert_array_equal(value(own), value(expected))


def test_of_two_classes_too():
    given, two = margins(1), labels % 2
    grid = GridEvaluation(Evaluation(2, EVERYTHING), G)
    grid.add(TwoClasses(), given, two, weight)
    for g, expected in enumerate(alone(EVERYTHING, TwoClasses(), given, two, weight, 2)):
        for value in ("accuracy", "roc_auc", "log_loss", "brier"):
            assert getattr(grid.of_point(g), value)() == getattr(expected, value)()


@pytest.mark.parametrize("needs", ["hits", "confusion"])
@pytest.mark.parametrize("weighted", [True, False])
def test_decisions_made_elsewhere_count_the_same(needs, weighted):
    decided = np.concatenate([rng.integers(0, K, (N, G)), np.full((N, 1), K - 1)], axis=1).astype(np.int32)
    w = weight if weighted else None
    grid = GridEvaluation(Evaluation(K, needs), G)
    grid.add_decided(decided, labels, w)
    accuracy, recall, _ = grid.accuracy_and_recall()
    for g in range(G):
        alone = Evaluation(K, needs)
        alone.add(labels, w, predicted=decided[:, g])
        same(grid.of_point(g), alone)
        assert accuracy[g] == pytest.approx(alone.accuracy())
        np.testing.assert_allclose(recall[g], [*alone.recall(None)[:-1], np.nan])  # no rows, no recall


def test_rates_of_nothing_are_not_defined():
    accuracy, recall = GridDecisions(G, K, False).rates()
    assert np.isnan(accuracy).all() and np.isnan(recall).all() and recall.shape == (G, K)


def test_sets_of_labels_are_judged_model_by_model():
    sets, given = (rng.random((N, K)) < 0.4).astype(int), margins(K)
    needs = {"confusion", "ranking", "probabilities", "multilabel"}
    each = EachEvaluation(Evaluation(K, needs, multilabel=True), G)
    each.add(MultiLabel(), given, sets, weight)
    for g, expected in enumerate(alone(needs, MultiLabel(), given, sets, weight, multilabel=True)):
        same(each.of_point(g), expected)
    twice = each + each
    assert twice.of_point(0).n_rows == 2 * N and each.of_point(0).n_rows == N
    assert twice.of_point(1).hamming_loss() == pytest.approx(each.of_point(1).hamming_loss())


@pytest.mark.parametrize("exact_rows", [N, 10], ids=["scores", "histograms"])
@pytest.mark.parametrize("needs", [EVERYTHING, ("hits",), ("ranking",), ()], ids="-".join)
def test_a_grid_is_made_again_of_a_file_and_takes_more_rows(needs, exact_rows, tmp_path):
    grids = [GridEvaluation(Evaluation(K, needs, exact_rows=exact_rows), G) for _ in range(2)]
    for grid, some in zip(grids, (slice(0, 25), slice(25, N))):
        grid.add(Joint(), margins(K)[some], labels[some], weight[some])
    persistence.save(tmp_path / "grid.snb", grids[0])
    again, whole = snb.load(tmp_path / "grid.snb") + grids[1], grids[0] + grids[1]
    for g in range(G):
        same(again.of_point(g), whole.of_point(g))
    again.add(Joint(), margins(K), labels, weight)


def test_a_grid_of_sets_of_labels_too(tmp_path):
    each = EachEvaluation(Evaluation(K, ("hits",), multilabel=True), G)
    each.add(MultiLabel(), margins(K), (rng.random((N, K)) < 0.4).astype(int), weight)
    persistence.save(tmp_path / "each.snb", each)
    same(snb.load(tmp_path / "each.snb").of_point(2), each.of_point(2))
    for wrong in ([1], "abc", None):
        with pytest.raises(ValueError, match="should be a list of them"):
            EachEvaluation._from_state({"each": wrong})


def test_states_that_no_grid_has_are_refused():
    grid = GridEvaluation(Evaluation(K, EVERYTHING), G)
    grid.add(Joint(), margins(K), labels, weight)
    state = grid._to_state()
    sizes = {"n_points": 10**12}, {"n_points": 2}, {"n_points": -1}, {"losses": []}
    for change in ({"empty": 3}, *sizes, {"decisions": None}, {"ranking": None}):
        with pytest.raises((ValueError, TypeError)):
            GridEvaluation._from_state({**state, **change})


def test_only_what_is_needed_is_asked_of_a_scheme():
    class Silent(Joint):
        def decide(self, margins):
            raise AssertionError("decisions were not asked for")

        log_proba = decide

    for kind in (GridEvaluation, EachEvaluation):
        ranked = kind(Evaluation(K, {"ranking"}), G)
        ranked.add(Silent(), margins(K), labels, np.ones(N))
        assert 0.0 < ranked.of_point(2).roc_auc() < 1.0
