"""Row transforms applied before summing or scoring; they use learned values but learn nothing."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp
from scipy.special import ndtri

from streamnb.core import arguments, persistence, row_checks
from streamnb.kernels import row_values
from streamnb.rows.boundary import Domain, Survey, as_chunk, checked, surveyed
from streamnb.rows.row_blocks import Block, Chunk

NONE, LOG1P, QUANTILE_NORMAL = MAPS = ("none", "log1p", "quantile_normal")
ABOVE = float(np.nextafter(-1.0, 0.0))  # the smallest x for which ln(1 + x) exists
NO_PLAIN_FORM = "what is learned of the distribution of columns (quantile_normal, maps=) is in no such file"
N_SAVED = 8  # parts of row options in files
LEAST = 1e-7  # probability given to the values at either end


class LearnedStep(persistence.Parameters):
    """A transform learned from rows; compared, hashed and shown by everything that it holds."""

    sparse = True  # whether its output is sparse
    by_column = False  # whether it maps each column by itself, so that there are as many columns as before
    at_once: int | None = None  # maximum number of rows at once

    @property
    def n_features(self) -> int:
        """Number of input columns."""
        raise NotImplementedError

    @property
    def n_columns(self) -> int:
        """Number of output columns; as many as there are input columns by default."""
        return self.n_features

    def applied(self, chunk: Chunk, survey: Any = None) -> Any:
        """The transformed rows of a block, (n_rows, n_columns), CSR or dense."""
        raise NotImplementedError

    def mapped(self, chunk: Chunk, survey: Survey) -> tuple[Chunk, Survey]:
        """The transformed rows as a checked block."""
        return as_chunk(self.applied(chunk, survey), chunk.first_row)

    def names(self, features: Sequence[str]) -> list[str]:
        """Names of the output columns, from those of the features."""
        raise NotImplementedError

    def plain(self) -> list[Any]:
        """The same in `RowStep` objects, of which portable models and exports are made; a ValueError without such."""
        raise ValueError(NO_PLAIN_FORM)

    def plain_weights(self, weights: Any) -> Any:
        """The weights of the columns that the plain steps make, from those of its own."""
        return weights

    @cached_property
    def _digest(self) -> str:
        return persistence.digest(self)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, LearnedStep) and self._digest == other._digest)

    def __hash__(self) -> int:
        return hash(self._digest)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {self.n_features:,} features, {self._digest}>"


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class LogColumns(LearnedStep):
    """ln(1 + x) in the columns whose values were all above -1; the others stay unchanged."""

    taken: Annotated[np.ndarray, "?[n_features]"]
    by_column = True

    @property
    def n_features(self) -> int:
        return len(self.taken)

    def mapped(self, chunk: Chunk, survey: Survey) -> tuple[Chunk, Survey]:
        row_checks.check_n_features(chunk.shape[1], self.n_features, "maps='log1p'")
        columns = np.flatnonzero(self.taken)
        if not len(columns):
            return chunk, survey
        Domain("maps='log1p'", ABOVE, np.inf, columns).check(chunk, survey)
        return surveyed(chunk.mapped(np.log1p, columns))


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class QuantileNormal(LearnedStep):
    """x becomes Phi^-1(F(x)), where F is the learned distribution, interpolated linearly between quantiles.

    For frequent values, among them the smallest, F is the middle of their step. ``quantiles[:, i]`` are those of
    probability ``i / (n_quantiles - 1)``, exact up to 4,096 distinct values.
    """

    quantiles: Annotated[np.ndarray, "f8[n_features, n_quantiles]"]
    sparse, by_column = False, True

    def _check_loaded(self) -> None:
        quantiles = self.quantiles
        if not quantiles.size or not np.isfinite(quantiles).all() or (np.diff(quantiles, axis=1) < 0.0).any():
            raise ValueError("quantiles should be finite numbers that do not fall")

    @property
    def n_features(self) -> int:
        return len(self.quantiles)

    def mostly_beyond(self, stats: Any) -> np.ndarray:
        """Numbers of features of which mapped rows, with these statistics, mostly have the lowest or highest value."""
        half = 0.5 * -ndtri(LEAST)  # half of the largest value
        if "sum_sq" in stats.tables:  # mean squares of other values are far smaller
            beyond = stats.sum_sq.sum(axis=0) > 2.0 * half**2 * stats.total_weight
        elif "sum" in stats.tables:
            beyond = np.abs(stats.sum.sum(axis=0)) > half * stats.total_weight
        else:
            beyond = np.zeros(self.n_features, bool)
        return np.flatnonzero(beyond)

    def applied(self, chunk: Chunk, survey: Any = None) -> np.ndarray:
        """The mapped rows of a block, (n_rows, n_features)."""
        X: Any = chunk.to_matrix()
        values = X.toarray() if sp.issparse(X) else X
        row_checks.check_n_features(values.shape[1], self.n_features, "the quantile-normal map")
        levels, out = np.linspace(0.0, 1.0, self.quantiles.shape[1]), np.empty(values.shape)
        for j, knots in enumerate(self.quantiles):
            x = values[:, j].astype(np.float64)
            gaps = np.isnan(x)
            if gaps.any():
                row = chunk.first_row + int(np.argmax(gaps))
                raise ValueError(f"X has NaN at row {row}, column {j} (Input X contains NaN.)")
            above, below = np.interp(x, knots, levels), -np.interp(-x, -knots[::-1], -levels[::-1])
            out[:, j] = ndtri(np.clip(0.5 * (above + below), LEAST, 1.0 - LEAST))
        return out


def map_name(step: LearnedStep | None) -> str:
    """The name of a map of columns, or the name that stands for none."""
    if step is None:
        return NONE
    return LOG1P if isinstance(step, LogColumns) else QUANTILE_NORMAL


TRANSFORMS = {"binary": row_values.BINARY, "log1p": row_values.LOG1P, "sqrt": row_values.SQRT}
NORMS = {"l1": row_values.NORM_L1, "l2": row_values.NORM_L2}
FEW_NUMBERS = 1 << 12  # whole numbers below this are transformed once each, if there are at least as many values


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class FeatureScale(LearnedStep):
    """Multiplies each feature by a factor, such as its idf."""

    values: Annotated[np.ndarray, "f8[n_features]"]
    by_column = True

    @property
    def n_features(self) -> int:
        return len(self.values)


def prepared_block(block: Block, options: "RowOptions") -> tuple[Chunk, Survey]:
    """Validate and transform a block, once for tasks that share it; values may be missing if a step is learned."""
    chunk, survey = checked(block, missing=options.takes_missing)
    way = replace(options, binarize=0.0, centre=0.0)  # which only sums use
    return block.once("prepared", way, lambda: transformed(chunk, survey, options))


def transformed(chunk: Chunk, survey: Survey, options: "RowOptions") -> tuple[Chunk, Survey]:
    """Apply the learned step and the transform, scale the features, normalize each row."""
    steps, normalize, scale = options.steps, options.normalize, options.scale
    if options.learned is not None:
        chunk, survey = options.learned.mapped(chunk, survey)
    for n, step in enumerate(steps):
        if n:
            chunk, survey = surveyed(chunk)
        chunk = _stepped(chunk, survey, step)
    if scale is not None:
        row_checks.check_n_features(chunk.shape[1], len(scale.values), "the idf of these rows")
        chunk = chunk.scaled(scale.values)
    if normalize is not None:
        chunk = _normalized(chunk, normalize, 1.0)
    if not steps and normalize is None and scale is None:
        return chunk, survey
    return surveyed(chunk)


def _stepped(chunk: Chunk, survey: Survey, step: str) -> Chunk:
    """Apply one step: a function of each value, or the division of each row by its norm."""
    if step not in TRANSFORMS:
        return _normalized(chunk, *_norm(step))
    lowest = {"sqrt": 0.0, "log1p": np.nextafter(-1.0, 0.0)}.get(step, -np.inf)
    Domain(f"transform={step!r}", lowest).check(chunk, survey)
    counts = survey.whole and not survey.negatives and survey.top < FEW_NUMBERS <= len(chunk.stored)
    values = np.arange(survey.top + 1.0) if counts else chunk.stored  # each of few numbers is transformed once
    stored = np.empty(len(values))
    row_values.transform_values(values, TRANSFORMS[step], stored)
    return chunk.with_values(stored.take(chunk.stored.astype(np.intp)) if counts else stored)


def _normalized(chunk: Chunk, norm: str, length: float) -> Chunk:
    stored = chunk.stored.astype(np.float64)
    row_values.normalize_rows(stored, chunk.row_ends, NORMS[norm])
    return chunk.with_values(stored if length == 1.0 else stored * length)


def _norm(step: str) -> tuple[str, float]:
    """The norm and the target length of a step, 1 by default."""
    norm, _, length = step.partition(":")
    return norm, float(length or 1.0)


def _check_step(step: Any) -> None:
    right = isinstance(step, str) and step in {*TRANSFORMS, *NORMS}
    if not right and isinstance(step, str) and step.partition(":")[0] in NORMS:
        try:
            right = 0.0 < _norm(step)[1] < np.inf
        except ValueError:
            right = False
    if not right:
        raise ValueError(
            f"transform has the step {step!r}; each should be one of {[*TRANSFORMS, *NORMS]}, or a norm with the "
            "target length of rows, such as 'l1:10000'"
        )


@dataclass(frozen=True)
class RowOptions(persistence.InPlace):
    """Transformations of a row before it is summed or scored, in this order."""

    transform: str | tuple[str, ...] | None = None
    normalize: str | None = None
    binarize: float = 0.0
    centre: float = 0.0
    scale: FeatureScale | None = None  # between transform and normalize
    step: LearnedStep | None = None  # before the others, applied by the source of the rows
    learned: LearnedStep | None = None  # before the others, if the source does not apply it: maps, steps of folds

    def __post_init__(self) -> None:
        if isinstance(self.transform, list | tuple):
            for step in self.transform:
                _check_step(step)
            object.__setattr__(self, "transform", tuple(self.transform))
        else:
            arguments.one_of("transform", self.transform, [None, "binary", "log1p", "sqrt"])
        arguments.one_of("normalize", self.normalize, [None, "l1", "l2"])
        for name in ("binarize", "centre"):
            object.__setattr__(self, name, arguments.finite_number(name, getattr(self, name)))

    @property
    def steps(self) -> tuple[str, ...]:
        """The steps of the transform: none, one or several."""
        return (self.transform,) if isinstance(self.transform, str) else self.transform or ()

    @property
    def by_length(self) -> bool:
        """Whether rows are divided by their norm at any point."""
        return self.normalize is not None or any(step not in TRANSFORMS for step in self.steps)

    @property
    def takes_missing(self) -> bool:
        """Whether the learned step takes missing values, as bins do."""
        return self.learned is not None and not self.learned.by_column

    @property
    def n_taken(self) -> int | None:
        """Number of input columns, if a step makes other columns of them."""
        return None if self.learned is None else self.learned.n_features

    def n_made(self, n_features: int) -> int:
        """Number of output columns for `n_features` input columns."""
        return n_features if self.learned is None else self.learned.n_columns

    @classmethod
    def _from_state(cls, state: Any) -> Self:
        parts: list[Any] = [*state, *[None] * (N_SAVED - len(state))]  # older files have fewer
        transform, normalize, binarize, centre, scale, columns, step, learned = parts
        if scale is not None:
            scale = FeatureScale(persistence.array("scale", scale, ["f8"], (len(scale),)))
        if not all(isinstance(one, LearnedStep | None) for one in (columns, step, learned)):
            raise ValueError("steps of rows should be what was learned of rows")
        learned = columns if learned is None else learned
        return cls(transform, normalize, binarize or 0.0, centre or 0.0, scale, step, learned)

    def _to_state(self) -> Any:
        maps = self.learned is not None and self.learned.by_column  # which have a place of their own in files
        saved: list[Any] = [self.transform, self.normalize, self.binarize, self.centre]
        saved += [None if self.scale is None else self.scale.values, self.learned if maps else None]
        saved += [self.step, None if maps else self.learned]
        while len(saved) > 4 and saved[-1] is None:
            saved.pop()
        return saved

    @property
    def seen(self) -> str:
        """A description of the summed values."""
        names = "step", "learned", "transform", "scale", "normalize"
        done = [f"{name}={getattr(self, name)!r}" for name in names if getattr(self, name) is not None]
        return f"X after {' and '.join(done)}" if done else "X"
