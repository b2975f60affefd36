"""The scoring scan: every row judged by the models that did not see it, at every point of the grid."""

from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from streamnb import _checks, memory
from streamnb.choosing import GridScores
from streamnb.data import sources
from streamnb.data.chunk import Chunk
from streamnb.data.deciding import Decider, in_range
from streamnb.data.grid_weights import DOUBLE, GridWeights
from streamnb.data.sources import Block
from streamnb.evaluation import Evaluation
from streamnb.families import column_blocks
from streamnb.folds import Folding
from streamnb.grid_evaluation import EachEvaluation, GridEvaluation
from streamnb.memory import aligned
from streamnb.metrics import SCORERS, Scorer
from streamnb.model import LinearModel
from streamnb.penalties import Penalty
from streamnb.report import Report
from streamnb.scanning import checked, fold
from streamnb.solving import WeightPath, weight_path
from streamnb.stats.class_stats import ClassStats, merged_classes, positions
from streamnb.stats.grouping import LabelCodes
from streamnb.threads import check_n_threads

WEIGHTS_BYTES = 1 << 30  # of weights kept ready; beyond, they are computed for the columns of each block
MARGINS = 1 << 22  # scored at once where each may widen histograms
COSTLY_MARGINS = 1 << 25  # where weights are computed for them: the more at once, the more seldom
CACHED_MARGINS = 1 << 18  # elsewhere: what stays in the cache until it is judged
KEPT_SCORES = 1 << 25  # numbers that all evaluations together may keep to be exact, and again in histograms
SHEETS_BYTES = 1 << 30  # of the sheets of all threads, where there are several
LONGEST_BLOCK = 32 << 20  # bytes of rows
TIMES_WEIGHTS = 4
WEIGHT_BYTES = 12  # of one that is not zero
WITH_ZEROS = 3  # times as much may they take where they are laid out
PER_MARGIN, PER_WEIGHT = 5e-9, 1e-9  # seconds, about
LONG = 300.0  # seconds that nobody should wait without a word


# ---- scores of all models of a path ----------------------------------------------------------------------------------


