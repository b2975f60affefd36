"""Classes of two statistics, matched by label."""

import numpy as np
import pytest

from streamnb.stats.grouping import merged_classes


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
