"""Penalties R(w), whose gradient -R'(w) moves the means of the two sides together."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import copy
from dataclasses import dataclass
from functools import reduce
from itertools import count
from operator import add
from typing import Any, ClassVar

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.core.row_checks import plain


@dataclass(frozen=True)
class Pull:
    """The pull of penalties at one point of their grids: t = tau_1 sign(w) + tau_2 w - sum of strength * r'(w).

    Attributes
    ----------
    l1, scored : float, bool
        tau_1, in units of sqrt(v) where `scored`.
    l2 : float
        tau_2.
    slopes : tuple of (strength, r')
        r' takes an array of weights; it never increases, and has the opposite sign of w.
    general : tuple of (strength, R')
        R' takes all weights (R, n_features) and returns an array of the same shape.
    top_k, by : int, {label: int} or None, str
        The number of features kept in each row of weights, or in the row of each label, and the criterion.
    decorrelation, curved : float, bool
        A multiple of the weights of the other classes, in units of min a where `curved`.
    """

    l1: float = 0.0
    scored: bool = False
    l2: float = 0.0
    slopes: tuple[tuple[float, Callable[[np.ndarray], np.ndarray]], ...] = ()
    general: tuple[tuple[float, Callable[[np.ndarray], np.ndarray]], ...] = ()
    top_k: int | Mapping[Any, int] | None = None
    by: str = "weight"
    decorrelation: float = 0.0
    curved: bool = False

    def __add__(self, other: Pull) -> Pull:
        keeps = self if other.top_k is None else other
        return Pull(
            self.l1 + other.l1,
            self.scored or other.scored,
            self.l2 + other.l2,
            self.slopes + other.slopes,
            self.general + other.general,
            keeps.top_k,
            keeps.by,
            self.decorrelation + other.decorrelation,
            self.curved or other.curved,
        )

    @property
    def none(self) -> bool:
        """True where no mean is moved and no feature is left out."""
        alone = self.l1 == self.l2 == self.decorrelation == 0.0 and self.top_k is None
        return alone and not self.slopes and not self.general

    @property
    def smooth(self) -> bool:
        """True where the pull depends on the weight."""
        return self.l2 > 0.0 or bool(self.slopes)

    def thresholds(self, sd: np.ndarray) -> np.ndarray:
        """tau_1 of each feature; `sd` is sqrt(v) of its score statistic."""
        return self.l1 * sd if self.scored else np.full(sd.shape, self.l1)

    def at_zero(self, t_star: np.ndarray) -> Any:
        """The additional pull on a weight next to zero on the side of t*: -tau r'(0+) or tau r'(0-)."""
        further: Any = 0.0
        for strength, slope in self.slopes:
            below, above = np.abs(slope(np.array([-1e-300, 1e-300])))
            further = further + strength * np.where(t_star > 0.0, above, below)
        return further

    def of_weights(self, w: np.ndarray) -> np.ndarray:
        """The part of the pull that depends on the weight, tau_2 w - sum of tau r'(w)."""
        pull = self.l2 * w
        for strength, slope in self.slopes:
            pull = pull - strength * slope(w)
        return pull


class Penalty(persistence.Parameters):
    """A regulariser, or a sum of several; `+` adds them (additive regularisation).

    A subclass defines `kind`, its name in grids, a grid `tau`, and `pull`.
    """

    kind: ClassVar[str]
    tau: Any

    def pull(self, tau: float) -> Pull:
        """The pull at one point of the grid."""
        raise NotImplementedError

    def with_taus(self, taus: Any) -> Penalty:
        """The same regulariser with another grid."""
        changed = copy(self)
        changed.tau = arguments.tau_grid("tau", taus)
        return changed

    @property
    def parts(self) -> tuple[Any, ...]:
        """The regularisers of a sum; a single one is its only part."""
        return (self,)

    def __add__(self, other: Penalty) -> Penalty:
        if not isinstance(other, Penalty):
            return NotImplemented
        return _Sum(self.parts + other.parts)

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Penalty) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


@persistence.register
class L1(Penalty):
    """R = -sum_j tau_j abs(w_j): weights shrink, and weak ones are exactly zero; closed form.

    Parameters
    ----------
    tau : float, grid of floats, or None
        None: a grid from the data, the taus that leave k features, with k geometric from all features to 1. If there
        are 16 taus or more, and the first leaves less than three quarters of the features, three of them are an
        eighth, a quarter and a half of the first.
    scale : {None, "score"}
        None: tau_j = tau. "score": tau_j = tau sqrt(v_j), v_j the null variance of the score statistic, so that
        tau is a threshold on the z-score of the feature.
    n_taus : int
        Size of the grid from the data.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> path = snb.solve(snb.scan(X, y), "poisson", snb.L1([0.0, 1.0, 9.0]))
    >>> path.n_features.tolist()
    [2, 2, 0]
    """

    kind: ClassVar[str] = "l1"

    def __init__(self, tau: Any = None, scale: str | None = None, *, n_taus: int = 20):
        self.tau = None if tau is None else arguments.tau_grid("tau", tau)
        self.scale = arguments.one_of("scale", scale, [None, "score"])
        self.n_taus = arguments.positive_integer("n_taus", n_taus)

    def pull(self, tau: float) -> Pull:
        return Pull(l1=tau, scored=self.scale == "score")

    def __repr__(self) -> str:
        grid = f", n_taus={self.n_taus}" if self.tau is None else ""
        return f"L1({_shown(self.tau)}, scale={self.scale!r}{grid})"


@persistence.register
class L2(Penalty):
    """R = -(tau / 2) sum_j w_j^2: weights shrink, none is zero.

    Parameters
    ----------
    tau : float or grid of floats

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> path = snb.solve(snb.scan(X, y), "poisson", snb.L2([0.0, 5.0]))
    >>> [round(float(abs(linear.coef_).max()), 2) for linear in path]
    [1.19, 0.46]
    """

    kind: ClassVar[str] = "l2"

    def __init__(self, tau: Any):
        self.tau = _grid(tau)

    def pull(self, tau: float) -> Pull:
        return Pull(l2=tau)

    def __repr__(self) -> str:
        return f"L2({_shown(self.tau)})"


@persistence.register
class TopK(Penalty):
    """Keep the k best features of each row of weights, w = 0 for the rest (L0); ties go to the lower index.

    A column of categories (`Categorical`) is one feature, kept with all of its values or with none.

    Parameters
    ----------
    k : int, grid of ints, or {label: int}
        A dict has a number for each row of weights, by its class or label; 0 leaves the row empty.
    by : {"weight", "score", "likelihood"}
        Best by abs(w_0), the unregularised weight; by abs(z), the score statistic; or by the likelihood that is
        lost without the feature, which maximises the penalised likelihood.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> snb.LinearNB("poisson", snb.TopK(1)).fit(X, y).coef_.round(2)
    array([[0.  , 1.19]])
    """

    kind: ClassVar[str] = "top_k"

    def __init__(self, k: Any, by: str = "weight"):
        self.k: Any
        if isinstance(k, Mapping):
            self.k = {plain(label): arguments.whole_number(f"k[{label!r}]", number) for label, number in k.items()}
        else:
            ks = [arguments.positive_integer("k", v) for v in (k if np.ndim(k) else [k])]
            if max(ks, default=0) > 2**53:
                raise ValueError(f"k={max(ks)} is more than the features that there can be")
            self.k = arguments.tau_grid("k", ks).astype(int)
        self.by = arguments.one_of("by", by, ["weight", "score", "likelihood"])

    @property
    def tau(self) -> np.ndarray:
        """The grid under the name that all penalties use; a dict with a number for each row is one point."""
        return np.array([self.k, None], object)[:1] if isinstance(self.k, dict) else self.k

    def with_taus(self, taus: Any) -> TopK:
        return TopK(taus[0] if isinstance(taus[0], Mapping) else [int(k) for k in taus], self.by)

    def pull(self, tau: Any) -> Pull:
        return Pull(top_k=tau if isinstance(tau, Mapping) else int(tau), by=self.by)

    def __repr__(self) -> str:
        if isinstance(self.k, dict):
            return f"TopK({self.k}, by={self.by!r})"
        return f"TopK({self.k.tolist() if len(self.k) > 1 else int(self.k[0])}, by={self.by!r})"


@persistence.register
class Decorrelation(Penalty):
    """R = -sum_j tau_j sum_{u>v} w_uj w_vj: the weights of different classes are pushed apart (Shishkova 2016, 6.2).

    It couples the weights of one feature: the pull of class u is tau times the sum of the weights of the others. It
    needs three classes or more, a scheme with a row for each class (joint, ovr, reference), and a family whose
    features are not coupled (not multinomial).

    This R is not concave, and under most families the penalised likelihood has no maximum: the solution is the branch
    of local maxima that starts at tau = 0. If the branch of a feature ends before tau, the feature keeps the last
    solution on it; `WeightPath.saturated` counts such features.

    Parameters
    ----------
    tau : float or grid of floats
    scale : {None, "curvature"}
        None: tau_j = tau. "curvature": tau_j = tau min_u a_uj, a_uj the curvature of the log likelihood in w_uj at
        the weights without any penalty. Gaussian features then keep to the branch for every tau < 1.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[3, 0, 1], [2, 1, 0], [0, 3, 1], [1, 4, 0], [0, 1, 5], [1, 0, 4]], ["a", "a", "b", "b", "c", "c"]
    >>> path = snb.solve(snb.scan(X, y), "poisson", snb.Decorrelation([0.0, 0.3]))
    >>> [linear.coef_[:, 0].round(2).tolist() for linear in path]
    [[0.57, -0.48, -0.48], [0.61, -0.5, -0.5]]
    """

    kind: ClassVar[str] = "decorrelation"

    def __init__(self, tau: Any, scale: str | None = None):
        self.tau = _grid(tau)
        self.scale = arguments.one_of("scale", scale, [None, "curvature"])

    def pull(self, tau: float) -> Pull:
        return Pull(decorrelation=tau, curved=self.scale == "curvature")

    def __repr__(self) -> str:
        return f"Decorrelation({_shown(self.tau)}, scale={self.scale!r})"


class Separable(Penalty):
    """Any concave R = tau sum_j r(w_j) with its maximum at w = 0, given by its derivative.

    Parameters
    ----------
    derivative : callable
        r'(w) of a float, >= 0 left of 0 and <= 0 right of it, never rising; compiled (numba.njit) or plain.
    tau : float or grid of floats

    Raises
    ------
    ValueError
        The derivative rises, has the wrong sign or is not finite; the message says where.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> path = snb.solve(snb.scan(X, y), "poisson", snb.Separable(lambda w: -w / (1 + abs(w)), [0.0, 5.0]))
    >>> [round(float(abs(linear.coef_).max()), 2) for linear in path]
    [1.19, 0.59]
    """

    kind: ClassVar[str] = "separable"

    def __init__(self, derivative: Callable[[float], float], tau: Any):
        if not callable(derivative):
            raise TypeError(f"derivative={derivative!r} should be a function of one number, r'(w)")
        self.derivative = derivative
        self.tau = _grid(tau)
        self._check()

    def _check(self) -> None:
        right = np.logspace(-9, 6, 601)
        w = np.concatenate([-right[::-1], right])
        try:
            slope = self.slopes(w)
        except (TypeError, ValueError, ArithmeticError) as error:
            raise TypeError(f"derivative should give one number, r'(w), for a number w: {error}") from error
        wrong = ~np.isfinite(slope) | (np.sign(w) * slope > 0)
        wrong[1:] |= np.diff(slope) > 1e-12 * np.abs(slope[1:])
        if wrong.any():
            at = int(np.argmax(wrong))
            raise ValueError(
                f"derivative gives {slope[at]:g} at w={w[at]:g}, {slope[max(at - 1, 0)]:g} before it; r'(w) should "
                "be finite, never rise, be >= 0 left of 0 and <= 0 right of it"
            )

    def slopes(self, w: np.ndarray) -> np.ndarray:
        """r'(w) of each entry."""
        return np.fromiter((self.derivative(v) for v in w.ravel().tolist()), np.float64, w.size).reshape(w.shape)

    def numbered(self, i: int) -> Separable:
        """The same as the i-th of a sum, with a kind of its own: separable, separable_2, .."""
        changed = copy(self)
        changed.kind = Separable.kind if i == 1 else f"{Separable.kind}_{i}"  # type: ignore[misc]
        return changed

    def pull(self, tau: float) -> Pull:
        return Pull(slopes=((tau, self.slopes),) if tau else ())

    def __repr__(self) -> str:
        name = getattr(self.derivative, "__name__", repr(self.derivative))
        return f"Separable({name}, {_shown(self.tau)})"


class Custom(Penalty):
    """Any smooth R = tau r(W) of all weights together, given by its gradient.

    The pulls t = -tau r'(W(t)) are found by proximal gradient steps: each step solves for the weights with r replaced
    by its tangent, and Anderson's method combines the latest steps. They converge to a local maximum of the penalised
    likelihood, which is the only one if r is concave; after 5,000 steps an error is raised. `WeightPath.residuals` has
    the residuals of this equation. The penalty can be added to all others. It is not for families with coupled features
    (multinomial).

    Parameters
    ----------
    gradient : callable
        r'(W): takes the weights, (R, n_features) with a row for each row of `coef_`, and returns as many numbers.
    tau : float or grid of floats

    Raises
    ------
    TypeError
        The gradient is not a function.
    ValueError
        When weights are computed: the gradient has another shape or is not finite, or the steps do not converge (the
        message names the residual).

    Examples
    --------
    Weights of neighbouring features (of a spectrum, of a window of time) drawn to each other:

    >>> import numpy as np
    >>> import streamnb as snb
    >>> def smooth(W):
    ...     rise = np.diff(W, axis=1, prepend=W[:, :1], append=W[:, -1:])
    ...     return np.diff(rise, axis=1)
    >>> X, y = [[1, 5, 2], [4, 1, 6], [2, 6, 1], [6, 2, 4]], [0, 1, 0, 1]
    >>> snb.LinearNB("poisson", snb.Custom(smooth, 5.0)).fit(X, y).coef_.round(2)
    array([[ 0.33, -0.04,  0.33]])
    """

    kind: ClassVar[str] = "custom"

    def __init__(self, gradient: Callable[[np.ndarray], np.ndarray], tau: Any = 1.0):
        if not callable(gradient):
            raise TypeError(f"gradient={gradient!r} should be a function of the weights, r'(W)")
        self.gradient = gradient
        self.tau = _grid(tau)

    def slopes(self, weights: np.ndarray) -> np.ndarray:
        """r'(W), after checks of its shape and values."""
        found = np.asarray(self.gradient(weights.copy()))
        if found.shape != weights.shape:
            raise ValueError(
                f"gradient={self!r} gives an array of shape {found.shape} for weights of shape {weights.shape}; it "
                "should have the same"
            )
        if found.dtype.kind not in "iuf" or not np.isfinite(found).all():
            raise ValueError(f"gradient={self!r} gives what is no finite number; it should, for any finite weights")
        return found.astype(np.float64)

    def pull(self, tau: float) -> Pull:
        return Pull(general=((tau, self.slopes),) if tau else ())

    def __repr__(self) -> str:
        name = getattr(self.gradient, "__name__", repr(self.gradient))
        return f"Custom({name}, {_shown(self.tau)})"


# the order of the grid, slowest first
KINDS = L1.kind, L2.kind, TopK.kind, Decorrelation.kind, Separable.kind, Custom.kind


@persistence.register
class _Sum(Penalty):
    def __init__(self, parts: Any):
        numbers = count(1)
        parts = [p.numbered(next(numbers)) if isinstance(p, Separable) else p for p in parts]
        kinds = [p.kind for p in parts]
        twice = [k for k in kinds if kinds.count(k) > 1]
        if twice:
            raise ValueError(f"penalty has {twice[0]!r} twice; put its taus into one grid")
        self._parts = tuple(sorted(parts, key=lambda part: slowest_first(kinds).index(part.kind)))

    @property
    def parts(self) -> tuple[Any, ...]:
        return self._parts

    def __repr__(self) -> str:
        return " + ".join(map(repr, self._parts))

    def _to_state(self) -> dict[str, Any]:
        return {"parts": list(self._parts)}


def as_penalty(penalty: Any, name: str = "penalty") -> Penalty | None:
    """A penalty object or None; anything else is an error."""
    if penalty is None or isinstance(penalty, Penalty):
        return penalty
    if isinstance(penalty, type) and issubclass(penalty, Penalty):
        raise TypeError(f"{name}={penalty.__name__} is a class; give an instance, such as snb.{penalty.__name__}(3)")
    raise TypeError(
        f"{name}={penalty!r} is unknown; it should be None, an object such as snb.L1(3.0), L2, TopK, Decorrelation, "
        "Separable or Custom, or a sum of such: snb.L1(3.0) + snb.L2(1.0)"
    )


def _grid(tau: Any) -> np.ndarray:
    if tau is None:
        raise TypeError("tau=None should be a number or a grid of numbers: only L1 takes its grid from the data")
    return arguments.tau_grid("tau", tau)


def at_point(penalty: Penalty, point: dict[str, float]) -> Penalty:
    """The penalty with the taus of one point of its grid."""
    return reduce(add, (part.with_taus([point[part.kind]]) for part in penalty.parts))


def pull_at(penalty: Penalty | None, point: dict[str, float]) -> Pull:
    """The pull of a penalty at a point of its grid."""
    return reduce(add, (part.pull(point[part.kind]) for part in (penalty.parts if penalty else ())), Pull())


def slowest_first(kinds: Iterable[str]) -> list[str]:
    """Kinds of penalties in the order of a grid, slowest first; user-defined kinds come last."""
    return sorted(kinds, key=lambda kind: KINDS.index(kind) if kind in KINDS else len(KINDS))


def _shown(tau: np.ndarray | None) -> Any:
    return None if tau is None else tau.tolist() if len(tau) > 1 else float(tau[0])
