"""Linear models whose weights do not fit into memory and are computed for the columns in use."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core import memory
from streamnb.core.guesses import attribute
from streamnb.models.linear import LinearModel, linear_scores
from streamnb.problem.schemes import Votes
from streamnb.rows.row_blocks import Chunk

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


@dataclass(frozen=True, eq=False, repr=False)
class PairwiseModel(UnheldModel):
    """A model of scheme="ovo" that does not store its weights; its margins are votes, (n_rows, K).

    Attributes
    ----------
    weights_of : function of columns and a slice of pairs
        Returns weights, (n_columns, n_pairs), and what they add to the intercepts, (n_pairs,).
    offsets : (n_pairs,)
        Contributions of absent values to the margins.
    """

    weights_of: Callable[[Any, slice], tuple[np.ndarray, np.ndarray]] | None = None
    offsets: np.ndarray | None = None

    @classmethod
    def of(cls, shell: LinearModel, intercepts: np.ndarray, weights_of: Any) -> "PairwiseModel":
        """Make the model, adding what features contribute to the intercepts; `shell` has the transforms of rows."""
        fields = {name: getattr(shell, name) for name in shell.__dataclass_fields__}
        fields["scheme"] = Votes(len(shell.classes_))
        offsets = np.zeros(len(intercepts))
        model = cls(**{**fields, "intercept_": intercepts.copy(), "weights_of": weights_of, "offsets": offsets})
        columns = np.arange(model.n_features)
        for pairs in model._slices(1):
            step = max(NUMBERS // (pairs.stop - pairs.start), 1)
            for first in range(0, len(columns), step):
                block = columns[first : first + step]
                weights, shift = weights_of(block, pairs)
                model.intercept_[pairs] += shift
                offsets[pairs] += model.absent[block] @ model._raw(weights, block)
        return model

    @property
    def _rows(self) -> str:
        return f"the {len(self.intercept_):,} pairs of {len(self.classes_):,} classes"

    _cure = "scheme='joint' or 'ovr' has one row of weights a class"

    @property
    def _n_scores(self) -> int:
        return len(self.classes_)

    def _raw_margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return votes for each class, with bounded margins to break ties, (n_rows, K)."""
        chunk = self.prepared(chunk, survey)
        columns = chunk.used_columns()
        local, votes = chunk.of_columns(columns), Votes(len(self.classes_)).ballot(chunk.shape[0])
        for pairs in self._slices(max(len(columns), chunk.shape[0])):
            weights = self._raw(self.weights_of(columns, pairs)[0], columns)  # type: ignore[misc]
            margins = linear_scores(local, weights, self.intercept_[pairs])
            votes.cast(margins + self.offsets[pairs], pairs)  # type: ignore[index]
        return votes.scores()

    def _slices(self, width: int) -> Iterator[slice]:
        n_pairs = len(self.intercept_)
        step = max(NUMBERS // max(width, 1), 1)
        for first in range(0, n_pairs, step):
            yield slice(first, min(first + step, n_pairs))

    def _raw(self, weights: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Return weights that include idf."""
        return np.ascontiguousarray(weights if self.scale is None else weights * self.scale[columns, None])
