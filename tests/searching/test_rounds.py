"""Rounds: the better third goes on where time is short, what was left has fewer folds, and a budget is kept to."""

import numpy as np
import pytest
from sklearn.dummy import DummyClassifier
from sklearn.linear_model import LogisticRegression

import streamnb as snb
from streamnb.searching import rounds
from streamnb.searching.rounds import Budget, CandidateGroup, within_reads

rng = np.random.default_rng(2)
N = 150
Y = np.arange(N) % 2
X = rng.poisson(1.0 + Y[:, None] * np.array([1.0, 0.5, 0.0]), (N, 3)).astype(float)
QUIET = {"show": False, "scoring": "accuracy"}
LISTS = {"families": ["poisson", "bernoulli", "gaussian"], "penalties": [None], "smoothing": [0.1, 1.0]}


def test_the_better_third_goes_on_where_time_is_short_and_its_scores_are_those_of_all_folds(monkeypatch):
    others = {"logistic": LogisticRegression(), "dummy": DummyClassifier()}
    asked = {**LISTS, "models": [snb.SoftmaxRegressionCV([1.0])], "others": others}
    all_go_on = snb.search(X, Y, **asked, budget="10min", **QUIET)
    assert {one.n_folds for one in all_go_on.candidates} == {5} and len(all_go_on.candidates) == 9
    monkeypatch.setattr(Budget, "lasts", lambda budget, seconds: False)
    found = snb.search(X, Y, **asked, budget="10min", **QUIET)
    whole = {one.name: one for one in snb.search(X, Y, **LISTS, others=others, **QUIET).candidates}
    n_folds = [one.n_folds for one in found.ranked]
    assert sorted(n_folds, reverse=True) == n_folds == [5, *[2] * 2, *[1] * 6]
    for judged in found.candidates:
        if judged.name in whole:
            on = ~np.isnan(judged.scores["accuracy"])
            assert on.sum() == judged.n_folds
            np.testing.assert_array_equal(judged.scores["accuracy"][on], whole[judged.name].scores["accuracy"][on])
    left = [one for one in found.ranked if one.n_folds == 1]
    went_on = [one.scores["accuracy"][0] for one in found.ranked if one.n_folds > 1]
    assert max(one.scores["accuracy"][0] for one in left) <= min(went_on) + 1e-9


def test_only_those_that_may_be_the_best_are_judged_on_more_than_one_fold(monkeypatch):
    """By a rule that says how much is lost: the best of one fold is nearly that of all."""
    monkeypatch.setattr(rounds, "MANY_ROWS", 500)
    r = np.random.default_rng(0)
    y = r.integers(0, 2, 3000)
    rows = r.poisson(1.0 + y[:, None] * np.array([1.0, 0.5, 0.0]))
    others = {"logistic": LogisticRegression(C=1e-3), "dummy": DummyClassifier()}
    asked = {"families": [], "others": others, "models": [snb.LinearNBCV("bernoulli"), snb.SoftmaxRegressionCV([1.0])]}
    looked, every = (snb.search(rows, y, **asked, budget=budget, **QUIET) for budget in ("auto", None))
    n_folds = {one.name: one.n_folds for one in looked.candidates}
    assert n_folds["dummy"] == 1 and {one.n_folds for one in every.candidates} == {5}
    whole = {one.name: one for one in every.candidates}
    for judged in looked.candidates:
        on = ~np.isnan(judged.scores["accuracy"])
        assert on.sum() == judged.n_folds
        if judged.name in others:  # models have other points on fewer folds
            np.testing.assert_array_equal(judged.scores["accuracy"][on], whole[judged.name].scores["accuracy"][on])
    best = every.ranked[0].mean("accuracy")
    assert whole[looked.ranked[0].name].mean("accuracy") > best - 0.003
    few = snb.search(rows[:1000], y[:1000], **asked, **QUIET)  # the best of few rows is judged on all folds
    assert few.ranked[0].n_folds == 5 and {one.n_folds for one in few.candidates} == {1, 5}
    fewer = snb.search(rows[:450], y[:450], **asked, **QUIET)
    assert {one.n_folds for one in fewer.candidates} == {5}


def test_a_budget_of_reads_is_kept_to():
    models = [snb.SoftmaxRegressionCV(max_passes=40, tol=0.0), snb.MarginClassifierCV(max_passes=40, tol=0.0)]
    read = []

    def rows():
        read.append(1)
        yield X, Y

    found = snb.search(rows, families=["poisson"], models=models, budget="16 reads", **QUIET)
    assert len(read) * N <= found.report_.rows <= 16 * N and len(found.candidates) == 4  # some rows are kept
    with pytest.warns(snb.StreamnbWarning, match="left out: .*too few reads for it beside the others"):
        found = snb.search(rows, families=["poisson"], models=models, budget="10 reads", **QUIET)
    assert list(found.left_out) == ["MarginClassifierCV(max_passes=40, tol=0.0)"]


def test_what_there_is_no_time_for_is_left_out(capsys, monkeypatch):
    monkeypatch.setattr(rounds, "time", Clock)
    with pytest.warns(snb.StreamnbWarning, match="left out: 2 candidates"):
        found = snb.search(
            X, Y, families=[], others={name: Slow() for name in "abc"}, budget="0.1s", scoring="accuracy", show=True
        )
    assert found.candidates[0].n_folds == 1 and "was spent before it was judged" in found.left_out["c"]
    assert "budget 0.1s: judged on 1, 2, 5 folds in turn, a third goes on where time" in capsys.readouterr().out


class Clock:
    """Time passes only where something says that it takes time."""

    seconds = 0.0

    @classmethod
    def perf_counter(cls):
        return cls.seconds


class Slow(LogisticRegression):
    """It takes longer than the budget."""

    def fit(self, X, y):
        Clock.seconds += 0.15
        return super().fit(X, y)


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
