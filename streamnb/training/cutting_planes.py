"""The margin of several classes by cutting planes: each read leaves a plane below the loss, and a bound of the optimum.

K. Crammer and Y. Singer, On the algorithmic implementation of multiclass kernel-based vector machines, JMLR 2 (2001);
T. Joachims, Training linear SVMs in linear time, KDD 2006. The loss of all rows, L(W), is convex and a maximum of
planes: at the weights of a read it touches A . W + d, where A are class sums by the labels that lose most less those by
the true ones. Neither A nor d depend on C, so that planes of one C serve any other.
"""

import time
from dataclasses import dataclass
from hashlib import sha256
from typing import Any

import numpy as np

from streamnb.core.blas import one_thread
from streamnb.training.descent import dot
from streamnb.training.fitting import SLACK, Reads, Trained
from streamnb.training.objectives import Objective, RowSums, class_codes
from streamnb.training.reading import ReadTask, power_above

RIDGE = 1e-13  # of the largest product: planes may be sums of others
ROUNDING = 1e-11  # of the slopes of the dual problem


class CrammerSinger(Objective):
    """max_k (s_k + [k != y]) - s_y: one loss of all rows of weights, of which there is one for each class."""

    name = "Crammer-Singer"
    of_rows = False
    bounded = True

    def targets(self, y: Any, classes: np.ndarray, first_row: int) -> np.ndarray:
        return class_codes(y, classes, first_row)

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
    """Planes below the loss of some rows, L(W) >= A_t . W + d_t, for any C.

    Attributes
    ----------
    slopes : T arrays A_t, (n_features + 1, K), the intercepts last
    offsets : (T,), d_t
    products : (T, T), A_s . A_t
    rows : str
        A digest of the class sums of the rows that they are of.
    """

    slopes: tuple[np.ndarray, ...]
    offsets: np.ndarray
    products: np.ndarray
    rows: str

    def __repr__(self) -> str:
        return f"<CuttingPlanes: {len(self.slopes)}>"

    @classmethod
    def first(cls, sums: RowSums, factors: np.ndarray, intercepts: bool) -> "CuttingPlanes":
        """The plane at weights of 0, which the scan tells: there all other labels of a row lose as much."""
        own, weights = sums.own, sums.own_weight
        if own.shape[1] == 1:
            own, weights = np.column_stack([sums.whole - own[:, 0], own]), np.append(sums.weight - weights, weights)
        others = np.vstack([sums.whole[:, None] - own, sums.weight - weights]) / (len(weights) - 1)
        slope = (others - np.vstack([own, weights])) * factors
        slope[-1] *= intercepts
        digest = sha256(repr((intercepts, sums.weight)).encode())
        for part in (slope, sums.squares, sums.magnitudes):
            digest.update(np.ascontiguousarray(part).tobytes())
        return cls((slope,), np.array([sums.weight]), np.array([[dot(slope, slope)]]), digest.hexdigest())

    def and_one(self, slope: np.ndarray, offset: float) -> "CuttingPlanes":
        """These and one more."""
        beside = np.array([dot(slope, other) for other in self.slopes])
        products = np.block([[self.products, beside[:, None]], [beside[None, :], np.array([[dot(slope, slope)]])]])
        return CuttingPlanes((*self.slopes, slope), np.append(self.offsets, offset), products, self.rows)

    def shares(self, C: float, before: np.ndarray) -> np.ndarray:
        """The shares a >= 0, sum a <= C, with the highest a . d - (sum a_t A_t)^2 / 2, from those of fewer planes."""
        n = len(self.slopes) + 1  # and the plane L(W) >= 0, which takes what is left of C
        products, offsets, start = np.zeros((n, n)), np.zeros(n), np.zeros(n)
        products[1:, 1:], offsets[1:] = C * self.products, self.offsets
        start[1 : 1 + len(before)] = before / C
        start[0] = max(1.0 - start.sum(), 0.0)
        with one_thread():
            return C * best_shares(products, offsets, start)[1:]

    def weights(self, shares: np.ndarray) -> np.ndarray:
        """The weights of these shares, (n_features + 1, K)."""
        weights = np.zeros_like(self.slopes[0])
        for share, slope in zip(shares.tolist(), self.slopes, strict=True):
            if share > 0.0:
                weights -= share * slope
        return weights

    def bound(self, shares: np.ndarray) -> float:
        """What no weights come below: the dual value."""
        with one_thread():
            return float(shares @ self.offsets - 0.5 * (shares @ self.products @ shares))


