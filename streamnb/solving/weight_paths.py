"""Solves for the models of a penalty grid from statistics, without data; each is computed when it is needed."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cached_property, partial, reduce
from itertools import product
from math import prod
from operator import add, index
from typing import Any, cast

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, messages, persistence
from streamnb.core.memory import check_memory_limit
from streamnb.core.threads import check_n_threads, in_order
from streamnb.kernels.scores import score_cells
from streamnb.models import on_demand
from streamnb.models.linear import LinearModel
from streamnb.models.on_demand import PairwiseModel, UnheldModel
from streamnb.problem.families import as_family
from streamnb.problem.family import Family, column_blocks
from streamnb.problem.penalties import Penalty, Pull, as_penalty, pull_at, slowest_first
from streamnb.problem.schemes import OneVsOne, as_scheme
from streamnb.problem.sides import OVERLAPS, Unlabelled
from streamnb.problem.smoothing import chosen
from streamnb.rows.boundary import as_chunk
from streamnb.rows.row_blocks import Chunk
from streamnb.solving.decorrelation import Solution, decorrelated, decorrelated_each
from streamnb.solving.equations import Equations
from streamnb.solving.l1_grid import Entering, L1Grid, Totals, taus_from_data
from streamnb.solving.multinomial import coupled_totals
from streamnb.solving.normal_models import QuadraticPath, covariance_path, is_own
from streamnb.solving.parts import BLOCK, Columns, FeatureBlock, Part
from streamnb.solving.weight_problem import Kept, Problem, check_normal, check_penalty
from streamnb.stats.class_stats import ClassStats, check_stats


@dataclass(frozen=True, slots=True, eq=False)
class CellWeights:
    """Weights (R, n_columns) for some features that most classes never contain.

    A weight is ``empty[kind[r], j]``, the same for all classes of a kind, plus ``more[j, r]`` for cells that are not
    empty. `shifts` are what these features add to the intercepts.
    """

    empty: np.ndarray  # (n_kinds, n_columns)
    kind: np.ndarray  # (R,)
    more: sp.csr_array  # (n_columns, R)
    shifts: np.ndarray  # (R,)

    @classmethod
    def of(cls, part: Part, pull: Pull, columns: np.ndarray) -> CellWeights:
        """Return the weights of some features of a part, given by their numbers in the part."""
        first, kind = part.kinds
        classes, local, sums = part.cells(columns)
        shape = len(first), len(columns)
        met = np.bincount(kind[classes] * shape[1] + local, minlength=shape[0] * shape[1]).reshape(shape)
        # skip features without empty cells in a kind: the equation of an empty cell may have no solution there
        kinds, places = np.nonzero(met < np.bincount(kind)[:, None])
        empty, shifts = np.zeros((2, *shape))
        nothing = part.equations_of_cells(columns[places], first[kinds], np.zeros(len(places)))
        empty[kinds, places], shifts[kinds, places] = (of_cells[0] for of_cells in nothing.solved(pull))
        own, own_shifts = part.equations_of_cells(columns[local], classes, sums).solved(pull)
        at = kind[classes], local
        more = sp.csr_array((own[0] - empty[at], (local, classes)), shape=(len(columns), len(kind)))
        added = np.bincount(classes, own_shifts[0] - shifts[at], len(kind))
        return cls(empty, kind, more, shifts.sum(axis=1)[kind] + added)


@dataclass(frozen=True, eq=False, repr=False)
class CellModel(UnheldModel):
    """A model of sparse class sums that treats empty cells together.

    Attributes
    ----------
    weights_of : function of columns
        Returns their `CellWeights`.
    n_kinds : int
    """

    weights_of: Callable[[np.ndarray], CellWeights] | None = None
    n_kinds: int = 1

    def _raw_margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return the scores of the rows of weights for a checked block, (n_rows, R)."""
        chunk = self.prepared(chunk, survey)
        X: Any = sp.csr_array(chunk.to_matrix())
        chunk, _ = as_chunk(X, chunk.first_row)
        kinds, out = np.zeros((X.shape[0], self.n_kinds)), np.zeros((X.shape[0], len(self.intercept_)))
        kind = np.zeros(len(self.intercept_), np.intp)
        for columns in self._column_batches(np.unique(X.indices)):
            weights, local = self.weights_of(columns), chunk.of_columns(columns)  # type: ignore[misc]
            scale = np.ones(len(columns)) if self.scale is None else self.scale[columns]
            local.add_scores(np.ascontiguousarray((weights.empty * scale).T), kinds)
            X, more, kind = local.to_matrix(), sp.diags_array(scale).tocsr() @ weights.more, weights.kind
            arrays = X.data, X.indices, X.indptr, np.arange(X.shape[0])
            score_cells(*arrays, more.data, more.indices, more.indptr, 0, out)
        out += kinds[:, kind]
        out += self.intercept_
        return out

    def _column_batches(self, columns: np.ndarray) -> Iterator[np.ndarray]:
        return _column_batches(columns, self.n_kinds)


