"""A linear model whose weights do not fit into memory and are computed for the columns in use."""

from dataclasses import dataclass
from typing import Any

from streamnb.core import memory
from streamnb.core.attributes import attribute
from streamnb.models.linear import LinearModel

NUMBERS = 1 << 22  # weights or margins held at once


@dataclass(frozen=True, eq=False, repr=False)
class UnheldModel(LinearModel):
    """A model that does not store its weights; the statistics that determine them are saved instead."""

    @attribute
    def coef_(self) -> Any:
        raise self._refusal("coef_")

    @attribute
    def _scorer(self) -> Any:
        raise self._refusal("the weights")

    def sparsify(self) -> LinearModel:
        raise self._refusal("sparsify()")

    def save(self, path: Any) -> None:
        raise self._refusal("save()")

    def with_threshold(self, threshold: Any, class_: Any = None, *, odds: bool | None = None) -> LinearModel:
        raise self._refusal("a model with a threshold")  # it could not be saved

    def _refusal(self, what: str) -> MemoryError:
        return MemoryError(
            f"{what} would take {memory.size(8 * len(self.intercept_) * self.n_features)} for {self._rows} and "
            f"{self.n_features:,} features; predictions compute the weights they need, and the statistics can be "
            f"saved; {self._cure}"
        )

    @property
    def _rows(self) -> str:
        """What the rows of weights belong to, in words."""
        return f"{len(self.classes_):,} classes"

    _cure = "snb.solve(stats, ..).weights(0, columns) has those of some features"

    def __repr__(self) -> str:
        shape = f"{len(self.intercept_):,} x {self.n_features:,}"
        name = f"{type(self).__name__}: {len(self.classes_):,} classes, {self.scheme.name}"
        return f"<{name}; weights {shape}, computed when needed>"
