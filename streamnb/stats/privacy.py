"""Privacy: what is known of the protection of noisy sums; and how much a person can change sums."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from math import hypot, sqrt
from operator import add
from typing import Any

import numpy as np

from streamnb.core import messages, persistence
from streamnb.rows.clipping import Clipping
from streamnb.stats.second_moments import n_pairs

COUNTED = "sum", "sum_sq", "nonzero", "above"  # one and the same, where values are 0 or 1


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
            f"  declared: {self.n_features:,} columns, classes {messages.listed(np.array(self.classes))}>",
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
                f"{name!r} does not go with Clip(max_features=): pairs of columns have no equal chances to be drawn; "
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
