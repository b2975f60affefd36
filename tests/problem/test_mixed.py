"""Mixed families: scores are sums over the columns, penalties act on all of them, errors name the column."""

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.problem.families import as_family
from streamnb.rows.boundary import as_chunk
from streamnb.solving import weight_paths
from tests.support.mixed_rows import (
    APART,
    BERNOULLI,
    COLUMNS,
    COUNTS,
    GAUSSIAN,
    MIXED,
    PENALTIES,
    SCHEMES,
    options,
    rows,
)

each_scheme = pytest.mark.parametrize(("scheme", "n_classes"), SCHEMES)


def apart(x, y, columns, penalty, **more):
    """Weights and intercepts of the sum of one model for each family; class priors once."""
    models = {f: snb.solve(snb.scan(x[:, c], y), f, penalty, **more)[0] for f, c in columns.items()}
    first = next(iter(models.values()))
    coef = np.zeros((len(first.intercept_), x.shape[1]))
    nothing = snb.solve(snb.scan(np.zeros((len(y), 1)), y), "gaussian", **more)[0].intercept_
    intercept = (1 - len(models)) * nothing
    for family, model in models.items():
        coef[:, columns[family]] = model.coef_
        intercept = intercept + model.intercept_
    return coef, intercept


# ------------------------------------------------------------------------------------------------- laws


@pytest.mark.parametrize(
    ("scheme", "n_classes", "penalty"),
    [(*scheme, PENALTIES[kind]) for i, scheme in enumerate(SCHEMES) for j, kind in enumerate(PENALTIES) if (i + j) % 2],
)
def test_scores_are_the_sum_of_the_scores_of_each_family(scheme, n_classes, penalty):
    x, y = rows(n_classes=n_classes)
    model = snb.solve(snb.scan(x, y), MIXED, penalty, **options(scheme))[0]
    coef, intercept = apart(x, y, COLUMNS, penalty, **options(scheme))
    assert np.array_equal(model.coef_, coef)
    np.testing.assert_allclose(model.intercept_, intercept, rtol=1e-12, atol=1e-12)
    present = x.copy()
    present[:, BERNOULLI] = x[:, BERNOULLI] > 0
    np.testing.assert_allclose(model.margins(*as_chunk(x)), present @ coef.T + intercept, rtol=1e-10, atol=1e-10)


@pytest.mark.parametrize("scheme", ["joint", "ovr", "reference"])
@pytest.mark.parametrize("scale", [None, "curvature"])
def test_decorrelation_pulls_the_columns_of_each_family(scheme, scale):
    x, y = rows()
    penalty = snb.L1(0.5) + snb.Decorrelation([0.05, 0.3], scale=scale)
    columns = {**APART, snb.Geometric(): COUNTS}
    path = snb.solve(snb.scan(x, y), snb.Mixed(columns), penalty, **options(scheme))
    for i, point in enumerate(path.grid):
        one = snb.L1(0.5) + snb.Decorrelation(point["decorrelation"], scale=scale)
        coef, _ = apart(x, y, columns, one, **options(scheme))
        assert np.array_equal(path[i].coef_, coef)
        assert np.array_equal(path.weights(i), coef)


@each_scheme
@pytest.mark.parametrize("family", ["gaussian", "poisson", "bernoulli", "multinomial", "geometric"])
def test_one_family_for_all_columns_is_that_family_to_the_bit(family, scheme, n_classes):
    x, y = rows(1, n_classes=n_classes)
    stats = snb.scan(np.abs(x), y)
    theirs = snb.solve(stats, family, PENALTIES["both"], **options(scheme))[0]
    for columns in ({family: ...}, {family: slice(None)}, {family: range(9)[::-1]}, {family: np.ones(9, bool)}):
        ours = snb.solve(stats, snb.Mixed(columns), PENALTIES["both"], **options(scheme))[0]
        assert np.array_equal(ours.coef_, theirs.coef_)
        assert np.array_equal(ours.intercept_, theirs.intercept_)
        assert np.array_equal(ours.decision_function(x), theirs.decision_function(x))


