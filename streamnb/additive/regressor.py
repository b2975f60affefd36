"""AdditiveRegressor: a number from a curve for each feature, and a surface for each of a few pairs of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from functools import partial
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from streamnb.additive.fit import ChosenTerms, choose_numbers
from streamnb.additive.losses import NumberLosses, NumberScoring
from streamnb.additive.model import CHECKS, AdditiveModel, TermsRequest, choices
from streamnb.additive.model import L2 as DEFAULT_L2
from streamnb.additive.terms import TermTables
from streamnb.core import arguments, persistence
from streamnb.core.arguments import Rows
from streamnb.core.row_checks import hint_at_classes
from streamnb.encoding.bins import TermColumns
from streamnb.encoding.opening import opened, with_table
from streamnb.estimators import preparation
from streamnb.estimators.chosen import check_choice
from streamnb.estimators.generalized import GeneralizedRegressor, of_one_column
from streamnb.estimators.parameters import check_each
from streamnb.models.portable import PortableModel
from streamnb.passes.checkpoint import checkpoint_folder
from streamnb.passes.contract import Reading, Report, RunOptions
from streamnb.problem.losses import Loss, QuantileLoss, TweedieLoss
from streamnb.rows.labels import TARGETS
from streamnb.rows.source import Source
from streamnb.rows.table_opening import ANY

POWERS = {"squared": 0.0, "poisson": 1.0, "gamma": 2.0}
LOSSES = *POWERS, "tweedie", "absolute", "quantile"
HISTORY = "objective", "gradient_norm", "seconds"
FITTED = "coef_", "intercept_", "history_", "converged_", "report_", "residuals_", "step"


@persistence.register
class AdditiveRegressor(AdditiveModel, GeneralizedRegressor):
    r"""Additive model of numbers with pairs: a curve for each feature, and a surface for each of a few pairs of them.

    The linear predictor is (Lou, Caruana, Gehrke, Hooker, KDD 2013)

        s(x) = b + sum_j f_j(x_j) + sum_(i, j) f_ij(x_i, x_j) + offset,

    predictions are ``exp(s)`` for counts and amounts, s for the other losses. Each f is a step function, with a step
    for each bin of a number or level of a category, and for missing values. Its steps are sums over several
    resolutions, all penalised, so that a step with few rows stays near its neighbours. The weights minimise

        sum_i w_i d(y_i, x_i) / 2 D + l2 / 2 (\|mains\|^2 + pair_factor \|pairs\|^2),

    d the deviance of a row, and D the mean deviance of a constant prediction: units of y do not matter, nor do those of
    columns. Penalties and pairs are chosen on folds of a sample of at most 65,536 rows; then the weights are trained on
    all rows, in a scan and a few reads. They are the same to the last bit for any chunks, threads and workers.

    Parameters
    ----------
    loss : {"squared", "poisson", "gamma", "tweedie", "absolute", "quantile"}
        Squared errors; or the deviance of counts ("poisson"), of amounts above 0 ("gamma"), or of total amounts, of
        which many are 0 ("tweedie"). Or absolute errors, whose predictions are medians, or the pinball loss of a
        `quantile`.
    power : float, 1 < power < 2
        For "tweedie": the variance is the mean to this power.
    quantile : float, 0 < quantile < 1
        For "quantile", which requires it: 0.9 predicts the number that 90 % of such rows stay below.
    interactions, l2, pair_factor, resolutions, min_count, monotone, folds, seed, tol, max_passes
        As for `AdditiveClassifier`.

    Attributes
    ----------
    terms_, term_scores_
        As of `AdditiveClassifier`; with a log link, scores are logarithms of factors.
    best_params_ : dict
        The "l2", "pair_factor" and number of "interactions" chosen.
    best_score_ : float
        The share of the deviance that this choice explains on held-out folds (R^2 for squared errors); for quantiles
        the deviance is the pinball loss, for absolute errors half of these.
    cv_results_ : dict of arrays
        All points that were tried, as for `AdditiveClassifier`.
    residuals_ : Residuals or None
        Residuals on held-out folds, from which ``predict(X, interval=0.9)`` derives its intervals; with `offset` there
        are none before `calibrate`.
    intercept_ : float
    coef_ : (n_columns,)
        The scores of all steps and cells.
    history_ : dict of arrays
        The objective, the norm of its gradient and the seconds of each read that trained the weights.
    n_passes_, converged_, n_features_in_, feature_names_in_, encoding_, report_
        As of `PoissonRegressor`.

    Notes
    -----
    Terms are pure (Lengerich et al., AISTATS 2020): weighted by the training rows, the scores of a feature have the
    mean 0, and those of a pair have it along each of its features.

    The pinball loss has a kink at y. Training smooths it: the smooth loss is above it by at most ``h ln(2)``, with h a
    tenth of the mean absolute error of held-out rows (Fasiolo et al., JASA 2021). Then predictions are shifted by a
    constant, so that the right share of the sampled rows is below the prediction of the model without their fold, and
    of new rows, too. Among the training rows the share differs a little, as the model has adapted to them.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> x = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> model = snb.AdditiveRegressor(interactions=1).fit(x, x[:, 0] * x[:, 1] + np.sin(3 * x[:, 0]))
    >>> model.terms_["name"].tolist()[:2], model.score(x, x[:, 0] * x[:, 1] + np.sin(3 * x[:, 0])) > 0.98
    (['x0', ('x0', 'x1')], True)
    """

    def __init__(
        self,
        loss: str = "squared",
        *,
        power: float = 1.5,
        quantile: float | None = None,
        interactions: Any = "auto",
        l2: Any = None,
        pair_factor: Any = None,
        resolutions: Sequence[int] = (4, 16, 64),
        min_count: int = 5,
        monotone: Any = None,
        folds: Any = 5,
        seed: int = 0,
        tol: float = 1e-4,
        max_passes: int = 50,
    ):
        self.loss, self.power, self.quantile = loss, power, quantile
        self.interactions, self.l2, self.pair_factor = interactions, l2, pair_factor
        self.resolutions, self.min_count, self.monotone, self.folds = resolutions, min_count, monotone, folds
        self.seed, self.tol, self.max_passes = seed, tol, max_passes

    @property
    def _loss(self) -> Loss:
        if self.loss in ("absolute", "quantile"):
            return QuantileLoss(0.5 if self.quantile is None else self.quantile)
        power = POWERS.get(self.loss, self.power)
        return TweedieLoss(power, "log" if power else "identity")

    def _check_params(self) -> None:
        check_each(self, CHECKS)
        arguments.one_of("loss", self.loss, LOSSES)
        if (self.loss == "quantile") != (self.quantile is not None):
            raise ValueError(
                f"quantile={self.quantile!r} with loss={self.loss!r}: loss='quantile' takes one, such as 0.9, and no "
                "other loss does"
            )
        QuantileLoss(0.5 if self.quantile is None else self.quantile)
        power = arguments.finite_number("power", self.power)
        if not 1.0 < power < 2.0:
            raise ValueError(
                f"power={self.power!r} should be between 1 and 2; at the ends are loss='poisson' and 'gamma'"
            )
        choices("l2", self.l2, DEFAULT_L2)
        arguments.number_above_0("tol", self.tol)
        arguments.positive_integer("max_passes", self.max_passes)
        check_choice(self.folds, "best", self.seed)

    def _folds(self) -> Any:
        return self.folds

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def _choose(
        self,
        given: Any,
        options: RunOptions,
        layer: str | None = None,
        groups: Any = None,
        offset: Any = None,
        scoring: NumberScoring | None = None,
        settles: Callable[[dict[str, np.ndarray]], bool] | None = None,
    ) -> Reading[ChosenTerms]:
        """Learn codes of the rows, sum them, and draw a sample to choose by."""
        self._check_params()
        X, y, weight = given
        y = of_one_column(y)
        if self.loss == "squared":
            hint_at_classes(y)
        beside, n_bins = (groups, self.folds, offset), int(max(self.resolutions))
        how: dict[str, Any] = {"labelled": TARGETS, "beside": beside}
        X, y, weight = with_table(X, y, weight, ANY, **how, bins=n_bins, min_count=self.min_count)
        look = partial(preparation.remember_names, self)
        rows = opened(X, y, weight, **how, look=look, layer=layer, numbers=ANY)
        self._preparation = preparation.Preparation(rows.encoding, layer, rows.label)
        rows = options.kept(rows if offset is None else rows.with_columns(offset=offset))
        rows.check_read_again(type(self).__name__)
        coded = yield from self._coded(rows, options)
        options = replace(options, checkpoint=checkpoint_folder(options.checkpoint))
        request = self._request(coded, groups, settles)
        asked = NumberLosses(self._loss, offset is not None)
        chosen = yield from choose_numbers(asked, coded, rows, request, scoring, options)
        self._used = self.get_params(deep=False)
        self._remember_exposures(offset)
        return chosen

    def _train(self, chosen: ChosenTerms) -> Reading[None]:
        found = yield from chosen.trained()
        losses: NumberLosses = found.losses
        self._preparation = replace(self._preparation, step=found.step, requested="terms")
        self.report_, self.n_features_in_ = found.report, found.step.n_features
        intercept = float(found.intercept[0]) * losses.scale + losses.centre
        trained = found.trained
        self._keep_weights(found.weights * losses.scale, intercept, trained.history, trained.converged)
        tables = replace(found.tables, std=found.tables.std * losses.scale)
        self._keep_terms(replace(found, tables=tables))
        if found.residuals is not None:
            self.residuals_ = found.residuals

    def _keep_weights(
        self, weights: np.ndarray, intercept: float, history: dict[str, np.ndarray], converged: bool
    ) -> None:
        self.coef_, self.intercept_, self.history_, self.converged_ = weights[:, 0], intercept, history, converged
        self.n_passes_ = len(history["objective"])

    # ---- rows and terms ----------------------------------------------------------------------------------------------

    def _opened(self, X: Any, *others: Any, labelled: Any = False) -> Source:
        check_is_fitted(self)
        return self._counting_absent(preparation.opened_as_fitted(self, X, *others, labelled=labelled))

    def _of_terms(self) -> tuple[TermColumns, np.ndarray, TermTables]:
        check_is_fitted(self)
        step = self._preparation.step
        assert isinstance(step, TermColumns)
        return step, self.coef_[:, None], self._tables

    @property
    def column_names_(self) -> Any:
        """Names of the columns of `coef_`, the bins and values of features and pairs."""
        return self._preparation.column_names(preparation.names_of(self))

    def _name_of(self, column: int) -> str:
        return str(self.column_names_[column])

    def explain(self, X: Rows) -> Any:
        """Explain the prediction of one row by what each term adds to its linear predictor.

        Parameters
        ----------
        X : (1, n_features)
            One row, in any form that `predict` takes.

        Returns
        -------
        pandas.DataFrame
            With the columns "feature" (the step or cell of a term that the row is in), "value", 1, "weight" and
            "contribution"; "(intercept)" first, then the largest contributions. They add up to the prediction, or to
            its logarithm for losses of counts and amounts.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> x = np.repeat([[1.0], [2.0]], 50, axis=0)
        >>> model = snb.AdditiveRegressor(l2=0.001).fit(x, np.repeat([3.2, 5.2], 50))
        >>> model.explain([[2.0]])[["feature", "contribution"]].round(2).values.tolist()
        [['(intercept)', 4.2], ['x0 in (1.5, inf)', 1.0]]
        """
        found = super().explain(X)
        return found[found["value"] != 0.0].reset_index(drop=True)

    def _exported(self) -> PortableModel:
        step, weights, _ = self._of_terms()
        steps, weights, intercepts = tuple(step.plain()), step.plain_weights(weights), np.array([self.intercept_])
        target, names = np.arange(1), preparation.names_of(self)
        return PortableModel(target, weights, intercepts, step.n_features, names, steps, encoding=self.encoding_)

    def _replace_weights(self, weights: np.ndarray) -> None:
        self.coef_, self.residuals_ = weights[:, 0].copy(), None  # which are of other scores

    # ---- files -------------------------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        fitted = {name: getattr(self, name) for name in ("coef_", "intercept_", "history_", "converged_")}
        fitted |= {"report_": asdict(self.report_), "step": self._preparation.step, **preparation.state_of_rows(self)}
        if self.residuals_ is not None:
            fitted["residuals_"] = self.residuals_
        return {"params": self._used, "fitted": fitted, "terms": self._tables, "judged": self._judged}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        form = {"params": dict[str, Any], "fitted": dict[str, Any], "terms": TermTables, "judged": dict[str, Any]}
        params, fitted, tables, judged = persistence.parts(cls, state, **form)
        self, names = cls(**params), (*FITTED, *preparation.OF_ROWS)
        fitted = persistence.known(cls, fitted, *names)
        self._check_params()
        self._used = self.get_params(deep=False)
        weights = persistence.array("coef_", fitted["coef_"], ["f8"], (None,))
        preparation.restore_rows(self, fitted, TermsRequest(cls.__name__), fitted["step"], len(weights))
        intercept = arguments.finite_number("intercept_", fitted["intercept_"])
        history = persistence.known(cls, fitted["history_"], *HISTORY)
        for name in HISTORY:
            persistence.array(name, history[name], ["f8"], (len(history["objective"]),))
        if not np.isfinite(weights).all():
            raise ValueError("coef_ should be finite")
        converged = arguments.one_of("converged_", fitted["converged_"], [True, False])
        self.report_ = persistence.restored(Report, fitted["report_"])
        self.n_features_in_ = fitted["step"].n_features
        self._keep_weights(weights[:, None], intercept, history, converged)
        self._restore_terms(tables, judged)
        self._restore_residuals(fitted)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
