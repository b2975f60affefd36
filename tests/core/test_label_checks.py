"""Labels become 1-D arrays of few kinds, indicators canonical CSR; what is missing or no label is named by its row."""

import warnings
from decimal import Decimal

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays
from sklearn.exceptions import DataConversionWarning

import streamnb as snb
from streamnb.core import row_checks
from streamnb.core.row_checks import (
    check_class_numbers,
    check_classes,
    check_indicator,
    check_labels,
    check_y,
    names_of_labels,
)
from tests.support.refusals import refuses


@pytest.mark.parametrize(
    ("labels", "kind", "found"),
    [
        ([True, False], "bools", [True, False]),
        (np.array([True, False], object), "bools", [True, False]),
        ([3, -1], "numbers", [3, -1]),
        ((2**62, 1), "numbers", [2**62, 1]),
        (np.array([1, 2**63 - 1], np.uint64), "numbers", [1, 2**63 - 1]),
        ([1.0, np.int8(2)], "numbers", [1.0, 2.0]),
        (["b", "long"], "strings", ["b", "long"]),
        (["a\0b", "\0a"], "strings", ["a\0b", "\0a"]),
        (np.array([b"b", b"long"]), "strings", ["b", "long"]),
        (np.array(["é".encode(), b"b"]), "strings", ["é", "b"]),
        (["é".encode(), b"b"], "strings", ["é", "b"]),  # as h5py reads strings
        ([Decimal("1.00"), Decimal(2)], "numbers", [1, 2]),
        ([Decimal(2**60 + 1), 1], "numbers", [2**60 + 1, 1]),
        (pd.cut([1, 3], [0, 2, 4]), "strings", ["(0, 2]", "(2, 4]"]),
        (pd.Series(pd.arrays.IntervalArray.from_tuples([(0, 2)])), "strings", ["(0, 2]"]),
        (np.array(["b", "long"], np.dtypes.StringDType()), "strings", ["b", "long"]),
        (pd.Series(["b", "long"], dtype="category"), "strings", ["b", "long"]),
        (np.ma.array([1, 2], mask=False), "numbers", [1, 2]),
    ],
)
def test_labels_of_every_kind(labels, kind, found):
    checked = check_labels(labels)
    assert row_checks.label_kind(checked) == kind and checked.tolist() == found and checked.dtype.kind in "biUf"
    assert checked.dtype != np.uint64


@pytest.mark.parametrize("missing", [None, np.nan, pd.NA, pd.NaT])
@pytest.mark.parametrize("form", [list, tuple, pd.Series, lambda values: np.array(values, object)])
def test_a_missing_label_is_named_by_its_row(missing, form):
    with pytest.raises(ValueError, match=r"^labels has a missing label at row 12 \(.*\); drop those rows"):
        check_labels(form(["a", "b", missing, "a"]), "labels", first_row=10)


@pytest.mark.parametrize(
    ("labels", "error", "words"),
    [
        (None, ValueError, r"the target y is None: give labels, one label a row"),
        (np.array([0.0, np.nan]), ValueError, "Input labels contains NaN, a missing label, at row 11"),
        (np.ma.array([1, 2], mask=[True, False]), ValueError, "labels has masked labels; drop"),
        ([[1], [2]], ValueError, r"labels should be a 1d array, got an array of shape \(2, 1\)"),
        ([1, "a"], TypeError, "labels holds objects of type int, str; labels should be all ints"),
        ([True, 1], TypeError, "labels holds objects of type bool, int"),
        ([1j], TypeError, "labels holds objects of type complex"),
        (np.array([1j]), ValueError, "Complex data not supported: labels"),
        (np.array(["2020"], "M8[Y]"), TypeError, r"labels has dtype datetime64\[Y\]"),
        ([1, 2**63], ValueError, "labels has the label 9223372036854775808; numbers should be below"),
        (np.array([2**63], np.uint64), ValueError, "labels has the label 9223372036854775808; numbers should be below"),
        ([-(2.0**63), 1.0], ValueError, "labels has the label -9223372036854775808; numbers should be below"),
        ([1.0, 2.5], ValueError, "continuous. labels holds 2.5 at row 11"),
        ([Decimal(1), Decimal("2.5")], ValueError, "continuous. labels holds 2.5 at row 11"),
        ([b"a", b"\xff"], ValueError, r"labels has the label b'\\xff' at row 11, which is not UTF-8"),
        ([b"a", b"a\0"], ValueError, r"the label 'a\\x00' at row 11"),
        ([1.0, np.inf], ValueError, "continuous. labels holds inf at row 11"),
        (["a", "a\0"], ValueError, r"labels has the label 'a\\x00' at row 11; labels should not end in a NULL"),
        (pd.Series(["a", "b\0c", "a\0"]), ValueError, r"the label 'a\\x00' at row 12"),
        (np.array(["a\0"], np.dtypes.StringDType()), ValueError, r"the label 'a\\x00' at row 10"),
    ],
)
def test_what_is_no_label(labels, error, words):
    refuses(error, words, lambda: check_labels(labels, "labels", first_row=10))


def test_y_of_one_column_is_taken_with_the_warning_that_users_know():
    with pytest.warns(DataConversionWarning, match=r"column-vector y was passed"):
        assert check_y(np.array([[1], [2]])).tolist() == [1, 2]
    assert check_y([1, 2], 5).tolist() == [1, 2]
    refuses(ValueError, r"y holds a list of labels for each row; .* 2-D indicator", lambda: check_y([[1], [1, 0]]))


