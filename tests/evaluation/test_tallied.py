"""What is kept of judged rows: who may ask for it, what is refused, what merges."""

import numpy as np
import pytest

from streamnb.evaluation import tallied
from streamnb.evaluation.tallied import NEEDS, Tallied


def some(needs=("confusion", "ranking"), **options):
    judged = Tallied(3, needs, **options)
    judged.add([0, 1, -1, 2], [1.0, 2.0, 4.0, 0.5], predicted=[0, 2, 2, 2], ranking=np.eye(4, 3), margin=np.eye(4, 3))
    return judged


def test_rows_and_weights_are_counted():
    judged = some()
    assert (judged.n_rows, judged.weight, judged.class_weight.tolist()) == (4, 7.5, [1.0, 2.0, 0.5])
    judged.class_weight[:] = 9.0  # a copy
    assert judged.class_weight.tolist() == [1.0, 2.0, 0.5]
    assert judged.classes.tolist() == [0, 1, 2] and Tallied(2, "hits").needs == {"hits"}


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Tallied(0), "n_classes=0 should be at least 1"),
        (lambda: Tallied(3, ["hit"]), "needs='hit' is unknown; it should be one of 'hits', 'confusion'"),
        (lambda: Tallied(3, n_bins=1), "n_bins=1 should be at least 2"),
        (lambda: Tallied(3, exact_rows=-1), "exact_rows=-1"),
        (lambda: Tallied(3, classes=["a", "b"]), r"classes has shape \(2,\); it should name each of the 3 classes"),
    ],
)
def test_arguments_that_cannot_be(wrong, message):
    with pytest.raises(ValueError, match=message):
        wrong()


def test_what_was_not_kept_says_how_to_keep_it():
    judged = some("hits")
    assert tallied.has(judged, "decisions") and not tallied.has(judged, "ranking")
    tallied.decisions(judged)
    for ask, need, given in (
        (lambda: tallied.decisions(judged, "confusion"), "confusion", r"y_pred= \(for at most 1000 classes\)"),
        (lambda: tallied.ranking(judged), "ranking", "scores= or proba="),
        (lambda: tallied.losses(judged), "probabilities", "proba="),
    ):
        with pytest.raises(ValueError, match=f"needs '{need}', but needs held 'hits'; give snb.evaluate {given}"):
            ask()
    with pytest.raises(ValueError, match="needs held nothing"):
        tallied.decisions(Tallied(2, ()))
    with pytest.raises(ValueError, match="needs 'pairs'"):
        tallied.ranking(some(), "pairs")


def test_one_label_or_many():
    single, many = Tallied(2, "hits"), Tallied(2, "hits", multilabel=True)
    assert tallied.is_binary(single) and not tallied.is_binary(many) and not tallied.is_binary(Tallied(3, "hits"))
    tallied.check_multilabel(many, "jaccard")
    tallied.check_single(single, "confusion_matrix")
    with pytest.raises(ValueError, match="jaccard is for multi-label rows"):
        tallied.check_multilabel(single, "jaccard")
    with pytest.raises(ValueError, match="confusion_matrix is for rows of one label each"):
        tallied.check_single(many, "confusion_matrix")


def test_only_like_merges_with_like():
    merged = some() + some()
    assert (merged.n_rows, merged.weight) == (8, 15.0) and type(merged) is Tallied
    for other, name in (
        (Tallied(3, "hits"), "needs"),
        (Tallied(3, ("confusion", "ranking"), n_bins=4), "n_bins"),
        (Tallied(3, ("confusion", "ranking"), classes=["a", "b", "c"]), "classes"),
    ):
        with pytest.raises(ValueError, match=f"differ in {name}: "):
            some() + other
    with pytest.raises(TypeError):
        some() + 1


def test_what_was_saved_takes_more_rows():
    needs = [need for need in NEEDS if need not in ("probabilities", "multilabel")]
    judged = some(needs, exact_rows=1, n_bins=8)
    again = Tallied._from_state(judged._to_state())
    both = again + judged
    assert (both.n_rows, both.needs) == (8, frozenset(needs))
    np.testing.assert_array_equal(tallied.decisions(both).table, 2.0 * tallied.decisions(judged).table)
    state = judged._to_state()
    state["tallies"]["decisions"][3] = np.zeros((2, 2))
    with pytest.raises(ValueError, match=r"table is float64 \(2, 2\)"):
        Tallied._from_state(state)
