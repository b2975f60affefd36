"""Categorical: one multinomial for each column of categories, by the figures of hand and beside scikit-learn."""

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.naive_bayes import CategoricalNB

import streamnb as snb

rng = np.random.default_rng(0)
N = 300
Y = rng.integers(0, 3, N)
CODES = np.stack([(Y + rng.integers(0, 4, N)) % 5, rng.integers(0, 2, N), (2 * Y + rng.integers(0, 3, N)) % 7], axis=1)
SIZES = [5, 2, 7]
ENDS = np.cumsum(SIZES)
INDICATORS = np.concatenate([np.eye(size)[CODES[:, j]] for j, size in enumerate(SIZES)], axis=1)


def test_shares_by_hand_and_why_not_bernoulli():
    X = np.repeat([0, 0, 1, 2, 0, 1, 2], [10, 10, 10, 10, 12, 12, 12])[:, None]
    y = np.repeat([1, 0], [40, 36])
    model = snb.LinearNB(snb.Categorical(), smoothing=0).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], np.log([1.5, 0.75, 0.75]), rtol=1e-15)
    gain = model.decision_function([[0]]) - model.intercept_
    assert gain[0].round(4) == 0.4055
    one_hot = snb.LinearNB("bernoulli", smoothing=0).fit(np.eye(3)[X[:, 0]], y)
    gain = one_hot.decision_function(np.eye(3)[:1]) - np.log(40 / 36)
    assert gain[0].round(3) == 0.641


@pytest.mark.parametrize("smoothing", [1.0, 0.25])
def test_as_scikit_learns(smoothing):
    theirs = CategoricalNB(alpha=smoothing).fit(CODES, Y)
    dropped_in = snb.CategoricalNB(alpha=smoothing).fit(CODES, Y)
    for X in (CODES, sp.csr_array(CODES.astype(float))):
        ours = snb.LinearNB("categorical", smoothing=smoothing).fit(X, Y)
        np.testing.assert_allclose(ours.predict_proba(X), theirs.predict_proba(CODES), rtol=1e-12)
        np.testing.assert_allclose(ours.predict_proba(X), dropped_in.predict_proba(CODES), rtol=1e-12)
        np.testing.assert_array_equal(ours.predict_proba(X, predictive=True), ours.predict_proba(X))


@pytest.mark.parametrize("penalty", [None, snb.L1(3.0), snb.L2(2.0), snb.L1(2.0) + snb.L2(0.5)], ids=repr)
@pytest.mark.parametrize("scheme", ["joint", "ovr", "reference"])
def test_codes_indicators_and_multinomials_of_columns_are_one(penalty, scheme):
    options = {"scheme": scheme, "reference": 1 if scheme == "reference" else None}
    coded = snb.LinearNB(snb.Categorical(), penalty, **options).fit(CODES, Y)
    given = snb.LinearNB(snb.Categorical(SIZES), penalty, **options).fit(INDICATORS, Y)
    spans = zip(ENDS - SIZES, ENDS)
    mixed = snb.LinearNB(snb.Mixed([("multinomial", slice(a, b)) for a, b in spans]), penalty, **options)
    np.testing.assert_array_equal(coded.coef_, given.coef_)
    np.testing.assert_array_equal(coded.coef_, mixed.fit(INDICATORS, Y).coef_)
    if penalty is not None and penalty.parts[0].kind == "l1":
        assert 0 < np.count_nonzero(coded.coef_) < coded.coef_.size


def g_statistic(table):
    """Twice the likelihood that is lost with the column: scipy.stats.chi2_contingency(.., lambda_="log-likelihood")."""
    expected = table.sum(axis=1, keepdims=True) * table.sum(axis=0) / table.sum()
    return 2.0 * (table * np.log(table / expected)).sum()


@pytest.mark.parametrize("by", ["weight", "score", "likelihood"])
def test_top_k_keeps_columns(by):
    free = snb.LinearNB("categorical", smoothing=0.5, scheme="ovr").fit(CODES, Y)
    for k in (1, 2, 3):
        model = snb.LinearNB("categorical", snb.TopK(k, by), smoothing=0.5, scheme="ovr").fit(CODES, Y)
        for r, row in enumerate(model.coef_ != 0.0):
            kept = [part.any() for part in np.split(row, ENDS[:-1])]
            assert np.array_equal(row, np.repeat(kept, SIZES)) and sum(kept) == k
            if by == "likelihood":
                tables = (np.stack([np.bincount(x[r == Y], minlength=n), np.bincount(x[r != Y], minlength=n)]) + 0.5
                          for x, n in zip(CODES.T, SIZES))  # fmt: skip
                lost = np.array([g_statistic(table) for table in tables])
                assert np.array_equal(kept, lost >= np.sort(lost)[-k])
        np.testing.assert_allclose(model.coef_, np.where(model.coef_ != 0.0, free.coef_, 0.0), rtol=1e-12)


