"""Searches for features in a sample of rows: Relief-F, and the splits of small trees."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from scipy.spatial.distance import cdist
from sklearn.tree import DecisionTreeClassifier

from streamnb.core import arguments, persistence
from streamnb.selection.class_sample import ClassSample
from streamnb.selection.criteria import Criterion
from streamnb.selection.feature_ranking import FeatureSearch, Found
from streamnb.stats.class_stats import ClassStats

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
