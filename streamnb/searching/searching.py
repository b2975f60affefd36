"""`search` judges every candidate on the same folds and fits the best one."""

from __future__ import annotations

import numbers
from dataclasses import replace
from typing import Any

import numpy as np

from streamnb.additive.classifier import AdditiveClassifier
from streamnb.core import frames, messages, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.core.guesses import with_hints
from streamnb.encoding.opening import opened
from streamnb.evaluation.evaluation import guesses_of
from streamnb.evaluation.scorers import Scorer, of_positive
from streamnb.passes.contract import RunOptions
from streamnb.passes.dask_blocks import n_rows_of
from streamnb.problem.families import as_family
from streamnb.rows.keeping import Keeping
from streamnb.rows.labels import TARGETS
from streamnb.rows.opening import with_labels, with_weights, without_columns
from streamnb.rows.source import Source
from streamnb.rows.splits import as_folding
from streamnb.searching.axes import (
    FEW_FEATURES,
    Axes,
    Encoded,
    Given,
    Setting,
    as_opened,
    checked,
    default_candidates,
    default_scoring,
    default_transforms,
    encoded_rows,
    of_categories,
    of_transform,
    settings_of,
)
from streamnb.searching.bayes import settings_together
from streamnb.searching.candidates import OF_ROWS_AS_GIVEN, check_others, group_of, named_models, others_of, regressions
from streamnb.searching.numbers import (
    NUMBERS,
    check_candidates,
    check_offset,
    default_regressions,
    default_scorings,
    exposed_scorings,
    range_of,
    scorer_of_numbers,
    task_of,
    with_exposures,
)
from streamnb.searching.rounds import AUTO, Budget, CandidateGroup, Judging, planned, searched, within_reads
from streamnb.searching.search_result import Search
from streamnb.selection.score_table import check_choice