@given(arrays(np.int8, array_shapes(min_dims=2, max_dims=2, min_side=2, max_side=6), elements=st.integers(0, 1)))
def test_an_indicator_of_any_form_is_canonical_csr(y):
    said_at_length = sp.csr_array(  # unsorted, with zeros in it, and with ones in two halves
        (
            np.concatenate([np.repeat(row[::-1] / 2, 2) for row in y]),
            np.tile(np.repeat(np.arange(y.shape[1])[::-1], 2), len(y)),
            np.arange(len(y) + 1) * 2 * y.shape[1],
        ),
        shape=y.shape,
    )
    for given_y in (y, y == 1, y.astype(object), y.tolist(), sp.coo_array(y), sp.csc_matrix(y), said_at_length):
        found = check_y(given_y)
        assert found.dtype == np.uint8 and (found.toarray() == y).all()
        twin = sp.csr_array(y)
        assert found.indices.tolist() == twin.indices.tolist() and found.indptr.tolist() == twin.indptr.tolist()
    assert len(said_at_length.data) == 2 * y.size  # the user's stays as it is


@pytest.mark.parametrize(
    ("y", "error", "words"),
    [
        ([[0, 1, 2]], ValueError, "y has 2 at row 10, column 2; .* should hold 0 and 1 alone"),
        ([[0, 1, 0], [0, -1.5, 3]], ValueError, "y has -1.5 at row 11, column 1"),
        ([[0, 1]], ValueError, r"y has shape \(1, 2\); .* of shape \(n_rows, 3\)"),
        ([["a", "b", "c"]], TypeError, "y is 2-D with dtype <U1"),
        (np.array([["a", 0, 1]], object), TypeError, "y holds objects that are no 0 or 1"),
        (np.array([[10**400, 0, 1]], object), TypeError, "y holds objects that are no 0 or 1"),
        ([[0, 1, 1], [0]], ValueError, "y should be an array, or lists of one length"),
        (np.ma.array([[0, 1, 1]], mask=[[False, True, False]]), ValueError, "y is a masked array with masked entries"),
    ],
)
def test_what_is_no_indicator(y, error, words):
    refuses(error, words, lambda: check_indicator(y, 3, first_row=10))


def test_listed_classes_stand_once_in_their_order():
    assert check_classes(None) is None and check_classes(["b", "a"]).tolist() == ["b", "a"]
    for wrong, words in (([], "classes is empty"), ([1, 2, 1], "classes lists a label twice")):
        refuses(ValueError, words, check_classes, wrong)


def test_class_numbers_are_in_range():
    found = check_class_numbers(np.array([2, -1, 0], np.int8), 3, "winners", lowest=-1)
    assert found.dtype == np.int64 and found.tolist() == [2, -1, 0]
    for wrong in (-1, 3):
        with pytest.raises(ValueError, match=f"^winners has {wrong} at row 1; class numbers should be from 0 to 2$"):
            check_class_numbers([0, wrong, 9], 3, "winners")
    for wrong in ([0.0], [[0]], ["a"]):
        refuses(TypeError, r"^winners has shape .* one class number", check_class_numbers, wrong, 3, "winners")


def test_the_columns_of_a_frame_name_labels_where_they_can():
    rows = np.eye(2, dtype=int)
    assert names_of_labels(pd.DataFrame(rows, columns=["a", "b"])).tolist() == ["a", "b"]
    for none in (rows, None, "y", pd.Series([1, 2]), pd.DataFrame(rows), pd.DataFrame(rows, columns=["a", "a"])):
        assert names_of_labels(none) is None
    assert names_of_labels(pd.DataFrame({"a": [1, 0]})) is None


def test_labels_of_which_each_row_has_its_own_are_refused():
    with pytest.raises(ValueError, match=r"y has 20,000 distinct labels in 20,000 rows, and folds need .* snb\.Ridge"):
        snb.search(np.ones((20_000, 2)), np.arange(20_000), task="classification")
    row_checks.check_repeated((np.arange(20_000) // 2).astype(str))
    row_checks.check_repeated(np.arange(9_999) % 100)


def test_numbers_to_predict_are_told_which_estimators_take_them():
    X, y = np.ones((120, 2)), np.arange(120) / 7.0
    for fit in (snb.compare, snb.LinearNB().fit, snb.SoftmaxRegression().fit):
        refuses(ValueError, r"Unknown label type: continuous.*use snb\.search\(X, y, task=", fit, X, y)
    for whole in (np.arange(120), list(range(120)), pd.Series(np.arange(120.0))):
        with pytest.warns(UserWarning, match=r"120 distinct whole numbers in 120 rows.*snb\.ElasticNetCV"):
            row_checks.check_repeated(whole)
    row_checks.check_repeated(np.arange(120) % 49)  # classes may be as many


@pytest.mark.parametrize(
    "model",
    [
        snb.LinearNB("gaussian"),
        snb.SoftmaxRegression(max_passes=2),
        snb.AdditiveClassifier(l2=1.0, interactions=0, max_passes=2),
    ],
)
def test_fits_warn_of_numbers_to_predict_in_files_too(model, tmp_path):
    frame = pd.DataFrame({"size": np.arange(300) % 7, "price": np.arange(300) % 150})
    frame.to_csv(tmp_path / "homes.csv", index=False)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        warnings.filterwarnings("error", message="y has 150 distinct whole numbers in 300 rows")
        refuses(UserWarning, r"each of which is a class here.*snb\.Ridge", model.fit, tmp_path / "homes.csv", "price")
