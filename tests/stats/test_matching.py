"""Classes of two statistics, matched by label."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from streamnb.stats.grouping import merged_classes, positions

numbers = st.lists(st.integers(-3, 9), unique=True).map(sorted)
words = st.lists(st.sampled_from(["a", "ab", "b", "willow"]), unique=True).map(sorted)


@pytest.mark.parametrize("kind", [numbers, words])
@given(data=st.data())
def test_the_union_in_order_and_where_each_side_stands_in_it(kind, data):
    a, b = data.draw(kind), data.draw(kind)
    classes = merged_classes(np.array(a), np.array(b))
    assert classes.tolist() == sorted({*a, *b})
    for part in (a, b):
        assert positions(np.array(part), classes).tolist() == [part.index(k) if k in part else -1 for k in classes]


def test_numbers_of_several_dtypes_are_one_kind():
    assert merged_classes(np.array([1, 5], np.int8), np.array([0.5, 5.0])).tolist() == [0.5, 1.0, 5.0]
    assert merged_classes(np.array([3], np.uint8), np.array([-1], np.int64)).tolist() == [-1, 3]


@pytest.mark.parametrize("other", [["a"], [True]])
def test_labels_of_two_kinds_are_refused_with_one_of_each(other):
    with pytest.raises(ValueError, match=rf"two kinds, .* such as 7 .* such as {other[0]!r}; give all labels one kind"):
        merged_classes(np.array([7, 8]), np.array(other))


@pytest.mark.parametrize("dtype", [np.float64, np.uint64])
def test_numbers_too_large_to_be_compared_are_refused(dtype):
    """As float64, 2^53 + 1 is 2^53: two classes would be one."""
    large = np.array([1, 2**53 + 2])
    with pytest.raises(ValueError, match=rf"dtype {np.dtype(dtype)} and int64, too large to be compared; give all one"):
        merged_classes(large, np.array([3], dtype))
    assert merged_classes(np.array([1, 2**53]), np.array([3], dtype)).tolist() == [1, 3, 2**53]
    assert merged_classes(large, np.array([3])).tolist() == [1, 3, 2**53 + 2]
