"""`search`: every candidate on the same folds, in as few reads as may be, and the best one fitted."""

from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from streamnb.core import messages, notebook, row_checks
from streamnb.encoding.opening import opened
from streamnb.evaluation.scorers import Scorer
from streamnb.passes.options import RunOptions
from streamnb.passes.report import Report
from streamnb.rows.opening import with_labels
from streamnb.rows.source import Source
from streamnb.rows.splits import fold_numbers
from streamnb.searching import bayes, of_estimators
from streamnb.searching.axes import Setting, settings_of
from streamnb.searching.blind import usual_for
from streamnb.searching.found import Judged, Search, goodness, reasons
from streamnb.selection.grid_scores import check_choice


def search(
    X: Any,
    y: Any = None,
    *,
    families: Any = None,
    models: Any = None,
    transforms: Any = None,
    normalize: Any = None,
    idf: Any = None,
    smoothing: Any = None,
    penalties: Any = None,
    schemes: Any = None,
    others: Any = None,
    folds: Any = 5,
    scoring: Any = ("accuracy", "roc_auc"),
    seed: int = 0,
    sample_weight: Any = None,
    groups: Any = None,
    show: bool | None = None,
    progress: bool | None = None,
    n_threads: int | None = None,
    memory_limit: Any = None,
    client: Any = None,
) -> Search:
    """Judge every candidate on the same folds, and fit the best one to all rows.

    Naive Bayes in all settings, the combinations of the lists from `families` to `schemes`, takes two reads of the rows
    in all: in the first they are prepared in every way asked for, and summed side by side, all folds in it; in the
    second each row is scored by all models that did not see it. Smoothings, penalties, schemes and families of the same
    sums cost no read. Models of several reads follow, each in reads that all its penalties and folds share, then
    `others`.

    Parameters
    ----------
    X, y, sample_weight, groups, folds, seed
        As for `LinearNBCV`; X is read several times, so a stream has to be a callable that returns a fresh iterator.
    families : list of names or Family, optional
        By default multinomial, Bernoulli and Gaussian, and of dense rows of up to 300 features that with a covariance
        of each class, too. [] for none, with `models` or `others`. `Gaussian` with covariances takes no penalty, and
        stands in the table once.
    models : list of estimators, optional
        Of those that choose on folds, such as ``[snb.SoftmaxRegressionCV(), snb.MarginClassifierCV(idf=True)]``; their
        `folds`, `seed` and `scoring` are those of the search. By default, where no `families` are named either,
        ``SoftmaxRegressionCV()``; of sparse rows this one and ``MarginClassifierCV``, both of tf-idf.
    transforms, normalize, idf, smoothing, penalties, schemes : lists, optional
        Candidates of what `LinearNB` has one value for: ``transforms=[None, "log1p", ("l1:10000", "log1p")]``; a tuple
        is one sequence of steps. By default one each, as usual, and of penalties None, plain naive Bayes, and
        ``L1(scale="score")``; of each penalty the whole grid is judged. Schemes are of "joint", "ovr" and "ovo".
    others : dict {name: estimator}, optional
        Any that has scikit-learn's `fit` and `predict`, pipelines, too: fitted once without each fold, so that nothing
        that its steps learn comes from rows held back. They need X and y in memory.
    scoring : str, callable or a list of these
        As for `LinearNBCV`; the first chooses, and of what is equally good by it, the next.
    show : bool, optional
        Print beforehand what will be read, and the table in the end. By default it is printed but in a notebook.
    progress, n_threads, memory_limit, client
        As for `LinearNBCV.fit`; the sums of rows prepared in several ways share the limit.

    Returns
    -------
    Search
        It prints as a table; `Search.results_` is a data frame, `Search.best_` the model.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong: the message names it. Or no candidate could be judged: it has the reason of each.
    DataError
        Data cannot be read.

    Warns
    -----
    StreamnbWarning
        Combinations that cannot be, and candidates that fail or do not take the values, are left out, which is said
        once; `Search.left_out` has the reasons. Or a fold lacks a class.

    Notes
    -----
    Which candidate is best is told by the scores that choose it, so that its own score is a little too good: judge
    `best_` by rows that took no part. Nothing else of a held-out row is in a score: idf is that of the other rows.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = snb.search(X, y, families=["gaussian", "multinomial"], transforms=[None, "log1p"], show=False)
    >>> len(found.candidates), found.best_.score(X, y) > 0.9
    (8, True)
    """
    named = {"transforms": transforms, "normalize": normalize, "idf": idf, "smoothing": smoothing}
    named |= {"families": families, "penalties": penalties, "schemes": schemes}
    X, y = with_labels(X, y)
    scoring = list(scoring) if isinstance(scoring, list | tuple) else scoring
    scorer = check_choice("joint", folds, 1, seed, scoring, "best")
    options = RunOptions(progress, n_threads, memory_limit, client)
    rows = opened(X, y, sample_weight)
    if families is None:
        named["families"], usual = usual_for(rows)
        models = usual if models is None else models
    chosen = of_estimators.named_models([] if models is None else models)
    rest = of_estimators.check_others({} if others is None else others)
    rows.check_read_again("search")
    settings, left_out = _settings(named, rows, bool(chosen or rest), folds, seed, scoring)
    given = X, y, sample_weight
    numbers = _numbers(given, folds, groups, seed) if rest else None
    told = show or (show is None and not notebook.in_notebook())
    if told:
        print(_plan(settings, chosen, rest))
    folding = {"folds": folds, "groups": groups, "seed": seed, "scoring": scoring, "n_rows": rows.n_rows}
    found = _Finding(given, scorer, left_out)
    if settings:
        found.bayes(settings, rows, folding, options)
    for name, model in chosen.items():
        found.model(name, model, folding, options)
    for name, other in rest.items():
        found.other(name, other, numbers)
    result = found.result()
    if told:
        print(result)
    return result


