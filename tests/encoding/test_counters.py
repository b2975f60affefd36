import numpy as np
import pytest

from streamnb.encoding.counters import Codes, CountedColumns
from streamnb.rows.boundary import as_chunk


def test_codes_are_shares_log_odds_and_counts():
    counts, weight = np.array([[1.0, 0.0], [2.0, 0.0], [1.0, 0.0]]), np.array([2.0, 4.0, 2.0])
    codes = Codes([1.0 / 3.0, 4.0], raw=True, log_odds=True)
    found = codes.of(counts, weight)  # a number is times the shares of the classes
    assert found.shape == (2, codes.n_columns(3)) and len(codes.names("x", "abc", ["", ", c=4"])) == found.shape[1]
    np.testing.assert_allclose(found[0, :3], (counts[:, 0] + [1 / 12, 1 / 6, 1 / 12]) / (4 + 1 / 3))
    np.testing.assert_allclose(found[1, 6:9], [0.25, 0.5, 0.25])
    np.testing.assert_allclose(found[:, 9:12], np.log(found[:, 6:9] / (1.0 - found[:, 6:9])))
    np.testing.assert_array_equal(found[:, 12:], counts.T)
    above = Codes([np.ones(3)], above=True).of(counts, weight)
    np.testing.assert_allclose(above, [[5 / 7, 2 / 7], [2 / 3, 1 / 3]])
    assert np.isnan(Codes([np.zeros(3)]).of(counts, weight)[1]).all()


def test_pairs_and_buckets_are_columns_of_their_own():
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.0, 1.0], [0.0, 0.0]])
    found = CountedColumns([[0, 1]]).of(as_chunk(X)[0])
    np.testing.assert_array_equal(found[:, :2], X)
    assert found[0, 2] == found[2, 2] and len(np.unique(found[:, 2])) == 3
    hashed = CountedColumns([], 2).of(as_chunk(np.arange(99.0)[:, None])[0])
    assert set(hashed[:, 0]) == {0.0, 1.0, 2.0, 3.0}
    with pytest.raises(ValueError, match="names a column that X, of 2 columns, has not"):
        CountedColumns([[0, 2]]).of(as_chunk(X)[0])
