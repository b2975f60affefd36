"""`search`: every candidate on the same folds, in as few reads as may be, and the best one fitted."""

from __future__ import annotations

import numbers
from typing import Any

from streamnb.core import notebook
from streamnb.core.types import Bytes, PerRow, Rows
from streamnb.passes.options import RunOptions
from streamnb.problem.families import as_family
from streamnb.rows.opening import with_labels
from streamnb.rows.source import Source
from streamnb.rows.splits import as_folding
from streamnb.searching.axes import DEFAULTS, Setting, checked, settings_of
from streamnb.searching.bayes import BayesSettings
from streamnb.searching.blind import SCORING, usual_for, usual_transforms
from streamnb.searching.budget import Budget
from streamnb.searching.contest import Contest, Contestants, Judging
from streamnb.searching.encodings import Encoded, encoded_rows, of_categories, of_transform
from streamnb.searching.found import Search
from streamnb.searching.of_estimators import check_others, contestant_of, named_models, others_of
from streamnb.selection.grid_scores import check_choice


def search(
    X: Rows,
    y: PerRow = None,
    *,
    families: Any = None,
    models: Any = None,
    encodings: Any = None,
    transforms: Any = None,
    normalize: Any = None,
    idf: Any = None,
    smoothing: Any = None,
    penalties: Any = None,
    schemes: Any = None,
    others: Any = None,
    budget: str | float | None = None,
    folds: Any = 5,
    scoring: Any = None,
    seed: int = 0,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    show: bool | None = None,
    progress: bool | None = None,
    n_threads: int | None = None,
    memory_limit: Bytes = None,
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
        Also the path of a table, or a data frame with columns of any kind, and texts; y names the column of labels.
    families : list of names or Family, optional
        By default multinomial, Bernoulli and, of dense rows, Gaussian; of up to 300 features that with a covariance of
        each class, too, both also after the quantile-normal map; "auto" of tables. [] for none, with `models` or
        `others`. `Gaussian` with covariances takes no penalty, and stands in the table once. "categorical" is of
        numbers of categories, whose values are those of the rows outside each fold, and of tables of such columns.
    models : list of estimators, optional
        Of those that choose on folds, such as ``[snb.SoftmaxRegressionCV(), snb.MarginClassifierCV(idf=True)]``; their
        `folds`, `seed` and `scoring` are those of the search. By default, where no `families` are named either,
        `SoftmaxRegressionCV`; of sparse rows also this one and `MarginClassifierCV(scheme="joint")` of tf-idf.
    encodings : list, optional
        How raw rows become columns: dicts of what `snb.table`, or for texts `snb.text`, is told, as ``{"bins": 8}`` or
        ``{"vocabulary": 10_000}``; transformers such as ``snb.CategoryCounters()``, for rows and labels in memory,
        whose best model is a pipeline; None for rows as they are. By default tables and paths of these are encoded as
        usual. Whatever is learned is learned of the rows outside each fold, which takes two reads for each of them.
    transforms, normalize, idf, smoothing, penalties, schemes : lists, optional
        Candidates of what `LinearNB` has one value for: ``transforms=[None, "log1p", ("l1:10000", "log1p")]``; a tuple
        is one sequence of steps; ``snb.Bins(16)`` and "quantile_normal" are learned as encodings are. By default one
        each, as usual, and of penalties None, plain naive Bayes, and ``L1(scale="score")``; of sparse rows, unless
        families are named, smoothings of 0.1 and 0.01, and multinomial naive Bayes also of tf-idf. Of each penalty the
        whole grid is judged. Schemes are of "joint", "ovr" and "ovo".
    others : dict {name: estimator}, optional
        Any that has scikit-learn's `fit` and `predict`, pipelines, too: fitted once without each fold, so that nothing
        that its steps learn comes from rows held back. They need X and y in memory.
    budget : str or float, optional
        What may be spent, 600 or "600s" ("10m", "2h") or "20 reads" of the rows, the fit to all rows among it. Of time:
        all candidates are judged on a ninth of the folds, then on a third of them, then on all; where there is no time
        for that the better third goes on alone; models of several reads make as many as there is time for. Candidates
        that were left on the way are in the table with the number of their folds. Of reads, which serve all folds at
        once: each model may make as many as all the others. A search may end late by what was begun in time.
    scoring : str, callable or a list of these
        As for `LinearNBCV`; the first chooses, and of what is equally good by it, the next. By default
        "accuracy_and_roc_auc", their mean, and both.
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
    `best_` by rows that took no part. Nothing else of a held-out row is in a score: idf, bins, counters and
    vocabularies are those of the other rows. Rows that were encoded before, as those of ``snb.table(..)`` are, stay as
    they are.

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
    named |= {"penalties": penalties, "schemes": schemes}
    limits, given = Budget.of(budget), (*with_labels(X, y), sample_weight)
    scoring = SCORING if scoring is None else list(scoring) if isinstance(scoring, list | tuple) else scoring
    scorer = check_choice("joint", folds, 1, seed, scoring, "best")
    options = RunOptions(progress, n_threads, memory_limit, client)
    rest = check_others({} if others is None else others)
    chosen = named_models([] if models is None else models)
    without = bool(chosen or rest) and isinstance(families, list) and not families
    asked = checked({**named, "families": None if without else families})
    ways = encoded_rows(given, encodings, asked["learned"], options)
    rows = ways[0].rows
    if families is None and transforms is None and encodings is None:
        ways += [of_transform(transform, ways[0], options) for transform in usual_transforms(ways[0])]
    coded = [family for family in families or [] if as_family(family).coded]
    ways += [of_categories(family, way, options) for way in ways if way.as_they_are for family in coded]
    for way in ways:
        way.rows.check_read_again("search")
    given_axes = {name: asked[name] for name in named if named[name] is not None}
    if without or families is not None:
        given_axes["families"] = [] if without else asked["families"]
    how = Judging(folds, _n_folds(folds, rows), groups, seed, scoring, scorer)
    contestants, left_out = _contestants(given_axes, None if models is None else chosen, ways, how, options)
    contestants += others_of(rest, given, how)
    contest = Contest(contestants, [one.name for one in scorer.each], limits, left_out)
    told = show or (show is None and not notebook.in_notebook())
    if told:
        print(contest.plan(how.n_folds))
    found = contest.result(how.n_folds)
    if told:
        print(found)
    return found


def _contestants(
    asked: dict[str, list[Any]], models: Any, ways: list[Encoded], how: Judging, options: RunOptions
) -> tuple[list[Contestants], dict[str, str]]:
    """Naive Bayes and models on the rows as each encoding makes them; and why some cannot be.

    `asked` are the axes that were given; others are as usual for such rows.
    """
    bayes: list[Contestants] = []
    others: list[Contestants] = []
    left_out: dict[str, str] = {}
    for way in ways:
        usual: list[Any] = []
        if "families" in asked:
            families = _taking(way, asked["families"])
            axes = [{**asked, "families": families}] if families else []
        else:
            of_kind, usual = usual_for(way)
            axes = [some | asked for some in of_kind]
        settings: dict[str, Setting] = {}
        for some in axes:
            of_values = DEFAULTS | some | ({} if way.transform is None else {"transforms": [None]})
            found, why = settings_of(of_values, how, way.words)
            settings |= {setting.name: setting for setting in found}
            left_out |= why
        bayes += [BayesSettings(list(settings.values()), way, how, options)] if settings else []
        if not way.learns_again:  # models have transforms of their own
            said = "".join(f", {name}={word}" for name, word in way.words.items())
            chosen = named_models(usual) if models is None else models
            others += [contestant_of(name + said, model, way, how, options) for name, model in chosen.items()]
    return [*bayes, *others], left_out


def _taking(way: Encoded, families: list[Any]) -> list[Any]:
    """The families that may take the columns; those of numbers of categories have columns made for each."""
    if way.coded is not None:
        return [way.coded]
    return [family for family in families if not (way.as_they_are and as_family(family).coded)]


def _n_folds(folds: Any, rows: Source) -> int:
    if isinstance(folds, numbers.Number):
        return int(folds)  # type: ignore[call-overload]
    folding = as_folding(rows.whole_column(folds, "folds"))
    assert folding is not None
    return folding.n_folds
