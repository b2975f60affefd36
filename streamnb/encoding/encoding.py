"""What makes columns of raw rows, texts for instance; a model keeps it, and its file."""

from typing import Any

from streamnb.rows.source import Source


class Encoding:
    """How raw rows become columns of numbers: what a model has to know of it, so that it takes raw rows itself.

    The `encoding` of a source is kept by whatever is fitted on it, and saved with it: so a subclass is a value,
    picklable and registered in `core.persistence`. Sources that it makes have it as their `encoding`.
    """

    @property
    def n_columns(self) -> int:
        """Columns that it makes."""
        raise NotImplementedError

    @property
    def kinds(self) -> list[tuple[str, int]]:
        """The family, by name, that fits each group of neighbouring columns, and how many these are."""
        return [("multinomial", self.n_columns)]

    def takes(self, X: Any) -> bool:
        """Whether X, opened by nobody, are raw rows; False for a matrix, and what holds one."""
        raise NotImplementedError

    def encode(self, X: Any, y: Any = None, weight: Any = None, *, labelled: bool = False) -> Source:
        """Raw rows as columns.

        Parameters
        ----------
        X : what `takes`
        y, weight : str or (n_rows,), optional
            Labels and weights: names of columns beside the raw ones, or arrays.
        labelled : bool
            Whether labels are wanted; those that were named when the model was fitted, where y is None.
        """
        raise NotImplementedError

    def differs(self, other: "Encoding") -> str:
        """In words, where the columns of another one are not those that this one makes; empty if they are the same."""
        raise NotImplementedError


def check_alike(fitted: Encoding | None, given: Encoding | None) -> None:
    """Refuse rows whose columns were not made as those of the fit; what came as a matrix cannot be told."""
    what = "" if fitted is None or given is None else fitted.differs(given)
    if what:
        raise ValueError(
            f"the columns of X are not those that were fitted: {what}. Give the raw rows, such as a path, and the "
            "model makes its own columns of them"
        )
