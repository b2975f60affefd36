"""Examples of all that keeps a contract: tasks, what merges, sources, families, penalties, moments.

tests/laws/test_contracts.py walks the package and puts these examples through laws; a class without one fails there.
"""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import dask.array as da
import h5py
import numpy as np
import scipy.sparse as sp
import zarr
from sklearn.datasets import dump_svmlight_file

import streamnb as snb
from streamnb.encoding.bins import FINEST, AbsentCountingSource, CodedFeatures, TermColumns
from streamnb.encoding.category_columns import LevelsSeen
from streamnb.encoding.counters import CountedColumns, CountTask
from streamnb.encoding.learning import OfCopies
from streamnb.encoding.ngrams import NGrams, TokenCounts
from streamnb.estimators.categorical_nb import CategoryScan
from streamnb.evaluation.evaluating import LABELS, _Judge, _Labels
from streamnb.evaluation.judging import JudgingTask
from streamnb.evaluation.scorers import SCORERS
from streamnb.models.linear import _Hits
from streamnb.passes import passes as fits
from streamnb.passes.passes import JointRead, StatisticTask
from streamnb.passes.statistic import Mergeable
from streamnb.problem.families import Together, _Complement, _Positive, _Shares
from streamnb.problem.mixed import Auto
from streamnb.problem.penalties import Penalty
from streamnb.problem.schemes import Joint, MultiLabel
from streamnb.rows.boundary import Domain
from streamnb.rows.clipping import Clipping
from streamnb.rows.in_anndata import HDF5Matrix, HDF5Source
from streamnb.rows.in_arrays import (
    ArraySource,
    DaskColumns,
    DaskSource,
    NamedColumns,
    StreamSource,
    ZarrCSRSource,
    ZarrSource,
    opened_columns,
)
from streamnb.rows.in_svmlight import SvmlightSource
from streamnb.rows.keeping import Keeping, KeptSource
from streamnb.rows.labels import open_columns
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import (
    FoldRows,
    NarrowSource,
    OutsideFolds,
    PreparedSource,
    RawSource,
    Source,
    TiledSource,
    WrappedSource,
)
from streamnb.rows.splits import Folding, as_folding
from streamnb.rows.tables import NumberSource, TableSource
from streamnb.rows.texts import TextSource
from streamnb.rows.train_test import PickedRows
from streamnb.scanning.class_scan import ClassScan
from streamnb.scanning.schema import SiteRows
from streamnb.scanning.user_tasks import _UserTask
from streamnb.searching.bayes import TriedSums
from streamnb.selection.covariance_models import CovarianceModels
from streamnb.selection.cross_validation import GridOfFold, ScoringTask
from streamnb.selection.features import PairScan
from streamnb.selection.fold_models import HeldOut
from streamnb.selection.folded_scan import FoldJudge, without_split
from streamnb.selection.grid_models import GridModels
from streamnb.solving.cutting_planes import CrammerSinger
from streamnb.solving.objectives import LeastSquares, Logistic, Softmax, SquaredHinge
from streamnb.solving.reading import ReadTask, SharedRead
from streamnb.solving.weight_paths import weight_path
from streamnb.stats.histograms import Grid
from streamnb.stats.row_sample import SampleTask
from streamnb.stats.second_moments import Products
from streamnb.stats.value_counts import ValueCounts
from tests.support.examples_of_comparisons import BESIDE, COMPARING
from tests.support.examples_of_problems import every
from tests.support.examples_of_raw_rows import kinds_of_columns, numbers_of, outside_a_fold, table_of, texts_of
from tests.support.examples_of_regressions import TARGETS, of_targets
from tests.support.examples_of_sharing import SCANS, site_rows
from tests.support.of_users import Extremes, Highest

