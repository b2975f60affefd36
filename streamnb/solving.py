"""From statistics to weights, equation (6.2) of Shishkova 2016, for every point of the penalty's grid.

The path is lazy: nothing of the size grid x classes x features is ever held.
"""

from collections.abc import Iterable, Iterator, Sequence
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
from streamnb.families import as_family, column_blocks
from streamnb.l1_grid import L1Grid, Totals
from streamnb.memory import check_memory_limit
from streamnb.model import LinearModel
from streamnb.pairwise import PairwiseModel
from streamnb.penalties import KINDS, Penalty, Pull, as_penalty, pull_at
from streamnb.problem import BLOCK, Block, Columns, Kept, Problem
from streamnb.schemes import OneVsOne, as_scheme
from streamnb.stats.class_stats import ClassStats, check_stats
from streamnb.taus import check_unpenalised, taus_from_data
from streamnb.threads import check_n_threads, in_order
from streamnb.unheld import cell_model

PAIRS_BYTES = 1 << 30  # weights of all pairs of classes that would take more are computed when they are needed
MOST_POINTS = 1 << 20  # of a grid; a slip such as a thousand taus of each penalty would not end
GRID_BLOCK = 1 << 21  # weights of all points, zeros among them, that are made as one block
TOGETHER = 1 << 17  # weights of several points solved for at once
ALONE = 1 << 21  # weights without penalty: so few steps that several threads take longer than one


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
    n_threads: int | None = None,
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
    n_threads : int, optional
        Threads that compute weights; as many as there are cores by default. The weights are the same to the last bit.

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
    path = weight_path(stats, family, penalty, estimate=estimate, n_threads=n_threads, **options)
    if (stats.weight == 0).any():
        _checks.warn_absent(stats.classes[stats.weight == 0])
    return path


def weight_path(
    stats: ClassStats,
    family: Any,
    penalty: Penalty | None,
    scheme: str = "joint",
    reference: Any = None,
    n_threads: int | None = None,
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
    problem = Problem(stats, as_family(family), checked, **options)
    path = WeightPath(problem, as_penalty(penalty), check_n_threads(n_threads))
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

    def __init__(self, problem: Problem, penalty: Penalty | None, n_threads: int):
        self._problem, self._n_threads = problem, n_threads
        check_unpenalised(penalty, problem.family)
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
        self._found_totals: Totals | None = None

    def _taus(self, part: Any) -> np.ndarray:
        return part.tau if part.tau is not None else taus_from_data(self._problem, part, self._n_threads)

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

        def fill(block: Block) -> np.ndarray:
            solution, shift, _ = decorrelated(self._equations(i, block), self._pull(i))
            weights[block.columns] = solution.T
            return shift

        self._prepare([i])
        few = self._pull(i).none and weights.size <= ALONE
        for shift in in_order(fill, problem.blocks, 1 if few else self._n_threads):
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

    def by_columns(self) -> Iterator[tuple[Columns, sp.csr_array]]:
        """The weights of all points, a block of features after the other, none kept: however many, memory is small.

        Threads make the next blocks meanwhile.

        Yields
        ------
        columns : slice or (n_columns,) ints
            The features of the block.
        weights : CSR array (n_columns, G * R)
            Row r of coef_ at point g is column ``g * R + r``; weights that are zero are not stored.
        """
        step = max(min(GRID_BLOCK // len(self), BLOCK) // self.n_rows, 1)
        parts = self._problem.parts
        blocks = [Block(part, columns) for part in parts for columns in column_blocks(part.n_features, step)]
        self._prepare(range(len(self)))
        found = in_order(lambda block: self._block_weights(block, False)[0], blocks, self._n_threads)
        for block, weights in zip(blocks, found, strict=True):
            yield block.columns, weights

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

    def _block_weights(self, block: Block, shifted: bool = True) -> tuple[sp.csr_array, np.ndarray]:
        if self._l1 is not None:
            return self._l1.weights(block, self._l1_totals, shifted)
        at_rest = block.equations()
        solutions = list(self._solutions(block, at_rest, range(len(self))))
        weights = np.stack([w for _, (w, _, _) in solutions])
        return sp.csr_array(weights.reshape(-1, weights.shape[-1]).T), np.stack(
            [shift for _, (_, shift, _) in solutions]
        )

    @property
    def _l1_totals(self) -> Totals:
        if self._found_totals is None:  # not a cached_property: Python 3.11 has one lock for those of all paths
            assert self._l1 is not None
            self._found_totals = self._l1.totals(self._problem, self._n_threads)
        return self._found_totals

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
        try:
            i = index(i)
        except TypeError:
            raise TypeError(f"path[{i!r}]: points of a path are taken one at a time, by a number") from None
        if not -len(self) <= i < len(self):
            raise IndexError(f"the path has {len(self)} points; {i} is not one of them")
        return i % len(self)

    def _pull(self, i: int) -> Pull:
        return pull_at(self.penalty, self.grid[i])

    def _equations(self, i: int, block: Block, at_rest: Equations | None = None) -> Equations:
        """(6.2) at point i; `at_rest` is the same without any pull, where it is at hand."""
        pull = self._pull(i)
        at_rest = at_rest or block.equations()
        kept = self._kept_at(i)
        marked = at_rest if kept is None else kept.mark(at_rest, block.columns, block.rows)
        if not block.part.family.coupled or pull.none:
            return marked
        return replace(block.equations(self._totals_at(i)[block.part][:, None]), kept=marked.kept)

    def _kept_at(self, i: int) -> Kept | None:
        if i not in self._kept:
            self._kept[i] = self._problem.kept(self._pull(i))
        return self._kept[i]

    def _totals_at(self, i: int) -> Totals:
        """The sums of all pulls, (R,), of coupled parts."""
        if self._l1 is not None:
            return {part: totals[i] for part, totals in self._l1_totals.items()}
        if i not in self._totals:
            totals = coupled_totals(self._problem, [self._pull(i)], self._kept_at(i), self._n_threads)
            self._totals[i] = {part: of_part[0] for part, of_part in totals.items()}
        return self._totals[i]

    def _prepare(self, points: Iterable[int]) -> None:
        """Compute what all blocks of features need to know of some points, so that threads share it."""
        for i in points:
            self._kept_at(i), self._totals_at(i)


def _check_held(problem: Problem) -> None:
    """Refuse parameters that are fitted together where not all weights fit into memory."""
    for member in problem.family.members:
        if isinstance(member, Together):
            raise MemoryError(
                f"family={member.name!r} under scheme='ovo' holds the weights of all {problem.n_rows:,} pairs of "
                f"classes, which would take {problem.n_rows * problem.n_features * 8 / 2**30:,.0f} GiB; "
                "scheme='joint' or 'ovr' has one row of weights a class"
            )
