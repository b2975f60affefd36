"""Folds kept by the scan: a pure function of row or group, exact differences, whatever holds the rows."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from streamnb.rows import splits

rng = np.random.default_rng(0)
X = rng.poisson(0.6, (203, 7)).astype(float)
y = rng.integers(0, 3, 203)
groups = rng.integers(0, 40, 203)
weight = rng.random(203)


def same(a, b, moments=("sum", "sum_sq", "nonzero", "above")):
    assert a.classes.tolist() == b.classes.tolist()
    assert a.rows.tolist() == b.rows.tolist()
    assert (a.weight == b.weight).all()
    for moment in moments:
        assert (getattr(a, moment) == getattr(b, moment)).all()


@given(st.integers(1, 200), st.integers(2, 9) | st.just(40), st.integers(0, 5), st.integers(0, 3))
@settings(max_examples=50)
def test_fold_sizes_differ_by_one_at_most(n_rows, folds, seed, repeat):
    sizes = np.bincount(snb.fold_numbers(n_rows, folds, seed=seed, repeat=repeat), minlength=folds)
    assert len(sizes) == folds
    assert sizes.max() - sizes.min() <= 1


def test_folds_are_the_same_for_ever():
    """A change would make old statistics useless."""
    assert snb.fold_numbers(8, 3).tolist() == [2, 0, 1, 2, 1, 0, 2, 0]
    assert snb.fold_numbers(12, 4, seed=1, groups=list("abcdefghijkl")).tolist() == [1, 1, 2, 3, 3, 2, 1, 2, 3, 0, 0, 0]


def test_seeds_and_repeats_split_differently():
    splits = {tuple(snb.fold_numbers(50, 5, seed=s, repeat=r)) for s in range(4) for r in range(4)}
    assert len(splits) == 16


def test_rows_of_a_group_share_a_fold_whatever_the_order_of_rows():
    numbers = snb.fold_numbers(203, 5, groups=groups, seed=2)
    for g in np.unique(groups):
        assert len(set(numbers[groups == g])) == 1
    order = rng.permutation(203)
    assert (snb.fold_numbers(203, 5, groups=groups[order], seed=2) == numbers[order]).all()
    words = snb.fold_numbers(203, 5, groups=groups.astype(str), seed=2)
    assert (snb.fold_numbers(203, 5, groups=groups.astype(str).astype(object), seed=2) == words).all()


@given(st.lists(st.integers(1, 30), min_size=2, max_size=40), st.integers(2, 9), st.integers(0, 20), st.integers(0, 2))
@settings(max_examples=100)
def test_every_fold_gets_groups_and_folds_have_about_as_many_rows(sizes, folds, seed, repeat):
    column = np.repeat(np.arange(len(sizes)), sizes)
    numbers = snb.fold_numbers(len(column), folds, groups=column, seed=seed, repeat=repeat)
    n_rows = np.bincount(numbers, minlength=folds)
    assert np.count_nonzero(n_rows) == min(folds, len(sizes))
    if len(sizes) >= folds:
        assert n_rows.max() - n_rows.min() <= max(sizes)


def test_groups_that_were_not_counted_have_the_fold_of_their_value(monkeypatch):
    counted = snb.fold_numbers(203, 5, groups=groups)
    monkeypatch.setattr(splits, "MOST_COUNTED", 10)
    hashed = snb.fold_numbers(203, 5, groups=groups)
    assert (hashed != counted).any() and (snb.fold_numbers(40, 5, groups=np.arange(40))[groups] == hashed).all()
    part = splits.Folding(5, by="groups").counted(np.arange(3))
    assert (
        part.numbers(0, 40, np.arange(40), 0)[3:].tolist() == snb.fold_numbers(40, 5, groups=np.arange(40))[3:].tolist()
    )


def test_statistics_of_other_groups_add_up_and_those_of_groups_in_other_folds_are_refused(tmp_path):
    first, second = groups < 20, groups >= 20
    one, two = (snb.scan(X[here], y[here], folds=4, groups=groups[here]) for here in (first, second))
    two.save(tmp_path / "two.snb")
    both = one + snb.load(tmp_path / "two.snb")
    numbers = both.folding.numbers(0, 203, groups, 0)
    for fold in range(4):
        same(both.fold(fold), snb.scan(X[numbers == fold], y[numbers == fold]))
    same(both - two, one)
    with pytest.raises(ValueError, match="rows of one group are in different folds of these statistics"):
        one + snb.scan(X, y, folds=4, groups=groups)


@pytest.mark.parametrize("weights", [None, weight], ids=["plain", "weighted"])
@pytest.mark.parametrize("by", ["rows", "groups", "given"])
def test_a_fold_and_what_it_leaves_are_scans_of_those_rows(by, weights):
    options = {
        "rows": {"folds": 4, "seed": 7},
        "groups": {"folds": 4, "groups": groups},
        "given": {"folds": groups % 4},
    }
    stats = snb.scan(X, y, sample_weight=weights, **options[by])
    if by == "given":
        numbers = groups % 4
    else:
        numbers = snb.fold_numbers(203, 4, seed=options[by].get("seed", 0), groups=options[by].get("groups"))
    assert stats.n_folds == 4
    same(stats, snb.scan(X, y, sample_weight=weights))
    for fold in range(4):
        here, w = numbers == fold, (lambda rows: None if weights is None else weights[rows])
        same(stats.fold(fold), snb.scan(X[here], y[here], sample_weight=w(here)))
        same(stats.without_fold(fold), snb.scan(X[~here], y[~here], sample_weight=w(~here)))


def test_every_repeat_is_split_and_sums_to_the_same():
    stats = snb.scan(X, y, folds=3, repeats=2, seed=5)
    assert stats.n_rows == 203
    for repeat in range(2):
        numbers = snb.fold_numbers(203, 3, seed=5, repeat=repeat)
        for fold in range(3):
            here = numbers == fold
            same(stats.fold(fold, repeat), snb.scan(X[here], y[here]))
        same(sum(stats.fold(f, repeat) for f in range(3)), snb.scan(X, y))


@pytest.mark.parametrize("by", ["rows", "groups", "given"])
def test_folds_do_not_depend_on_what_holds_the_rows(by, tmp_path):
    column = {"rows": {}, "groups": {"groups": groups}, "given": {}}[by]
    folds = groups % 4 if by == "given" else 4
    expected = snb.scan(X, y, folds=folds, **column)
    lazy = {name: da.from_array(c, chunks=31) for name, c in column.items()}
    cut = da.from_array(X, chunks=(29, 7)), da.from_array(y, chunks=50)
    unknown = cut[0][da.ones(203, chunks=29, dtype=bool)], cut[1].rechunk(29)[da.ones(203, chunks=29, dtype=bool)]
    store = snb.write_csr(tmp_path / "x.zarr", [(sp.csr_array(X), y)], n_features=7)
    store.create_array("beside", data=groups if by == "groups" else groups % 4, chunks=(60,))
    named = {name: "beside" for name in column}
    stream = [(X[a : a + 17], y[a : a + 17]) for a in range(0, 203, 17)]
    others = [
        snb.scan(sp.csr_array(X), y, folds=folds, **column),
        snb.scan(*cut, folds=da.from_array(folds, chunks=70) if by == "given" else folds, **lazy),
        snb.scan(store, "y", folds="beside" if by == "given" else folds, **named),
        snb.scan(iter(stream), folds=folds, **column),
    ]
    if by == "rows":
        others.append(snb.scan(*unknown, folds=folds))
    for stats in others:
        same(stats, expected)
        for fold in range(4):
            same(stats.fold(fold), expected.fold(fold))


def test_a_class_missing_in_the_rest_stays_listed():
    labels = np.where(np.arange(203) == 5, 9, y)
    stats = snb.scan(X, labels, folds=3)
    fold = snb.fold_numbers(203, 3)[5]
    rest = stats.without_fold(fold)
    assert rest.classes.tolist() == [0, 1, 2, 9]
    assert rest.weight[3] == 0.0


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"folds": 1}, "folds=1 should be at least 2"),
        ({"folds": 2.5}, "whole number"),
        ({"folds": 300}, "too few of the 203 rows"),
        ({"folds": 30, "groups": groups % 3}, "too few of the groups"),
        ({"folds": groups[:100] % 3}, "inconsistent numbers of samples"),
        ({"folds": np.where(groups % 4 == 1, 5, groups % 4)}, "without gaps"),
        ({"folds": -(groups % 2)}, "without gaps"),
        ({"folds": groups / 3.0}, "one whole number a row"),
        ({"folds": groups % 3, "repeats": 2}, "repeats=2 has no meaning"),
        ({"folds": groups % 3, "groups": groups}, "groups has no meaning"),
        ({"groups": groups}, "groups need folds"),
        ({"folds": 3, "groups": groups[:9]}, "groups should have one entry for each row"),
        ({"folds": 3, "groups": "nowhere"}, "groups='nowhere'"),
        ({"folds": 3, "repeats": 0}, "repeats=0"),
        ({"folds": 3, "seed": -1}, "seed=-1"),
    ],
)
def test_folds_that_cannot_be(options, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.scan(X, y, **options)


def test_asking_for_folds_that_are_not_there():
    with pytest.raises(ValueError, match="no folds"):
        snb.scan(X, y).fold(0)
    stats = snb.scan(X, y, folds=3)
    with pytest.raises(IndexError, match="fold=3"):
        stats.fold(3)
    with pytest.raises(IndexError, match="repeat=1"):
        stats.without_fold(0, 1)


def test_each_fold_knows_of_its_own_values_below_zero():
    """Sums of folds add and subtract like any others; a family of values from 0 refuses the fold that has others."""
    numbers = snb.fold_numbers(203, 3)
    rows = X - 2.0 * (numbers == 0)[:, None]
    for x in (rows, sp.csr_array(rows)):
        stats = snb.scan(x, y, folds=3, repeats=2)
        same(stats.fold(0) + stats.fold(1) - stats.fold(1), stats.fold(0))
        with pytest.raises(ValueError, match="Negative values"):
            snb.solve(stats.fold(0), "poisson")
        assert len(snb.solve(stats.fold(1), "poisson")) == 1
        assert len(snb.solve(stats.without_fold(0), "poisson")) == 1
        assert sum(stats.fold(f, 1).negatives for f in range(3)) == stats.negatives == np.count_nonzero(rows < 0)


def test_given_folds_go_with_rows_of_unknown_number():
    known = da.from_array(X, chunks=(29, 7)), da.from_array(y, chunks=29), da.from_array(groups % 4, chunks=29)
    lazy, labels, folds = (part[da.ones(203, chunks=29, dtype=bool)] for part in known)
    expected = snb.scan(X, y, folds=groups % 4)
    for given_folds in (folds, known[2]):
        stats = snb.scan(lazy, labels, folds=given_folds)
        for fold in range(4):
            same(stats.fold(fold), expected.fold(fold))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"n_rows": -1, "folds": 3}, "n_rows=-1"),
        ({"n_rows": 10.5, "folds": 3}, "n_rows=10.5"),
        ({"n_rows": 4, "folds": None}, "folds=None"),
        ({"n_rows": 4, "folds": [0, 1, 0, 1]}, r"folds=\[0, 1, 0, 1\] should be a whole number"),
        ({"n_rows": 4, "folds": 1}, "folds=1"),
        ({"n_rows": 4, "folds": 2, "repeat": -1}, "repeat=-1"),
        ({"n_rows": 4, "folds": 2, "groups": [1, 2]}, "groups should have one entry"),
    ],
)
def test_fold_numbers_that_cannot_be(arguments, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.fold_numbers(**arguments)
