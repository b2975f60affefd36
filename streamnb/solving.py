"""From statistics to weights, equation (6.2) of Shishkova 2016, for every point of the penalty's grid.

The path is lazy: nothing of the size grid x classes x features is ever held.
"""

import numbers
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property, partial, reduce
from itertools import product
from math import prod
from operator import add, index
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb import _checks, persistence
from streamnb.coupling import coupled_totals
from streamnb.decorrelating import Solution, check_decorrelation, decorrelated, decorrelated_each
from streamnb.dirichlet import Together
from streamnb.equations import Equations
from streamnb.families import Family, as_family
from streamnb.l1_grid import L1Grid, Totals
from streamnb.memory import check_memory_limit
from streamnb.model import LinearModel
from streamnb.pairwise import PairwiseModel
from streamnb.penalties import KINDS, L1, Penalty, Pull, as_penalty, pull_at
from streamnb.problem import Block, Columns, Kept, Problem
from streamnb.schemes import OneVsOne, as_scheme
from streamnb.stats.class_stats import ClassStats, check_stats
from streamnb.unheld import cell_model

PAIRS_BYTES = 1 << 30  # weights of all pairs of classes that would take more are computed when they are needed
MOST_POINTS = 1 << 20  # of a grid; a slip such as a thousand taus of each penalty would not end
TOGETHER = 1 << 17  # weights of several points solved for at once


def solve(
    stats: ClassStats,
    family: Any = "poisson",
    penalty: Penalty | None = None,
    *,
    scheme: str = "joint",
    reference: Any = None,
    smoothing: Any = 1.0,
    priors: Any = None,
    idf: bool = False,
    estimate: str = "posterior_mean",
    memory_limit: Any = None,
) -> "WeightPath":
    """Regularised weights for every point of the penalty's grid; reads no data.

    Parameters
    ----------
    stats : ClassStats
        From `scan`; only read.
    family : {"gaussian", "poisson", "bernoulli", "multinomial"}, Family or Mixed
    penalty : None, L1, L2, TopK, Decorrelation, Separable or a sum of them
        L1 without taus takes its grid from the statistics.
    scheme : {"joint", "ovr", "ovo", "reference"}
        All classes against their pooled model, each against the rest, every pair, or each against one named class.
        Two classes make one problem whatever the scheme; labels of an indicator each stand against the rest.
    reference : label, optional
        That named class.
    smoothing : float, BetaPrior, DirichletPrior, GammaPrior or NormalInverseGamma
        The prior of the features in each class (in the rest, too). A number s: Bernoulli Beta(s, s); multinomial
        alpha = s; Gaussian none; else s pseudo-rows at the mean of all rows.
    priors : None, "uniform", (K,) or DirichletPrior
        Class probabilities; None: shares of the weight. Under a Dirichlet prior they are estimated as the features
        are.
    idf : bool
        Multiply feature j by ln((1 + N) / (1 + df_j)) + 1, df_j the weight of the rows where it is not 0.
    estimate : {"posterior_mean", "map", "mle"}
        The mean of the posterior, its mode, or maximum likelihood, which has no prior whatever `smoothing`. The mode
        is for families with a conjugate prior: Bernoulli, Binomial, multinomial, Poisson, where a number s means the
        same prior (pseudo-rows at m are Gamma(s m, s), or Beta(s m, s (k - m)) for Binomial; 0 none), and Gaussian.
    memory_limit : int or str, optional
        Bytes that the weights of a model from sparse tables may take, such as "4GB"; half of the free memory by
        default. More are computed where predictions need them.

    Returns
    -------
    WeightPath
        Lazy: a model is computed when it is asked for.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong, or the statistics lack a moment that the family needs.
    """
    options = {"scheme": scheme, "reference": reference, "smoothing": smoothing, "priors": priors, "idf": idf}
    options["memory_limit"] = check_memory_limit(memory_limit)
    path = weight_path(stats, family, penalty, estimate=estimate, **options)
    if (stats.weight == 0).any():
        _checks.warn_absent(stats.classes[stats.weight == 0])
    return path


