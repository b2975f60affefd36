"""Each row of weights asked about the rows of its two groups alone says what all together say."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.selection import cross_validation, models_apart
from streamnb.selection.models_apart import NestedApart, SinglesApart, TablesApart

rng = np.random.default_rng(5)
N, K, D = 600, 3, 14
Y = (rng.random((N, K)) < 0.25).astype(int)
X = rng.poisson(rng.gamma(1.0, 1.0, D) * (1.0 + Y @ rng.gamma(1.0, 1.0, (K, D)))) * (rng.random((N, D)) < 0.6)
WEIGHT = rng.choice([0.0, 1.0, 2.0, 0.5], N)
ASKED = {"scheme": "reference", "reference": snb.UNLABELLED, "folds": 3, "scoring": "roc_auc_reference"}
TAKEN = {
    "all k": (snb.TopK(range(1, D + 1)), NestedApart),
    "k and decorrelation": (snb.TopK(range(1, D + 1)) + snb.Decorrelation([0.1], scale="curvature"), TablesApart),
    "taus": (snb.L1(n_taus=10), TablesApart),
    "one point": (snb.L1(0.5), SinglesApart),
}


@pytest.mark.parametrize("bins", [False, True])
@pytest.mark.parametrize("name", TAKEN)
def test_scores_are_those_of_all_together(name, bins, monkeypatch):
    penalty, kind = TAKEN[name]
    found = []

    def results(x, of_blocks):
        with monkeypatch.context() as patch:
            patch.setattr(models_apart, "of_blocks", of_blocks)
            if bins:
                patch.setattr(cross_validation, "KEPT_SCORES", 1)
            model = snb.LinearNBCV("poisson", penalty, return_train_score=True, **ASKED)
            table = model.fit(x, Y, sample_weight=WEIGHT).cv_results_
        return {key: values for key, values in table.items() if "score" in key and "rank" not in key}

    def seen(*given):
        found.append(of_blocks(*given))
        return found[-1]

    of_blocks = models_apart.of_blocks
    together = results(X, lambda *given: None)
    apart, stored = results(X.astype(float), seen), results(sp.csr_array(X), seen)
    assert {type(models) for models in found} == {kind}
    if bins:
        within = apart["mean_test_score_error"] + together["mean_test_score_error"]
        assert (abs(apart["mean_test_score"] - together["mean_test_score"]) <= within).all() and within.max() < 0.8
        together = {key: apart[key] for key in together}
    for key, values in together.items():
        np.testing.assert_allclose(apart[key], values, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(stored[key], apart[key], rtol=0.0, atol=1e-12)


def test_what_is_not_nested():
    """A weight that changes, a feature that leaves again, a row of weights without a prior."""
    stays = np.zeros((2, 9, 1))
    stays[0, 3:], stays[1, 5:] = 0.5, -2.0
    changes, leaves = stays.copy(), stays.copy()
    changes[0, 7], leaves[0, 7] = 0.6, 0.0
    for weights, intercept, kind in (
        (stays, 0.3, NestedApart),
        (changes, 0.3, TablesApart),
        (leaves, 0.3, TablesApart),
        (stays, -np.inf, TablesApart),
    ):
        block = sp.csr_array(weights.reshape(2, 9))
        assert type(models_apart.of_blocks([block], np.full((9, 1), intercept), 1 << 20)) is kind
    assert models_apart.of_blocks([sp.csr_array(changes.reshape(2, 9))], np.zeros((9, 1)), 1) is None
    assert models_apart.of_blocks([sp.csr_array(changes.reshape(2, 9))], np.zeros((1, 9)), 1) is None
    enters, weights = models_apart.entries_of(sp.csr_array(stays.reshape(2, 9)), 9, 1)
    assert enters.tolist() == [[3, 5]] and weights.tolist() == [[0.5, -2.0]]