N, K = 40, 3
rng = np.random.default_rng(0)
Y = rng.permutation(np.array(["ash", "birch", "cedar"])[np.arange(N) % K])
CODES = np.unique(Y, return_inverse=True)[1]
SHARES = rng.integers(1, 8, (N, 5)) / 8.0  # inside (0, 1), where every family and every moment takes them
COUNTS = rng.poisson(0.5 + 2.0 * (np.arange(5) % K == CODES[:, None])).astype(float)
SETS = (rng.random((N, K)) < 0.4).astype(int)
WEIGHT = rng.choice([0.25, 0.5, 1.0, 2.0], N)
REAL, REAL_WEIGHT = rng.normal(size=(N, 5)), rng.random(N)  # whose sums are rounded in every order but in pairs
GROUPS, FOLDS = np.arange(N) // 3, as_folding(2, repeats=2, seed=1)
OTHERS = {**SCANS, **BESIDE}
STATISTICS = {
    f"{kind.__name__}-{name}": example
    for kind in [*OTHERS]
    if issubclass(kind, snb.Statistic)
    for name, example in OTHERS.pop(kind).items()
}
SOME_CODED = snb.Mixed({"categorical": [1, 3], "poisson": ...})

BASES = {  # of which only subclasses mean something
    snb.PassTask, Mergeable, snb.Statistic, Source, WrappedSource, RawSource, snb.Family, _Positive, _Shares, Together,
    Penalty, _Complement,  # the other half of Beta
    Auto,  # another family once the columns are known
}  # fmt: skip


# ---- moments: functions of x -----------------------------------------------------------------------------------------

CENTRE, THRESHOLD = 0.25, 0.5
MOMENTS: dict[str, Callable[[np.ndarray], np.ndarray]] = {
    "sum": lambda x: x,
    "sum_sq": np.square,
    "nonzero": lambda x: x != 0.0,
    "above": lambda x: x > THRESHOLD,
    "log_sum": np.log,
    "inv_sum": lambda x: 1.0 / x,
    "log1m_sum": lambda x: np.log1p(-x),
    "deviation": lambda x: np.abs(x - CENTRE),
}


# ---- tasks, each with rows to pass over ------------------------------------------------------------------------------


@dataclass
class Pass:
    """A task and the rows that it is tried on."""

    task: snb.PassTask
    rows: Source


def scan(*moments: str, X: Any = SHARES, y: Any = Y, w: Any = WEIGHT, classes: Any = None, **more: Any) -> Pass:
    options = RowOptions(binarize=THRESHOLD, centre=CENTRE)
    return Pass(ClassScan(moments or ("sum", "sum_sq"), options, classes, **more), opened(X, y, w))


def scoring(*needs: str, y: Any = Y, train: bool = False) -> Pass:
    stats = snb.scan(COUNTS, y, sample_weight=WEIGHT, folds=2, repeats=2, seed=1)
    decide, judge = (
        set(needs) <= {"hits", "confusion"},
        FoldJudge(stats.classes, frozenset(needs), 12, stats.multilabel),
    )
    passes = []
    for penalty in (snb.L1([0.0, 2.0]), snb.L2(1.0)):
        for split in range(4):
            models = GridModels(weight_path(without_split(stats, split), "poisson", penalty), 1 << 20, decide)
            passes.append(fits.Pass(GridOfFold(models, judge), inside=split))
    if train:
        passes += [fits.Pass(each.statistic, without=each.inside) for each in passes]
    return Pass(ScoringTask(tuple(passes), FOLDS), opened(COUNTS, y, WEIGHT))


def scoring_covariances(*needs: str) -> Pass:
    stats = snb.scan(REAL, Y, moments=["sum", "gram"], folds=2, seed=1)
    family = snb.Gaussian(covariance="full", shrinkage=[(0.5, 0.1), (1.0, 0.0)])
    grids = [CovarianceModels(weight_path(stats.without_fold(fold), family, None)) for fold in range(2)]
    judge = FoldJudge(stats.classes, frozenset(needs), 4)
    passes = tuple(fits.Pass(GridOfFold(one, judge), inside=fold) for fold, one in enumerate(grids))
    return Pass(ScoringTask(passes, as_folding(2, seed=1)), opened(REAL, Y))


