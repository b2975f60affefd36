"""The table of moments: functions of x whose class sums are kept."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np

from streamnb.core import arguments, row_checks
from streamnb.kernels import class_sums
from streamnb.rows.preparing import RowOptions

_OPEN = -np.inf, np.inf


def _nothing(threshold: float) -> float:
    return 0.0


@dataclass(frozen=True)
class Moment:
    """A function of x whose class sums a scan keeps.

    Attributes
    ----------
    kernel : int
        Its number in `kernels.class_sums`, which adds the function minus its value at 0.
    function : callable
        f(x, threshold) - f(0, threshold), to score rows.
    threshold : str
        Name of the RowOptions field that `function` takes as threshold.
    at_zero : callable or None
        f(0, threshold), the contribution of a value that is not stored; None if it has none: tables are never sparse.
    domain : (lowest, highest)
        The interval of x on which the function is defined.
    means : (lowest, highest)
        The interval of its means.
    bound : callable or None
        The largest f of whole numbers up to `top`, if f of these is whole; None otherwise.
    counts : bool
        True if f is a whole number for every x.
    seen : str
        What the function keeps of x, in words, for messages.
    """

    kernel: int
    function: Callable[[np.ndarray, float], np.ndarray]
    threshold: str = "binarize"
    at_zero: Callable[[float], float] | None = _nothing
    domain: tuple[float, float] = _OPEN
    means: tuple[float, float] = _OPEN
    bound: Callable[[float], float] | None = None
    counts: bool = False
    seen: str = ""

    @property
    def partial(self) -> bool:
        """True if the function is undefined for some values; their sums are NaN."""
        return self.domain != _OPEN

    def of(self, x: np.ndarray, options: RowOptions) -> np.ndarray:
        """Return the function of some values minus that of an absent one."""
        return self.function(x, getattr(options, self.threshold))

    def of_absent(self, options: RowOptions) -> float:
        """Return the contribution of each row that does not store the value."""
        return 0.0 if self.at_zero is None else self.at_zero(getattr(options, self.threshold))

    def may_be_sparse(self, options: RowOptions) -> bool:
        """Return whether absent values contribute 0."""
        return self.at_zero is not None and not self.of_absent(options)

    def whole_up_to(self, top: float, whole: bool) -> float:
        """Return its largest value for x up to `top`, or inf if it may not be a whole number."""
        return self.bound(top) if self.bound is not None and (whole or self.counts) else np.inf


_POSITIVE = 0.0, np.inf
_ABOVE_ZERO = np.nextafter(0.0, 1.0), np.inf

TABLE = {
    "sum": Moment(class_sums.SUM, lambda x, t: x, bound=lambda top: top),
    "sum_sq": Moment(
        class_sums.SUM_SQ, lambda x, t: x.astype(np.float64) ** 2, means=_POSITIVE, bound=lambda top: top**2
    ),
    "nonzero": Moment(
        class_sums.NONZERO,
        lambda x, t: (x != 0).astype(np.float32),
        means=(0.0, 1.0),
        bound=lambda top: 1.0,
        counts=True,
    ),
    "above": Moment(
        class_sums.ABOVE,
        lambda x, t: (x > np.float64(t)) - np.float32(t < 0.0),
        at_zero=lambda t: float(t < 0.0),
        means=(0.0, 1.0),
        bound=lambda top: 1.0,
        counts=True,
        seen="presence",
    ),
    "log_sum": Moment(
        class_sums.LOG, lambda x, t: np.log(x.astype(np.float64)), at_zero=None, domain=_ABOVE_ZERO, seen="ln x"
    ),
    "inv_sum": Moment(
        class_sums.INVERSE, lambda x, t: 1.0 / x.astype(np.float64), at_zero=None, domain=_ABOVE_ZERO, means=_POSITIVE
    ),
    "log1m_sum": Moment(
        class_sums.LOG1M,
        lambda x, t: np.log1p(-x.astype(np.float64)),
        domain=(-np.inf, np.nextafter(1.0, 0.0)),
        seen="ln(1 - x)",
    ),
    "deviation": Moment(
        class_sums.DEVIATION,
        lambda x, t: np.abs(x.astype(np.float64) - t) - abs(t),
        threshold="centre",
        at_zero=abs,
        means=_POSITIVE,
        seen="the distance from its centre",
    ),
}
MOMENTS = tuple(TABLE)  # in canonical order
SECOND_MOMENTS = ("gram", "gram_above", "gram_sq")  # products of two features, see `second_moments`
ALL_MOMENTS = (*MOMENTS, *SECOND_MOMENTS)
LABELS = "labels"  # the name of the table, not a moment, with the weight of rows that have each pair of labels
HIGHEST = row_checks.LARGEST**2 * 2.0**63  # a sum of so many values times weights
PLAIN_MOMENTS = MOMENTS[:4]  # what a scan accumulates by default


def check_sums(name: str, sums: np.ndarray) -> None:
    """Raise an error for loaded sums that no rows could have, such as NaN or values that would overflow."""
    if name in SECOND_MOMENTS or (name in TABLE and TABLE[name].partial):
        return
    most = np.finfo(np.float64).max if name == "sum_sq" else HIGHEST
    if not (np.abs(sums) <= most).all():
        raise ValueError(f"the table {name!r} should hold finite numbers of at most {most:.3g}")


def check_moments(moments: Iterable[str] | None) -> tuple[str, ...]:
    """Return the names of moments in canonical order; the plain ones for None."""
    if moments is None:
        return PLAIN_MOMENTS
    names = (moments,) if isinstance(moments, str) else tuple(moments)
    for name in names:
        arguments.one_of("moments", name, ALL_MOMENTS)
    return tuple(m for m in ALL_MOMENTS if m in names)
