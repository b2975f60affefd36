"""Borders of bins, their names, and rows that become indicators of bins."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.encoding.bins import BinEdges, check_edges
from streamnb.rows.boundary import as_chunk
from streamnb.stats.value_counts import ValueCounts

rng = np.random.default_rng(0)
X = np.column_stack([rng.normal(size=1000), rng.integers(0, 3, 1000), np.exp(rng.normal(0, 3, 1000))])


def learned(X, n_bins=8, strategy="quantile", missing="auto"):
    counts = ValueCounts()
    counts.add_rows(as_chunk(X, missing=True)[0])
    return BinEdges.learned(counts, n_bins, strategy, missing)


def test_equal_widths_lie_between_the_least_and_the_largest():
    edges = learned(X, 4, "uniform").edges
    np.testing.assert_allclose(edges[0], np.linspace(X[:, 0].min(), X[:, 0].max(), 5)[1:-1])
    assert edges[1].tolist() == [0.5, 1.5]


@pytest.mark.parametrize("strategy", ["quantile", "uniform"])
@pytest.mark.parametrize("n_values", [5, 16, 60])
def test_values_stay_in_their_bins_in_single_precision(n_values, strategy):
    x = np.random.default_rng(1).integers(0, n_values, (300, 1)) / 7
    bins = learned(x, 16, strategy)
    found = [bins.applied(as_chunk(x.astype(dtype))[0]).toarray() for dtype in (np.float64, np.float32)]
    np.testing.assert_array_equal(*found)


@pytest.mark.parametrize("form", [np.asarray, sp.csr_array, lambda x: x.astype(np.float32)])
def test_each_value_is_in_the_bin_that_holds_it(form):
    bins = BinEdges([np.array([0.0, 1.0]), np.zeros(0), np.array([2.5])], np.zeros(3, bool))
    x = np.array([[0.0, 7.0, 2.5], [-1.0, 0.0, 2.75], [0.5, 0.0, 0.0], [1.0, 0.0, 3.0], [2.0, 0.0, 2.0]])
    found = bins.applied(as_chunk(form(x))[0])
    assert found.shape == (5, 6) and found.nnz == 15 and (found.sum(axis=1) == 3).all()
    assert found[:, :3].toarray().argmax(axis=1).tolist() == [0, 0, 1, 1, 2]
    assert found[:, 3].toarray().all() and found[:, 5].toarray().tolist() == [0, 1, 0, 1, 0]


def test_names_say_the_range_in_as_few_digits_as_tell_borders_apart():
    bins = BinEdges([np.array([509.0, 733.0]), np.array([1e9, 1e9 + 1])], np.array([True, False]))
    assert bins.names(["x3", "t"]) == [
        "x3 in (-inf, 509]", "x3 in (509, 733]", "x3 in (733, inf)", "x3 is missing",
        "t in (-inf, 1000000000]", "t in (1000000000, 1000000001]", "t in (1000000001, inf)",
    ]  # fmt: skip


def test_borders_that_are_given_are_checked():
    assert check_edges(None, 3) is None
    assert [one.tolist() for one in check_edges([1, 2], 2).edges] == [[1.0, 2.0], [1.0, 2.0]]
    assert [one.tolist() for one in check_edges([[1], []], 2).edges] == [[1.0], []]
    for wrong, message in (
        ([[1], [2]], "2 lists for 3 features"),
        ([2, 1], "of feature 0 should be finite numbers that rise"),
        ([1, np.inf], "finite"),
    ):
        with pytest.raises(ValueError, match=message):
            check_edges(wrong, 3)
    with pytest.raises(TypeError, match="edges=3 should be a list"):
        check_edges(3, 3)


def test_files_are_checked():
    state = learned(X)._to_state()
    assert BinEdges._from_state(state).names("abc") == learned(X).names("abc")
    for wrong in (
        {"edges": state["edges"][::-1].copy()},
        {"missing": np.zeros(2, bool)},
        {"n_edges": np.array([7, -2, 11])},
    ):
        with pytest.raises(ValueError, match=r"edges|missing"):
            BinEdges._from_state({**state, **wrong})
