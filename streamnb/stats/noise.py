"""Discrete Gaussian noise and its accounting, by OpenDP."""

from __future__ import annotations

from functools import cache
from importlib.metadata import version
from typing import Any

import numpy as np

SLACK = 1.0 - 1e-9  # so that rounding of OpenDP's bounds, which is upwards, does not exceed the budget
LARGEST = 2**52  # sums of more units would not be exact


@cache
def _opendp() -> Any:
    try:
        import opendp.prelude as dp
    except ImportError as error:
        raise ImportError("privatize needs OpenDP: pip install streamnb[private]") from error
    dp.enable_features("contrib")  # what OpenDP calls its mechanisms whose proofs are public
    return dp


def mechanism() -> str:
    """The mechanism in words."""
    _opendp()
    return f"discrete Gaussian noise and zero-concentrated accounting by OpenDP {version('opendp')}"


def _measurement(scale: float) -> Any:
    """OpenDP's mechanism that adds noise of this scale to vectors of whole numbers."""
    dp = _opendp()
    space = dp.vector_domain(dp.atom_domain(T="i64")), dp.l2_distance(T="f64")
    return dp.m.make_gaussian(*space, scale=scale)


def _approximate(scale: float, delta: float) -> Any:
    """The same, with its privacy as epsilon at a given delta."""
    dp = _opendp()
    return dp.c.make_fix_delta(dp.c.make_zCDP_to_approxDP(_measurement(scale)), delta)


@cache
def budget(epsilon: float, delta: float) -> float:
    """The most rho of zero-concentrated privacy that keeps to epsilon and delta (Canonne, Kamath, Steinke 2020)."""
    scale = _opendp().binary_search_param(lambda s: _approximate(s, delta), d_in=1.0, d_out=(epsilon, delta), T=float)
    return SLACK * float(_measurement(scale).map(1.0))


def noisy(counts: np.ndarray, sensitivity: float, scale: float) -> tuple[np.ndarray, float]:
    """Whole numbers of any shape with noise, and the rho that this costs."""
    measurement = _measurement(scale)
    drawn = measurement(counts.astype(np.int64).reshape(-1).tolist())
    return np.array(drawn, np.float64).reshape(counts.shape), float(measurement.map(sensitivity))
