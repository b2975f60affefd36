"""The encoding of a table, kept with a model: columns in any order, and those that are missing or of other kinds."""

from itertools import pairwise

import numpy as np
import pandas as pd
import pytest

import streamnb as snb
from streamnb.core import persistence
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.table_codes import BinCodes, HashedCodes, LevelCodes, PlainNumber, SharedHash
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.rows.table_columns import LEVEL, MEASURE, ColumnPart
from tests.support.read_rows import matrix_of


def test_parts_share_a_hash_space_in_which_a_row_has_each_column_once():
    names = "colour", "shape", "width"
    parts, code = [ColumnPart((name,), LEVEL) for name in names], SharedHash(2, True)
    encoding = TableEncoding([(part, code) for part in parts], [], dict.fromkeys(names))
    rows = [("red", "round", "1"), (None, "flat", "2"), ("blue", None, "3")]
    assert encoding.n_columns == 2 and encoding.column_names.tolist() == ["hash 0", "hash 1"]
    (block,) = encoding.encode(pd.DataFrame(rows, columns=names)).blocks()
    _, indices, indptr, width = block.X
    hashed = [{int(code.places(part, [value] if value else [])[0]) for part, value in zip(parts, row)} for row in rows]
    assert width == 2 and [set(indices[a:b].tolist()) for a, b in pairwise(indptr)] == hashed
    assert np.diff(indptr).tolist() == list(map(len, hashed))
    with pytest.raises(ValueError, match="come last and have one number"):
        TableEncoding([(parts[0], code), (parts[1], SharedHash(4))], [], dict.fromkeys(names))
    with pytest.raises(ValueError, match="come last"):
        TableEncoding([(parts[0], code), (parts[1], LevelCodes(["a"]))], [], dict.fromkeys(names))


FRAME = pd.DataFrame(
    {
        "plane": ["a", "b", None, "a", "c", "b"],
        "miles": [1.0, 2.0, 3.0, np.nan, 5.0, 6.0],
        "day": pd.to_datetime(["2020-01-06", "2020-02-04", "2020-01-08", "2020-01-06", "2020-02-04", "2020-01-08"]),
        "note": ["so late", "late late", "", "on time", "so", "so"],
        "late": [1, 1, 0, 0, 1, 0],
    }
)


def test_columns_are_what_their_names_say():
    rows = snb.table(FRAME, "late", bins=None, text=["note"], hash_features=16)
    named = dict(zip(rows.feature_names, matrix_of(rows).T, strict=True))
    assert named["plane=a"].tolist() == [1, 0, 0, 1, 0, 0] and named["plane is missing"].tolist() == [0, 0, 1, 0, 0, 0]
    assert named["miles"].tolist() == [1, 2, 3, 3, 5, 6] and named["miles is missing"].tolist() == [0, 0, 0, 1, 0, 0]
    assert named["day: weekday=Tuesday"].tolist() == [0, 1, 0, 0, 1, 0] and "day: year=2020" not in named
    notes = snb.text(FRAME["note"].tolist(), n_features=16)
    assert np.array_equal(matrix_of(rows)[:, -16:], matrix_of(notes)) and rows.feature_names[-1] == "note: hash 15"
    numbers, words = [("gaussian", 1), ("bernoulli", 1)], [("multinomial", 16)]
    assert rows.encoding.kinds == [("categorical", 4), *numbers, ("categorical", 2), ("categorical", 3), *words]


def test_rows_to_come_have_the_same_columns():
    encoding = snb.table(FRAME, "late", bins=2).encoding
    again = FRAME[FRAME.columns[::-1]].drop(columns="late").assign(more=1)
    assert np.array_equal(matrix_of(encoding.encode(again)), matrix_of(encoding.encode(FRAME)))
    strange = FRAME.assign(plane="never seen", miles=None)
    with pytest.warns(snb.StreamnbWarning, match="6 of 6 values of 'plane' were not seen in fit"):
        names = encoding.column_names[matrix_of(encoding.encode(strange)).any(axis=0)]
    assert not any(name.startswith("plane") for name in names) and "miles is missing" in names
    assert encoding.encode(FRAME, labelled=True).tables.fields.y == "late"
    assert encoding.takes(FRAME) and not encoding.takes(np.zeros((2, 2)))


