"""Codes of a table's columns: the column of each value, and the names."""

import numpy as np
import pytest

from streamnb.encoding.bins import BinEdges
from streamnb.encoding.table_codes import BinCodes, HashedCodes, LevelCodes, PlainNumber, SharedHash
from streamnb.rows.table_columns import LEVEL, MEASURE, ColumnPart

COLOUR, WIDTH = ColumnPart(("colour",), LEVEL), ColumnPart(("width",), MEASURE)


@pytest.mark.parametrize(
    ("code", "places", "names"),
    [
        (LevelCodes(["red"]), [0, -1, -1], ["colour=red"]),
        (LevelCodes(["red"], rare=True), [0, 1, -1], ["colour=red", "colour is rare"]),
        (LevelCodes(["red"], True, True), [0, 1, 2], ["colour=red", "colour is rare", "colour is missing"]),
    ],
)
def test_levels(code, places, names):
    assert code.places(COLOUR, np.array(["red", "new"], object)).tolist() == places
    assert code.names(COLOUR) == names and code.n_columns == len(names)


def test_hashes_are_of_the_value_and_its_column():
    code = HashedCodes(8, True)
    places = code.places(COLOUR, np.array(["red", "new"], object)).tolist()
    assert places[2] == 8 and max(places[:2]) < 8 and len(code.names(COLOUR)) == code.n_columns == 9
    other = code.places(ColumnPart(("shape",), LEVEL), np.array([f"v{i}" for i in range(50)], object))
    assert not np.array_equal(other, code.places(COLOUR, np.array([f"v{i}" for i in range(50)], object)))


def test_bins():
    values = np.array([1.0, 2.0, np.nan, 9.0])
    for missing, gap in ((True, 2), (False, -1)):
        code = BinCodes(BinEdges([np.array([1.5])], np.array([missing])))
        assert code.places(WIDTH, values).tolist() == [0, 1, gap, 1, gap]
        assert len(code.names(WIDTH)) == code.n_columns


def test_numbers_as_they_are():
    code, values = PlainNumber(5.0, True), np.array([1.0, np.nan])
    assert code.filled(values).tolist() == [1.0, 5.0, 5.0] and code.places(WIDTH, values).tolist() == [-1, 1, 1]
    assert code.names(WIDTH) == ["width", "width is missing"]
    assert PlainNumber(5.0).names(WIDTH) == ["width"] and PlainNumber(5.0).places(WIDTH, values).tolist() == [-1] * 3


def test_a_shared_hash_is_of_the_column_and_its_value_and_missing_is_one_of_them():
    values, code = np.array([f"v{i}" for i in range(50)], object), SharedHash(1 << 16, True)
    places = [code.places(part, values) for part in (COLOUR, ColumnPart(("shape",), LEVEL))]
    assert len(np.unique(np.concatenate(places))) > 95 and min(map(min, places)) >= 0
    assert SharedHash(1 << 16).places(COLOUR, values).tolist() == [*places[0][:-1].tolist(), -1]
    assert code.names(COLOUR)[-1] == "hash 65535" and len(code.names(COLOUR)) == code.n_columns