def model(y: Any = Y) -> Any:
    return snb.solve(snb.scan(COUNTS, y), "poisson")[0]


def evaluating(y: Any, predicted: Any, **scores: Any) -> Pass:
    """As `evaluate` does it, by classes that are listed backwards."""
    given = {"y_true": y, "y_pred": predicted, **scores, "sample_weight": WEIGHT}
    multilabel = np.ndim(y) == 2
    classes, order = (np.arange(K), np.arange(K)) if multilabel else (np.unique(Y), np.arange(K)[::-1])
    return Pass(_Judge(classes, multilabel, frozenset(given), order), opened_columns(given, LABELS))


def reading(objective: Any, X: Any = REAL, y: Any = Y, **along: Any) -> Pass:
    """A read at some weights, or along a line."""
    point, grid = np.linspace(-1.0, 1.0, 6 * K).reshape(6, K), np.full(6, 4096.0)
    return Pass(
        ReadTask(objective, RowOptions(), np.unique(Y), point, grid, 4096.0, **along), opened(X, y, REAL_WEIGHT)
    )


def tried(X: Any, w: Any = None, y: Any = Y) -> Pass:
    """A scan that refuses no rows of one domain, and some of another."""
    scan = ClassScan(("sum", "nonzero"), RowOptions("sqrt", "l2"), folding=FOLDS)
    return learning(TriedSums(scan, (Domain("a"), Domain("b", 0.5))), opened(X, y, w))


def shared(y: Any = Y, *needs: str, by: str = "rows") -> Pass:
    """A read for three models: sums and scores, scores by other weights, and a line that is not judged."""
    sets = np.ndim(y) == 2
    like: Any = reading(SquaredHinge() if sets else Softmax(), y=y, X=COUNTS).task
    line = replace(like, step=np.ones((6, K)), lengths=np.array([0.5, 1.0]))
    kept, folding = frozenset(needs or {"hits", "ranking", "probabilities"}), Folding(2, by=by)
    how = FoldJudge(like.classes, kept, 3, sets), MultiLabel() if sets else Joint(), 1.0, SCORERS["accuracy"]
    judged = (fits.Pass(HeldOut(weights, like, *how), inside=1) for weights in (like.weights, -like.weights))
    passes = fits.Pass(like, without=1), *judged, fits.Pass(line, without=0)
    rows = opened(COUNTS, y, WEIGHT)
    if by == "given":
        rows = rows.with_columns(split={"folds": np.arange(N) % 2})
    return Pass(SharedRead(passes, folding), rows)


WAYS = [ClassScan(("sum", "nonzero"), way) for way in (RowOptions(), RowOptions("log1p"), RowOptions("sqrt", "l2"))]
EXTREMES = StatisticTask(Extremes())


def of_folds(task: Any, n_folds: int) -> JointRead:
    return JointRead((fits.Pass(task, without=0),), Folding(n_folds))


def counting(X: Any, weight: Any, pairs: Any = (), n_bits: int = 0) -> Pass:
    return Pass(CountTask(CountedColumns(list(pairs), n_bits), None, Folding(3)), opened(X, Y, weight))


PAIRS = PairScan(("gram_above",), RowOptions(), how=Products(pooled=True), columns=np.array([0, 2, 4]), taken=5)
PROBA = rng.permuted(np.tile([0.125, 0.25, 0.625], (N, 1)), axis=1)
CLIPPED = Clipping(snb.Clip(presence=True, max_features=2))


def learning(statistic: Any, rows: Source) -> Pass:
    return Pass(StatisticTask(statistic), rows)


