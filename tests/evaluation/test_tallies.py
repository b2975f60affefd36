"""What is counted of judged rows: as a loop over them counts it, and the same however they are cut."""

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given
from hypothesis import strategies as st

from streamnb.evaluation.tallies import LOSSES, Decisions, Rows, losses_of, ratio
from streamnb.fits.statistic import Tally
from streamnb.stats.row_means import RowMeans

K = 3
ROWS = st.tuples(st.integers(0, K - 1), st.integers(0, K - 1), st.sampled_from([0.0, 0.25, 1.0, 2.0]))
CUT = st.lists(ROWS, max_size=12)


class Seen(Tally):
    """How many rows there were, and how many of each kind."""

    parts = "n", "table", "none", "each", "named"

    def __init__(self):
        self.n, self.table, self.none, self.kinds = 0, np.zeros((2, 3)).T, None, ("a", "b")
        self.each, self.named = [np.zeros(2)], {"means": RowMeans(("x",))}

    def add(self, *values):
        self.n += len(values)
        self.table[0, 1] += len(values)
        self.each[0] += values[0]
        self.named["means"].add([np.array(values)], np.ones(len(values)))


def test_of_named_parts_follow_merging_and_files():
    one, two, again = Seen(), Seen(), Seen()
    one.add(1.0, 2.0)
    two.add(4.0)
    total = one + two
    assert (total.n, total.table[0, 1], total.each[0].tolist(), total.none) == (3, 3.0, [5.0, 5.0], None)
    assert total.named["means"].mean("x") == 7.0 / 3.0 and total.kinds == one.kinds and one.table[0, 1] == 2.0
    again.restore(total._to_state())
    np.testing.assert_equal(again._to_state(), total._to_state())
    assert again.table.flags.f_contiguous  # as it was laid out
    again.add(1.0)
    assert (again.n, total.n) == (4, 3)
    state = total._to_state()
    without = {name: part for name, part in state.items() if name != "n"}
    for wrong in (
        *({**state, "table": table} for table in (np.zeros((2, 3)), np.zeros((3, 2), int), None, [[0.0]])),
        *({**state, name: other} for name, other in (("n", 0.5), ("none", np.zeros(2)), ("each", []), ("named", {}))),
        *(without, {**state, "more": 1}, "state", None),
    ):
        with pytest.raises((ValueError, TypeError)):
            Seen().restore(wrong)


def rows_of(drawn):
    labels, predicted, weight = zip(*drawn) if drawn else ((), (), ())
    return Rows(np.array(labels, int), np.array(weight, float), np.array(predicted, int))


def sets_of(labels, predicted, weight):
    return Rows(*(sp.csr_array(np.array(labels, np.uint8)), np.array(weight), sp.csr_array(np.array(predicted, "u1"))))


def tallied(kind, rows, *options):
    tally = kind(*options)
    tally.add(rows)
    return tally


def lost(rows):
    known, means = rows.with_weight(), RowMeans(LOSSES)
    means.add(losses_of(known), known.weight)
    return means


@given(CUT)
def test_decisions_are_counted_row_by_row(drawn):
    hit, true, predicted, table, right, weight = np.zeros(K), np.zeros(K), np.zeros(K), np.zeros((K, K)), 0.0, 0.0
    for label, found, w in drawn:
        predicted[found] += w
        weight += w
        true[label] += w
        table[label, found] += w
        hit[label] += w * (label == found)
        right += w * (label == found)
    tally = tallied(Decisions, rows_of(drawn), K, True)
    for own, wanted in zip((tally.hit, tally.true, tally.predicted, tally.table), (hit, true, predicted, table)):
        np.testing.assert_array_equal(own, wanted)
    assert tally.means.weight == weight
    np.testing.assert_array_equal(tally.means.mean("right"), right / weight if weight else np.nan)


def test_a_table_is_merged_where_both_have_one():
    with_table, without = (tallied(Decisions, rows_of([(0, 1, 1.0)]), K, table) for table in (True, False))
    assert (with_table + without).table is None and (with_table + with_table).table[0, 1] == 2.0


def test_losses_are_those_of_the_formulas():
    proba = np.array([[0.7, 0.2, 0.1], [0.0, 0.5, 0.5]])
    with np.errstate(divide="ignore"):
        logs = np.log(proba)
    rows = Rows(np.array([0, 0]), np.array([1.0, 3.0]), log_proba=logs)
    means = lost(rows)
    eps = np.finfo(float).eps
    assert means.mean("log_loss") == pytest.approx((-np.log(0.7) - 3 * np.log(eps)) / 4)
    assert means.mean("brier") == pytest.approx((0.09 + 0.04 + 0.01 + 3 * 1.5) / 4)
    two = lost(Rows(np.array([1]), np.ones(1), log_proba=np.log([[0.4, 0.6]])))
    assert two.mean("brier") == pytest.approx(0.16)  # half the sum over the two
    labels = Rows(sp.csr_array(np.array([[1, 0]], "u1")), np.ones(1), log_proba=np.log([[0.9, 0.2]]))
    assert lost(labels).mean("log_loss") == pytest.approx(-np.log([0.9, 0.8]).mean())
    assert lost(labels).mean("brier") == pytest.approx((0.01 + 0.04) / 2)


def test_rows_with_weight():
    rows = Rows(np.array([0, 2, 1]), np.array([1.0, 0.0, 2.0]), predicted=np.array([2, 2, 1]))
    some = rows.with_weight()
    assert some.labels.tolist() == [0, 1] and some.predicted.tolist() == [2, 1] and some.weight.tolist() == [1, 2]
    assert some.ranking is None and some.with_weight() is some


def test_ratios_without_denominator():
    np.testing.assert_array_equal(ratio(np.array([1.0, 2.0]), np.array([4.0, 0.0])), [0.25, 0.0])
    assert ratio(np.zeros(1), np.zeros(1), 1.0) == 1.0
