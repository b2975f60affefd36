"""Weights of tree-augmented naive Bayes, with the parent present and absent."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln, gammaln

from streamnb.models.tree import TreeColumns, TreeModel
from streamnb.problem.families import Bernoulli
from streamnb.problem.penalties import Penalty, Pull
from streamnb.problem.points import pull_at
from streamnb.problem.schemes import TwoClasses, as_scheme
from streamnb.problem.sides import Sides
from streamnb.solving.equations import Equations
from streamnb.solving.ranking import numbers_kept
from streamnb.solving.trees import class_tables, presence
from streamnb.stats.class_stats import ClassStats

EVIDENCE = "evidence"
STRENGTHS = 1e-2, 1e6  # bounds of the search for "evidence"


@dataclass(frozen=True, eq=False)
class TreeCounts:
    """The weight of the rows of each class with each column (K, n_columns) and each product (K, n_products)."""

    columns: TreeColumns
    weight: np.ndarray
    alone: np.ndarray
    both: np.ndarray
    smoothing: float
    marginal: np.ndarray  # (K, n_columns) the smoothed share of each column, regardless of the parent

    @classmethod
    def of(cls, stats: ClassStats, columns: TreeColumns, smoothing: float) -> "TreeCounts":
        """Count from statistics with the sums of products of these columns.

        The share is (A + s) / (N + s L), L being the number of levels of the feature, as in naive Bayes.
        """
        child, parent = columns.pairs.T
        both = np.stack([table[child, parent] for _, table in class_tables(stats)])
        alone, widths = presence(stats), np.diff(columns.firsts)
        levels = np.repeat(widths + (0 if columns.grouped else 1), widths)
        marginal = (alone + smoothing) / (stats.weight[:, None] + smoothing * levels)
        return cls(columns, stats.weight, alone, both, smoothing, marginal)

    def contexts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return sums, counts and marginal shares of each presence column without its parent, and with it.

        All columns without their parents come first (roots unconditionally), then those that have a parent.
        """
        child, parent = self.columns.pairs.T
        count = np.repeat(self.weight[:, None], self.alone.shape[1], axis=1)
        without = self.alone.copy()
        without[:, child] -= self.both
        count[:, child] -= self.alone[:, parent]
        sums, counts = np.hstack([without, self.both]), np.hstack([count, self.alone[:, parent]])
        return np.maximum(sums, 0.0), np.maximum(counts, 0.0), np.hstack([self.marginal, self.marginal[:, child]])

    def log_evidence(self, strength: float) -> float:
        """Return ln p(rows | parents), with the shares integrated over their Dirichlet priors."""
        if not self.columns.grouped:
            some = np.delete(np.arange(self.columns.n_columns), self.columns.roots)
            sums, counts, shares = (values[:, some] for values in self.contexts())
            a, b = strength * shares, strength * (1.0 - shares)
            return float((betaln(a + sums, b + np.maximum(counts - sums, 0.0)) - betaln(a, b)).sum())
        child, parent = self.columns.pairs.T
        prior = strength * self.marginal[:, child]
        total = (gammaln(prior + self.both) - gammaln(prior)).sum()
        once = np.isin(child, self.columns.firsts)  # each level of each parent
        return float(total + (gammaln(strength) - gammaln(strength + self.alone[:, parent[once]])).sum())

    def strength(self, given: Any) -> float:
        """Return the number of pseudo-rows, given or the one under which the rows are most probable."""
        if not isinstance(given, str):
            return float(given)
        if not len(self.columns.pairs):
            return STRENGTHS[1]
        found = minimize_scalar(lambda log: -self.log_evidence(np.exp(log)), bounds=np.log(STRENGTHS), method="bounded")
        return float(np.exp(found.x))


