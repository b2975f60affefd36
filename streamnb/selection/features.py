"""Features ranked by what they tell of the class, read off statistics."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.core import arguments, label_checks, notebook, persistence
from streamnb.selection.criteria import CRITERIA, VALUES, Criterion, OfCells, as_criterion
from streamnb.stats.class_stats import ClassStats, check_stats
from streamnb.stats.rests import with_and_without


@persistence.register
@dataclass(frozen=True, eq=False)
class FeatureRanking(persistence.Parameters, persistence.Saved):
    """Scores of features and the order they give.

    Those by "mutual_info", "gain_ratio", "symmetrical_uncertainty", "kullback_leibler" and "one_r" are of presence
    alone, unless `rank_features` was given `values`: a feature of values {1, 2} in one class and {3, 4, 5} in the other
    tells nothing by them.

    Attributes
    ----------
    by : str
        The criterion.
    scores : (n_features,) float64
        The higher, the more the feature tells of the class; never NaN.
    ranking : (n_features,) int
        Features, the best first; features of equal score in the order of the columns. ``ranking[:k]`` are the k best.
    pvalues : (n_features,) float64 or None
        Where the criterion is a test with a known distribution: "chi2" and "f_classif".
    values : {"presence", "value", "bins"}
        What the criteria of presence told apart.
    labels : (n_labels,) or None
        Of statistics of an indicator: scores, ranking and pvalues are (n_labels, n_features) then, a row for each.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> ranking = snb.rank_features(snb.scan(X, y), by="chi2")
    >>> ranking.ranking.tolist(), ranking.scores.round(2).tolist()
    ([1, 0], [2.67, 6.4])
    """

    by: str
    scores: np.ndarray
    ranking: np.ndarray
    pvalues: np.ndarray | None = None
    values: str = "presence"
    labels: np.ndarray | None = None

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "FeatureRanking":
        labels = state.get("labels")
        rows: tuple[int, ...] = () if labels is None else (len(label_checks.check_labels(labels, "labels")),)
        shape = persistence.array("scores", state["scores"], ["f8"], (*rows, None)).shape
        ranking = persistence.array("ranking", state["ranking"], ["i8"], shape)
        if (np.sort(ranking) != np.arange(shape[-1])).any():
            raise ValueError(f"ranking should hold each of the {shape[-1]} features once")
        if state["pvalues"] is not None:
            persistence.array("pvalues", state["pvalues"], ["f8"], shape)
        arguments.one_of("values", state.get("values", "presence"), VALUES)
        return cls(**persistence.typed(cls, state))

    def __repr__(self) -> str:
        n_features = self.ranking.shape[-1]
        if self.labels is not None:
            return f"<FeatureRanking {self._title}: {n_features:,} features for each of {len(self.labels):,} labels>"
        best = ", ".join(map(str, self.ranking[:5].tolist())) + (", .." if n_features > 5 else "")
        return f"<FeatureRanking {self._title}: {n_features:,} features, best {best}>"

    def _repr_html_(self) -> str:
        if self.labels is not None:
            best = [", ".join(map(str, row)) for row in self.ranking[:, :10].tolist()]
            rows = zip(map(str, self.labels.tolist()), best, strict=True)
            return notebook.table(f"The best of {self.ranking.shape[1]:,} features of each label {self._title}", rows)
        best = self.ranking[:10].tolist()
        told = [f"{self.scores[j]:.6g}" for j in best]
        if self.pvalues is not None:
            told = [f"{score} (p = {self.pvalues[j]:.2g})" for j, score in zip(best, told, strict=True)]
        caption = f"The best {len(best)} of {len(self.ranking):,} features {self._title}"
        if self._of_presence:
            caption += ": whether a feature is there, not how large its value is"
        return notebook.table(caption, zip(map(str, best), told, strict=True))

    @property
    def _title(self) -> str:
        of = {"presence": " of presence alone" if self._of_presence else "", "value": " of values", "bins": " of bins"}
        return f"by {self.by!r}{of[self.values]}"

    @property
    def _of_presence(self) -> bool:
        return self.values == "presence" and issubclass(CRITERIA.get(self.by, Criterion), OfCells)


def rank_features(
    stats: ClassStats,
    by: str = "chi2",
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
) -> FeatureRanking:
    """Score every feature by how much it tells of the class, and rank them; reads no data.

    Parameters
    ----------
    stats : ClassStats
        From `scan`; only read. Classes without any weight are left out. Of an indicator of labels each label is set
        against the rows without it.
    by : str
        The criterion, see Notes.
    values : {"presence", "value", "bins"}
        What the criteria of presence and "chi2" tell apart: by default whether x is present; "value" whole numbers, of
        statistics that `scan` made with ``histogram="value"``; "bins" the bins of either histogram.
    n_bins : int, optional
        Join neighbours of these bins to so many; by default they are taken as they were scanned.
    strategy : {"uniform", "quantile"}
        How they are joined: to bins of one width, or of about one weight.
    min_rows : float
        "one_r" of values or bins joins neighbours from the left until the best class has this weight in each, the last
        one excepted, so that the rule does not learn single rows by heart.
    presence : {"above", "nonzero"}
        What counts as present for the criteria of presence: x > binarize, or x != 0.
    family, scheme, reference, smoothing
        As in `solve`, for "score"; "poisson_log_ratio" takes `smoothing` alone.

    Returns
    -------
    FeatureRanking
        With `scores`, `ranking` (best first) and `pvalues`; a row for each label where statistics are of an indicator.

    Raises
    ------
    TypeError
        `stats` are no ClassStats.
    ValueError
        An argument is unknown; the statistics hold fewer than two classes, lack the moment that the criterion needs,
        or hold negative values where the criterion takes none; "f_classif" where the rows are no more than the
        classes; "poisson_log_ratio" where a ratio is infinite for want of smoothing; `values` where the statistics hold
        no such histogram, or the criterion goes by sums.

    Notes
    -----
    N_y is the weight of class y, N their sum, S_yj the class sums of feature j, S_j their sum; weights count as
    frequencies. All but two criteria are formulas for any number of classes; the two say what they do instead.

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
    - ``"score"``: the largest abs(z) over the rows of weights of `scheme`, z = t* / sqrt(v) being the score statistic
      of "both sides have one mean" under `family` with `smoothing`. It is the tau of ``L1(scale="score")`` at which
      the last weight of the feature becomes zero (multinomial: to first order). Bernoulli, two classes, smoothing 0:
      z^2 is Pearson's chi-squared of the 2 x 2 table.

    From presence alone, X_j in {0, 1}, or from `values`, X_j a value or a bin, in natural logarithms. Presence does not
    tell values apart: a feature of values {1, 2} in one class and {3, 4, 5} in the other has mutual information 0 by
    it, and ln 2 by its values if both classes weigh the same:

    - ``"mutual_info"``: I = sum_xy p(x, y) ln(p(x, y) / (p(x) p(y))), which is also the information gain.
    - ``"gain_ratio"``: I / H(X_j) (Quinlan 1993).
    - ``"symmetrical_uncertainty"``: 2 (H(X_j) + H(Y) - H(X_j, Y)) / (H(X_j) + H(Y)).
    - ``"kullback_leibler"``: the weights of Lee, Gutierrez and Dou (ICDM 2011),
      w_j = sum_x p(x) KL(p(y | x) || p(y)) / (Z H(X_j)), Z such that they are 1 on average. The sum is I, so they rank
      as the gain ratio does.
    - ``"one_r"``: accuracy of the best rule on the one feature, sum_x max_y p(x, y) (Holte 1993). A feature that tells
      nothing scores the share of the largest class.
    - ``"chi2"`` of values: sum_xy (H_xy - E_xy)^2 / E_xy with H_xy the weight of value x in class y, Pearson's test of
      the table, which is the sum of scikit-learn's over the columns of a one-hot encoding.

    But for "one_r", a feature whose presence is the same in all rows scores 0.

    Examples
    --------
    >>> import streamnb as snb
    >>> stats = snb.scan([[2, 1], [3, 1], [0, 1], [0, 2]], [0, 0, 1, 1])
    >>> snb.rank_features(stats, by="f_classif").ranking.tolist()
    [0, 1]

    Which values there are, not whether there are any:

    >>> stats = snb.scan([[1], [2], [3], [5]], [0, 0, 1, 1], histogram="value", n_bins=6)
    >>> snb.rank_features(stats, by="mutual_info", values="value").scores
    array([0.69314718])
    """
    check_stats(stats)
    of_model = {"family": family, "scheme": scheme, "reference": reference, "smoothing": smoothing}
    of_values = {"values": values, "n_bins": n_bins, "strategy": strategy, "min_rows": min_rows}
    criterion = as_criterion(by, presence=presence, **of_model, **of_values)
    if not stats.multilabel:
        scores, pvalues = _scored(stats, by, criterion)
        return FeatureRanking(by, scores, np.argsort(-scores, kind="stable"), pvalues, values)
    idle = (stats.weight <= 0.0) | (stats.weight >= stats.total_weight)
    if idle.any():
        label = stats.classes[np.argmax(idle)].item()
        raise ValueError(f"no row, or every row, of stats bears the label {label!r}; rank features without that column")
    labels = range(len(stats.classes))
    found, probable = zip(*(_scored(with_and_without(stats, label), by, criterion) for label in labels), strict=True)
    scores, pvalues = np.stack(found), None if probable[0] is None else np.stack(probable)
    return FeatureRanking(by, scores, np.argsort(-scores, axis=1, kind="stable"), pvalues, values, stats.classes)


def _scored(stats: ClassStats, by: str, criterion: Criterion) -> tuple[np.ndarray, np.ndarray | None]:
    """Scores and p-values of the features, of one label a row."""
    for moment in criterion.moments:
        stats.table(moment)
    stats = _with_weight(stats)
    if criterion.lowest >= 0.0 and stats.negatives:
        raise ValueError(
            f"Negative values in data passed to by={by!r}: the scanned rows held {stats.negatives}; values should be "
            "at least 0 (shift or clip them, or take by='f_classif')"
        )
    scores = criterion.scores(stats)
    return scores, criterion.pvalues(stats, scores)


def _with_weight(stats: ClassStats) -> ClassStats:
    """The statistics of the classes that have any weight, two at least."""
    seen = np.flatnonzero(stats.weight > 0)
    if len(seen) < 2:
        raise ValueError(
            f"stats hold one class only with any weight ({stats.classes[seen].tolist()}); "
            "ranking features needs at least 2 classes"
        )
    if len(seen) == len(stats.classes):
        return stats
    tables = {name: table.take(seen) for name, table in stats.tables.items()}
    return replace(stats, classes=stats.classes[seen], rows=stats.rows[seen], tables=tables)