GAPS = np.where(REAL > 1.0, np.nan, REAL)
LEARNED: dict[str, Callable[[], tuple[Any, Source]]] = {  # what columns are learned from
    "values": lambda: (ValueCounts(), opened(GAPS, labelled=False)),
    "values of CSR": lambda: (ValueCounts(), opened(sp.csr_array(COUNTS), labelled=False)),
    "copies of values": lambda: (OfCopies(ValueCounts(), True), opened(GAPS, Y, REAL_WEIGHT % 0.9)),
    "copies of CSR": lambda: (OfCopies(ValueCounts()), opened(sp.csr_array(COUNTS), Y, WEIGHT)),
    "copies of texts": lambda: (
        OfCopies(TokenCounts(NGrams())),
        texts_of(COUNTS, Y, REAL_WEIGHT).with_step(None, 5, "t"),
    ),
    "copies of a table": lambda: (OfCopies(kinds_of_columns()[0]), kinds_of_columns()[1]),
    "levels": lambda: (LevelsSeen(snb.Categorical().coded_columns), opened(COUNTS, labelled=False)),
    "some levels": lambda: (LevelsSeen(SOME_CODED.coded_columns), opened(sp.csr_array(COUNTS), labelled=False)),
    "tokens": lambda: (TokenCounts(NGrams((1, 2), (2, 3))), texts_of(COUNTS, Y, WEIGHT).with_step(None, 5, "texts")),
    "a table": kinds_of_columns,
    "all of a table": lambda: kinds_of_columns(100),
}

