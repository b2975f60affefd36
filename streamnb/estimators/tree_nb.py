"""Tree-augmented naive Bayes: each feature may depend on the class and on one other feature."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from numbers import Real
from typing import Any, ClassVar, Self

import numpy as np

from streamnb.core import arguments, messages, persistence
from streamnb.core.frames import pandas_for
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.category_columns import CategoryColumns
from streamnb.encoding.learning import ChosenColumns, LearnsBins, StepsOfFolds, prepared
from streamnb.estimators import incremental
from streamnb.estimators.incremental import IncrementalClassifier
from streamnb.estimators.parameters import (
    Parameter,
    check_one_tau,
    integer_from,
    learned,
    logs,
    number_above_0,
    one_of,
    optional,
)
from streamnb.estimators.preparation import StepRequest, check_step
from streamnb.models.tree import TreeColumns, TreeModel
from streamnb.passes.contract import Reading, RunOptions
from streamnb.problem.multinomial import Categorical
from streamnb.problem.penalties import Penalty, as_penalty
from streamnb.rows.preparing import LearnedStep, RowOptions
from streamnb.rows.source import Source
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan, run_scan
from streamnb.solving import trees
from streamnb.solving.trees import EVIDENCE, TreeCounts, pull_of, tree_model
from streamnb.stats.stability import ColumnProfile

FAMILIES = "bernoulli", "categorical"
NO_ROWS = "at 0 a level without rows has log probability -inf"


@dataclass(frozen=True)
class TreeRequest(StepRequest):
    """A request for bins or category values, of the best features only where their number is limited."""

    max_features: int | None = None
    options: RowOptions = field(default_factory=RowOptions)

    @property
    def reads(self) -> bool:
        return self.learns or self.max_features is not None

    def learned_by_fold(
        self, rows: Source, options: RunOptions, names: Any, folding: Folding | None
    ) -> Reading[StepsOfFolds]:
        steps = yield from super().learned_by_fold(rows, options, names, folding)
        if self.max_features is None or (rows.n_features is not None and rows.n_features <= self.max_features):
            return steps
        rows.check_read_again(f"{self.who}(max_features={self.max_features})")
        seen, step = prepared(steps.whole, rows), steps.whole
        stats, _ = yield from run_scan(ClassScan(("above",), self.options), seen, replace(options, checkpoint=None))
        firsts = _firsts(step, stats.n_features)
        best = np.argsort(-trees.symmetrical_uncertainty(stats, firsts), kind="stable")[: self.max_features]
        assert isinstance(step, BinEdges | CategoryColumns | None)
        return StepsOfFolds(ChosenColumns.of(step, len(firsts) - 1, np.sort(best)))

    def description(self, names: Any, n_features: int) -> str | None:
        inner = super().description(names, n_features)
        if self.max_features is None:
            return inner
        return f"max_features={self.max_features}" + ("" if inner is None else f" and {inner}")

    def check(self, step: Any) -> None:
        chosen = isinstance(step, ChosenColumns)
        super().check(step.step if chosen else step)
        if chosen and self.max_features is None:
            raise ValueError("max_features=None should come with all columns")


@persistence.register
class TreeNB(IncrementalClassifier):
    r"""Tree-augmented naive Bayes (Friedman, Geiger and Goldszmidt 1997), from the sums of one scan.

    Naive Bayes assumes that features are independent within a class. Here each feature but one may also depend on
    another, its parent q(j):

        ln P(x, y) = ln P(y) + sum_j ln p_y(x_j | x_q(j)).

    The tree of parents maximises the total information, I(i; j | y) = sum p(a, b, y) ln[p(a, b, y) p(y) / (p(a, y)
    p(b, y))], and with it the likelihood. An edge is kept only if it is significant: if independent features would
    rarely share so much information by chance. Scores are linear in the columns of the features and in the products of
    the columns of a child and its parent: with n columns of presence, in at most 2 n - 1.

    Parameters
    ----------
    penalty : None, L1(tau), L2(tau), TopK(k), Separable(derivative, tau) or a sum of them
        For columns of presence: (6.2) of Shishkova 2016 for the weight of each feature where its parent is absent, and
        for its weight where the parent is present; ``TopK(k)`` keeps k of these weights.
    family : {"bernoulli", "categorical"}
        Columns of presence, x > binarize, or of category numbers 0, 1, .., which are learned in a separate pass before
        the scan (X must be readable twice).
    transform : None or Bins
        Bins of each feature, learned in such a pass as well; features are then bins, not values.
    binarize : float
        A feature of "bernoulli" is present where x is above it.
    smoothing : float
        s in p_y(x_j = a) = (N_yja + s) / (N_y + s L_j), L_j the levels of feature j, as in naive Bayes. Above 0.
    strength : float or "evidence"
        N0 in p_y(a | b) = (N_yab + N0 p_y(a)) / (N_yb + N0): pseudo-rows for each level of the parent, distributed as
        in naive Bayes, which this approaches as N0 grows. "evidence": the number under which the training rows are most
        probable, `strength_`; recommended for many bins and few rows.
    significance_level : float or None
        The probability that independent features pass for dependent: an edge (i, j) needs 2 N I(i; j | y) above the
        value that chi-squared with K (L_i - 1) (L_j - 1) degrees of freedom exceeds with this probability (Kullback
        1959). With few rows and many levels, several trees or naive Bayes remain. Weights count as rows. None: one tree
        of all features, as in Friedman, Geiger and Goldszmidt.
    max_features : int, optional
        Keep only this many features, the best by symmetrical uncertainty, which takes one more pass. The sums take
        4 C (C + 1) bytes per class for C columns; bins and category values of all features count as columns.
    priors : None, "uniform" or (K,)
        Class probabilities in the order of `classes_`; None: shares of the training weight.

    Attributes
    ----------
    parents_ : (`n_features_in_`,) int
        The parent of each feature; -1 for roots, -2 for features that were left out.
    edges_ : pandas.DataFrame
        One row for each feature with a parent: "parent", "child" (names, or x0, x1, ..) and "information", in nats.
    coef_ : (1, n_columns) for two classes; else (K, n_columns)
        Weights of the columns named in `column_names_`, such as "age in (30, inf)" and "age in (30, inf) & owns=1".
    intercept_ : one for each row of `coef_`
    strength_ : float
    classes_, class_count_, stats_, report_, n_features_in_, feature_names_in_
        As of `GaussianNB`; the sums are ``stats_.gram_above``.

    Notes
    -----
    `snb.TreeDisplay.from_estimator` draws the tree. Ties between edges (information rounded to 2^-40) go to the lowest
    features, so that the tree does not depend on how rows are cut into blocks.

    Examples
    --------
    An exclusive or, which naive Bayes cannot learn: y = 1 where exactly one of two features is present.

    >>> import streamnb as snb
    >>> X, y = [[0, 0], [0, 1], [1, 0], [1, 1]] * 10, [0, 1, 1, 0] * 10
    >>> snb.LinearNB("bernoulli").fit(X, y).score(X, y), snb.TreeNB().fit(X, y).score(X, y)
    (0.5, 1.0)
    >>> snb.TreeNB().fit(X, y).edges_.round(4).values.tolist()
    [['x0', 'x1', 0.6931]]
    """

    _checks: ClassVar = {
        "family": one_of(*FAMILIES),
        "binarize": arguments.finite_number,
        "smoothing": number_above_0(NO_ROWS),
        "max_features": optional(integer_from(1)),
    }
    transform = Parameter()
    _indicator_advice = "sklearn.multioutput.MultiOutputClassifier(snb.TreeNB()) fits a tree for each"

    def __init__(
        self,
        penalty: Penalty | None = None,
        *,
        family: str = "bernoulli",
        transform: Any = None,
        binarize: float = 0.0,
        smoothing: float = 1.0,
        strength: Any = 5.0,
        significance_level: float | None = 0.05,
        max_features: int | None = None,
        priors: Any = None,
    ):
        self.penalty, self.family, self.transform, self.binarize = penalty, family, transform, binarize
        self.smoothing, self.strength, self.significance_level = smoothing, strength, significance_level
        self.max_features, self.priors = max_features, priors

    # ---- what is scanned ---------------------------------------------------------------------------------------------

    @property
    def _grouped(self) -> bool:
        """Whether each feature has several indicator columns."""
        return self.family != "bernoulli" or vars(self)["transform"] is not None

    def _step_request(self) -> TreeRequest:
        transform = vars(self)["transform"]
        coded = Categorical() if self.family == "categorical" and transform is None else None
        name, options = type(self).__name__, self._row_options()
        return TreeRequest(name, transform, coded, max_features=self.max_features, options=options)

    def _row_options(self) -> RowOptions:
        return RowOptions(binarize=0.0 if self._grouped else self.binarize)

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        return ClassScan(("gram_above",), self._row_options(), classes)

    def _scan(self, *given: Any) -> Reading[Any]:
        try:
            return (yield from super()._scan(*given))
        except MemoryError as error:
            raise MemoryError(
                f"{str(error).partition('; ')[0]}; use max_features=, which keeps the best features by symmetrical "
                "uncertainty: half as many take a quarter of it. Fewer bins do as much; or give a larger memory_limit"
            ) from error

    def _check_params(self) -> None:
        super()._check_params()
        transform = vars(self)["transform"]
        if transform is not None and not isinstance(transform, LearnsBins):
            raise ValueError(f"transform={transform!r} should be None, or bins such as snb.Bins(4)")
        self._check_penalty()
        if not isinstance(self.strength, str):
            arguments.number_above_0("strength", self.strength, NO_ROWS)
        elif self.strength != EVIDENCE:
            raise ValueError(f"strength={self.strength!r} should be {EVIDENCE!r}, or a number above 0")
        level = self.significance_level
        if level is not None and (not isinstance(level, Real) or not 0.0 < level < 1.0):
            should = "be between 0 and 1, such as 0.05; None takes edges whatever they tell"
            raise ValueError(f"significance_level={level!r} should {should}")

    def _check_penalty(self) -> None:
        penalty = as_penalty(self.penalty)
        if penalty is None:
            return
        if self._grouped:
            raise ValueError(
                f"penalty={penalty!r} is of columns of presence, family='bernoulli' without transform; with categories "
                "and bins it should be None: a larger strength draws shares to those of naive Bayes"
            )
        check_one_tau(penalty, "TreeNB", "give one tau")
        pull_of(penalty)

    def _check_against(self, stats: Any) -> None:
        check_step(self)
        if stats.options.binarize != self._row_options().binarize:
            raise ValueError(
                f"binarize={self.binarize!r} is applied in the scan, which had {stats.options.binarize!r}; use fit"
            )

    def _check_whole(self, stats: Any) -> None:
        incremental.check_two_classes(self, stats)
        alone = trees.presence(stats).sum(axis=0)
        if not self._grouped and ((alone == 0.0) | (alone == stats.total_weight)).all():
            messages.warn(
                f"no column varies: each is above binarize={self.binarize:g} in all rows, or in none. Of numbers give "
                "transform=snb.Bins(4), of categories family='categorical'"
            )
        if self.significance_level is not None:
            trees.check_weights(stats, self._levels(stats.n_features), self.significance_level)

    # ---- the model ---------------------------------------------------------------------------------------------------

    @learned
    def _information(self) -> np.ndarray:
        """Mutual information of each pair of kept features, given the class."""
        return trees.informations(self._weighted, _firsts(self._step, self.stats_.n_features))

    @learned
    def _columns(self) -> TreeColumns:
        n_columns, information = self.stats_.n_features, self._information
        if self.significance_level is not None:
            levels = self._levels(n_columns)
            information = trees.beyond_chance(information, self.class_count_, levels, self.significance_level)
        return TreeColumns(_firsts(self._step, n_columns), trees.spanning_tree(information), self._grouped)

    def _levels(self, n_columns: int) -> np.ndarray:
        """The number of values of each feature."""
        return np.diff(_firsts(self._step, n_columns)) + (0 if self._grouped else 1)

    @learned
    def _counts(self) -> TreeCounts:
        return TreeCounts.of(self._weighted, self._columns, float(self.smoothing))

    @learned
    def strength_(self) -> float:
        """N0, pseudo-rows for each level of a parent."""
        return self._counts.strength(self.strength)

    @learned
    def _model(self) -> TreeModel:
        shares = self.class_count_ / self.class_count_.sum()
        priors = arguments.check_priors(self.priors, self.classes_, shares)
        log_priors = np.where(self.class_count_ > 0.0, logs(priors), -np.inf)
        binarize = None if self._grouped else float(self.binarize)
        strength = self._now("strength_")
        return tree_model(self._weighted, self._counts, strength, self.penalty, log_priors, binarize=binarize)

    @learned
    def coef_(self) -> np.ndarray:
        """Weights: one row for two classes, else one for each."""
        return self._model.coef_

    @learned
    def intercept_(self) -> np.ndarray:
        """Intercepts, one for each row of `coef_`."""
        return self._model.intercept_

    def _ready(self, X: Any, *beside: Any, labelled: bool = False) -> Any:
        incremental.check_complete(self)
        return super()._ready(X, *beside, labelled=labelled)

    # ---- attributes --------------------------------------------------------------------------------------------------

    @property
    def _names(self) -> list[Any]:
        return list(getattr(self, "feature_names_in_", [f"x{j}" for j in range(self.n_features_in_)]))

    @property
    def _kept(self) -> np.ndarray:
        """Indices of the features in the tree."""
        return self._step.columns if isinstance(self._step, ChosenColumns) else np.arange(self.n_features_in_)

    @learned
    def parents_(self) -> np.ndarray:
        """The parent of each feature, (`n_features_in_`,)."""
        parents, kept = self._columns.parents, self._kept
        parent_of = np.full(self.n_features_in_, -2, np.int64)
        parent_of[kept] = np.where(parents < 0, -1, kept[parents])
        return parent_of

    @learned
    def edges_(self) -> Any:
        """A data frame of the features with a parent."""
        pd = pandas_for("edges_")
        names, columns = np.array(self._names, object)[self._kept], self._columns
        children, parents = columns.children, columns.parents[columns.children]
        information = self._information[children, parents]
        return pd.DataFrame({"parent": names[parents], "child": names[children], "information": information})

    @property
    def _indicator_names(self) -> list[Any]:
        """Names of the summed columns."""
        return self._names if self._step is None else self._step.names(self._names)

    @learned
    def column_names_(self) -> np.ndarray:
        """Names of the columns of `coef_`."""
        return self._columns.names(self._indicator_names)

    def _profile(self) -> ColumnProfile | None:
        return ColumnProfile.of(trees.presence_stats(self.stats_))

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _finish(self) -> None:
        if incremental.is_complete(self):
            super()._finish()

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        params = {"significance_level": None, **state["params"]}  # older files have no level: all edges
        return super()._from_state({**state, "params": params})

    def _check_loaded(self, state: dict[str, Any]) -> None:
        super()._check_loaded(state)
        arguments.check_priors(self.priors, self.classes_, np.ones(len(self.classes_)))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.categorical = self.family == "categorical"
        tags.input_tags.allow_nan = vars(self)["transform"] is not None
        tags.classifier_tags.poor_score = True
        return tags


def _firsts(step: LearnedStep | None, n_columns: int) -> np.ndarray:
    """The first column of each feature in the tree, then the number of columns."""
    step = step.step if isinstance(step, ChosenColumns) else step
    return np.arange(n_columns + 1) if step is None else step.firsts  # type: ignore[attr-defined]
