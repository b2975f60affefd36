"""Columns of the terms of additive models."""

import numpy as np
import pytest
import scipy.sparse as sp

from streamnb.core.messages import DataError
from streamnb.core.persistence import load, save
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.terms import FINEST, CodedFeatures, TermColumns, codes_of
from streamnb.rows.boundary import as_chunk

FIRSTS = np.array([0, 5, 9])
COUNTS = np.array([10.0, 10.0, 10.0, 10.0, 3.0, 1.0, 7.0, 5.0, 2.0])
CODED = CodedFeatures(FIRSTS, COUNTS, np.array([True, False]), np.array([True, False]))


def indicators(codes):
    """Indicators of codes, as an encoding makes them."""
    hot = np.zeros((len(codes), FIRSTS[-1]))
    for row, own in enumerate(codes):
        hot[row, [FIRSTS[j] + code for j, code in enumerate(own) if code >= 0]] = 1.0
    return sp.csr_array(hot)


class TestCodedFeatures:
    def test_bins_are_grouped_by_their_rows(self):
        assert CODED.steps(0, 2).tolist() == [0, 0, 1, 1, 2]  # missing values stay apart

    def test_levels_are_grouped_by_how_frequent_they_are(self):
        assert CODED.steps(1, 3).tolist() == [2, 0, 1, 2]

    def test_every_code_is_a_step_at_the_finest_resolution(self):
        assert CODED.steps(1, FINEST).tolist() == [0, 1, 2, 3]

    def test_steps_are_parts_of_coarser_ones(self):
        rng = np.random.default_rng(0)
        coded = CodedFeatures(np.array([0, 64]), rng.integers(1, 99, 64), np.ones(1, bool), np.zeros(1, bool))
        fine, coarse = coded.steps(0, 16), coded.steps(0, 4)
        assert all(len(np.unique(coarse[fine == step])) == 1 for step in range(16))

    def test_codes_without_rows_have_steps(self):
        coded = CodedFeatures(np.array([0, 3]), np.zeros(3), np.ones(1, bool), np.zeros(1, bool))
        assert len(coded.steps(0, 2)) == 3


class TestTermColumns:
    columns = TermColumns.of(None, CODED, [((0,), 2), ((0,), FINEST), ((1,), FINEST), ((0, 1), 2)])

    def test_columns_by_hand(self):
        codes = [[0, 1], [4, 3], [2, -1], [-1, -1]]
        made = self.columns.applied(as_chunk(indicators(codes))[0]).toarray()
        expected = np.zeros((4, 3 + 5 + 4 + 6))
        for row, places in enumerate([[0, 3, 9, 12 + 0], [2, 7, 11, 12 + 2 * 2 + 1], [1, 5], []]):
            expected[row, places] = 1.0
        np.testing.assert_array_equal(made, expected)

    def test_codes_come_back(self):
        codes = [[0, 1], [4, 3], [2, -1]]
        assert codes_of(indicators(codes), FIRSTS).tolist() == codes

    def test_numbers_become_codes_first(self):
        base = BinEdges([np.array([1.0, 2.0])], np.array([True]))
        coded = CodedFeatures(base.firsts, np.ones(4), np.ones(1, bool), np.ones(1, bool))
        columns = TermColumns.of(base, coded, [((0,), FINEST)])
        chunk = as_chunk(np.array([[0.0], [5.0], [np.nan]]), missing=True)[0]
        assert columns.applied(chunk).toarray().argmax(axis=1).tolist() == [0, 2, 3]
        assert columns.n_features == 1

    def test_names(self):
        names = [f"a={i}" for i in range(5)] + [f"b={i}" for i in range(4)]
        made = self.columns.names(names)
        assert made[:3] == ["a=0 .. a=1", "a=2 .. a=3", "a=4"]
        assert made[-1] == "a=4, b=0 .. b=3"
        assert len(made) == self.columns.n_columns

    def test_saved(self, tmp_path):
        save(tmp_path / "c.snb", self.columns)
        loaded = load(tmp_path / "c.snb")
        rows = as_chunk(indicators([[0, 1], [4, 3]]))[0]
        np.testing.assert_array_equal(loaded.applied(rows).toarray(), self.columns.applied(rows).toarray())
        assert loaded == self.columns

    @pytest.mark.parametrize(
        "change",
        [
            {"firsts": np.array([0, 5, 5])},
            {"features": np.array([[0, -1], [0, -1], [1, -1], [0, 2]])},
            {"features": np.array([[0, -1], [0, -1], [1, -1], [0, 0]])},
            {"steps": np.zeros(3, np.int32)},
        ],
    )
    def test_a_file_that_does_not_fit_is_refused(self, change, tmp_path):
        state = {**self.columns._to_state(), **change}
        with pytest.raises(ValueError):
            TermColumns._from_state(state)

    def test_rows_of_another_width_are_refused(self):
        with pytest.raises((ValueError, DataError), match="9 features"):
            self.columns.applied(as_chunk(np.zeros((1, 4)))[0])