TASKS: dict[type, dict[str, Callable[[], Pass]]] = {
    ClassScan: every(
        **{moment: lambda moment=moment: scan(moment) for moment in MOMENTS},
        folds=lambda: scan("sum", X=COUNTS, folding=FOLDS),
        listed=lambda: scan("sum", "above", classes=np.array(["yew", "cedar", "birch", "ash"])),
        labels=lambda: scan("sum", y=SETS, w=REAL_WEIGHT, folding=FOLDS, labels=True),
        csr=lambda: scan(X=sp.csr_array(COUNTS)),
        of_all=lambda: Pass(
            ClassScan(("sum", "sum_sq"), RowOptions(), of_all=True), opened(COUNTS, None, WEIGHT, labelled=False)
        ),
        clipped=lambda: scan("sum", X=sp.csr_array(COUNTS), w=None, classes=np.unique(Y), clipping=CLIPPED),
        real=lambda: scan(X=REAL, w=REAL_WEIGHT, folding=FOLDS),
        bins=lambda: scan("sum", X=REAL, w=REAL_WEIGHT, folding=FOLDS, grid=Grid("bins", 8)),
        values=lambda: scan("sum", X=sp.csr_array(COUNTS), y=SETS, w=REAL_WEIGHT, grid=Grid("value", 16)),
        products=lambda: scan("gram", "gram_sq", X=COUNTS, folding=FOLDS),
        exact=lambda: scan("gram", "gram_above", X=REAL, w=REAL_WEIGHT, how=Products(exact=True)),
        pooled=lambda: scan(
            "sum_sq",
            "gram",
            X=sp.csr_array(COUNTS),
            y=SETS,
            folding=FOLDS,
            together=("sum_sq",),
            how=Products(pooled=True),
        ),
    ),
    CategoryScan: every(lambda: Pass(CategoryScan(("sum",), RowOptions()), opened(COUNTS, Y, WEIGHT))),
    ScoringTask: every(
        decisions=lambda: scoring("hits"),
        seen=lambda: scoring("hits", train=True),
        tables=lambda: scoring("confusion"),
        scores=lambda: scoring("ranking", "probabilities", "hits"),
        pairs=lambda: scoring("ranking", "pairs"),
        labels=lambda: scoring("multilabel", "ranking", "probabilities", y=SETS),
        covariances=lambda: scoring_covariances("ranking", "probabilities"),
    ),
    JudgingTask: every(
        lambda: Pass(JudgingTask.of_one(model(), {"confusion", "ranking"}), opened(COUNTS, Y, WEIGHT)),
        labels=lambda: Pass(JudgingTask.of_one(model(SETS), {"confusion"}), opened(COUNTS, SETS, WEIGHT)),
        **{name: lambda one=one: Pass(*one()) for name, one in COMPARING.items()},
    ),
    _Judge: every(
        lambda: evaluating(Y, Y[::-1], proba=PROBA), labels=lambda: evaluating(SETS, SETS[::-1], scores=PROBA)
    ),
    JointRead: every(
        lambda: Pass(of_folds(ValueCounts(), 3), opened(GAPS, labelled=False)),
        table=lambda: Pass(of_folds(kinds_of_columns()[0], 2), kinds_of_columns()[1]),
        of=lambda: Pass(of_folds(TokenCounts(NGrams()), 2), texts_of(COUNTS, Y, WEIGHT).with_step(None, 5, "t")),
        two=lambda: Pass(
            JointRead((fits.Pass(Extremes(), without=0), fits.Pass(ValueCounts())), Folding(2)), opened(COUNTS, Y)
        ),
        fused=lambda: Pass(
            JointRead((*scoring("hits").task.passes, fits.Pass(SampleTask(np.unique(Y), FOLDS, 5))), FOLDS),
            opened(COUNTS, Y, WEIGHT),
        ),
        ways=lambda: Pass(JointRead(tuple(map(fits.Pass, WAYS))), opened(COUNTS, Y, WEIGHT)),
        outside=lambda: Pass(
            JointRead(tuple(fits.Pass(way, without=0) for way in WAYS), FOLDS), opened(REAL**2, Y, REAL_WEIGHT)
        ),
    ),
    StatisticTask: every(
        lambda: Pass(EXTREMES, opened(sp.csr_array(COUNTS), Y, WEIGHT)),
        labels=lambda: Pass(
            StatisticTask(_Labels(np.zeros(0))), opened_columns({"y_true": Y[:9], "y_pred": Y[9:18]}, LABELS)
        ),
        hits=lambda: learning(_Hits(model()), opened(COUNTS, Y, WEIGHT)),
        real_hits=lambda: learning(_Hits(model()), opened(COUNTS, Y, REAL_WEIGHT)),
        tried=lambda: tried(COUNTS),
        tried_real=lambda: tried(SHARES, REAL_WEIGHT),
        tried_csr=lambda: tried(sp.csr_array(COUNTS), WEIGHT),
        tried_labels=lambda: tried(COUNTS, WEIGHT, SETS),
        **{name: lambda one=one: Pass(*one()) for name, one in STATISTICS.items()},
        **{f"learning {name}": lambda one=one: learning(*one()) for name, one in LEARNED.items()},
    ),
    CountTask: every(
        lambda: counting(COUNTS, REAL_WEIGHT),
        hashed=lambda: counting(np.where(COUNTS > 2.0, np.nan, COUNTS), WEIGHT, pairs=[[0, 1], [1, 4]], n_bits=3),
    ),
    SampleTask: every(
        lambda: Pass(SampleTask(np.unique(Y), None, 3, 2, 5, np.array([1, 3])), opened(COUNTS, Y, WEIGHT)),
        labels=lambda: Pass(SampleTask(np.arange(SETS.shape[1]), Folding(3), 7), opened(sp.csr_array(COUNTS), SETS)),
        targets=lambda: Pass(SampleTask(np.zeros(1), Folding(3), 7, targets=TARGETS), of_targets()),
    ),
    PairScan: every(lambda: Pass(PAIRS, opened(sp.csr_array(COUNTS), Y, WEIGHT))),
    ReadTask: every(
        lambda: reading(Softmax()),
        csr=lambda: reading(Logistic(), sp.csr_array(COUNTS), class_weight=np.array([1.0, 0.3, 2.0])),
        labels=lambda: reading(SquaredHinge(), y=SETS),
        products=lambda: reading(LeastSquares()),
        margin=lambda: reading(CrammerSinger()),
        line=lambda: reading(Softmax(), step=np.ones((6, K)), lengths=np.array([0.5, 1.0])),
    ),
    SharedRead: every(shared, labels=lambda: shared(SETS, "multilabel", "ranking"), folds=lambda: shared(by="given")),
    **{kind: {n: lambda one=one: Pass(*one()) for n, one in named.items()} for kind, named in OTHERS.items()},
    _UserTask: every(lambda: Pass(_UserTask(Highest(), "highest"), opened(COUNTS, labelled=False))),
}


