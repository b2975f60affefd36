"""Every read counts its rows by fold and class, so that no model is judged on rows which it has seen."""

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.rows.splits import Folding
from streamnb.selection.folded_scan import FoldJudge, check_same_folds, counts_of

rng = np.random.default_rng(3)
X, Y = rng.poisson(1.0, (60, 4)).astype(float), np.array(["a", "b", "c"])[rng.integers(0, 3, 60)]
SETS = rng.integers(0, 2, (60, 3))


def read(judge, y, folding):
    """The number of rows of each class in each split, from two blocks, and the labels of the second block."""
    rows = 0
    for first, last in ((0, 25), (25, 60)):
        labels = judge.labels(y[first:last], first)
        shape = folding.n_splits, len(judge.classes)
        rows += counts_of(labels, folding.splits(first, last - first, None), shape)
    return rows, labels


@pytest.mark.parametrize(("y", "coded"), [(Y, np.unique(Y, return_inverse=True)[1]), (SETS, SETS)], ids=["one", "sets"])
def test_rows_of_each_class_are_counted_as_in_the_scan(y, coded):
    stats = snb.scan(X, y, folds=5, repeats=2, seed=1)
    judge, before = FoldJudge(stats.classes, frozenset({"hits"}), 1, stats.multilabel), [f.rows for f in stats.folds]
    rows, labels = read(judge, sp.csr_array(y) if y.ndim == 2 else y, stats.folding)
    check_same_folds(rows, np.array(before))
    np.testing.assert_array_equal(labels.toarray() if y.ndim == 2 else labels, coded[25:])
    with pytest.raises(ValueError, match="X gave its rows in another order than in the first scan"):
        backwards = sp.csr_array(y[::-1]) if y.ndim == 2 else y[::-1]
        check_same_folds(read(judge, backwards, stats.folding)[0], np.array(before))


@pytest.mark.parametrize(
    ("multilabel", "y", "message"),
    [
        (
            False,
            np.where(np.arange(60) == 30, "d", Y),
            "y has the label 'd' at row 30, which was not in the first scan",
        ),
        (False, sp.csr_array(SETS), "y is an indicator of labels here and was one label a row before"),
        (True, sp.csr_array(SETS[:, :2]), "y has 2 columns; in the first scan it had 3"),
        (True, Y, "y has one label a row; in the first scan it had 3 columns"),
    ],
    ids=["label", "sets", "columns", "one"],
)
def test_other_labels_than_in_the_scan_are_refused(multilabel, y, message):
    classes = np.arange(3) if multilabel else np.unique(Y)
    with pytest.raises(ValueError, match=message):
        read(FoldJudge(classes, frozenset({"hits"}), 1, multilabel), y, Folding(2))
