"""Points of a penalty grid: one tau for each kind of penalty."""

from functools import reduce
from operator import add
from typing import Any

from streamnb.core import persistence
from streamnb.problem.penalties import Penalty, TopK
from streamnb.problem.pull import Pull
from streamnb.problem.shrinkage import LEDOIT_WOLF
from streamnb.rows.preparing import MAPS


def at_point(penalty: Penalty, point: dict[str, float]) -> Penalty:
    """The penalty with the taus of one point of its grid."""
    return reduce(add, (part.with_taus([point[part.kind]]) for part in penalty.parts))


def pull_at(penalty: Penalty | None, point: dict[str, float]) -> Pull:
    """The pull of a penalty at a point of its grid."""
    return reduce(add, (part.pull(point[part.kind]) for part in (penalty.parts if penalty else ())), Pull())


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
