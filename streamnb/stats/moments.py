"""The moments: sums over rows of functions of x."""

from collections.abc import Iterable

import numpy as np

from streamnb.core import arguments

PLAIN_MOMENTS = ("sum", "sum_sq", "nonzero", "above")  # what a scan accumulates unless told
MOMENTS = (*PLAIN_MOMENTS, "log_sum", "inv_sum", "log1m_sum", "deviation")
DOMAINS = {
    "log_sum": (np.nextafter(0.0, 1.0), np.inf),
    "inv_sum": (np.nextafter(0.0, 1.0), np.inf),
    "log1m_sum": (-np.inf, np.nextafter(1.0, 0.0)),
}  # the values that have the function, lowest and highest, where not all have


def check_moments(moments: Iterable[str] | None) -> tuple[str, ...]:
    """Names of moments, in one order; the plain ones for None."""
    if moments is None:
        return PLAIN_MOMENTS
    names = (moments,) if isinstance(moments, str) else tuple(moments)
    for name in names:
        arguments.one_of("moments", name, MOMENTS)
    return tuple(m for m in MOMENTS if m in names)
