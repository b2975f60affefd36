"""The moments: class sums of functions of x, a row each."""

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
    """A function of x whose sums a scan keeps.

    Attributes
    ----------
    kernel : int
        Its number in `kernels.class_sums`, which adds it less its value at 0.
    function : callable
        f(x, threshold) less f(0, threshold), for the scores of rows.
    threshold : str
        Which of the RowOptions `function` takes.
    at_zero : callable or None
        f(0, threshold), what a value that is not stored counts; None where it has none, and tables are never sparse.
    domain : (lowest, highest)
        The values of x that have the function.
    means : (lowest, highest)
        Between which its means lie.
    bound : callable or None
        The largest f of whole numbers up to `top`, where these have whole f; None where f is not whole.
    counts : bool
        True where f is whole for every x.
    seen : str
        What it tells of x, in words; of the sum nothing is lost.
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
        """True where some values have no such function; their sums are NaN."""
        return self.domain != _OPEN

    def of(self, x: np.ndarray, options: RowOptions) -> np.ndarray:
        """The function of some values less that of an absent one."""
        return self.function(x, getattr(options, self.threshold))

    def of_absent(self, options: RowOptions) -> float:
        """What has to be added for each row that does not store the value."""
        return 0.0 if self.at_zero is None else self.at_zero(getattr(options, self.threshold))

    def may_be_sparse(self, options: RowOptions) -> bool:
        """True where absent values count nothing."""
        return self.at_zero is not None and not self.of_absent(options)

    def whole_up_to(self, top: float, whole: bool) -> float:
        """The largest of it where it is a whole number for all values, these up to `top`; inf where it may not be."""
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
MOMENTS = tuple(TABLE)  # in one order
SECOND_MOMENTS = ("gram", "gram_above", "gram_sq")  # of two features at a time, see `second_moments`
ALL_MOMENTS = (*MOMENTS, *SECOND_MOMENTS)
LABELS = "labels"  # the table, no moment, that has the weight of the rows that bear each two labels
HIGHEST = row_checks.LARGEST**2 * 2.0**63  # a sum of so many values times weights
PLAIN_MOMENTS = MOMENTS[:4]  # what a scan accumulates unless told


def check_sums(name: str, sums: np.ndarray) -> None:
    """Refuse loaded sums that no rows could have: what is made of them overflows, or is no number."""
    if name in SECOND_MOMENTS or (name in TABLE and TABLE[name].partial):
        return
    most = np.finfo(np.float64).max if name == "sum_sq" else HIGHEST
    if not (np.abs(sums) <= most).all():
        raise ValueError(f"the table {name!r} should hold finite numbers of at most {most:.3g}")


def check_moments(moments: Iterable[str] | None) -> tuple[str, ...]:
    """Names of moments, in one order; the plain ones for None."""
    if moments is None:
        return PLAIN_MOMENTS
    names = (moments,) if isinstance(moments, str) else tuple(moments)
    for name in names:
        arguments.one_of("moments", name, ALL_MOMENTS)
    return tuple(m for m in ALL_MOMENTS if m in names)
