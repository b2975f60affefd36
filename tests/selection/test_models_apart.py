"""Each row of weights asked about the rows of its two groups alone says what all together say."""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.passes.fit import answered
from streamnb.selection import cross_validation, folded_scan, grid_models
from streamnb.selection.grid_models import NestedApart, TablesApart

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
    "one point": (snb.L1(0.5), TablesApart),
}


@pytest.mark.parametrize("bins", [False, True])
@pytest.mark.parametrize("name", TAKEN)
def test_scores_are_those_of_all_together(name, bins, monkeypatch):
    penalty, kind = TAKEN[name]
    found = []

    def results(x, apart):
        with monkeypatch.context() as patch:
            if not apart:
                patch.setattr(grid_models, "nested_of", lambda path: None)
                patch.setattr(grid_models, "of_blocks", lambda *given: None)
            patch.setattr(
                cross_validation, "answered", lambda asked, *rest: found.extend(asked) or answered(asked, *rest)
            )
            if bins:
                patch.setattr(folded_scan, "KEPT_SCORES", 1)
            model = snb.LinearNBCV("poisson", penalty, return_train_score=True, **ASKED)
            table = model.fit(x, Y, sample_weight=WEIGHT).cv_results_
        return {key: values for key, values in table.items() if "score" in key and "rank" not in key}

    together = results(X, False)
    found.clear()
    apart, stored = results(X.astype(float), True), results(sp.csr_array(X), True)
    assert {type(each.statistic.models.apart) for each in found} == {kind}
    if bins:
        within = apart["mean_test_score_error"] + together["mean_test_score_error"]
        assert (abs(apart["mean_test_score"] - together["mean_test_score"]) <= within).all() and within.max() < 0.8
        together = {key: apart[key] for key in together}
    for key, values in together.items():
        np.testing.assert_allclose(apart[key], values, rtol=0.0, atol=1e-12)
        np.testing.assert_allclose(stored[key], apart[key], rtol=0.0, atol=1e-12)


@pytest.mark.parametrize(("families", "whole"), [("poisson", True), (["poisson", "bernoulli"], False)])
def test_columns_of_a_table_say_together_what_each_says_alone(families, whole, monkeypatch):
    columns = {name: penalty for name, (penalty, _) in TAKEN.items()}
    weight = np.ceil(WEIGHT) if whole else WEIGHT

    def compared(penalties):
        with monkeypatch.context() as patch:
            patch.setattr(folded_scan, "KEPT_SCORES", 1)
            options = {"penalties": penalties, "show": False, "sample_weight": weight, **ASKED}
            return snb.compare(X, Y, families=families, **options).scores

    alone = [compared({name: penalty}) for name, penalty in columns.items()]
    np.testing.assert_array_equal(compared(columns), np.concatenate(alone, axis=1))


def _rows_of_persons(seed, n_labels=2, n_persons=12, n_features=12):
    """Counts with labels that one, two or three persons have, the last half of them; features that only some have."""
    draw = np.random.default_rng(seed)
    persons = np.repeat(np.arange(n_persons), 5)
    x = draw.poisson(2.0, (len(persons), n_features))
    x[np.isin(persons, draw.choice(n_persons, 4)), : draw.integers(n_features)] = 0
    y = np.zeros((len(persons), n_labels), int)
    for label in range(n_labels):
        n_having = draw.choice([1, 1, 2, 3]) if label < n_labels - 1 else n_persons // 2
        having = draw.choice(n_persons, n_having, replace=False)
        y[np.isin(persons, having), label] = 1
    y[y[:, -1] == 1, :-1] = 0
    return x, y, persons


@pytest.mark.parametrize("rule", ["per_split", "best"])
@pytest.mark.parametrize("seed", range(4))
def test_a_split_without_rows_of_a_label_is_scored_beside_others_in_another_way(seed, rule):
    """Nested models in one split, tables in another: many points say of each what a few do."""
    x, y, persons = _rows_of_persons(seed, n_labels=2 + seed % 2)
    asked = {"scheme": "reference", "reference": y.shape[1] - 1, "scoring": "roc_auc_reference", "folds": 4}

    def scores(ks):
        model = snb.LinearNBCV("poisson", snb.TopK(ks), rule=rule, **asked)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", snb.StreamnbWarning)  # some splits have no score
            return model.fit(x, y, groups=persons).cv_results_["mean_test_score"]

    few = [scores(range(first, first + 6)) for first in (1, 7)]
    np.testing.assert_allclose(scores(range(1, 13)), np.concatenate(few), rtol=0.0, atol=1e-12)


def test_tables_that_would_take_too_much():
    block = sp.csr_array(np.ones((2, 9)))
    assert grid_models.of_blocks([block], np.zeros((9, 1)), 1) is None
    assert isinstance(grid_models.of_blocks([block], np.zeros((9, 1)), 1 << 20), TablesApart)
