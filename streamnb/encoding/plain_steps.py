"""The steps that a portable model applies to a row before scoring, in NumPy alone."""

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Annotated, Any

import numpy as np

from streamnb.core import persistence

SEVERAL = 1 << 8  # values from which on it pays to find those that are alike
HELD = 1 << 24  # bytes of dense indicators at once


@persistence.register
@dataclass(frozen=True, eq=False)
class Indicators(persistence.Parameters):
    """Derived columns: 1 where low < x <= high, or x itself if `as_is`.

    `missing` columns are 1 where x is NaN; `feature` is the column of the rows from which each is derived.
    """

    feature: Annotated[np.ndarray, "i8[n_columns]"]
    low: Annotated[np.ndarray, "f8[n_columns]"]
    high: Annotated[np.ndarray, "f8[n_columns]"]
    missing: Annotated[np.ndarray, "?[n_columns]"]
    as_is: Annotated[np.ndarray, "?[n_columns]"]
    at_once = None  # as for learned steps: it divides rows itself

    @property
    def n_columns(self) -> int:
        """Number of derived columns."""
        return len(self.feature)

    def check(self, width: int) -> None:
        """Raise an error for rows with too few columns."""
        if not ((self.feature >= 0) & (self.feature < width)).all():
            raise ValueError(f"indicators are of columns outside the {width} columns of rows")

    def applied(self, chunk: Any, survey: Any = None) -> Any:
        """Transform a checked block of rows to CSR."""
        from scipy.sparse import csr_array, vstack

        X = chunk.to_matrix()
        step = max(HELD // (8 * max(self.n_columns, 1)), 1)
        some = (X[first : first + step] for first in range(0, max(X.shape[0], 1), step))
        made = [csr_array(self.of(x.toarray() if hasattr(x, "toarray") else x)) for x in some]
        return vstack(made, format="csr") if len(made) > 1 else made[0]

    def of(self, x: np.ndarray) -> np.ndarray:
        """Transform rows."""
        x = x[:, self.feature]
        made = ((x > self.low) & (x <= self.high)) | (np.isnan(x) & self.missing)
        return np.where(self.as_is, x, made)


@persistence.register
@dataclass(frozen=True, eq=False)
class ColumnSums(persistence.Parameters):
    """Sums of columns, behind the columns; each row of `parts` is a column and the sum it is part of."""

    taken: int
    parts: Annotated[np.ndarray, "i8[m, 2]"]
    at_once = None

    @property
    def n_columns(self) -> int:
        """Number of columns, including the sums."""
        return self.taken + int(self.parts[:, 1].max(initial=-1)) + 1

    def _check_loaded(self) -> None:
        numbers = np.unique(self.parts[:, 1])
        if not np.array_equal(numbers, np.arange(len(numbers))):
            raise ValueError("sums should be numbered from 0 without gaps")

    def check(self, width: int) -> None:
        """Raise an error for rows of another width."""
        if width != self.taken or not ((self.parts[:, 0] >= 0) & (self.parts[:, 0] < width)).all():
            raise ValueError(f"sums are of columns outside the {width} columns of rows")

    def applied(self, chunk: Any, survey: Any = None) -> Any:
        """Transform a checked block of rows to CSR."""
        from scipy.sparse import csr_array, hstack

        X, shape = csr_array(chunk.to_matrix()), (self.taken, self.n_columns - self.taken)
        columns, sums = self.parts.T
        return hstack([X, X @ csr_array((np.ones(len(columns)), (columns, sums)), shape=shape)], format="csr")

    def of(self, x: np.ndarray) -> np.ndarray:
        """Transform rows."""
        columns, sums = self.parts.T
        found = np.zeros((self.n_columns - self.taken, len(x)))
        np.add.at(found, sums, x.T[columns])
        return np.hstack([x, found.T])


@persistence.register
@dataclass(frozen=True, eq=False)
class RowStep(persistence.Parameters):
    """One step that prepares a row.

    Attributes
    ----------
    do : {"binary", "log1p", "sqrt", "l1", "l2", "scale", "above", "log", "distance", "indicators", "sums", "products"}
        [x != 0]; ln(1 + x); the root; the row divided by its length, that of zeros by 1, times `value`; columns times
        `value` each; [x > value]; ln x; |x - value|; the columns, or the columns and sums, that `value` makes; the
        columns, and behind them the products of those two that each row of `value` names.
    columns : (m,) int, optional
        The columns it applies to; all by default.
    """

    do: str
    value: Any = None
    columns: Annotated[np.ndarray, "i8[m]"] | None = None

    def _check_loaded(self) -> None:
        do, value, alone = self.do, self.value, self.columns is None
        if do in ("indicators", "sums"):
            right = isinstance(value, Indicators if do == "indicators" else ColumnSums) and alone
        elif do == "scale":
            right = isinstance(value, np.ndarray) and value.dtype == np.float64 and value.ndim == 1
        elif do == "products":
            persistence.part(vars(self), "value", "i8[n_products, 2]")
            right = alone
        else:
            right = do in FUNCTIONS and persistence.is_a(float | None, value)
        if not right:
            raise ValueError(f"there is no step {do!r} with value={value!r}")

    def width(self, width: int) -> int:
        """Return the number of columns after this step; raise an error if it does not fit rows with `width` columns."""
        if self.do in ("indicators", "sums"):
            self.value.check(width)
            return self.value.n_columns
        if self.do == "products":
            if not ((self.value >= 0) & (self.value < width)).all():
                raise ValueError(f"products are of columns outside the {width} columns of rows")
            return width + len(self.value)
        beyond = self.columns is not None and not ((self.columns >= 0) & (self.columns < width)).all()
        if beyond or (self.do == "scale" and len(self.value) != width):
            raise ValueError(f"the step {self.do!r} is of columns outside the {width} columns of rows")
        return width

    @property
    def keeps_zeros(self) -> bool:
        """Whether absent values stay so, each column by itself."""
        keeping = "binary", "log1p", "sqrt", "l1", "l2", "scale"
        return self.columns is None and (self.do in keeping or (self.do == "above" and self.value >= 0.0))

    def at(self, columns: np.ndarray) -> "RowStep":
        """The step for rows that have these columns alone; it keeps zeros."""
        return replace(self, value=self.value[columns]) if self.do == "scale" else self

    def of_ones(self, row: dict[int, float], width: int) -> dict[int, float]:
        """Add the sums or products of a row, given as its stored values by column, to rows with `width` columns."""
        found, partners = dict(row), self._partners
        own = [column for column in row if column in partners]
        for column in own:
            if self.do == "sums":
                for total in partners[column]:
                    found[width + total] = found.get(width + total, 0.0) + row[column]
                continue
            products = partners[column]
            for other in own:
                if other in products:
                    found[width + products[other]] = row[column] * row[other]
        return found

    @cached_property
    def _partners(self) -> dict[int, dict[int, int]]:
        """For each column the sums that it is part of, or the products that it has with others."""
        found: dict[int, dict[int, int]] = {}
        if self.do == "sums":
            for column, total in self.value.parts.tolist():
                found.setdefault(column, {})[total] = total
            return found
        for product, (column, other) in enumerate(self.value.tolist()):
            found.setdefault(column, {})[other] = product
            found.setdefault(other, {})
        return found

    def of(self, x: np.ndarray) -> np.ndarray:
        """Transform rows."""
        if self.do in ("indicators", "sums"):
            return self.value.of(x)
        if self.do == "products":
            return np.hstack([x, x[:, self.value[:, 0]] * x[:, self.value[:, 1]]])
        if self.columns is None:
            return FUNCTIONS[self.do](x, self.value)
        x = x.copy()
        x[:, self.columns] = FUNCTIONS[self.do](x[:, self.columns], self.value)
        return x


def _added(x: np.ndarray) -> np.ndarray:
    """The sums of rows, in the order of columns as compiled loops add them, so that zeros change nothing."""
    return np.add.accumulate(x, axis=1)[:, -1] if x.shape[1] else np.zeros(len(x))


def _divided(x: np.ndarray, length: np.ndarray, value: float) -> np.ndarray:
    return x / np.where(length == 0.0, 1.0, length)[:, None] * value


def _within(name: str, x: np.ndarray, lowest: float, function: Callable) -> np.ndarray:
    """Apply a function to values of at least `lowest`; raise an error for others."""
    if not (x >= lowest).all():
        row, column = (int(one) for one in np.argwhere(~(x >= lowest))[0])
        raise ValueError(f"X has {x[row, column]:g} at row {row}, column {column}, which has no {name}")
    return function(x)


_log1p_of_c = np.frompyfunc(math.log1p, 1, 1)


@cache
def _numpy_is_as_c() -> bool:
    """Whether NumPy has the logarithms of the C library; with AVX-512 it has its own, of which a tenth differ."""
    probe = np.linspace(0.1, 9.9, 500)
    return bool((np.log1p(probe) == _log1p_of_c(probe)).all())


def _log1p(x: np.ndarray) -> np.ndarray:
    """ln(1 + x) with the same last bits as compiled loops, which take those of the C library."""
    if _numpy_is_as_c():
        return np.log1p(x)
    if x.size <= SEVERAL:
        return _log1p_of_c(x).astype(np.float64)
    values, places = np.unique(x, return_inverse=True)  # few, where they are counts
    return _log1p_of_c(values).astype(np.float64)[places].reshape(x.shape)


FUNCTIONS: dict[str, Callable[[np.ndarray, Any], np.ndarray]] = {
    "binary": lambda x, value: (x != 0.0).astype(np.float64),
    "log1p": lambda x, value: _within("log1p", x, np.nextafter(-1.0, 0.0), _log1p),
    "sqrt": lambda x, value: _within("square root", x, 0.0, np.sqrt),
    "l1": lambda x, value: _divided(x, _added(abs(x)), value),
    "l2": lambda x, value: _divided(x, np.sqrt(_added(x * x)), value),
    "scale": lambda x, value: x * value,
    "above": lambda x, value: (x > value).astype(np.float64),
    "log": lambda x, value: _within("logarithm", x, np.nextafter(0.0, 1.0), np.log),
    "distance": lambda x, value: abs(x - value),
}
