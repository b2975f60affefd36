"""Fits: generators that yield the passes of a read and receive their totals."""

import sys
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from itertools import chain, islice
from typing import Any

from tqdm.auto import tqdm

from streamnb.passes.contract import PassTask, Reading, ReadRequest, Report, RunOptions, T
from streamnb.passes.passes import JointRead, Pass
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding

Fit = Generator[
    Sequence[Pass], Sequence[Any], T
]  # yields the passes of a read, receives their totals, returns a result


def reads_of(
    fit: Fit[T],
    rows: Source,
    options: RunOptions,
    folding: Folding | None = None,
    name: str = "read",
    title: Callable[[int, Sequence[Pass]], str] | None = None,
) -> Reading[tuple[T, Report]]:
    """The reads that answer the passes of a fit, until it returns.

    A fit that asks for no pass goes on without a read. One that is run alone may also ask for a `ReadRequest`.

    Parameters
    ----------
    fit : generator of sequences of Pass
    rows : Source
    options : RunOptions
        Its checkpoint is a folder, with a file for each read.
    folding : Folding, optional
        The folds that passes name.
    name : str
        Of the files of reads.
    title : callable, optional
        The title of the progress bar of a read, given its number, from 1, and its passes; the line of the last stays.

    Returns
    -------
    result, report
        What the fit returns, and the report of all reads.
    """
    totals: Any = None
    report, number, of_read = Report(), 0, ""
    while True:
        try:
            passes = fit.send(totals)
        except StopIteration as end:
            if number and options.progress:
                tqdm.write(of_read, file=sys.stderr)
            return end.value, report
        if isinstance(passes, ReadRequest):
            totals, more = yield passes
            totals, report = (totals, more), report + more
            continue
        if not isinstance(passes, Sequence) or not all(isinstance(each, Pass) for each in passes):
            raise TypeError(f"a fit yielded {passes!r:.100}; it should yield lists of snb.Pass, one list for each read")
        totals = []
        if not passes:
            continue
        number += 1
        of_read = f"read {number}" if title is None else title(number, passes)
        of_pass = replace(options.of_pass(f"{name}-{number:03}"), title=of_read)
        totals, more = yield from answered(passes, rows, of_pass, folding)
        del passes  # which may be large
        report += more


def answered(
    passes: Sequence[Pass], rows: Source, options: RunOptions, folding: Folding | None = None, title: str = "read"
) -> Reading[tuple[list[Any], Report]]:
    """The totals of passes, from one read of the rows, and its report.

    Passes of one object share its sums. Where they name folds, the sums of each fold are kept, unless their tasks can
    be `fused`.
    """
    first, *others = passes
    whole = folding is None and not others and first.fold is None
    if whole and isinstance(first.statistic, PassTask):
        total, report = yield ReadRequest(first.statistic, rows, options)
        return [total], report
    for each in passes:
        if folding is not None and each.n_folds not in (None, folding.n_splits):
            raise ValueError(
                f"n_folds={each.n_folds} of cross_validated or searched, and the rows have {folding.n_splits} "
                "folds; give both the same number, that of all repeats"
            )
        if each.fold is not None and folding is None:
            raise ValueError("passes name folds, and the rows have none; give folds=")
        if each.fold is not None and folding is not None and not 0 <= each.fold < folding.n_splits:
            raise ValueError(f"a pass names fold {each.fold}, and there are {folding.n_splits}, numbered from 0")
    read: Any = JointRead(tuple(passes), folding, title)
    kind, *more = read.groups
    if isinstance(kind, type) and not more:
        (read,) = read.tasks
    total, report = yield ReadRequest(read, rows, options)
    return read.answers(total, report), report


def together(fits: "Iterable[Fit[T]]", n_threads: int = 1) -> "Fit[list[T]]":
    """Combine several fits into one that shares each read; each continues once the totals of all are there.

    A fit that asks for no pass continues once all others have had their turn.

    Parameters
    ----------
    fits : generators of sequences of Pass
    n_threads : int
        Threads for the work between reads.

    Returns
    -------
    list
        The results, in the order of the fits.

    Examples
    --------
    A fit that asks for one total, run for two statistics in one read:

    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> import numpy as np, streamnb as snb
    >>> @dataclass
    ... class Power(snb.Statistic):
    ...     exponent: int
    ...     total: Annotated[float, np.add] = 0.0
    ...
    ...     def add(self, rows):
    ...         self.total += (rows.X**self.exponent).sum()
    >>> def total(exponent):
    ...     (power,) = yield [snb.Pass(Power(exponent))]
    ...     return power.total
    >>> [float(each) for each in snb.drive(snb.together([total(1), total(2)]), [[1.0, 2.0], [3.0, 0.0]])]
    [6.0, 14.0]
    """
    running = list(fits)
    results: list[Any] = [None] * len(running)
    asked: dict[int, Sequence[Pass]] = {}
    totals: dict[int, Any] = dict.fromkeys(range(len(running)))

    def advance(number: int) -> Sequence[Pass] | None:
        try:
            return running[number].send(totals[number])
        except StopIteration as end:
            results[number] = end.value
            return None

    with ThreadPoolExecutor(n_threads, "streamnb-fits") as pool:  # its threads begin with the first work
        in_turn = map if n_threads == 1 else pool.map
        while totals:
            turn = list(totals)
            for number, passes in zip(turn, in_turn(advance, turn), strict=True):
                del totals[number]
                if passes:
                    asked[number] = passes
                elif passes is not None:
                    totals[number] = []
            if asked and not totals:
                found = iter((yield list(chain.from_iterable(asked.values()))))
                for number, passes in asked.items():
                    totals[number] = list(islice(found, len(passes)))
                asked = {}
    return results