@with_hints
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
    budget: str | float | None = "auto",
    folds: Any = 5,
    scoring: Any = None,
    positive: Any = None,
    task: str | None = None,
    offset: PerRow = None,
    calibration: str | None = "auto",
    seed: int = 0,
    sample_weight: PerRow = None,
    groups: PerRow = None,
    show: bool | None = None,
    progress: bool | None = None,
    n_threads: int | None = None,
    memory_limit: Bytes = None,
    client: Any = None,
    keep: str = "auto",
) -> Search:
    """Cross-validate every candidate on the same folds, and fit the best one to all rows.

    All naive Bayes candidates, the combinations of the lists from `families` to `schemes`, take two reads of the rows
    in total. The first sums the rows of every fold under every transform; the second scores each row by all models that
    did not see it. Smoothings, penalties, schemes and families that need the same sums cost no extra read. Iterative
    models come next, each in reads that all its penalties and folds share, and `others` last.

    For a numeric y, the candidates are regressions: ridge, elastic net and lasso, which share a read; generalised
    linear models (Poisson for counts, Gamma for positive numbers, Tweedie for amounts with zeros); and additive models
    with these losses, for tables and up to 50 dense columns.

    Parameters
    ----------
    X, y, sample_weight, groups, folds, seed
        As for `LinearNBCV`; X is read several times. X may also be the path of a table, a data frame with columns of
        any kind, or texts; y names the column of labels.
    families : list of names or Family, optional
        By default multinomial, Bernoulli and, for dense rows, Gaussian; for up to 300 features also Gaussian with a
        covariance of each class, and both Gaussian families after the quantile-normal map; for tables "auto". [] for
        none, with `models` or `others`. `Gaussian` with covariances takes no penalty, and appears once.
        "categorical" is for category numbers, whose values are those of the rows outside each fold, and for tables of
        such columns.
    models : list of estimators, optional
        Cross-validating estimators, such as ``[snb.SoftmaxRegressionCV(), snb.MarginClassifierCV(idf=True)]``, whose
        `folds`, `seed` and `scoring` the search sets; for a numeric y, any regressions of streamnb. If neither these
        nor `families` are given: `SoftmaxRegressionCV`, standardised for dense rows, also on bins for tables, on tf-idf
        for counts, and also on tf-idf for other sparse rows; and `AdditiveClassifier`, for tables and up to 50 dense
        columns.
    encodings : list, optional
        How raw rows become columns: dicts of options for `snb.table` or, for texts, `snb.text`, such as ``{"bins": 8}``
        or ``{"vocabulary": 10_000}``; transformers such as ``snb.CategoryCounters()``, for rows and labels in memory
        (the best model is then a pipeline); or None for rows as they are. By default tables are encoded with default
        options. Encodings are learned from the rows outside each fold, in two reads for each fold.
    transforms, normalize, idf, smoothing, penalties, schemes : lists, optional
        Candidates for single parameters of `LinearNB`: ``transforms=[None, "log1p", ("l1:10000", "log1p")]``; a tuple
        is one sequence of steps; ``snb.Bins(16)`` and "quantile_normal" are learned as encodings are. Each defaults to
        a single value, except penalties: None, which is plain naive Bayes, and ``L1(scale="score")``. For sparse rows,
        unless families are named: plain naive Bayes with a smoothing of 0.01, and multinomial on tf-idf with 0.1. The
        whole grid of each penalty is tried. Schemes are "joint", "ovr" and "ovo".
    others : dict {name: estimator}, optional
        Any estimators with scikit-learn's `fit` and `predict`, including pipelines. They are refitted for each fold, so
        that no step learns from held-out rows, and need X and y in memory.
    budget : "auto", str or float, optional
        "auto" judges all candidates on one fold first, if it has 100 rows or more; only those with an expected gain of
        0.0005 are judged on the other folds. With a fold of 10,000 rows, or of 500 rows and over 300 features, the gain
        must be 0.003, and the best one stops there if no other candidate is left. With few rows, penalties of iterative
        models are tried from the middle of the grid on, as long as scores rise. None judges all candidates on all
        folds, as is always done for a numeric y. Or a limit on time, 600 or "600s" ("10m", "2h"), or on reads, "20
        reads", including the fit to all rows. With a time limit, all candidates are judged on a ninth of the folds,
        then on a third, then on all; if time is short, only the best third goes on, and iterative models take as many
        reads as time allows. Candidates that drop out are listed with the number of folds they reached. With a limit on
        reads, which serve all folds at once, each model may take equally many. A search may run over its time by one
        step.
    scoring : str, callable or a list of these
        As for `LinearNBCV`; the first decides, and the others break ties. By default "overall", the mean of
        accuracy, area under ROC curves and exp(-log loss), and each of these. If a candidate is a `MarginClassifierCV`
        or has no probabilities, for sparse rows and for a 2-D y: "accuracy_and_roc_auc", the mean of the two, and each
        of them. For a numeric y "r2", "neg_root_mean_squared_error", "neg_mean_absolute_error",
        "neg_mean_squared_error", "d2_poisson", "d2_gamma", "neg_mean_poisson_deviance", "neg_mean_gamma_deviance", or
        functions of a `RegressionEvaluation`; by default the first three, and for counts with zeros "d2_poisson" first.
    positive : label, optional
        Of two classes, the one that "precision", "recall", "f1", "specificity" and "average_precision" refer to, also
        in reports; the second of the sorted classes by default.
    task : {"classification", "regression"}, optional
        Whether y holds classes or numbers to predict. By default strings, bools and whole numbers are classes;
        fractions are numbers to predict, as are 100 or more distinct whole numbers with fewer than ten rows each.
        `models` and `scoring` for regression also decide it. The result says how whole numbers were taken.
    offset : (n_rows,) or name of a column, optional
        The logarithm of each row's exposure, to predict rates of counts or of amounts above 0. The candidates are then
        Poisson or Gamma models, judged by "d2_poisson" or "d2_gamma" on held-out rows with their exposures.
    calibration : {"auto", None}
        "auto" calibrates the probabilities of the best model on a sample of rows, each scored by the model that has not
        seen its fold, but only if this lowers the log loss of other rows. It needs at least five folds. None leaves
        probabilities as they are. No effect on regressions.
    show : bool, optional
        Print the planned reads first, and the table at the end. By default they are printed except in a notebook.
    progress, n_threads, memory_limit, client
        As for `LinearNBCV.fit`; the sums under all transforms share the limit.
    keep : {"auto", "memory", "disk", "no"}
        Where rows stay for further reads, under each encoding; as in `SoftmaxRegression.fit`.

    Returns
    -------
    Search
        It prints as a table; `Search.results_` is a data frame, `Search.best_` the model.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong: the message names it. y looks continuous, as most labels occur once. The budget is too
        small for one candidate: the message gives the numbers. Or no candidate could be judged: the message gives all
        reasons.
    DataError
        Data cannot be read.

    Warns
    -----
    StreamnbWarning
        Invalid combinations, and candidates that fail or do not accept the values, are left out; `Search.left_out` has
        the reasons. Or a fold lacks a class.

    Notes
    -----
    The best of many scores is a little optimistic: evaluate `best_` on rows that the search has not seen. Held-out rows
    affect scores in no other way: idf, bins, counters and vocabularies are learned from the other rows. Rows that are
    already encoded, such as those of ``snb.table(..)``, stay as they are.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> found = snb.search(X, y, families=["gaussian", "multinomial"], transforms=[None, "log1p"], show=False)
    >>> len(found.candidates), found.best_.score(X, y) > 0.9
    (8, True)

    Numbers to predict:

    >>> from sklearn.datasets import load_diabetes
    >>> X, y = load_diabetes(return_X_y=True)
    >>> found = snb.search(X, y, task="regression", show=False)
    >>> found.best_, round(found.best_score_, 2)
    (ElasticNetCV(l1_ratio=0.0, standardize=True), 0.49)
    """
    named = {"families": families, "transforms": transforms, "normalize": normalize, "idf": idf}
    named |= {"smoothing": smoothing, "penalties": penalties, "schemes": schemes}
    limits, (X, y) = Budget.of(budget), with_labels(X, y)
    X, sample_weight = with_weights(X, sample_weight)
    beside = groups, folds, offset
    X, taken = without_columns(X, beside)
    groups, folds, offset = (taken.get(part, part) if isinstance(part, str) else part for part in beside)
    if offset is not None:
        task = NUMBERS if task is None else task
        check_offset(task, others)
    given = X, y, sample_weight
    other_models = check_others({} if others is None else others)
    chosen = None if models is None else named_models(models)
    no_bayes = bool(chosen or other_models) and isinstance(families, list) and not families
    axes, learned = checked(named, no_bayes)
    estimators = [*(chosen or {}).values(), *other_models.values()]
    task, how_taken = task_of(task, (X, y), estimators, scoring, any(named.values()))
    check_candidates(task, {**named, "encodings": encodings, "positive": positive}, chosen or {})
    with Keeping(keep, memory_limit) as keeping, messages.each_once():
        options = RunOptions(progress, n_threads, memory_limit, client, keeping=keeping)
        about = {"folds": folds, "groups": groups, "seed": seed, "calibration": calibration, "client": client}
        if task == NUMBERS:
            judging, candidates = _of_numbers(given, chosen, scoring, about, options, offset)
            left_out, guesses = (
                dict[str, str](),
                {name: 0.0 for name in judging.scorings if name.startswith(("r2", "d2"))},
            )
        else:
            encoded = _encoded_for_classes(given, encodings, learned, axes, named, options)
            if scoring is None:
                usual = encoded[0] if models is None and families is None else None
                scoring = default_scoring(given[1], axes.get("schemes", []), estimators, usual)
            scoring = of_positive(scoring, positive)
            scorer = check_choice("joint", folds, 1, seed, scoring, "best")
            judging = _judging(scoring, scorer, encoded[0].rows, **about)
            judging = replace(judging, walks=limits.given == AUTO)
            guesses = _guesses(scorer, encoded[0].rows, given, positive)
            candidates, left_out = _candidates(axes, chosen, encoded, judging, options)
        if other_models:
            candidates += others_of(other_models, given, judging)
        candidates, most_reads, beyond = within_reads(candidates, limits)
        if frames.prints(show):
            print(planned(candidates, judging, limits, most_reads))
        found = searched(candidates, judging, limits, most_reads, left_out | beyond, how_taken)
        found = replace(found, positive=positive, guesses=guesses)
    if frames.prints(show):
        print(found)
    return found


