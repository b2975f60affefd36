"""What is done to rows before an estimator learns from them or scores them: columns are made, and a step is learned."""

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
    """The step that the parameters of an estimator ask to be learned.

    Attributes
    ----------
    who : str
        The estimator, for messages.
    transform : Bins, "quantile_normal" or anything that is not learned
    coded : Family, optional
        A family with columns that are numbers of categories.
    """

    who: str
    transform: Any = None
    coded: Family | None = None

    @property
    def learns(self) -> bool:
        """Whether anything is, of numbers as they are."""
        return self.coded is not None or to_learn(self.transform) is not None

    def learned(self, rows: Source, options: RunOptions, names: Any, *beside: Any) -> LearnedStep | None:
        """The step, from one pass over the rows; `beside` are their labels and weights, as they were given."""
        return self.learned_by_fold(rows, options, names, None).whole

    def learned_by_fold(self, rows: Source, options: RunOptions, names: Any, folding: Folding | None) -> StepsOfFolds:
        """The step of all rows, and those of the rows outside each fold, from one pass over the rows."""
        if self.coded is None or to_learn(self.transform) is not None:
            return learned_by_fold(self.transform, rows, options, self.who, folding)
        return learned_levels(self.coded.named(names).coded_columns, rows, options, self.who, folding)

    def in_words(self, names: Any, n_features: int) -> str | None:
        """What is asked to be learned of rows with these columns, None where nothing is."""
        if to_learn(self.transform) is not None:
            return f"transform={self.transform!r}"
        return None if self.coded is None else _of_categories(self.coded.named(names).coded_columns(n_features))

    def asked_for(self, step: Any, names: Any) -> str | None:
        """What a step out of a file was learned for, in words; the family may have been set anew since."""
        if isinstance(step, CategoryColumns):
            return _of_categories(step.columns)
        return None if step is None else self.in_words(names, step.n_features)

    def check(self, step: Any) -> None:
        """Refuse a step out of a file that was not learned for this."""
        check_learned(self.transform, step, self.coded is not None)


@dataclass(frozen=True, eq=False)
class Preparation:
    """What is done to rows, the same for those of the fit and those of predictions.

    Attributes
    ----------
    encoding : Encoding, optional
        What makes columns of raw rows, such as texts.
    layer : str, optional
        Of AnnData, in place of its X.
    step : LearnedStep, optional
        What columns go through then: bins, the quantile-normal map, or indicators of categories.
    asked : str, optional
        What the step was learned for, in words.
    """

    encoding: Encoding | None = None
    layer: str | None = None
    step: LearnedStep | None = None
    asked: str | None = None

    def with_step(self, step: LearnedStep | None, request: StepRequest, names: Any) -> "Preparation":
        """The same with the step that was learned as requested."""
        n_features = 0 if step is None else step.n_features
        return replace(self, step=step, asked=request.in_words(names, n_features))

    def opened(self, X: Any, *beside: Any, labelled: bool = True, look: Any = None) -> Source:
        """Rows to be scored, or to be added to those of the fit."""
        rows = opened_for(self.encoding, X, *beside, labelled=labelled, look=look, layer=self.layer)
        return self.applied(rows, *beside, labelled=labelled)

    def applied(self, rows: Source, *beside: Any, labelled: bool = True) -> Source:
        """Opened rows as the step makes them; `beside` are their labels and weights."""
        return prepared(self.step, rows, *beside, labelled=labelled)

    def restored(self, request: StepRequest, step: Any, n_columns: int, names: Any = None) -> "Preparation":
        """The same with the step out of a file, of a model of so many columns."""
        request.check(step)
        if step is not None and step.n_columns != n_columns:
            raise ValueError(f"the step makes {step.n_columns} columns, and the model is of {n_columns}")
        return replace(self, step=step, asked=request.asked_for(step, names))

    def check_asked(self, asked: str | None) -> None:
        """Refuse parameters that ask for another step than the one the rows of the fit went through."""
        if asked != self.asked:
            raise ValueError(
                f"{asked or 'transform=None'}: what is done to rows is learned before the scan, which had "
                f"{self.asked or 'none such'}; use fit"
            )

    def n_features(self, n_columns: int) -> int:
        """The features of X, of which so many columns were made."""
        return n_columns if self.step is None else self.step.n_features

    def family(self, family: Family, names: Any) -> Family:
        """A family of the columns that weights are of, which it may name or have numbers of categories for."""
        step = self.step
        if isinstance(step, CategoryColumns):
            return family.named(names).widened(step.firsts)
        known = self.encoding if step is None else None  # whose columns those are that weights are of
        made = self.column_names(names)
        family = family.named(names if made is None else made, known and known.kinds)
        return family.widened(step.firsts) if isinstance(step, BinEdges) and family.coded else family

    def column_names(self, names: Any) -> np.ndarray | None:
        """Names of the columns that weights are of, where bins or categories make others of the features."""
        if not isinstance(self.step, BinEdges | CategoryColumns):
            return None
        names = [f"x{j}" for j in range(self.step.n_features)] if names is None else names
        return np.array(self.step.names(names), object)


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