def of_fold(fit: "Fit[T]", fold: int, n_folds: int | None = None) -> "Fit[T]":
    """Leave the rows of a fold out of a fit, and of whatever it learns on the way.

    Parameters
    ----------
    fit : generator of sequences of Pass
    fold : int
    n_folds : int, optional
        The number of folds; rows with another one are refused.

    Returns
    -------
    generator
        Its passes leave out the fold.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> @dataclass
    ... class Count(snb.Statistic):
    ...     n_rows: Annotated[int, np.add] = 0
    ...
    ...     def add(self, rows):
    ...         self.n_rows += rows.n_rows
    >>> def size():
    ...     (count,) = yield [snb.Pass(Count())]
    ...     return int(count.n_rows)
    >>> snb.drive(snb.of_fold(size(), 0), np.ones((9, 2)), folds=3)
    6
    """
    totals: Any = None
    while True:
        try:
            passes = fit.send(totals)
        except StopIteration as end:
            return end.value
        totals = yield [each.of_fold(fold, n_folds) for each in passes]


def cross_validated(make_fit: "Callable[[], Fit]", n_folds: int, judge: Callable) -> "Fit[list]":
    """Fit without each fold, and judge every model on the rows of its fold.

    Parameters
    ----------
    make_fit : callable
        Returns a new fit.
    n_folds : int
        The number of folds, over all repeats, which must be that of the rows.
    judge : callable
        Given a model, returns the statistic that judges it on rows, such as an evaluation.

    Returns
    -------
    list of statistics
        One for each fold: the total of its rows.

    Examples
    --------
    Predict each row of a fold by the mean of the other rows:

    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> import numpy as np, streamnb as snb
    >>> @dataclass
    ... class Mean(snb.Statistic):
    ...     n_rows: Annotated[int, np.add] = 0
    ...     total: Annotated[float, np.add] = 0.0
    ...
    ...     def add(self, rows):
    ...         self.n_rows += rows.n_rows
    ...         self.total += rows.X.sum()
    >>> @dataclass
    ... class Error(snb.Statistic):
    ...     mean: float
    ...     squares: Annotated[float, np.add] = 0.0
    ...
    ...     def add(self, rows):
    ...         self.squares += ((rows.X - self.mean) ** 2).sum()
    >>> def mean():
    ...     (found,) = yield [snb.Pass(Mean())]
    ...     return found.total / found.n_rows
    >>> X = np.array([[1.0], [2.0], [3.0], [6.0]])
    >>> errors = snb.drive(snb.cross_validated(mean, 2, Error), X, folds=[0, 0, 1, 1])
    >>> [float(each.squares) for each in errors]
    [18.5, 22.5]
    """
    models = yield from together(of_fold(make_fit(), fold, n_folds) for fold in range(n_folds))
    judged = yield [Pass(judge(model), inside=fold, n_folds=n_folds) for fold, model in enumerate(models)]
    return list(judged)


def searched(
    candidates: "Mapping[Any, Callable[[], Fit]]",
    n_folds: int,
    judge: Callable,
    score: "Callable[[Any], float]",
) -> "Fit[tuple[Any, Any, dict]]":
    """Cross-validate candidates in shared reads, and fit the one with the best mean score to all rows.

    Parameters
    ----------
    candidates : dict of callables
        Each returns a new fit.
    n_folds, judge
        As for `cross_validated`.
    score : callable
        The score of a fold, given what judged it; larger is better.

    Returns
    -------
    name, model, scores
        The name of the best candidate, its model of all rows, and the scores of each candidate by fold.

    Examples
    --------
    Predict rows by the mean of the others, or by 0:

    >>> from dataclasses import dataclass
    >>> from typing import Annotated
    >>> import numpy as np, streamnb as snb
    >>> @dataclass
    ... class Mean(snb.Statistic):
    ...     n_rows: Annotated[int, np.add] = 0
    ...     total: Annotated[float, np.add] = 0.0
    ...
    ...     def add(self, rows):
    ...         self.n_rows += rows.n_rows
    ...         self.total += rows.X.sum()
    >>> @dataclass
    ... class Error(snb.Statistic):
    ...     mean: float
    ...     squares: Annotated[float, np.add] = 0.0
    ...
    ...     def add(self, rows):
    ...         self.squares += ((rows.X - self.mean) ** 2).sum()
    >>> def mean():
    ...     (found,) = yield [snb.Pass(Mean())]
    ...     return found.total / found.n_rows
    >>> X = np.array([[1.0], [2.0], [3.0], [6.0]])
    >>> def zero():
    ...     return 0.0
    ...     yield
    >>> best, model, scores = snb.drive(
    ...     snb.searched({"mean": mean, "zero": zero}, 2, Error, lambda error: -error.squares), X, folds=[0, 0, 1, 1]
    ... )
    >>> best, float(model)
    ('mean', 3.0)
    """
    judged = yield from together(cross_validated(make, n_folds, judge) for make in candidates.values())
    scores = {name: [score(each) for each in folds] for name, folds in zip(candidates, judged, strict=True)}
    best = max(scores, key=lambda name: sum(scores[name]))
    return best, (yield from candidates[best]()), scores