# ---- sources, each with the rows that it holds -----------------------------------------------------------------------

Table = dict[str, np.ndarray]
LABELLED: Table = {"X": COUNTS, "y": Y, "weight": WEIGHT}
BESIDE_ZEROS = np.pad(COUNTS, ((0, 0), (1, 1)))
PRESENT: Table = {**LABELLED, "X": (COUNTS > 0).astype(float)}
ONES: Table = {**LABELLED, "X": np.ones((N, 5))}
ONE_CODE_EACH = CodedFeatures(np.arange(6), np.ones(5), np.ones(5, bool), np.zeros(5, bool))
TERMS = TermColumns.of(None, ONE_CODE_EACH, [((j,), FINEST) for j in range(5)])
COLUMNS: Table = {"y_true": Y, "y_pred": Y[::-1], "scores": PROBA}


def chunks() -> Any:
    return ((COUNTS[part], Y[part], WEIGHT[part]) for part in (slice(0, 11), slice(11, 11), slice(11, N)))


def present(chunk: Any) -> Any:
    return sp.csr_array((chunk.values > 0).astype(float))


def dense_store(folder: Any) -> Source:
    return opened(zarr.create_array(folder / "dense.zarr", data=COUNTS, chunks=(6, 5)), Y, WEIGHT)


def picked_rows(folder: Any) -> Source:
    X = zarr.create_array(folder / "twice.zarr", data=np.repeat(COUNTS, 2, axis=0), chunks=(12, 5))
    return PickedRows(X, opened(X, np.repeat(Y, 2), np.repeat(WEIGHT, 2)), np.arange(2 * N) % 2 == 0)


def csr_group(folder: Any) -> Source:
    snb.write_csr(folder / "csr.zarr", [(sp.csr_array(COUNTS[:9]), Y[:9]), (COUNTS[9:], Y[9:])], n_features=5)
    return opened(folder / "csr.zarr", "y", WEIGHT)


def hdf5(folder: Any) -> Source:
    with h5py.File(folder / "rows.h5", "w") as file:
        file["X"] = COUNTS
    return HDF5Source(HDF5Matrix(folder / "rows.h5", "X"), open_columns(Y, WEIGHT, N, True))


def svmlight(folder: Any) -> Source:
    dump_svmlight_file(COUNTS, CODES, str(folder / "rows.svm"))
    return opened(snb.svmlight(folder / "rows.svm", n_features=5), Y, WEIGHT)


def in_dask(values: Any) -> Any:
    return da.from_array(values, chunks=(13, *np.shape(values)[1:]))


def kept_of(rows: Source) -> Source:
    """All rows, as workers get them to keep."""
    return KeptSource(rows, Keeping("memory")).cut(0, len(Y))


