"""Ranks of a taxonomy, and the shares of draws that agree with a prediction down to each."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.kernels import draws
from streamnb.models.ranks import RankedDraws, Taxonomy
from streamnb.rows.boundary import checked
from streamnb.rows.opening import opened

LABELS = np.array(["A; x; 1", "A; x; 2", "A;y", "B; x; 1"])


def test_a_rank_is_the_same_where_all_names_down_to_it_are():
    taxonomy = Taxonomy(LABELS)
    assert taxonomy.n_ranks == 3
    assert taxonomy.names.tolist() == [
        ["A", "A; x", "A; x; 1"],
        ["A", "A; x", "A; x; 2"],
        ["A", "A;y", "A;y"],
        ["B", "B; x", "B; x; 1"],
    ]
    same = taxonomy.groups[:, :, None] == taxonomy.groups[:, None, :]
    assert same[0].sum(axis=1).tolist() == [3, 3, 3, 1]
    assert same[1].sum(axis=1).tolist() == [2, 2, 1, 1]
    assert same[2].sum(axis=1).tolist() == [1, 1, 1, 1]


@pytest.mark.parametrize("n_classes", [2, 4])
def test_shares_are_those_of_draws_of_whole_models(n_classes):
    """A row of one kind of unit is the same in each draw; of two kinds, draws differ and shares lie between."""
    X = np.eye(n_classes) * 50 + 1
    model = snb.LinearNB("multinomial").fit(X, LABELS[-n_classes:])
    linear = snb.solve(model.stats_, "multinomial")[0]
    ranked = RankedDraws(linear, Taxonomy(linear.classes_), 200, 0)
    rows = np.concatenate([np.eye(n_classes) * 16, [[8.0, 8.0] + [0.0] * (n_classes - 2)], [[0.0] * n_classes]])
    found = np.concatenate([ranked(*checked(block)) for block in opened(rows, labelled=False).blocks()])
    decided = linear.scheme.decide(linear.margins(*checked(next(opened(rows, labelled=False).blocks()))))
    assert found[:, 0].tolist() == decided.tolist()
    assert (found[:n_classes, 1:] == 1.0).all()
    assert 0.3 < found[n_classes, -1] < 0.95
    assert (np.diff(found[:, 1:]) <= 0).all()  # a lower rank is never surer
    assert (found[-1, 1:] == 0.0).all()


@pytest.mark.parametrize("order", [np.arange(200), np.random.default_rng(0).permutation(200)], ids=["groups", "any"])
def test_tiles_that_are_left_out_have_no_best_class(order, monkeypatch):
    """Of 200 classes in groups much alike, in the order of their groups and in any order."""
    rng = np.random.default_rng(0)
    X = rng.poisson(20 * rng.gamma(0.3, size=(10, 50))[order // 20] * rng.uniform(0.7, 1.4, (200, 50)))
    model = snb.LinearNB("multinomial").fit(X, np.array([f"g{k // 20}; s{k:03}" for k in range(200)]))
    linear, rows = snb.solve(model.stats_, "multinomial")[0], checked(next(opened(X[::13], labelled=False).blocks()))
    ranked = RankedDraws(linear, Taxonomy(linear.classes_), 10, 1)
    found = ranked(*rows)
    monkeypatch.setattr(draws, "find_hopeful", lambda *given: given[-1].fill(True))
    assert (found == ranked(*rows)).all() and (found[:, -1] < 1.0).any()
