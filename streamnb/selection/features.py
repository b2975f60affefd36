"""Ranks features by a criterion or by a search, from class statistics."""

from __future__ import annotations

from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.selection.criteria import CRITERIA, Criterion, as_criterion
from streamnb.selection.feature_ranking import FeatureRanking, FeatureSearch, scored, searched
from streamnb.selection.redundancy import FCBF
from streamnb.selection.sampled_searches import ReliefF, TreeFeatures
from streamnb.selection.wrappers import BackwardElimination, ExhaustiveSearch, ForwardSelection, IncrementalSelection
from streamnb.stats.class_stats import ClassStats, check_stats
from streamnb.stats.complements import with_and_without

SEARCHES: dict[str, type[FeatureSearch]] = {
    search.name: search
    for search in (
        FCBF,
        ForwardSelection,
        IncrementalSelection,
        BackwardElimination,
        ExhaustiveSearch,
        ReliefF,
        TreeFeatures,
    )
}


def as_search(by: Any) -> FeatureSearch | None:
    """The search with this name, or the given one; None for a criterion, which scores features one by one."""
    if isinstance(by, FeatureSearch):
        return by
    arguments.one_of("by", by, [*CRITERIA, *SEARCHES])
    return SEARCHES[by]() if by in SEARCHES else None


def first_criterion(by: Any, **options: Any) -> Criterion:
    """The criterion with this name, or the one that a search begins with, with checked options."""
    search = as_search(by)
    if search is None:
        return as_criterion(by, **options)
    values = options.get("values", "presence")
    if values != "presence" and search.begins in CRITERIA and not CRITERIA[search.begins].takes_values:
        raise ValueError(
            f"by={search.name!r} goes by the values themselves, not by values={values!r}: leave values out"
        )
    return as_criterion(search.begins, **options)


