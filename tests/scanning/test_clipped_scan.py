"""A scan with clip= counts what each row and person may add, of declared classes and columns, in any kind of rows."""

import warnings

import dask.array as da
import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.rows.boundary import as_chunk
from streamnb.rows.clipping import rows_to_count
from streamnb.rows.splits import Folding

RNG = np.random.default_rng(0)
X = sp.random_array((200, 30), density=0.3, format="csr", rng=RNG)
Y = RNG.integers(0, 3, 200)
PEOPLE = RNG.integers(0, 40, 200)
CLIP = snb.Clip(presence=True, max_features=4)
HOW = {"clip": CLIP, "classes": [0, 1, 2], "n_features": 30}


def naive(X, y, clip=CLIP):
    kept = clip.applied(as_chunk(X)[0])[0].to_matrix().toarray()
    return np.stack([kept[y == k].sum(axis=0) for k in range(3)])


def test_sums_are_of_what_the_clip_leaves_of_rows():
    stats = snb.scan(X, Y, **HOW)
    assert np.array_equal(stats.sum, naive(X, Y)) and np.array_equal(stats.above, stats.sum)
    assert stats.clipping.clip == CLIP and stats.options.transform == "binary"
    l2 = snb.scan(X, Y, **{**HOW, "clip": snb.Clip(l2=1.0, step=2**-8)})
    assert l2.moments == ("sum", "sum_sq")


def test_the_same_bits_for_any_kind_of_rows():
    expected = snb.scan(X, Y, groups=PEOPLE, rows_per_group=3, **HOW)
    dense = X.toarray()
    for other in (
        snb.scan(dense, Y, groups=PEOPLE, rows_per_group=3, n_threads=2, **HOW),
        snb.scan(da.from_array(dense, chunks=(33, 30)), Y, groups=PEOPLE, rows_per_group=3, **HOW),
    ):
        assert np.array_equal(other.sum, expected.sum) and np.array_equal(other.rows, expected.rows)
    stream = ((X[i : i + 17], Y[i : i + 17]) for i in range(0, 200, 17))
    assert np.array_equal(snb.scan(stream, **HOW).sum, snb.scan(X, Y, **HOW).sum)


def test_a_person_adds_few_rows():
    stats = snb.scan(X, Y, groups=PEOPLE, rows_per_group=3, **HOW)
    kept = rows_to_count(PEOPLE, 3)
    assert np.array_equal(stats.sum, naive(X[kept], Y[kept])) and stats.n_rows == kept.sum() < 200
    assert stats.clipping.rows_per_group == 3 and stats.clipping.by_group


def test_folds_keep_a_person_together():
    stats = snb.scan(X, Y, groups=PEOPLE, rows_per_group=3, folds=2, **HOW)
    fold = Folding(2, by="groups").numbers(0, 200, PEOPLE, 0)  # by the person alone: counting people would tell of them
    own = rows_to_count(PEOPLE, 3) & (fold == 1)
    assert np.array_equal(stats.folds[1].sum, naive(X[own], Y[own]))
    given = snb.scan(X, Y, groups=PEOPLE, rows_per_group=3, folds=Y % 2, **HOW)
    assert given.n_rows == stats.n_rows


def test_a_person_adds_few_rows_after_a_learned_step_too():
    dense, clip, kept = X.toarray(), snb.Clip(presence=True), rows_to_count(PEOPLE, 3)
    step = snb.scan(dense, Y, transform=snb.Bins(3)).step
    how = {"clip": clip, "classes": [0, 1, 2], "n_features": step.n_columns, "transform": step}
    stats = snb.scan(dense, Y, groups=PEOPLE, rows_per_group=3, **how)
    assert np.array_equal(stats.sum, snb.scan(dense[kept], Y[kept], **how).sum) and stats.n_rows == kept.sum()


def test_labels_outside_of_classes_count_nowhere():
    known = Y < 2
    with pytest.warns(snb.StreamnbWarning, match=f"{np.count_nonzero(~known)} rows have labels outside"):
        stats = snb.scan(X, Y, **{**HOW, "classes": [0, 1]})
    assert np.array_equal(stats.sum, naive(X[known], Y[known])[:2]) and stats.n_rows == known.sum()


def test_models_score_whole_rows():
    model = snb.solve(snb.scan(X, Y, **HOW), "multinomial")[0]
    assert np.array_equal(model.decision_function(X), model.decision_function((X != 0).astype(float)))
    rows = sp.csr_array(np.ones((1, 30)))
    expected = model.coef_.sum(axis=1) + model.intercept_
    np.testing.assert_allclose(model.decision_function(rows)[0], expected)


def test_columns_that_were_learned_are_said():
    texts = ["ash tree", "birch bark", "cedar oil", "ash bark"]
    how = {"clip": snb.Clip(presence=True), "classes": [0, 1]}
    with pytest.warns(snb.StreamnbWarning, match="learned from rows"):
        snb.scan(snb.text(texts, vocabulary=3), [0, 1, 0, 1], n_features=3, **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        snb.scan(snb.text(texts, n_features=16), [0, 1, 0, 1], n_features=16, **how)


@pytest.mark.parametrize(
    "given, message",
    [
        ({"clip": "presence"}, "should be a snb.Clip"),
        ({"classes": None}, "needs classes="),
        ({"n_features": None}, "needs n_features="),
        ({"n_features": 29}, "30 columns, and n_features=29"),
        ({"n_features": 0}, "n_features"),
        ({"sample_weight": np.ones(200)}, "sample_weight does not work with clip="),
        ({"groups": PEOPLE}, "needs rows_per_group="),
        ({"rows_per_group": 3}, "needs groups="),
        ({"groups": PEOPLE, "rows_per_group": 0}, "rows_per_group"),
        ({"groups": PEOPLE[1:], "rows_per_group": 2}, "199"),
        ({"folds": 2, "repeats": 2}, "repeats=2"),
        ({"batch": PEOPLE}, "batch="),
        ({"transform": "log1p"}, "leave transform"),
        ({"transform": "quantile_normal"}, "learned from the rows"),
        ({"normalize": "l2"}, "leave transform and normalize out"),
        ({"clip": None}, "n_features=30 needs clip="),
    ],
)
def test_what_would_tell_about_rows_is_refused(given, message):
    with pytest.raises((ValueError, TypeError), match=message):
        snb.scan(X, Y, **{**HOW, **given})


def test_indicators_and_weights_that_come_with_rows_are_refused():
    with pytest.raises(ValueError, match="one label a row"):
        snb.scan(X, np.eye(3)[Y], **HOW)
    with pytest.raises(ValueError, match="sample_weight does not work"):
        snb.scan(((X[i : i + 50], Y[i : i + 50], np.ones(50)) for i in range(0, 200, 50)), **HOW)