SOURCES: dict[type, dict[str, tuple[Callable[[Any], Source], Table]]] = {
    ArraySource: every(
        (lambda _: opened(COUNTS, Y, WEIGHT), LABELLED),
        csr=(lambda _: opened(sp.csr_array(COUNTS), Y, WEIGHT), LABELLED),
    ),
    ZarrSource: every((dense_store, LABELLED)),
    ZarrCSRSource: every((csr_group, LABELLED)),
    HDF5Source: every((hdf5, LABELLED)),
    SvmlightSource: every((svmlight, LABELLED)),
    PreparedSource: every(
        (lambda _: PreparedSource(opened(COUNTS, Y, WEIGHT), present, 5, "present"), PRESENT),
        stored=(lambda folder: PreparedSource(dense_store(folder), present, 5, "present"), PRESENT),
    ),
    KeptSource: every(
        (lambda _: KeptSource(texts_of(COUNTS, Y, WEIGHT), Keeping("memory")), LABELLED),
        on_disk=(lambda folder: KeptSource(texts_of(COUNTS, Y, WEIGHT, folder), Keeping("disk")), LABELLED),
        stream=(lambda _: KeptSource(opened(chunks()), Keeping("disk")), LABELLED),
        nowhere=(lambda _: KeptSource(texts_of(COUNTS, Y, WEIGHT), Keeping("memory")).cut(0, len(Y)), LABELLED),
        of_files=(lambda folder: kept_of(texts_of(COUNTS, Y, WEIGHT, folder)), LABELLED),
    ),
    AbsentCountingSource: every(
        (lambda _: AbsentCountingSource(opened(sp.csr_array(ONES["X"]), Y, WEIGHT), TERMS, "abcde"), ONES)
    ),
    NarrowSource: every(
        (lambda _: NarrowSource(opened(BESIDE_ZEROS, Y, WEIGHT), RowOptions(), np.arange(1, 6), 7), LABELLED),
        stored=(lambda folder: NarrowSource(csr_group(folder), RowOptions("binary"), np.arange(5), 5), PRESENT),
    ),
    PickedRows: every((picked_rows, LABELLED)),
    FoldRows: every(outside_a_fold(COUNTS, Y, WEIGHT)),
    OutsideFolds: every(
        (lambda _: OutsideFolds({0: opened(COUNTS, Y, WEIGHT), 2: TiledSource(opened(ONES["X"], Y), 16)}), LABELLED)
    ),
    SiteRows: every((site_rows(COUNTS, Y, WEIGHT), LABELLED)),
    TiledSource: every(
        (lambda _: TiledSource(opened(COUNTS, Y, WEIGHT), 16), LABELLED),
        stored=(lambda folder: TiledSource(csr_group(folder), 4), LABELLED),
        stream=(lambda _: TiledSource(opened(chunks), 8), LABELLED),
    ),
    TextSource: every(
        (lambda _: texts_of(COUNTS, Y, WEIGHT), LABELLED),
        files=(lambda folder: texts_of(COUNTS, Y, WEIGHT, folder), LABELLED),
    ),
    TableSource: every(
        (lambda _: table_of(COUNTS, Y, WEIGHT), LABELLED),
        files=(lambda folder: table_of(COUNTS, Y, WEIGHT, folder), LABELLED),
    ),
    NumberSource: every(
        (lambda _: numbers_of(COUNTS, Y, WEIGHT), LABELLED),
        files=(lambda folder: numbers_of(COUNTS, Y, WEIGHT, folder), LABELLED),
    ),
    StreamSource: every((lambda _: opened(chunks), LABELLED), once=(lambda _: opened(chunks()), LABELLED)),
    DaskSource: every((lambda _: opened(in_dask(COUNTS), in_dask(Y), WEIGHT), LABELLED)),
    NamedColumns: every((lambda _: opened_columns(COLUMNS, LABELS), COLUMNS)),
    DaskColumns: every((lambda _: opened_columns({**COLUMNS, "scores": in_dask(PROBA)}, LABELS), COLUMNS)),
}


def over(table: Table) -> Pass:
    """A pass over such rows, in memory."""
    if "X" in table:
        return scan(X=table["X"], w=table.get("weight", WEIGHT))
    return Pass(_Judge(np.unique(Y), False, frozenset(table), np.arange(K)), opened_columns(table, LABELS))
