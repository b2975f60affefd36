"""Classifiers whose rows go through a step that is learned first: bins, the quantile-normal map, or categories."""

from collections.abc import Callable
from copy import copy
from typing import Any

import numpy as np

from streamnb.encoding.bins import BinEdges
from streamnb.encoding.by_fold import StepsOfFolds
from streamnb.encoding.learning import (
    LearnsBins,
    check_learned,
    learned_by_fold,
    learned_levels,
    prepared,
    to_learn,
)
from streamnb.encoding.levels import CategoryColumns
from streamnb.estimators.base import Parameter
from streamnb.passes.options import RunOptions
from streamnb.problem.family import Family
from streamnb.rows.column_maps import LearnedStep
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding


class PreparedRows:
    """`transform` may be a `Bins` or "quantile_normal", and columns categories: learned in one pass by `fit`.

    What is learned is applied to whatever rows come.
    """

    transform = Parameter()
    _step: LearnedStep | None = None
    _step_of: str | None = None  # what it was learned for, in words
    _get_param_names: Any
    feature_names_in_: Any

    def _asked_transform(self) -> Any:
        """What is done to the rows, some of it learned of them first: `transform`."""
        return vars(self)["transform"]

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of the constructor; `deep` has no effect, for none of them is fitted with the classifier."""
        return {name: vars(self)[name] for name in self._get_param_names()}

    def _opened(self, X: Any, *beside: Any, fresh: bool = False, labelled: bool = True, run: Any = None) -> Source:
        rows = self._as_given(X, *beside, fresh=fresh, labelled=labelled, run=run)
        if fresh:
            self._take_step(self._learn(rows, run or RunOptions(), *beside))
        return prepared(self._step, rows, *beside, labelled=labelled)

    def _as_given(self, X: Any, *beside: Any, fresh: bool = False, labelled: bool = True, run: Any = None) -> Source:
        """Rows to which nothing has been done."""
        return super()._opened(X, *beside, fresh=fresh, labelled=labelled)  # type: ignore[misc]

    def _take_step(self, step: LearnedStep | None) -> None:
        """Remember what was learned, and what for."""
        self._step, self._step_of = step, None
        self._step_of = self._asked_step()

    def _coded(self) -> Family | None:
        """A family with columns that are numbers of categories, None where there is none."""
        return None

    def _coded_columns(self) -> Callable[[int], np.ndarray]:
        """Which columns of X these are, of so many."""
        family = self._coded()
        assert family is not None
        return family.named(getattr(self, "feature_names_in_", None)).coded_columns

    def _learn(self, rows: Source, options: RunOptions, *beside: Any) -> LearnedStep | None:
        """What is asked for, from one pass over the rows; `beside` are their labels and weights, as they were given."""
        return self._learn_by_fold(rows, options, None).whole

    def _learn_by_fold(self, rows: Source, options: RunOptions, folding: Folding | None) -> StepsOfFolds:
        """What is asked for, of all rows and of those outside each fold, from one pass over the rows."""
        transform, who = self._asked_transform(), type(self).__name__
        if self._coded() is None or to_learn(transform) is not None:
            return learned_by_fold(transform, rows, options, who, folding)
        return learned_levels(self._coded_columns(), rows, options, who, folding)

    def _with_step(self, step: LearnedStep) -> Any:
        """The same estimator with what was learned of other rows."""
        other = copy(self)
        other._step = step
        return other

    def _asked_step(self) -> str | None:
        """What the parameters ask to be learned, in words."""
        transform = self._asked_transform()
        if to_learn(transform) is not None:
            return f"transform={transform!r}"
        if self._coded() is None:
            return None
        return _of_categories(self._coded_columns()(self._n_given(getattr(self, "n_features_in_", 0))))

    def _check_step(self) -> None:
        """Refuse another step than that of the rows that were summed."""
        if hasattr(self, "stats_") and (asked := self._asked_step()) != self._step_of:
            raise ValueError(
                f"{asked or 'transform=None'}: what is done to rows is learned before the scan, which had "
                f"{self._step_of or 'none such'}; use fit"
            )

    def _n_given(self, n_columns: int) -> int:
        """The features of X, of which so many columns were made."""
        return n_columns if self._step is None else self._step.n_features

    @property
    def column_names_(self) -> np.ndarray:
        """Names of the columns that weights are of, where bins or categories make others of the features."""
        if not isinstance(self._step, BinEdges | CategoryColumns):
            raise AttributeError(f"{type(self).__name__} has no 'column_names_': no columns are made of those of X")
        names = getattr(self, "feature_names_in_", [f"x{j}" for j in range(self._step.n_features)])
        return np.array(self._step.names(names), object)

    def _restore_step(self, step: Any, n_columns: int) -> None:
        """Take out of a file what was learned, for so many columns."""
        transform = self._asked_transform()
        self._step = check_learned(transform, step, self._coded() is not None)
        known = f"transform={transform!r}" if step is not None else None
        self._step_of = _of_categories(step.columns) if isinstance(step, CategoryColumns) else known
        if step is not None and step.n_columns != n_columns:
            raise ValueError(f"the step makes {step.n_columns} columns, and the model is of {n_columns}")


def names_of_columns(estimator: Any) -> Any:
    """Names of the columns that weights are of, None where they have none."""
    return getattr(estimator, "column_names_", getattr(estimator, "feature_names_in_", None))


def check_coded(family: Family, transform: Any, normalize: Any, idf: Any) -> None:
    """Refuse what does nothing to numbers of categories, or to the indicators made of them."""
    if not family.coded:
        return
    steps = {"normalize": normalize or None, "idf": idf or None, "transform": transform}
    if isinstance(transform, LearnsBins) and family.members == (family,):
        del steps["transform"]
    for name, value in steps.items():
        if value is not None:
            also = ", or of Categorical() alone Bins" if name == "transform" else ""
            raise ValueError(
                f"{name}={value!r} is nothing for the categories of family={family!r}; it should be "
                f"{'False' if name == 'idf' else 'None'}{also}"
            )


def _of_categories(columns: np.ndarray) -> str:
    return f"family=Categorical() of the columns {columns.tolist()}"


def family_of_columns(estimator: Any, family: Family) -> Family:
    """The family of the columns that weights are of, which it may name or have numbers of categories for."""
    step = estimator._step
    if isinstance(step, CategoryColumns):
        return family.named(getattr(estimator, "feature_names_in_", None)).widened(step.firsts)
    known = estimator.encoding_ if step is None else None  # whose columns those are that weights are of
    family = family.named(names_of_columns(estimator), known and known.kinds)
    return family.widened(step.firsts) if isinstance(step, BinEdges) and family.coded else family