def cell_model(problem: Problem, pull: Pull, shell: LinearModel) -> CellModel:
    """Return the model of sparse class sums under a pull; `shell` has the transforms of rows."""
    known = [part.known_by_kind(pull) for part in problem.parts]
    known.append(problem.feature_weight is None)
    if not all(known) or len(known) > 2 or pull.general or pull.decorrelation > 0.0 or pull.top_k is not None:
        raise MemoryError(
            f"the weights of {problem.n_rows:,} classes and {problem.n_features:,} features would take "
            f"{memory.size(8 * problem.n_rows * problem.n_features)}; computing them on demand "
            "takes one family under scheme='joint' or 'ovr' with L1, L2, Separable or no penalty (multinomial: none), "
            "no estimate='map' and no feature_weight; choose among these, use fewer features, or a larger memory_limit"
        )
    (part,) = problem.parts
    weights_of, n_kinds, intercept = partial(CellWeights.of, part, pull), len(part.kinds[0]), problem.intercepts.copy()
    if not part.family.coupled:  # features of coupled families add nothing to the intercepts
        for columns in _column_batches(np.arange(problem.n_features), n_kinds):
            intercept += weights_of(columns).shifts
    fields = {name: getattr(shell, name) for name in shell.__dataclass_fields__}
    return CellModel(**{**fields, "intercept_": intercept, "weights_of": weights_of, "n_kinds": n_kinds})


