"""What is learned for transform= before the scan, of rows of any kind."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from scipy.stats import norm
from sklearn.preprocessing import QuantileTransformer

import streamnb as snb
from streamnb.core.persistence import load, save
from streamnb.encoding.bins import BinEdges, ValueScan
from streamnb.encoding.category_columns import CategoryColumns
from streamnb.encoding.learning import (
    ChosenColumns,
    StepsOfFolds,
    check_applied,
    check_learned,
    check_maps,
    learned,
    learned_maps,
    loaded_maps,
    of_values,
    prepared,
    quantile_normal,
    to_learn,
)
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.boundary import as_chunk
from streamnb.rows.opening import opened

X = np.random.default_rng(0).normal(size=(40, 2))
Y = np.arange(40) % 2


def test_what_is_learned_is_applied_to_rows_of_any_kind():
    bins = snb.Bins(3)
    assert to_learn(bins) is bins and to_learn("sqrt") is None and of_values("sqrt") == "sqrt"
    assert of_values(bins) is None and of_values("quantile_normal") is None
    step = learned(bins, opened(X, labelled=False), RunOptions(), "fit")
    expected = bins.fit(X).transform(X).toarray()
    assert learned("sqrt", opened(X, labelled=False), RunOptions(), "fit") is None
    for rows in (X, da.from_array(X, chunks=(15, 2))):
        sums = snb.scan(prepared(step, opened(rows, Y))).sum
        np.testing.assert_array_equal(sums, [expected[np.equal(Y, k)].sum(axis=0) for k in (0, 1)])
    assert check_learned(bins, step) is step and check_learned("log1p", None) is None
    with pytest.raises(ValueError, match=r"transform='quantile_normal' should come with .* not BinEdges"):
        check_learned("quantile_normal", step)
    with pytest.raises(ValueError, match=r"transform='quantile' is unknown.*'quantile_normal', .* or snb.Bins"):
        of_values("quantile")


WHOLE = np.arange(20.0).reshape(5, 4) % 7
KEPT = np.array([1, 3])
LEVELS = CategoryColumns(4, np.arange(4), [np.unique(column) for column in WHOLE.T])
BINS = BinEdges([np.array([2.5])] * 4, np.array([False, True, False, False]))


@pytest.mark.parametrize("step", [None, BINS, LEVELS], ids=["as they are", "bins", "categories"])
def test_the_columns_that_are_kept_are_those_of_all(step, tmp_path):
    chosen = ChosenColumns.of(step, 4, KEPT)
    every = WHOLE if step is None else step.applied(as_chunk(WHOLE)[0]).toarray()
    names = list("abcd") if step is None else step.names(list("abcd"))
    kept = [j for j, name in enumerate(names) if name[0] in "bd"]
    for rows in (WHOLE, sp.csr_array(WHOLE)):
        np.testing.assert_array_equal(chosen.applied(as_chunk(rows)[0]).toarray(), every[:, kept])
    assert chosen.names(list("abcd")) == [names[j] for j in kept]
    assert chosen.n_columns == len(kept) and chosen.n_features == 4
    save(tmp_path / "c", chosen)
    assert load(tmp_path / "c") == chosen


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


def test_columns_are_learned_once_and_only_where_there_is_something_to_learn():
    found = learned_maps(["none", "log1p", "quantile_normal"], opened(M, labelled=False), RunOptions(), "a test", None)
    assert list(found) == ["none", "log1p", "quantile_normal"] and found["none"].whole is None
    np.testing.assert_array_equal(found["log1p"].whole.taken, [True, False])
    np.testing.assert_array_equal(found["quantile_normal"].whole.quantiles[:, [0, -1]], [[0, 3], [-1, 2]])
    once = opened(iter([M]), labelled=False)
    assert learned_maps(["none"], once, RunOptions(), "a test", None) == {"none": StepsOfFolds()}
    with pytest.raises(ValueError, match="a test with maps= reads the rows more than once"):
        learned_maps(["log1p"], once, RunOptions(), "a test", None)


def test_what_does_not_go_together_is_named():
    maps = learned_maps(["log1p"], opened(M, labelled=False), RunOptions(), "a test", None)
    with pytest.raises(ValueError, match="normalize='l1' does not go with maps"):
        check_maps(["log1p"], None, "l1")
    with pytest.raises(ValueError, match="maps='none' is applied in the scan, which had 'log1p'"):
        check_applied([], maps["log1p"].whole)
    stats = snb.scan(M, [0, 1, 1])
    with pytest.raises(ValueError, match="statistics with maps='log1p' should be of the rows"):
        loaded_maps({"log1p": stats}, stats)


def quantiles_of(x):
    return quantile_normal(run(ValueScan(), opened(x, labelled=False), RunOptions())[0])


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