def _of_numbers(
    given: Any,
    models: dict[str, Any] | None,
    scoring: Any,
    about: dict[str, Any],
    options: RunOptions,
    offset: Any,
) -> tuple[Judging, list[CandidateGroup]]:
    """How regressions are judged, and the candidates; by default such as suit the targets."""
    rows = opened(*given, labelled=TARGETS, beside=(about["groups"], about["folds"], offset))
    rows.check_read_again("search")
    opened_rows, rows = rows, options.kept(rows)
    if models is None or scoring is None:
        targets = range_of(rows, options)
        if scoring is None:
            scoring = default_scorings(targets) if offset is None else exposed_scorings(targets)
    scorer = scorer_of_numbers(scoring)
    if models is None:
        models = named_models(default_regressions(opened_rows, targets, scorer))
    if offset is not None:
        models = with_exposures(models, scorer)
    judging = replace(_judging(scoring, scorer, rows, **about), numbers=True, offset=offset)
    return judging, regressions(models, rows, given, judging, options)


def _encoded_for_classes(
    given: Any, encodings: Any, learned: list[Any], axes: Axes, named: dict[str, Any], options: RunOptions
) -> list[Encoded]:
    """The rows under each encoding, and, by default, those whose values are prepared by what is learned from them."""
    encoded = encoded_rows(given, encodings, learned, options)
    if named["families"] is None and named["transforms"] is None and encodings is None:
        encoded += [of_transform(transform, encoded[0], options) for transform in default_transforms(encoded[0])]
    coded = [family for family in axes.get("families", []) if as_family(family).coded]
    encoded += [of_categories(family, rows, options) for rows in encoded if rows.unencoded for family in coded]
    for rows in encoded:
        rows.rows.check_read_again("search")
    return encoded