def test_columns_that_are_missing_or_of_another_kind_are_named():
    encoding = snb.table(FRAME, "late").encoding
    with pytest.raises(ValueError, match=r"X has no column 'miles', which the model was fitted on; it has \['plane',"):
        encoding.encode(FRAME.drop(columns="miles"))
    kind = "it should be of kind 'number', as in the rows that were fitted; give numbers, such as 31 for '31'"
    with pytest.raises(ValueError, match=rf"'miles' is of type .*string \(category\); {kind}"):
        matrix_of(encoding.encode(FRAME.assign(miles="far")))
    zoned = FRAME.assign(day=FRAME.day.dt.tz_localize("UTC"))
    for fitted, given, zone in ((FRAME, zoned, "None"), (zoned, FRAME, "'UTC'")):
        with pytest.raises(ValueError, match=rf"'day' is of type .*as column.dt.tz_localize\({zone}\) of pandas does"):
            matrix_of(snb.table(fitted, "late").encoding.encode(given))
    forced = snb.table(FRAME, "late", categorical=["miles"], columns=["miles"]).encoding
    assert forced.encode(FRAME.assign(miles=["1", "2", "3", None, "5", "6"])).n_features == 6
    with pytest.raises(ValueError, match="it should be numbers or strings"):
        matrix_of(forced.encode(FRAME.assign(miles=FRAME["day"])))


def test_encodings_are_saved_and_told_apart(tmp_path):
    encoding = snb.table(FRAME, "late", text=["note"], pairs=[("plane", "note")], hash_features=16).encoding
    persistence.save(tmp_path / "encoding.snb", encoding)
    again = persistence.load(tmp_path / "encoding.snb")
    assert np.array_equal(matrix_of(again.encode(FRAME)), matrix_of(encoding.encode(FRAME))) and not again.differs(
        encoding
    )
    other = snb.table(FRAME, "late", bins=3).encoding
    assert "is one of" in encoding.differs(other) and "table" in encoding.differs(snb.text(["a b"]).encoding)
    turned = snb.table(FRAME[FRAME.columns[::-1]], "late", bins=3).encoding
    assert other.differs(turned) == "they are in another order"


def test_models_of_the_first_release_take_columns_as_they_come():
    """Their encodings say nothing of time zones, and "number" and "date" of all that has units and zones."""
    took = pd.to_timedelta([30, 60, 90, 30, 60, 90], "s").as_unit("ns")
    frame = FRAME.assign(took=took, day=FRAME["day"].dt.tz_localize("UTC"))[["took", "day", "late"]]
    now = snb.table(frame, "late").encoding
    inner = [border * 1e9 for border in now.coded[0][1].edges.edges[0]]  # of nanoseconds, as they were then
    coded = [(now.coded[0][0], BinCodes(BinEdges([np.array(inner)], np.zeros(1, bool)))), *now.coded[1:]]
    state = now._to_state() | {"coded": coded, "columns": {"took": "number", "day": "date"}}
    del state["zones"]
    then = TableEncoding._from_state(state)
    assert then.zones is None
    np.testing.assert_array_equal(matrix_of(then.encode(frame)), matrix_of(now.encode(frame)))
    with pytest.raises(ValueError, match=r"zones of columns \[\] should be of \['day'\]"):
        TableEncoding._from_state(now._to_state() | {"zones": {}})


WIDTH = ColumnPart(("width",), MEASURE)


@pytest.mark.parametrize(
    "code",
    [
        LevelCodes(["a", "ü"], True),
        HashedCodes(4),
        SharedHash(4, True),
        PlainNumber(0.5),
        BinCodes(BinEdges([np.array([1.5])], np.array([True]))),
    ],
)
def test_codes_are_saved(tmp_path, code):
    assert code.n_columns == len(code.names(WIDTH)) > code.places(WIDTH, np.array([1.0])).max()
    persistence.save(tmp_path / "code.snb", code)
    again = persistence.load(tmp_path / "code.snb", type(code))
    assert persistence.digest(again) == persistence.digest(code) and again.names(WIDTH) == code.names(WIDTH)
