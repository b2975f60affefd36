"""Judges models of folds: every row is scored by models that have not seen it, into an evaluation for each fold."""

from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.core import memory, row_checks
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.reference import ReferenceGroups
from streamnb.evaluation.scorers import Scorer
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.grouping import known_codes

KEPT_SCORES = 1 << 25  # exact scores that all evaluations together may keep, and as many numbers in histograms


@dataclass(frozen=True, eq=False)
class FoldJudge:
    """Judges the models of all folds, whether they were solved before the read or are trained by it.

    Attributes
    ----------
    classes : (K,)
    needs : what the evaluations have to count
    n_models : int
        The number of models of all folds, which share the scores that may be kept.
    multilabel : bool
        Whether rows have any number of labels.
    n_rows : int or None
    rows : (n_splits, K) or None
        The numbers of rows, and of those of each class in each split, if each read is to be compared with them.
    """

    classes: np.ndarray
    needs: frozenset[str]
    n_models: int
    multilabel: bool = False
    n_rows: int | None = None
    rows: np.ndarray | None = None

    def evaluation(self, scheme: Any, n_models: int, nested: bool = False) -> Evaluation:
        """An evaluation of models, without rows."""
        exact_rows, n_bins, _ = _sizes(self.n_models, len(self.classes), self.needs, self.multilabel)
        reference = None
        if "reference" in self.needs:
            reference = ReferenceGroups.of(scheme, nested)
        return Evaluation(
            len(self.classes),
            self.needs - {"reference"},
            multilabel=self.multilabel,
            exact_rows=exact_rows,
            n_bins=n_bins,
            classes=self.classes,
            n_models=n_models,
            reference=reference,
        )

    def labels(self, given: Any, first_row: int) -> Any:
        """The codes (n_rows,) or the indicator (n_rows, K) of given labels; raise for labels that the scan lacks."""
        y: Any = row_checks.check_y(given)
        if self.multilabel:
            if y.ndim != 2 or y.shape[1] != len(self.classes):
                found = "one label a row"
                if y.ndim == 2:
                    found = f"{y.shape[1]} columns"
                raise ValueError(f"y has {found}; in the first scan it had {len(self.classes)} columns")
            return y
        return known_codes(y, self.classes, first_row)


def counts_of(labels: Any, splits: np.ndarray, shape: tuple[int, int]) -> np.ndarray:
    """The number of rows of each class in each of their `splits` (repeats, n_rows), (n_splits, K)."""
    rows, codes = np.arange(splits.shape[1]), labels
    if sp.issparse(labels):
        rows, codes = np.repeat(rows, np.diff(labels.indptr)), labels.indices
    groups = (splits[:, rows] * shape[1] + codes).reshape(-1)
    return np.bincount(groups, minlength=shape[0] * shape[1]).reshape(shape)


def _sizes(
    n_models: int, n_classes: int, needs: frozenset[str], multilabel: bool, n_rows: int = KEPT_SCORES
) -> tuple[int, int, int]:
    """Rows whose scores are kept one by one, bins of histograms beyond, and bytes of all tallies of `n_rows` rows."""
    share = KEPT_SCORES // (n_models * n_classes)
    exact_rows, n_bins = min(max(share, 100), 10_000), min(max(share // 2, 64), 2048)
    kept = 8 * n_rows if n_rows <= exact_rows else max(8 * exact_rows, 16 * n_bins)
    per_class = 24 + kept * len(needs & {"ranking", "margin"})
    per_class += 8 * n_classes * ("confusion" in needs and not multilabel)
    return exact_rows, n_bins, n_models * n_classes * per_class


def check_sheet(
    n_models: int, models: str, stats: ClassStats, scorer: Scorer, limit: Any, at_once: int = 0, train: bool = False
) -> None:
    """Refuse scores that do not fit into memory, of all models or `at_once`, for a fold, or with `train` all rows."""
    n_rows = stats.n_rows if train else max(fold.n_rows for fold in stats.folds)
    n_bytes = _sizes(n_models, len(stats.classes), scorer.needs, stats.multilabel, n_rows)[2]
    n_bytes = n_bytes * (at_once or n_models) // n_models
    less = ", or a scoring of decisions alone, such as 'f1_micro'"
    if scorer.needs <= {"hits"}:
        less = ""
    cure = f"give a larger memory_limit, or take fewer penalties or folds{less}"
    memory.check(f"what scoring={scorer.name!r} keeps of {models}", n_bytes, limit, cure)
