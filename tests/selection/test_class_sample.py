"""The rows of each class that a second read keeps: the same however rows are cut, all of a class that has few."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb

N = 500
rng = np.random.default_rng(0)
Y = np.where(rng.random(N) < 0.02, "rare", np.where(np.arange(N) % 2, "b", "a"))
X = np.column_stack([np.arange(N), rng.poisson(1.0, (N, 3))]).astype(float)
WEIGHT = rng.choice([0.0, 1.0, 2.0], N)
STATS = snb.scan(X, Y, folds=4, seed=1)


def test_each_class_has_its_rows_and_a_rare_one_all():
    sample = snb.sample_rows(X, Y, STATS, rows=30)
    numbers = sample.X[:, 0].astype(int)
    n_rare = np.count_nonzero(Y == "rare")
    assert np.bincount(sample.codes).tolist() == [30, 30, n_rare] and n_rare < 30
    np.testing.assert_array_equal(STATS.classes[sample.codes], Y[numbers])
    np.testing.assert_array_equal(sample.X, X[numbers])
    np.testing.assert_array_equal(sample.fold, snb.fold_numbers(N, 4, seed=1)[numbers])
    assert len(set(numbers)) == len(numbers) and repr(sample) == f"<ClassSample: {60 + n_rare} rows, 4 features>"


def test_some_columns_and_what_the_scan_does_to_rows():
    stats = snb.scan(sp.csr_array(X), Y, transform="log1p")
    sample = snb.sample_rows(sp.csr_array(X), Y, stats, rows=None, columns=[3, 0])
    assert sample.columns.tolist() == [0, 3] and len(sample.codes) == N and not sample.fold.any()
    order = np.argsort(sample.dense()[:, 0])
    np.testing.assert_allclose(sample.dense()[order], np.log1p(X[:, [0, 3]]))


def test_classes_weigh_as_in_all_rows():
    stats = snb.scan(X, Y, sample_weight=WEIGHT)
    sample = snb.sample_rows(X, Y, stats, rows=40, sample_weight=WEIGHT)
    np.testing.assert_allclose(np.bincount(sample.codes, sample.shares(stats)), stats.weight)
    every = snb.sample_rows(X, Y, STATS, rows=None)
    assert (every.shares(STATS) == 1.0).all()
    np.testing.assert_array_equal(np.sort(every.by_fold().fold), every.by_fold().fold)


def test_what_is_wrong_is_named():
    for columns in ([4], [-1], [0.5], []):
        with pytest.raises(ValueError, match="columns should be numbers of features, from 0 to 3"):
            snb.sample_rows(X, Y, STATS, columns=columns)
    with pytest.raises(ValueError, match="rows=0 should be at least 1"):
        snb.sample_rows(X, Y, STATS, rows=0)
    with pytest.raises(TypeError, match="stats is of type NoneType"):
        snb.sample_rows(X, Y)
    with pytest.raises(MemoryError, match=r"30 rows of each of 3 classes, 4 values each.*fewer rows"):
        snb.sample_rows(X, Y, STATS, rows=30, memory_limit=100)
    with pytest.raises(ValueError, match="500 in the first"):
        snb.sample_rows(X[:-1], Y[:-1], STATS)
    with pytest.raises(ValueError, match="folds by 'given'"):
        snb.sample_rows(X, Y, snb.scan(X, Y, folds=np.arange(N) % 2))
