"""Differential privacy of sums: noise and its accounting by OpenDP, and what is known of the protection."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache, reduce
from importlib.metadata import version
from math import hypot, sqrt
from operator import add
from typing import Any

import numpy as np

from streamnb.core import arguments, messages, persistence
from streamnb.rows.clipping import Clipping
from streamnb.stats.second_moments import n_pairs
from streamnb.stats.tables import PooledTable, Table

COUNTED = "sum", "sum_sq", "nonzero", "above"  # one and the same, where values are 0 or 1
SLACK = 1.0 - 1e-9  # so that rounding of OpenDP's bounds, which is upwards, does not exceed the budget
LARGEST = 2**52  # sums of more units would not be exact
OF_CLASSES = 0.1  # share of the budget for the sizes of classes; the sums have equal parts of the rest
CLEAR = 3.0  # standard deviations from which on a cell stands out from noise
BY_CHANCE = 0.0027  # the share of cells of noise alone that do


@persistence.register
@dataclass(frozen=True)
class Privacy(persistence.Parameters):
    """What the noise in statistics protects: adding or removing one person, with all that this person's rows add.

    Attributes
    ----------
    epsilon, delta : float
        For any set of results, and two sets of rows of which one lacks a person:
        P(results of one) <= exp(epsilon) P(results of the other) + delta.
    rho : float
        The same as zero-concentrated differential privacy (Bun and Steinke 2016).
    mechanism : str
    clipping : Clipping
        How much a person adds.
    classes : tuple of str
        The declared classes, as text.
    n_features : int
        The declared number of columns.
    sensitivity, noise : dict of float
        Of each sum: the most that a person changes it, as a Euclidean norm; and the standard deviation of the noise in
        each cell.
    unprotected : bool
        Whether sums without noise were added, to whose rows none of this applies.
    """

    epsilon: float
    delta: float
    rho: float
    mechanism: str
    clipping: Clipping
    classes: tuple[str, ...]
    n_features: int
    sensitivity: Mapping[str, float]
    noise: Mapping[str, float]
    unprotected: bool = False

    def beside(self, other: Privacy) -> Privacy:
        """The ledger of two sums of which nobody has rows in both (McSherry 2009, theorem 4)."""
        return self._with(other, max)

    def after(self, other: Privacy) -> Privacy:
        """The ledger of two sums that may be of the same people (Dwork and Roth 2014, theorem 3.16)."""
        return self._with(other, add)

    def _with(self, other: Privacy, cost: Callable[[float, float], float]) -> Privacy:
        return replace(
            self,
            epsilon=cost(self.epsilon, other.epsilon),
            delta=cost(self.delta, other.delta),
            rho=cost(self.rho, other.rho),
            noise={name: hypot(self.noise[name], other.noise[name]) for name in self.noise},
            unprotected=self.unprotected or other.unprotected,
        )

    def __str__(self) -> str:
        part = ", of a part of the rows; others are not protected" if self.unprotected else ""
        return f"epsilon {self.epsilon:g}, delta {self.delta:g}{part}"

    def __repr__(self) -> str:
        clipping = self.clipping
        rows = f"at most {clipping.rows_per_group} rows" if clipping.by_group else "one row"
        sums = [
            f"  {name}: sensitivity {self.sensitivity[name]:.4g}, noise of standard deviation {self.noise[name]:.4g}"
            for name in self.noise
        ]
        lines = [
            f"<Privacy: {self}",
            f"  of a person with {rows}, added or removed; {clipping.clip!r}",
            f"  {self.mechanism}",
            *sums,
            f"  declared: {self.n_features:,} columns, classes {messages.listed(self.classes)}>",
        ]
        return "\n".join(lines)


def sensitivities(clipping: Clipping, names: Any, n_features: int, binarize: float) -> dict[str, tuple[float, float]]:
    """The most that a person changes each table, as a Euclidean norm, and the unit of which sums are whole multiples.

    A row of values in {0, 1}, m of which are 1, changes the sums by sqrt(m) and those of the pairs i <= j by
    sqrt(m (m + 1) / 2). A row of norm c changes the sums by c, and those of squares and products by c^2 at most, as
    sum x_j^4 <= (sum x_j^2)^2. A person with r rows changes r times as much at most.
    """
    clip, r = clipping.clip, clipping.rows_per_group
    m, c, step = clip.most_values(n_features), clip.l2, clip.step
    of_row: dict[str, tuple[float, float]] = {"weight": (1.0, 1.0)}
    for name in (name for name in names if name != "weight"):
        if name in ("gram", "gram_above") and clip.max_features is not None:
            raise ValueError(
                f"{name!r} does not work with Clip(max_features=): pairs of columns have no equal chances to be drawn; "
                "bound rows by l2="
            )
        if name in ("above", "gram_above") and not 0.0 <= binarize < (1.0 if c is None else float("inf")):
            raise ValueError(f"binarize={binarize:g} should be from 0 to 1, so that absent values do not count")
        if name in ("nonzero", "above") or (name in COUNTED and c is None):
            of_row[name] = sqrt(m), 1.0
        elif name == "gram_above" or (name == "gram" and c is None):
            of_row[name] = sqrt(n_pairs(m)), 1.0
        elif c is not None and step is not None and name in ("sum", "sum_sq", "gram"):
            of_row[name] = (c, step) if name == "sum" else (c * c, step * step)
        else:
            raise ValueError(f"{name!r} has no bounded sensitivity: one row may change it by any amount; leave it out")
    return {name: (r * most, unit) for name, (most, unit) in of_row.items()}


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


def privatized(stats: Any, epsilon: Any, delta: Any) -> Any:
    """The statistics with noise; see `ClassStats.privatize`."""
    epsilon, delta = _checked(stats, epsilon, delta)
    most = sensitivities(stats.clipping, stats.tables, stats.n_features, stats.options.binarize)
    drawn = _drawn_for(stats.clipping.clip.presence, most)
    sums = [name for name in dict.fromkeys(drawn.values()) if name != "weight"]
    shares = {"weight": OF_CLASSES if sums else 1.0} | {name: (1.0 - OF_CLASSES) / len(sums) for name in sums}
    rho = budget(epsilon, delta)
    # rho = sensitivity^2 / (2 scale^2)
    scales = {name: most[name][0] / sqrt(2.0 * rho * share) for name, share in shares.items()}
    found = [_with_noise(part, drawn, most, scales) for part in stats.folds or (stats,)]
    parts = tuple(part for part, _ in found)
    whole = replace(reduce(add, parts), folds=parts, folding=stats.folding) if stats.folds else parts[0]
    ledger = Privacy(
        epsilon,
        delta,
        max(cost for _, cost in found),  # a person is in one fold, or divided among them
        mechanism(),
        stats.clipping,
        tuple(map(str, stats.classes.tolist())),
        stats.n_features,
        {name: bound for name, (bound, _) in most.items()},
        {name: scales[one] * max(len(stats.folds), 1) ** 0.5 for name, one in drawn.items()},
    )
    private = corrected(replace(whole, privacy=ledger, clipping=stats.clipping))
    _warn(private)
    return private


def _drawn_for(presence: bool, names: Any) -> dict[str, str]:
    """The name under which the noise of each sum is drawn: of values in {0, 1} several moments are one sum."""
    counted = [name for name in COUNTED if presence and name in names]
    return {name: counted[0] if name in counted else name for name in names}


def _with_noise(stats: Any, drawn: dict[str, str], most: Any, scales: dict[str, float]) -> tuple[Any, float]:
    """Statistics with noise in every cell, and the rho that it costs."""
    tables, costs = {}, 0.0
    for name, scale in scales.items():
        (bound, unit), table = most[name], stats.tables[name].dense()
        counts, cost = noisy(_in_units(name, table, unit), bound / unit, scale / unit)
        tables[name], costs = replace(table, hi=counts * unit, lo=None), costs + cost
    of_names = {name: tables[one] for name, one in drawn.items()}
    return replace(stats, rows=tables["weight"].hi[:, 0].astype(np.int64), tables=of_names, negatives=0), costs


def _checked(stats: Any, epsilon: Any, delta: Any) -> tuple[float, float]:
    if stats.privacy is not None:
        raise ValueError(
            f"these statistics are private already ({stats.privacy}); noise is added once, to sums of rows"
        )
    if stats.clipping is None:
        raise ValueError(
            "these statistics have no clip, so that one row may change them by any amount (a weight, a decay and a sum "
            "with other statistics undo one); scan with clip=snb.Clip(presence=True, max_features=50), classes= and "
            "n_features="
        )
    if stats.options.learned is not None or stats.options.scale is not None:
        raise ValueError("the rows were prepared by what was learned from them, which reveals rows; leave it out")
    epsilon, delta = arguments.number_above_0("epsilon", epsilon), arguments.number_above_0("delta", delta)
    if delta >= 1.0:
        raise ValueError(f"delta={delta:g} should be above 0 and below 1, far below 1 / the number of people")
    return epsilon, delta


def _in_units(name: str, table: Any, unit: float) -> np.ndarray:
    counts = table.hi / unit
    if (counts != np.rint(counts)).any() or np.abs(counts).max(initial=0.0) > LARGEST:
        raise ValueError(f"the sums {name!r} are not whole multiples of {unit:g} below 2^52; use a larger step")
    return counts


def corrected(stats: Any) -> Any:
    """The noisy sums nearest to these that rows can have."""
    tables, ledger = dict(stats.tables), stats.privacy
    weight = np.maximum(tables["weight"].hi, 1.0)
    clip = ledger.clipping.clip
    for name in (name for name in tables if name != "weight"):
        sums = tables[name].hi
        if name in ("nonzero", "above", "sum_sq") or (name == "sum" and clip.presence):
            sums = above_zero(sums)
            most = weight if name in ("nonzero", "above") or clip.presence else weight * clip.l2**2
            tables[name] = Table(np.minimum(sums, most))
        elif name == "sum":
            tables[name] = Table(np.clip(sums, -weight * clip.l2, weight * clip.l2))
    if {"sum", "sum_sq"} <= tables.keys() and not clip.presence:  # variances of at least the level of the noise
        least = tables["sum"].hi ** 2 / weight + ledger.noise["sum_sq"]
        tables["sum_sq"] = Table(np.maximum(tables["sum_sq"].hi, least))
    tables["weight"] = Table(weight)
    return replace(stats, tables=tables, rows=weight[:, 0].astype(np.int64))


def above_zero(sums: np.ndarray) -> np.ndarray:
    """The nearest sums, by least squares, that are not below 0 and have the same total in each column, or 0.

    It is the projection on a simplex, max(s - t, 0) with one t for each column (Duchi and others 2008).
    """
    totals = np.maximum(sums.sum(axis=0), 0.0)
    falling = -np.sort(-sums, axis=0)
    excess = np.cumsum(falling, axis=0) - totals
    counts = np.arange(1, len(sums) + 1)[:, None]
    used = np.maximum((falling * counts > excess).sum(axis=0), 1)
    return np.maximum(sums - np.take_along_axis(excess, used[None] - 1, axis=0) / used, 0.0)


def outside(stats: Any, fold: int) -> Any:
    """Private statistics of the rows outside a fold, from the noisy sums of the other folds."""
    others = [part for number, part in enumerate(stats.folds) if number != fold]
    share = (len(others) / len(stats.folds)) ** 0.5
    ledger = replace(stats.privacy, noise={name: scale * share for name, scale in stats.privacy.noise.items()})
    return corrected(replace(reduce(add, others), privacy=ledger, clipping=stats.clipping, closed=True))


def _warn(stats: Any) -> None:
    """Warn of a delta that is no protection, and of noise that hides everything."""
    ledger = stats.privacy
    if ledger.delta * stats.n_rows >= ledger.clipping.rows_per_group:
        messages.warn(
            f"delta={ledger.delta:g} is 1 / n or more for about {stats.n_rows:,} rows: to publish one person's rows as "
            "they are would meet it; use a delta far below"
        )
    for name, scale in ledger.noise.items():
        table = stats.tables[name]
        n_clear = np.count_nonzero(np.abs(table.hi) > CLEAR * scale)
        if not isinstance(table, PooledTable) and n_clear <= 2.0 * BY_CHANCE * table.hi.size:
            messages.warn(
                f"the noise of {name!r} ({scale:.3g} in each cell) exceeds what there is to see; use a larger "
                "epsilon, more rows, or fewer moments or folds, or bound rows more tightly"
            )


# ---- sums of statistics ----------------------------------------------------------------------------------------------


def check_addable(ours: Any, theirs: Any) -> None:
    """Refuse `+` where it is open how much a person then adds."""
    both = [stats for stats in (ours, theirs) if stats.privacy is not None or stats.clipping is not None]
    if any(stats.privacy is not None for stats in both):
        raise ValueError(
            'private statistics are added by merge(other, people="disjoint") or people="same": whether the same '
            "people may have rows in both decides what epsilon the sum has"
        )
    if any(stats.clipping.by_group for stats in both):
        raise ValueError(
            'statistics of people with several rows are added by merge(other, people="disjoint") or people="same": '
            "it decides how many rows of a person are in the sum"
        )
    _check_same_clip(ours, theirs)


def _check_same_clip(ours: Any, theirs: Any) -> None:
    one, two = (None if stats.clipping is None else stats.clipping.clip for stats in (ours, theirs))
    if one != two:
        raise ValueError(f"these statistics were scanned with clip={one!r}, the others with {two!r}; scan both alike")


def check_not_private(*stats: Any) -> None:
    """Refuse to take rows away from private sums, or private sums from others."""
    if any(part.privacy is not None for part in stats):
        raise ValueError(
            "private statistics cannot be subtracted: their noise would stay; make the sums that are left private"
        )


def merged(ours: Any, theirs: Any, people: Any, unprotected: Any) -> Any:
    """The sum of statistics of people; see `ClassStats.merge`."""
    marks = _merged_marks(ours, theirs, people, unprotected)
    ours, theirs = (replace(stats, clipping=None, privacy=None) for stats in (ours, theirs))
    return replace(ours + theirs, **marks)


def _merged_marks(ours: Any, theirs: Any, people: Any, unprotected: Any) -> dict[str, Any]:
    """What is known of the people in a sum of statistics: `clipping` and `privacy`."""
    arguments.one_of("people", people, ["disjoint", "same"])
    arguments.one_of("unprotected", unprotected, [False, True])
    ledgers = [stats.privacy for stats in (ours, theirs) if stats.privacy is not None]
    if len(ledgers) == 1 and not unprotected:
        raise ValueError(
            "one of the statistics is private and the other is not, so that the sum would not be; make the other "
            "private, or say unprotected=True if its rows need no protection"
        )
    if len(ledgers) == 1:
        return {"clipping": None, "privacy": replace(ledgers[0], unprotected=True)}
    _check_same_clip(ours, theirs)
    one, two = ours.clipping, theirs.clipping
    if one is None:
        return {}
    most = max(one.rows_per_group, two.rows_per_group)
    if people == "same":
        most = one.rows_per_group + two.rows_per_group
    clipping = replace(one, rows_per_group=most, by_group=one.by_group or two.by_group or people == "same")
    if not ledgers:
        return {"clipping": clipping}
    first, second = ledgers
    privacy = first.beside(second) if people == "disjoint" else first.after(second)
    return {"clipping": clipping, "privacy": replace(privacy, clipping=clipping)}
