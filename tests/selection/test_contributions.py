"""What features add to scores: together those of a model that is fitted on them alone, family by family."""

import numpy as np
import pytest
from sklearn.datasets import load_digits

import streamnb as snb
from streamnb.core import memory
from streamnb.selection.criteria import as_criterion
from streamnb.selection.wrappers import check_adds_up, judged
from tests.support.strategies import example

ROWS = example("int")
X, Y = np.abs(ROWS.x) + 1.0, ROWS.y
FOLDS = 3
SOME = [1, 4, 6]
FAMILIES = {
    "gaussian": ("gaussian", "joint", None),
    "ovr": ("poisson", "ovr", None),
    "ovo": ("poisson", "ovo", None),
    "reference": (snb.Laplace(1.5), "reference", None),
    "penalty": ("bernoulli", "joint", snb.L2(2.0) + snb.L1(0.1)),
    "mixed": (snb.Mixed({"gaussian": [0, 1, 2, 3], "chi_squared": ...}), "joint", None),
    "multinomial": ("multinomial", "joint", None),
}


@pytest.mark.parametrize("family, scheme, penalty", FAMILIES.values(), ids=FAMILIES)
def test_they_add_up_to_models_of_the_subset(family, scheme, penalty):
    moments = ["sum", "sum_sq", "above", "log_sum", "deviation"]
    stats = snb.scan(X, Y, folds=FOLDS, moments=moments, centre=1.5)
    reference = stats.classes[0].item() if scheme == "reference" else None
    options = {"scheme": scheme, "reference": reference, "smoothing": 1.0}
    sample = snb.sample_rows(X, Y, stats, rows=None)
    models = judged(stats, sample, "sfs", as_criterion("score", family=family, **options), penalty)
    parts, state = models.contributions, models.contributions.start()
    for feature in SOME[:2]:
        state = parts.moved(state, feature, 1.0)
    decided = parts.decided(state, np.array([0, SOME[2]]), 1.0)[:, 1]
    values = sample.by_fold().dense()
    for fold in range(FOLDS):
        rest = stats.without_fold(fold)
        weights = np.isin(np.arange(X.shape[1]), SOME).astype(float)
        if family == "multinomial":  # whose probabilities sum to one in the subset
            rest, given = rest.select(np.array(SOME), ("sum",)), values[:, SOME]
            model = snb.solve(rest, family, **options)[0]
        else:
            given, model = values, snb.solve(rest, family, penalty, feature_weight=weights, **options)[0]
        mine = slice(models.ends[fold], models.ends[fold + 1])
        expected = np.searchsorted(stats.classes, model.predict(given))
        np.testing.assert_array_equal(decided[mine], expected[mine])
        score = np.mean(expected[mine] == models.codes[mine])
        assert models.scores(state, np.array([SOME[2]]))[fold, 0] == pytest.approx(score)
    back = parts.moved(parts.moved(state, SOME[2], 1.0), SOME[2], -1.0)
    np.testing.assert_allclose(back[0], state[0], atol=1e-4)


def test_what_does_not_add_up_is_named():
    for family in (
        snb.Dirichlet(),
        snb.Beta(),
        snb.Categorical([2, 3]),
        snb.Gaussian(covariance="own"),
        snb.Gaussian(covariance="pooled"),
        snb.Mixed({"multinomial": [0, 1], "gaussian": ...}),
    ):
        with pytest.raises(ValueError, match=r"by='sfs' adds up .* depends on the others under family="):
            check_adds_up("sfs", family, "joint", None)
    for penalty in (snb.TopK(3), snb.L1(0.1) + snb.TopK(2), snb.Custom(lambda w: -w)):
        with pytest.raises(ValueError, match=r"under penalty=(TopK|Custom)"):
            check_adds_up("iwss", "poisson", "joint", penalty)
    with pytest.raises(ValueError, match=r"penalty=L2\(1.0\) with family='multinomial'"):
        check_adds_up("sfs", "multinomial", "joint", snb.L2(1.0))
    for penalty in (snb.L1(), snb.L2([1.0, 2.0])):
        with pytest.raises(ValueError, match="should have one tau for by='sfs'"):
            check_adds_up("sfs", "poisson", "joint", penalty)
    with pytest.raises(ValueError, match="scheme='ovr' is not for"):
        check_adds_up("sfs", "multinomial", "ovr", None)


def test_a_sample_too_small_or_too_large(monkeypatch):
    stats = snb.scan(X, Y, folds=12)
    few, whole = (snb.sample_rows(X, Y, stats, rows=rows) for rows in (1, None))
    with pytest.raises(ValueError, match=r"no row of fold \d+, .*; use more rows"):
        judged(stats, few, "sfs", as_criterion("score"), None)
    with pytest.raises(ValueError, match=r"smoothing=0\.0 should be above 0"):
        judged(stats, whole, "sfs", as_criterion("score", family="multinomial", smoothing=0.0), None)
    monkeypatch.setattr(memory, "free_memory", lambda: 20)
    with pytest.raises(MemoryError, match="contributions of 9 features to 3 scores"):
        judged(stats, few, "sfs", as_criterion("score"), None)


def test_one_count_alone_leaves_the_choice_to_priors():
    X, y = load_digits(return_X_y=True)
    search = snb.ForwardSelection(rows=None, folds=2)
    fitted = snb.FeatureSelector(search, k=1, family="multinomial").fit(X[:500, 20:36], y[:500])
    folds, n = snb.fold_numbers(500, 2, seed=0), y[:500]
    most = [np.bincount(n[folds != fold]).argmax() for fold in range(2)]
    assert fitted.chosen_ == [0]
    np.testing.assert_array_equal(fitted.curve_, [[np.mean(n[folds == fold] == most[fold]) for fold in range(2)]])
