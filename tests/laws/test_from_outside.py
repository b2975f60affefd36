"""What is added without touching the package: a family, a penalty, a source, a statistic, a model of several passes."""

from dataclasses import dataclass

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.problem.penalties import Penalty
from streamnb.problem.pull import Pull
from streamnb.rows import opening
from streamnb.rows.block import Block
from streamnb.rows.labels import open_columns
from streamnb.rows.source import Source
from tests.support.of_users import Highest


def rows(n=400, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 3, n)
    return rng.poisson(1.0 + np.eye(3, 6)[y] * 2.0).astype(float), y


# ---- a family --------------------------------------------------------------------------------------------------------


class Overdispersed(snb.Family):
    """Counts of variance m + m^2 / 2: the negative binomial with r = 2, in three functions of the mean."""

    name = "overdispersed"
    lowest = 0.0

    def link(self, m):
        return np.log(m / (2.0 + m))

    def variance(self, m):
        return m * (1.0 + m / 2.0)

    def cumulant(self, m):
        return 2.0 * np.log1p(m / 2.0)


def test_a_family():
    x, y = rows()
    theirs, ours = (
        snb.LinearNB(family, snb.L1(5.0)).fit(x, y) for family in (snb.NegativeBinomial(2), Overdispersed())
    )
    np.testing.assert_allclose(ours.coef_, theirs.coef_, rtol=1e-12)
    assert np.array_equal(ours.predict(x), theirs.predict(x)) and ours.score(x, y) > 0.6


# ---- a penalty -------------------------------------------------------------------------------------------------------


class Spring(Penalty):
    """R = -(tau / 2) sum_j w_j^2, as a slope."""

    kind = "spring"

    def __init__(self, tau):
        self.tau = np.atleast_1d(np.asarray(tau, float))

    def pull(self, tau):
        return Pull(slopes=((tau, lambda w: -w),))

    def __repr__(self):
        return f"Spring({self.tau.tolist()})"


@pytest.mark.parametrize("family", ["gaussian", "poisson", "bernoulli"])
def test_a_penalty(family):
    x, y = rows()
    stats = snb.scan(x, y)
    ours = snb.solve(stats, family, Spring([0.5, 3.0]))
    theirs = snb.solve(stats, family, snb.L2([0.5, 3.0]))
    assert ours.grid[1] == {"spring": 3.0}
    for one, two in zip(ours, theirs):
        np.testing.assert_allclose(one.coef_, two.coef_, rtol=1e-9, atol=1e-12)
    both = snb.solve(stats, family, snb.L2(1.0) + Spring(2.0))[0]  # pulls add
    np.testing.assert_allclose(both.coef_, snb.solve(stats, family, snb.L2(3.0))[0].coef_, rtol=1e-9, atol=1e-12)


# ---- a source --------------------------------------------------------------------------------------------------------


@dataclass
class Dice:
    """Rows that are made where they are read: throws of dice, of a seed for each row."""

    n_rows: int
    n_features: int

    def rows(self, start, stop):
        draws = (np.random.default_rng(row).integers(0, 6, self.n_features) for row in range(start, stop))
        return np.array(list(draws), float).reshape(stop - start, self.n_features)


class DiceSource(Source):
    """Blocks of 50 throws."""

    def __init__(self, dice, columns):
        super().__init__(columns)
        self._dice, self.n_rows, self.n_features = dice, dice.n_rows, dice.n_features

    def blocks(self, start=0, stop=None):
        ask, end = self._columns.reader(start), self.n_rows if stop is None else stop
        for row in range(start, end, 50):
            until = min(row + 50, end)
            y, weight, split = ask(row, until)()
            yield Block(self._dice.rows(row, until), y, weight, split, row, 400 * self.n_features)


@pytest.fixture
def dice(monkeypatch):
    def opened(X, y, weight, labelled, group):
        return DiceSource(X, open_columns(y, weight, X.n_rows, labelled))

    kind = opening.Kind("dice", lambda X: isinstance(X, Dice), opened)
    monkeypatch.setattr(opening, "KINDS", [kind, *opening.KINDS])
    return Dice(230, 4)


def test_a_source(dice):
    y = np.arange(230) % 2
    x = dice.rows(0, 230)
    assert np.array_equal(snb.scan(dice, y).sum, snb.scan(x, y).sum)
    assert snb.plan(dice, y).n_rows == 230
    ours, theirs = (snb.LinearNBCV(folds=3).fit(X, y) for X in (dice, x))
    assert ours.best_ == theirs.best_ and np.array_equal(ours.predict(dice), theirs.predict(x))
    assert np.array_equal(snb.LinearNB().fit(dice, y).predict_proba(dice), snb.LinearNB().fit(x, y).predict_proba(x))


# ---- a statistic -----------------------------------------------------------------------------------------------------


def test_a_statistic(tmp_path):
    x, y = rows()
    store = tmp_path / "rows.zarr"
    snb.write_csr(store, [(sp.csr_array(x[:150]), y[:150]), (sp.csr_array(x[150:]), y[150:])], n_features=6)
    for X in (x, x.tolist(), sp.csr_array(x), iter([x[:100], x[100:]]), store):
        assert np.array_equal(snb.accumulate(X, task=Highest()).value, x.max(axis=0))
    kept = tmp_path / "pass.snb"
    first = snb.accumulate(store, task=Highest(), checkpoint=kept)
    again = snb.accumulate(store, task=Highest(), checkpoint=kept)  # reads nothing
    assert np.array_equal(first.value, again.value) and np.array_equal(snb.load(kept).stats["value"], first.value)
    with pytest.raises(ValueError, match="is of another scan"):
        snb.accumulate(store, "y", task=Gradient(np.zeros(6), 0.0), checkpoint=kept)


# ---- a model of several passes ---------------------------------------------------------------------------------------


@dataclass
class GradientSum:
    """The gradient of the log loss in w and b."""

    w: np.ndarray
    b: float = 0.0

    def __add__(self, other):
        return GradientSum(self.w + other.w, self.b + other.b)

    @property
    def nbytes(self):
        return self.w.nbytes

    def arrays(self):
        return {"w": self.w, "b": self.b}

    def finish(self):
        return self


@dataclass
class Gradient(snb.PassTask):
    w: np.ndarray
    b: float
    title = "gradient"

    def partial(self):
        return GradientSum(np.zeros(len(self.w)))

    def add(self, partial, block):
        rest = 1.0 / (1.0 + np.exp(-(block.X @ self.w + self.b))) - block.y
        partial.w += block.X.T @ rest
        partial.b += rest.sum()


class Logistic:
    """Logistic regression by gradient steps, a pass each, on rows of any kind."""

    def fit(self, X, y=None, n_passes=400, step=0.004):
        self.w, self.b = np.zeros(6), 0.0
        for _ in range(n_passes):
            gradient = snb.accumulate(X, y, Gradient(self.w, self.b))
            self.w, self.b = self.w - step * (gradient.w + self.w), self.b - step * gradient.b
        return self


def test_a_model_of_several_passes():
    from sklearn.linear_model import LogisticRegression

    x, y = rows(200)
    y = (y > 0).astype(int)
    theirs = LogisticRegression(tol=1e-10).fit(x, y)
    for X in (x, sp.csr_array(x)):
        ours = Logistic().fit(X, y)
        np.testing.assert_allclose(ours.w, theirs.coef_[0], rtol=0.0, atol=0.01)

    def chunks():
        return iter([(x[:70], y[:70]), (x[70:], y[70:])])

    np.testing.assert_allclose(Logistic().fit(chunks).w, theirs.coef_[0], rtol=0.0, atol=0.01)
