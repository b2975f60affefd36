"""Normal distributions of each class: a pooled covariance (linear scores), or covariances or variances of each."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Self

import numpy as np

from streamnb.core import arguments, persistence, row_checks
from streamnb.core.guesses import attribute
from streamnb.core.threads import one_thread
from streamnb.encoding.learning import opened_through
from streamnb.kernels import quadratic_forms
from streamnb.models.decision_rule import ClassThreshold, Curves, DecisionRule
from streamnb.models.linear import LinearModel
from streamnb.passes.answering import answer
from streamnb.problem.schemes import TwoClasses, as_scheme
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.rows.row_blocks import Chunk, CSRChunk, DenseChunk
from streamnb.stats.privacy import Privacy
from streamnb.stats.tables import Table, whole

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
TILE = 256  # rows multiplied at once; a fixed number, so that rounding in BLAS does not depend on other rows
_OF_CLASSES = {"means": "f8[K, n]", "roots": "f8[_, n, n]", "log_dets": "f8[K]"}


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
        return self.scored(chunk, quadratic_forms.score_dense, quadratic_forms.score_csr, self.weights, self.halves)

    def _to_state(self) -> dict[str, Any]:
        tables = {"classes": self.classes_, "means": self.weights, "halves": self.halves, "intercept": self.intercept_}
        state = {**tables, "options": self.options, "rule": self.rule, "curves": self.curves}
        return state if self.privacy_ is None else {**state, "privacy": self.privacy_}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        classes, means, halves, intercept, options, rule, curves, privacy = persistence.parts(
            cls, {"privacy": None, **state}, **_KINDS
        )
        scheme = as_scheme("joint", row_checks.check_labels(classes, "classes"))
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


def tiles(chunk: Chunk, rows: np.ndarray, tile: int = TILE) -> Iterator[tuple[slice, np.ndarray]]:
    """Yield rows of a block as dense tiles of `tile` rows, padded with zeros, with their numbers."""
    matrix = chunk.to_matrix()
    for first in range(0, len(rows), tile):
        of_tile, out = rows[first : first + tile], np.zeros((tile, chunk.shape[1]))
        values = matrix[of_tile]
        out[: len(of_tile)] = values.toarray() if isinstance(chunk, CSRChunk) else values
        yield slice(first, first + len(of_tile)), out


@persistence.register
@dataclass(frozen=True, eq=False, repr=False, kw_only=True)
class CovarianceModel(LinearModel):
    """Scores ln P(y) + ln p(x | y) of normal rows; for two classes, their difference.

    ``ln p = -(ln det Sigma_y + (x - mu_y)' Sigma_y^-1 (x - mu_y) + n ln 2 pi) / 2``; constant features are
    left out. If all classes share one covariance, the quadratic terms cancel, and scores are linear.

    Attributes
    ----------
    means : (K, n_features)
    roots : (K or 1, n_features, n_features)
        R_y with Sigma_y^-1 = R_y R_y', 0 for constant features; a single one if the classes share it.
    log_dets : (K,)
        Logs of the determinants, which are also part of `intercept_`.
    factor : float
        By which calibration multiplied quadratic scores.
    """

    means: np.ndarray
    roots: np.ndarray
    log_dets: np.ndarray
    factor: float = 1.0

    @attribute
    def coef_(self) -> Any:
        if self.quadratic:
            raise AttributeError(
                "covariance='full' gives each class a covariance of its own: scores are quadratic and have no coef_; "
                "use covariance='pooled' for weights"
            )
        return self.weights.T

    @property
    def quadratic(self) -> bool:
        """True if scores are not linear."""
        return len(self.roots) > 1

    def _raw_margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        if not self.quadratic:
            return super()._raw_margins(chunk, survey)
        halves = self.squared_distances(chunk, survey) * (self.factor / 2.0)
        return self.intercept_ - (halves if len(self.intercept_) > 1 else halves[:, 1:] - halves[:, :1])

    def scaled(self, factor: float, biases: np.ndarray) -> Self:
        """Return the model with its quadratic scores multiplied by `factor`, plus `biases`; densities stay."""
        return replace(self, factor=self.factor * factor, intercept_=self.intercept_ * factor + biases)

    def squared_distances(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return (x - mu_y)' Sigma_y^-1 (x - mu_y) for rows of a checked block, (n_rows, K)."""
        chunk = self.prepared(chunk, survey)
        out = np.empty((chunk.shape[0], len(self.classes_)))
        with one_thread():
            for where, x in tiles(chunk, np.arange(chunk.shape[0])):
                for k, mean in enumerate(self.means):
                    z = (x - mean) @ self.roots[k % len(self.roots)]
                    out[where, k] = np.einsum("ij,ij->i", z, z)[: where.stop - where.start]
        return out

    def log_densities(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return ln p(x | y) for rows of a checked block, (n_rows, K)."""
        n_kept = np.count_nonzero(self.roots[0].any(axis=1))
        return -(self.squared_distances(chunk, survey) + self.log_dets + n_kept * np.log(2.0 * np.pi)) / 2.0

    def of_classes(self, X: Any, density: bool, out: Any = None) -> Any:
        """Return squared distances of rows of any kind to each class, or log densities, (n_rows, K)."""
        function = self.log_densities if density else self.squared_distances
        rows = opened_through(self.options.step, X, labelled=False)
        row_checks.check_n_features(rows.n_features, self.n_features, type(self).__name__)
        return answer(function, rows, len(self.classes_), np.dtype(np.float64), out=out)

    def sparsify(self) -> LinearModel:
        if self.quadratic:
            raise AttributeError("a covariance of each class leaves no weights that could be sparse")
        return super().sparsify()

    def _to_state(self) -> dict[str, Any]:
        scaled = {} if self.factor == 1.0 else {"factor": self.factor}  # 0.2.0 reads models without
        return {**super()._to_state(), **{name: getattr(self, name) for name in _OF_CLASSES}, **scaled}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        factor = arguments.finite_number("factor", state.get("factor", 1.0))
        own_names = (*_OF_CLASSES, "factor")
        linear = LinearModel._from_state({name: value for name, value in state.items() if name not in own_names})
        lengths = {"K": len(linear.classes_), "n": linear.n_features}
        own = {name: persistence.part(state, name, form, lengths) for name, form in _OF_CLASSES.items()}
        if len(own["roots"]) not in (1, len(linear.classes_)):
            raise ValueError(f"roots are of {len(own['roots'])} covariances for {len(linear.classes_)} classes")
        return cls(**{name: getattr(linear, name) for name in LinearModel.__dataclass_fields__} | own, factor=factor)
