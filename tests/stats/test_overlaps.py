"""Rows that bear two labels at once, counted in any blocks and splits."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.stats.grouping import Overlaps

rng = np.random.default_rng(3)
Y = (rng.random((90, 5)) < [0.6, 0.3, 0.05, 0.5, 0.2]).astype(int)
X = rng.poisson(1.0, (90, 3))


def counted(y):
    """The naive twin."""
    both = y.T @ y
    return both - np.diag(np.diag(both))


def test_counts_are_of_rows_that_weigh_anything():
    weight = rng.choice([0.0, 0.5, 3.0], 90)
    stats = snb.scan(X, Y, sample_weight=weight)
    assert np.array_equal(stats.overlaps.counts.toarray(), counted(Y[weight > 0]))
    assert np.array_equal(stats.overlaps.counts[[3]].toarray()[0], counted(Y[weight > 0])[3])
    assert stats.nbytes > sum(table.nbytes for table in stats.tables.values()) + stats.overlaps.counts.data.nbytes


def test_folds_have_their_own():
    stats = snb.scan(X, Y, folds=3, repeats=2)
    assert np.array_equal(stats.overlaps.counts.toarray(), counted(Y))
    for repeat in range(2):
        numbers = snb.fold_numbers(90, 3, repeat=repeat)
        for fold in range(3):
            own = stats.fold(fold, repeat).overlaps.counts.toarray()
            assert np.array_equal(own, counted(Y[numbers == fold]))
            rest = stats.without_fold(fold, repeat).overlaps.counts.toarray()
            assert np.array_equal(rest, counted(Y[numbers != fold]))


def test_what_was_never_there_is_not_taken_away():
    """The sums of the labels alone would let these rows go."""
    x, y = np.ones((4, 1)), np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    for gone, what in (
        ([[1, 1], [0, 0]], "more of them bear no label than there are"),
        ([[1, 1]], "more of them bear the labels 0 and 1 together than there are"),
    ):
        with pytest.raises(ValueError, match=what):
            snb.scan(x, y) - snb.scan(x[: len(gone)], np.array(gone))
        with pytest.raises(ValueError, match=what):
            snb.LinearNB("poisson").fit(x, y).forget(x[: len(gone)], np.array(gone))


def test_rows_without_any_label():
    stats = snb.scan(X, Y, folds=2)
    bare = Y.sum(axis=1) == 0
    assert stats.unlabelled.n_rows == bare.sum() > 0
    assert np.array_equal(stats.unlabelled.sum[0], X[bare].sum(axis=0))
    assert np.array_equal(stats.every.sum[0], X.sum(axis=0))
    assert stats.fold(0).unlabelled.n_rows + stats.fold(1).unlabelled.n_rows == bare.sum()
    assert (stats * 0.5).unlabelled.weight[0] == bare.sum() / 2


def test_labels_that_come_later():
    wide = Overlaps(sp.csr_array(counted(Y))).widened(7)
    assert wide.counts.shape == (7, 7) and np.array_equal(wide.counts.toarray()[:5, :5], counted(Y))
    model = snb.LinearNB("poisson").partial_fit(X, Y[:, :3]).partial_fit(X, Y)
    expected = counted(Y) + np.pad(counted(Y[:, :3]), (0, 2))
    assert np.array_equal(model.stats_.overlaps.counts.toarray(), expected)


def test_what_is_no_table_of_a_file_is_refused():
    one = np.array([1])
    with pytest.raises(ValueError, match="indices"):
        Overlaps._from_state({"counts": one, "labels": np.array([2]), "ends": np.array([0, 1, 1])})
    with pytest.raises(ValueError, match=r"ends is int64 \(1, 1\)"):
        Overlaps._from_state({"counts": one, "labels": one, "ends": one[None]})


def test_statistics_of_before():
    """Files of earlier versions have neither; sums with them have neither, and a reference asks for another scan."""
    state = {k: v for k, v in snb.scan(X, Y)._to_state().items() if k not in ("overlaps", "unlabelled")}
    old = snb.ClassStats._from_state(state)
    total = old + snb.scan(X, Y)
    assert total.overlaps is None and total.unlabelled is None and total.n_rows == 180
    with pytest.raises(ValueError, match=r"an earlier version, which did not count .* scan the rows again"):
        snb.solve(total, "poisson", scheme="reference", reference=0)
    with pytest.raises(ValueError, match="an earlier version, which did not keep the rows without any label apart"):
        snb.solve(total, "poisson", scheme="reference", reference=snb.UNLABELLED)
    snb.solve(total, "poisson", scheme="reference", reference=0, overlap="keep")
