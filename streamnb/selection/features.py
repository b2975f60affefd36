"""Ranks features by a criterion or by a search, from class statistics and samples of rows."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.tree import DecisionTreeClassifier

from streamnb.core import arguments, persistence, row_checks
from streamnb.passes.contract import RunOptions, Wants
from streamnb.passes.run import run
from streamnb.rows.boundary import checked, surveyed
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.rows.row_blocks import Block, Chunk, CSRChunk, DenseChunk, frozen
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan
from streamnb.selection.criteria import CRITERIA, Criterion, SymmetricalUncertainty, as_criterion
from streamnb.selection.feature_ranking import ClassSample, FeatureRanking, FeatureSearch, Found, scored, searched
from streamnb.selection.wrappers import BackwardElimination, ExhaustiveSearch, ForwardSelection, IncrementalSelection
from streamnb.stats.accumulating import Accumulator
from streamnb.stats.class_stats import ClassStats, check_stats
from streamnb.stats.complements import with_and_without
from streamnb.stats.histograms import found_in
from streamnb.stats.second_moments import Products, matrices

MAX_PAIRED = 4096  # features whose pairs are counted: their table takes 64 MiB
OTHER_VALUES = (
    "X has values in the second scan that lie in no bin of the first; a callable should return a fresh iterator of the "
    "same rows each time"
)
ROUNDING = 1.0 - 1e-12  # allows for sums of equal numbers in different orders


@dataclass(frozen=True)
class PairTable:
    """The weight of rows with each pair of values of two features.

    Attributes
    ----------
    columns : (c,) int
        The features, ascending.
    counts : (c * V, c * V)
        [i * V + u, j * V + v] is the weight of value u of feature i with value v of feature j. For presence V = 1, and
        absence has the rest of the weight.
    total : float
        The weight of all rows.
    """

    columns: np.ndarray
    counts: np.ndarray
    total: float

    def uncertainty(self, i: int, others: np.ndarray) -> np.ndarray:
        """SU of a feature with each of the others, (len(others),); features are indices into `columns`."""
        n_values = len(self.counts) // len(self.columns)
        own = slice(i * n_values, (i + 1) * n_values)
        places = others[:, None] * n_values + np.arange(n_values)
        counts = self.counts[own][:, places].transpose(2, 0, 1)  # values of the others, own values, others
        weight = np.diag(self.counts)[own]
        if n_values == 1:
            (both,), theirs = counts[0], np.diag(self.counts)[others]
            alone, absent = np.maximum(weight - both, 0.0), np.maximum(theirs - both, 0.0)
            neither = np.maximum(self.total - weight - absent, 0.0)
            counts = np.stack([np.stack([both, absent]), np.stack([alone, neither])])
            weight = np.append(weight, self.total - weight)
        return SymmetricalUncertainty().of_counts(counts, weight[:, None])


@dataclass(frozen=True)
class PairScan(ClassScan):
    """Counts pairs of values of features: presence, or bins (`scale` and `shift` as in a `Grid`).

    Rows have `taken` features, of which `columns` are counted.
    """

    columns: np.ndarray | None = None
    taken: int = 0
    presence: str = "above"
    n_values: int = 1
    scale: Any = None
    shift: Any = None
    title = "pairs"
    called = "PairScan"

    def partial(self) -> Accumulator:
        return Accumulator(self.moments, RowOptions(), self.classes, None, self.memory_limit, how=self.how)

    def add(self, partial: Any, block: Block) -> None:
        """Check one block of rows and add its values."""
        assert self.columns is not None
        chunk, _ = transformed(*checked(block), self.options)
        row_checks.check_n_features(chunk.shape[1], self.taken, "the second scan")
        chunk = chunk.of_columns(self.columns)
        present = self._present(chunk) if self.scale is None else self._in_bins(chunk)
        partial.add(*surveyed(present), row_checks.check_y(block.y), block.weight)

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        assert self.columns is not None
        return super().wants(n_rows, len(self.columns) * self.n_values)

    def _present(self, chunk: Chunk) -> Chunk:
        if self.presence == "nonzero":
            return chunk.with_values((chunk.stored != 0).astype(np.uint8))
        above = self.options.binarize
        if isinstance(chunk, CSRChunk) and above < 0.0:  # absent values count as present then
            chunk = DenseChunk(chunk.to_matrix().toarray(), chunk.first_row)
        return chunk.with_values((chunk.stored > above).astype(np.uint8))

    def _in_bins(self, chunk: Chunk) -> CSRChunk:
        """Rows of indicators, one per bin of each feature."""
        values = chunk.to_matrix().toarray() if isinstance(chunk, CSRChunk) else chunk.values
        n_rows, n = values.shape
        places = np.floor(values.astype(np.float64) * self.scale) + self.shift
        bins = places - self.n_values * np.arange(n)
        if not ((bins >= 0) & (bins < self.n_values)).all():  # would index outside the table
            raise ValueError(OTHER_VALUES)
        places = places.astype(np.int32)
        data, ends = frozen(np.ones(places.size, np.uint8)), frozen(np.arange(n_rows + 1, dtype=np.int64) * n)
        return CSRChunk(data, frozen(places.reshape(-1)), ends, n * self.n_values, chunk.first_row, ones=True)


@persistence.register
@dataclass(frozen=True)
class FCBF(FeatureSearch):
    """The fast correlation-based filter of Yu and Liu (2003): relevant features without redundant ones.

    Features with SU(j; Y) >= delta (and above 0) are visited from the best down. A feature q is dropped if a better
    feature p that was kept has SU(p, q) >= SU(q; Y). A copy of a kept feature has SU(p, q) = 1 and is always dropped.
    ``SU(a, b) = 2 I(a; b) / (H(a) + H(b))``.

    Parameters
    ----------
    delta : float
        From 0 to 1.
    candidates : int
        Only this many features, the best ones, are compared in pairs: c features with V values take
        4 c V (c V + 1) bytes (V = 1 for presence).

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> y = np.repeat([0, 1], 8)
    >>> X = np.column_stack([y, y, [0, 1] * 8])
    >>> X[3, :2] = 1
    >>> stats = snb.scan(X, y, moments=["above", "gram_above"])
    >>> snb.rank_features(stats, snb.FCBF(delta=0.1)).chosen
    array([0])
    """

    delta: float = 0.0
    candidates: int = MAX_PAIRED
    name: ClassVar[str] = "fcbf"
    begins: ClassVar[str] = "symmetrical_uncertainty"
    reads: ClassVar[str] = "pairs of features, scan(moments=['above', 'gram_above'])"

    def __post_init__(self) -> None:
        arguments.share("delta", self.delta)
        if arguments.positive_integer("candidates", self.candidates) > MAX_PAIRED:
            raise ValueError(f"candidates={self.candidates} should be at most {MAX_PAIRED:,}: more take too long")

    def _candidates(self, stats: ClassStats, criterion: Criterion) -> tuple[np.ndarray, np.ndarray]:
        """Scores of all features, and the candidates, best first."""
        scores, order = self.best_first(stats, criterion)
        return scores, order[(scores[order] >= self.delta) & (scores[order] > 0.0)][: self.candidates]

    def read(self, stats: ClassStats, criterion: Criterion, rows: Source, options: RunOptions) -> PairTable | None:
        columns = np.sort(self._candidates(stats, criterion)[1])
        if _has_pairs(stats, criterion) or not len(columns):
            return None
        task = PairScan(
            ("gram_above",),
            stats.options,
            stats.classes,
            how=Products(pooled=True),
            memory_limit=options.memory_limit,
            columns=columns,
            taken=stats.n_features,
            presence=criterion.presence,
        )
        if criterion.values != "presence":
            grid = found_in(stats.tables).grid
            shift = grid.shift[columns] + grid.n_bins * (np.arange(len(columns)) - columns)
            task = replace(task, n_values=grid.n_bins, scale=grid.scale[columns], shift=shift)
        pairs, _ = run(task, rows, options)
        row_checks.check_same_rows(pairs.n_rows, stats.n_rows)
        return PairTable(columns, matrices(pairs.table("gram_above").dense()), pairs.total_weight)

    def found(self, stats: ClassStats, criterion: Criterion, beside: Any) -> Found:
        scores, order = self._candidates(stats, criterion)
        if not len(order):
            return Found(order, order, scores)
        pairs = beside if isinstance(beside, PairTable) else _pairs_from_stats(stats, criterion, np.sort(order))
        of_class = scores[pairs.columns]
        left, chosen = np.searchsorted(pairs.columns, order), []
        while len(left):
            best, left = left[0], left[1:]
            chosen.append(best)
            if len(left):
                left = left[pairs.uncertainty(best, left) < of_class[left] * ROUNDING]
        return Found(pairs.columns[chosen], order, scores)


def _has_pairs(stats: ClassStats, criterion: Criterion) -> bool:
    """Whether the statistics already hold the pairs."""
    return "gram_above" in stats.moments and (criterion.values, criterion.presence) == ("presence", "above")


def _pairs_from_stats(stats: ClassStats, criterion: Criterion, columns: np.ndarray) -> PairTable:
    """The pairs from statistics of a scan that counted them."""
    if not _has_pairs(stats, criterion):
        raise ValueError(
            "by='fcbf' looks at pairs of features: of presence='above' with statistics of "
            "scan(moments=['above', 'gram_above']); snb.FeatureSelector('fcbf') counts them of any values in a second "
            "read of the rows"
        )
    counts = matrices(stats.table("gram_above").dense())
    counts = counts if counts.ndim == 2 else counts.sum(axis=0)
    return PairTable(columns, counts[np.ix_(columns, columns)], stats.total_weight)


AT_ONCE = 1 << 20  # differences between rows and their neighbours, computed at a time
UNSEEN = -1.0  # score of features that are no candidates: the lowest possible


@persistence.register
@dataclass(frozen=True)
class ReliefF(FeatureSearch):
    """Relief-F, "relief" (Kononenko 1994): how much farther away neighbours of other classes are than own ones.

    ``w_j = mean_i [ sum_C P(C) / (1 - P(y_i)) d_j(i, M_C(i)) - d_j(i, H(i)) ]``, with H(i) the k nearest rows of the
    class y_i of row i, M_C(i) those of another class C, and d_j the mean of ``abs(x_j - x'_j) / (max_j - min_j)``.
    Distances between rows are the sums of these over all features. Rows and their neighbours come from one sample. A
    feature that is uninformative on its own, such as one half of an exclusive or, still gets a high weight; criteria
    cannot see it. Weights lie between -1 and 1, near 0 or below for irrelevant features.

    Parameters
    ----------
    rows : int or None
        Rows of each class in the sample; a smaller class is kept whole. Time is the square of their number, times the
        number of features.
    n_neighbors : int
        k, the neighbours from each class; all rows of a class that has fewer.
    candidates : int, optional
        Only this many features, the best by "f_classif", are considered; all by default.
    seed : int
        Seed of the sample.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X = np.random.default_rng(0).integers(0, 2, (400, 6))
    >>> snb.FeatureSelector(snb.ReliefF(rows=100), k=2).fit(X, X[:, 0] ^ X[:, 1]).get_support(indices=True)
    array([0, 1])
    """

    rows: int | None = 500
    n_neighbors: int = 10
    candidates: int | None = None
    seed: int = 0
    name: ClassVar[str] = "relief"
    begins: ClassVar[str] = "f_classif"
    keeps: ClassVar[bool] = False

    def __post_init__(self) -> None:
        super().__post_init__()
        arguments.positive_integer("n_neighbors", self.n_neighbors)

    def found(self, stats: ClassStats, criterion: Criterion, beside: Any) -> Found:
        sample, scores = self.checked_sample(beside), np.full(stats.n_features, UNSEEN)
        scores[sample.columns] = self._weights(sample, stats)
        order = sample.columns[np.argsort(-scores[sample.columns], kind="stable")]
        return Found(None, order, scores)

    def _weights(self, sample: ClassSample, stats: ClassStats) -> np.ndarray:
        values = sample.dense().astype(np.float64)
        low, spread = values.min(axis=0), np.ptp(values, axis=0)
        near = (values - low) / np.where(spread > 0.0, spread, 1.0)
        codes, shares = sample.codes, sample.shares(stats)
        prior = stats.weight / stats.total_weight
        members = [np.flatnonzero(codes == k) for k in range(len(prior))]
        step = max(AT_ONCE // (self.n_neighbors * near.shape[1]), 1)
        total = np.zeros(near.shape[1])
        for k, own in enumerate(members):
            for first in range(0, len(own), step):
                rows = own[first : first + step]
                for other, theirs in enumerate(members):
                    sign = -1.0 if other == k else prior[other] / (1.0 - prior[k])
                    total += sign * (shares[rows] @ self._distances(near, rows, theirs))
        return total / shares.sum()

    def _distances(self, near: np.ndarray, rows: np.ndarray, theirs: np.ndarray) -> np.ndarray:
        """The mean difference of each row from its nearest neighbours in each feature, (n_rows, n)."""
        far = cdist(near[rows], near[theirs], "cityblock")
        far[rows[:, None] == theirs] = np.inf  # a row is not its own neighbour
        n = min(self.n_neighbors, len(theirs) - bool(np.isin(rows, theirs).any()))
        if n == 0:
            return np.zeros((len(rows), near.shape[1]))
        nearest = theirs[np.argsort(far, axis=1, kind="stable")[:, :n]]
        return np.abs(near[rows, None] - near[nearest]).mean(axis=1)


@persistence.register
@dataclass(frozen=True)
class TreeFeatures(FeatureSearch):
    """Tree pre-selection, "trees": the features on which small entropy trees split.

    Each tree is grown on its own rows, `depth` levels deep (scikit-learn's `DecisionTreeClassifier`). The features of
    all trees are kept, ordered by their total reduction of entropy.

    Parameters
    ----------
    n_trees : int
    depth : int
        Levels of splits: a tree uses at most 2^depth - 1 features.
    rows : int
        Rows of each class in each tree; the rows of a smaller class are divided among the trees.
    candidates : int, optional
        Only this many features, the best by "f_classif", are considered; all by default.
    seed : int
        Seed of the sample and of the order in which trees try features.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X = np.random.default_rng(0).normal(size=(600, 8))
    >>> selector = snb.FeatureSelector(snb.TreeFeatures(depth=1), k="auto").fit(X, X[:, 5] > 0.3)
    >>> selector.chosen_
    array([5])
    """

    n_trees: int = 10
    depth: int = 3
    rows: int = 100
    candidates: int | None = None
    seed: int = 0
    name: ClassVar[str] = "trees"
    begins: ClassVar[str] = "f_classif"

    def __post_init__(self) -> None:
        super().__post_init__()
        for name in ("n_trees", "depth", "rows"):
            arguments.positive_integer(name, getattr(self, name))
        if self.seed >= 2**32:
            raise ValueError(f"seed={self.seed} should be below 2^32, as scikit-learn takes it")

    @property
    def _n_sampled(self) -> int:
        return self.n_trees * self.rows

    def found(self, stats: ClassStats, criterion: Criterion, beside: Any) -> Found:
        sample, scores = self.checked_sample(beside), np.zeros(stats.n_features)
        shares, used = sample.shares(stats), np.zeros(len(sample.columns), bool)
        tree_of_rows = np.empty(len(sample.codes), np.int64)
        for k in np.unique(sample.codes):  # the rows of a class are dealt to the trees in turn
            of_class = np.flatnonzero(sample.codes == k)
            tree_of_rows[of_class] = np.arange(len(of_class)) % self.n_trees
        X = sp.csr_matrix(sample.X) if sp.issparse(sample.X) else sample.X
        for number in range(self.n_trees):
            rows = np.flatnonzero(tree_of_rows == number)
            if not rows.size:
                continue
            of_tree = X[rows]
            if sp.issparse(of_tree):  # trees take 32-bit indices
                of_tree.indices, of_tree.indptr = of_tree.indices.astype(np.int32), of_tree.indptr.astype(np.int32)
            tree = DecisionTreeClassifier(criterion="entropy", max_depth=self.depth, random_state=self.seed)
            tree.fit(of_tree, sample.codes[rows], shares[rows])
            scores[sample.columns] += tree.feature_importances_ / self.n_trees
            used[tree.tree_.feature[tree.tree_.feature >= 0]] = True
        kept = sample.columns[used]
        chosen = kept[np.argsort(-scores[kept], kind="stable")]
        return Found(chosen, np.concatenate([chosen, sample.columns[~used]]), scores)


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
    """Score features by how informative they are about the class, or search for a good subset; reads no data.

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
        features than there are, or lacks a `sample` or moment that it needs.

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
