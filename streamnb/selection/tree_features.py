"""Features of the first levels of small trees: an inexpensive choice among many, before a search that is not."""

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
from streamnb.selection.searches import FeatureSearch, Found, among
from streamnb.stats.class_stats import ClassStats


@persistence.register
@dataclass(frozen=True)
class TreeFeatures(FeatureSearch):
    """Tree pre-selection, "trees": the features by which small entropy trees split rows, all trees together.

    Each tree is grown on rows of its own, `depth` levels deep (scikit-learn's `DecisionTreeClassifier`), and the
    features of all of them are kept, first those that took the most entropy away in all.

    Parameters
    ----------
    n_trees : int
    depth : int
        Levels of splits: a tree takes 2^depth - 1 features at most.
    rows : int
        Of each class in each tree; a class that has fewer is shared out among the trees.
    candidates : int, optional
        So many features alone are looked at, the best by "f_classif"; all by default.
    seed : int
        Of the sample, and of the order in which trees try features.

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
        dealt = self._dealt(sample.codes)
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

    def _dealt(self, codes: np.ndarray) -> np.ndarray:
        """The tree of each row: those of a class go to one tree after the other, in their order."""
        dealt = np.empty(len(codes), np.int64)
        for k in np.unique(codes):
            own = np.flatnonzero(codes == k)
            dealt[own] = np.arange(len(own)) % self.n_trees
        return dealt


def _narrow(X: Any) -> Any:
    """Sparse rows with the indices that trees take."""
    if sp.issparse(X):
        X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X
