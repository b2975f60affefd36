import dask.array as da
import numpy as np
import pandas as pd
import pytest

from streamnb.evaluation.slice_columns import SliceColumn, Slicing, given_columns
from streamnb.rows.named_columns import opened_columns

AGE = np.random.default_rng(0).normal(50.0, 10.0, 1000)


@pytest.mark.parametrize(
    ("column", "values"),
    [
        (["b", "a", "b"], ("a", "b")),
        (np.array(["b", None, "a"], object), ("a", "b", None)),
        (pd.Series(["b", None, "a"], dtype="category"), ("a", "b", None)),
        (pd.Series([2, None, 1], dtype="Int64"), (1, 2, None)),
        (pd.array(["b", None], dtype="string"), ("b", None)),
        (np.ma.array([3, 4, 3], mask=[False, False, True]), (3, 4, None)),
        ([1.5, np.nan, -2.0], (-2.0, 1.5, None)),
        ([True, False], (False, True)),
        ([np.nan, np.nan], (None,)),
        ([], ()),
    ],
)
def test_values_are_slices(column, values):
    column = column if hasattr(column, "isna") or isinstance(column, np.ma.MaskedArray) else np.asarray(column)
    found = SliceColumn.of("x", column)
    assert found.values == values and found.edges is None
    plain = column.tolist() if hasattr(column, "tolist") else list(column)
    assert [found.values[number] for number in found.numbers(column)] == [None if pd.isna(x) else x for x in plain]


def test_a_block_of_mixed_values_may_hold_numbers_alone():
    found = SliceColumn.of("x", np.array([1, "a", None], object))
    assert found.numbers(np.array([1, 1], object)).tolist() == [0, 0]


def test_many_numbers_are_cut_by_deciles():
    age = np.append(AGE, [np.nan, np.inf, -np.inf])
    found = SliceColumn.of("age", age)
    assert len(found.values) == 11 and found.values[-1] is None and found.values[-2].endswith(", inf)")
    numbers = found.numbers(age)
    assert np.bincount(numbers)[:-1].max() - np.bincount(numbers)[:-1].min() <= 2 and numbers[1000:].tolist() == [
        10,
        9,
        0,
    ]
    for number, value in zip(numbers, AGE, strict=False):
        low, high = ([-np.inf, *found.edges][number], [*found.edges, np.inf][number])
        assert low < value <= high


def test_bins_of_values_that_are_mostly_alike():
    counts = np.append(np.zeros(990), np.arange(20.0))
    assert SliceColumn.of("n", counts).values == ("(-inf, 0]", "(0, inf)")
    assert SliceColumn.of("n", -counts).values == ("(-inf, -1]", "(-1, inf)")
    close = 1e6 + np.arange(2000) / 1e4
    assert len(set(SliceColumn.of("close", close).values)) == 10


def test_columns_merge():
    one, two = SliceColumn("x", ("a", "c", None)), SliceColumn("x", ("b", "c"))
    assert (one + two).values == ("a", "b", "c", None) == (two + one).values
    bins = SliceColumn.of("age", AGE)
    assert (bins + SliceColumn.of("age", np.append(AGE, np.nan))).values == (*bins.values, None)
    for other in (SliceColumn("y", ("a",)), bins):
        with pytest.raises(ValueError, match="merge if they are by the same columns"):
            one + other
    with pytest.raises(ValueError, match="same columns"):
        Slicing((one,)) + Slicing((one, two))


def test_given_columns():
    assert given_columns("ward", True) == {"ward": "ward"}
    assert given_columns(["ward", "age"], True) == {"ward": "ward", "age": "age"}
    assert list(given_columns(pd.Series(["a"], name="ward"), False)) == ["ward"]
    assert given_columns(["ward", "age"], False) == {"by": ["ward", "age"]}
    assert list(given_columns(pd.DataFrame({"ward": ["a"], "age": [3]}), False)) == ["ward", "age"]
    assert list(given_columns(da.zeros(3), False)) == ["by"]  # its name is a hash


def test_numbers_are_read_beside_the_rows():
    rows = opened_columns({"y_true": AGE})
    slicing, numbers = Slicing.of({"age": AGE, "old": AGE > 60}, rows, 5)
    assert slicing.n_slices == 12 and [*numbers] == slicing.fields
    taken = slicing.taken(numbers, len(AGE))
    assert taken.dtype == np.int16 and (taken[:, 1] == (AGE > 60)).all()