def _guesses(scorer: Scorer, rows: Source, given: Given, positive: Any) -> dict[str, float]:
    """The scores of guesses that know only how frequent each class is, of rows with one label each.

    Raises where `positive` is none of the classes, before any candidate is judged.
    """
    _, *beside, _ = as_opened(given)
    labels, weights = (None if one is None else rows.whole_column(one, "y") for one in beside)
    if labels is None or labels.ndim != 1 or (weights is not None and weights.shape != labels.shape):
        return {}
    classes, codes = np.unique(row_checks.check_labels(labels), return_inverse=True)
    if len(classes) == 1:
        raise ValueError(f"y is {classes[0]} in every row, so there is nothing to predict")
    if positive is not None and str(positive) not in map(str, classes.tolist()):
        raise ValueError(f"positive={positive!r} should be one of {classes.tolist()}")
    guesses = guesses_of(classes, np.bincount(codes, weights).astype(float), scorer.needs)
    named = [one for one in scorer.each if one.by_name or " of " in one.name]  # not functions of users
    return {one.name: one.of(guesses) for one in named if one.needs <= guesses.needs}


def _judging(
    scoring: Any,
    scorer: Scorer,
    rows: Source,
    *,
    folds: Any,
    groups: Any,
    seed: int,
    calibration: str | None,
    client: Any,
) -> Judging:
    """How candidates are judged, with about how many rows the first fold has."""
    if isinstance(folds, numbers.Number):
        n_folds = int(folds)  # type: ignore[call-overload]
        n_rows = n_rows_of(rows, client) if rows.lazy else rows.n_rows
        n_held = (n_rows or 0) // n_folds
    else:
        folding = as_folding(of_rows := rows.whole_column(folds, "folds"))
        assert folding is not None
        n_folds, n_held = folding.n_folds, int(np.count_nonzero(np.asarray(of_rows) == 0))
    wide = (rows.n_features or 0) > FEW_FEATURES
    return Judging(folds, n_folds, groups, seed, scoring, scorer, calibration, n_held, wide)


def _candidates(
    axes: Axes, models: dict[str, Any] | None, encoded: list[Encoded], judging: Judging, options: RunOptions
) -> tuple[list[CandidateGroup], dict[str, str]]:
    """Naive Bayes and models on the rows under each encoding; and the reasons why some are left out.

    `axes` and `models` are those named by the user; the others have defaults for such rows.
    """
    bayes: list[CandidateGroup] = []
    trained: dict[str, CandidateGroup] = {}
    additive: dict[str, CandidateGroup] = {}  # last, as they take longest, and end early where others are far ahead
    left_out: dict[str, str] = {}
    for rows in encoded:
        default_axes, default_models = default_candidates(rows) if "families" not in axes else ([{}], [])
        settings: dict[str, Setting] = {}
        for defaults in default_axes:
            of_rows = defaults | axes
            if "families" in axes:
                # a family of category numbers takes only columns made for it
                takes = [family for family in axes["families"] if not (rows.unencoded and as_family(family).coded)]
                of_rows["families"] = takes if rows.coded is None else [rows.coded]
            if rows.transform is not None:
                of_rows["transforms"] = [None]
            found, reasons = settings_of(of_rows, judging, rows.words)
            settings |= {setting.name: setting for setting in found}
            left_out |= reasons
        if settings:
            bayes.append(settings_together(settings, rows, judging, options))
        if not rows.learns_again:  # models have their own transforms
            encoding = "".join(f", {name}={word}" for name, word in rows.words.items())
            for name, model in (named_models(default_models) if models is None else models).items():
                # those of rows as given are judged once, whatever the encodings
                full_name = name if isinstance(model, OF_ROWS_AS_GIVEN) else name + encoding
                groups = additive if isinstance(model, AdditiveClassifier) else trained
                if full_name not in groups:
                    groups[full_name] = group_of(full_name, model, rows, judging, options)
    return [*bayes, *trained.values(), *additive.values()], left_out
