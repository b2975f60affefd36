"""Examples of what merges, put through its laws as those of examples_of_contracts are: a part for each number."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import numpy as np
import scipy.sparse as sp

import streamnb as snb
from streamnb.corpora.predictions import Written
from streamnb.encoding.learning import OfCopies
from streamnb.encoding.ngrams import NGrams, TokenCounts
from streamnb.encoding.table_codes import LevelCounts, TableCounts
from streamnb.estimators.judged import VALUES, NumberRows, NumberTallies
from streamnb.evaluation.reference import NestedRanking, ReferenceGroups
from streamnb.evaluation.score_order import Histogram, Ranking
from streamnb.evaluation.slices import SliceColumn, Slices, Slicing
from streamnb.evaluation.tallied import Tallied
from streamnb.evaluation.tallies import ConfusedPairs, ContentSample, Decisions, Rows
from streamnb.passes.contract import Report
from streamnb.passes.passes import TotalsOfRead
from streamnb.problem.losses import SQUARES
from streamnb.problem.penalties import Pull
from streamnb.problem.schemes import Joint, MultiLabel
from streamnb.rows.opening import opened
from streamnb.rows.row_blocks import DenseChunk
from streamnb.scanning.describing import _Look, _Sample
from streamnb.stats.row_means import RowMeans, WeightTable
from streamnb.stats.row_sample import RowSample
from streamnb.stats.value_counts import ValueCells, ValueCounts, cells_of
from tests.support.examples_of_contracts import CODES, COUNTS, WEIGHT, K
from tests.support.examples_of_problems import every
from tests.support.examples_of_raw_rows import counted_columns
from tests.support.examples_of_sharing import MERGED_SHARED


def drawn(seed: int, n: int = 12) -> tuple[np.random.Generator, np.ndarray, np.ndarray, np.ndarray]:
    """Rows with class numbers, weights whose sums are exact, and margins of two models."""
    rng = np.random.default_rng(seed)
    return rng, rng.integers(0, K, n), rng.choice([0.25, 0.5, 1.0, 2.0], n), rng.integers(-4, 5, (n, K, 2)) / 4.0


def tally(empty: Any, seed: int, sets: bool = False) -> Any:
    rng, codes, weight, margins = drawn(seed)
    proba = np.full((len(codes), K), 1.0 / K)
    pairs = ((rng.random((len(codes), K)) < 0.4).astype(np.uint8) for _ in range(2))
    said = (*map(sp.csr_array, pairs),) if sets else (codes, codes[::-1])
    empty.add(Rows(said[0], weight, said[1], margins[:, :, 0], np.log(proba)))
    return empty


def judged(kind: Any, seed: int, groups: Any = None, **options: Any) -> Any:
    _, codes, weight, margins = drawn(seed)
    evaluation = kind(K, ("confusion", "ranking", "pairs"), **options)
    evaluation.add(codes, weight, predicted=codes[::-1], ranking=margins[:, :, 0], groups=groups)
    return evaluation


def models(seed: int, *needs: str, multilabel: bool = False) -> Any:
    rng, codes, weight, margins = drawn(seed)
    judged = snb.Evaluation(K, needs, multilabel=multilabel, exact_rows=20, n_bins=8, n_models=2)
    labels = (rng.random((len(codes), K)) < 0.4).astype(int) if multilabel else codes
    judged.add_margins(MultiLabel() if multilabel else Joint(), margins, labels, weight)
    return judged


def sampled(number: int, size: int = 3, **options: Any) -> Any:
    sample, rows = RowSample(K, size, **options), slice(9 * number, 9 * number + 9)  # no other part has these
    sample.add(DenseChunk(COUNTS[rows], rows.start), CODES[rows], WEIGHT[rows], np.arange(9) % 2)
    return sample.finish()


def against_reference(seed: int) -> Any:
    rng, _, weight, margins = drawn(seed)
    groups = ReferenceGroups(tuple(range(K)), (K,), either=False)  # rows without any label
    evaluation = snb.Evaluation(K, multilabel=True, n_models=2, exact_rows=20, n_bins=8, reference=groups)
    labels = sp.csr_array((rng.random((len(weight), K)) < 0.3).astype(int))
    evaluation.add_margins(None, margins, labels, weight)
    return evaluation


def nested_ranking(seed: int, exact_rows: int = 20) -> Any:
    _, codes, weight, margins = drawn(seed)
    sizes = {"exact_rows": exact_rows, "n_bins": 8, "n_models": margins.shape[2]}
    ranked = NestedRanking(1, multilabel=True, pairs=False, **sizes)
    ranked.add(margins[:, :1], (codes[:, None] == 1).astype(np.uint8), weight)
    return ranked


def decisions_of_models(seed: int) -> Any:
    _, codes, weight, _ = drawn(seed)
    decisions = Decisions.of_classes(K, True, 2)
    decisions.add(Rows(codes, weight, np.column_stack([codes, codes[::-1]])))
    return decisions


def histogram(seed: int) -> Any:
    _, codes, weight, margins = drawn(seed)
    counts = Histogram(K, 2, 8)
    scores = np.ascontiguousarray(margins[:, :, :1]) * 10.0**seed
    counts.add(scores, (codes[:, None] == np.arange(K)).astype(np.uint8), weight)
    return counts


def ranking(seed: int, exact_rows: int) -> Any:
    _, codes, weight, margins = drawn(seed)
    ranked = Ranking(K, multilabel=False, pairs=False, exact_rows=exact_rows, n_bins=8)
    ranked.add(np.ascontiguousarray(margins[:, :, :1]), codes, weight)
    return ranked


def means(seed: int) -> Any:
    _, _, weight, margins = drawn(seed)
    of_rows = RowMeans.of_values(["first", "second"])
    of_rows.add([margins[:, 0, 0], margins[:, 1, 0]], weight)
    return of_rows


def cell_weights(seed: int) -> Any:
    _, codes, weight, _ = drawn(seed)
    table = WeightTable.of_shape(K, K)
    table.add((codes, codes[::-1]), weight)
    return table


def content(seed: int) -> Any:
    _, codes, weight, margins = drawn(seed)
    sample = ContentSample(9, {"labels": codes[:0], "ranking": margins[:0, :, 0]})
    sample.add({"labels": codes, "ranking": margins[:, :, 0]}, weight)
    return sample


def column(seed: int) -> SliceColumn:
    return SliceColumn("ward", ("A", "BCD"[seed], *([None] if seed == 1 else [])))


def slices(seed: int) -> Any:
    _, codes, weight, _ = drawn(seed)
    empty = snb.Evaluation(K, "hits", exact_rows=10, n_bins=8, interval=0.95)
    found = Slices(Slicing((column(seed),)), empty)
    found.add(Rows(codes, weight, codes[::-1]), codes[:, None] % 2)
    found._add_waiting()
    return found


PULLS = Pull(l1=0.5), Pull(l2=0.25, scored=True), Pull(top_k=2, by="score", decorrelation=1.0)


def look(seed: int) -> _Look:
    """A first look at some of the rows; `describe` writes no checkpoints."""
    found = _Look(None, _Sample(7), ValueCounts((), *(np.zeros(0, dtype) for dtype in (np.int64, float, float))))
    for block in opened(COUNTS, CODES, WEIGHT).blocks(5 * seed, 5 * seed + 5):
        found.add_block(block)
    return found


def numbers(seed: int) -> NumberTallies:
    """Judged numbers whose sums are exact."""
    _, codes, weight, margins = drawn(seed)
    found = NumberTallies.asked(SQUARES, 0.95, (0.9,), whole=True)
    values = np.resize(margins, (len(codes), len(VALUES)))
    covered = np.column_stack([codes > 0, weight])
    found.add_rows(NumberRows(values, weight, values[:, 0], np.ones(len(codes)), covered, None))
    return found


def tokens(counts: dict[str, int]) -> TokenCounts:
    return TokenCounts(NGrams(), counts=Counter({token.encode(): n for token, n in counts.items()}))


def copies(units: dict[int, TokenCounts]) -> OfCopies:
    return OfCopies(tokens({}), units=units)


MERGED: dict[type, dict[str, Callable[[int], Any]]] = {
    TotalsOfRead: every(
        lambda seed: TotalsOfRead([[tokens({"a": seed + 1}), tokens({f"t{seed}": 2})]], np.array([1, 2]))
    ),
    OfCopies: every(
        lambda seed: copies({0: tokens({f"t{seed}": 2}), -1 - seed % 2: tokens({"a": seed + 1})}),
        plain=lambda seed: copies({0: tokens({f"t{seed}": 2, "a": 1})}),
    ),
    TokenCounts: every(lambda seed: tokens({f"t{seed}": 2, "all": seed + 1})),
    LevelCounts: every(
        lambda seed: LevelCounts({f"v{seed}": 2, "all": seed + 1}, seed, 9),
        full=lambda seed: LevelCounts({f"v{seed}": 2, "all": seed + 1}, seed, 2),
    ),
    TableCounts: every(counted_columns),
    ValueCells: every(lambda seed: cells_of(np.random.default_rng(seed).normal(size=3000))),
    Report: every(lambda seed: Report(seed + 1, 8, 2, 0.5, 0.25, seed / 4.0, 0.125)),
    snb.TargetSums: every(lambda seed: snb.Ridge().fit(COUNTS[seed::3], COUNTS[seed::3, 0] + 1.0).stats_),
    Written: every(lambda seed: Written(seed + 3, seed, 1, 100 * seed, 1, seed % 2, seed / 4.0)),
    Pull: every(lambda seed: PULLS[seed]),
    RowMeans: every(means),
    WeightTable: every(cell_weights),
    Decisions: every(
        lambda seed: tally(Decisions.of_classes(K, True), seed),
        sets=lambda seed: tally(Decisions.of_classes(K, n_powers=1), seed, sets=True),
        models=decisions_of_models,
    ),
    ConfusedPairs: every(lambda seed: tally(ConfusedPairs(K), seed)),
    ContentSample: every(content),
    SliceColumn: every(column),
    Slicing: every(lambda seed: Slicing((column(seed),))),
    Slices: every(slices),
    NumberTallies: every(numbers),
    _Sample: every(lambda seed: _Sample(9, np.arange(4, dtype=np.uint64) * 3 + seed, [np.arange(4.0) + seed])),
    _Look: every(look),
    Tallied: every(lambda seed: judged(Tallied, seed)),
    snb.Evaluation: every(
        lambda seed: judged(snb.Evaluation, seed),
        bins=lambda seed: judged(snb.Evaluation, seed, exact_rows=20, n_bins=8),
        intervals=lambda seed: judged(snb.Evaluation, seed, interval=0.95),
        groups=lambda seed: judged(snb.Evaluation, seed, groups=np.arange(12) // 2, interval=0.95, grouped=True),
        models=lambda seed: models(seed, "confusion", "ranking", "probabilities"),
        pairs=lambda seed: models(seed, "ranking", "pairs"),
        labels=lambda seed: models(seed, "multilabel", "ranking", multilabel=True),
        reference=against_reference,
    ),
    RowSample: every(
        sampled,
        classes=lambda seed: sampled(seed, 0, each=2, seed=3),
        weights=lambda seed: sampled(seed, mean_weight=1.0),
    ),
    Histogram: every(histogram),
    NestedRanking: every(lambda seed: nested_ranking(seed, 100), bins=nested_ranking),
    **MERGED_SHARED,
    Ranking: every(lambda seed: ranking(seed, 100), bins=lambda seed: ranking(seed, 20)),
}
