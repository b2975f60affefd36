"""Quadratic scores of Gaussian features with means and variances of each class."""

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from streamnb.core import label_checks, persistence, row_checks
from streamnb.core.attributes import attribute
from streamnb.kernels import quadratic
from streamnb.models.class_threshold import ClassThreshold
from streamnb.models.curves import Curves
from streamnb.models.decision_rule import DecisionRule
from streamnb.models.linear import LinearModel
from streamnb.problem.schemes import TwoClasses, as_scheme
from streamnb.rows.chunk import Chunk, CSRChunk, DenseChunk
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.stats.dense_tables import Table
from streamnb.stats.privacy import Privacy
from streamnb.stats.totals import whole

_KINDS = {  # of parts of files
    "classes": "[K]",
    "means": "f8[n_features, K]",
    "halves": "f8[n_features, K]",
    "intercept": "f8[K]",
    "options": RowOptions,
    "rule": DecisionRule | ClassThreshold | None,
    "curves": Curves | None,
    "privacy": Privacy | None,
}


@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class JointModel(LinearModel):
    """Scores ln P(y) + ln p(x | y) of all classes with all terms; the margin of two classes is their difference."""

    def _raw_margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        row_checks.check_n_features(chunk.shape[1], self.options.n_taken or self.n_features, type(self).__name__)
        return self.margins_of(*transformed(chunk, survey, self.options))

    def margins_of(self, chunk: Chunk, survey: Any = None) -> np.ndarray:
        """Return the margins of a block of transformed rows, (n_rows, R)."""
        scores = self.log_joint(chunk, survey)
        return scores[:, 1:] - scores[:, :1] if isinstance(self.scheme, TwoClasses) else scores

    def log_joint(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return ln P(y) + ln p(x | y) of transformed rows, (n_rows, K)."""
        raise NotImplementedError

    @property
    def _absent(self) -> np.ndarray:
        """What each feature subtracts from the scores if it is zero, (n_features, K)."""
        raise NotImplementedError

    @cached_property
    def _zeros(self) -> tuple[np.ndarray, np.ndarray]:
        """Score of a row of zeros as (hi, lo), each (K,)."""
        return whole(Table(-self._absent)).row(0)

    def scored(self, chunk: Chunk, of_dense: Any, of_sparse: Any, *tables: np.ndarray) -> np.ndarray:
        """Score rows, (n_rows, K), by kernels; that of sparse rows replaces the terms of zeros by those of values."""
        if isinstance(chunk, CSRChunk):
            hi, lo = (np.tile(part, (chunk.shape[0], 1)) for part in self._zeros)
            of_sparse(chunk.data, chunk.indices, chunk.indptr, *tables, self._absent, hi, lo)
            return hi + lo + self.intercept_
        assert isinstance(chunk, DenseChunk)
        out = np.zeros((chunk.shape[0], len(self.classes_)))
        of_dense(chunk.values, *tables, out)
        return out + self.intercept_


@persistence.register
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class QuadraticModel(JointModel):
    """Scores ``intercept_ - sum_j (x_j - weights_jk)^2 halves_jk``; tables (n_features, K). It has no coef_."""

    halves: np.ndarray

    @classmethod
    def of(cls, means: np.ndarray, variance: np.ndarray, log_priors: np.ndarray, largest: float, **common: Any) -> Self:
        """Make the model from means and variances (K, n_features); `largest` is the largest variance of all rows."""
        least = 1e-15 * largest or 1.0  # keeps the scores of constant features finite
        variance = np.where(variance > 0, variance, least)
        intercept = log_priors - 0.5 * np.log(2.0 * np.pi * variance).sum(axis=1)
        tables = (np.ascontiguousarray(table.T) for table in (means, 0.5 / variance))
        weights, halves = tables
        return cls(weights=weights, intercept_=intercept, halves=halves, **common)

    @attribute
    def coef_(self) -> Any:
        raise self._refusal("coef_")

    def sparsify(self) -> LinearModel:
        raise self._refusal("sparsify()")

    def _refusal(self, what: str) -> ValueError:
        return ValueError(
            f"{what} is of linear scores, and those of Gaussian features with variances of each class are quadratic"
        )

    def shifted(self, shift: Any) -> LinearModel:
        if isinstance(self.scheme, TwoClasses) and np.ndim(shift) == 0:
            shift = np.array([0.0, 1.0]) * shift
        return super().shifted(shift)

    def scaled(self, factor: float, biases: np.ndarray) -> Self:
        """Return the model with its margins multiplied by `factor`, plus `biases`, one for each margin."""
        if isinstance(self.scheme, TwoClasses):
            biases = np.append(0.0, biases)
        return replace(self, halves=self.halves * factor, intercept_=self.intercept_ * factor + biases)

    def __repr__(self) -> str:
        shape = f"{len(self.classes_):,} classes, {self.n_features:,} features"
        return f"<{type(self).__name__}: {shape}, a mean and a variance each>"

    @cached_property
    def _absent(self) -> np.ndarray:
        return self.weights**2 * self.halves

    def log_joint(self, chunk: Chunk, survey: Any) -> np.ndarray:
        return self.scored(chunk, quadratic.score_dense, quadratic.score_csr, self.weights, self.halves)

    def _to_state(self) -> dict[str, Any]:
        tables = {"classes": self.classes_, "means": self.weights, "halves": self.halves, "intercept": self.intercept_}
        state = {**tables, "options": self.options, "rule": self.rule, "curves": self.curves}
        return state if self.privacy_ is None else {**state, "privacy": self.privacy_}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        classes, means, halves, intercept, options, rule, curves, privacy = persistence.parts(
            cls, {"privacy": None, **state}, **_KINDS
        )
        scheme = as_scheme("joint", label_checks.check_labels(classes, "classes"))
        return cls(
            classes_=classes,
            weights=means,
            intercept_=intercept,
            scheme=scheme,
            options=options,
            rule=None if rule is None else rule.restored(classes, scheme),
            curves=None if curves is None else curves.check(scheme, len(classes)),
            privacy_=privacy,
            halves=halves,
        )
