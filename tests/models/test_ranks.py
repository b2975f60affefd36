"""Shares of draws that agree with a prediction, of many classes."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.kernels import draws
from streamnb.models.ranks import RankedDraws, Taxonomy
from streamnb.rows.boundary import checked
from streamnb.rows.opening import opened


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