def _column_batches(columns: np.ndarray, n_kinds: int) -> Iterator[np.ndarray]:
    """Yield batches of columns whose weights are at most NUMBERS."""
    step = max(on_demand.NUMBERS // n_kinds, 1)
    for first in range(0, len(columns), step):
        yield columns[first : first + step]


# ---- paths -----------------------------------------------------------------------------------------------------------

PAIRS_BYTES = 1 << 30  # if the weights of all pairs of classes take more, they are computed on demand
MOST_POINTS = 1 << 20  # of a grid; a mistake such as a thousand taus for each penalty would run forever
GRID_BLOCK = 1 << 21  # weights of all points, including zeros, computed as one block
TOGETHER = 1 << 17  # weights of several points solved for at once
ALONE = 1 << 21  # weights without penalty take so few steps that one thread is faster up to this number


def solve(
    stats: ClassStats,
    family: Any = "poisson",
    penalty: Penalty | None = None,
    *,
    scheme: str = "joint",
    reference: Any = None,
    overlap: str = "refuse",
    smoothing: Any = 1.0,
    priors: Any = None,
    idf: bool = False,
    estimate: str = "posterior_mean",
    feature_weight: Any = None,
    memory_limit: Any = None,
    n_threads: int | None = None,
) -> WeightPath:
    """Solve for regularised weights at every point of the penalty's grid; reads no data.

    Parameters
    ----------
    stats : ClassStats
        Statistics from `scan`; not modified.
    family : {"gaussian", "poisson", "bernoulli", "multinomial"}, Family or Mixed
    penalty : None, L1, L2, TopK, Decorrelation, Separable, Custom or a sum of them
        L1 without taus chooses its grid from the statistics.
    scheme : {"joint", "ovr", "ovo", "reference"}
        All classes against their pooled model, each against the rest, every pair, or each against one named class.
        Two classes are one problem under any scheme. Each label of an indicator is set against the rest, or under
        "reference" against a named label, using only the rows of the two (Shishkova 2016, 6.1): w_u = W(S_u, N_u; S_r,
        N_r), intercept ln(N_u / N_r), prior and dispersion from these rows.
    reference : label, or snb.UNLABELLED, optional
        The named class or label; for an indicator it may also be the rows without any label.
    overlap : {"refuse", "keep"}
        For an indicator: rows that have both a label and the reference raise an error that counts them, or count on
        both sides.
    smoothing : float, "evidence", "empirical_bayes", "auto", or a prior
        The prior of the features in each class (and in the rest). A number s: Bernoulli Beta(s, s); multinomial
        alpha = s; Gaussian none; else s pseudo-rows at the mean of all rows. "evidence": the s under which the rows
        are most probable (type-II maximum likelihood), one for all features. "empirical_bayes" and "auto" as in
        `LinearNB`. BetaPrior, DirichletPrior, GammaPrior and NormalInverseGamma may have a row for each class.
    priors : None, "uniform", (K,) or DirichletPrior
        Class probabilities; None: shares of the weight. Under a Dirichlet prior they are estimated like the features.
    idf : bool
        Multiply feature j by ln((1 + N) / (1 + df_j)) + 1, df_j the weight of the rows where it is not 0.
    estimate : {"posterior_mean", "map", "mle"}
        The mean of the posterior, its mode, or maximum likelihood, which ignores `smoothing`. The mode is available
        for families with a conjugate prior: Bernoulli, Binomial, multinomial, Poisson, where a number s means the
        same prior (pseudo-rows at m are Gamma(s m, s), or Beta(s m, s (k - m)) for Binomial; 0 none), and Gaussian.
    feature_weight : (n_features,), optional
        Weighted naive Bayes (Lee et al. 2011): factors of at least 0, by which the weight of each feature and its part
        of the intercepts are multiplied. 0 leaves a feature out, and 2 counts it like a copied column, except that a
        copy would change multinomial probabilities. ``rank_features(stats, by="kullback_leibler").scores`` are factors
        by divergence.
    memory_limit : int or str, optional
        Bytes that the weights of a model from sparse tables may take, such as "4GB"; half of the free memory by
        default. Larger weights are computed when predictions need them.
    n_threads : int, optional
        Threads that compute weights; the number of cores by default. It does not change a bit of the weights.

    Returns
    -------
    WeightPath
        A lazy sequence: each model is computed when it is accessed.

    Raises
    ------
    ValueError, TypeError
        An argument is invalid, or the statistics lack a moment that the family needs.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> stats = snb.scan(X, y)
    >>> path = snb.solve(stats, "poisson", snb.L1([0.0, 1.0, 9.0]))
    >>> path.n_features.tolist(), path[0].predict([[3, 0]]).tolist()
    ([2, 2, 0], ['cat'])
    """
    arguments.one_of("overlap", overlap, OVERLAPS)
    path = weight_path(
        stats,
        family,
        penalty,
        n_threads=n_threads,
        scheme=scheme,
        reference=reference,
        estimate=estimate,
        overlap=overlap,
        smoothing=smoothing,
        priors=priors,
        idf=idf,
        feature_weight=feature_weight,
        memory_limit=check_memory_limit(memory_limit),
    )
    if isinstance(reference, Unlabelled) and stats.unlabelled is not None and not stats.unlabelled.total_weight:
        messages.warn("every row bears a label: there are none for reference=snb.UNLABELLED, and all weights are zero")
    if (stats.weight == 0).any():
        messages.warn_absent(stats.classes[stats.weight == 0])
    return path


def weight_path(
    stats: ClassStats,
    family: Any,
    penalty: Penalty | None,
    scheme: str = "joint",
    reference: Any = None,
    n_threads: int | None = None,
    **options: Any,
) -> Any:
    """Return the path of `solve`, without its warning about classes without weight."""
    check_stats(stats)
    if len(stats.classes) < 2 and not stats.multilabel:
        raise ValueError(
            f"stats hold {len(stats.classes)} class; a classifier needs at least 2 classes (this is one class only)"
        )
    if stats.total_weight == 0.0:
        raise ValueError("stats hold no row with any weight (0 samples), from which no model follows; scan rows first")
    checked, member = as_scheme(scheme, stats.classes, reference, stats.multilabel), as_family(family)
    options["smoothing"] = chosen(options.get("smoothing", 1.0), member, options.get("estimate", "posterior_mean"))
    given = {"scheme": scheme, "reference": reference, **options}
    check_normal(member, penalty, checked, options)
    if member.covariant:
        return covariance_path(stats, member, checked, given)
    if is_own(member):
        return cast(WeightPath, QuadraticPath(stats, member, checked, options))
    path = WeightPath(Problem(stats, member, checked, **options), as_penalty(penalty), check_n_threads(n_threads))
    path.asked = given
    return path


@persistence.register
class WeightPath:
    """The models of all points of a penalty's grid; each is computed when it is accessed, and none is cached.

    Attributes
    ----------
    grid : list of dict
        The points: the tau of each penalty, such as ``{"l1": 0.3, "top_k": 20}``; a product of ascending grids, the
        slowest first: l1, l2, top_k (whole numbers), decorrelation, separable.
    n_features : (G,) int
        Number of features with a nonzero weight.
    n_features_per_class : (G, R) int
        The same by row of `coef_`.
    saturated : (G,) int
        Number of features whose branch of solutions ends before the tau of `Decorrelation`; they keep the last one.
    residuals : (G,) float
        The largest residual of t = -tau R'(W(t)) under `Custom`; 0 without it.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> path = snb.solve(snb.scan(X, y), "poisson", snb.L1([0.0, 9.0]))
    >>> len(path), path.grid[1], path.n_features.tolist(), path[0].coef_.round(2).tolist()
    (2, {'l1': 9.0}, [2, 0], [[-0.96, 1.19]])
    """

    asked: dict[str, Any]  # the other arguments of `solve`, as they were given

    def __init__(self, problem: Problem, penalty: Penalty | None, n_threads: int):
        self.problem, self._n_threads = problem, n_threads
        check_penalty(penalty, problem.family, problem.scheme, len(problem.stats.classes))
        taus = {
            part.kind: taus_from_data(problem, part, n_threads) if part.tau is None else part.tau
            for part in (penalty.parts if penalty else ())
        }
        self.penalty = reduce(add, (part.with_taus(taus[part.kind]) for part in penalty.parts)) if penalty else None
        kinds = slowest_first(taus)
        grids = [taus[kind].tolist() for kind in kinds]
        n_points = prod(map(len, grids))
        if n_points > MOST_POINTS:
            raise ValueError(f"penalty has a grid of {n_points:,} points, more than {MOST_POINTS:,}; use fewer taus")
        self.grid: list[dict[str, Any]] = [dict(zip(kinds, point, strict=True)) for point in product(*grids)]
        for k in taus.get("top_k", ()):
            problem.numbers_kept(k)
        self._kept: dict[int, Kept | None] = {}
        self._totals: dict[int, Totals] = {}
        self._general: dict[int, FixedPoint] = {}
        self._l1 = L1Grid.of(self.penalty, problem.feature_weight)
        self._found_totals: Totals | None = None

    def save(self, path: Any) -> None:
        """Write statistics, family and penalty to one file, from which `snb.load` makes the same models."""
        persistence.save(path, self)

    def _to_state(self) -> dict[str, Any]:
        problem = self.problem
        return {"stats": problem.stats, "family": problem.family, "penalty": self.penalty, "asked": self.asked}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> WeightPath:
        kinds = {"stats": ClassStats, "family": Family, "penalty": Penalty | None, "asked": dict[str, Any]}
        stats, family, penalty, options = persistence.parts(cls, state, **kinds)
        arguments.one_of("idf", options.get("idf", False), [False, True])
        check_memory_limit(options.get("memory_limit"))
        return weight_path(stats, family, penalty, **options)

    def __len__(self) -> int:
        return len(self.grid)

    def __repr__(self) -> str:
        problem = self.problem
        sizes = f"{problem.n_rows:,} x {problem.n_features:,} weights, {problem.scheme.name}"
        return f"<WeightPath: {len(self):,} models of {problem.family!r} under {self.penalty!r}; {sizes}>"

    def __getitem__(self, i: int) -> LinearModel:
        i, problem = self._number(i), self.problem
        many = problem.on_demand or 8 * problem.n_features * problem.n_rows > PAIRS_BYTES
        if problem.scheme.name == OneVsOne.name and many:
            problem.check_held()
            return PairwiseModel.of(self.shell(), self.intercepts, partial(self._some_weights, i))
        if problem.on_demand:
            return cell_model(problem, self._pull(i), self.shell())
        weights = np.empty((problem.n_features, problem.n_rows))
        intercept = problem.intercepts.copy()
        self._prepare([i])
        few = self._pull(i).none and weights.size <= ALONE
        solutions = in_order(partial(self._solved, i), problem.blocks, 1 if few else self._n_threads)
        for block, (solution, shift, _) in zip(problem.blocks, solutions, strict=True):
            weights[block.columns] = solution.T
            intercept += shift
        return self._model(weights, intercept)

    def shell(self) -> LinearModel:
        """Return a model without weights: the transforms of rows and the meaning of scores."""
        return self._model(np.zeros((self.problem.n_features, 0)), np.zeros(0))

    def _model(self, weights: np.ndarray, intercept: np.ndarray) -> LinearModel:
        problem = self.problem
        stats, applied = problem.stats, (problem.stats.options, problem.moments, problem.scale)
        second, scheme = problem.second if len(intercept) else None, problem.scheme
        return LinearModel(stats.classes, weights, intercept, scheme, *applied, second=second, privacy_=stats.privacy)

    def breakpoints(self, scale: str | None = None, row: int | None = None) -> np.ndarray:
        """Return the L1 tau at which each feature loses its last weight, abs(t*), or abs(z) with scale="score".

        The result has shape (n_features,); with `row`, only that row of `coef_` counts. Multinomial features are
        coupled and may return along the path: for these it is the tau at its start.
        """
        return self.problem.breakpoints(arguments.one_of("scale", scale, [None, "score"]) == "score", row)

    def weights(self, i: int, columns: Columns = slice(None), row: int | None = None) -> np.ndarray:
        """Return weights (R, columns) of point i for these features alone; (columns,) for one row of `coef_`."""
        i = self._number(i)
        alone = row is not None and self._pull(i).decorrelation == 0.0
        rows = slice(row, row + 1) if row is not None and alone else slice(0, self.n_rows)
        weights = self._some_weights(i, columns, rows)[0].T
        return weights if row is None else weights[0 if alone else row]

    def _some_weights(self, i: int, columns: Columns, rows: slice) -> tuple[np.ndarray, np.ndarray]:
        """Return weights of some features and rows, (n_columns, n_rows), and what they add to intercepts, (n_rows,)."""
        n_rows = rows.stop - rows.start
        weights = np.empty((len(np.arange(self.problem.n_features)[columns]), n_rows))
        shifts = np.zeros(n_rows)
        for block, at in self.problem.pieces(columns):
            w, shift, _ = self._solved(i, replace(block, rows=rows))
            weights[at] = w.T
            shifts += shift
        return weights, shifts

    @property
    def n_rows(self) -> int:
        """R, the rows of `coef_`."""
        return self.problem.n_rows

    @property
    def intercepts(self) -> np.ndarray:
        """Contribution of the class priors to each row, (R,)."""
        return self.problem.intercepts

    def by_columns(self) -> Iterator[tuple[Columns, sp.csr_array]]:
        """Yield the weights of all points block by block of features, so that memory stays small.

        Threads compute the next blocks meanwhile.

        Yields
        ------
        columns : slice or (n_columns,) ints
            The features of the block.
        weights : CSR array (n_columns, G * R)
            Row r of `coef_` at point g is column ``g * R + r``; zero weights are not stored.
        """
        step = max(min(GRID_BLOCK // len(self), BLOCK) // self.n_rows, 1)
        parts = self.problem.parts
        blocks = [FeatureBlock(part, columns) for part in parts for columns in column_blocks(part.n_features, step)]
        self._prepare(range(len(self)))
        found = in_order(lambda block: self._block_weights(block, False)[0], blocks, self._n_threads)
        for block, weights in zip(blocks, found, strict=True):
            yield block.columns, weights

    def grid_weights(self, columns: Columns) -> tuple[sp.csr_array, np.ndarray]:
        """Return weights of some features at all points, (n_columns, G * R), and their part of intercepts, (G, R)."""
        shifts, found = np.zeros((len(self), self.n_rows)), []
        places: list[Any] = []
        for block, at in self.problem.pieces(columns):
            weights, added = self._block_weights(block)
            shifts += added
            found.append(weights)
            places.append(at)
        if len(found) == 1:
            return found[0], shifts
        return sp.vstack(found, format="csr")[np.argsort(np.hstack([*places]))], shifts

    def entering(self) -> Entering | None:
        """Return where features enter the path, for TopK alone, else None."""
        return Entering.of(self.problem, self.penalty)

    def _block_weights(self, block: FeatureBlock, shifted: bool = True) -> tuple[sp.csr_array, np.ndarray]:
        if self._l1 is not None:
            return self._l1.weights(block, self._l1_totals, shifted)
        solutions = [solution for _, solution in self._solutions(block, block.equations(), range(len(self)))]
        weights, shifts = np.stack([w for w, _, _ in solutions]), np.stack([shift for _, shift, _ in solutions])
        return sp.csr_array(weights.reshape(-1, weights.shape[-1]).T), shifts

    @property
    def _l1_totals(self) -> Totals:
        if self._found_totals is None:  # not a cached_property: Python 3.11 has one lock for those of all paths
            assert self._l1 is not None
            self._found_totals = self._l1.totals(self.problem, self._n_threads)
        return self._found_totals

    def _solutions(self, block: FeatureBlock, unpulled: Equations, at: Sequence[int]) -> Iterator[tuple[int, Solution]]:
        """Yield points and their solutions for a block, solving several together while these are small."""
        step = max(TOGETHER // max(unpulled.n_weights, 1), 1)
        for first in range(0, len(at), step):
            some = at[first : first + step]
            found = decorrelated_each(self._equations(i, block, unpulled) for i in some)
            yield from zip(some, (self._with_feature_weight(block, solution) for solution in found), strict=True)

    def _solved(self, i: int, block: FeatureBlock) -> Solution:
        """Return weights of a block at point i, what they add to the intercepts (R,), and where branches ended."""
        equations, pull = self._equations(i, block, block.equations())
        return self._with_feature_weight(block, decorrelated(equations, pull))

    def _with_feature_weight(self, block: FeatureBlock, solution: Solution) -> Solution:
        """Multiply a solution by the feature weights, and sum what features add to the intercepts, (R,)."""
        weights, shifts, ended = solution
        if self.problem.feature_weight is None:
            return weights, shifts.sum(axis=1), ended
        factor = self.problem.feature_weight[block.columns]
        return weights * factor, shifts @ factor, ended

    @property
    def n_features_per_class(self) -> np.ndarray:
        return self._counts[0]

    @property
    def n_features(self) -> np.ndarray:
        return self._counts[1]

    @property
    def saturated(self) -> np.ndarray:
        return self._counts[2]

    @cached_property
    def residuals(self) -> np.ndarray:
        return np.array([found.residual if (found := self._fixed_point(i)) else 0.0 for i in range(len(self))])

    @cached_property
    def _counts(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        problem = self.problem
        if self._l1 is not None:
            return *self._l1.counts(problem, self._l1_totals), np.zeros(len(self), np.int64)
        if (entering := self.entering()) is not None:
            return *entering.counts(), np.zeros(len(self), np.int64)
        rows, union, ended = (np.zeros((len(self), *more), np.int64) for more in ((problem.n_rows,), (), ()))
        for block in problem.blocks:
            for i, active, n_saturated in self._active(block):
                rows[i] += np.count_nonzero(active, axis=1)
                union[i] += np.count_nonzero(active.any(axis=0))
                ended[i] += n_saturated
        return rows, union, ended

    def _active(self, block: FeatureBlock) -> Iterator[tuple[int, np.ndarray, int]]:
        """Yield each point, its nonzero weights of a block (R, n), and how many branches have ended."""
        unpulled, points = block.equations(), range(len(self))
        coupled = [i for i in points if self._pull(i).decorrelation > 0.0]
        for i in sorted(set(points) - set(coupled)):  # known without solving
            equations, pull = self._equations(i, block, unpulled)
            active, weight = equations.active(pull), self.problem.feature_weight
            yield i, active if weight is None else active & (weight[block.columns] > 0.0), 0
        for i, (weights, _, saturated) in self._solutions(block, unpulled, coupled):
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

    def _equations(self, i: int, block: FeatureBlock, unpulled: Equations) -> tuple[Equations, Pull]:
        """Return (6.2) at point i and its pull; `unpulled` are the equations without any pull."""
        pull, marked, fixed_point = self._pull(i), self._marked(i, block, unpulled), self._fixed_point(i)
        if fixed_point:
            start = fixed_point.start[block.rows][:, block.columns]
            return marked.pulled(start), replace(pull, l2=pull.l2 + fixed_point.ridge)
        if not block.part.family.coupled or pull.none:
            return marked, pull
        return replace(block.equations(self._totals_at(i)[block.part][:, None]), kept=marked.kept), pull

    def _marked(self, i: int, block: FeatureBlock, unpulled: Equations) -> Equations:
        """Return (6.2) without any pull, with the kept features marked."""
        kept = self._kept_at(i)
        return unpulled if kept is None else kept.mark(unpulled, block.part, block.columns, block.rows)

    def _kept_at(self, i: int) -> Kept | None:
        if i not in self._kept:
            self._kept[i] = self.problem.kept(self._pull(i))
        return self._kept[i]

    def _totals_at(self, i: int) -> Totals:
        """Return the sums of all pulls of coupled parts, (R,)."""
        if self._l1 is not None:
            return {part: totals[i] for part, totals in self._l1_totals.items()}
        if i not in self._totals:
            totals = coupled_totals(self.problem, [self._pull(i)], self._kept_at(i), self._n_threads)
            self._totals[i] = {part: of_part[0] for part, of_part in totals.items()}
        return self._totals[i]

    def _fixed_point(self, i: int) -> FixedPoint | None:
        """Return the fixed point of `Custom` at point i; None without it."""
        pull = self._pull(i)
        if not pull.general:
            return None
        if i not in self._general:
            ((tau, gradient),), problem = pull.general, self.problem
            weights = np.zeros((problem.n_rows, problem.n_features))
            marked = [(block.columns, self._marked(i, block, block.equations())) for block in problem.blocks]

            def weights_at(start: np.ndarray, ridge: float) -> np.ndarray:
                bent = replace(pull, l2=pull.l2 + ridge)
                for columns, equations in marked:
                    weights[:, columns] = decorrelated(equations.pulled(start[:, columns]), bent)[0]
                return weights

            self._general[i] = fixed_point_pulls(weights_at, tau, gradient, weights.shape)
        return self._general[i]

    def _prepare(self, points: Iterable[int]) -> None:
        """Compute what all blocks of features share at some points, before threads start."""
        for i in points:
            self._kept_at(i), self._totals_at(i), self._fixed_point(i)


EXACT = 1e-12  # relative to each weight: a smaller step is the last
ROUNDING = 1e-14  # relative to the largest weight: so is a smaller step
ENOUGH = 1e-7  # relative to the largest weight and pull: how much the last step may leave
FLATTEST = 1e-9  # ridge, relative to tau
UNBOUNDED = 1e100  # larger weights are taken to diverge
MEMORY = 10  # previous steps that are combined for the next one
MOST_STEPS = 5000


@dataclass(frozen=True, slots=True, eq=False)
class FixedPoint:
    """Pulls t = -tau R'(W(t)) as start + ridge w, and the largest residual."""

    start: np.ndarray  # (R, n)
    ridge: float
    residual: float


def fixed_point_pulls(
    weights_at: Callable[[np.ndarray, float], np.ndarray],
    tau: float,
    gradient: Callable[[np.ndarray], np.ndarray],
    shape: tuple[int, int],
) -> FixedPoint:
    """Return the fixed point; `weights_at(start, ridge)` are the weights (R, n) under the pulls start + ridge w.

    A plain step maximises the likelihood minus ridge / 2 times the squared step, with R replaced by its tangent (the
    proximal gradient method); it is not slowed down by light classes or the scale of features. The ridge is the
    curvature of R along the step. Anderson acceleration (1965) is far faster if R couples weights.
    """
    nothing = np.zeros(shape)
    w = _weights(weights_at, nothing, 0.0)
    w = weights_at(nothing, tau).copy() if w is None else w
    slope = -tau * gradient(w)
    first, residual, last, converged = np.abs(slope).max(initial=0.0), np.inf, np.inf, False
    ridge = max(abs(_curvature(w, slope + tau * gradient(nothing))), FLATTEST * tau)
    start, previous = slope - ridge * w, deque[tuple[np.ndarray, np.ndarray]](maxlen=MEMORY)
    for _ in range(MOST_STEPS):
        found = _weights(weights_at, start, ridge)
        new_w = w if found is None else found
        new_slope = -tau * gradient(new_w)
        curvature = np.inf if found is None else _curvature(new_w - w, new_slope - slope)
        if curvature > 2.0 * ridge:  # return to the weights before
            ridge = min(curvature, 4.0 * ridge)
            start, last = slope - ridge * w, np.inf
            previous.clear()
            continue
        step, w, slope = new_w - w, new_w, new_slope
        error = slope - ridge * w - start
        residual = float(np.abs(error).max(initial=0.0))
        fixed_point = FixedPoint(start, ridge, residual)
        size, sizes = np.abs(step), np.abs(w)
        left, largest = size.max(initial=0.0), sizes.max(initial=0.0)
        converged = left <= ENOUGH * largest and residual <= ENOUGH * np.abs(slope).max(initial=0.0)
        if left <= ROUNDING * largest or (size <= EXACT * sizes).all() or largest > UNBOUNDED:
            break
        if residual > 2.0 * last:
            previous.clear()
        previous.append((start, error))
        start, last = _combined(previous), residual
    if converged:
        return fixed_point
    raise ValueError(
        f"penalty=Custom(gradient) does not contract at tau={tau:g}: t = -tau R'(W(t)) is not reached, the largest "
        f"difference (residual) stays {residual:.3g} where it began with {first:.3g}; use a smaller tau, or a concave "
        "R, whose gradient falls as weights rise"
    )


def _combined(previous: Sequence[tuple[np.ndarray, np.ndarray]]) -> np.ndarray:
    """Return the next start from the previous ones and their residuals (Anderson acceleration)."""
    start, error = previous[-1]
    if len(previous) == 1:
        return start + error
    starts, errors = (
        np.diff(np.stack(part), axis=0).reshape(len(previous) - 1, -1) for part in zip(*previous, strict=True)
    )
    share = np.linalg.lstsq(errors.T, error.ravel(), rcond=None)[0]
    return start + error - (share @ (starts + errors)).reshape(error.shape)


def _curvature(step: np.ndarray, turn: np.ndarray) -> float:
    """Return the curvature along a step, from the change of the slopes; 0 for a step of length 0."""
    length = np.abs(step).max(initial=0.0)
    return float(np.sum(step / length * (turn / length)) / np.sum((step / length) ** 2)) if length else 0.0


def _weights(
    weights_at: Callable[[np.ndarray, float], np.ndarray], start: np.ndarray, ridge: float
) -> np.ndarray | None:
    """Return the weights under the pulls start + ridge w, or None if they are infinite."""
    try:
        with np.errstate(all="ignore"):
            w = weights_at(start, ridge).copy()
    except ValueError:  # raised for an infinite weight
        return None
    return w if np.isfinite(w).all() else None
