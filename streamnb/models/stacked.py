"""Margins of several models as the columns of a second-level model."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import persistence, row_checks
from streamnb.models.linear import LinearModel, scaled
from streamnb.rows.boundary import surveyed
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.row_blocks import Chunk
from streamnb.rows.splits import Folding

MADE_BYTES = 16 << 20  # bytes of margins computed at once
FEW_ROWS = 256


def n_margins(models: list[LinearModel]) -> int:
    """Return how many margins the models compute for a row."""
    return sum(len(model.intercept_) for model in models)


def margins_of(models: list[LinearModel], chunk: Chunk) -> np.ndarray:
    """Return the scores of the rows of weights of all models for a block, (n_rows, n_margins).

    A class without rows in the fit of a model has margin 0 for all rows.
    """
    known = surveyed(chunk)
    margins = np.hstack([model.margins(*known) for model in models])
    return np.where(np.isfinite(margins), margins, 0.0)


class Margins(LearnedStep):
    """Columns that are margins of models."""

    sparse = False

    @property
    def _models(self) -> list[LinearModel]:
        """One set of models."""
        raise NotImplementedError

    @property
    def n_features(self) -> int:
        return self._models[0].n_features

    @property
    def n_columns(self) -> int:
        return n_margins(self._models)

    @property
    def at_once(self) -> int:  # type: ignore[override]
        return max(MADE_BYTES // (8 * self.n_columns), FEW_ROWS)


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class MarginColumns(Margins):
    """Margins for unseen rows: the mean over the models of all folds.

    Models of all rows would have margins on another scale than those that the second level was fitted on; for counts,
    margins grow with the number of rows.

    Attributes
    ----------
    members : list, for each family the models whose margins are averaged; linear ones are merged by mean weights
    """

    members: list[list[LinearModel]]

    @classmethod
    def of(cls, of_folds: list[list[LinearModel]]) -> "MarginColumns":
        """Average the models of several folds, each a list by family."""
        return cls([_mean(list(models)) for models in zip(*of_folds, strict=True)])

    @property
    def _models(self) -> list[LinearModel]:
        return [models[0] for models in self.members]

    def applied(self, chunk: Chunk, survey: Any = None) -> np.ndarray:
        """Return the margins of the rows of a block."""
        row_checks.check_n_features(chunk.shape[1], self.n_features, "the models of the stack")
        of_models = [[margins_of([model], chunk) for model in models] for models in self.members]
        return np.hstack([sum(margins) / len(margins) for margins in of_models])

    def _check_loaded(self) -> None:
        if not self.members or not all(self.members):
            raise ValueError("members should be lists of at least one model")
        if len({model.n_features for models in self.members for model in models}) > 1:
            raise ValueError("all models of a stack should have the same features")


def _mean(models: list[LinearModel]) -> list[LinearModel]:
    """Merge linear models into one with the mean score; return other models unchanged."""
    first = models[0]
    linear = all(type(model) is LinearModel and model.second is None for model in models)
    if not linear or any(sp.issparse(model.weights) for model in models):
        return models
    weights, intercepts = np.zeros(first.weights.shape), np.array([model.intercept_ for model in models])
    for model in models:
        weights += scaled(model.weights, model.scale) / len(models)
    known = np.isfinite(intercepts)  # ignores folds without the class
    mean = np.where(known, intercepts, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return [replace(first, weights=weights, intercept_=mean, scale=None)]


@dataclass(frozen=True, eq=False, repr=False)
class MarginsOutOfFold(Margins):
    """Margins of each row by the models of the rows outside its fold.

    Attributes
    ----------
    of_folds : list, for each fold the models without it
    folding : Folding
    numbers : (n_rows,) or None
        Group or fold number of each row, if the folding is defined by these.
    """

    of_folds: list[list[LinearModel]]
    folding: Folding
    numbers: np.ndarray | None = None

    @property
    def _models(self) -> list[LinearModel]:
        return self.of_folds[0]

    def applied(self, chunk: Chunk, survey: Any = None) -> np.ndarray:
        """Return the margins of the rows of a block, each by the models of its fold."""
        first, n_rows = chunk.first_row, chunk.shape[0]
        numbers = None if self.numbers is None else self.numbers[first : first + n_rows]
        folds = self.folding.numbers(first, n_rows, numbers, 0)
        out = np.empty((n_rows, self.n_columns))
        for fold in np.unique(folds).tolist():
            rows = np.flatnonzero(folds == fold)
            out[rows] = margins_of(self.of_folds[fold], chunk.picked(rows))
        return out