def tree_model(
    stats: ClassStats, counts: TreeCounts, strength: float, penalty: Penalty | None, log_priors: np.ndarray, **rows: Any
) -> TreeModel:
    """Return the model; `rows` are its fields for the transforms of rows."""
    scheme, columns = as_scheme("joint", stats.classes), counts.columns
    if columns.grouped:
        weights, shift = _of_levels(counts, strength), np.zeros(1)
        weights = weights[1:] - weights[:1] if isinstance(scheme, TwoClasses) else weights
    else:
        sums, counted, shares = counts.contexts()
        prior, pseudo_rows = strength * shares, np.full(counted.shape[1], strength)
        prior[:, columns.roots], pseudo_rows[columns.roots] = counts.smoothing, 2.0 * counts.smoothing
        sides = _sides(sums + prior, counted + pseudo_rows, stats.weight > 0, isinstance(scheme, TwoClasses))
        weights, shift = _of_contexts(columns, sides, penalty, scheme.row_names(stats.classes))
    intercept = scheme.intercepts(log_priors) + shift
    return TreeModel(stats.classes, np.ascontiguousarray(weights.T), intercept, scheme, columns=columns, **rows)


def _of_levels(counts: TreeCounts, strength: float) -> np.ndarray:
    """Return ln p(level) of each column, and what the level of its parent adds, (K, n_columns + n_products)."""
    child, parent = counts.columns.pairs.T
    share = counts.marginal[:, child]
    given = (counts.both + strength * share) / (counts.alone[:, parent] + strength)
    return np.hstack([np.log(counts.marginal), np.log(given) - np.log(share)])


def _sides(sums: np.ndarray, counts: np.ndarray, seen: np.ndarray, two: bool) -> Sides:
    """Set the second class against the first, or each class against all of them."""
    if two:
        return Sides(sums[1:], counts[1:], sums[:1], counts[:1], np.array([[bool(seen.all())]]), False)
    pooled = sums[seen].sum(axis=0, keepdims=True), counts[seen].sum(axis=0, keepdims=True)
    return Sides(sums, counts, *pooled, seen[:, None], True)


def _of_contexts(
    columns: TreeColumns, sides: Sides, penalty: Penalty | None, names: list[Any]
) -> tuple[np.ndarray, np.ndarray]:
    """Return weights of columns and products, (R, n_columns), and what they add to intercepts: (6.2) in each context.

    A feature has weight w_0 and shift s_0 if its parent is absent, w_1 and s_1 if it is present. With x and q for the
    presence of both, the score is ``w_0 x + s_0 + q (s_1 - s_0) + x q (w_1 - w_0)``.
    """
    equations = Equations.of(sides, Bernoulli(), np.ones(sides.positive.shape[1]), None)
    pull = Pull() if penalty is None else pull_of(penalty)
    if pull.top_k is not None:
        equations = replace(equations, kept=_kept(equations, pull, names))
    weights, shifts = equations.solved(pull)
    n, (child, parent) = len(columns.parents), columns.pairs.T
    out = weights.copy()
    out[:, n:] -= weights[:, child]
    np.add.at(out.T, parent, (shifts[:, n:] - shifts[:, child]).T)
    return out, shifts[:, :n].sum(axis=1)


def pull_of(penalty: Penalty) -> Pull:
    """Return the pull of a penalty with one tau on the weights of contexts.

    Raises
    ------
    ValueError
        The pull depends on other weights, which belong to other contexts.
    """
    pull = pull_at(penalty, {part.kind: part.tau[0] for part in penalty.parts})
    if pull.decorrelation or pull.general:
        raise ValueError(
            f"penalty={penalty!r} couples weights with each other, which is not defined for TreeNB; it should be L1, "
            "L2, TopK, Separable or a sum of these"
        )
    return pull


def _kept(equations: Equations, pull: Pull, names: list[Any]) -> np.ndarray:
    """Return the k best contexts of each row of weights, the first of equal ones."""
    merit = equations.merit(pull.by)
    kept = np.zeros(merit.shape, bool)
    for row, k in enumerate(numbers_kept(pull.top_k, merit.shape[1], lambda: names, len(merit))):
        kept[row, np.argsort(-merit[row], kind="stable")[:k]] = True
    return kept
