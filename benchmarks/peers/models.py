"""What follows the scan: weights of a whole grid, the choice of tau by cross-validation, scores of rows."""

import time
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, PredefinedSplit
from sklearn.naive_bayes import MultinomialNB
from threadpoolctl import threadpool_limits

import streamnb as snb
from benchmarks.peers.problems import counts, labels, topics, write_default
from benchmarks.peers.table import BETTER, SLOWER, Row, Size, ratio

NONZEROS = 10**8  # of the fit that solving is compared with
CLOCK = time.perf_counter


def fitting(model, X, y, **options) -> Callable[[], object]:
    return lambda: model.fit(X, y, **options)


def whole_grid(stats, penalty, family="poisson") -> Callable[[], None]:
    """The weights of all points, made and consumed in blocks of columns."""

    def run():
        path = snb.solve(stats, family, penalty)
        for _, weights in path.by_columns():
            weights.sum()

    return run


def solving_rows(size: Size, _: Path) -> Iterator[Row]:
    X, y = counts(size.n_rows, size.features[-1], "zipf"), labels(size.n_rows, 20)
    stats = snb.scan(X, y, moments=["sum"])
    even = np.geomspace(1, np.abs(snb.solve(stats, "poisson", snb.L1([1.0])).breakpoints()).max(), 100)
    what = f"solve, 100 taus, L1, n = {X.shape[1]:,}, K = 20, in column blocks"
    for name, penalty in (("taus from the data", snb.L1(n_taus=100)), ("taus even in the logarithm", snb.L1(even))):
        times = ratio(whole_grid(stats, penalty), fitting(snb.LinearNB("poisson"), X, y), size.repeats, CLOCK)
        against = "fit of 10^8 nonzeros, from one of fewer"
        yield Row(f"{what}, {name}", against, 1, 0.33, times * X.nnz / NONZEROS, SLOWER)


def multinomial_rows(size: Size, _: Path) -> Iterator[Row]:
    """Under L2 no weight is 0, and T needs all of them; under L1 most are."""
    X, y = counts(15_000, 50_584, "zipf", per_row=80), labels(15_000, 20)
    stats = snb.scan(X, y, moments=["sum"])

    def solving(penalty: snb.L1 | snb.L2, scheme: str) -> Callable[[], object]:
        return lambda: snb.solve(stats, "multinomial", penalty, scheme=scheme, n_threads=1)[0]

    for scheme in ("joint", "ovr"):
        what = f"solve, multinomial, L2(1), {scheme}, n = {X.shape[1]:,}, K = 20, one thread"
        sides = solving(snb.L2(1.0), scheme), solving(snb.L1(1.0), scheme)
        yield Row(what, "L1(1)", 3, None, ratio(*sides, 2 * size.repeats, time.process_time), SLOWER)


def choice_rows(size: Size, folder: Path) -> Iterator[Row]:
    grid = {"alpha": np.geomspace(0.01, 100, size.points)}
    search = GridSearchCV(MultinomialNB(), grid, cv=5, n_jobs=1, scoring="accuracy")
    X = counts(size.n_rows, size.features[0], "zipf")
    penalties = (
        ("taus from the data", snb.L1(n_taus=size.points, scale="score")),  # what LinearNBCV does unless told otherwise
        ("taus even in the logarithm", snb.L1(np.geomspace(1, 1000, size.points))),
    )
    for K, plain, searched in ((2, (5, 3), (40, 80)), (20, (12, 6), (20, 50))):
        y = labels(size.n_rows, K)
        theirs, path = seconds(fitting(search, X, y)), write_default(folder / f"K = {K}", X, y)
        for name, penalty in penalties:
            what = f"5 folds x {size.points} taus chosen and refitted, K = {K}, {name}"
            chosen = snb.LinearNBCV("multinomial", penalty, folds=5, scoring="accuracy")
            for where, rows in (("in memory", (X, y)), ("from Zarr", (path, "y"))):
                fit = ratio(fitting(chosen, *rows), fitting(snb.LinearNB("multinomial"), *rows), size.repeats, CLOCK)
                yield Row(f"{what}, {where}", "one fit", *plain, fit, SLOWER)
            ours = min(seconds(fitting(chosen, X, y, n_threads=1)) for _ in range(2))
            yield Row(f"{what}, one thread", "GridSearchCV", *searched, theirs / ours)


def shared_rows(size: Size, _: Path) -> Iterator[Row]:
    """Of fewer rows than are meant fewer features, too, and a part of the grid."""
    part = size.shared_rows / 100_000
    n_folds, n_penalties = (5, 10) if part == 1 else (3, 4)
    X, y = topics(size.shared_rows, max(int(27_551 * part**0.7), 100), 20)
    l2, folds = np.geomspace(0.01, 100.0, n_penalties), snb.fold_numbers(len(y), n_folds)
    options: dict = {"folds": n_folds, "scoring": "accuracy"}
    search = GridSearchCV(LogisticRegression(max_iter=1000), {"C": 1 / l2}, cv=PredefinedSplit(folds), n_jobs=1)
    ours = snb.SoftmaxRegressionCV(l2, **options)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # that few reads were spent
        snb.SoftmaxRegressionCV(l2[:1], **options).fit(X[:500], y[:500])  # compiles
        faster = seconds(fitting(search, X, y)) / seconds(fitting(ours, X, y, n_threads=1))
    what = f"{n_folds} folds x {n_penalties} penalties, softmax, {X.shape[0]:,} x {X.shape[1]:,}, K = 20"
    yield Row(f"{what}, one thread", "LogisticRegression", 4, 12, faster)
    yield Row(f"{what}: accuracy, ours / theirs", "the same", 0.995, 1, ours.best_score_ / search.best_score_, BETTER)


def seconds(run: Callable[[], object]) -> float:
    """Seconds of the process: neither side has a second thread to keep busy."""
    start = time.process_time()
    run()
    return time.process_time() - start


def scoring_rows(size: Size, _: Path) -> Iterator[Row]:
    X, y = counts(size.n_rows, 2**14, "zipf"), labels(size.n_rows, 20)
    theirs, ours = MultinomialNB().fit(X, y), snb.LinearNB("multinomial").fit(X, y)
    times = ratio(
        lambda: theirs.predict_log_proba(X), lambda: ours.predict_log_proba(X), size.repeats, time.process_time
    )
    yield Row("scoring CSR rows, K = 20, one thread", "predict_log_proba of MultinomialNB", 2, 4, times)
