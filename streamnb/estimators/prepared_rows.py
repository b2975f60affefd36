"""Classifiers whose rows go through a step that is learned first: bins, or the quantile-normal map."""

from dataclasses import replace
from typing import Any

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone

from streamnb.core import persistence
from streamnb.encoding.bins import BinEdges, ValueScan
from streamnb.encoding.quantile_normal import QuantileNormal
from streamnb.estimators.bins import Bins, joined
from streamnb.passes.answering import answer
from streamnb.passes.options import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.rows.prepared import PreparedSource
from streamnb.rows.source import Source

QUANTILE_NORMAL = "quantile_normal"


class PreparedRows:
    """`transform` may be a `Bins` or "quantile_normal": learned in one pass by `fit`, applied to whatever rows come."""

    _step: BinEdges | QuantileNormal | None = None
    _step_of: str | None = None  # the parameter that it was learned for

    def _asked_step(self) -> Any:
        """What is to be learned, None where a transform of single values is asked for."""
        transform = vars(self)["transform"]
        return transform if isinstance(transform, Bins) or transform == QUANTILE_NORMAL else None

    def _opened(self, X: Any, *beside: Any, fresh: bool = False, labelled: bool = True, run: Any = None) -> Source:
        rows = super()._opened(X, *beside, fresh=fresh, labelled=labelled)  # type: ignore[misc]
        if fresh:
            asked = self._asked_step()
            self._step = None if asked is None else self._learn(asked, rows, run or RunOptions())
            self._step_of = None if asked is None else repr(asked)
        if self._step is None:
            return rows
        step, width = self._step, self._step.n_columns
        if not rows.lazy:
            return PreparedSource(rows, step.applied, width, persistence.digest(step))
        sparse = isinstance(step, BinEdges)
        meta: Any = sp.csr_array((0, width)) if sparse else np.empty((0, width))
        join = joined if sparse else np.concatenate
        return opened(
            answer(step.applied, rows, width, None, join=join, meta=meta, missing=True), *beside, labelled=labelled
        )

    def _learn(self, asked: Any, rows: Source, options: RunOptions) -> BinEdges | QuantileNormal:
        rows.check_read_again(type(self).__name__)
        counts, _ = run(ValueScan(options.memory_limit), rows, replace(options, checkpoint=None))
        return clone(asked).learned(counts) if isinstance(asked, Bins) else QuantileNormal.learned(counts)

    def _check_step(self) -> None:
        """Refuse another step than that of the rows that were summed."""
        asked = self._asked_step()
        if hasattr(self, "stats_") and (None if asked is None else repr(asked)) != self._step_of:
            raise ValueError(
                f"transform={vars(self)['transform']!r}: what is done to rows is learned before the scan, which had "
                f"{self._step_of or 'none such'}; use fit"
            )

    def _keep(self, stats: Any, *more: Any) -> None:
        super()._keep(stats, *more)  # type: ignore[misc]
        if self._step is not None:
            self.n_features_in_ = self._step.n_features

    @property
    def column_names_(self) -> np.ndarray:
        """Names of the columns that weights are of, where bins make other columns of the features."""
        if not isinstance(self._step, BinEdges):
            raise AttributeError(f"{type(self).__name__} has no 'column_names_': transform= makes no columns")
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self._step.n_features)])
        return np.array(self._step.names(names), object)

    def to_state(self) -> dict[str, Any]:
        return {**super().to_state(), "step": self._step}  # type: ignore[misc]

    def _restore(self, state: dict[str, Any]) -> None:
        step, asked = state.get("step"), self._asked_step()
        if (step is None) != (asked is None) or not isinstance(step, BinEdges | QuantileNormal | None):
            raise ValueError(f"transform={asked!r} should come with what was learned for it, not {type(step).__name__}")
        if step is not None and step.n_columns != state["fitted"]["stats_"].n_features:
            raise ValueError(f"the step makes {step.n_columns} columns, and the statistics are of others")
        self._step, self._step_of = step, None if asked is None else repr(asked)
