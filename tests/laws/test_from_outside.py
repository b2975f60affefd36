"""What is added without touching the package: a family, a penalty, a source, a statistic, a model of several passes."""

from dataclasses import dataclass, replace
from typing import Annotated

import numpy as np
import pytest
import scipy.sparse as sp

import streamnb as snb
from streamnb.core import persistence
from streamnb.problem.penalties import Penalty, Pull
from streamnb.rows.labels import open_columns
from streamnb.rows.row_blocks import Block
from streamnb.rows.source import Source
from tests.support.clusters import cluster_of
from tests.support.of_users import Highest

X, Y = np.ones((9, 6)), np.arange(9) % 2


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

    opened_by_user = True

    def __init__(self, dice):
        super().__init__(open_columns(None, None, dice.n_rows, labelled=False))
        self._dice, self.n_rows, self.n_features = dice, dice.n_rows, dice.n_features

    def blocks(self, start=0, stop=None):
        ask, end = self._columns.reader(start), self.n_rows if stop is None else stop
        for row in range(start, end, 50):
            until = min(row + 50, end)
            y, weight, split = ask(row, until)()
            yield Block(self._dice.rows(row, until), y, weight, split, row, 400 * self.n_features)


def test_a_source():
    dice = DiceSource(Dice(230, 4))
    y = np.arange(230) % 2
    x = Dice(230, 4).rows(0, 230)
    assert np.array_equal(snb.scan(dice, y).sum, snb.scan(x, y).sum)
    assert snb.plan(dice, y).n_rows == 230
    ours, theirs = (snb.LinearNBCV(folds=3).fit(X, y) for X in (dice, x))
    assert ours.best_params_ == theirs.best_params_ and np.array_equal(ours.predict(dice), theirs.predict(x))
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
        snb.accumulate(store, "y", task=Gradient(np.zeros(7)), checkpoint=kept)


# ---- a model of several passes ---------------------------------------------------------------------------------------


@dataclass
class Gradient(snb.Statistic):
    """The gradient of the log loss in w, whose last element is the intercept."""

    w: np.ndarray
    total: Annotated[np.ndarray, np.add] = 0.0

    def add(self, rows):
        chance = 1.0 / (1.0 + np.exp(-(rows.X @ self.w[:-1] + self.w[-1])))
        rest = (chance - rows.y) * (1.0 if rows.weight is None else rows.weight)
        self.total = self.total + np.append(rows.X.T @ rest, rest.sum())


@dataclass
class LogLoss(snb.Statistic):
    w: np.ndarray
    loss: Annotated[float, np.add] = 0.0
    n_rows: Annotated[int, np.add] = 0

    def add(self, rows):
        margin = (2 * rows.y - 1) * (rows.X @ self.w[:-1] + self.w[-1])
        self.loss = self.loss + np.logaddexp(0.0, -margin).sum()
        self.n_rows += rows.n_rows


def logistic(l2=1.0, n_reads=400, step=0.004):
    """Logistic regression by gradient steps, a read each."""
    w = np.zeros(7)
    for _ in range(n_reads):
        (gradient,) = yield [snb.Pass(Gradient(w))]
        w = w - step * (gradient.total + l2 * np.append(w[:-1], 0.0))
    return w


def loss_of_fold(fold):
    (loss,) = yield [snb.Pass(LogLoss(np.zeros(7)), inside=fold)]
    return loss


def test_a_model_of_several_passes():
    from sklearn.linear_model import LogisticRegression

    x, y = rows(200)
    y = (y > 0).astype(int)
    theirs = LogisticRegression(tol=1e-10).fit(x, y)

    def chunks():
        return iter([(x[:70], y[:70]), (x[70:], y[70:])])

    for given in ((x, y), (sp.csr_array(x), y), (chunks,)):
        np.testing.assert_allclose(snb.drive(logistic(), *given)[:-1], theirs.coef_[0], rtol=0.0, atol=0.01)


def test_a_model_of_several_passes_is_cross_validated_as_if_it_were_refitted():
    x, y = rows(120)
    y, folds = (y > 0).astype(int), snb.fold_numbers(120, 3)
    judged = snb.drive(snb.cross_validated(lambda: logistic(n_reads=5), 3, LogLoss), x, y, folds=3)
    for fold, found in enumerate(judged):
        rest, held = folds != fold, folds == fold
        refitted = snb.drive(logistic(n_reads=5), x[rest], y[rest])
        np.testing.assert_allclose(found.w, refitted, rtol=1e-12)
        alone = snb.accumulate(x[held], y[held], LogLoss(refitted))
        np.testing.assert_allclose(found.loss, alone.loss, rtol=1e-12)


def test_a_model_of_several_passes_is_found_in_shared_reads_and_resumed(tmp_path):
    x, y = rows(120)
    y = (y > 0).astype(int)
    candidates = {l2: lambda l2=l2: logistic(l2, n_reads=4) for l2 in (0.1, 1000.0)}
    search = [candidates, 3, LogLoss, lambda found: -found.loss / found.n_rows]
    best, w, scores = snb.drive(snb.searched(*search), x, y, folds=3, checkpoint=tmp_path)
    assert best == 0.1 and np.mean(scores[0.1]) > np.mean(scores[1000.0])
    assert len(list(tmp_path.iterdir())) == 4 + 1 + 4  # reads of all folds together, of their judges, of the best
    resumed = snb.drive(snb.searched(*search), x, y, folds=3, checkpoint=tmp_path)
    assert np.array_equal(resumed[1], w) and resumed[2] == scores
    assert np.array_equal(w, snb.drive(logistic(0.1, n_reads=4), x, y))