@pytest.mark.parametrize("by", ["weight", "score", "likelihood"])
@each_scheme
def test_top_k_ranks_the_columns_of_all_families(scheme, n_classes, by):
    x, y = rows(2, n_classes=n_classes)
    stats, mixed = snb.scan(x, y), snb.Mixed({**APART, snb.Geometric(): COUNTS})
    path = snb.solve(stats, mixed, snb.TopK([1, 4, 6, 9], by), **options(scheme))
    plain = snb.solve(stats, mixed, **options(scheme))[0].coef_
    before = np.zeros(plain.shape, bool)
    for i, k in enumerate([1, 4, 6, 9]):
        kept = path[i].coef_ != 0
        assert (kept.sum(axis=1) == k).all() and (kept >= before).all()
        assert np.array_equal(path[i].coef_, np.where(kept, plain, 0.0))
        if by == "weight":
            worst, best = np.where(kept, np.abs(plain), np.inf).min(axis=1), np.where(kept, 0.0, np.abs(plain))
            assert (best.max(axis=1) <= worst).all()
        before = kept


@pytest.mark.parametrize("k", [2, 5, 7])
def test_top_k_keeps_probabilities_of_coupled_columns_summing_to_one(k):
    """On the kept set A of the coupled columns p_y = (1 - Q_D) S_y / S_yA, on the others the pooled frequency."""
    x, y = rows(2)
    stats = snb.scan(x, y)
    plain = snb.solve(stats, MIXED)[0].coef_
    coef = snb.solve(stats, MIXED, snb.TopK(k))[0].coef_
    sums = stats.sum[:, COUNTS] + 1.0
    pooled = sums.sum(axis=0) / sums.sum()
    for u in range(4):
        kept = np.argsort(-np.abs(plain[u]), kind="stable")[:k]
        assert not coef[u, np.setdiff1d(np.arange(9), kept)].any()
        mine = np.isin(COUNTS, kept)
        share = pooled[mine].sum() * sums[u, mine] / sums[u, mine].sum()
        np.testing.assert_allclose(coef[u, COUNTS][mine], np.log(share / pooled[mine]), atol=1e-12)
        others = np.setdiff1d(kept, COUNTS)
        assert np.array_equal(coef[u, others], plain[u, others])


def test_ties_between_families_go_to_the_first_column():
    x, y = rows(3, n_classes=2)
    x = np.repeat(x[:, [1]] > 0, 4, axis=1).astype(float)
    mixed = snb.Mixed({"bernoulli": [1, 3], snb.Binomial(1): [0, 2]})
    path = snb.solve(snb.scan(x, y), mixed, snb.TopK([1, 2, 3], "score"), smoothing=0.0)
    assert [np.flatnonzero(path[i].coef_[0]).tolist() for i in range(3)] == [[0], [0, 1], [0, 1, 2]]


@pytest.mark.parametrize("mixed", [MIXED, snb.Mixed({**APART, "geometric": ...})], ids=["coupled", "apart"])
@pytest.mark.parametrize("scale", [None, "score"])
def test_grids_and_counts_are_over_all_columns(mixed, scale):
    x, y = rows(4)
    stats = snb.scan(x, y)
    path = snb.solve(stats, mixed, snb.L1(scale=scale, n_taus=6))
    for i in range(len(path)):
        coef = path[i].coef_
        assert path.n_features[i] == (coef != 0).any(axis=0).sum()
        assert path.n_features_per_class[i].tolist() == (coef != 0).sum(axis=1).tolist()
        for columns in (slice(None), slice(2, 7), slice(8, 1, -2), slice(4, 4)):
            assert np.array_equal(path.weights(i, columns), coef[:, columns])
    assert path.n_features[0] == 9 and path.n_features[-1] == (1 if not mixed.coupled else path.n_features.min())
    for n in (0, 9) if mixed.coupled else (0, 3, 9):
        tau = snb.tau_for(stats, mixed, n_features=n, scale=scale)
        assert snb.solve(stats, mixed, snb.L1(tau, scale=scale)).n_features.tolist() == [n]
    breaks = path.breakpoints(scale)
    for family, columns in mixed.parts(9):
        own = snb.solve(snb.scan(x[:, columns], y), family).breakpoints(scale)
        assert np.array_equal(breaks[columns], own)


# ----------------------------------------------------------------------------------------------- errors


