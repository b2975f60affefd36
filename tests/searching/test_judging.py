"""What a budget says, and how reads are dealt out."""

import numpy as np
import pytest

from streamnb.searching.rounds import Budget, CandidateGroup, within_reads


@pytest.mark.parametrize(
    ("given", "seconds", "reads"),
    [
        ("600s", 600.0, None),
        ("1.5 min", 90.0, None),
        ("2m", 120.0, None),
        ("2h", 7200.0, None),
        ("90", 90.0, None),
        (90, 90.0, None),
        (np.float64(1.5), 1.5, None),
        ("20 reads", None, 20),
        ("1 read", None, 1),
    ],
)
def test_seconds_and_reads(given, seconds, reads):
    budget = Budget.of(given)
    assert (budget.seconds, budget.reads) == (seconds, reads) and budget.spent < 60.0


@pytest.mark.parametrize(
    "given", ["", "s", "-3s", "0", 0, -1.0, float("inf"), float("nan"), "0 reads", "2.5 reads", "3 days", "10 READS"]
)
def test_what_is_none_is_said(given):
    with pytest.raises(ValueError, match="budget="):
        Budget.of(given)


@pytest.mark.parametrize(
    ("n_folds", "ends"), [(2, [1, 2]), (3, [1, 3]), (5, [1, 2, 5]), (10, [2, 4, 10]), (30, [4, 10, 30])]
)
def test_each_round_of_seconds_has_about_three_times_the_folds_of_the_one_before(n_folds, ends):
    rounds = Budget.of("1s").rounds(n_folds, True)
    assert [folds.stop for folds in rounds] == ends and sum(map(len, rounds)) == n_folds
    assert all(Budget.of(one).rounds(n_folds, True) == [range(n_folds)] for one in ("9 reads", None))


def test_reads_are_dealt_evenly_and_who_has_none_left_is_out():
    costs = {"a": lambda n: (2, 0), "b": lambda n: (1 + n, n), "c": lambda n: (1 + n, n)}
    groups = [CandidateGroup([name], lambda group: None, reads) for name, reads in costs.items()]
    for n_reads, kept, each in ((2, "a", 2), (7, "ab", 2), (20, "abc", 5)):
        stay, most, out = within_reads(groups, Budget.of(f"{n_reads} reads"))
        assert ("".join(group.names[0] for group in stay), most) == (kept, each) and out.keys() == {*"abc"} - {*kept}
    with pytest.raises(ValueError, match=r"budget='1 read' is too small for one candidate.*: a takes 2, b takes 5"):
        within_reads(groups[:2], Budget.of("1 read"))
    assert within_reads(groups, Budget.of(None)) == (groups, None, {})
