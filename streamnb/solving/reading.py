"""Reads the rows once for the loss and its gradient, in sums that merge."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from operator import add
from typing import Annotated, Any, NamedTuple, Self

import numpy as np

from streamnb.core import persistence, row_checks
from streamnb.core.persistence import described, shown
from streamnb.core.threads import one_thread
from streamnb.kernels import descent
from streamnb.kernels.columns import add_products_columns, score_columns
from streamnb.kernels.lanes import LANES
from streamnb.models.linear import linear_scores
from streamnb.passes.contract import ANY_SIZE, PassTask, Report, Wants
from streamnb.passes.passes import Pass, TotalsOfRead
from streamnb.passes.statistic import Mergeable
from streamnb.rows.preparing import RowOptions, prepared_block
from streamnb.rows.row_blocks import Block, Chunk, ColumnForm, CSRChunk, DenseChunk, Forms
from streamnb.rows.splits import Folding
from streamnb.solving.objectives import Objective

CACHED_SCORES = 1 << 18, 1 << 19  # scores of a batch, of dense and of sparse rows, so that it stays in the cache
SCORES_SIDE_BY_SIDE = 1 << 20  # of dense rows by several models, whose judging takes a while for each batch
MIN_ROWS, MAX_ROWS = 64, 1 << 16
MANY_MODELS = 32  # rows of weights
FEW_MODELS = 8  # rows of weights, for which a loop along the columns of a row is faster
TILE = 32  # dense rows whose slopes stay in the L1 cache
SIDE_BY_SIDE = 1 << 20  # bytes of the weights of models that share products of dense rows
CACHED_WEIGHTS = 3 << 20  # bytes of weights that stay in the cache
WEIGHTS_KEY = "penalties or start"  # key of the digest of a read's weights: if it alone differs, these do
MAX_STORED = 1 << 31  # values with 4-byte positions
BLOCK_BYTES = 32 << 20  # of rows that several models read; larger blocks bring all weights into the cache less often


def power_above(values: Any) -> np.ndarray:
    """The smallest powers of two that are larger than the values."""
    return np.ldexp(1.0, np.frexp(values)[1])


@dataclass(eq=False)
class ReadSums(Mergeable):
    """The sums of one read, on grids, so that they are the same to the last bit in any order and grouping.

    Attributes
    ----------
    losses : (T, G)
        At T lengths of the step, for G groups of rows of weights; none is above 2 * top.
    gradient : (n_features + 1, R), intercepts last; (0, R) along a line
    largest : (G,)
        The largest loss of a row at the first length.
    rows : int
        The number of rows read.
    """

    losses: Annotated[np.ndarray, np.add]
    gradient: Annotated[np.ndarray, np.add]
    largest: Annotated[np.ndarray, np.maximum]
    top: float
    rows: Annotated[int, add] = 0

    def __add__(self, other: "ReadSums") -> "ReadSums":
        total = super().__add__(other)
        np.minimum(total.losses, 2.0 * self.top, out=total.losses)
        return total

    def absorbing(self, other: "ReadSums") -> "ReadSums":
        """The same, with the gradient in place of that of `self`, as it may be large."""
        gradient, none = np.add(self.gradient, other.gradient, out=self.gradient), np.zeros(0)
        return replace(replace(self, gradient=none) + replace(other, gradient=none), gradient=gradient)


@dataclass(frozen=True, eq=False)
class RowBatch:
    """A batch of consecutive rows of a block, with labels, targets and weights; `where` is its slice.

    `forms` are those of the block, if it is kept in memory: the values by column are then made once for all reads.
    """

    where: slice
    chunk: Chunk
    y: Any
    targets: np.ndarray
    weight: np.ndarray
    shared: bool = False  # whether several models read it
    kept: dict[str, ColumnForm] = field(default_factory=dict)  # cached for all of them
    forms: Forms | None = None

    def columns(self, table: np.ndarray, cached: int = CACHED_WEIGHTS) -> ColumnForm | None:
        """The values by column where weights exceed the cache or the block is kept in memory; else None.

        None, too, for few rows of weights or few values, which do not pay for the conversion.
        """
        n_features, width = table.shape
        cached = cached if self.forms is None else 0
        worth = table.nbytes > cached and width >= LANES // 2 and n_features <= self.chunk.stored.size < MAX_STORED
        if not worth or not isinstance(self.chunk, CSRChunk):
            return None
        if (columns := self.kept.get("columns")) is None:
            made, name = self.chunk.columns, (self.where.start, self.where.stop)
            forms = self.forms if width < MANY_MODELS else None  # else a conversion takes a small part of the time
            self.kept["columns"] = columns = made() if forms is None else forms.get(name, made)
        return columns


@dataclass(frozen=True, eq=False)
class ReadTask(PassTask):
    """The loss and its gradient at `weights`, or the losses at `weights` plus each of `lengths` times `step`.

    `grid` (n_features + 1,) are powers of two above the sums of each feature, `top` one above the losses that matter.
    """

    objective: Objective
    options: RowOptions
    classes: np.ndarray
    weights: np.ndarray  # (n_features + 1, R), intercepts last, for unscaled rows
    grid: np.ndarray
    top: float
    class_weight: np.ndarray | None = None  # (K,)
    step: np.ndarray | None = None  # like weights
    lengths: np.ndarray | None = None  # (T,)
    title = "read"

    @property
    def fused(self) -> "type[SharedRead]":
        return SharedRead

    @classmethod
    def at_zero(
        cls,
        objective: Objective,
        options: RowOptions,
        classes: np.ndarray,
        shape: tuple[int, int],
        class_weight: np.ndarray | None = None,
    ) -> Self:
        """A read at weights of 0 for a shape (n_features, R), from which others are made."""
        n_features, n_rows = shape
        weights, grid = np.broadcast_to(0.0, (n_features + 1, n_rows)), np.broadcast_to(1.0, n_features + 1)
        return cls(objective, options, classes, weights, grid, 1.0, class_weight)

    def partial(self) -> ReadSums:
        n_groups = self.weights.shape[1] if self.objective.of_rows else 1
        gradient = np.zeros(self.weights.shape if self.step is None else (0, self.weights.shape[1]))
        n_lengths = 1 if self.lengths is None else len(self.lengths)
        return ReadSums(np.zeros((n_lengths, n_groups)), gradient, np.zeros(n_groups), self.top)

    def total(self, arrays: Mapping[str, Any]) -> ReadSums:
        empty = self.partial()
        for name in ("losses", "gradient", "largest"):
            persistence.array(name, arrays[name], ["f8"], getattr(empty, name).shape)
        return empty.of_arrays({name: part for name, part in arrays.items() if name != "top"})  # which older files have

    def add(self, partial: ReadSums, block: Block) -> None:
        """Add one block of rows."""
        alone = SideBySide([self])
        for rows in self.batches(block):
            alone.add([partial], rows, rows.weight[:, None])

    def batches(self, block: Block, shared: bool = False, n_dense: int = 1) -> Iterator["RowBatch"]:
        """The rows of a block in prepared batches; sparse ones are the same for all reads of these rows.

        Dense ones are scored by `n_dense` models at a time.
        """
        chunk, _ = prepared_block(block, self.options)
        row_checks.check_n_features(chunk.shape[1], len(self.weights) - 1, "the first read")
        y, targets, weight = self.objective.rows(block, self.classes)
        same = block.forms is not None and block.forms.are_of(block.X) and self.options == RowOptions()
        forms = block.forms if same else None
        n_rows, width, n_scores = block.n_rows, self.weights.shape[1], CACHED_SCORES[isinstance(chunk, CSRChunk)]
        if n_dense > 1 and isinstance(chunk, DenseChunk):
            width, n_scores = n_dense * width, SCORES_SIDE_BY_SIDE
        n_parts = -(-n_rows // min(max(n_scores // width, MIN_ROWS), MAX_ROWS))
        for part in range(n_parts):  # of about equal size
            where = slice(part * n_rows // n_parts, (part + 1) * n_rows // n_parts)
            rows = chunk.of_rows(where.start, where.stop)
            yield RowBatch(where, rows, y[where], targets[where], weight[where], shared, forms=forms)

    def about(self) -> dict[str, str]:
        """As for any task, with weights compared by a digest."""
        plain = dict(vars(self))
        weights = [plain.pop(name) for name in ("weights", "grid", "step", "lengths")]
        plain = {name: shown(value) for name, value in plain.items()}
        return {"the task": self.name, **plain, WEIGHTS_KEY: persistence.digest(weights)}


@dataclass(frozen=True, eq=False)
class SideBySide:
    """Reads of one kind, which add up a batch of rows in common products, each to the bits as it would alone."""

    tasks: Sequence[ReadTask]

    @classmethod
    def groups(cls, tasks: Sequence[ReadTask]) -> "list[SideBySide]":
        """The reads in groups of one kind, whose weights stay in the cache."""
        groups: dict[Any, list[list[ReadTask]]] = {}
        for task in tasks:
            lengths = None if task.lengths is None else task.lengths.tobytes()
            of_kind = groups.setdefault((type(task.objective), task.weights.shape, lengths), [[]])
            if of_kind[-1] and (len(of_kind[-1]) + 1) * task.weights.nbytes > SIDE_BY_SIDE:
                of_kind.append([])
            of_kind[-1].append(task)
        return [cls(group) for of_kind in groups.values() for group in of_kind]

    @cached_property
    def weights(self) -> np.ndarray:
        """(n_features + 1, M * R), for M reads."""
        return _beside([task.weights for task in self.tasks])

    @cached_property
    def step(self) -> np.ndarray:
        return _beside([task.step for task in self.tasks])

    @cached_property
    def grids(self) -> np.ndarray:
        """Of a read alone (n_features + 1,), of others that of each row of weights, (n_features + 1, M * R)."""
        if len(self.tasks) == 1:
            return 3.0 * self.tasks[0].grid
        width = self.tasks[0].weights.shape[1]
        return 3.0 * np.repeat([task.grid for task in self.tasks], width, axis=0).T.copy()

    def add(self, sums: Sequence[ReadSums], rows: RowBatch, weight: np.ndarray) -> np.ndarray:
        """Add a batch of rows, weighed (n_rows, M) in each read, and return their scores, (n_rows, M, R)."""
        task, targets, columns, n_reads = self.tasks[0], rows.targets, rows.columns(self.weights), len(self.tasks)
        for of_read in sums:
            of_read.rows += len(weight)
        if any(each.class_weight is not None for each in self.tasks):
            codes = targets if targets.ndim == 1 else own_class(targets)
            weight = weight * np.column_stack([_factors(each, codes) for each in self.tasks])
        targets = np.repeat(targets, n_reads, axis=0) if n_reads > 1 else targets
        tops = np.array([each.top for each in self.tasks])
        scores = scores_of(rows.chunk, self.weights[:-1], self.weights[-1], columns)
        shape = len(weight), n_reads, -1

        def add_losses(scores: np.ndarray, length: int) -> np.ndarray:
            slopes, losses = task.objective.losses(scores.reshape(len(weight) * n_reads, -1), targets)
            n_losses = losses.shape[1]
            total, largest = np.zeros((2, n_reads, n_losses))
            descent.add_losses(losses.reshape(shape), slopes.reshape(shape), weight, tops, total, largest)
            for of_read, top, some, most in zip(sums, tops, total, largest, strict=True):
                of_read.losses[length] = np.minimum(of_read.losses[length] + some, 2.0 * top)
                np.maximum(of_read.largest, most, out=of_read.largest)
            return slopes

        if task.lengths is not None:
            slopes = scores_of(rows.chunk, self.step[:-1], self.step[-1], columns)
            for number, length in enumerate(task.lengths):
                add_losses(scores + length * slopes, number)
            return scores.reshape(shape)
        residual = add_losses(scores, 0).reshape(scores.shape)
        gradient = sums[0].gradient if n_reads == 1 else np.zeros(self.weights.shape)
        width = task.weights.shape[1]
        last = np.repeat([3.0 * each.grid[-1] for each in self.tasks], width)
        descent.add_intercepts(residual, last, gradient[-1])
        if rows.shared:  # sums of columns stay in registers, which is faster once the columns exist, whatever the cache
            columns = rows.columns(self.weights, cached=0)
        add_products(rows.chunk, columns, residual, self.grids[:-1], gradient)
        for m, of_read in enumerate(sums if n_reads > 1 else []):
            of_read.gradient += gradient[:, m * width : (m + 1) * width]
        return scores.reshape(shape)


def _beside(tables: Sequence[Any]) -> np.ndarray:
    return tables[0] if len(tables) == 1 else np.concatenate(tables, axis=1)


def _factors(task: ReadTask, codes: np.ndarray) -> np.ndarray:
    """The class weights of rows."""
    return np.ones(len(codes)) if task.class_weight is None else task.class_weight[codes]


class FactoredWeights(NamedTuple):
    """Weights (n_features + 1, R) as a product of low rank: ``weights @ axes``, plus `base` on the intercepts.

    `weights` (n_features + 1, M) and `axes` (M, R) take less memory than all weights where M is small.
    """

    weights: np.ndarray
    axes: np.ndarray
    base: np.ndarray

    def expanded(self) -> np.ndarray:
        """The weights as one array."""
        with one_thread():
            weights = self.weights @ self.axes
        weights[-1] += self.base
        return weights


JudgedWeights = np.ndarray | FactoredWeights


def prepared_alike(tasks: Sequence[ReadTask]) -> bool:
    """Whether these reads prepare the rows in the same way."""
    first = tasks[0].options
    return all(task.options is first or task.options == first for task in tasks)


@dataclass(frozen=True, eq=False)
class PreparedAlike:
    """The reads that leave out each of some folds, and what is judged on its rows, all prepared as for `template`."""

    template: ReadTask
    by_fold: dict[Any, tuple[list[ReadTask], list[Any]]]

    @cached_property
    def places(self) -> dict[ReadTask, tuple[Any, int]]:
        """Of each read, its fold and its place among those of the fold."""
        return {task: (fold, k) for fold, (reads, _) in self.by_fold.items() for k, task in enumerate(reads)}

    @cached_property
    def groups(self) -> list[SideBySide]:
        return SideBySide.groups([task for reads, _ in self.by_fold.values() for task in reads])

    @cached_property
    def alone(self) -> list[SideBySide]:
        return [SideBySide([task]) for reads, _ in self.by_fold.values() for task in reads]

    @property
    def most(self) -> int:
        """The number of reads in the largest group."""
        return max((len(group.tasks) for group in self.groups), default=1)

    def add_batch(self, parts: dict[Any, list[Any]], rows: RowBatch, own: dict[Any, np.ndarray]) -> None:
        """Add a batch of rows to the sums without each fold, and its `own` ones, of (n_rows,), to its evaluation."""
        weights = {fold: np.where(inside, 0.0, rows.weight) for fold, inside in own.items()}
        known: dict[tuple[Any, int], Any] = {
            (fold, id(held.weights)): None for fold, (_, judged) in self.by_fold.items() for held in judged
        }
        for group in self.alone if isinstance(rows.chunk, CSRChunk) else self.groups:
            places = [self.places[task] for task in group.tasks]
            weight = np.column_stack([weights[fold] for fold, _ in places])
            scores = group.add([parts[fold][k] for fold, k in places], rows, weight)
            for m, (task, (fold, _)) in enumerate(zip(group.tasks, places, strict=True)):
                if (fold, id(task.weights)) in known:
                    known[fold, id(task.weights)] = scores[own[fold], m]
        for fold, (_, judged) in self.by_fold.items():
            inside, found = np.flatnonzero(own[fold]), []
            if judged and inside.size:
                for held in judged:
                    scores = known[fold, id(held.weights)]
                    if scores is None:
                        scores = judged_scores(rows.chunk.picked(inside), held.weights)
                    found.append(scores)
                judged[0].add(parts[fold][-1], np.stack(found, axis=2), rows.y[inside], rows.weight[inside])


@dataclass(frozen=True, eq=False)
class SharedRead(PassTask):
    """Gives every row to the models of all folds, which learn from it or, if it is of their fold, are judged on it.

    Rows are prepared once for all folds that prepare them in the same way. `passes` are of a `ReadTask`, without a
    fold, or of weights that are judged inside one, such as `selection.fold_models.HeldOut`.
    """

    passes: tuple[Pass, ...]
    folding: Folding
    title: str = "read"
    most_bytes = ANY_SIZE  # each thread has tables for all models; their memory was checked before

    @cached_property
    def by_fold(self) -> dict[int | None, tuple[list[ReadTask], list[Any]]]:
        """The reads that leave out each fold, and what is judged on its rows."""
        found: dict[int | None, tuple[list[ReadTask], list[Any]]] = {}
        for each in self.passes:
            reads, judged = found.setdefault(each.fold, ([], []))
            (reads if each.inside is None else judged).append(each.statistic)
        return found

    @cached_property
    def apart(self) -> "list[PreparedAlike]":
        """What is read of each fold by itself."""
        of_folds = []
        for fold, (reads, judged) in self.by_fold.items():
            template = reads[0] if reads else judged[0].task
            of_folds.append(PreparedAlike(template, {fold: (reads, judged)}))
        return of_folds

    @cached_property
    def templates(self) -> "list[PreparedAlike]":
        """What is read of all folds that prepare their rows in the same way."""
        tasks = [each.template for each in self.apart]
        return [PreparedAlike(tasks[0], self.by_fold)] if prepared_alike(tasks) else self.apart

    def partial(self) -> TotalsOfRead:
        """For each fold, the sums of its reads, then an evaluation of the weights to judge, if there are any."""
        parts = []
        for reads, judged in self.by_fold.values():
            of_fold: list[Any] = [task.partial() for task in reads]
            parts.append([*of_fold, judged[0].evaluation(len(judged))] if judged else of_fold)
        return TotalsOfRead(parts, np.zeros(self.folding.n_splits, np.int64))

    def wants(self, n_rows: int | None, n_features: int | None) -> Wants:
        return Wants(block_bytes=min(len(self.passes) * self.templates[0].template.weights.nbytes, BLOCK_BYTES))

    def add(self, partial: TotalsOfRead, block: Block) -> None:
        """Add one block of rows."""
        splits = self.folding.splits(block.first_row, block.n_rows, block.split)
        partial.rows[:] += np.bincount(splits.reshape(-1), minlength=self.folding.n_splits)
        parts = dict(zip(self.by_fold, partial.parts, strict=True))
        for alike in self.apart if block.by_fold else self.templates:
            first = next(iter(alike.by_fold))
            shared = len(self.passes) * len(alike.by_fold) > 2 * len(self.by_fold)
            for rows in alike.template.batches(block.outside(first), shared, alike.most):
                own = {fold: splits[fold // self.folding.n_folds, rows.where] == fold for fold in alike.by_fold}
                alike.add_batch(parts, rows, own)

    def answers(self, total: TotalsOfRead, report: Report) -> list[Any]:
        """The result of each pass, from the totals of the read."""
        found = {}
        for (fold, (_, judged)), part in zip(self.by_fold.items(), total.parts, strict=True):
            results = judged[0].results(part[-1]) if judged else []
            found[fold] = iter(part), iter(results)
        return [next(found[each.fold][each.inside is not None]) for each in self.passes]

    def about(self) -> dict[str, str]:
        """As for any task, with models compared by a digest."""
        models = [[each.without, each.inside, each.statistic.about()] for each in self.passes]
        shared = {name: text for model in models for name, text in model[2].items() if name not in (WEIGHTS_KEY, "top")}
        shared |= {"the task": self.name, "folding": described(self.folding), "models": f"{len(self.passes)}"}
        return shared | {f"{WEIGHTS_KEY} of the models": persistence.digest(models)}


def n_used(judged: JudgedWeights) -> np.ndarray:
    """The number of nonzero weights in each row, then the number of features with any, (R + 1,)."""
    if isinstance(judged, FactoredWeights):
        in_use = np.count_nonzero((judged.weights[:-1] != 0.0).any(axis=1))
        return np.full(len(judged.base) + 1, in_use)
    kept = judged[:-1] != 0.0
    return np.append(np.count_nonzero(kept, axis=0), np.count_nonzero(kept.any(axis=1)))


def judged_scores(chunk: Chunk, judged: JudgedWeights) -> np.ndarray:
    """Scores of rows under the weights to judge, (n_rows, R)."""
    if not isinstance(judged, FactoredWeights):
        return scores_of(chunk, judged[:-1], judged[-1])
    along = DenseChunk(scores_of(chunk, judged.weights[:-1], judged.weights[-1]), chunk.first_row)
    return linear_scores(along, judged.axes, judged.base)


def scores_of(
    chunk: Chunk, weights: np.ndarray, intercepts: np.ndarray, columns: ColumnForm | None = None
) -> np.ndarray:
    """Scores of rows, (n_rows, R), each summed in the order of features."""
    if columns is None and weights.any():
        return linear_scores(chunk, weights, intercepts)
    scores = np.zeros((chunk.shape[0], weights.shape[1]))
    if columns is not None:
        score_columns(*columns, weights, scores)
    scores += intercepts
    return scores


def add_products(
    chunk: Chunk, columns: ColumnForm | None, residual: np.ndarray, grid: np.ndarray, gradient: np.ndarray
) -> None:
    """Add the products of features and slopes of rows to a gradient, each rounded on a grid, except where it is 0.

    The grid is that of each feature; of dense rows it may also be that of each row of weights, as the gradient.
    """
    if columns is not None:
        add_products_columns(*columns, residual, grid, gradient)
    elif isinstance(chunk, CSRChunk):
        descent.add_products_csr(chunk.data, chunk.indices, chunk.indptr, residual, grid, gradient)
    elif residual.shape[1] <= FEW_MODELS and grid.ndim == 1:
        of_models = np.ascontiguousarray(gradient[: len(grid)].T)
        descent.add_products_few(chunk.values, residual, grid, of_models)
        gradient[: len(grid)] = of_models.T
    else:
        scratch = np.empty(TILE), np.arange(TILE)
        descent.add_products_dense(chunk.values, residual, grid, *scratch, gradient)


def own_class(targets: np.ndarray) -> np.ndarray:
    """Class codes of rows whose targets have one column per class, or one for the second of two."""
    return targets[:, 0].astype(np.int64) if targets.shape[1] == 1 else targets.argmax(axis=1)
