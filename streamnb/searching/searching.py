"""`search`: every candidate on the same folds, in as few reads as may be, and the best one fitted."""

import numbers
from typing import Any

from streamnb.core import notebook
from streamnb.encoding.opening import opened
from streamnb.passes.options import RunOptions
from streamnb.rows.opening import with_labels
from streamnb.rows.source import Source
from streamnb.rows.splits import as_folding
from streamnb.searching.axes import Setting, settings_of
from streamnb.searching.bayes import BayesSettings
from streamnb.searching.blind import usual_for
from streamnb.searching.budget import Budget
from streamnb.searching.contest import Contest, Contestants, Judging
from streamnb.searching.found import Search
from streamnb.searching.of_estimators import check_others, contestant_of, named_models, others_of
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
    budget: str | None = None,
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
    budget : str, optional
        What may be spent, "600s" ("10min", "2h") or "20 reads" of the rows, the fit to all rows among it. Of seconds:
        all candidates are judged on a ninth of the folds, the better third goes on to a third of them, the better third
        of these to all; models of several reads make as many as there is time for. Candidates that were left on the
        way are in the table with the number of their folds. Of reads, which serve all folds at once: each model may
        make as many as all the others. A search may end late by what was begun in time.
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
        An argument is wrong: the message names it. The budget is too small for one candidate: it has the numbers. Or no
        candidate could be judged: it has the reason of each.
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
    >>> found.best_.family, len(found.candidates)
    ('gaussian', 8)
    >>> snb.search(X, y, show=False).best_.score(X, y) > 0.97  # whatever suits such rows
    True
    """
    named = {"transforms": transforms, "normalize": normalize, "idf": idf, "smoothing": smoothing}
    named |= {"families": families, "penalties": penalties, "schemes": schemes}
    limits, X_y = Budget.of(budget), with_labels(X, y)
    scoring = list(scoring) if isinstance(scoring, list | tuple) else scoring
    scorer = check_choice("joint", folds, 1, seed, scoring, "best")
    options = RunOptions(progress, n_threads, memory_limit, client)
    rows = opened(*X_y, sample_weight)
    if families is None:
        named["families"], usual = usual_for(rows)
        models = usual if models is None else models
    chosen = named_models([] if models is None else models)
    rest = check_others({} if others is None else others)
    rows.check_read_again("search")
    judging = Judging(folds, _n_folds(folds, rows), groups, seed, scoring, scorer)
    settings, left_out = _settings(named, rows, bool(chosen or rest), judging)
    given = *X_y, sample_weight
    contestants: list[Contestants] = [BayesSettings(settings, rows, given, judging, options)] if settings else []
    contestants += [contestant_of(name, model, given, judging, options) for name, model in chosen.items()]
    contestants += others_of(rest, given, judging)
    contest = Contest(contestants, [one.name for one in scorer.each], limits, left_out)
    told = show or (show is None and not notebook.in_notebook())
    if told:
        print(contest.plan(judging.n_folds))
    found = contest.result(judging.n_folds)
    if told:
        print(found)
    return found


def _settings(named: dict[str, Any], rows: Source, has_others: bool, how: Judging) -> tuple[list[Setting], Any]:
    """Settings of naive Bayes, none where no family is asked for but others are; and why some cannot be."""
    if has_others and isinstance(named["families"], list) and not named["families"]:
        return [], {}
    return settings_of(named, getattr(rows.given, "columns", None), how.folds, how.seed, how.scoring)


def _n_folds(folds: Any, rows: Source) -> int:
    if isinstance(folds, numbers.Number):
        return int(folds)  # type: ignore[call-overload]
    folding = as_folding(rows.whole_column(folds, "folds"))
    assert folding is not None
    return folding.n_folds
