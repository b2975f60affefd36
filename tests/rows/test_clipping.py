"""What a row adds is bounded and depends on the row alone; so is what a person adds."""

from collections import Counter

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from streamnb.rows.clipping import content_keys, rows_to_count

VALUES = st.lists(st.lists(st.sampled_from([0.0, 0.0, 1.0, -2.0, 0.3]), min_size=4, max_size=4), min_size=1, max_size=5)
CLIPS = st.sampled_from(
    [
        snb.Clip(presence=True),
        snb.Clip(presence=True, max_features=2, seed=3),
        snb.Clip(l2=1.0, step=2**-4),
        snb.Clip(l2=1.5, step=0.5, max_features=1),
    ]
)


def left_of(clip, X):
    kept = clip.applied(as_chunk(X)[0])[0].to_matrix()
    return kept.toarray() if sp.issparse(kept) else kept


@given(VALUES, CLIPS)
@settings(max_examples=40, deadline=None)
def test_rows_keep_their_bounds_whatever_the_others_are(rows, clip):
    X = np.array(rows)
    left = left_of(clip, X)
    assert np.array_equal(left, np.vstack([left_of(clip, X[[i]]) for i in range(len(X))]))
    assert np.array_equal(left, left_of(clip, sp.csr_array(X)))
    assert (np.count_nonzero(left, axis=1) <= clip.most_values(4)).all()
    if clip.presence:
        assert np.isin(left, [0, 1]).all() and (left[X == 0] == 0).all()
    else:
        assert ((left**2).sum(axis=1) <= clip.l2**2).all() and np.array_equal(left % clip.step, np.zeros(left.shape))
        assert (np.abs(left) <= np.abs(X)).all()


def test_all_columns_have_equal_chances():
    n_rows, rng = 8_000, np.random.default_rng(0)
    other = np.sort(rng.integers(12, 100_000, (n_rows, 4)), axis=1)
    other += np.arange(4)  # no column twice
    columns = np.hstack([np.tile(np.arange(12), (n_rows, 1)), other]).reshape(-1)
    X = sp.csr_array((np.ones(len(columns)), columns, np.arange(n_rows + 1) * 16))
    kept = snb.Clip(presence=True, max_features=5).applied(as_chunk(X)[0])[0].to_matrix()
    shares = kept[:, np.arange(12)].mean(axis=0)
    assert np.abs(shares - 5 / 16).max() < 5.0 * (5 / 16 * 11 / 16 / n_rows) ** 0.5


def test_rows_of_one_content_have_one_key():
    X = np.array([[0.0, 1.0, 2.0], [0.0, 2.0, 1.0], [0.0, 1.0, 2.0], [0.0, 0.0, 0.0]])
    of_dense, of_sparse = (content_keys(as_chunk(rows)[0]) for rows in (X, sp.csr_array(X)))
    assert np.array_equal(of_dense, of_sparse)
    assert of_dense[0] == of_dense[2] and len(set(of_dense.tolist())) == 3


@given(st.lists(st.integers(0, 3), min_size=1, max_size=20), st.integers(1, 3), st.integers(0, 3))
@settings(max_examples=40, deadline=None)
def test_a_person_leaves_without_a_trace(groups, most, gone):
    groups = np.array(groups)
    kept, others = rows_to_count(groups, most), groups != gone
    assert all(Counter(groups[kept].tolist())[g] == min(n, most) for g, n in Counter(groups.tolist()).items())
    assert np.array_equal(kept[others], rows_to_count(groups[others], most)) if others.any() else True


@pytest.mark.parametrize(
    "given, message",
    [
        ({}, "should bound rows by one of them"),
        ({"presence": True, "l2": 1.0, "step": 0.5}, "leave one out"),
        ({"presence": True, "step": 0.5}, "needs l2="),
        ({"l2": 1.0}, "no step"),
        ({"l2": 1.0, "step": 0.01}, "power of two"),
        ({"l2": 1.0, "step": 2.0}, "at most l2"),
        ({"l2": np.inf, "step": 0.5}, "l2"),
        ({"presence": True, "max_features": 0}, "max_features"),
        ({"presence": "yes"}, "presence"),
    ],
)
def test_clips_that_bound_nothing_are_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.Clip(**given)
