"""Prepares the rows of an estimator, for fits and for predictions: encodes columns and applies the learned step."""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from streamnb.encoding.bins import BinEdges
from streamnb.encoding.by_fold import StepsOfFolds
from streamnb.encoding.category_columns import CategoryColumns
from streamnb.encoding.encoding import Encoding
from streamnb.encoding.learning import LearnsBins, check_learned, learned_by_fold, learned_levels, prepared, to_learn
from streamnb.encoding.opening import opened_for
from streamnb.passes.options import RunOptions
from streamnb.problem.family import Family
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding


@dataclass(frozen=True)
class StepRequest:
    """The step that the parameters of an estimator request.

    Attributes
    ----------
    who : str
        The name of the estimator, for messages.
    transform : Bins, "quantile_normal" or anything that is not learned
    coded : Family, optional
        A family with columns of category numbers.
    """

    who: str
    transform: Any = None
    coded: Family | None = None

    @property
    def learns(self) -> bool:
        """Whether a step has to be learned from numeric columns."""
        return self.coded is not None or to_learn(self.transform) is not None

    @property
    def reads(self) -> bool:
        """Whether learning takes a read of the rows."""
        return self.learns

    def learned(self, rows: Source, options: RunOptions, names: Any, *beside: Any) -> LearnedStep | None:
        """The step, learned in one pass over the rows; `beside` are their labels and weights, as given."""
        return self.learned_by_fold(rows, options, names, None).whole

    def learned_by_fold(self, rows: Source, options: RunOptions, names: Any, folding: Folding | None) -> StepsOfFolds:
        """The steps of all rows and of the rows outside each fold, learned in one pass."""
        if self.coded is None or to_learn(self.transform) is not None:
            return learned_by_fold(self.transform, rows, options, self.who, folding)
        return learned_levels(self.coded.named(names).coded_columns, rows, options, self.who, folding)

    def description(self, names: Any, n_features: int) -> str | None:
        """The request in words, for rows with these columns; None where nothing is to be learned."""
        if to_learn(self.transform) is not None:
            return f"transform={self.transform!r}"
        return None if self.coded is None else _of_categories(self.coded.named(names).coded_columns(n_features))

    def description_of(self, step: Any, names: Any) -> str | None:
        """The request, in words, of a step loaded from a file; the family may have changed since."""
        if isinstance(step, CategoryColumns):
            return _of_categories(step.columns)
        return None if step is None else self.description(names, step.n_features)

    def check(self, step: Any) -> None:
        """Raise where a step loaded from a file does not match the request."""
        check_learned(self.transform, step, self.coded is not None)


@dataclass(frozen=True, eq=False)
class Preparation:
    """The preparation of rows, the same for the fit and for predictions.

    Attributes
    ----------
    encoding : Encoding, optional
        Turns raw rows, such as texts, into columns.
    layer : str, optional
        The layer of AnnData to read in place of X.
    step : LearnedStep, optional
        The step applied to the columns: bins, the quantile-normal map, or indicators of categories.
    requested : str, optional
        The request that the step was learned for, in words.
    """

    encoding: Encoding | None = None
    layer: str | None = None
    step: LearnedStep | None = None
    requested: str | None = None

    def with_step(self, step: LearnedStep | None, request: StepRequest, names: Any) -> "Preparation":
        """The same with a step that was learned as requested."""
        n_features = 0 if step is None else step.n_features
        return replace(self, step=step, requested=request.description(names, n_features))

    def opened(self, X: Any, *beside: Any, labelled: bool = True, look: Any = None) -> Source:
        """Open rows to be scored, or to be added to the fit."""
        rows = opened_for(self.encoding, X, *beside, labelled=labelled, look=look, layer=self.layer)
        return self.applied(rows, *beside, labelled=labelled)

    def applied(self, rows: Source, *beside: Any, labelled: bool = True) -> Source:
        """Opened rows with the step applied; `beside` are their labels and weights."""
        return prepared(self.step, rows, *beside, labelled=labelled)

    def restored(self, request: StepRequest, step: Any, n_columns: int, names: Any = None) -> "Preparation":
        """The same with a step loaded from a file, for a model of `n_columns` columns."""
        request.check(step)
        if step is not None and step.n_columns != n_columns:
            raise ValueError(f"the step makes {step.n_columns} columns, and the model is of {n_columns}")
        return replace(self, step=step, requested=request.description_of(step, names))

    def check_request(self, requested: str | None) -> None:
        """Raise where parameters request another step than the one applied in the fit."""
        if requested != self.requested:
            raise ValueError(
                f"{requested or 'transform=None'}: what is done to rows is learned before the scan, which had "
                f"{self.requested or 'none such'}; use fit"
            )

    def n_features(self, n_columns: int) -> int:
        """The number of features of X that became `n_columns` columns."""
        return n_columns if self.step is None else self.step.n_features

    def family(self, family: Family, names: Any) -> Family:
        """A family for the columns of the weights, with their names or numbers of categories where it needs them."""
        step = self.step
        if isinstance(step, CategoryColumns):
            return family.named(names).widened(step.firsts)
        known = self.encoding if step is None else None  # weights refer to its columns
        made = self.column_names(names)
        family = family.named(names if made is None else made, known and known.kinds)
        return family.widened(step.firsts) if isinstance(step, BinEdges) and family.coded else family

    def column_names(self, names: Any) -> np.ndarray | None:
        """Names of the columns of the weights, where bins or categories replace the features."""
        if not isinstance(self.step, BinEdges | CategoryColumns):
            return None
        names = [f"x{j}" for j in range(self.step.n_features)] if names is None else names
        return np.array(self.step.names(names), object)


def names_of_columns(estimator: Any) -> Any:
    """Names of the columns of the weights; None where they have none."""
    return getattr(estimator, "column_names_", getattr(estimator, "feature_names_in_", None))


def check_coded(family: Family, transform: Any, normalize: Any, idf: Any) -> None:
    """Raise for options that have no meaning for category numbers or their indicators."""
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
