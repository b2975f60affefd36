import numpy as np
import pandas as pd
import pytest

from streamnb.evaluation.beside import NOTHING, Beside
from streamnb.rows.opening import opened

X = np.arange(8.0).reshape(4, 2)
FRAME = pd.DataFrame({"a": X[:, 0], "b": X[:, 1], "ward": list("xyxy"), "late": [0, 1, 1, 0]})


def test_columns_of_a_frame_that_are_no_features_leave_it():
    for names, left in ((None, ["a", "b", "late"]), (np.array(["a", "ward"], object), ["a", "b", "ward", "late"])):
        rows, beside = Beside(groups="ward", by=["ward", "late"], interval=0.9).taken_from(FRAME, "late", names=names)
        assert rows.columns.tolist() == left
        assert beside.groups.tolist() == list("xyxy") and [*beside.by] == ["ward", "late"]
    same, beside = NOTHING.taken_from(FRAME, "late")
    assert same.columns.tolist() == FRAME.columns.tolist() and beside == NOTHING
    with pytest.raises(ValueError, match="'wing' is none of the columns of X"):
        Beside(by="wing").taken_from(FRAME, None)


def test_columns_are_read_with_the_rows():
    rows, slicing = Beside(0.9, groups=[1, 1, 2, 2], by={"ward": list("xyxy")}).opened(opened(X, [0, 1, 1, 0]))
    (block,) = rows.blocks()
    assert block.split["groups"].tolist() == [1, 1, 2, 2]
    assert slicing.taken(block.split, 4)[:, 0].tolist() == [0, 1, 0, 1]
    plain, nothing = Beside(0.9, groups=[1, 1, 2, 2]).opened(opened(X, [0, 1, 1, 0]))
    (block,) = plain.blocks()
    assert block.split.tolist() == [1, 1, 2, 2] and nothing is None


def test_checks():
    assert Beside(0.9).checked().interval == 0.9 and Beside(by="x", min_rows=5).given() == {"by": "x", "min_rows": 5}
    for wrong in (Beside(1.5), Beside(groups=[1, 2])):
        with pytest.raises(ValueError, match="interval"):
            wrong.checked()
