"""LinearModel: scores of rows, decisions and probabilities, as NumPy or lazy Dask arrays."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import pairwise
from typing import Annotated, Any, Self

import numpy as np
import scipy.sparse as sp

from streamnb.core import arguments, memory, persistence, row_checks
from streamnb.core.arguments import PerRow, Rows
from streamnb.core.csr import of_saved_parts, saved_parts
from streamnb.core.guesses import available_if
from streamnb.encoding.learning import opened_through
from streamnb.kernels.scores import score_cells
from streamnb.models.decision_rule import ClassThreshold, Curves, DecisionRule
from streamnb.passes.answering import answer
from streamnb.passes.contract import RunOptions
from streamnb.passes.passes import as_task
from streamnb.passes.run import run
from streamnb.passes.statistic import Statistic, added
from streamnb.problem.schemes import (
    Joint,
    LabelReference,
    MultiLabel,
    Nested,
    Reference,
    Scheme,
    as_scheme,
    probabilities,
)
from streamnb.problem.sides import UNLABELLED
from streamnb.rows.boundary import Domain, checked
from streamnb.rows.preparing import RowOptions, transformed
from streamnb.rows.row_blocks import Block, Chunk, DenseChunk
from streamnb.stats.grouping import merged_classes
from streamnb.stats.moment_sums import MOMENTS, TABLE
from streamnb.stats.privacy import Privacy
from streamnb.stats.row_means import RowMeans

FEW_WEIGHTS = 1 / 4  # share of nonzero weights below which these with their places take less than half the space
QUICK_WEIGHTS = 1 / 20  # share of nonzero weights below which sparse weights score faster
IN_FULL = 1 << 28  # bytes up to which weights are made dense for dense rows
TILE = 16  # classes under one bound
MANY = 16 * TILE  # classes from which on bounds pay
OPEN = 0.25  # share of tiles to look through above which all scores take no longer
TRIED = 16  # rows that show whether bounds help
BOUNDS = 1 << 22  # held at once
MARGINS = 1 << 25  # margins held at once
CACHED_MARGINS = 1 << 16  # margins that stay in the cache while they are processed
FEW_ROWS = 512  # rows at a time at least, so that the overhead of a step is small
_KINDS = {  # of parts of files
    "intercept": "f8[R]",
    "options": RowOptions,
    "scale": Annotated[np.ndarray, "f8[n_features]"] | None,
    "rule": DecisionRule | ClassThreshold | None,
    "second": Annotated[np.ndarray, "f8[n_features, R]"] | None,
    "curves": Curves | None,
    "privacy": Privacy | None,
    "deviations": Annotated[np.ndarray, "f8[n_features]"] | None,
}
# parts that older files lack
_OLDER = dict.fromkeys(("reference", "moments", "rule", "second", "curves", "privacy", "deviations"))
_DERIVED = "_scorer", "_tiles", "_in_full", "absent"


def quicker_in_full(weights: sp.csr_array, dense_rows: bool) -> bool:
    """Return whether sparse weights (n_features, R) score rows faster once dense, to the same bits."""
    n_bytes = 8 * weights.shape[0] * weights.shape[1]
    if weights.nnz >= QUICK_WEIGHTS * weights.shape[0] * weights.shape[1]:
        return n_bytes <= IN_FULL or n_bytes <= memory.allowed(None)
    return dense_rows and n_bytes <= IN_FULL


def linear_scores(chunk: Chunk, weights: np.ndarray, intercepts: np.ndarray) -> np.ndarray:
    """Return the scores of rows under dense weights (n_features, R), (n_rows, R); intercepts are added last."""
    scores = np.zeros((chunk.shape[0], weights.shape[1]))
    chunk.add_scores(weights, scores)
    scores += intercepts
    return scores


def scaled(weights: Any, factors: np.ndarray | None) -> Any:
    """Return weights (n_features, R) times a factor of each feature, such as idf; sparse ones stay sparse."""
    if factors is None:
        return weights
    return sp.diags_array(factors) @ weights if sp.issparse(weights) else weights * factors[:, None]


def stored(weights: Any) -> Any:
    """Return weights (n_features, R) as they are saved: all, or only the nonzero ones if these are few."""
    if sp.issparse(weights):
        return saved_parts(weights)
    kept = weights.view(np.int64).T != 0  # -0.0 is kept, too
    if np.count_nonzero(kept) > FEW_WEIGHTS * kept.size:
        return weights
    rows, columns = np.nonzero(kept)
    return {"coef": saved_parts(sp.csr_array((weights.T[kept], (rows, columns)), shape=kept.shape))}


def of_stored(saved: Any) -> Any:
    """Restore weights (n_features, R) from `stored`: dense if they were dense and fit into memory."""
    if isinstance(saved, np.ndarray):
        return persistence.array("weights", saved, ["f8"], (None, None))
    coef = of_saved_parts(saved["coef"] if isinstance(saved, dict) else saved, "weights")
    persistence.array("weights", coef.data, ["f8"], (None,))
    if not isinstance(saved, dict):
        return coef
    limit = memory.allowed(None)
    if 8 * coef.shape[1] > limit:
        raise MemoryError(f"coef_ has {coef.shape[1]:,} columns, more than half of the free memory could hold")
    if 8 * coef.shape[0] * coef.shape[1] > limit:
        return sp.csr_array(coef.T)
    weights = np.zeros(coef.shape[::-1])
    weights[coef.indices, np.repeat(np.arange(coef.shape[0]), np.diff(coef.indptr))] = coef.data
    return weights


class ClassTiles:
    """Weights (n_features, K) and intercepts (K,), with the largest of each tile of classes."""

    def __init__(self, weights: np.ndarray, intercept: np.ndarray):
        starts = np.arange(0, len(intercept), TILE)
        self._of_classes, self._n = (weights, intercept), len(starts)
        self._largest = np.maximum.reduceat(weights, starts, axis=1), np.maximum.reduceat(intercept, starts)

    def top_classes(self, chunk: Chunk) -> np.ndarray | None:
        """The first class with the highest score of each row; None if bounds are unsafe or do not help."""
        if not chunk.stored.min(initial=1.0) > 0.0:
            return None
        top, step = [], max(BOUNDS // self._n, 1)
        for start, stop in pairwise([0, *range(TRIED, chunk.shape[0], step), chunk.shape[0]]):
            of_rows = self._top_classes(chunk.of_rows(start, stop))
            if of_rows is None:
                return None
            top.append(of_rows)
        return np.concatenate(top)

    def _top_classes(self, chunk: Chunk) -> np.ndarray | None:
        bounds = linear_scores(chunk, *self._largest)
        if not np.isfinite(bounds).all():  # some weights may be infinite, and scores NaN
            return None
        likeliest = np.zeros(bounds.shape, np.bool_)
        likeliest[np.arange(len(bounds)), bounds.argmax(axis=1)] = True
        best, top = np.full(len(bounds), -np.inf), np.zeros(len(bounds), np.intp)
        self._look_through(chunk, likeliest, best, top)
        still_open = (bounds >= best[:, None]) & ~likeliest
        if still_open.mean() > OPEN:
            return None
        self._look_through(chunk, still_open, best, top)
        return top

    def _look_through(self, chunk: Chunk, tiles: np.ndarray, best: np.ndarray, top: np.ndarray) -> None:
        """Replace the best score of each row and its class by better ones of its `tiles`, (n_rows, n_tiles) bool."""
        for tile in np.flatnonzero(tiles.any(axis=0)).tolist():
            rows, first = np.flatnonzero(tiles[:, tile]), tile * TILE
            scores = linear_scores(chunk.picked(rows), *(part[..., first : first + TILE] for part in self._of_classes))
            of_tile = scores.argmax(axis=1)
            score, classes = scores[np.arange(len(rows)), of_tile], first + of_tile
            better = (score > best[rows]) | ((score == best[rows]) & (classes < top[rows]))
            best[rows[better]], top[rows[better]] = score[better], classes[better]


def _has_probabilities(model: LinearModel) -> bool:
    return model.scheme.has_probabilities


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class LinearModel:
    """Weights and intercepts, with all transforms of rows.

    Attributes
    ----------
    classes_ : (K,) labels
    coef_ : (R, n_features)
        One row if K = 2 (positive for `classes_[1]`); else one for each class (joint, ovr), for each class except
        the reference, or for each pair (0, 1), (0, 2), .. (ovo, positive for the later class).
    intercept_ : (R,)
        Scores are ``T(transformed X) @ coef_.T + intercept_``, T(x) being what the family is linear in: x itself
        for most, [x > binarize] for Bernoulli, abs(x - centre) for Laplace, ln x for chi-squared and Dirichlet. For
        beta T(x) is ln x, and ``ln(1 - X) @ second`` adds to the scores. If the model was calibrated by
        isotonic regression, `curves` replace the scores, which are then not linear.
    privacy_ : Privacy or None
        The protection by noise in the statistics; None without noise.
    deviations : (n_features,), optional
        Standard deviations of what `coef_` multiplies, if columns have different units and these are known. They are
        used to rank features.
    scheme, options, moments, scale, rule
        The problems that rows of `coef_` solve, the transforms of rows, the functions T, idf, and the decision rule.

    Examples
    --------
    >>> import streamnb as snb
    >>> X, y = [[2, 0], [3, 1], [0, 4], [1, 5]], ["cat", "cat", "dog", "dog"]
    >>> linear = snb.solve(snb.scan(X, y), "poisson")[0]
    >>> linear.predict([[3, 0], [0, 3]]).tolist()
    ['cat', 'dog']
    """

    classes_: np.ndarray
    weights: Any  # (n_features, R), feature-major as the kernels want it; a CSR array once sparsified
    intercept_: np.ndarray
    scheme: Scheme
    options: RowOptions = field(default_factory=RowOptions)
    moments: Mapping[str, np.ndarray | None] = field(default_factory=lambda: {"sum": None})
    # the functions of x that weights multiply, by moment, with their columns; None for all columns
    scale: np.ndarray | None = None  # idf
    rule: DecisionRule | ClassThreshold | None = None  # if predictions are not always the most probable class
    second: np.ndarray | None = None  # (n_features, R), weights of ln(1 - x), for beta columns
    curves: Curves | None = None  # if calibrated by isotonic regression
    privacy_: Privacy | None = field(default=None, kw_only=True)  # what noise in the statistics protects
    deviations: np.ndarray | None = field(default=None, kw_only=True)  # (n_features,), of what weights multiply

    @property
    def coef_(self) -> Any:
        return self.weights.T

    @property
    def n_features(self) -> int:
        return self.weights.shape[0]

    @property
    def _n_taken(self) -> int:
        """Number of columns of the rows it takes; subclasses may derive other columns from these."""
        return self.n_features

    def __repr__(self) -> str:
        kept = self.weights.nnz if sp.issparse(self.weights) else np.count_nonzero(self.weights)
        shape = f"{len(self.intercept_):,} x {self.n_features:,}"
        shown = f"<LinearModel: {len(self.classes_):,} classes, {self.scheme.name}; weights {shape}, {kept:,} not zero"
        return f"{shown}>" if self.privacy_ is None else f"{shown}; {self.privacy_}>"

    def sparsify(self) -> LinearModel:
        """Return a new model with weights in sparse form, which takes less memory if most are zero.

        The model itself is unchanged (`LinearNB.sparsify` follows scikit-learn and changes the estimator in place).
        """
        return replace(self, weights=sp.csr_array(self.weights))

    def shifted(self, shift: Any) -> LinearModel:
        """Return a copy with `shift` added to `intercept_`: a number if that has one entry, else (R,)."""
        if self.curves is not None:
            raise ValueError("the model was calibrated by curves, and its scores are not linear; shift it before")
        given = np.asarray(shift)
        if given.dtype.kind not in "iuf" or not np.isfinite(given).all():
            raise ValueError(f"intercept_shift={shift!r} should be finite numbers")
        if given.shape != self.intercept_.shape and (given.shape or len(self.intercept_) > 1):
            raise ValueError(
                f"intercept_shift has shape {given.shape}; it should have one number for each row of coef_: "
                f"shape {self.intercept_.shape}"
            )
        return replace(self, intercept_=self.intercept_ + given)

    def with_threshold(self, threshold: Any, class_: Any = None, *, odds: bool | None = None) -> LinearModel:
        """Return a copy that predicts a class wherever it scores `threshold` or more; None removes the threshold.

        The arguments are those of `LinearNB.set_threshold`. With `odds`, the default if there are probabilities, the
        threshold for more than two classes is on the log-odds of the probability, not on `decision_function`.
        """
        if isinstance(self.rule, DecisionRule):
            raise ValueError("the model decides by loss= or threshold=; use refit(loss=None, threshold=None) before")
        if threshold is None:
            return replace(self, rule=None)
        odds = self.scheme.has_probabilities if odds is None else odds
        return replace(self, rule=ClassThreshold.of(threshold, class_, self.classes_, self.scheme, odds))

    def decision_function(self, X: Rows, *, out: Any = None) -> Any:
        """Return scores: (n_rows,) for two classes, positive for `classes_[1]`; else (n_rows, K).

        X is anything that `scan` takes. The result is a NumPy array, or a lazy Dask array if X is one. With `out`
        (anything that takes slices of rows, such as a Zarr array) it is written there block by block.
        """
        width = self.scheme.width(len(self.classes_))
        return self.answer(X, self.scheme.class_scores, width, np.dtype(np.float64), out)

    def predict(self, X: Rows, *, out: Any = None) -> Any:
        """Return labels, (n_rows,), or a 0/1 indicator (n_rows, K); `X` and `out` as for `decision_function`."""
        if self.scheme.multilabel:
            return self._answered(X, self.predicted, len(self.classes_), np.dtype(np.int64), out)
        return self._answered(X, self.predicted, None, self._answers.dtype, out)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Return logs of the class probabilities, (n_rows, K); `X` and `out` as for `decision_function`."""
        return self.answer(X, self.scheme.log_proba, len(self.classes_), np.dtype(np.float64), out)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Return class probabilities, (n_rows, K); `X` and `out` as for `decision_function`.

        Two classes: the sigmoid of the score; joint: softmax; ovr: sigmoids divided by their sum; reference: softmax
        over the scores with 0 for the reference class; multi-label: the sigmoid of each label's score; ovo has none.
        """
        return self.answer(X, self._probabilities, len(self.classes_), np.dtype(np.float64), out)

    def score(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None) -> float:
        """Return the accuracy, weighted by `sample_weight`; for multi-label all labels of a row must be right.

        Rows that the workers of an active Dask client can open are scored there.
        """
        rows = opened_through(self.options.step, X, y, sample_weight)
        row_checks.check_labels_of_model(rows.label_names, self.classes_)
        means = run(as_task(_Hits(self)), rows, RunOptions())[0].means
        row_checks.check_total_weight(means.weight)
        return means.mean("right")

    def decided(self, margins: np.ndarray) -> np.ndarray:
        """Return the decision for each row, numbered as by `Scheme.decide`; -1 if the row is rejected."""
        return self.scheme.decide(margins) if self.rule is None else self.rule.decide(self.scheme, margins)

    def predicted(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return the predictions for the rows of a checked block."""
        ruled = self.rule is not None
        decided = self.finished(self.decided, chunk, survey) if ruled else top_classes(self, chunk, survey)
        return decided if self.scheme.multilabel else self._answers[decided]

    @property
    def _answers(self) -> np.ndarray:
        """All possible predictions: the classes, and last the label of rejected rows."""
        return self.classes_ if self.rule is None else self.rule.labels(self.classes_)

    def _hits(self, predicted: np.ndarray, y: Any) -> np.ndarray:
        """Return where predictions equal the labels, (n_rows,) bool."""
        if isinstance(self.scheme, Nested) and not sp.issparse(y):
            return self.scheme.hits(predicted, y, self.classes_)
        row_checks.check_kind(y, self.classes_, self.scheme.multilabel)
        if self.scheme.multilabel:
            return (predicted == y.toarray()).all(axis=1)
        merged_classes(self.classes_, y)  # raises an error for labels of another kind, none of which could match
        return predicted == y

    def _probabilities(self, margins: np.ndarray) -> np.ndarray:
        return probabilities(self.scheme, margins)

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name not in _DERIVED}

    # ---- margins of a block ------------------------------------------------------------------------------------------

    @cached_property
    def _scorer(self) -> tuple[Any, np.ndarray]:
        """Weights that include idf, and the intercepts."""
        weights, intercept = scaled(self.weights, self.scale), self.intercept_
        if self.absent.any():
            intercept = intercept + self.absent @ weights
        return weights if sp.issparse(weights) else memory.cache_aligned(weights), intercept

    @cached_property
    def _in_full(self) -> np.ndarray:
        """Dense copy of sparse weights, for rows that these score faster."""
        return self._scorer[0].toarray()

    @cached_property
    def absent(self) -> np.ndarray:
        """Function of an absent value, (n_features,); `prepared` returns values relative to it."""
        absent = np.zeros(self.n_features)
        for moment, columns in self.moments.items():
            absent[slice(None) if columns is None else columns] = TABLE[moment].of_absent(self.options)
        return absent

    def prepared(self, chunk: Chunk, survey: Any) -> Chunk:
        """Return a checked block as the weights take it, except for idf."""
        row_checks.check_n_features(chunk.shape[1], self.options.n_taken or self.n_features, type(self).__name__)
        chunk, survey = transformed(chunk, survey, self.options)
        for moment, columns in self.moments.items():
            if TABLE[moment].partial:
                Domain(type(self).__name__, *TABLE[moment].domain, columns, self.options.seen).check(chunk, survey)
        for moment, columns in self.moments.items():
            if moment != "sum":
                chunk = chunk.mapped(partial(TABLE[moment].of, options=self.options), columns)
        return chunk

    def margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return the scores of the rows of weights for a checked block, calibrated by `curves` if any, (n_rows, R)."""
        margins = self._raw_margins(chunk, survey)
        return margins if self.curves is None else self.curves.applied(self.scheme, margins)

    def _raw_margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return the scores of the rows of weights before `curves`, (n_rows, R)."""
        prepared, (weights, intercept) = self.prepared(chunk, survey), self._scorer
        out = np.zeros((prepared.shape[0], weights.shape[1]))
        if sp.issparse(weights) and quicker_in_full(weights, isinstance(prepared, DenseChunk)):
            weights = self._in_full
        if sp.issparse(weights):
            for where, rows in prepared.sparse(np.arange(prepared.shape[0])):
                score_cells(*rows, weights.data, weights.indices, weights.indptr, 0, out[where])
        else:
            prepared.add_scores(weights, out)
        if self.second is not None:  # the weights of ln(1 - x)
            columns, log1m = np.flatnonzero(self.second.any(axis=1)), TABLE["log1m_sum"]
            chunk, survey = transformed(chunk, survey, self.options)
            Domain(type(self).__name__, *log1m.domain, columns, self.options.seen).check(chunk, survey)
            chunk.mapped(partial(log1m.of, options=self.options), columns).add_scores(self.second, out)
        out += intercept
        return out

    @cached_property
    def _tiles(self) -> ClassTiles | None:
        """Tiles of classes where the decision is the highest of many linear scores."""
        linear = type(self) is LinearModel and self.second is None and self.curves is None
        decided = linear and self.scheme.name in ("joint", "ovr") and len(self.classes_) >= MANY
        return ClassTiles(*self._scorer) if decided and not sp.issparse(self.weights) else None

    @property
    def _n_scores(self) -> int:
        """Numbers computed for each row of data."""
        return max(len(self.intercept_), len(self.classes_))

    def finished(self, finish: Callable, chunk: Chunk, survey: Any) -> np.ndarray:
        """Apply `finish` to the margins of a checked block, in batches of rows if these are many."""
        answers = [finish(margins) for _, margins in self.few_margins(chunk, survey)]
        return answers[0] if len(answers) == 1 else np.concatenate(answers)

    def few_margins(self, chunk: Chunk, survey: Any) -> Iterator[tuple[slice, np.ndarray]]:
        """Yield the margins of batches of rows of a checked block, with the slice of rows."""
        step = min(max(CACHED_MARGINS // self._n_scores, FEW_ROWS), max(MARGINS // self._n_scores, 1))
        for start in range(0, max(chunk.shape[0], 1), step):
            yield slice(start, start + step), self.margins(chunk.of_rows(start, start + step), survey)

    # ---- rows of any kind --------------------------------------------------------------------------------------------

    def answer(self, X: Any, finish: Callable, width: int | None, dtype: np.dtype, out: Any) -> Any:
        """Apply `finish` to the margins of each block, (n_rows,) or (n_rows, width), in the kind of X."""
        return self._answered(X, partial(self.finished, finish), width, dtype, out)

    def _answered(self, X: Any, function: Callable, width: int | None, dtype: np.dtype, out: Any) -> Any:
        """Apply a function to each checked block, in the kind of X."""
        rows = opened_through(self.options.step, X, labelled=False)
        row_checks.check_n_features(rows.n_features, self._n_taken, type(self).__name__)
        return answer(function, rows, width, dtype, out=out)

    def save(self, path: Any) -> None:
        """Write to one file: typed JSON and .npy in a zip, no pickle; read it with `snb.load`."""
        persistence.save(path, self)

    def _to_state(self) -> dict[str, Any]:
        return {
            "classes": self.classes_,
            "weights": stored(self.weights),
            "intercept": self.intercept_,
            "scheme": self.scheme.name,
            "reference": None if self.scheme.reference is None else self.classes_[self.scheme.reference].item(),
            "options": self.options,
            "moments": self.moments,
            "scale": self.scale,
            "rule": self.rule,
            "second": self.second,
            **({} if self.curves is None else {"curves": self.curves}),
            **({} if self.privacy_ is None else {"privacy": self.privacy_}),
            **({} if self.deviations is None else {"deviations": self.deviations}),
        }

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> LinearModel:
        state = _OLDER | persistence.known(cls, state, "classes", "weights", "scheme", "binarize", *_OLDER, *_KINDS)
        classes, weights = row_checks.check_labels(state["classes"], "classes"), of_stored(state["weights"])
        shape, lengths = weights.shape, dict(zip(("n_features", "R"), weights.shape, strict=True))
        intercept, options, scale, rule, second, curves, privacy, deviations = (
            persistence.part(state, name, kind, lengths) for name, kind in _KINDS.items()
        )
        # before 0.2, presence was the only function of x
        moments = state["moments"] or {"sum" if state["binarize"] is None else "above": None}
        for moment in moments:
            arguments.one_of("moments", moment, MOMENTS)
        columns = [persistence.part(moments, name, "i8[_]") for name in moments if moments[name] is not None]
        if columns and not np.array_equal(np.sort(np.concatenate(columns)), np.arange(shape[0])):
            raise ValueError(f"moments should have each of the {shape[0]} features once")
        name, reference = state["scheme"], state["reference"]
        multilabel = name in (MultiLabel.name, LabelReference.name)
        of_labels = name == LabelReference.name
        if not isinstance(name, str) or (not of_labels and (reference is not None) != (name == Reference.name)):
            raise ValueError(f"scheme is {name!r} with reference={reference!r}")
        if of_labels:
            name, reference = "reference", UNLABELLED if reference is None else reference
        elif multilabel or len(classes) == 2:
            name = "joint"
        if len(classes) > shape[1] + 1:  # checked before anything is allocated for every pair
            raise ValueError(f"there are {shape[1]} rows of weights for {len(classes)} classes")
        scheme = as_scheme(name, classes, reference, multilabel)
        if scheme.n_rows(len(classes)) != shape[1]:
            raise ValueError(f"there are {shape[1]} rows of weights for scheme={name!r} and {len(classes)} classes")
        rule = None if rule is None else rule.restored(classes, scheme)
        curves = None if curves is None else curves.check(scheme, len(classes))
        parts = classes, weights, intercept, scheme, options, moments, scale, rule, second, curves
        return cls(*parts, privacy_=privacy, deviations=deviations)


def top_classes(model: LinearModel, chunk: Chunk, survey: Any) -> np.ndarray:
    """Return what the scheme decides for each row of a checked block, whatever the rule."""
    top = None
    if chunk.stored.size > model.n_features and model._tiles is not None:  # of fewer values, tiles take longer
        top = model._tiles.top_classes(model.prepared(chunk, survey))
    return model.finished(model.scheme.decide, chunk, survey) if top is None else top


@dataclass(eq=False)
class _Hits(Statistic):
    """How many rows a model predicts correctly."""

    model: LinearModel
    means: Annotated[RowMeans, added] = field(default_factory=lambda: RowMeans.of_values(("right",)))
    title = "scoring"

    def add_block(self, block: Block) -> None:
        hits = self.model._hits(self.model.predicted(*checked(block)), row_checks.check_y(block.y))
        self.means.add([hits], block.weights)


def sums_of_logs(log_probabilities: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the sum of the finite entries of each row and the number of those that are -inf, each (K,)."""
    impossible = np.isneginf(log_probabilities)
    return np.where(impossible, 0.0, log_probabilities).sum(axis=1), impossible.sum(axis=1)


@dataclass(frozen=True, eq=False)
class OddsModel(LinearModel):
    """Scores from the effect of stored values on a row of zeros: ln p(present) - ln p(absent).

    As -inf cannot be subtracted, K more columns of weights count impossible events if there are any.
    """

    @classmethod
    def of(
        cls,
        classes: np.ndarray,
        present: np.ndarray,
        absent: np.ndarray,
        zeros: tuple[np.ndarray, np.ndarray],
        log_priors: np.ndarray,
        **options: Any,
    ) -> Self:
        """Make the model of log probabilities (K, columns); `zeros` has their sums for a row of zeros."""
        weights, intercept = _finite(present) - _finite(absent), zeros[0] + log_priors
        impossible = [np.isneginf(table) for table in (present, absent)]
        if impossible[0].any() or impossible[1].any():
            counts = impossible[0].astype(np.float64) - impossible[1]
            weights, intercept = np.vstack([weights, counts]), np.concatenate([intercept, zeros[1]])
        return cls(classes, np.ascontiguousarray(weights.T), intercept, Joint(), **options)

    @property
    def counts_impossible(self) -> bool:
        """Whether there are columns of weights that count impossible events."""
        return self.weights.shape[1] > len(self.classes_)

    def _raw_margins(self, chunk: Chunk, survey: Any) -> np.ndarray:
        """Return ln P(y) + ln P(x | y), (n_rows, K)."""
        scores, impossible = np.split(super()._raw_margins(chunk, survey), [len(self.classes_)], axis=1)
        return np.where(impossible > 0.5, -np.inf, scores) if impossible.shape[1] else scores


def _finite(log_probabilities: np.ndarray) -> np.ndarray:
    return np.where(np.isneginf(log_probabilities), 0.0, log_probabilities)
