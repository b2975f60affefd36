"""Sparse arrays of every format as CSR; none whose parts contradict each other gets to SciPy's conversions."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import array_shapes, arrays

from streamnb.core.csr import as_csr, of_saved_parts, saved_parts, sound_csr
from tests.support.refusals import refuses

FORMATS = ["csr", "csc", "coo", "bsr", "lil", "dok", "dia"]
X = np.array([[0.0, 1.0, 0.0, 2.0], [0.0, 0.0, 3.0, 0.0]])


@given(arrays(np.float64, array_shapes(min_dims=2, max_dims=2, max_side=6), elements=st.integers(0, 2)))
def test_every_format(x):
    for name in FORMATS:
        matrix = sp.coo_array(x).asformat(name)
        for convert in (as_csr, sound_csr):
            found = convert(matrix, "X")
            assert found.format == "csr" and (found.toarray() == x).all()


def test_csr_stays_where_it_is_unless_a_copy_is_asked_for():
    matrix = sp.csr_array(X)
    assert np.shares_memory(as_csr(matrix, "X").data, matrix.data)
    assert not np.shares_memory(as_csr(matrix, "X", copy=True).data, matrix.data)


def test_a_sound_copy_does_not_believe_that_it_is_canonical():
    matrix = sp.csr_array((np.ones(3), np.array([1, 0, 0]), np.array([0, 3])), shape=(1, 2))
    matrix.has_canonical_format = True
    found = sound_csr(matrix, "y")
    assert not np.shares_memory(found.indices, matrix.indices)
    found.sum_duplicates()
    assert found.indices.tolist() == [0, 1] and found.data.tolist() == [2, 1]


def broken(name, **parts):
    matrix = sp.coo_array(X).asformat(name)
    if name == "bsr":
        matrix = sp.bsr_array(X, blocksize=(1, 2))
    for part, value in parts.items():
        setattr(matrix, part, value)
    return matrix


@pytest.mark.parametrize(
    ("matrix", "words"),
    [
        (broken("csr", indptr=np.array([0, 3])), "indptr has 2 entries; 2 rows or columns need 3"),
        (broken("csr", indptr=np.array([1, 2, 3])), "indptr should begin with 0 and rise"),
        (broken("csr", indptr=np.array([0, 3, 2])), "indptr should begin with 0 and rise"),
        (broken("csr", indptr=np.array([0, 2, 9])), "indptr speaks of 9 values, y.data holds 3 and y.indices 3"),
        (broken("csr", data=np.ones(1)), "indptr speaks of 3 values, y.data holds 1 and y.indices 3"),
        (broken("csr", indices=np.array([1])), "indptr speaks of 3 values, y.data holds 3 and y.indices 1"),
        (broken("csc", indptr=np.array([0, 1, 2])), "indptr has 3 entries; 4 rows or columns need 5"),
        (broken("csc", indices=np.array([0, 2, 0])), "indices has index 2; it should be from 0 to 1"),
        (broken("bsr", indices=np.array([0, 1, 2])), "indices has index 2; it should be from 0 to 1"),
        (broken("coo", coords=(np.array([0, 0, 1]), np.array([1, 3, -2]))), "coords has index -2; .* from 0 to 3"),
        (broken("coo", coords=(np.array([0, 0]), np.array([1, 3]))), "coords has 2 entries for 3 values"),
    ],
)
def test_parts_that_contradict_each_other(matrix, words):
    for convert in (as_csr, sound_csr):
        refuses(ValueError, rf"^y\.{words}", convert, matrix, "y")


def test_columns_of_what_came_as_csr_are_checked_in_a_sound_copy():
    matrix = broken("csr", indices=np.array([1, 4, 2]))
    assert as_csr(matrix, "X").indices[1] == 4  # for the caller to check
    refuses(ValueError, r"^y\.indices has index 4; it should be from 0 to 3$", lambda: sound_csr(matrix, "y"))


def test_parts_that_are_no_lists_of_integers():
    for name, parts in (("csr", {"indptr": np.array([0.0, 2.0, 3.0])}), ("csc", {"indices": np.zeros((3, 1), int)})):
        with pytest.raises(TypeError, match=r"^X\.ind.* has shape .* and dtype .*; it should hold integers$"):
            as_csr(broken(name, **parts), "X")
    refuses(ValueError, r"1D sparse array instead: X should be 2-D", lambda: as_csr(sp.coo_array(X[0]), "X"))


def test_parts_in_files_are_checked():
    parts = saved_parts(sp.csr_array(X))
    assert (of_saved_parts(parts, "X").toarray() == X).all() and parts[3] == [2, 4]
    for at, wrong in ((1, parts[1].astype(np.int16)), (1, parts[1] + 2), (2, parts[2][:-1]), (3, [2, -4]), (3, [2])):
        with pytest.raises(ValueError):
            of_saved_parts([*parts[:at], wrong, *parts[at + 1 :]], "X")
