"""Columns by name, read as rows without X: blocks of them are the same stretch of each."""

import numpy as np
import pytest
import zarr
from zarr.storage import MemoryStore

from streamnb.rows.in_arrays import opened_columns

LABELS, SCORES = np.arange(23) % 3, np.random.default_rng(0).random((23, 3))


def category_group(values):
    group = zarr.create_group(MemoryStore(), attributes={"encoding-type": "categorical"})
    for name, part in (("codes", values), ("categories", np.array([4, 5, 6]))):
        group.create_array(name, data=part, chunks=(5,))
    return group


def test_categories_of_anndata():
    (block,) = opened_columns({"y_true": category_group(LABELS)}, ("y_true",)).blocks()
    assert block.X["y_true"].tolist() == (4 + LABELS).tolist()


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
