"""No person changes sums by more than the ledger says, by brute force; and ledgers add up."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import streamnb as snb
from streamnb.rows.clipping import Clipping
from streamnb.stats.privacy import Privacy, sensitivities

CLIPS = [
    snb.Clip(presence=True),
    snb.Clip(presence=True, max_features=2),
    snb.Clip(l2=1.0, step=2**-6),
    snb.Clip(l2=2.0, step=0.5, max_features=2),
]
SUMS = "sum", "sum_sq", "nonzero", "above"
ROWS = st.lists(st.tuples(*[st.sampled_from([0.0, 1.0, -1.0, 0.7])] * 3), min_size=1, max_size=6)


def scanned(X, y, people, clip, most, folds):
    moments = SUMS if clip.max_features else (*SUMS, "gram", "gram_above")
    who = {} if most is None else {"groups": people, "rows_per_group": most}
    return snb.scan(X, y, clip=clip, classes=[0, 1, 2], n_features=3, moments=moments, folds=folds, **who)


def parts(stats):
    return stats.folds if stats.folds else (stats,)


def norm(a, b, name):
    return sum(((p.tables[name].dense().hi - q.tables[name].dense().hi) ** 2).sum() for p, q in zip(a, b)) ** 0.5


@given(ROWS, st.sampled_from(CLIPS), st.sampled_from([None, 1, 2]), st.booleans(), st.data())
@settings(max_examples=40, deadline=None)
def test_no_neighbour_exceeds_the_sensitivity(rows, clip, most, folded, data):
    """All neighbours: each person leaves in turn, with all rows; two strangers stay, so that no set is empty."""
    X = np.array([*rows, (1.0, 1.0, 1.0), (1.0, 0.0, 0.0)])
    n_rows = len(X)
    y = np.array(data.draw(st.lists(st.integers(0, 1), min_size=n_rows, max_size=n_rows)))
    people = np.array([*data.draw(st.lists(st.integers(0, 2), min_size=len(rows), max_size=len(rows))), 8, 9])
    if most is None:
        people = np.arange(n_rows)
    folds = np.r_[data.draw(st.lists(st.integers(0, 1), min_size=len(rows), max_size=len(rows))), 0, 1]
    if not folded:
        folds = None
    whole = scanned(X, y, people, clip, most, folds)
    known = sensitivities(whole.clipping, whole.tables, 3, 0.0)
    for person in set(people[:-2].tolist()):
        others = people != person
        fewer = scanned(X[others], y[others], people[others], clip, most, None if folds is None else folds[others])
        for name, (bound, _) in known.items():
            assert norm(parts(whole), parts(fewer), name) <= bound * (1.0 + 1e-12)


def test_folds_of_rows_do_not_depend_on_their_numbers():
    rng = np.random.default_rng(0)
    X, y = rng.integers(0, 2, (40, 3)).astype(float), rng.integers(0, 3, 40)
    whole = scanned(X, y, None, CLIPS[1], None, 3)
    for row in range(0, 40, 5):
        fewer = scanned(np.delete(X, row, 0), np.delete(y, row), None, CLIPS[1], None, 3)
        bounds = sensitivities(whole.clipping, whole.tables, 3, 0.0)
        assert all(norm(whole.folds, fewer.folds, name) <= bound for name, (bound, _) in bounds.items())


@pytest.mark.parametrize("clip", CLIPS[:3], ids=repr)
def test_some_neighbour_attains_the_sensitivity_of_the_sums(clip):
    """Bounds that no rows come near would cost accuracy."""
    alone, row = np.array([[1.0, 0.0, 0.0]]), np.array([[1.0, 1.0, 0.0]] if clip.max_features else [[1.0] * 3])
    row = row if clip.presence else np.array([[1.0, 0.0, 0.0]])
    with_row = scanned(np.vstack([alone, row, row]), [0, 1, 1], [0, 1, 1], clip, 2, None)
    without = scanned(alone, [0], [0], clip, 2, None)
    for name in ("weight", "sum", "sum_sq"):
        bound, _ = sensitivities(with_row.clipping, with_row.tables, 3, 0.0)[name]
        assert norm((with_row,), (without,), name) >= 0.85 * bound


def test_sums_without_bound_are_refused():
    of_l2 = Clipping(snb.Clip(l2=1.0, step=0.5))
    for name in ("log_sum", "inv_sum", "deviation", "gram_sq", "histogram"):
        with pytest.raises(ValueError, match=f"'{name}' has no bounded sensitivity"):
            sensitivities(of_l2, [name], 3, 0.0)
    with pytest.raises(ValueError, match="equal chances"):
        sensitivities(Clipping(CLIPS[1]), ["gram"], 3, 0.0)
    with pytest.raises(ValueError, match="binarize=-1"):
        sensitivities(of_l2, ["above"], 3, -1.0)


def test_ledgers_add_up():
    one = Privacy(1.0, 1e-6, 0.1, "noise", Clipping(CLIPS[0]), ("0", "1"), 3, {"sum": 2.0}, {"sum": 3.0})
    two = replace(one, epsilon=0.5, delta=1e-5, noise={"sum": 4.0}, unprotected=True)
    beside, after = one.beside(two), one.after(two)
    assert (beside.epsilon, beside.delta, beside.noise["sum"]) == (1.0, 1e-5, 5.0)
    assert (after.epsilon, after.delta) == (1.5, 1e-6 + 1e-5) and after.unprotected
    for said in ("epsilon 1.5", "Clip(presence=True)", "['0', '1']", "are not protected", "deviation 5"):
        assert said in repr(after)
