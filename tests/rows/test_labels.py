"""Labels, weights and splits beside the rows: any cut reads the same, whatever holds them."""

from functools import partial
from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp
import zarr
from zarr.storage import MemoryStore

import streamnb as snb
from streamnb.rows.in_arrays import opened_columns
from streamnb.rows.labels import in_zarr, open_columns, whole_column
from tests.support.zarr_stores import FULL

Y = np.array([3, -1, 3, 0, 0, 7, 3, 7, 0, -1, 3])
N = len(Y)
SEVERAL = (Y[:, None] == [0, 3, 7]).astype(np.uint8)  # an indicator, with rows of no label


def group(kind="csr_matrix", attributes=(), **parts):
    """A group of the AnnData layout."""
    made = zarr.create_group(MemoryStore(), attributes={"encoding-type": kind, **dict(attributes)})
    for name, values in parts.items():
        made.create_array(name, data=np.asarray(values), chunks=(4,), config=FULL)
    return made


def csr(values):
    matrix = sp.csr_array(values)
    parts = {name: getattr(matrix, name) for name in ("data", "indices", "indptr")}
    return group(attributes={"encoding-version": "0.1.0", "shape": values.shape}, **parts)


FORMS = {
    "list": lambda: Y.tolist(),
    "dask": lambda: da.from_array(Y, chunks=4),
    "zarr": lambda: zarr.create_array(MemoryStore(), data=Y, chunks=(4,), config=FULL),
    "categorical": lambda: group("categorical", codes=np.unique(Y, return_inverse=True)[1], categories=np.unique(Y)),
    "nullable": lambda: group("nullable-integer", values=Y, mask=np.zeros(N, bool)),
    "indicator": lambda: SEVERAL,
    "indicator, sparse": lambda: sp.coo_array(SEVERAL),
    "indicator in zarr": lambda: zarr.create_array(MemoryStore(), data=SEVERAL, chunks=(4, 2), config=FULL),
    "indicator as a group": lambda: csr(SEVERAL),
}


def stretches(read, start, stops):
    """Labels, weights and splits from `start` on, read in stretches that end with `stops`."""
    ask = read.reader(start)
    found = [ask(first, stop)() for first, stop in pairwise([start, *stops])]
    return [*map(together, zip(*found))]


def together(parts):
    return np.concatenate([part.toarray() if sp.issparse(part) else part for part in parts if part is not None] or [[]])


def test_names_are_of_arrays_beside_the_rows():
    beside = group("anndata", labels=Y)
    assert stretches(open_columns("labels", 2, N, True, beside), 3, [5])[0].tolist() == Y[3:5].tolist()
    for held in ("labels", beside["labels"], Y, da.from_array(Y)):
        assert whole_column(held, "folds", beside).tolist() == Y.tolist()
    with pytest.raises(ValueError, match=r"^y='other' is not in group '/' of X, which has the arrays: labels$"):
        open_columns("other", None, N, True, beside)
    with pytest.raises(ValueError, match=r"^y='labels' names an array beside X, but X is not in a Zarr group"):
        open_columns("labels", None, N, True)
    beside.attrs["streamnb"] = {}
    beside.store._store_dict.pop("labels/c/1")
    with pytest.raises(snb.DataError, match=r"lacks 1 of its 3 chunks"):
        open_columns("labels", None, N, True, beside)


def test_what_a_stream_brings_itself():
    ask = open_columns(None, None, None, True).reader()
    labels, weight, split = ask(0, 2, ["a", "b"], [1.0, 2.0])()
    assert (labels.tolist(), weight, split) == (["a", "b"], [1.0, 2.0], None)
    with pytest.raises(ValueError, match=r"^requires y to be passed"):
        ask(0, 2)()
    assert open_columns(None, None, None, False).reader()(0, 2)() == (None, None, None)
    for name, read in (("y", open_columns(Y, None, None, True)), ("sample_weight", open_columns(None, Y + 1, None, 0))):
        with pytest.raises(ValueError, match=rf"^{name} is given beside X, and the rows of X bring"):
            read.reader()(0, 2, ["a", "b"], [1.0, 2.0])()


def test_one_weight_is_that_of_every_row():
    assert stretches(open_columns(Y, 0.5, N, True), 0, [4])[1].tolist() == [0.5] * 4
    with pytest.raises(ValueError, match=r"samples: \[11, 10\]; sample_weight should have one entry"):
        open_columns(Y, np.ones(10), N, True)


@pytest.mark.parametrize("first", [0, 4])
def test_what_is_wrong_is_named_by_its_row(first):
    codes, mask = np.where(np.arange(N) == 6, -1, 0), np.arange(N) == 6
    floats = zarr.create_array(MemoryStore(), data=np.where(mask, np.nan, 1.0), chunks=(4,))
    for labels, words in (
        (group("categorical", codes=codes, categories=[5]), "missing label or category at row 6;"),
        (group("categorical", codes=-codes, categories=[5]), "missing label or category at row 6;"),  # 1 is none
        (group("nullable-boolean", values=mask, mask=mask), "missing label or category at row 6;"),
        (floats, "NaN, a missing label, at row 6;"),
    ):
        read = open_columns(labels, None, N, True)
        for part in (read, read.cut(first, N)):
            with pytest.raises(ValueError, match=words):
                stretches(part, first, [6, 9])
    weight = zarr.create_array(MemoryStore(), data=-1.0 * mask, chunks=(4,))
    with pytest.raises(ValueError, match=r"^sample_weight has -1.0 at row 6;"):
        stretches(open_columns(Y, weight, N, True), first, [6, 9])


@pytest.mark.parametrize(
    ("make", "name", "error", "words"),
    [
        (partial(group, "dataframe"), "y", ValueError, "y: group '' of encoding-type 'dataframe' is not a column"),
        (partial(csr, SEVERAL), "sample_weight", ValueError, "encoding-type 'csr_matrix' is not a column of labels"),
        (partial(group, "categorical", codes=Y), "y", snb.DataError, "lacks the 1-D arrays 'codes' and 'categories'"),
        (partial(group, "categorical", codes=Y / 2, categories=Y), "y", snb.DataError, "'codes' has dtype float64"),
        (
            partial(group, "nullable-integer", values=Y, mask=Y),
            "y",
            snb.DataError,
            "'mask' should hold a bool for each",
        ),
        (partial(group, "nullable-integer", values=Y, mask=[True]), "y", snb.DataError, "for each of the 11 values"),
        (FORMS["indicator in zarr"], "groups", ValueError, r"groups should be a 1d array, got an array of shape \(11"),
    ],
)
def test_groups_that_are_no_columns(make, name, error, words):
    with pytest.raises(error, match=words):
        in_zarr(make(), name)


def test_whole_columns_in_groups_have_what_is_missing():
    kinds = {"codes": [0, -1, 1], "categories": np.array([5, 7])}, {"values": [5, 0, 7], "mask": [False, True, False]}
    for kind, parts in zip(("categorical", "nullable-integer"), kinds, strict=True):
        assert whole_column(group(kind, **parts), "by").tolist() == [5, None, 7]


# ---- Columns by name, read as rows without X: blocks of them are the same stretch of each ----------------------------

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