def test_top_k_counts_a_column_of_categories_once_beside_others():
    X = np.column_stack([rng.normal(size=N), CODES[:, 0], Y + 0.1 * rng.normal(size=N), CODES[:, 1]])
    family = snb.Mixed({"gaussian": [0, 2], "categorical": ...})
    kept = [
        snb.LinearNB(family, snb.TopK(k, "likelihood"), scheme="ovr").fit(X, Y).coef_[0] != 0.0 for k in (1, 2, 3, 4)
    ]
    assert np.flatnonzero(kept[0]).tolist() == [6]
    assert np.flatnonzero(kept[1]).tolist() == [1, 2, 3, 4, 5, 6]
    assert kept[3].all()
    with pytest.raises(ValueError, match=r"TopK\(k=5\) keeps more features than the 4"):
        snb.LinearNB(family, snb.TopK(5)).fit(X, Y)


def test_the_choice_by_folds_sees_columns():
    search = snb.LinearNBCV("categorical", snb.TopK([1, 2, 3]), folds=3, scoring="accuracy").fit(CODES, Y)
    folds = snb.fold_numbers(N, 3)
    for point, k in enumerate((1, 2, 3)):
        scores = []
        for fold in range(3):
            out = folds == fold
            model = snb.LinearNB(snb.Categorical(SIZES), snb.TopK(k)).fit(INDICATORS[~out], Y[~out])
            scores.append(model.score(INDICATORS[out], Y[out]))
        assert search.cv_results_["mean_test_score"][point] == pytest.approx(np.mean(scores), abs=1e-12)


def test_names_values_that_are_new_and_bins():
    model = snb.LinearNB("categorical").fit([[3, 0], [3, 2], [7, 0], [7, 2]], [0, 0, 1, 1])
    assert model.column_names_.tolist() == ["x0=3", "x0=7", "x1=0", "x1=2"] and model.n_features_in_ == 2
    assert model.decision_function([[5, 9]]) == model.intercept_  # adds nothing
    X = rng.normal(size=(N, 2)) + Y[:, None]
    bins = snb.Bins(4)
    inside = snb.LinearNB("categorical", transform=bins).fit(X, Y)
    outside = snb.LinearNB(snb.Categorical([4, 4])).fit(bins.fit_transform(X), Y)
    np.testing.assert_array_equal(inside.coef_, outside.coef_)


@pytest.mark.parametrize("sizes", [[], [0], [1.5], "ab", [[1]], [True]], ids=repr)
def test_sizes_that_are_none(sizes):
    with pytest.raises(ValueError, match=r"sizes=.* should be a list of whole numbers above 0"):
        snb.Categorical(sizes)


def test_what_does_not_go_together():
    for family in (snb.Categorical(), snb.Mixed({"categorical": ...})):
        with pytest.raises(ValueError, match="numbers of categories, of which LinearNB"):
            snb.solve(snb.scan(CODES, Y), family)
    with pytest.raises(ValueError, match="is of 5 indicators, but X has 3 columns"):
        snb.LinearNB(snb.Categorical([2, 3])).fit(CODES, Y)
    for option in ({"normalize": "l1"}, {"idf": True}, {"transform": "log1p"}, {"transform": ("l1",)}):
        (name,) = option
        with pytest.raises(ValueError, match=f"{name}=.* is nothing for the categories"):
            snb.LinearNB("categorical", **option).fit(CODES, Y)
    with pytest.raises(ValueError, match="is nothing for the categories"):
        snb.LinearNB(snb.Mixed({"categorical": ...}), transform=snb.Bins(3)).fit(CODES, Y)
    model = snb.LinearNB("categorical").fit(CODES, Y)
    with pytest.raises(ValueError, match="learned before the scan"):
        model.refit(family="bernoulli")
    with pytest.raises(ValueError, match=r"X has values above 1|at most 1"):
        snb.LinearNB(snb.Categorical([3])).fit(CODES, Y)
