"""Columns by name, read as rows without X: blocks of them are the same stretch of each."""

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from hypothesis import given, settings
from hypothesis import strategies as st
from zarr.storage import MemoryStore

from streamnb.rows import row_blocks
from streamnb.rows.in_arrays import DaskColumns, NamedColumns, opened_columns

LABELS, SCORES = np.arange(23) % 3, np.random.default_rng(0).random((23, 3))


def in_store(values):
    return zarr.create_array(MemoryStore(), data=values, chunks=(5,) * values.ndim)


def category_group(values):
    group = zarr.create_group(MemoryStore(), attributes={"encoding-type": "categorical"})
    for name, part in (("codes", values), ("categories", np.array([4, 5, 6]))):
        group.create_array(name, data=part, chunks=(5,))
    return group


FORMS = {
    "memory": opened_columns({"y_true": LABELS.tolist(), "scores": SCORES}, ("y_true",)),
    "zarr": opened_columns({"y_true": in_store(LABELS), "scores": in_store(SCORES)}, ("y_true",)),
    "both": opened_columns({"y_true": LABELS, "scores": in_store(SCORES)}, ("y_true",)),
    "sparse": opened_columns({"y_true": LABELS, "scores": sp.coo_array(SCORES)}, ("y_true",)),
}


@pytest.mark.parametrize("rows", FORMS.values(), ids=FORMS)
@settings(max_examples=10)
@given(st.data(), st.integers(1, 9))
def test_every_row_once_in_order(rows, data, step):
    start, stop = data.draw(st.tuples(st.integers(0, 22), st.integers(1, 23)).filter(lambda ends: ends[0] < ends[1]))
    for part in (rows, rows.cut(start, stop)):
        part._step = step
        row = start
        for block in part.blocks(start, stop):
            end = row + block.n_rows
            scores = block.X["scores"]
            assert (
                block.first_row == row and block.n_rows == min(step, stop - row) and [*block.X] == ["y_true", "scores"]
            )
            assert np.array_equal(block.X["y_true"], LABELS[row:end])
            assert np.array_equal(scores.toarray() if sp.issparse(scores) else scores, SCORES[row:end])
            row = end
        assert row == stop


def test_blocks_are_of_the_size_of_others(monkeypatch):
    monkeypatch.setattr(row_blocks, "BLOCK_BYTES", 8 * 3 * 10)
    assert [block.n_rows for block in opened_columns({"a": LABELS, "b": SCORES}).blocks()] == [10, 10, 3]
    monkeypatch.setattr(row_blocks, "BLOCK_ROWS", 20)
    assert [block.n_rows for block in opened_columns({"a": LABELS}).blocks()] == [20, 3]
    assert [block.n_rows for block in opened_columns({"a": LABELS[:0]}).blocks()] == [0]  # one at least


def test_a_part_is_cut_from_what_was_given():
    part = FORMS["memory"].cut(5, 9)
    assert part.columns == {} and FORMS["memory"].columns["y_true"].tolist() == LABELS.tolist()
    assert len(FORMS["zarr"].arrays) == 2 and FORMS["memory"].arrays == ()


def test_categories_of_anndata():
    (block,) = opened_columns({"y_true": category_group(LABELS)}, ("y_true",)).blocks()
    assert block.X["y_true"].tolist() == (4 + LABELS).tolist()


def test_with_one_column_in_dask_the_others_are_cut_by_its_blocks():
    lazy = da.from_array(SCORES, chunks=(10, 3))
    rows = opened_columns({"y_true": category_group(LABELS), "scores": lazy, "weight": da.ones(23)}, ("y_true",))
    assert isinstance(rows, DaskColumns) and not isinstance(rows, NamedColumns)
    assert rows.lazy and rows.lead == "scores" and rows.columns["scores"] is lazy
    assert rows.columns["y_true"].tolist() == (4 + LABELS).tolist()


def test_columns_that_do_not_go_together():
    with pytest.raises(ValueError, match=r"samples: \[23, 22\]; scores should have one entry for each row of y_true"):
        opened_columns({"y_true": LABELS, "scores": SCORES[1:]})
    for wrong in (np.float64(3), np.zeros((2, 2, 2))):
        with pytest.raises(ValueError, match=r"^scores has shape \(.*\); it should have one dimension or two$"):
            opened_columns({"scores": wrong})
    with pytest.raises(ValueError, match=r"^y_true has a missing label at row 1"):
        opened_columns({"y_true": ["a", None]}, ("y_true",))
    assert opened_columns({"y_true": [[0, 1]], "other": ["a"]}, ("y_true",)).n_rows == 1  # an indicator is no label


def test_columns_of_which_no_array_can_be_made_are_named():
    for columns in ({"scores": [[1.0], [1.0, 2.0]]}, {"y_true": LABELS, "scores": [LABELS, 3]}):
        with pytest.raises(ValueError, match=r"^scores should be an array, or lists of one length"):
            opened_columns(columns, ("y_true",))


def test_what_is_beside_the_rows_are_the_columns_themselves():
    parts = [part["y_true"] for part in FORMS["both"].row_columns(4)]
    assert np.concatenate(parts).tolist() == LABELS.tolist()
