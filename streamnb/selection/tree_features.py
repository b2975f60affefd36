"""Selects the features that small decision trees split on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.tree import DecisionTreeClassifier

from streamnb.core import arguments, persistence
from streamnb.passes.options import RunOptions
from streamnb.rows.source import Source
from streamnb.selection.class_sample import ClassSample, check_sample, sampled
from streamnb.selection.criteria import Criterion
from streamnb.selection.feature_ranking import FeatureSearch, Found, among
from streamnb.stats.class_stats import ClassStats


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
    reads: ClassVar[str] = "a sample of rows: sample=snb.sample_rows(X, y, stats)"

    def __post_init__(self) -> None:
        for name in ("n_trees", "depth", "rows"):
            arguments.positive_integer(name, getattr(self, name))
        if self.candidates is not None:
            arguments.positive_integer("candidates", self.candidates)
        if arguments.whole_number("seed", self.seed) >= 2**32:
            raise ValueError(f"seed={self.seed} should be below 2^32, as scikit-learn takes it")

    @property
    def begins(self) -> str:
        return "f_classif"

    def read(self, stats: ClassStats, criterion: Criterion, rows: Source, options: RunOptions) -> ClassSample:
        columns = among(stats, self, criterion, self.candidates)
        return sampled(stats, rows, self.n_trees * self.rows, columns, self.seed, options)

    def found(self, stats: ClassStats, criterion: Criterion, beside: Any) -> Found:
        sample, scores = check_sample(self, beside), np.zeros(stats.n_features)
        shares, used = sample.shares(stats), np.zeros(len(sample.columns), bool)
        dealt = self._tree_of_rows(sample.codes)
        X = sp.csr_matrix(sample.X) if sp.issparse(sample.X) else sample.X
        for number in range(self.n_trees):
            own = np.flatnonzero(dealt == number)
            if not own.size:
                continue
            tree = DecisionTreeClassifier(criterion="entropy", max_depth=self.depth, random_state=self.seed)
            tree.fit(_narrow(X[own]), sample.codes[own], shares[own])
            scores[sample.columns] += tree.feature_importances_ / self.n_trees
            used[tree.tree_.feature[tree.tree_.feature >= 0]] = True
        kept = sample.columns[used]
        chosen = kept[np.argsort(-scores[kept], kind="stable")]
        return Found(chosen, np.concatenate([chosen, sample.columns[~used]]), scores)

    def _tree_of_rows(self, codes: np.ndarray) -> np.ndarray:
        """The tree of each row: the rows of a class are dealt to the trees in turn."""
        dealt = np.empty(len(codes), np.int64)
        for k in np.unique(codes):
            own = np.flatnonzero(codes == k)
            dealt[own] = np.arange(len(own)) % self.n_trees
        return dealt


def _narrow(X: Any) -> Any:
    """X, with 32-bit indices where it is sparse, as trees require."""
    if sp.issparse(X):
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