@dataclass
class PlaneTrainer:
    """Asks for a read at the best weights that the planes so far allow, until the bound is near enough.

    Minimises abs(W)^2 / 2 + C L(W), the intercepts penalised like the weights of a feature that is always 1, or 0.

    Parameters
    ----------
    task : ReadTask
        What is read of rows.
    sums : RowSums
        Of the same rows, as the scan left them.
    scale : (n_features,), optional
        What features are multiplied by (idf).
    C : float
    intercepts : bool
    planes : CuttingPlanes, optional
        Of the same rows.
    """

    task: ReadTask
    sums: RowSums
    scale: Any
    C: float
    intercepts: bool
    planes: CuttingPlanes | None = None

    def reads(self, tol: float, max_passes: int) -> Reads:
        """Go on until the objective is no more than `tol` of itself above the bound."""
        factors = np.append(np.ones(len(self.sums.whole)) if self.scale is None else self.scale, 1.0)[:, None]
        first = CuttingPlanes.first(self.sums, factors, self.intercepts)
        given = self.planes
        if given is not None and given.rows != first.rows:
            raise ValueError("start= has planes of other rows: X, y, weights and fit_intercept should be the same")
        planes = self.planes = first if given is None else given
        shares = planes.shares(self.C, np.zeros(0))
        best, least, bound = np.zeros(self.task.weights.shape), self.C * self.sums.weight, planes.bound(shares)
        history: dict[str, list[float]] = {"objective": [], "gap": [], "seconds": []}
        while not history["gap"] or (least - bound > tol * least and len(history["gap"]) < max_passes):
            began, weights = time.perf_counter(), planes.weights(shares)
            sums = yield self._read(weights * factors), None
            slope, loss = sums.gradient * factors, float(sums.losses[0, 0])
            slope[-1] *= self.intercepts
            value = 0.5 * dot(weights, weights) + self.C * loss
            if value < least:
                best, least = weights, value
            planes = self.planes = planes.and_one(slope, loss - dot(slope, weights))
            shares = planes.shares(self.C, shares)
            bound = max(bound, planes.bound(shares))
            for column, noted in zip(
                history.values(), (value, least - bound, time.perf_counter() - began), strict=True
            ):
                column.append(noted)
        yield None, best * factors
        left = max(least - bound, 0.0)
        columns = {name: np.array(column) for name, column in history.items()}
        return Trained(best, left <= tol * least, left, columns)

    def _read(self, weights: np.ndarray) -> ReadTask:
        """A read at weights as rows want them; the loss is at most that of scores that are all on the wrong side."""
        largest, magnitudes = np.abs(weights).max(axis=1), np.append(self.sums.magnitudes, self.sums.weight)
        most = SLACK * (self.sums.weight + 2.0 * float((largest * magnitudes).sum()))
        grid = power_above(self.task.objective.bounds(self.sums, most))
        asked = {"weights": weights, "grid": grid, "top": float(power_above(most))}
        return ReadTask(**{**vars(self.task), **asked})


def best_shares(products: np.ndarray, offsets: np.ndarray, shares: np.ndarray) -> np.ndarray:
    """The shares b >= 0, sum b = 1, with the highest b . offsets - b' products b / 2, from others that are allowed.

    By active sets: with shares on a few planes the best are the solution of linear equations; the way there ends where
    a share comes to 0, and a plane comes in that lies above the others (Nocedal and Wright, Numerical optimization,
    section 16.5).
    """
    ridge = RIDGE * max(float(products.diagonal().max()), 1.0)
    active = shares > 0.0
    for _ in range(10 * len(shares) + 100):
        solution, price = _on(np.flatnonzero(active), products, offsets, ridge)
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


def _on(some: np.ndarray, products: np.ndarray, offsets: np.ndarray, ridge: float) -> tuple[np.ndarray, float]:
    """The best shares on some planes, which may be negative, and what a little more to share out would cost."""
    n = len(some)
    system = np.zeros((n + 1, n + 1))
    system[:n, :n] = products[np.ix_(some, some)] + ridge * np.eye(n)
    system[:n, n], system[n, :n] = -1.0, 1.0
    found = np.linalg.solve(system, np.append(offsets[some], 1.0))
    solution = np.zeros(len(offsets))
    solution[some] = found[:n]
    return solution, float(found[n])