def weight_path(
    stats: ClassStats,
    family: Any,
    penalty: Penalty | None,
    scheme: str = "joint",
    reference: Any = None,
    **options: Any,
) -> "WeightPath":
    """`solve`, silent about classes without weight."""
    check_stats(stats)
    if len(stats.classes) < 2 and not stats.multilabel:
        raise ValueError(
            f"stats hold {len(stats.classes)} class; a classifier needs at least 2 classes (this is one class only)"
        )
    if stats.total_weight == 0.0:
        raise ValueError("stats hold no row with any weight (0 samples), from which no model follows; scan rows first")
    checked = as_scheme(scheme, stats.classes, reference, stats.multilabel)
    path = WeightPath(Problem(stats, as_family(family), checked, **options), as_penalty(penalty))
    path.asked = {"scheme": scheme, "reference": reference, **options}
    return path


# ---- the path --------------------------------------------------------------------------------------------------------


@persistence.register
class WeightPath:
    """The models of all points of a penalty's grid; each is computed when asked for, none is kept.

    Attributes
    ----------
    grid : list of dict
        A point: the tau of each penalty, e.g. ``{"l1": 0.3, "l2": 2.0}``; a product of ascending grids, slowest
        first: l1, l2, top_k, decorrelation, separable.
    n_features : (G,) int
        Features with any weight that is not zero.
    n_features_per_class : (G, R) int
        The same for each row of coef_.
    saturated : (G,) int
        Features whose branch of solutions ends before the tau of `Decorrelation`: they keep the last solution.
    """

    asked: dict[str, Any]  # what `solve` was told beside the statistics, the family and the penalty

    def __init__(self, problem: Problem, penalty: Penalty | None):
        self._problem = problem
        _check_unpenalised(penalty, problem.family)
        check_decorrelation(penalty, problem.family, problem.scheme, len(problem.stats.classes))
        taus = {part.kind: self._taus(part) for part in (penalty.parts if penalty else ())}
        self.penalty = reduce(add, (part.with_taus(taus[part.kind]) for part in penalty.parts)) if penalty else None
        kinds = [kind for kind in KINDS if kind in taus]
        n_points = prod(len(taus[kind]) for kind in kinds)
        if n_points > MOST_POINTS:
            raise ValueError(f"penalty has a grid of {n_points:,} points, more than {MOST_POINTS:,}; take fewer taus")
        self.grid = [dict(zip(kinds, map(float, point), strict=True)) for point in product(*(taus[k] for k in kinds))]
        for k in taus.get("top_k", ()):
            if k > problem.n_features:
                raise ValueError(f"TopK(k={int(k)}) keeps more features than the {problem.n_features} there are")
        self._kept: dict[int, Kept | None] = {}
        self._totals: dict[int, Totals] = {}
        self._l1 = L1Grid.of(self.penalty)

    def _taus(self, part: Any) -> np.ndarray:
        return part.tau if part.tau is not None else taus_from_data(self._problem, part)

    def save(self, path: Any) -> None:
        """Write statistics, family and penalty to one file, of which `snb.load` makes the same models."""
        persistence.save(path, self)

    def to_state(self) -> dict[str, Any]:
        problem = self._problem
        return {"stats": problem.stats, "family": problem.family, "penalty": self.penalty, "asked": self.asked}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> "WeightPath":
        return weight_path(state["stats"], state["family"], state["penalty"], **state["asked"])

    def __len__(self) -> int:
        return len(self.grid)

    def __repr__(self) -> str:
        problem = self._problem
        sizes = f"{problem.n_rows:,} x {problem.n_features:,} weights, {problem.scheme.name}"
        return f"<WeightPath: {len(self):,} models of {problem.family!r} under {self.penalty!r}; {sizes}>"

    def __getitem__(self, i: int) -> LinearModel:
        i = self._number(i)
        problem = self._problem
        many = problem.at_hand or 8 * problem.n_features * problem.n_rows > PAIRS_BYTES
        if problem.scheme.name == OneVsOne.name and many:
            _check_held(problem)
            return PairwiseModel.of(self.shell(), self.intercepts, partial(self._some_weights, i))
        if problem.at_hand:
            return cell_model(problem, self._pull(i), self.shell())
        weights = np.empty((problem.n_features, problem.n_rows))
        intercept = problem.intercepts.copy()
        for columns, block, shift in self._blocks(i):
            weights[columns] = block.T
            intercept += shift
        return self._model(weights, intercept)

    def shell(self) -> LinearModel:
        """The model of any point without its weights: what is done to rows, and what scores mean."""
        return self._model(np.zeros((self._problem.n_features, 0)), np.zeros(0))

    def _model(self, weights: np.ndarray, intercept: np.ndarray) -> LinearModel:
        problem = self._problem
        applied = problem.stats.options, problem.moments, problem.scale
        second = problem.second if len(intercept) else None
        return LinearModel(problem.stats.classes, weights, intercept, problem.scheme, *applied, second=second)

    def breakpoints(self, scale: str | None = None, row: int | None = None) -> np.ndarray:
        """The L1 tau at which each feature loses its last weight, abs(t*) or with scale="score" abs(z), (n_features,).

        `row` asks for the weight in that row of coef_ alone. For multinomial those at the start of the path: its
        features are coupled and may come back.
        """
        return self._problem.breakpoints(_checks.one_of("scale", scale, [None, "score"]) == "score", row)

    def weights(self, i: int, columns: Columns = slice(None), row: int | None = None) -> np.ndarray:
        """Weights (R, columns) of point i, computed for these features alone; (columns,) of one row of coef_."""
        i = self._number(i)
        alone = row is not None and self._pull(i).decorrelation == 0.0
        rows = slice(row, row + 1) if row is not None and alone else slice(0, self.n_rows)
        weights = self._some_weights(i, columns, rows)[0].T
        return weights if row is None else weights[0 if alone else row]

    def _some_weights(self, i: int, columns: Columns, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Weights of some rows for some features, (n_columns, n_rows), and what these add to intercepts, (n_rows,)."""
        n_rows = rows.stop - rows.start
        weights = np.empty((len(np.arange(self._problem.n_features)[columns]), n_rows))
        shifts = np.zeros(n_rows)
        for block, at in self._problem.pieces(columns):
            w, shift, _ = decorrelated(self._equations(i, replace(block, rows=rows)), self._pull(i))
            weights[at] = w.T
            shifts += shift
        return weights, shifts

    @property
    def n_rows(self) -> int:
        """R, the rows of coef_."""
        return self._problem.n_rows

    @property
    def intercepts(self) -> np.ndarray:
        """What the class priors add to each row, (R,)."""
        return self._problem.intercepts

    @property
    def blocks(self) -> list[Columns]:
        """The features in blocks to be asked for at once."""
        return [block.columns for block in self._problem.blocks]

    def grid_weights(self, columns: Columns) -> tuple[sp.csr_array, np.ndarray]:
        """Weights of all points for some features, (n_columns, G * R), and what these add to intercepts, (G, R)."""
        shifts, found = np.zeros((len(self), self.n_rows)), []
        places: list[Any] = []
        for block, at in self._problem.pieces(columns):
            weights, added = self._block_weights(block)
            shifts += added
            found.append(weights)
            places.append(at)
        if len(found) == 1:
            return found[0], shifts
        return sp.vstack(found, format="csr")[np.argsort(np.hstack([*places]))], shifts

    def _block_weights(self, block: Block) -> tuple[sp.csr_array, np.ndarray]:
        if self._l1 is not None:
            return self._l1.weights(block, self._l1_totals)
        at_rest = block.equations()
        solutions = list(self._solutions(block, at_rest, range(len(self))))
        weights = np.stack([w for _, (w, _, _) in solutions])
        return sp.csr_array(weights.reshape(-1, weights.shape[-1]).T), np.stack(
            [shift for _, (_, shift, _) in solutions]
        )

    @cached_property
    def _l1_totals(self) -> Totals:
        assert self._l1 is not None
        return self._l1.totals(self._problem)

    def _solutions(self, block: Block, at_rest: Equations, points: Sequence[int]) -> Iterator[tuple[int, Solution]]:
        """Some points and their solutions for a block, several at once while these are small."""
        step = max(TOGETHER // max(at_rest.n_weights, 1), 1)
        for first in range(0, len(points), step):
            some = points[first : first + step]
            pulled = ((self._equations(i, block, at_rest), self._pull(i)) for i in some)
            yield from zip(some, decorrelated_each(pulled), strict=True)

    @cached_property
    def n_features_per_class(self) -> np.ndarray:
        return self._counts[0]

    @cached_property
    def n_features(self) -> np.ndarray:
        return self._counts[1]

    @cached_property
    def saturated(self) -> np.ndarray:
        return self._counts[2]

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        problem = self._problem
        if self._l1 is not None:
            return *self._l1.counts(problem, self._l1_totals), np.zeros(len(self), np.int64)
        rows, union, ended = (np.zeros((len(self), *more), np.int64) for more in ((problem.n_rows,), (), ()))
        for block in problem.blocks:
            for i, active, n_saturated in self._active(block):
                rows[i] += np.count_nonzero(active, axis=1)
                union[i] += np.count_nonzero(active.any(axis=0))
                ended[i] += n_saturated
        return rows, union, ended

    def _active(self, block: Block) -> Iterator[tuple[int, np.ndarray, int]]:
        """Each point, which weights of a block are not zero there (R, n), and how many branches have ended."""
        at_rest, points = block.equations(), range(len(self))
        coupled = [i for i in points if self._pull(i).decorrelation > 0.0]
        for i in sorted(set(points) - set(coupled)):  # these tell without being solved
            yield i, self._equations(i, block, at_rest).active(self._pull(i)), 0
        for i, (weights, _, saturated) in self._solutions(block, at_rest, coupled):
            yield i, weights != 0.0, int(np.count_nonzero(saturated))

    def _number(self, i: int) -> int:
        i = index(i)
        if not -len(self) <= i < len(self):
            raise IndexError(f"the path has {len(self)} points; {i} is not one of them")
        return i % len(self)

    def _pull(self, i: int) -> Pull:
        return pull_at(self.penalty, self.grid[i])

    def _blocks(self, i: int) -> Iterator[tuple[Columns, np.ndarray, np.ndarray]]:
        pull = self._pull(i)
        for block in self._problem.blocks:
            yield block.columns, *decorrelated(self._equations(i, block), pull)[:2]

    def _equations(self, i: int, block: Block, at_rest: Equations | None = None) -> Equations:
        """(6.2) at point i; `at_rest` is the same without any pull, where it is at hand."""
        problem, pull = self._problem, self._pull(i)
        at_rest = at_rest or block.equations()
        if i not in self._kept:
            self._kept[i] = problem.kept(pull)
        kept = self._kept[i]
        marked = at_rest if kept is None else kept.mark(at_rest, block.columns, block.rows)
        if not block.part.family.coupled or pull.none:
            return marked
        if self._l1 is not None:
            totals = self._l1_totals[block.part][i]
        else:
            if i not in self._totals:
                self._totals[i] = coupled_totals(problem, [pull], kept)
            totals = self._totals[i][block.part][0]
        return replace(block.equations(totals[:, None]), kept=marked.kept)


def _check_unpenalised(penalty: Penalty | None, family: Family) -> None:
    """Refuse a penalty of parameters that are fitted together."""
    for member in family.members:
        if isinstance(member, Together) and penalty is not None:
            raise ValueError(
                f"penalty={penalty!r} is not defined for family={member.name!r}, whose parameters are fitted together; "
                "it should be None (LinearNBCV, which chooses a penalty, is not for this family)"
            )


def _check_held(problem: Problem) -> None:
    """Refuse parameters that are fitted together where not all weights fit into memory."""
    for member in problem.family.members:
        if isinstance(member, Together):
            raise MemoryError(
                f"family={member.name!r} under scheme='ovo' holds the weights of all {problem.n_rows:,} pairs of "
                f"classes, which would take {problem.n_rows * problem.n_features * 8 / 2**30:,.0f} GiB; "
                "scheme='joint' or 'ovr' has one row of weights a class"
            )


def tau_for(
    stats: ClassStats,
    family: Any = "poisson",
    *,
    n_features: int,
    class_: Any = None,
    scale: str | None = None,
    scheme: str = "joint",
    reference: Any = None,
    smoothing: Any = 1.0,
    idf: bool = False,
    estimate: str = "posterior_mean",
) -> float:
    """The smallest L1 tau that leaves at most `n_features` features; reads no data.

    Parameters
    ----------
    stats, family, scheme, reference, smoothing, idf, estimate
        As for `solve`.
    n_features : int
        How many features may have any weight that is not zero; 0 for none.
    class_ : label, optional
        Count the row of this class alone (joint and ovr).
    scale : {None, "score"}
        That of the L1 penalty.

    Returns
    -------
    float
        A look-up among the breakpoints abs(t*) of (6.2), Shishkova 2016. Multinomial features are coupled: there it
        is found by bisection over solutions, to the last digits.

    Warns
    -----
    StreamnbWarning
        Features that leave together prevent exactly that number.
    """
    check_stats(stats)
    if not isinstance(n_features, numbers.Integral) or n_features < 0:
        raise ValueError(f"n_features={n_features!r} should be a whole number of at least 0")
    _checks.one_of("scale", scale, [None, "score"])
    checked = as_scheme(scheme, stats.classes, reference, stats.multilabel)
    problem = Problem(stats, as_family(family), checked, smoothing, None, idf, estimate)
    _check_unpenalised(L1(0.0, scale), problem.family)
    row = None if class_ is None else _row_of_class(problem, class_)
    breaks = np.append(np.sort(problem.breakpoints(scale == "score", row))[::-1], 0.0)
    if problem.family.coupled:
        tau, left = _bisected(problem, scale == "score", row, n_features, 2.0 * breaks[0])
    else:
        tau = float(breaks[min(n_features, len(breaks) - 1)])
        left = int(np.count_nonzero(breaks > tau))
    if left < min(n_features, np.count_nonzero(breaks > 0)):
        _checks.warn(f"n_features={n_features}: features leave together, tau={tau:g} keeps {left}")
    return tau


def _row_of_class(problem: Problem, label: Any) -> int:
    at = np.flatnonzero([label == c for c in problem.stats.classes])
    if not problem.scheme.of_classes or at.size == 0:
        raise ValueError(
            f"class_={label!r} has no row of weights of its own; it should be one of {problem.stats.classes.tolist()}, "
            "more than two, under scheme='joint' or 'ovr'"
        )
    return int(at[0])


def _bisected(problem: Problem, scored: bool, row: int | None, wanted: int, high: float) -> tuple[float, int]:
    def left(tau: float) -> int:
        rows, union = L1Grid(np.array([tau]), scored).counts(problem)
        return int(union[0] if row is None else rows[0, row])

    low = 0.0
    if left(low) <= wanted:
        return low, left(low)
    while high - low > 1e-15 * high:
        middle = 0.5 * (low + high)
        low, high = (low, middle) if left(middle) <= wanted else (middle, high)
        if middle in (0.0, low + high - middle):
            break
    return high, left(high)


def taus_from_data(problem: Problem, part: L1) -> np.ndarray:
    """The L1 taus that leave k features, k geometric from all to 1.

    A coupled family's features come back along the path, so there k is right about, not exactly.
    """
    scored = part.scale == "score"
    breaks = np.sort(problem.breakpoints(scored))[::-1]
    n_alive = max(int(np.count_nonzero(breaks > 0)), 1)
    every = np.arange(min(part.n_taus, n_alive))
    wanted = np.geomspace(1, n_alive, len(every)).round().astype(int)
    wanted = np.maximum.accumulate(wanted - every) + every  # rounding would give small numbers twice
    taus = np.where(wanted < n_alive, breaks[wanted % len(breaks)], 0.0)
    if problem.family.coupled and taus.any():
        taus = _corrected(problem, scored, wanted, taus)
    return np.unique(taus)


def _corrected(problem: "Problem", scored: bool, wanted: np.ndarray, taus: np.ndarray) -> np.ndarray:
    """Taus that leave about the wanted numbers of features, read off the line through what some taus leave."""
    first, high = 0.05 * taus[taus > 0].min(initial=taus.max()), taus.max()
    tried, counts = np.zeros(0), np.zeros(0, np.int64)
    some = np.geomspace(first, high, 2 * len(taus))
    for _ in range(3):  # the features go faster and faster before the last one
        left = L1Grid(some, scored).counts(problem)[1]
        tried, counts = np.append(tried, some[left > 0]), np.append(counts, left[left > 0])
        if not tried.size:
            return taus
        low, high = tried.max(), some[(left == 0) & (some > tried.max())].min(initial=high)
        some = np.geomspace(low, high, 18)[1:-1]
    order = np.argsort(tried)
    tried, counts = tried[order], counts[order]
    rising = np.maximum.accumulate(counts[::-1])
    corrected = np.exp(np.interp(np.log(wanted), np.log(rising), np.log(tried[::-1])))
    return np.where(taus > 0, corrected, 0.0)