@pytest.mark.parametrize("make", [np.asarray, sp.csr_array])
def test_each_family_has_its_own_domain(make):
    """Values that one column may not hold are no fault in the column of another family."""
    x, y = rows(14)
    assert (x[:, BERNOULLI] < 0).any() and (x[:, GAUSSIAN] < 0).any()
    snb.LinearNB(MIXED).fit(make(x), y)
    x[17, 3] = -2.0
    with pytest.raises(ValueError, match=r"Negative values.*family='poisson'.*row 17, column 3 is -2"):
        snb.LinearNB(MIXED).fit(make(x), y)
    x[17, 3], x[30, 6] = 2.0, 4.0
    with pytest.raises(ValueError, match=r"4\.0 at row 30, column 6; LinearNB\(family='binomial'\).*at most 3"):
        snb.LinearNB(MIXED).fit(make(x), y)
    chi = snb.Mixed({"chi_squared": [3], "gaussian": ...})
    x[:, 3] = np.abs(x[:, 3]) + 1.0
    snb.LinearNB(chi).fit(make(x), y).predict(make(x))
    model = snb.LinearNB(chi).fit(make(x), y)
    x[40, 3] = 0.0
    for use in (lambda: snb.LinearNB(chi).fit(make(x), y), lambda: model.predict(make(x))):
        with pytest.raises(ValueError, match=r"0\.0 at row 40, column 3.*above 0"):
            use()


WRONG = {
    "no dict": ("gaussian", TypeError, r"should be a dict from families.*or a list of pairs"),
    "no pairs": ([("gaussian", [0], [1])], TypeError, r"should be a dict from families.*or a list of pairs"),
    "empty": ({}, ValueError, r"names no family"),
    "empty list": ([], ValueError, r"names no family"),
    "the name and an object": (
        {"multinomial": [0, 1], snb.Multinomial(): ...},
        ValueError,
        r"Multinomial\(\) twice.*Mixed\(\[\(family, columns\), \.\.\]\)",
    ),
    "equal objects": (
        {snb.Multinomial(): [0, 1], snb.Multinomial(): [2, 3]},  # of which Python keeps the last
        ValueError,
        r"claims the columns \[0, 1, .*several groups of columns.*Mixed\(\[\(family, columns\), \.\.\]\)",
    ),
    "two rests of one family": ([("poisson", ...), ("poisson", ...)], ValueError, r"the rest \(\.\.\.\) to Poisson"),
    "claimed by both groups": ([("poisson", [0, 1]), ("poisson", [1])], ValueError, r"column 1 is claimed.*Poisson"),
    "unknown family": ({"normal": ...}, ValueError, r"'normal' is unknown"),
    "nested": ({snb.Mixed({"poisson": ...}): [0]}, TypeError, r"has a Mixed for a family"),
    "two rests": ({"poisson": ..., "gaussian": ...}, ValueError, r"the rest \(\.\.\.\) to Poisson\(\) and to Gaussian"),
    "two centres": ({snb.Laplace(1.0): [0], snb.Laplace(2.0): ...}, ValueError, r"centres \[1\.0, 2\.0\]"),
    "no columns": ({"poisson": None}, TypeError, r"columns of 'poisson' are None; they should be numbers"),
    "fractions": ({"poisson": [0.5]}, TypeError, r"columns of 'poisson' are \[0\.5\]"),
    "named slice": ({"poisson": slice("a", "b")}, TypeError, r"columns of 'poisson' are slice"),
    "numbers and names": ({"poisson": [0, "age"]}, TypeError, r"are \[0, 'age'\]; they should be numbers.*names"),
    "mixed names": ({"poisson": ["a", None]}, TypeError, r"columns of 'poisson' are \['a', None\]"),
    "a table": ({"poisson": np.eye(9, dtype=int)}, TypeError, r"columns of 'poisson'"),
    "claimed by two": (
        {"poisson": [0, 3], "gaussian": slice(2, 9), "bernoulli": ...},
        ValueError,
        r"column 3 is claimed by Poisson\(\) and by Gaussian\(.*\); each",
    ),
    "claimed twice": ({"poisson": [0, 3, 3], "gaussian": ...}, ValueError, r"column 3 is claimed twice by Poisson"),
    "claimed from both ends": ({"poisson": [8, -1], "gaussian": ...}, ValueError, r"column 8 is claimed twice"),
    "claimed by none": ({"poisson": slice(0, 2)}, ValueError, r"the columns \[2, 3, 4, 5, 6, \.\.\] \(7 of them"),
    "one left": ({"poisson": slice(0, 8)}, ValueError, r"claims the columns \[8\] of 9"),
    "too high": ({"poisson": [9], "gaussian": ...}, ValueError, r"Poisson\(\) have 9; X has 9 columns, from 0 to 8"),
    "too low": ({"poisson": [-10], "gaussian": ...}, ValueError, r"have -10"),
    "short mask": ({"poisson": [True, False], "gaussian": ...}, ValueError, r"mask of 2 entries; X has 9 columns"),
}


