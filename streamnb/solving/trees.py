"""Tree-augmented naive Bayes: its tree (Friedman, Geiger and Goldszmidt 1997), and its weights."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.optimize import minimize_scalar
from scipy.special import betaln, chdtri, gammaln, xlogy

from streamnb.core import messages
from streamnb.models.tree import TreeColumns, TreeModel
from streamnb.problem.families import Bernoulli
from streamnb.problem.penalties import Penalty, Pull, pull_at
from streamnb.problem.schemes import TwoClasses, as_scheme
from streamnb.problem.sides import Sides
from streamnb.solving.equations import Equations
from streamnb.solving.weight_problem import numbers_kept
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.second_moments import diagonal, unpacked

GRID = 2.0**40  # informations are compared as multiples of 1 / GRID, as equal ones may differ in their last bits
EVIDENCE = "evidence"
STRENGTHS = 1e-2, 1e6  # bounds of the search for "evidence"


def class_tables(stats: ClassStats) -> Iterator[tuple[float, np.ndarray]]:
    """Yield the weight of each class, and of its rows with both columns of each pair, (n_columns, n_columns)."""
    table = stats.table("gram_above").dense()
    for k, weight in enumerate(stats.weight.tolist()):
        yield weight, unpacked(table.value(slice(None), slice(k, k + 1))[0])


def presence(stats: ClassStats) -> np.ndarray:
    """Return the weight of the rows of each class with each column, (K, n_columns)."""
    return stats.table("gram_above").dense().value(diagonal(stats.n_features))


def presence_stats(stats: ClassStats) -> ClassStats:
    """Return the statistics of single columns, as a scan of "above" returns them."""
    above = stats.table("gram_above").dense().select(diagonal(stats.n_features))
    return replace(stats, tables={"weight": stats.tables["weight"], "above": above}, folds=(), folding=None)


def informations(stats: ClassStats, firsts: np.ndarray) -> np.ndarray:
    """Return I(i; j | y) = sum_aby p(a, b, y) ln[p(a, b, y) p(y) / (p(a, y) p(b, y))] in nats, (n, n).

    Feature j has the columns firsts[j] to firsts[j + 1]. With h(T) = sum T ln T over cells, the term of a class
    is h of the cells of both features, minus h of those of each, plus h of the whole class.
    """
    total = np.zeros((len(firsts) - 1,) * 2)
    for weight, both in class_tables(stats):
        if weight > 0.0:
            total += _of_class(weight, both, firsts[:-1])
    return np.maximum(0.5 * (total + total.T), 0.0) / stats.total_weight  # symmetric to the last bit


def _of_class(weight: float, both: np.ndarray, starts: np.ndarray) -> np.ndarray:
    both = both / weight
    alone, any_of_one = both.diagonal(), np.add.reduceat(both, starts, axis=0)
    any_of_both = np.add.reduceat(any_of_one, starts, axis=1)
    some = np.add.reduceat(alone, starts)
    # the other feature at level 0 and this one not; and both at level 0
    one_absent = np.add.reduceat(_h(alone - any_of_one), starts, axis=1)
    both_absent = _h(1.0 - some[:, None] - some + any_of_both)
    cells = np.add.reduceat(np.add.reduceat(_h(both), starts, axis=0), starts, axis=1)
    own = np.add.reduceat(_h(alone), starts) + _h(1.0 - some)
    return weight * (cells + one_absent + one_absent.T + both_absent - own[:, None] - own)


def _h(shares: np.ndarray) -> np.ndarray:
    shares = np.maximum(shares, 0.0)  # rounding may leave differences below 0
    return xlogy(shares, shares)


def beyond_chance(information: np.ndarray, weight: np.ndarray, levels: np.ndarray, level: float) -> np.ndarray:
    """Return informations, (n, n), with -1 for those that independent features may reach by chance.

    Of N rows, 2 N I(i; j | y) of features that are independent within K classes is chi-squared with
    K (L_i - 1) (L_j - 1) degrees of freedom as N grows (S. Kullback, Information Theory and Statistics, 1959), L their
    levels, and exceeds the bound by chance in the share `level` of all cases. `weight` (K,) is the weight of each
    class.
    """
    freedom = np.count_nonzero(weight) * np.multiply.outer(levels - 1, levels - 1)
    values, which = np.unique(freedom, return_inverse=True)
    bounds = np.where(values > 0, chdtri(np.maximum(values, 1), level), np.inf)[which].reshape(freedom.shape)
    return np.where(2.0 * weight.sum() * information > bounds, information, -1.0)


def check_weights(stats: ClassStats, levels: np.ndarray, level: float) -> None:
    """Warn if no two features could appear dependent, only because weights are so small."""
    most = np.log(np.minimum.outer(levels, levels))  # information one feature can have of another
    np.fill_diagonal(most, 0.0)

    def none(weight: np.ndarray) -> bool:
        return bool((beyond_chance(most, weight, levels, level) < 0.0).all())

    total, n_rows = stats.total_weight, stats.n_rows
    if total < n_rows and none(stats.weight) and not none(stats.weight * (n_rows / total)):
        messages.warn(
            f"the weights of {n_rows:,} rows add up to {total:.3g}, and weights count as rows: with so few no feature "
            "has a parent, and this is naive Bayes; give weights of about 1, or significance_level=None"
        )


def spanning_tree(information: np.ndarray) -> np.ndarray:
    """Return the parent of each feature in the maximum spanning tree, (n,); -1 for the first, the root.

    Prim's algorithm on informations rounded to multiples of 2^-40; the first of equal edges (i, j), i < j, wins.
    Edges below 0 are left out; there may then be several trees, each rooted at its first feature.
    """
    n = len(information)
    values = np.round(information * GRID)
    parents, best, edge = np.full(n, -1, np.int64), np.full(n, -np.inf), np.full(n, n * n)
    inside = np.zeros(n, bool)
    at, every = 0, np.arange(n)
    for _ in range(n - 1):
        inside[at] = True
        numbers = np.minimum(every, at) * n + np.maximum(every, at)
        better = ~inside & ((values[at] > best) | ((values[at] == best) & (numbers < edge)))
        parents[better], best[better], edge[better] = at, values[at][better], numbers[better]
        highest = np.flatnonzero(~inside & (best == best[~inside].max()))
        at = int(highest[np.argmin(edge[highest])])
    parents[best < 0.0] = -1
    return parents


def symmetrical_uncertainty(stats: ClassStats, firsts: np.ndarray) -> np.ndarray:
    """Return 2 (H(X) + H(Y) - H(X, Y)) / (H(X) + H(Y)) of each feature X, from presence by class, (n,).

    The same as `rank_features` for single columns; 0 if neither varies.
    """
    shares, weight = stats.above / stats.total_weight, stats.weight / stats.total_weight
    starts = firsts[:-1]
    absent = weight[:, None] - np.add.reduceat(shares, starts, axis=1)
    joint = -np.add.reduceat(_h(shares).sum(axis=0), starts) - _h(absent).sum(axis=0)
    own = -np.add.reduceat(_h(shares.sum(axis=0)), starts) - _h(absent.sum(axis=0))
    both = own - _h(weight).sum()
    return np.divide(2.0 * (both - joint), both, out=np.zeros(len(starts)), where=both > 0.0)


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