class _Finding:
    """Candidates that were judged so far, each with what makes its model of all rows."""

    def __init__(self, given: tuple[Any, Any, Any], scorer: Scorer, left_out: dict[str, str]):
        self._given, self._scorer, self._left_out = given, scorer, left_out
        self._judged: list[Judged] = []
        self._makers: list[Callable[[], Any]] = []
        self._report = Report()

    def bayes(self, settings: list[Setting], rows: Source, folding: dict[str, Any], options: RunOptions) -> None:
        """Naive Bayes in all settings."""
        splits = folding["folds"], folding["groups"], folding["seed"]
        sums = bayes.summed(settings, rows, splits, options, self._left_out)
        found, report = bayes.judged(sums, self._scorer, options, self._left_out)
        self._report = sums.report + report
        for judged, setting, stats in found:
            self._take(judged, partial(bayes.fitted, setting, judged.point, stats, self._report, self._given))

    def model(self, name: str, model: Any, folding: dict[str, Any], options: RunOptions) -> None:
        """A model that chooses by itself."""
        how = {"progress": options.progress, "n_threads": options.n_threads}
        how |= {"memory_limit": options.memory_limit, "client": options.client}
        try:
            judged, fitted = of_estimators.judged_model(name, model, self._given, folding, how, self._scorer)
        except (ValueError, TypeError) as error:
            self._left_out[name] = str(error)
        else:
            self._take(judged, lambda: fitted)

    def other(self, name: str, other: Any, numbers: Any) -> None:
        """Any estimator."""
        given = *of_estimators.in_memory(*self._given[:2]), _weights(self._given[2])
        try:
            judged = of_estimators.judged_other(name, other, given, numbers, self._scorer)
        except Exception as error:  # of whatever it is made of
            self._left_out[name] = f"{type(error).__name__}: {error}"
        else:
            self._take(judged, lambda: of_estimators.fitted_other(other, given))

    def _take(self, judged: Judged, maker: Callable[[], Any]) -> None:
        if np.isnan(judged.mean(self._scorer.name)):
            self._left_out[judged.name] = f"it has no {self._scorer.name} in any fold"
            return
        self._judged.append(judged)
        self._makers.append(maker)

    def result(self) -> Search:
        """The table, and the best candidate fitted to all rows."""
        if not self._judged:
            raise ValueError(f"no candidate could be judged. {'; '.join(reasons(self._left_out))}")
        if self._left_out:
            messages.warn(
                f"{len(self._left_out)} candidates are left out; {reasons(self._left_out)[0]}; left_out has the "
                "reasons of all"
            )
        scorings = [one.name for one in self._scorer.each]
        best = max(range(len(self._judged)), key=lambda number: goodness(self._judged[number], scorings))
        return Search(self._judged, self._left_out, scorings, self._makers[best](), self._report)


def _settings(
    named: dict[str, Any], rows: Source, has_others: bool, folds: Any, seed: int, scoring: Any
) -> tuple[list[Setting], dict[str, str]]:
    """Settings of naive Bayes, none where no family is asked for but others are."""
    if has_others and isinstance(named["families"], list) and not named["families"]:
        return [], {}
    return settings_of(named, getattr(rows.given, "columns", None), folds, seed, scoring)


def _numbers(given: tuple[Any, Any, Any], folds: Any, groups: Any, seed: int) -> np.ndarray:
    """The fold of each row, which estimators of any kind are fitted without."""
    X, y = of_estimators.in_memory(*given[:2])
    row_checks.check_lengths(X.shape[0], y.shape[0])
    return fold_numbers(y.shape[0], folds, groups=groups, seed=seed) if np.ndim(folds) == 0 else np.asarray(folds)


def _weights(given: Any) -> np.ndarray | None:
    return None if given is None else np.asarray(given, np.float64)


def _plan(settings: list[Setting], models: dict[str, Any], others: dict[str, Any]) -> str:
    """What will be read, in words."""
    lines = []
    if settings:
        n_ways = len({setting.rows for setting in settings})
        ways = "one way" if n_ways == 1 else f"{n_ways} ways"
        lines.append(f"{len(settings)} settings of naive Bayes, rows prepared in {ways}: 2 reads")
    for name, model in models.items():
        most = 2 * (model.max_passes + 2) if hasattr(model, "max_passes") else 2
        lines.append(f"{name}: {most} reads at most")
    lines.extend(f"{name}: fitted to the rows outside each fold, in memory" for name in others)
    return "\n".join(lines)
