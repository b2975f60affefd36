"""What is kept of judged rows: who may ask for it, what is refused, what merges."""

import numpy as np
import pytest

import streamnb as snb
from streamnb.evaluation import tallied
from streamnb.evaluation.tallied import NEEDS, Tallied
from streamnb.evaluation.tallies import Decisions
from streamnb.stats.row_means import WeightTable
from tests.support.judged import EVERYTHING, random_rows


def some(needs=("confusion", "ranking"), **options):
    judged = Tallied(3, needs, **options)
    judged.add([0, 1, -1, 2], [1.0, 2.0, 4.0, 0.5], predicted=[0, 2, 2, 2], ranking=np.eye(4, 3), margin=np.eye(4, 3))
    return judged


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        (lambda: Tallied(0), "n_classes=0 should be at least 1"),
        (lambda: Tallied(3, ["hit"]), "needs='hit' is unknown; it should be one of 'hits', 'confusion'"),
        (lambda: Tallied(3, n_bins=1), "n_bins=1 should be at least 2"),
        (lambda: Tallied(3, exact_rows=-1), "exact_rows=-1"),
        (lambda: Tallied(3, n_models=2, interval=0.9), "n_models=2 go without interval and slicing"),
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


def test_only_like_merges_with_like():
    merged = some() + some()
    assert (merged.n_rows, merged.weight, merged.n_unknown) == (6, 7.0, 2) and type(merged) is Tallied
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
    assert (both.n_rows, both.n_unknown, both.needs) == (6, 2, frozenset(needs))
    np.testing.assert_array_equal(tallied.decisions(both).table, 2.0 * tallied.decisions(judged).table)
    state = judged._to_state()
    state["tallies"]["decisions"][3] = np.zeros((2, 2))
    with pytest.raises(ValueError, match=r"table is float64 \(2, 2\)"):
        Tallied._from_state(state)


def test_tables_from_files_have_the_layout_of_their_own():
    table = WeightTable(np.zeros((2, 2, 3)).transpose(0, 2, 1))
    again = table.of_arrays(np.ones((3, 2)))
    assert again.sums.all() and again.pairs.strides == table.pairs.strides
    with pytest.raises(ValueError, match="it should be"):
        table.of_arrays(np.ones((2, 3)))
    with pytest.raises(ValueError, match="not enough values to unpack"):
        Decisions.of_classes(2, False).of_arrays([])


GOOD = dict(predicted=[0, 1], ranking=np.zeros((2, 3)), log_proba=np.full((2, 3), -1.0))


@pytest.mark.parametrize(
    "given, message",
    [
        (dict(codes=[0, 3]), "codes has 3 at row 1"),
        (dict(codes=[0, -2]), "codes has -2 at row 1"),
        (dict(predicted=[0, -1]), "predicted has -1 at row 1"),
        (dict(predicted=[0, 1, 2]), "predicted should have one entry"),
        (dict(predicted=None), "predicted is missing"),
        (dict(ranking=None), "ranking is missing"),
        (dict(log_proba=None), "log_proba is missing"),
        (dict(ranking=np.zeros((2, 2))), r"ranking has shape \(2, 2\)"),
        (dict(ranking=np.zeros((3, 3))), "ranking should have one entry"),
        (dict(ranking=np.array([[0, 0, 0], [0, np.nan, 0]])), "ranking contains NaN: row 1, column 1"),
        (dict(log_proba=np.full((2, 3), 0.5)), "should not be above 0"),
        (dict(weight=[1.0, -1.0]), "not negative"),
        (dict(weight=[1.0]), "weight should have one entry"),
    ],
)
def test_rows_that_do_not_fit_are_refused_and_nothing_is_added(given, message):
    e = snb.Evaluation(3)
    before = repr(e)
    with pytest.raises((ValueError, TypeError), match=message):
        e.add(**(dict(codes=[0, 1]) | GOOD | given))
    assert repr(e) == before


# ---- rows that have no class, or no weight ---------------------------------------------------------------------------


@pytest.mark.parametrize("exact_rows", [0, 100])
def test_rows_without_weight_change_nothing(exact_rows):
    rows = random_rows(3, 40, 0)
    rows.weight[:10] = 0.0
    rows.ranking[:10] *= 1e9
    all_rows, weighty = (rows.evaluation(r, exact_rows=exact_rows) for r in (slice(None), slice(10, None)))
    assert repr(all_rows).splitlines()[1:] == repr(weighty).splitlines()[1:]


def test_values_of_nothing_are_nan():
    e = snb.Evaluation(3, EVERYTHING)
    numbers = [e.accuracy(), e.balanced_accuracy(), e.roc_auc(), e.roc_auc("macro", "ovo"), e.average_precision()]
    assert np.isnan([*numbers, e.log_loss(), e.brier(), e.roc_auc_error]).all()
    assert "0 rows" in repr(e)
