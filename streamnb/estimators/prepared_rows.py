"""Classifiers whose rows go through a step that is learned first: bins, or the quantile-normal map."""

from typing import Any

import numpy as np

from streamnb.encoding.bins import BinEdges
from streamnb.encoding.learning import check_learned, learned, prepared, to_learn
from streamnb.estimators.base import Parameter
from streamnb.passes.options import RunOptions
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.source import Source


class PreparedRows:
    """`transform` may be a `Bins` or "quantile_normal": learned in one pass by `fit`, applied to whatever rows come."""

    transform = Parameter()
    _step: LearnedStep | None = None
    _step_of: str | None = None  # the parameter that it was learned for
    _get_param_names: Any
    feature_names_in_: Any

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor; `deep` has no effect, for none of them is fitted with the classifier."""
        return {name: vars(self)[name] for name in self._get_param_names()}

    def _opened(self, X: Any, *beside: Any, fresh: bool = False, labelled: bool = True, run: Any = None) -> Source:
        rows = super()._opened(X, *beside, fresh=fresh, labelled=labelled)  # type: ignore[misc]
        if fresh:
            transform = vars(self)["transform"]
            self._step = learned(transform, rows, run or RunOptions(), type(self).__name__)
            self._step_of = None if self._step is None else repr(transform)
        return prepared(self._step, rows, *beside, labelled=labelled)

    def _check_step(self) -> None:
        """Refuse another step than that of the rows that were summed."""
        transform = vars(self)["transform"]
        asked = to_learn(transform)
        if hasattr(self, "stats_") and (None if asked is None else repr(asked)) != self._step_of:
            raise ValueError(
                f"transform={transform!r}: what is done to rows is learned before the scan, which had "
                f"{self._step_of or 'none such'}; use fit"
            )

    def _n_given(self, n_columns: int) -> int:
        """The features of X, of which so many columns were made."""
        return n_columns if self._step is None else self._step.n_features

    @property
    def column_names_(self) -> np.ndarray:
        """Names of the columns that weights are of, where bins make other columns of the features."""
        if not isinstance(self._step, BinEdges):
            raise AttributeError(f"{type(self).__name__} has no 'column_names_': transform= makes no columns")
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self._step.n_features)])
        return np.array(self._step.names(names), object)

    def _restore_step(self, step: Any, n_columns: int) -> None:
        """Take out of a file what was learned, for so many columns."""
        transform = vars(self)["transform"]
        self._step = check_learned(transform, step)
        self._step_of = None if step is None else repr(transform)
        if step is not None and step.n_columns != n_columns:
            raise ValueError(f"the step makes {step.n_columns} columns, and the model is of {n_columns}")


def names_of_columns(estimator: Any) -> Any:
    """Names of the columns that weights are of, None where they have none."""
    return getattr(estimator, "column_names_", getattr(estimator, "feature_names_in_", None))
