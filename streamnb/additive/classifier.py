"""Additive classifiers: a score for each bin and level of each feature, and for each cell of some pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from streamnb.additive.choice import NUMBERS, centred
from streamnb.additive.fit import ChosenTerms, FittedTerms, choose_classes
from streamnb.additive.losses import ClassLosses
from streamnb.additive.model import CHECKS, L2, AdditiveModel, TermsRequest, choices
from streamnb.additive.terms import TermTables
from streamnb.core import guesses, persistence
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.encoding.bins import TermColumns
from streamnb.encoding.opening import with_table
from streamnb.estimators.feature_tables import number_of
from streamnb.estimators.preparation import StepRequest, fitting, opened_to_read_again
from streamnb.estimators.trained import TrainedClassifier, learner_of
from streamnb.evaluation.scorers import as_scorer
from streamnb.models.linear import LinearModel
from streamnb.passes.checkpoint import checkpoint_folder
from streamnb.passes.contract import Reading, RunOptions
from streamnb.passes.run import run_reads
from streamnb.problem.schemes import as_scheme
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.rows.table_opening import ANY
from streamnb.selection.fold_models import ModelGroups
from streamnb.selection.score_table import check_choice
from streamnb.solving.fitting import DescentMethod
from streamnb.solving.learner import FittedModel, Learner
from streamnb.solving.objectives import softmax_of

CELLS_OF_PAIR = 32 * 32  # at most
READS_TO_CHOOSE = 3  # to learn bins or levels, to count them, and to draw a sample


@persistence.register
class AdditiveClassifier(AdditiveModel, TrainedClassifier):
    r"""Additive model with pairs: a curve for each feature, and a surface for each of a few pairs of them.

    The score of class k is (Lou, Caruana, Gehrke, Hooker, KDD 2013)

        s_k(x) = b_k + sum_j f_jk(x_j) + sum_(i, j) f_ijk(x_i, x_j),

    probabilities are the softmax of the scores; two classes have one score. Each f is a step function, with a step for
    each bin of a number or level of a category, and for missing values. Its steps are sums over several resolutions,
    all penalised, so that a step with few rows stays near its neighbours. The weights minimise

        sum_i w_i (-ln p(y_i | x_i)) + l2 / 2 (\|mains\|^2 + pair_factor \|pairs\|^2).

    Penalties and pairs are chosen on folds of a sample of at most 65,536 rows; then the weights are trained on all
    rows, in a scan and a few reads. They are the same to the last bit for any chunks, threads and workers.

    Parameters
    ----------
    interactions : "auto", int, or list of (str or int, str or int)
        Pairs of features: how many, or which. "auto" adds 5, 10, 20, then 40 of them, as long as held-out scores rise.
        Pairs are ranked by what their cells add to the model without pairs, on rows outside each fold. Give pairs by
        column name or, unless X is a table, by number.
    l2 : number, or list of them, optional
        The penalty, by default chosen from 30, 10, 3, 1, 0.3, 0.1 and 0.03; if the largest or smallest is clearly best,
        the grid is extended until scores fall.
    pair_factor : number, or list of them, optional
        The penalty of pairs as a multiple of that of single features; by default chosen from 1, 3 and 10, and further
        ones.
    resolutions : tuple of int
        Numbers of steps of a number's curve. The largest is that of its bins, which have about equally many rows.
    min_count : int
        Levels of a table column with fewer rows, or less weight, share one step, which is also that of new levels.
    monotone : dict of {feature: 1 or -1}, optional
        Curves that may only rise (1) or fall (-1), for two classes: isotonic regression is applied to the fitted curve.
        Such features are excluded from pairs.
    folds : int or (n_rows,) ints
        As for `SoftmaxRegressionCV`.
    scoring : str or callable
        What is compared on the folds.
    seed : int
        Seed of the folds.
    tol, max_passes
        As for `SoftmaxRegression`, for the weights of all rows.

    Attributes
    ----------
    classes_ : (K,) labels, sorted
    terms_ : pandas.DataFrame
        "name" (a tuple for a pair), "kind" ("main" or "pair"), "importance" (the mean absolute score over the
        training rows) and "degrees of freedom", about the number of free steps; the most important first.
    term_scores_ : mapping of a name to an array
        The scores of a term, (n_steps, R) or (n_steps, n_steps, R). Assigning an array changes the model, and the file
        that `save` writes.
    best_params_ : dict
        The "l2", "pair_factor" and number of "interactions" chosen.
    best_score_ : float
        The mean score of that choice on the folds.
    cv_results_ : dict of arrays
        All points that were tried: parameters, the score on each fold, the mean, and a 95 % interval of the mean,
        low_test_score and high_test_score, as in `LinearNBCV`.
    n_features_in_, feature_names_in_, history_, n_passes_, converged_, report_
        As of `SoftmaxRegression`.

    Notes
    -----
    Terms are pure (Lengerich et al., AISTATS 2020): weighted by the training rows, the scores of a feature have mean 0,
    and those of a pair have mean 0 along each of its features, so that a pair contains no main effects. With more than
    two classes, the scores of a step have mean 0 over classes.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> x = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> model = snb.AdditiveClassifier(interactions=1).fit(x, x[:, 0] * x[:, 1] > 0)
    >>> model.terms_["name"].tolist()[0], model.score(x, x[:, 0] * x[:, 1] > 0) > 0.95
    (('x0', 'x1'), True)
    """

    _checks: ClassVar = {**TrainedClassifier._checks, **CHECKS}
    _saved = (*TrainedClassifier._saved, "terms", "judged")

    def __init__(
        self,
        interactions: Any = "auto",
        *,
        l2: Any = None,
        pair_factor: Any = None,
        resolutions: Sequence[int] = (4, 16, 64),
        min_count: int = 5,
        monotone: Any = None,
        folds: Any = 5,
        scoring: Any = "neg_log_loss",
        seed: int = 0,
        tol: float = 1e-4,
        max_passes: int = 50,
    ):
        self.interactions, self.l2, self.pair_factor, self.resolutions = interactions, l2, pair_factor, resolutions
        self.min_count, self.monotone, self.folds, self.scoring = min_count, monotone, folds, scoring
        self.seed, self.tol, self.max_passes = seed, tol, max_passes

    best_ = property(guesses.renamed_best)  # the former name of `best_params_`

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Rows,
        y: PerRow = None,
        sample_weight: PerRow = None,
        *,
        groups: PerRow = None,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
        checkpoint: Any = None,
        layer: str | None = None,
        keep: str = "auto",
    ) -> Self:
        """Choose penalties and pairs on a sample of the rows, and train the weights of all rows.

        Parameters
        ----------
        X : (n_rows, n_features), data frame, or path of a table
            As for `SoftmaxRegression.fit`. NaN are missing values. Tables may come from `snb.table`, with numbers in
            bins; otherwise they are opened with as many bins as the finest resolution, and with `min_count`.
        y, sample_weight, progress, n_threads, memory_limit, client, layer, keep
            As for `SoftmaxRegression.fit`.
        groups : (n_rows,), optional
            Group labels, or the name of a column of X, which is then not a feature; rows of one group are in one fold.
        checkpoint : path, optional
            A folder for the results of each pass; an interrupted fit resumes from it with identical results.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it. There is only one class; rows can be read only once;
            a pair or a monotone feature is not in X; a column of a table is hashed or a text.
        DataError
            Data cannot be read.
        MemoryError
            Sums or weights would take more than `memory_limit`.

        Warns
        -----
        StreamnbWarning
            The gradient was not small enough after the last read; or the best penalty clearly lies at an end of those
            tried.
        """
        with fitting(self, progress, n_threads, memory_limit, client, keep, checkpoint) as options:
            chosen = run_reads(self._choose((X, y, sample_weight), options, layer, groups))
            run_reads(self._train(chosen))
        return self

    def _choose(
        self,
        given: Any,
        options: RunOptions,
        layer: str | None = None,
        groups: Any = None,
        settles: Callable[[dict[str, np.ndarray]], bool] | None = None,
    ) -> Reading[ChosenTerms]:
        """Learn codes of the rows, sum them, and draw a sample to choose by.

        `settles`, given the scores of the first point, says whether no other is tried.
        """
        self._check_params()
        beside, n_bins = (groups, self.folds), int(max(self.resolutions))
        X, y, weight = given
        given = with_table(X, y, weight, ANY, beside=beside, bins=n_bins, min_count=self.min_count)
        rows = opened_to_read_again(self, given, options, layer, beside)
        coded = yield from self._coded(rows, options)
        options = replace(options, checkpoint=checkpoint_folder(options.checkpoint))
        request, scorer = self._request(coded, groups, settles), as_scorer(self.scoring)
        return (yield from choose_classes(type(self).__name__, coded, rows, request, scorer, options))

    def _train(self, chosen: ChosenTerms) -> Reading[None]:
        found = yield from chosen.trained()
        self._preparation = replace(self._preparation, step=found.step, requested="terms")
        self._keep(FittedModel(self._model_of(found), found.trained.history, found.trained.converged, found.report))
        deviations = found.losses.of_classes(found.tables.std, (0.5, 0.5))
        self._keep_terms(replace(found, tables=replace(found.tables, std=deviations)))

    def _model_of(self, found: FittedTerms) -> LinearModel:
        """The model of all classes; of more than two, the scores of a step have the mean 0 over those with rows."""
        losses: ClassLosses = found.losses
        weights, intercept = losses.of_classes(found.weights), losses.of_classes(found.intercept[None])[0]
        possible = np.full(len(intercept), True)
        if len(intercept) > 1:
            possible = losses.weight > 0.0
            intercept = np.where(possible, intercept - intercept[possible].mean(), -np.inf)
        classes = losses.classes
        return LinearModel(classes, centred(weights, possible), intercept, as_scheme("joint", classes), RowOptions())

    def _grid(self, n_labels: int | None = None) -> list[dict[str, Any]]:
        return [{"l2": l2, "l1": 0.0} for l2 in choices("l2", self.l2, L2)]

    # ---- for `snb.plan` ----------------------------------------------------------------------------------------------

    def _plan_scan(self, n_features: int | None, encoded: bool) -> tuple[Any, ...]:
        """With at most so many columns: bins and levels, and cells of pairs; a table has bins and levels already."""
        self._check_params()
        _, folds, pooled, n_columns = super()._plan_scan(n_features, encoded)
        if n_features is not None:
            given = self.interactions
            n_pairs = NUMBERS[-1] if given == "auto" else int(given) if isinstance(given, Integral) else len(given)
            if not encoded:
                n_columns = n_features * (int(max(self.resolutions)) + 1)
                n_pairs = min(n_pairs, n_features * (n_features - 1) // 2)
            n_columns += n_pairs * CELLS_OF_PAIR
        return ("sum",), folds, pooled, n_columns

    def _plan_reads(
        self, n_features: int, n_rows: int, n_folds: int, limit: int, given: Source | None = None
    ) -> dict[str, int]:
        options = RunOptions(memory_limit=limit)
        groups = ModelGroups.of(self._learner().method, len(self._grid()) * n_folds, n_features, n_rows, options)
        return groups.planned(READS_TO_CHOOSE + int(self.max_passes))  # models of a sample take none

    def _opened(self, X: Any, *beside: Any, labelled: bool = True) -> Source:
        return self._counting_absent(super()._opened(X, *beside, labelled=labelled))

    def _learner(self) -> Learner:
        return learner_of(self, DescentMethod(softmax_of))

    def _step_request(self) -> StepRequest:
        return TermsRequest(type(self).__name__)

    def _check_params(self) -> None:
        super()._check_params()
        check_choice("joint", self.folds, 1, self.seed, self.scoring, "best")

    # ---- terms -------------------------------------------------------------------------------------------------------

    def term(self, *features: Any, positive: Any = None) -> Any:
        """A term as a table.

        Parameters
        ----------
        features : str or int
            A name from `terms_`: of a feature, or of a pair, whose two names may also be given one after the other.
        positive : label, optional
            Of two classes, the one that positive scores favour; the second by default.

        Returns
        -------
        pandas.DataFrame
            As `AdditiveRegressor.term`; with more than two classes one column for each, such as "score A".

        Raises
        ------
        ValueError
            There is no such term.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> x = np.repeat([[1.0], [2.0]], 50, axis=0)
        >>> model = snb.AdditiveClassifier().fit(x, ["a"] * 40 + ["b"] * 50 + ["a"] * 10)
        >>> model.term("x0")[["lower", "upper", "count"]].values.tolist()
        [[-inf, 1.5, 50.0], [1.5, inf, 50.0]]
        """
        table = super().term(*features)
        if positive is not None:
            if "score" not in table:
                raise ValueError(
                    f"positive={positive!r} applies to two classes; there are {len(self.classes_)}, with a column each"
                )
            if number_of(self._fitted_model(), "positive", positive) == 0:
                table["score"] = -table["score"]
        return table

    def _of_terms(self) -> tuple[TermColumns, np.ndarray, TermTables]:
        weights = self._fitted_model().weights
        assert isinstance(self._step, TermColumns)
        return self._step, weights, self._tables

    @property
    def _endings(self) -> list[str]:
        labels = self.classes_.tolist()
        return [""] if len(labels) == 2 else [f" {label}" for label in labels]

    def _replace_weights(self, weights: np.ndarray) -> None:
        self._model = replace(self._fitted_model(), weights=weights)

    def _check_sums(self) -> None:
        if self._fitted_model().curves is not None:
            raise ValueError(
                "contributions need scores that are sums of terms, which isotonic calibration has changed; use "
                "calibrate(.., method='sigmoid')"
            )

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        return {**super()._to_state(), "terms": self._tables, "judged": self._judged}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        self = super()._from_state(state)
        self._restore_terms(state["terms"], state["judged"])
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = False
        return tags