def rank_features(
    stats: ClassStats,
    by: Any = "chi2",
    *,
    values: str = "presence",
    n_bins: int | None = None,
    strategy: str = "uniform",
    min_rows: float = 6.0,
    presence: str = "above",
    family: Any = "poisson",
    scheme: str = "joint",
    reference: Any = None,
    smoothing: float = 1.0,
    sample: Any = None,
) -> FeatureRanking:
    """Score features by how much they tell about the class, or search for a good subset; reads no data.

    Parameters
    ----------
    stats : ClassStats
        From `scan`; not modified. Classes without any weight are left out. For an indicator of labels, each label is
        compared with the rows without it.
    by : str or search
        The criterion, or a search, by name or as an object with parameters of its own; see Notes.
    values : {"presence", "value", "bins"}
        What the criteria of presence and "chi2" distinguish: by default whether x is present; "value": whole numbers,
        from ``scan(histogram="value")``; "bins": the bins of either histogram.
    n_bins : int, optional
        Merge neighbouring bins into this many; by default bins are used as they were scanned.
    strategy : {"uniform", "quantile"}
        How bins are merged: into bins of equal width, or of about equal weight.
    min_rows : float
        With values or bins, "one_r" merges neighbours from the left until the best class has this weight in each but
        the last, so that the rule does not overfit single rows.
    presence : {"above", "nonzero"}
        What counts as present for the criteria of presence: x > binarize, or x != 0.
    family, scheme, reference, smoothing
        As in `solve`, for "score"; "poisson_log_ratio" takes `smoothing` alone.

    sample : ClassSample, optional
        Rows for a search that needs them, from `sample_rows`: with statistics that have folds, and with the features
        to choose from.

    Returns
    -------
    FeatureRanking
        With `scores`, `ranking` (best first) and `pvalues`, one row per label for statistics of an indicator. A search
        adds `chosen`, with which `ranking` begins, and the `curve` of scores by number of features.

    Raises
    ------
    TypeError
        `stats` is not a ClassStats.
    ValueError
        An argument is unknown; the statistics hold fewer than two classes, lack the moment that the criterion needs,
        or hold negative values where the criterion takes none; "f_classif" has no more rows than classes;
        "poisson_log_ratio" has an infinite ratio because there is no smoothing; `values` needs a histogram that the
        statistics lack, or the criterion uses sums; a search does not support the family or penalty, is to find more
        features than there are, or lacks the `sample` or the moment that it needs.

    Notes
    -----
    N_y is the weight of class y, N their sum, S_yj the class sums of feature j, S_j their sum; weights count as
    frequencies. The formulas hold for any number of classes, unless stated otherwise.

    From the sums:

    - ``"chi2"``: sum_y (S_yj - E_yj)^2 / E_yj with E_yj = N_y S_j / N, as `sklearn.feature_selection.chi2`. A feature
      never seen scores 0 with p-value 1 (there: NaN).
    - ``"f_classif"``: ANOVA F = (sum_y N_y (m_yj - m_j)^2 / (K - 1)) / (sum_y sum_i (x_ij - m_yj)^2 / (N - K)), as
      `sklearn.feature_selection.f_classif`, but without cancellation. A constant feature scores 0 with p-value 1
      (there: NaN or rounding), one that is constant within each class but not over all inf.
    - ``"pearson"``: the largest abs(r_y) over the classes, r_y = t*_y / (N sd(x) sd([y])) with
      t*_y = S_yj - N_y S_j / N, the correlation of x with the indicator of the class, as
      `sklearn.feature_selection.r_regression`, which keeps its sign.
    - ``"poisson_log_ratio"``: the largest abs(ln(lambda_y / lambda_rest)) over the classes, each against the rest;
      lambda the Poisson means, smoothed by `smoothing` rows at the mean of all rows (Vorontsov and Uspenskiy).
    - ``"score"``: the largest abs(z) over the rows of weights of `scheme`; z = t* / sqrt(v) is the score statistic of
      "both sides have one mean" under `family` with `smoothing`. It is the tau of ``L1(scale="score")`` at which
      the last weight of the feature becomes zero (multinomial: to first order). Bernoulli, two classes, smoothing 0:
      z^2 is Pearson's chi-squared of the 2 x 2 table.

    From presence alone, X_j in {0, 1}, or from `values`, X_j a value or a bin, in natural logarithms. Presence cannot
    distinguish values. Take a feature with the values {1, 2} in one class and {3, 4, 5} in the other, of equal weight:
    its mutual information is 0 by presence, and ln 2 by its values.

    - ``"mutual_info"``: I = sum_xy p(x, y) ln(p(x, y) / (p(x) p(y))), which is also the information gain.
    - ``"gain_ratio"``: I / H(X_j) (Quinlan 1993).
    - ``"symmetrical_uncertainty"``: 2 (H(X_j) + H(Y) - H(X_j, Y)) / (H(X_j) + H(Y)).
    - ``"kullback_leibler"``: the weights of Lee, Gutierrez and Dou (ICDM 2011),
      w_j = sum_x p(x) KL(p(y | x) || p(y)) / (Z H(X_j)), Z such that they are 1 on average. The sum is I, so they rank
      as the gain ratio does.
    - ``"one_r"``: accuracy of the best rule on the one feature, sum_x max_y p(x, y) (Holte 1993). An uninformative
      feature scores the share of the largest class.
    - ``"chi2"`` of values: sum_xy (H_xy - E_xy)^2 / E_xy with H_xy the weight of value x in class y, Pearson's test of
      the table, which is the sum of scikit-learn's over the columns of a one-hot encoding.

    Except by "one_r", a feature whose presence is the same in all rows scores 0.

    Searches consider features together, for one label per row, and begin with the scores of a criterion;
    `FeatureSelector` reads what they need:

    - ``"fcbf"`` (`FCBF`): drops features that are redundant to better ones, from the moment "gram_above".
    - ``"sfs"`` (`ForwardSelection`), ``"backward"`` (`BackwardElimination`), ``"exhaustive"`` (`ExhaustiveSearch`) and
      ``"iwss"`` (`IncrementalSelection`): subsets judged by the accuracy of naive Bayes models of `family` on these
      features, cross-validated on a `sample` of rows without fitting a model.
    - ``"relief"`` (`ReliefF`): features that set the rows of a `sample` apart from their neighbours of other classes;
      it scores and ranks but chooses none.
    - ``"trees"`` (`TreeFeatures`): the features on which small entropy trees of a `sample` split.

    Examples
    --------
    >>> import streamnb as snb
    >>> stats = snb.scan([[2, 1], [3, 1], [0, 1], [0, 2]], [0, 0, 1, 1])
    >>> snb.rank_features(stats, by="f_classif").ranking.tolist()
    [0, 1]

    By the values, not only by presence:

    >>> stats = snb.scan([[1], [2], [3], [5]], [0, 0, 1, 1], histogram="value", n_bins=6)
    >>> snb.rank_features(stats, by="mutual_info", values="value").scores
    array([0.69314718])

    Features that predict well together, by models of the folds of the scan:

    >>> X, y = [[0, 1], [1, 0], [1, 1], [0, 0]] * 3, [0, 1, 1, 0] * 3
    >>> stats = snb.scan(X, y, folds=3)
    >>> sample = snb.sample_rows(X, y, stats, rows=1000)
    >>> snb.rank_features(stats, "sfs", family="bernoulli", sample=sample).chosen
    array([0])
    """
    check_stats(stats)
    of_model = {"family": family, "scheme": scheme, "reference": reference, "smoothing": smoothing}
    of_values = {"values": values, "n_bins": n_bins, "strategy": strategy, "min_rows": min_rows}
    criterion = first_criterion(by, presence=presence, **of_model, **of_values)
    if (search := as_search(by)) is not None:
        return searched(stats, search, criterion, sample)
    if not stats.multilabel:
        scores, pvalues = scored(stats, by, criterion)
        return FeatureRanking(by, scores, np.argsort(-scores, kind="stable"), pvalues, values)
    idle = (stats.weight <= 0.0) | (stats.weight >= stats.total_weight)
    if idle.any():
        label = stats.classes[np.argmax(idle)].item()
        raise ValueError(f"no row, or every row, of stats bears the label {label!r}; rank features without that column")
    labels = range(len(stats.classes))
    found, probable = zip(*(scored(with_and_without(stats, label), by, criterion) for label in labels), strict=True)
    scores, pvalues = np.stack(found), None if probable[0] is None else np.stack(probable)
    return FeatureRanking(by, scores, np.argsort(-scores, axis=1, kind="stable"), pvalues, values, stats.classes)
