"""Points of grids: one tau for each kind of penalty, or the shrinkage (a, g) of covariances.

A covariance is shrunk to M = (1 - a) own + a pooled, then to (1 - g) M + g (tr M / n) I.
"""

import numbers
from typing import Any

from streamnb.core import arguments, persistence
from streamnb.problem.penalties import TopK
from streamnb.rows.preparing import MAPS, NONE

COVARIANCES = ("diagonal", "own", "pooled", "full")
LEDOIT_WOLF = "ledoit_wolf"  # in place of g: computed from the rows, without cross-validation
POOLING = (0.0, 0.05, 0.2, 0.5, 0.8, 1.0)  # a of "auto"
TO_SPHERE = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 0.1, 0.3)  # g
OF_POOLED = (0.0, 1e-6, 1e-5, 1e-4, 1e-3, 1e-2, 3e-2, 0.1, 0.3, 0.8)  # g where all classes have one covariance
MEANING = "(a, g), both from 0 to 1: a of the pooled covariance, then g of a multiple of the unit matrix"

Point = tuple[float, float | str]  # a number each, or LEDOIT_WOLF for g


def as_shrinkage(given: Any, covariance: str) -> str | tuple[Point, ...] | None:
    """Return the points (a, g) to try; "auto" and None are returned unchanged."""
    if given is None:
        return given
    if covariance not in ("pooled", "full"):
        raise ValueError(
            f"shrinkage={given!r} needs covariance='pooled' or 'full'; of {covariance!r} there is nothing to shrink"
        )
    if isinstance(given, str) and given == "auto":
        return given
    if isinstance(given, str) and given == LEDOIT_WOLF:
        given = (float(covariance == "pooled"), LEDOIT_WOLF)
    points = (given,) if _is_point(given) else given
    if isinstance(points, str) or not hasattr(points, "__iter__"):
        raise ValueError(f"shrinkage={given!r} should be {MEANING}, a list of these, 'auto' or 'ledoit_wolf'")
    found = tuple(_point(point, covariance) for point in points)
    if not found:
        raise ValueError(f"shrinkage={given!r} is empty; give {MEANING}, or a list of these")
    return tuple(dict.fromkeys(found))


def _is_point(given: Any) -> bool:
    """True for one point, a number or a pair, and False for a list of them."""
    parts = given if isinstance(given, tuple) and len(given) == 2 else (given,)
    return all(isinstance(part, numbers.Real) or (isinstance(part, str) and part == LEDOIT_WOLF) for part in parts)


def _point(given: Any, covariance: str) -> Point:
    """Check one point; a single number is g."""
    own = 1.0 if covariance == "pooled" else 0.0
    pair = (own, given) if isinstance(given, numbers.Real) and not isinstance(given, bool) else given
    if isinstance(pair, tuple | list) and len(pair) == 2 and pair[1] == LEDOIT_WOLF:
        if pair[0] not in ((1.0,) if covariance == "pooled" else (0.0, 1.0)):
            raise ValueError(f"shrinkage has {given!r}; {LEDOIT_WOLF!r} needs a = 1, or a = 0 of 'full'")
        return float(pair[0]), LEDOIT_WOLF
    try:
        a, g = (float(value) for value in pair)
    except (TypeError, ValueError):
        raise ValueError(f"shrinkage has {given!r}; it should be {MEANING}") from None
    if not (0.0 <= a <= 1.0 and 0.0 <= g <= 1.0):  # NaN, too
        raise ValueError(f"shrinkage has {given!r}; it should be {MEANING}")
    if covariance == "pooled" and a != 1.0:
        raise ValueError(f"shrinkage has {given!r}, but covariance='pooled' has a = 1; give (1, g), or use 'full'")
    return a, g


def points_of(shrinkage: Any, covariance: str) -> tuple[Point, ...]:
    """The points to try."""
    if shrinkage is None:
        return ((1.0 if covariance == "pooled" else 0.0, 0.0),)
    if shrinkage == "auto":
        if covariance == "pooled":
            return tuple((1.0, g) for g in OF_POOLED)
        return tuple((a, g) for a in POOLING for g in TO_SPHERE)
    return shrinkage


def as_maps(given: Any, covariance: str) -> str | tuple[str, ...] | None:
    """Return the names of the column maps to try; "auto" and None are returned unchanged."""
    if given is None or (isinstance(given, str) and given == "auto"):
        found: Any = given
    elif isinstance(given, str | list | tuple):
        names = [given] if isinstance(given, str) else [NONE if name is None else name for name in given]
        found = tuple(dict.fromkeys(arguments.one_of("maps", name, MAPS) for name in names))
    else:
        raise TypeError(f"maps={given!r} should be None, 'auto', or of {', '.join(map(repr, MAPS))} one or a list")
    if found is not None and not found:
        raise ValueError(f"maps={given!r} is empty; give None, 'auto', or a list of {', '.join(map(repr, MAPS))}")
    if found is not None and covariance not in ("pooled", "full"):
        raise ValueError(
            f"maps={given!r} needs covariance='pooled' or 'full'; for {covariance!r} use transform='log1p' or "
            "'quantile_normal'"
        )
    return found


def loaded_point(point: dict[str, Any]) -> dict[str, Any]:
    """A point from a file; older files have the number of features as a float."""
    for kind, tau in point.items():
        if kind == "map" and tau not in MAPS:
            raise ValueError(f"a point of a grid has map={tau!r}; it should be one of {', '.join(MAPS)}")
        if kind == "map" or (isinstance(tau, str) and tau == LEDOIT_WOLF):
            continue
        numbers = dict[Any, int] if kind == TopK.kind and isinstance(tau, dict) else float
        if not persistence.is_a(numbers, tau):
            raise ValueError(f"a point of a grid has {kind}={tau!r}; it should be a number")
    return {kind: int(tau) if kind == TopK.kind and type(tau) is float else tau for kind, tau in point.items()}