@pytest.mark.parametrize(("columns", "error", "words"), [pytest.param(*v, id=k) for k, v in WRONG.items()])
def test_wrong_columns_are_explained(columns, error, words):
    x, y = rows(16)
    for use in (lambda f: snb.solve(snb.scan(np.abs(x), y), f), lambda f: snb.LinearNB(f).fit(np.abs(x), y)):
        with pytest.raises(error, match=words):
            use(snb.Mixed(columns))


def test_a_fit_that_fails_changes_nothing():
    x, y = rows(17)
    frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(9)])
    model = snb.LinearNB(MIXED).fit(frame, y)
    scores = model.decision_function(frame)
    for fit in (model.fit, model.partial_fit):
        with pytest.raises(ValueError, match=r"columns|features|feature names"):
            fit(frame.iloc[:, :8].rename(columns={"c0": "other"}), y)
        assert model.feature_names_in_.tolist() == frame.columns.tolist()
        assert np.array_equal(model.decision_function(frame), scores)


def test_penalties_are_chosen_by_cross_validation_over_all_columns():
    x, y = rows(18)
    frame = pd.DataFrame(x, columns=[f"c{j}" for j in range(9)])
    named = snb.Mixed(
        {"gaussian": ["c0", "c5"], "bernoulli": ["c1", "c8"], snb.Laplace(0.5): ["c6"], "multinomial": ...}
    )
    grid = snb.L1([0.3, 2.0, 9.0])
    chosen = snb.LinearNBCV(named, grid, folds=3, scoring="accuracy").fit(frame, y)
    numbers, means = snb.fold_numbers(len(y), 3), []
    for tau in (0.3, 2.0, 9.0):
        parts = [(frame[numbers != f], y[numbers != f], frame[numbers == f], y[numbers == f]) for f in range(3)]
        scores = [snb.LinearNB(named, snb.L1(tau)).fit(a, b).score(c, d) for a, b, c, d in parts]
        means.append(np.mean(scores))
    np.testing.assert_allclose(chosen.cv_results_["mean_test_score"], means, rtol=1e-12)
    assert np.array_equal(chosen.coef_, snb.LinearNB(named, snb.L1(chosen.best_params_["l1"])).fit(frame, y).coef_)


def test_pairs_of_many_classes_vote_as_with_all_weights_held(monkeypatch):
    x, y = rows(19)
    whole = snb.LinearNB(MIXED, snb.L1(0.5), scheme="ovo").fit(x, y)
    monkeypatch.setattr(weight_paths, "PAIRS_BYTES", 0)
    model = snb.LinearNB(MIXED, snb.L1(0.5), scheme="ovo").fit(x, y)
    for given in (x, sp.csr_array(x)):
        np.testing.assert_allclose(model.decision_function(given), whole.decision_function(given), rtol=1e-9)
    x = np.exp(-1.0 - np.abs(x))
    for family in (snb.Beta(), snb.Mixed({"dirichlet": [0, 1], "gaussian": ...})):
        with pytest.raises(MemoryError, match=r"under scheme='ovo' holds the weights of all 6 pairs"):
            snb.LinearNB(family, scheme="ovo").fit(x, y)


def test_auto_goes_by_kinds_of_columns():
    counts, kinds = "multinomial", [("categorical", 2), ("gaussian", 1), ("bernoulli", 1), ("categorical", 3)]
    family = as_family("auto").named(None, [*kinds, (counts, 2), ("gaussian", 1), (counts, 1)])
    found = [(member.name, np.arange(11)[columns].tolist()) for member, columns in family.parts(11)]
    numbers, words = [("gaussian", [2, 9]), ("bernoulli", [3])], [(counts, [7, 8]), (counts, [10])]
    assert sorted(found) == sorted([*words, ("categorical", [0, 1, 4, 5, 6]), *numbers])
    assert next(member.sizes for member in family.members if member.name == "categorical") == (2, 3)
    with pytest.raises(ValueError, match="family='auto' goes by the kinds of columns of a table"):
        as_family("auto").named(["a"])
