"""The base class of encodings, which turn raw rows, such as texts, into columns and are saved with a model."""

from typing import Any

import numpy as np

from streamnb.rows.source import Source
from streamnb.stats.class_stats import ClassStats


class Encoding:
    """Turns raw rows into numeric columns; a fitted model keeps it, so that it accepts raw rows itself.

    The `encoding` of a source is kept by the models fitted on it and saved with them, so a subclass is a value type,
    picklable and registered in `core.persistence`. The sources that it returns have it as their `encoding`.
    """

    @property
    def learned(self) -> bool:
        """Whether the columns were learned from rows, and so tell about them."""
        return True

    @property
    def n_columns(self) -> int:
        """Number of output columns."""
        raise NotImplementedError

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The name of the suitable family and the number of columns for each group of adjacent columns."""
        return [("multinomial", self.n_columns)]

    def takes(self, X: Any) -> bool:
        """Whether X, not opened yet, holds raw rows; False for a matrix and its containers."""
        raise NotImplementedError

    def encode(self, X: Any, y: Any = None, weight: Any = None, *, labelled: bool = False) -> Source:
        """Open raw rows as encoded columns.

        Parameters
        ----------
        X : anything that `takes` accepts
        y, weight : str or (n_rows,), optional
            Labels and weights: names of columns next to the raw ones, or arrays.
        labelled : bool
            Whether labels are required; if y is None, the column named at fit is used.
        """
        raise NotImplementedError

    def warn_of_telling(self, stats: ClassStats) -> None:
        """Warn of columns of raw rows that alone nearly tell the label, by the statistics of the encoded rows."""

    def differs(self, other: "Encoding") -> str:
        """Describe how the columns of another encoding differ from those of this one; empty if they are the same."""
        raise NotImplementedError

    # ---- columns of statistics ---------------------------------------------------------------------------------------

    def joined(self, other: Any) -> "Encoding":
        """The encoding of the rows of both; a ValueError if their columns cannot be matched."""
        what = self.differs(other)
        if what:
            raise ValueError(f"these statistics have different columns: {what}; encode the rows of both alike")
        return self

    def sources(self, before: Any) -> np.ndarray | None:
        """For each column its number in `before`, as in `ClassStats.with_columns`; None if the columns are the same."""
        return None


def check_alike(fitted: Encoding | None, given: Encoding | None) -> None:
    """Refuse rows encoded differently from those of the fit; rows given as a matrix cannot be checked."""
    what = "" if fitted is None or given is None or given is fitted else fitted.differs(given)
    if what:
        raise ValueError(
            f"the columns of X are not those of the fit: {what}. Give the raw rows, such as a path, and the "
            "model encodes them itself"
        )