# ---- a learned step --------------------------------------------------------------------------------------------------


@dataclass
class Moments(snb.Statistic):
    n_rows: Annotated[int, np.add] = 0
    total: Annotated[np.ndarray, np.add] = 0.0
    squares: Annotated[np.ndarray, np.add] = 0.0

    def add(self, rows):
        self.n_rows += rows.n_rows
        self.total = self.total + rows.X.sum(axis=0)
        self.squares = self.squares + (rows.X**2).sum(axis=0)


@dataclass
class ScaledGradient(Gradient):
    mean: np.ndarray = 0.0
    deviation: np.ndarray = 1.0

    def add(self, rows):
        super().add(replace(rows, X=(rows.X - self.mean) / self.deviation))


def scaled_logistic(n_reads=3):
    (found,) = yield [snb.Pass(Moments())]
    mean = found.total / found.n_rows
    scale = mean, np.sqrt(found.squares / found.n_rows - mean**2)
    w = np.zeros(7)
    for _ in range(n_reads):
        (gradient,) = yield [snb.Pass(ScaledGradient(w, 0.0, *scale))]
        w = w - 0.01 * gradient.total
    return w, scale


def test_a_learned_step_leaves_out_the_fold_that_it_is_judged_on():
    x, y = rows(120)
    y, folds = (y > 0).astype(int), snb.fold_numbers(120, 3)
    models = snb.drive(snb.together([snb.of_fold(scaled_logistic(), fold) for fold in range(3)]), x, y, folds=3)
    for fold, (w, (mean, deviation)) in enumerate(models):
        rest = folds != fold
        np.testing.assert_allclose(mean, x[rest].mean(axis=0), rtol=1e-12)
        np.testing.assert_allclose(deviation, x[rest].std(axis=0), rtol=1e-12)
        np.testing.assert_allclose(w, snb.drive(scaled_logistic(), x[rest], y[rest])[0], rtol=1e-12)


@pytest.mark.cluster
def test_a_fit_runs_on_a_cluster(tmp_path):
    x, y = rows(300)
    store = tmp_path / "rows.zarr"
    snb.write_csr(store, [(sp.csr_array(x), (y > 0).astype(int))], n_features=6)
    here = snb.drive(logistic(n_reads=3), store, "y")
    with cluster_of(2, tmp_path) as client:
        np.testing.assert_allclose(snb.drive(logistic(n_reads=3), store, "y", client=client), here, rtol=1e-12)


@persistence.register
@dataclass
class Logistic(persistence.Parameters):
    l2: float = 0.1

    def get_params(self, deep=True):
        return {"l2": self.l2}

    def fit(self, X, y=None, **run):
        self.w_ = snb.drive(logistic(self.l2, n_reads=3), X, y, **run)
        return self


def test_a_fit_is_answered_by_sites_in_files(tmp_path):
    x, y = rows(120)
    y = (y > 0).astype(int)
    sites = {"north": slice(50), "south": slice(50, 120)}
    schema = sum(snb.schema(x[some], y[some], classes=[0, 1], folds=4, seed=1) for some in sites.values())
    step = schema.fit(Logistic())
    for _ in range(3):
        step.save(tmp_path / "round.snb")
        asked = snb.load(tmp_path / "round.snb")
        for name, some in sites.items():
            asked.read(x[some], y[some], site=name).save(tmp_path / name)
        step = asked.step(*(snb.load(tmp_path / name) for name in sites))
    np.testing.assert_allclose(step.w_, snb.drive(logistic(0.1, n_reads=3), x, y), rtol=1e-12)
    fourth = snb.drive(loss_of_fold(3), schema.rows(x, y))
    assert fourth.n_rows == (snb.fold_numbers(120, 4, seed=1) == 3).sum()  # of the folds that the schema names
    with pytest.raises(ValueError, match=r"folds=4 are .*seed=0.*, and the schema has .*seed=1.*; leave folds= out"):
        snb.drive(loss_of_fold(3), schema.rows(x, y), folds=4)


def fit_of_nothing():
    yield [snb.Pass(Gradient)]


@dataclass
class Forgetful(snb.Statistic):
    n_rows: int = 0  # nothing says how it merges
    n_blocks: Annotated[int, np.add] = 0

    def add(self, rows):
        self.n_rows += rows.n_rows


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: snb.drive(logistic, X), "fit is of type function; it should be a generator"),
        (lambda: snb.drive(fit_of_nothing(), X), "a pass is of .*Gradient.* an object and not a class"),
        (lambda: snb.drive((each for each in [Gradient(X[0])]), X), "should yield lists of snb.Pass"),
        (lambda: snb.accumulate(X, task=Forgetful()), "Forgetful.add changes n_rows, which does not merge"),
        (lambda: snb.drive(snb.of_fold(logistic(), 0), X, Y), "passes name folds, and the rows have none; give folds="),
        (lambda: snb.drive(snb.of_fold(logistic(), 3), X, Y, folds=3), "a pass names fold 3, and there are 3"),
        (
            lambda: snb.drive(snb.cross_validated(logistic, 2, Gradient), X, Y, folds=3),
            "n_folds=2 of cross_validated or searched, and the rows have 3 folds",
        ),
        (lambda: snb.drive(snb.of_fold(snb.of_fold(logistic(), 0), 1), X, Y, folds=3), "the pass is of fold 0 already"),
    ],
)
def test_fits_that_cannot_be_run_are_refused(call, message):
    with pytest.raises((TypeError, ValueError), match=message):
        call()
