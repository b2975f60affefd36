"""Tests of classes against the rest, beside SciPy's from all values; bins, batches, nothing that varies; refusals."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy import stats as scipy_stats

import streamnb as snb
from streamnb.stats.tables import SparseTable
from tests.support.refusals import refused

N, F = 240, 12
RNG = np.random.default_rng(0)
Y = np.array(["a", "b", "c"])[RNG.integers(0, 3, N)]
COUNTS = RNG.poisson(0.5 + (np.arange(F) % 4 == np.searchsorted(["a", "b", "c"], Y)[:, None])).astype(float)
COUNTS[:, 5], COUNTS[:, 6] = 0.0, 3.0  # features that do not vary
LOG = np.log1p(COUNTS * RNG.lognormal(size=(N, 1)))
WHOLE = {"histogram": "value", "n_bins": 16}


def by_feature(found, group, column):
    return found[found["group"] == group].set_index("names")[column].loc[range(F)].to_numpy()


def welch(values, own, overestimate=False):
    """SciPy's test, with scanpy's treatment of features that do not vary."""
    sides = [values[own], values[~own]]
    n = [own.sum(), own.sum() if overestimate else (~own).sum()]
    (m1, s1), (m2, s2) = ((side.mean(axis=0), side.std(axis=0, ddof=1)) for side in sides)
    with np.errstate(all="ignore"):
        t, p = scipy_stats.ttest_ind_from_stats(m1, s1, n[0], m2, s2, n[1], equal_var=False)
        return np.nan_to_num(t), np.where(np.isnan(p), 1.0, p), np.log2((np.expm1(m1) + 1e-9) / (np.expm1(m2) + 1e-9))


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
@pytest.mark.parametrize("test", ["t-test", "t-test_overestim_var"])
def test_t_tests_are_those_of_scipy(test, form):
    found = snb.scan(form(LOG), Y).markers(None, test=test)
    assert found.columns.tolist() == ["group", "names", "scores", "logfoldchanges", "pvals", "pvals_adj"]
    assert found["group"].cat.categories.tolist() == ["a", "b", "c"] and len(found) == 3 * F
    for label in "abc":
        t, p, change = welch(LOG, label == Y, test != "t-test")
        varied = LOG.var(axis=0) > 1e-20
        for column, expected in (("scores", t), ("pvals", p), ("logfoldchanges", change)):
            assert by_feature(found, label, column)[varied] == pytest.approx(expected[varied], rel=1e-9)
        adjusted = scipy_stats.false_discovery_control(by_feature(found, label, "pvals"))
        assert by_feature(found, label, "pvals_adj") == pytest.approx(adjusted, rel=1e-12)
        assert (np.diff(found["scores"][found["group"] == label]) <= 0.0).all()
        assert by_feature(found, label, "scores")[5] == 0.0 and by_feature(found, label, "pvals")[5] == 1.0
    few = snb.scan(form(LOG), Y).markers(2, test=test, corr="bonferroni")
    assert few["pvals_adj"].tolist() == np.minimum(few["pvals"] * F, 1.0).tolist()
    assert few["names"].tolist() == found.groupby("group", observed=True).head(2)["names"].tolist()


def test_means_that_differ_for_certain_have_p_0():
    found = snb.scan([[1.0, 2.0]] * 3 + [[2.0, 2.0]] * 3, [0, 0, 0, 1, 1, 1]).markers()
    assert found[["group", "names", "scores", "pvals"]].values.tolist() == [
        [0, 1, 0.0, 1.0],
        [0, 0, -np.inf, 0.0],
        [1, 0, np.inf, 0.0],
        [1, 1, 0.0, 1.0],
    ]


def test_sums_far_from_zero_keep_their_digits():
    near, far = (snb.scan(np.round(LOG * 64) + c, Y).markers(None)["scores"] for c in (0.0, 2.0**16))
    assert far.to_numpy() == pytest.approx(near.to_numpy(), rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_rank_sums_of_counts_are_those_of_scipy(form):
    stats = snb.scan(form(COUNTS), Y, **WHOLE)
    corrected, plain = (stats.markers(None, test="wilcoxon", tie_correct=tied) for tied in (True, False))
    assert corrected.attrs["error"] == 0.0
    varied = COUNTS.var(axis=0) > 0.0
    for label in "abc":
        own = label == Y
        u, p = scipy_stats.mannwhitneyu(COUNTS[own], COUNTS[~own], use_continuity=False, method="asymptotic")
        assert by_feature(corrected, label, "pvals")[varied] == pytest.approx(p[varied], rel=1e-9)
        n, m = own.sum(), (~own).sum()
        z = (u - n * m / 2.0) / np.sqrt(n * m * (n + m + 1) / 12.0)
        assert by_feature(plain, label, "scores") == pytest.approx(z, rel=1e-9, abs=1e-9)


def test_rank_sums_of_bins_err_by_no_more_than_they_say():
    stats = snb.scan(sp.csr_array(LOG), Y, histogram="bins", n_bins=256)
    found = stats.markers(None, test="wilcoxon")
    worst = 0.0
    for label in "abc":
        own = label == Y
        u = scipy_stats.mannwhitneyu(LOG[own], LOG[~own]).statistic
        n, m = own.sum(), (~own).sum()
        z = (u - n * m / 2.0) / np.sqrt(n * m * (n + m + 1) / 12.0)
        worst = max(worst, abs(by_feature(found, label, "scores") - z).max())
    assert worst <= found.attrs["error"] < 0.5  # without zeros apart the bound would be far above 1
    alike = snb.scan(LOG, Y, histogram="bins", n_bins=256, moments=["sum", "sum_sq"]).markers(None, test="wilcoxon")
    assert alike.attrs["error"] > 1.0


@pytest.mark.parametrize("batch", [False, True])
@pytest.mark.parametrize("test", ["t-test", "wilcoxon"])
def test_sparse_tables_give_the_same(test, batch):
    stats = snb.scan(sp.csr_array(LOG), Y, histogram="bins", batch=np.arange(N) % 2)
    found = stats.with_tables(SparseTable.of).markers(None, test=test, batch=batch)
    assert found.equals(stats.markers(None, test=test, batch=batch))


def test_weights_count_as_frequency():
    weight = RNG.integers(1, 4, N)
    weighted = snb.scan(COUNTS, Y, sample_weight=weight, **WHOLE)
    repeated = snb.scan(np.repeat(COUNTS, weight, axis=0), np.repeat(Y, weight), **WHOLE)
    for test in ("t-test", "wilcoxon"):
        a, b = (stats.markers(None, test=test) for stats in (weighted, repeated))
        assert a["scores"].to_numpy() == pytest.approx(b["scores"].to_numpy(), rel=1e-12)


@pytest.mark.parametrize("test", ["t-test", "wilcoxon"])
def test_labels_of_an_indicator_are_compared_with_all_other_rows(test):
    labels = np.column_stack([Y == "a", Y != "c"]).astype(int)
    found = snb.scan(COUNTS, labels, **WHOLE).markers(None, test=test)
    alone = snb.scan(COUNTS, Y == "c", **WHOLE).markers(None, test=test)
    assert by_feature(found, 1, "scores") == pytest.approx(by_feature(alone, False, "scores"), rel=1e-9)


BATCH = np.array(["s1", "s2", "s3"])[RNG.integers(0, 3, N)]
SHIFTED = COUNTS + 2.0 * (BATCH == "s2")[:, None]  # a batch that says nothing about classes


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array])
def test_differences_of_batches_are_averaged_as_least_squares_does(form):
    stats = snb.scan(form(SHIFTED), Y, batch=BATCH)
    assert stats.folding.names == ("s1", "s2", "s3")
    found = stats.markers(None, batch=True)
    for label in "abc":
        design = np.column_stack([label == Y, *(name == BATCH for name in np.unique(BATCH))]).astype(float)
        expected = np.linalg.lstsq(design, SHIFTED)[0][0]
        own = [(name == BATCH) & (label == Y) for name in np.unique(BATCH)]
        rest = [(name == BATCH) & (label != Y) for name in np.unique(BATCH)]
        shares = np.array([a.sum() * b.sum() / (a.sum() + b.sum()) for a, b in zip(own, rest, strict=True)])
        shares /= shares.sum()
        parts = [
            (share**2 * SHIFTED[side].var(axis=0, ddof=1) / side.sum(), side.sum() - 1)
            for share, *sides in zip(shares, own, rest, strict=True)
            for side in sides
        ]
        variance = sum(part for part, _ in parts)
        with np.errstate(all="ignore"):
            t, freedom = expected / np.sqrt(variance), variance**2 / sum(part**2 / n for part, n in parts)
        varied = variance > 1e-20
        assert by_feature(found, label, "scores")[varied] == pytest.approx(t[varied], rel=1e-9)
        p = 2.0 * scipy_stats.t.sf(abs(t), freedom)
        assert by_feature(found, label, "pvals")[varied] == pytest.approx(p[varied], rel=1e-9)


def test_rank_sums_within_batches_are_of_van_elteren():
    found = snb.scan(SHIFTED, Y, batch=BATCH, **WHOLE).markers(None, test="wilcoxon", batch=True, tie_correct=True)
    for label in "abc":
        excess, variance = 0.0, 0.0
        for name in np.unique(BATCH):
            here, own = SHIFTED[name == BATCH], Y[name == BATCH] == label
            n, ranks = len(here), scipy_stats.rankdata(here, axis=0)
            mean = own.sum() * (n + 1) / 2.0
            excess = excess + (ranks[own].sum(axis=0) - mean) / (n + 1)
            variance = variance + own.sum() * (n - own.sum()) * ranks.var(axis=0, ddof=1) / n / (n + 1) ** 2
        z = np.divide(excess, np.sqrt(variance), out=np.zeros(F), where=variance > 0.0)
        assert by_feature(found, label, "scores") == pytest.approx(z, rel=1e-9, abs=1e-12)


def test_batches_change_nothing_where_all_rows_are_compared_or_in_one_batch(tmp_path):
    plain, kept = snb.scan(COUNTS, Y), snb.scan(COUNTS, Y, batch=BATCH)
    assert kept.markers(None).equals(plain.markers(None))
    twice = snb.scan(np.vstack([COUNTS, COUNTS[:3]]), [*Y, *Y[:3]], batch=["a"] * N + ["b", "c", "d"])
    assert twice.markers(None, batch=True)["scores"].to_numpy() == pytest.approx(
        plain.markers(None)["scores"].to_numpy()
    )
    kept.save(tmp_path / "stats.snb")
    assert snb.load(tmp_path / "stats.snb").markers(None, batch=True).equals(kept.markers(None, batch=True))


def test_fold_changes_are_of_means_that_are_not_negative():
    values = np.array([[-1.0, -1.0, 0.0, 1.0], [-1.0, -1.0, 0.0, 1.0], [-2.0, 1.0, 1.0, 0.5], [-2.0, 1.0, 1.0, 0.5]])
    table = snb.scan(values, ["a", "a", "b", "b"]).markers(None)
    found = table[table["group"] == "a"].sort_values("names")["logfoldchanges"].to_numpy()
    expected = np.log2((np.expm1([0.0, 1.0]) + 1e-9) / (np.expm1([1.0, 0.5]) + 1e-9))
    np.testing.assert_allclose(found, [np.nan, np.nan, *expected])


def test_refusals():
    stats = snb.scan(COUNTS, Y)
    for options, message in (
        ({"test": "anova"}, "test='anova' is unknown"),
        ({"corr": "holm"}, "corr='holm' is unknown"),
        ({"test": "wilcoxon"}, "these statistics hold no histogram"),
        ({"batch": True}, "these statistics know no batches"),
    ):
        with refused(ValueError, message):
            stats.markers(**options)
    with refused(TypeError, "batch='obs/sample' should be True or False"):
        stats.markers(batch="obs/sample")
    with refused(ValueError, "these statistics know no batches"):  # drawn folds are none
        snb.scan(COUNTS, Y, folds=3).markers(batch=True)
    with refused(ValueError, "batch should have one entry for each row of X"):
        snb.scan(COUNTS, Y, batch=BATCH[1:])
    with refused(ValueError, "there is one class only"):
        snb.scan(COUNTS, ["a"] * N).markers()
    with refused(ValueError, "class 'd' has 1 of 241 rows"):
        (stats + snb.scan(COUNTS[:1], ["d"])).markers()
    with refused(ValueError, "class 'd' has no rows; of classes= list only those that rows have"):
        snb.scan(COUNTS, Y, classes=[*np.unique(Y), "d"]).markers()
    with refused(ValueError, "lack the moment 'sum_sq'"):
        snb.scan(COUNTS, Y, moments=["sum"]).markers()
    with refused(ValueError, "use histogram='bins' for values below 0"):
        snb.scan(COUNTS - 1.0, Y, **WHOLE)
    with refused(ValueError, "takes two rows of each class and of the others, in one batch at least"):
        snb.scan(COUNTS, Y, batch=Y).markers(batch=True)
    with refused(ValueError, "leave it out"):
        snb.scan(COUNTS, Y, batch=["s"] * N)
    with refused(ValueError, "leave folds out"):
        snb.scan(COUNTS, Y, batch=BATCH, folds=3)
    with refused(ValueError, "these statistics have the folds named .*, the others named"):
        snb.scan(COUNTS, Y, batch=BATCH) + snb.scan(COUNTS, Y, batch=np.char.replace(BATCH, "s", "t"))


def test_ties_that_bins_make_are_not_corrected():
    stats = snb.scan(np.arange(40.0)[:, None], np.repeat(["a", "b"], 20), histogram="bins", n_bins=4)
    with pytest.raises(ValueError, match="tie_correct=True needs to know which values are equal"):
        stats.markers(test="wilcoxon", tie_correct=True)
