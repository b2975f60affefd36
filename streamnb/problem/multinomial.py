"""Multinomial and categorical families, whose probabilities sum to one in each class."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import numpy as np

from streamnb.core import persistence
from streamnb.problem.family import Family


class Multinomial(Family):
    """Counts given their total in the row: g(p) = ln p, and the probabilities of a class sum to one.

    Smoothed by alpha = s for each feature. The sum of all counts of a class takes the place of its number of rows.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.LinearNB(snb.Multinomial()).fit([[3, 1, 0], [2, 0, 0], [0, 1, 4]], [0, 0, 1])
    >>> model.predict([[1, 0, 0], [1, 1, 2]]).tolist()
    [0, 1]
    """

    name = "multinomial"
    lowest = 0.0
    coupled = True

    def link(self, m):
        return np.log(m)

    def variance(self, m):
        return m * (1.0 - m)

    def mean_slope(self, m):
        return m

    def cumulant(self, m):
        return np.zeros_like(m)

    def prior(self, mean, smoothing, n_features):
        return smoothing, smoothing * n_features


class Categorical(Multinomial):
    """Columns of categories, each a multinomial variable over the indicators of its values.

    ``ln p_y(x_j = c) = ln (S_yjc + s) / (N_y + s C_j)``, where S_yjc is the weight of the rows of class y with value c
    of column j, N_y that of all its rows, C_j the number of values and s the smoothing. This is `CategoricalNB`; `L1`
    draws its probabilities towards those of all classes. `TopK` keeps whole columns, ranked by the largest weight or
    score of their values, or by the likelihood lost without the column.

    Parameters
    ----------
    sizes : None, or list of int
        None: columns hold category numbers, 0, 1, .., as `LinearNB` and `LinearNBCV` take them. A pass before the scan
        learns the values of each column (so X must be readable twice), and each value becomes an indicator, such as
        "x3=5" in `column_names_`. A value that was not in the fit adds nothing to scores. After
        ``transform=snb.Bins(..)``, the bins of each feature are its categories.

        A list: columns are indicators already, as `OneHotEncoder` makes them; the list has the number of consecutive
        indicators that belong to each column of categories.

    Raises
    ------
    ValueError, TypeError
        `sizes` are not whole numbers above 0, or do not sum to the number of columns. In `fit`, a value is negative,
        not a whole number or missing; the message names its row and column.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[0], [0], [1], [2], [0], [1], [2], [2]], ["a", "a", "a", "a", "b", "b", "b", "b"]
    >>> model = snb.LinearNB(snb.Categorical(), smoothing=1).fit(X, y)
    >>> model.coef_.round(4), model.column_names_.tolist()
    (array([[-0.4055,  0.    ,  0.4055]]), ['x0=0', 'x0=1', 'x0=2'])
    """

    name = "categorical"
    highest = 1.0
    as_one = True

    def __init__(self, sizes: Sequence[int] | np.ndarray | None = None):
        self.sizes: tuple[int, ...] | None = None if sizes is None else _checked(sizes)

    @property
    def coded(self):  # type: ignore[override]
        return self.sizes is None

    def coded_columns(self, n_features):
        return np.arange(n_features if self.sizes is None else 0)

    def named(self, names, kinds=None):
        if self.sizes is not None or kinds is None:
            return self
        others = sorted({kind for kind, _ in kinds} - {self.name})
        if others:
            raise ValueError(
                f"family={self!r} is of columns of categories, and some of the columns are {', '.join(others)}: use "
                "family='auto', or snb.table(bins=..) for its numbers"
            )
        return Categorical([width for _, width in kinds])

    def widened(self, firsts):
        return Categorical(np.diff(firsts)) if self.sizes is None else self

    def parts(self, n_features):
        if self.sizes is None:
            raise ValueError(
                "family=Categorical() takes numbers of categories, of which LinearNB and LinearNBCV make indicators; "
                "of indicators say how many each column of categories has: Categorical(sizes)"
            )
        if sum(self.sizes) != n_features:
            raise ValueError(
                f"family={self!r} is of {sum(self.sizes):,} indicators, but X has {n_features:,} columns for it; sizes "
                "should have how many belong to each column of categories"
            )
        return super().parts(n_features)

    def groups(self, n_features):
        (_, whole) = self.parts(n_features)[0]
        sizes = self.sizes or ()
        if len(sizes) == 1:
            return [(self, whole)]
        ends = np.cumsum(sizes).tolist()
        return [(Categorical((size,)), slice(end - size, end)) for size, end in zip(sizes, ends, strict=True)]

    def _to_state(self) -> dict[str, Any]:
        return {"sizes": None if self.sizes is None else np.array(self.sizes, np.int64)}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Categorical:
        return cls(*persistence.parts(cls, state, sizes=Annotated[np.ndarray, "i8[n_columns]"] | None))

    def __repr__(self) -> str:
        if self.sizes is None:
            return "Categorical()"
        few = str(list(self.sizes)) if len(self.sizes) <= 5 else f"{str(list(self.sizes[:5]))[:-1]}, ..]"
        return f"Categorical({few})"


def _checked(sizes: Any) -> tuple[int, ...]:
    try:
        given = np.asarray(sizes)
    except ValueError:
        given = np.array(None)
    if given.ndim != 1 or not given.size or given.dtype.kind not in "iu" or (given < 1).any():
        raise ValueError(
            f"sizes={sizes!r} should be a list of whole numbers above 0, one for each column of categories, or None"
        )
    return tuple(given.tolist())
