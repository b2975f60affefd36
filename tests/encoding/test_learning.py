"""What is learned for transform= before the scan, of rows of any kind."""

import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.preprocessing import QuantileTransformer

import streamnb as snb
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.learning import (
    ChosenColumns,
    OfCopies,
    check_applied,
    check_maps,
    learned_maps,
    loaded_maps,
    quantile_normal,
)
from streamnb.estimators.preparation import StepRequest
from streamnb.passes.contract import RunOptions
from streamnb.passes.passes import StatisticTask
from streamnb.passes.run import run, run_reads
from streamnb.rows.boundary import as_chunk
from streamnb.rows.opening import opened
from streamnb.stats.value_counts import ValueCounts

KEPT = np.array([1, 3])
BINS = BinEdges([np.array([2.5])] * 4, np.array([False, True, False, False]))


def test_names_of_chosen_columns():
    assert ChosenColumns.of(None, 4, KEPT).names(list("abcd")) == ["b", "d"]
    assert ChosenColumns.of(BINS, 4, KEPT).names(list("abcd"))[0] == "b in (-inf, 2.5]"


def test_files_of_other_columns_are_refused():
    state = {"taken": 4, "columns": KEPT, "step": None}
    for wrong in ({"columns": KEPT[::-1]}, {"taken": 3}, {"step": BINS}, {"columns": KEPT[:0]}):
        with pytest.raises(ValueError, match="kept should be"):
            ChosenColumns._from_state({**state, **wrong})


def test_trees_of_chosen_columns_are_trees_of_these(tmp_path):
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 200)
    rows = rng.integers(0, 3, (200, 6)) + y[:, None] * np.array([0, 1, 0, 0, 2, 1])
    for options in ({}, {"transform": snb.Bins(3)}, {"family": "categorical"}):
        model = snb.TreeNB(max_features=3, **options).fit(rows, y)
        kept = np.flatnonzero(model.parents_ > -2)
        apart = snb.TreeNB(**options).fit(rows[:, kept], y)
        assert (model.predict_proba(rows) == apart.predict_proba(rows[:, kept])).all() and len(kept) == 3
        model.save(tmp_path / "m")
        assert (snb.load(tmp_path / "m").predict(sp.csr_array(rows)) == model.predict(rows)).all()
        assert model.edges_["child"].isin([f"x{j}" for j in kept]).all()


M = np.array([[0.0, -1.0], [3.0, 2.0], [1.0, 0.0]])


def test_what_does_not_go_together_is_named():
    maps = run_reads(learned_maps(["log1p"], opened(M, labelled=False), RunOptions(), "a test", None))
    with pytest.raises(ValueError, match="normalize='l1' does not work with maps"):
        check_maps(["log1p"], None, "l1")
    with pytest.raises(ValueError, match="maps='none' is applied in the scan, which had 'log1p'"):
        check_applied([], maps["log1p"].whole)
    stats = snb.scan(M, [0, 1, 1])
    with pytest.raises(ValueError, match="statistics with maps='log1p' should be of the rows"):
        loaded_maps({"log1p": stats}, stats)


def quantiles_of(x):
    return quantile_normal(run(StatisticTask(ValueCounts()), opened(x, labelled=False), RunOptions())[0])


def test_it_is_scikit_learns_map_to_the_width_of_a_quantile():
    rng = np.random.default_rng(0)
    x = np.column_stack([rng.gamma(1.0, 1.0, 3000), rng.poisson(2.0, 3000), np.full(3000, 7.0)])
    ours = quantiles_of(x).applied(as_chunk(x)[0])
    theirs = QuantileTransformer(n_quantiles=1000, output_distribution="normal", subsample=None).fit(x).transform(x)
    inside = (x > x.min(axis=0)) & (x < x.max(axis=0))  # scikit-learn sends all of the least to -5.2, however many
    np.testing.assert_allclose(norm.cdf(ours[inside]), norm.cdf(theirs[inside]), atol=2e-3)
    zeros = norm.cdf(ours[x[:, 1] == 0.0, 1])
    np.testing.assert_allclose(zeros, (x[:, 1] == 0.0).mean() / 2.0, atol=1e-3)
    assert (np.argsort(ours[:, 0], kind="stable") == np.argsort(x[:, 0], kind="stable")).all()
    assert (ours[:, 2] == 0.0).all()  # the middle of the one step there is
    beyond = quantiles_of(x).applied(as_chunk(np.array([[-1.0, -1.0, 0.0], [99.0, 99.0, 9.0]]))[0])
    np.testing.assert_allclose(norm.cdf(beyond), [[1e-7] * 3, [1 - 1e-7] * 3])


REFUSED = {
    "another transform": (
        lambda: snb.LinearNB("gaussian", transform="quantile").fit(M, [0, 1, 1]),
        r"transform='quantile' is unknown.*'quantile_normal', .* or snb.Bins",
    ),
    "bins for ranks": (
        lambda: StepRequest("LinearNB", "quantile_normal").check(BinEdges([np.array([2.5])], np.zeros(1, bool))),
        r"transform='quantile_normal' should come with .* not BinEdges",
    ),
    "a pair of other columns": (
        lambda: snb.CategoryCounters(pairs=[(0, 2)], folds=2).fit(np.abs(M), [0, 1, 1]),
        "names a column that X, of 2 columns, has not",
    ),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_asked_of_columns_is_refused(call, message):
    with pytest.raises(ValueError, match=message):
        call()


# ---- Weights as whole numbers of copies in units: their sums are exact, and those of whole weights are the copies ----


def test_rows_without_weights_have_the_arrays_of_the_task_alone():
    """So files of older versions are read."""
    rows, options = opened(np.arange(9.0)[:, None], labelled=False), RunOptions(False)
    alone, _ = run(StatisticTask(ValueCounts()), rows, options)
    copies = OfCopies(ValueCounts())
    assert run(StatisticTask(copies), rows, options)[0].arrays().keys() == alone.arrays().keys()
    assert copies.of_arrays(alone.arrays()).whole().features[0].counts.tolist() == [1] * 9