class GridModels:
    """All models of a path, which score rows together.

    Parameters
    ----------
    path : WeightPath
        G models of R rows of weights.
    most_bytes : int
        Weights are kept ready if they take no more.
    decide : bool
        Whether only decisions will be asked for.
    """

    def __init__(self, path: WeightPath, most_bytes: int, decide: bool):
        self.shell = path.shell()
        n_points, n_rows, n_features = len(path), path.n_rows, self.shell.n_features
        self.shape = n_points, n_rows
        intercepts = np.tile(path.intercepts, (n_points, 1))
        found: list[sp.csr_array] = []
        n_bytes = 0
        for columns in column_blocks(n_features, max(MARGINS // (n_points * n_rows), 1)):
            weights, shifts = path.grid_weights(columns)
            intercepts += shifts
            raw = self._raw(weights, columns)
            if self.shell.absent[columns].any():
                intercepts += (self.shell.absent[columns] @ raw).reshape(self.shape)
            n_bytes += raw.data.nbytes + raw.indices.nbytes
            found = [*found, raw] if n_bytes <= most_bytes else []
        self._intercepts = np.zeros((n_rows, DOUBLE.room(n_points)))
        self._intercepts[:, :n_points] = intercepts.T
        of_classes = self.shell.scheme.judged_by(len(self.shell.classes_)) if decide and found else None
        most_bytes *= WITH_ZEROS
        self.decider = None if of_classes is None else Decider.of(most_bytes, found, intercepts.T, of_classes)
        self._weights = None
        if found and self.decider is None:
            self._weights = GridWeights.within(most_bytes, found, n_rows)
        self._path = path if self.by_columns else None  # with its statistics

    @property
    def nbytes(self) -> int:
        """Of the weights that are kept ready."""
        ready = self._weights if self.decider is None else self.decider.weights
        return 0 if ready is None else ready.nbytes

    @property
    def by_columns(self) -> bool:
        """Whether weights are computed for the columns of each block."""
        return self._weights is None and self.decider is None

    def _raw(self, weights: sp.csr_array, columns: Any) -> sp.csr_array:
        """Weights for rows before idf, (n_columns, G * R)."""
        if self.shell.scale is None:
            return weights
        scale = np.repeat(self.shell.scale[columns], np.diff(weights.indptr))
        return sp.csr_array((weights.data * scale, weights.indices, weights.indptr), shape=weights.shape)

    def margins(self, chunk: Chunk, rows: np.ndarray) -> np.ndarray:
        """Margins of some rows of a prepared block, (len(rows), R, room): the first G of `room` are those of points."""
        flat = aligned(len(rows), self._intercepts.size)
        flat[:] = self._intercepts.reshape(-1)
        if self._weights is not None:
            self._weights.add_scores(chunk, rows, flat)
        else:
            self._add_by_columns(chunk, rows, flat)
        return flat.reshape(len(rows), *self._intercepts.shape)

    def _add_by_columns(self, chunk: Chunk, rows: np.ndarray, out: np.ndarray) -> None:
        chunk, every = chunk.picked(rows), np.arange(len(rows))
        columns = chunk.used_columns()
        step = max(MARGINS // out.shape[1], 1)
        for first in range(0, len(columns), step):
            some = columns[first : first + step]
            weights, _ = self._path.grid_weights(some)  # type: ignore[union-attr]
            ready = GridWeights.of([self._raw(weights, some)], self.shape[1])
            ready.add_scores(chunk.of_columns(some), every, out)


# ---- the scan --------------------------------------------------------------------------------------------------------


class Sheet:
    """What is known of each model: evaluations[candidate][split][point], or one alone; sheets merge.

    `rows` (n_splits, K) counts the rows of each class in each split, to be compared with those of the first scan.
    """

    def __init__(self, evaluations: Any, nbytes: int, rows: Any = 0):
        self.evaluations, self.nbytes, self.rows = evaluations, nbytes, rows

    def __sizeof__(self) -> int:
        return object.__sizeof__(self) + self.nbytes

    def finish(self) -> "Sheet":
        return self

    def __add__(self, other: "Sheet") -> "Sheet":
        return Sheet(_added(self.evaluations, other.evaluations), self.nbytes, self.rows + other.rows)


def _added(a: Any, b: Any) -> Any:
    return [_added(*pair) for pair in zip(a, b, strict=True)] if isinstance(a, list) else a + b


@dataclass(frozen=True, eq=False)
class ScoringPlan:
    """Every row goes to the models of its own splits; folded over the rows like any plan.

    `candidates` holds, for each path to be judged, the models of each split.
    """

    candidates: tuple[tuple[GridModels, ...], ...]
    classes: np.ndarray
    folding: Folding
    needs: frozenset[str]
    n_rows: int
    title: ClassVar[str] = "scoring"
    most_bytes: ClassVar[int] = SHEETS_BYTES

    @property
    def block_bytes(self) -> int:
        """Of rows to judge at once, several times what weights come to the cache for each block."""
        return min(TIMES_WEIGHTS * sum(models.nbytes for grids in self.candidates for models in grids), LONGEST_BLOCK)

    def accumulator(self) -> Sheet:
        n_models = sum(len(grids) * grids[0].shape[0] for grids in self.candidates)
        multilabel = self.candidates[0][0].shell.scheme.multilabel
        exact_rows, n_bins, n_bytes = _sheet_sizes(n_models, len(self.classes), self.needs, multilabel)
        options: dict[str, Any] = {"exact_rows": exact_rows, "n_bins": n_bins, "classes": self.classes}

        def new() -> Evaluation:
            return Evaluation(len(self.classes), self.needs, multilabel=multilabel, **options)

        of_grid = EachEvaluation if multilabel or "pairs" in self.needs else GridEvaluation
        sheet = [[of_grid(new, models.shape[0]) for models in grids] for grids in self.candidates]
        rows = np.zeros((self.folding.n_splits, len(self.classes)), np.int64)
        return Sheet(sheet, n_bytes, rows)

    def add(self, sheet: Sheet, block: Block) -> None:
        """Judge one block of rows."""
        chunk, survey = checked(block)
        codes = self._codes(_checks.check_y(block.y), chunk.first_row)
        splits = self.folding.splits(chunk.first_row, chunk.shape[0], block.split)
        self._count(sheet, codes, splits)
        for grids, evaluations in zip(self.candidates, sheet.evaluations, strict=True):
            prepared = grids[0].shell.prepared(chunk, survey)
            known = survey if prepared is chunk else None
            screened = any(models.decider for models in grids) and in_range(prepared, known)
            for of_rows in splits:
                for split in np.flatnonzero(np.bincount(of_rows)):
                    rows = np.flatnonzero(of_rows == split)
                    self._judge(grids[split], evaluations[split], prepared, screened, rows, codes, block.weight)

    def _count(self, sheet: Sheet, codes: Any, splits: np.ndarray) -> None:
        if codes.ndim == 2:
            rows, classes = np.repeat(np.arange(codes.shape[0]), np.diff(codes.indptr)), codes.indices
        else:
            rows, classes = np.arange(len(codes)), codes
        n_splits, n_classes = sheet.rows.shape
        groups = (splits[:, rows] * n_classes + classes).reshape(-1)
        sheet.rows += np.bincount(groups, minlength=n_splits * n_classes).reshape(n_splits, n_classes)

    def _codes(self, y: Any, first_row: int) -> Any:
        if y.ndim == 2:
            if y.shape[1] != len(self.classes):
                raise ValueError(f"y has {y.shape[1]} columns; in the first scan it had {len(self.classes)}")
            return y
        codes = LabelCodes(self.classes).codes_of(y)
        if codes is None:
            row = int(np.argmin(positions(self.classes, y)))
            raise ValueError(
                f"y has the label {y[row].item()!r} at row {first_row + row}, which the first scan had not"
            )
        return codes

    def _judge(
        self,
        models: GridModels,
        evaluation: GridEvaluation | EachEvaluation,
        chunk: Chunk,
        screened: bool,
        rows: np.ndarray,
        codes: Any,
        weight: np.ndarray | None,
    ) -> None:
        weight = None if weight is None else weight[rows]
        if isinstance(evaluation, GridEvaluation) and models.decider is not None:
            evaluation.add_decided(models.decider.decide(chunk, rows, screened), codes[rows], weight)
            return
        weight = np.ones(len(rows)) if weight is None else weight
        n_points, n_rows = models.shape
        step = max(self._at_once(models) // (DOUBLE.room(n_points) * max(n_rows, len(self.classes))), 1)
        for first in range(0, len(rows), step):
            some = slice(first, first + step)
            margins = models.margins(chunk, rows[some])
            evaluation.add(models.shell.scheme, margins, codes[rows[some]], weight[some])

    def _at_once(self, models: GridModels) -> int:
        if models.by_columns:
            return COSTLY_MARGINS
        return MARGINS if "ranking" in self.needs else CACHED_MARGINS


def _sheet_sizes(n_models: int, n_classes: int, needs: frozenset[str], multilabel: bool) -> tuple[int, int, int]:
    """Rows whose scores are kept one by one, bins of histograms beyond, and bytes of a sheet."""
    room = KEPT_SCORES // (n_models * n_classes)
    exact_rows, n_bins = min(max(room, 100), 10_000), min(max(room // 2, 64), 2048)
    per_class = 24 + max(8 * exact_rows, 16 * n_bins) * ("ranking" in needs)
    per_class += 8 * n_classes * ("confusion" in needs and not multilabel)
    return exact_rows, n_bins, n_models * n_classes * per_class


def _check_costs(paths: Sequence[WeightPath], stats: ClassStats, scorer: Scorer, most_bytes: int) -> None:
    """Refuse what would not fit into memory, and say beforehand what will take long."""
    assert stats.folding is not None
    n_rows, n_classes, n_splits = stats.n_rows * stats.folding.repeats, len(stats.classes), stats.folding.n_splits
    n_points = sum(map(len, paths))
    models = f"{n_splits} x {n_points:,} models of {n_classes:,} classes"
    n_bytes = _sheet_sizes(n_splits * n_points, n_classes, scorer.needs, stats.multilabel)[2]
    if n_bytes > (limit := memory.allowed(None)):
        cure = "take fewer taus or folds, or a scoring that needs less, such as 'accuracy'"
        memory.refuse(f"what scoring={scorer.name!r} keeps of {models}", n_bytes, limit, cure)
    seconds = 0.0
    for path in paths:
        margins = n_rows * DOUBLE.room(len(path)) * max(path.n_rows, n_classes)
        most = WEIGHT_BYTES * len(path) * path.n_rows * stats.n_features
        by_columns = most > most_bytes and WEIGHT_BYTES * path.n_features_per_class.sum() > most_bytes
        times = n_splits + (max(margins / COSTLY_MARGINS, n_splits) if by_columns else 0)
        seconds += PER_MARGIN * margins + PER_WEIGHT * times * len(path) * path.n_rows * stats.n_features
    if seconds > LONG:
        _checks.warn(
            f"judging {stats.n_rows:,} rows by {models} will take about {seconds / 60:,.0f} minutes of one core; "
            "progress=True shows how far it is, and fewer taus (penalty=snb.L1(n_taus=5, scale='score')), fewer "
            "repeats or features, or some of the rows take less"
        )


def cross_validated(
    stats: ClassStats,
    candidates: Sequence[tuple[Any, Penalty | None]],
    options: dict[str, Any],
    scorer: Scorer,
    X: Any,
    y: Any,
    sample_weight: Any,
    **run: Any,
) -> tuple[list["GridScores"], Report]:
    """Scores of each (family, penalty) of `candidates` at every point of its grid, from one scan of the rows.

    `stats` hold the folds; `options` are those of `solve`, `run` those of `scanning.fold`.
    """
    folding = stats.folding
    assert folding is not None
    n_threads = run.get("n_threads")
    paths = [weight_path(stats, family, penalty, n_threads=n_threads, **options) for family, penalty in candidates]
    most_bytes = WEIGHTS_BYTES // (len(paths) * folding.n_splits)
    _check_costs(paths, stats, scorer, most_bytes)

    decide = bool(scorer.needs) and scorer.needs <= {"hits", "confusion"}

    def models_of(split: int) -> list[GridModels]:
        repeat, number = divmod(split, folding.n_folds)
        rest = stats.without_fold(number, repeat)
        if rest.total_weight == 0.0:
            raise ValueError(
                f"sample_weight is 0 in all rows outside fold {number}, which leaves its models nothing to learn from; "
                "give weight to rows of two folds at least"
            )
        asked = ((family, path.penalty) for path, (family, _) in zip(paths, candidates, strict=True))
        return [GridModels(weight_path(rest, *each, n_threads=1, **options), most_bytes, decide) for each in asked]

    with ThreadPoolExecutor(check_n_threads(n_threads), "streamnb-solve") as pool:
        of_splits = pool.map(models_of, range(folding.n_splits))
        for path in paths:
            pool.submit(getattr, path, "n_features")  # kept for the scores; while other threads still make models
        grids = tuple(zip(*of_splits, strict=True))
    needs = scorer.needs if grids[0][0].shell.scheme.has_probabilities else scorer.needs - {"probabilities"}
    plan = ScoringPlan(grids, stats.classes, folding, needs, stats.n_rows)
    _check_scorer(scorer, plan.accumulator().evaluations[0][0].of_point(0))
    sheet, report = fold(plan, X, y, sample_weight, **run)
    if report.rows != stats.n_rows:
        raise ValueError(
            f"X gave {report.rows} rows in the second scan and {stats.n_rows} in the first; a callable should return "
            "a fresh iterator of the same rows each time"
        )
    if (sheet.rows != [part.rows for part in stats.folds]).any():
        raise ValueError(
            "X gave its rows in another order in the second scan, so that their folds are not those of the first; "
            "a callable should return the same rows in the same order each time"
        )
    judged = zip(sheet.evaluations, paths, strict=True)
    return [GridScores.of(splits, path, scorer) for splits, path in judged], report


def _check_scorer(scorer: Scorer, empty: Evaluation) -> None:
    """Refuse a score that has no meaning for such rows, before they are read again."""
    if SCORERS.get(scorer.name) is not scorer:
        return  # a function of the user's, which may expect rows
    try:
        scorer.value(empty)
    except ValueError as error:
        raise ValueError(f"scoring={scorer.name!r} is not for these rows: {error}") from error


def check_read_twice(X: Any, who: str) -> None:
    """Refuse a stream that can be read only once."""
    if sources.is_stream(X) and not callable(X):
        raise ValueError(
            f"X is an iterator, which can be read once, but {who} reads the rows twice; "
            "pass a callable that returns a fresh iterator"
        )


# ---- one model on rows of any kind -----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class JudgingPlan:
    """One fitted model on rows that it need not have seen; a plan like `ScoringPlan`."""

    model: LinearModel
    needs: frozenset[str]
    title: ClassVar[str] = "judging"
    most_bytes: ClassVar[int | None] = None
    n_rows: ClassVar[int | None] = None

    def accumulator(self) -> Sheet:
        classes, multilabel = self.model.classes_, self.model.scheme.multilabel
        evaluation = Evaluation(len(classes), self.needs, multilabel=multilabel, classes=classes)
        return Sheet(evaluation, 8 * len(classes) * 10_000)

    def add(self, sheet: Sheet, block: Block) -> None:
        """Judge one block of rows; a label that the model does not know is one it gets wrong."""
        y, model = _checks.check_y(block.y), self.model
        if (y.ndim == 2) != model.scheme.multilabel:
            kinds = "one label a row", "an indicator of labels"
            given, wanted = kinds if y.ndim == 1 else kinds[::-1]
            raise ValueError(f"y is {given}; the model was fitted with {wanted}")
        codes = self._codes(y)
        for some, margins in model.few_margins(*checked(block)):
            weight = None if block.weight is None else block.weight[some]
            sheet.evaluations.add(codes[some], weight, **self._said(margins))

    def _said(self, margins: np.ndarray) -> dict[str, Any]:
        """What the model says of rows with these margins, as far as it is needed."""
        said: dict[str, Any] = {}
        if "ranking" in self.needs:
            said["ranking"] = self.model.scheme.ranking(margins)
        if "confusion" in self.needs:
            said["predicted"] = self.model.decided(margins)
            if not self.model.scheme.multilabel and (said["predicted"] < 0).any():
                raise ValueError("the model rejects rows, which have no place among the classes; refit(threshold=None)")
        return said

    def _codes(self, y: Any) -> Any:
        if y.ndim == 2:
            return y
        merged_classes(self.model.classes_, y[:1])  # labels of another kind are no strangers but a mistake
        return positions(self.model.classes_, y)


def judged(model: LinearModel, X: Any, y: Any, sample_weight: Any, needs: Iterable[str]) -> Evaluation:
    """What a model makes of rows of any kind, of "confusion" and "ranking"; arguments as those of `scan`."""
    return fold(JudgingPlan(model, frozenset(needs)), X, y, sample_weight)[0].evaluations
