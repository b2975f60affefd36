"""Trains multiclass support vector machines by cutting planes, with a lower bound of the optimum.

K. Crammer and Y. Singer, On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2 (2001);
T. Joachims, Training linear SVMs in linear time, KDD 2006. The loss of all rows, L(W), is convex and a maximum of
planes: at the weights of a read it touches A . W + d, where A are class sums by the label of largest loss minus those
by the true label. Neither A nor d depends on C, so that planes of one C serve any other. A read goes only part of the
way to the minimum of the planes (V. Franc and S. Sonnenburg, Optimized cutting plane algorithm for large-scale risk
minimization, JMLR 10, 2009): planes then touch the loss nearer to the optimum, and half as many suffice.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from operator import itemgetter
from threading import Lock
from typing import Any
from weakref import WeakValueDictionary

import numpy as np

from streamnb.core.threads import one_thread
from streamnb.passes.passes import Pass
from streamnb.solving.coordinates import CentredFeatures
from streamnb.solving.data import TrainingData
from streamnb.solving.descent import dot
from streamnb.solving.fitting import SLACK
from streamnb.solving.method import Method, Reads, Trained, Trainer
from streamnb.solving.objectives import Objective, features_used
from streamnb.solving.reading import ReadTask, power_above
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.grouping import known_codes

STEP_SHARE = 0.25  # of the way from the best weights so far to the minimum of the planes, where the next read is
MOST_SHARED = 1 << 28  # bytes of models that share planes; of larger ones, each takes its own
IDLE = 20  # reads after which shared planes that no model uses are dropped
RIDGE = 1e-13  # relative to the largest product, as planes may be combinations of others
ROUNDING = 1e-11  # relative error in the slopes of the dual problem


class CrammerSinger(Objective):
    """max_k (s_k + [k != y]) - s_y: one loss for all rows of weights, one row for each class."""

    of_rows = False
    bounded = True

    def targets(self, y: Any, classes: np.ndarray, first_row: int) -> np.ndarray:
        return known_codes(y, classes, first_row)

    def losses(self, scores: np.ndarray, targets: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        rows = np.arange(len(scores))
        margins = scores + 1.0
        margins[rows, targets] -= 1.0
        worst, slopes = margins.argmax(axis=1), np.zeros_like(scores)
        slopes[rows, worst] += 1.0
        slopes[rows, targets] -= 1.0
        return slopes, (margins[rows, worst] - scores[rows, targets])[:, None]


@dataclass(frozen=True, eq=False)
class CuttingPlanes:
    """Planes below the loss of a set of rows, L(W) >= A_t . W + d_t, for any C.

    Attributes
    ----------
    slopes : T arrays A_t, (n + 1, K), for the n features that any row has, intercepts last
    offsets : (T,), d_t
    products : (T, T), A_s . A_t
    rows : str
        A digest of the class sums of these rows.
    """

    slopes: tuple[np.ndarray, ...]
    offsets: np.ndarray
    products: np.ndarray
    rows: str

    def __repr__(self) -> str:
        return f"<CuttingPlanes: {len(self.slopes)}>"

    @classmethod
    def first(cls, at: CentredFeatures, intercepts: bool) -> "CuttingPlanes":
        """The plane at weights of 0, known from the scan: there all wrong labels have the same loss."""
        sums = at.sums
        own, weights = sums.own, sums.own_weight
        if own.shape[1] == 1:
            own, weights = np.column_stack([sums.whole - own[:, 0], own]), np.append(sums.weight - weights, weights)
        others = np.vstack([sums.whole[:, None] - own, sums.weight - weights]) / (len(weights) - 1)
        slope = (others - np.vstack([own, weights])) * at.factors
        slope[-1] *= intercepts
        digest = sha256(repr((intercepts, sums.weight)).encode())
        for part in (slope, sums.squares, sums.magnitudes):
            digest.update(np.ascontiguousarray(part).tobytes())
        return cls((slope,), np.array([sums.weight]), np.array([[dot(slope, slope)]]), digest.hexdigest())

    def with_plane(self, slope: np.ndarray, offset: float) -> "CuttingPlanes":
        """These planes and one more."""
        with_others = np.array([dot(slope, other) for other in self.slopes])
        products = np.block(
            [[self.products, with_others[:, None]], [with_others[None, :], np.array([[dot(slope, slope)]])]]
        )
        return CuttingPlanes((*self.slopes, slope), np.append(self.offsets, offset), products, self.rows)

    def subset(self, indices: np.ndarray) -> "CuttingPlanes":
        """The planes with these indices."""
        slopes = tuple(self.slopes[t] for t in indices.tolist())
        return CuttingPlanes(slopes, self.offsets[indices], self.products[np.ix_(indices, indices)], self.rows)

    def shares(self, C: float, before: np.ndarray) -> np.ndarray:
        """The shares a >= 0, sum a <= C, that maximise a . d - (sum a_t A_t)^2 / 2, started from `before`."""
        n = len(self.slopes) + 1  # and the plane L(W) >= 0, which takes the rest of C
        products, offsets, start = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        products[1:, 1:], offsets[1:] = C * self.products, self.offsets
        start[1 : 1 + len(before)] = before / C
        start[0] = max(1.0 - start.sum(), 0.0)
        with one_thread():
            return C * best_shares(products, offsets, start)[1:]

    def weights(self, shares: np.ndarray) -> np.ndarray:
        """The weights that follow from the shares, (n_features + 1, K)."""
        weights = np.zeros_like(self.slopes[0])
        for share, slope in zip(shares.tolist(), self.slopes, strict=True):
            if share > 0.0:
                weights -= share * slope
        return weights

    def bound(self, shares: np.ndarray) -> float:
        """The dual value, a lower bound of the objective for any weights."""
        with one_thread():
            return float(shares @ self.offsets - 0.5 * (shares @ self.products @ shares))


class SharedPlanes:
    """Planes of the same rows, to which models of several C each add one in every read.

    Planes that no model has used for `idle` reads are dropped; bounds hold without them. The result is the same for any
    number of threads, as all models announce their planes, which are added by C, before any of them continues.
    """

    def __init__(self, planes: CuttingPlanes, idle: float = np.inf):
        self.planes, self._idle = planes, idle
        self._numbers, self._used = np.arange(len(planes.slopes)), np.zeros(len(planes.slopes))
        self._read = 0
        self._announced: list[tuple[float, np.ndarray, float, int]] = []
        self._lock = Lock()

    def announce(self, C: float, slope: np.ndarray, offset: float, read: int) -> None:
        """Add a plane of the read with this number once all models have announced theirs."""
        self._announced.append((C, slope, offset, read))

    def add(self, slope: np.ndarray, offset: float, read: int) -> None:
        """Add the plane of the read with this number."""
        if read > self._read:
            self._read, kept = read, np.flatnonzero(self._used >= read - 1 - self._idle)
            if len(kept) < len(self._used):
                self.planes = self.planes.subset(kept)
                self._numbers, self._used = self._numbers[kept], self._used[kept]
        self.planes = self.planes.with_plane(slope, offset)
        self._numbers, self._used = np.append(self._numbers, self._numbers.max() + 1), np.append(self._used, read)

    def shares(self, C: float, before: dict[int, float]) -> tuple[np.ndarray, dict[int, float]]:
        """The best shares of all planes, and the nonzero ones by plane number; `before` are the previous ones."""
        with self._lock:
            for _, slope, offset, read in sorted(self._announced, key=itemgetter(0)):
                self.add(slope, offset, read)
            self._announced.clear()
        start = np.zeros(len(self._numbers))
        start[np.searchsorted(self._numbers, list(before))] = list(before.values())
        shares = self.planes.shares(C, start)
        used = shares > 0.0
        self._used[used] = self._read
        return shares, dict(zip(self._numbers[used].tolist(), shares[used].tolist(), strict=True))


@dataclass(frozen=True, eq=False)
class PlanesEnd:
    """The outcome of a model of one C: its gap, whether it converged, and the sum of its planes weighted by shares.

    It used `n_reads` of `n_allowed` reads; if time ran out, the two are equal.

    If each of F models has seen all rows except those of a fold, the loss of all rows is the sum of their losses
    divided by F - 1, and the sum of their planes divided by F - 1 lies below it.
    """

    gap: float
    converged: bool
    slope: np.ndarray
    offset: float
    n_reads: int
    n_allowed: int


@dataclass(frozen=True, eq=False)
class CuttingPlanesMethod(Method):
    """Minimises abs(W)^2 / 2 + C L(W); intercepts are penalised like the weights of a constant feature, or are 0.

    Attributes
    ----------
    intercepts : bool
    max_passes : int
    start : CuttingPlanes or "auto"
        Planes of the same rows to start from.
    shares : bool
        Whether models of the same rows with different C share their planes, and so train together.
    known_planes : slopes and offsets of known planes below the loss of all rows
    """

    intercepts: bool
    max_passes: int
    start: Any = "auto"
    shares: bool = False
    known_planes: Sequence[tuple[np.ndarray, float]] = ()
    multilabel = False
    scoring_reads = 1
    starts_from = CuttingPlanes

    @property
    def n_arrays(self) -> int:  # type: ignore[override]
        return self.max_passes + 4  # one plane per read

    def objective(self, stats: ClassStats) -> Objective:
        if stats.multilabel:
            raise ValueError("y is an indicator of labels, and CrammerSingerSVM needs one label a row")
        return CrammerSinger()

    def n_rows(self, stats: ClassStats) -> int:
        return len(stats.classes)

    def n_columns(self, n_rows: int) -> int:
        return max(n_rows, 2)

    def solved(self, data: TrainingData, stats: ClassStats, step: Any, limit: int | None) -> Any:
        """The place where models that train together find their shared planes."""
        return WeakValueDictionary()

    def trainer(self, data: TrainingData, point: dict[str, Any], tol: float, max_passes: int) -> Trainer:
        at, shared = CentredFeatures(data.sums, data.scale), data.solved.get("planes")
        if shared is None:
            shared = SharedPlanes(CuttingPlanes.first(at, self.intercepts), IDLE if self.shares else np.inf)
        if self.shares:
            data.solved["planes"] = shared
        if not isinstance(self.start, str):
            if self.start.rows != shared.planes.rows:
                raise ValueError("start= has planes of other rows: X, y, weights and fit_intercept should be the same")
            shared = SharedPlanes(self.start)
        for slope, offset in self.known_planes:
            shared.add(slope[at.kept], offset, 0)
        return PlaneTrainer(data, at, shared, point["C"], self.intercepts, tol, max_passes)

    def unconverged(self, trained: Trained, tol: float, allowed: int, max_passes: int) -> str:
        what = f"max_passes={allowed}" if allowed == max_passes else f"the {allowed} allowed"
        return (
            f"{what} reads were spent: the objective may be {trained.left:.3g} above its minimum, more than "
            f"tol={tol:g} of it; the model is usable, a smaller C takes fewer reads"
        )

    def of_grid(self, n_points: int, stats: ClassStats) -> "CuttingPlanesMethod":
        """Models that share planes train together, so whether they do follows from their size, never from a limit."""
        n_bytes = 8 * self.n_arrays * (len(features_used(stats)) + 1) * self.n_columns(self.n_rows(stats))
        return replace(self, shares=self.shares and n_points * n_bytes <= MOST_SHARED)

    def warm_started(self, outcomes: Sequence[Any]) -> "CuttingPlanesMethod":
        """The method for all rows; for each C, the combined planes of the fold models become known planes."""
        known = [
            (sum(end.slope for end in ends) / (len(ends) - 1), sum(end.offset for end in ends) / (len(ends) - 1))
            for ends in outcomes
        ]
        return replace(self, start="auto", shares=False, known_planes=known)

    def final_max_passes(self, outcomes: Sequence[Any]) -> int:
        """The largest number of reads allowed to models of its C; if time ran out, the largest number they used."""
        out_of_time = any(end.n_allowed == end.n_reads and not end.converged for end in outcomes)
        return max(end.n_reads if out_of_time else end.n_allowed for end in outcomes)


class PlaneTrainer(Trainer):
    """Requests reads near the minimum of the planes so far, until the objective is close to its lower bound.

    Parameters
    ----------
    data : TrainingData
    at : CentredFeatures
        The coordinates of the same rows: their features and factors.
    shared : SharedPlanes
        Planes of the same rows, shared by models of several C.
    C : float
    intercepts : bool
    tol : float
        Stops when the objective exceeds the bound by at most this share of itself.
    max_passes : int
    """

    columns = "objective", "gap", "seconds"

    def __init__(
        self,
        data: TrainingData,
        at: CentredFeatures,
        shared: SharedPlanes,
        C: float,
        intercepts: bool,
        tol: float,
        max_passes: int,
    ):
        super().__init__(data)
        self._at, self._shared = at, shared
        self._C, self._intercepts, self._tol, self._max_passes = C, intercepts, tol, max_passes

    @property
    def planes(self) -> CuttingPlanes:
        """The planes so far."""
        return self._shared.planes

    @property
    def attributes(self) -> dict[str, Any]:
        return {"planes_": self.planes}

    def finish_soon(self) -> None:
        """Allow no further reads and be judged as it is, as time is up."""
        self._max_passes = self.n_passes

    def reads(self) -> Reads:
        shares, by_number = self._shared.shares(self._C, {})
        best = np.zeros((len(self._at.kept), self.task.weights.shape[1]))
        least, bound = self._C * self._at.sums.weight, self.planes.bound(shares)
        while not self.n_passes or (least - bound > self._tol * least and self.n_passes < self._max_passes):
            began, weights = time.perf_counter(), self.planes.weights(shares)
            if self.n_passes:
                weights = best + STEP_SHARE * (weights - best)
            (sums,) = yield [Pass(self._read(weights), without=self.fold)]
            slope, loss = sums.gradient[self._at.kept] * self._at.factors, float(sums.losses[0, 0])
            slope[-1] *= self._intercepts
            self._shared.announce(self._C, slope, loss - dot(slope, weights), self.n_passes + 1)
            yield []  # until all models that share planes have announced theirs
            value = 0.5 * dot(weights, weights) + self._C * loss
            if value < least:
                best, least = weights, value
            shares, by_number = self._shared.shares(self._C, by_number)
            bound = max(bound, self.planes.bound(shares))
            self.note(value, least - bound, time.perf_counter() - began)
        left = max(least - bound, 0.0)
        slope, offset = self.planes.weights(shares) / -self._C, float(shares @ self.planes.offsets) / self._C
        allowed = max(self._max_passes, self.n_passes)  # fewer are allowed where time is up
        end = PlanesEnd(left, left <= self._tol * least, self._at.of_all(slope), offset, self.n_passes, allowed)
        judged, weights = best * self._at.factors, best
        if best.shape[1] == 2:  # two classes have one score
            judged, weights = np.diff(judged, axis=1), np.diff(weights, axis=1)
        yield self.judged(self._at.of_all(judged))
        return self.trained(self._at.of_all(weights), end.converged, left, end)

    def _read(self, weights: np.ndarray) -> ReadTask:
        """A read at these weights, with a bound on the loss: all scores on the wrong side."""
        sums, weights = self._at.sums, weights * self._at.factors
        largest, magnitudes = np.abs(weights).max(axis=1), np.append(sums.magnitudes, sums.weight)
        most = SLACK * (sums.weight + 2.0 * float((largest * magnitudes).sum()))
        grid = self._at.rounding(self.task.objective, most)
        return replace(self.task, weights=self._at.of_all(weights), grid=grid, top=float(power_above(most)))


def best_shares(products: np.ndarray, offsets: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The shares b >= 0, sum b = 1, that maximise b . offsets - b' products b / 2, from a feasible start.

    An active-set method: with the set of planes fixed, the best shares solve linear equations. A step towards them ends
    where a share reaches 0, and a plane that lies above the others enters (Nocedal and Wright, Numerical optimization,
    section 16.5).
    """
    ridge = RIDGE * max(float(products.diagonal().max()), 1.0)
    active = shares > 0.0
    for _ in range(10 * len(shares) + 100):
        solution, price = _solve_on(np.flatnonzero(active), products, offsets, ridge)
        if (solution[active] > 0.0).all():
            shares, pull = solution, products @ solution
            above = pull - offsets - price
            above[active] = 0.0
            if above.min() >= -ROUNDING * max(np.abs(pull).max(), np.abs(offsets).max()):
                break
            active[above.argmin()] = True
            continue
        falling = np.flatnonzero(active & (solution <= 0.0))
        lengths = shares[falling] / (shares[falling] - solution[falling]).clip(np.finfo(float).tiny)
        shares = shares + lengths.min() * (solution - shares)
        active[falling[lengths.argmin()]] = False
        shares[~active] = 0.0
    return shares / shares.sum()


def _solve_on(active: np.ndarray, products: np.ndarray, offsets: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
    """The best shares on the active planes, which may be negative, and the Lagrange multiplier of their sum."""
    n = len(active)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = products[np.ix_(active, active)] + ridge * np.eye(n)
    system[:n, n], system[n, :n] = -1.0, 1.0
    unknowns = np.linalg.solve(system, np.append(offsets[active], 1.0))
    solution = np.zeros(len(offsets))
    solution[active] = unknowns[:n]
    return solution, float(unknowns[n])
