"""What follows the scan: weights of a whole grid, the choice of tau by cross-validation, scores of rows."""

import time
from collections.abc import Callable, Iterator
from pathlib import Path

import numpy as np
from sklearn.model_selection import GridSearchCV
from sklearn.naive_bayes import MultinomialNB

import streamnb as snb
from benchmarks.peers.problems import counts, labels
from benchmarks.peers.table import SLOWER, Row, Size, ratio

NONZEROS = 10**8  # of the fit that solving is compared with


def fitting(model, X, y, **options) -> Callable[[], object]:
    return lambda: model.fit(X, y, **options)


def whole_grid(stats, taus, family="poisson") -> Callable[[], None]:
    """The weights of all points, made and consumed in blocks of columns."""

    def run():
        path = snb.solve(stats, family, snb.L1(taus))
        for _, weights in path.by_columns():
            weights.sum()

    return run


def solving_rows(size: Size, _: Path) -> Iterator[Row]:
    X, y = counts(size.n_rows, size.features[-1], "zipf"), labels(size.n_rows, 20)
    stats = snb.scan(X, y, moments=["sum"])
    taus = np.geomspace(1, np.abs(snb.solve(stats, "poisson", snb.L1([1.0])).breakpoints()).max(), 100)
    fit = ratio(whole_grid(stats, taus), fitting(snb.LinearNB("poisson"), X, y), size.repeats, time.perf_counter)
    what = f"solve, 100 taus, L1, n = {X.shape[1]:,}, K = 20, in column blocks"
    yield Row(what, "fit of 10^8 nonzeros, from one of fewer", 1, 0.33, fit * X.nnz / NONZEROS, SLOWER)


def choice_rows(size: Size, _: Path) -> Iterator[Row]:
    taus = np.geomspace(1, 1000, 50)
    grid = {"alpha": np.geomspace(0.01, 100, 50)}
    search = GridSearchCV(MultinomialNB(), grid, cv=5, n_jobs=1, scoring="accuracy")
    chosen = snb.LinearNBCV("multinomial", snb.L1(taus), folds=5, scoring="accuracy")
    whole, few = (counts(n_rows, size.features[0], "zipf") for n_rows in (size.n_rows, size.slow_rows))
    for K, plain, searched in ((2, (5, 3), (40, 80)), (20, (12, 6), (20, 50))):
        what = f"5 folds x 50 taus chosen and refitted, K = {K}"
        y = labels(len(whole.indptr) - 1, K)
        fit = ratio(fitting(chosen, whole, y), fitting(snb.LinearNB(), whole, y), 1, time.perf_counter)
        yield Row(what, "one fit", *plain, fit, SLOWER)
        y = labels(size.slow_rows, K)
        ours = fitting(chosen, few, y, n_threads=1)
        # in the seconds of the process: neither side has a second thread to keep busy
        yield Row(
            f"{what}, one thread", "GridSearchCV", *searched, once(fitting(search, few, y), ours, time.process_time)
        )


def once(slow: Callable, fast: Callable, clock: Callable[[], float]) -> float:
    """How many times longer the first takes, which takes so long that once is enough; the second once before."""
    fast()
    start = clock()
    slow()
    middle = clock()
    fast()
    return (middle - start) / (clock() - middle)


def scoring_rows(size: Size, _: Path) -> Iterator[Row]:
    X, y = counts(size.n_rows, 2**14, "zipf"), labels(size.n_rows, 20)
    theirs, ours = MultinomialNB().fit(X, y), snb.LinearNB("multinomial").fit(X, y)
    times = ratio(
        lambda: theirs.predict_log_proba(X), lambda: ours.predict_log_proba(X), size.repeats, time.process_time
    )
    yield Row("scoring CSR rows, K = 20, one thread", "predict_log_proba of MultinomialNB", 2, 4, times)
