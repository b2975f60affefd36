"""LinearNBCV: naive Bayes whose penalty is chosen by cross-validation in two scans."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any, ClassVar, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, guesses, persistence, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.encoding.learning import loaded_maps
from streamnb.estimators.linear_nb import LinearNB
from streamnb.estimators.parameters import boolean, one_of
from streamnb.estimators.preparation import all_or_nothing, fitting, opened_to_read_again, steps_of_folds, with_step
from streamnb.evaluation.scorers import as_scorer
from streamnb.models.calibrating import (
    AUTO,
    LEAST_FOLDS,
    METHODS,
    calibrated_out_of_fold,
    check_calibrated,
    check_calibration,
    check_enough_classes,
)
from streamnb.models.linear import LinearModel
from streamnb.passes.contract import Reading, Report, RunOptions
from streamnb.passes.run import run_reads
from streamnb.problem.families import as_family
from streamnb.problem.family import Family
from streamnb.problem.penalties import L1, Penalty, at_point
from streamnb.problem.schemes import as_scheme
from streamnb.rows.preparing import LearnedStep, map_name
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import ClassScan, folding_of
from streamnb.selection.cross_validation import (
    Candidate,
    judged_together,
    of_columns_outside,
    scores_of,
    with_maps,
)
from streamnb.selection.folded_scan import scan_maps, whole
from streamnb.selection.score_table import RULES, GridScores, check_choice, check_rule
from streamnb.solving.normal_models import is_own
from streamnb.solving.weight_paths import weight_path
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.row_sample import SampledRows, sample_size

UNPENALISED = "none"
_JUDGED = (  # parameters that scores depend on
    *("family", "penalty", "scheme", "reference", "overlap"),
    *("folds", "repeats", "scoring", "seed", "return_train_score"),
)


@persistence.register
class LinearNBCV(LinearNB):
    """`LinearNB` whose penalty is chosen by repeated k-fold cross-validation in two scans of the data.

    The first scan keeps the statistics of every fold; the models of a fold are solved from the statistics of all other
    rows. In the second, each row is scored by all models that did not see it.

    Parameters
    ----------
    family : as for `LinearNB`
    penalty : None, "none", L1, L2, TopK, Decorrelation, Separable or a sum of them
        With a grid of taus each; the product of the grids is judged. None: ``L1(scale="score")``, whose grid is taken
        from the data, from all features to one. "none": a single model without penalty. `Gaussian` with covariances
        has no penalty; its grid is ``shrinkage=[(a, g), ..]`` or "auto", with points ``{"a": a, "g": g}``, NaN where a
        covariance has no inverse.
    folds : int or (n_rows,) ints
        Number of folds, or the fold of each row, numbered from 0. The fold of a row depends only on its number, or its
        group, and the seed; it does not depend on its class.
    repeats : int
        How many times the rows are split into folds.
    scoring : str, callable or list of such
        A name such as "roc_auc", "accuracy", "f1_macro", "neg_log_loss" (the error for an unknown name lists all), or a
        function of an `Evaluation`; greater is better. For more than two classes "roc_auc" is the mean over classes,
        each against the rest; "roc_auc_reference", for scheme="reference", that of each class or label u by its margin
        on the rows of u and of the reference alone. The first of a list decides; `cv_results_` has mean_test_score for
        it, and mean_test_<scoring> and so on for each of the list, without further reads.
    rule : {"best", "parsimonious", "one_se", "per_split"}
        The point with the highest mean score; or the one with the fewest features whose mean is within 1 % of it, or
        within one standard error of it. "per_split" gives each class its own number of features, for `TopK`: procedure
        7.1, Shishkova 2016. In each split this is the smallest k whose score lies less than 0.01 below the best of the
        split, k_s = min {k: AUC_s(k) > max AUC_s - 0.01}, and in the model their mean over splits, halves rounded up,
        which need not be on the grid. (Taus of other penalties are those of the best point.)
    seed : int
    return_train_score : bool
        Also score each row by the models that have seen it, in the same scan: `cv_results_` then has mean_train_score,
        std_train_score, split<s>_train_score and class_train_score_<label> too. This takes `folds` times as many scores
        of each row.
    scheme, reference, overlap, smoothing, binarize, transform, normalize, idf, estimate, priors, feature_weight
        As for `LinearNB`. Some of these are learned from rows before the scan: the quantile-normal map, bins, values of
        categories, and maps that a family tries. The models of a fold learn them from the rows outside it, in the same
        pass; `stats_` then has no folds. All rows decide which columns have a bin for missing values or take log1p, and
        how tables and texts became columns. `search` learns the latter outside each fold, too.
    loss, threshold, reject_label
        As for `LinearNB`, for predictions of the chosen model. Cross-validation scores use the most probable classes.
    calibration : {None, "auto", "sigmoid", "isotonic", "matrix"}
        Calibrate the probabilities of the chosen model, as `calibrate` does, on out-of-fold scores of 10,000 rows
        (fewer for large rows or thousands of classes; more of rare classes, with lower weights). It takes at least 5
        folds and no further scan. `refit` undoes it.

    Attributes
    ----------
    best_params_ : dict
        The grid point chosen, e.g. ``{"l1": 0.3}``, or by "per_split" ``{"top_k": {label: k}}``.
    best_score_ : float
        Its mean score; for "per_split" the mean over classes, each at the grid point nearest to its k.
    cv_results_ : dict of (G,) arrays
        One entry for each grid point: params, param_<kind>, mean_test_score, std_test_score, rank_test_score,
        split<s>_test_score with s = repeat * folds + fold, class_test_score_<label>, n_features. NaN where a fold
        lacks a class; means are over the others. low_test_score and high_test_score are a 95 % interval of the mean,
        corrected for overlapping training sets (Nadeau and Bengio 2003), which is approximate. Where ROC AUC or
        average precision are computed from histograms, for many rows and models, mean_test_score_error is a bound on
        the error of mean_test_score; it is wide where so few features are left that many rows have equal scores.
    n_features_per_class_ : (K,) int
        The fewest features of each class whose mean score is within 1 % of the best of that class (procedure 7.1,
        Shishkova 2016, of the mean curve). By rule="per_split" it is the k of the class. -1 where the class has no
        score. Only where the scoring has a value for each class.
    scoring_report_ : Report
        Of the second scan; `report_` is of the first.
    classes_, coef_, intercept_, stats_, n_features_in_, feature_names_in_
        As of `LinearNB`; the model is fitted to all rows.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.LinearNBCV("gaussian", snb.TopK([1, 2, 4]), folds=3, scoring="accuracy").fit(X, y)
    >>> model.best_params_, round(model.best_score_, 2)
    ({'top_k': 2}, 0.97)
    """

    _saved = (*LinearNB._saved, "scores", "scoring_report", "mapped")
    _checks: ClassVar = {
        **LinearNB._checks,
        "return_train_score": boolean,
        "calibration": one_of(None, AUTO, *METHODS),
    }
    _adds_rows = False  # the choice needs all rows twice
    _mapped: Mapping[str, ClassStats] = MappingProxyType({})  # statistics of all maps, where there are several

    def __init__(
        self,
        family: Any = "multinomial",
        penalty: Any = None,
        *,
        folds: Any = 5,
        repeats: int = 1,
        scoring: Any = "roc_auc",
        rule: str = "best",
        seed: int = 0,
        return_train_score: bool = False,
        scheme: str = "joint",
        reference: Any = None,
        overlap: str = "refuse",
        smoothing: Any = "auto",
        binarize: float = 0.0,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        estimate: str = "posterior_mean",
        priors: Any = None,
        feature_weight: Any = None,
        loss: Any = None,
        threshold: float | None = None,
        reject_label: Any = None,
        calibration: str | None = None,
    ):
        super().__init__(
            family,
            penalty,
            scheme=scheme,
            reference=reference,
            overlap=overlap,
            smoothing=smoothing,
            binarize=binarize,
            transform=transform,
            normalize=normalize,
            idf=idf,
            estimate=estimate,
            priors=priors,
            feature_weight=feature_weight,
            loss=loss,
            threshold=threshold,
            reject_label=reject_label,
        )
        self.folds, self.repeats, self.scoring, self.rule = folds, repeats, scoring, rule
        self.seed, self.return_train_score, self.calibration = seed, return_train_score, calibration

    best_ = property(guesses.renamed_best)  # the former name of `best_params_`

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(  # type: ignore[override]
        self,
        X: Rows,
        y: PerRow = None,
        sample_weight: PerRow = None,
        *,
        groups: PerRow = None,
        classes: Any = None,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Bytes = None,
        client: Any = None,
        checkpoint: Any = None,
        layer: str | None = None,
        keep: str = "auto",
    ) -> Self:
        """Choose the penalty and fit, in two scans.

        Parameters
        ----------
        X, y, sample_weight, classes, progress, n_threads, memory_limit, client, layer, keep
            As for `LinearNB.fit`; X is read twice.
        groups : (n_rows,), optional
            Labels, or the name of a column of X, which is then not a feature; rows of one group are in one fold.
        checkpoint : path, optional
            As in `scan`: an interrupted first scan is resumed, and not repeated if the second was interrupted; the
            second starts again.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it.
        DataError
            Data cannot be read.
        MemoryError
            The scores of all models would take more than half of the free memory.

        Warns
        -----
        StreamnbWarning
            A fold lacks a class; the best penalty clearly lies at an end of the grid; or the second scan will take
            minutes, as there are so many models and classes to score.
        """
        classes = row_checks.check_classes(classes)
        with fitting(self, progress, n_threads, memory_limit, client, keep, checkpoint) as options:
            run_reads(self._fit((X, y, sample_weight), options, classes, layer, groups))
        return self

    def _fit(
        self,
        given: Any,
        options: RunOptions,
        classes: np.ndarray | None = None,
        layer: str | None = None,
        groups: Any = None,
    ) -> Reading[None]:
        """Sum the rows of each fold, and judge the models of all other folds on them."""
        self._check_params()
        check_rule(self.rule, self._grid(), as_scorer(self.scoring), self.scheme)
        rows = opened_to_read_again(self, given, options, layer, (groups, self.folds))
        self.__dict__.pop("class_weight_", None)
        self._n_threads = options.n_threads
        folding, rows = folding_of(rows, self.folds, groups, self.repeats, self.seed)
        assert folding is not None
        check_calibration(self.calibration, self.scheme, folding.n_folds)
        steps = yield from steps_of_folds(self, rows, options, folding)
        of_folds = [with_step(self, step) for step in steps.outside]

        def scan_of(name: str, split: int | None, step: LearnedStep | None) -> ClassScan:
            if split is None or not of_folds:
                return self._folded(classes, folding, options, step)
            with of_columns_outside(split % folding.n_folds):
                return of_folds[split]._folded(classes, folding, options, step)

        maps = yield from self._maps(rows, options, folding)
        mapped, rests, report = yield from scan_maps(scan_of, maps, steps, rows, options)
        families = [estimator._family() for estimator in of_folds]
        kept = {name: whole(stats) if rests[name] else stats for name, stats in mapped.items()}
        stats = next(iter(kept.values()))
        self._check_against(stats)
        self._check_whole(stats)
        sampled = self._sampled(stats, report)
        how = self._grid(), self._options(), options.n_threads, families
        candidates = with_maps(mapped, rests, self._family(), *how)
        scorer, once = as_scorer(self.scoring), replace(options, checkpoint=None)
        judged, scoring_report, sample = yield from judged_together(
            candidates, scorer, rows, once, self.return_train_score, sampled
        )
        scores = scores_of(judged, scorer)
        scores.warn_missing(self.reference if self.scoring == "roc_auc_reference" else None)
        self._keep(stats, report)
        self._mapped = kept if len(kept) > 1 else {}
        self._scores, self.scoring_report_ = scores, scoring_report
        self._choose()
        self._finish()
        self._warn_of_ends()
        if sample is not None:
            of_map = [*mapped].index(self.best_params_["map"]) if len(mapped) > 1 else 0
            self._calibrate(sample, candidates[of_map])

    def _folded(self, classes: Any, folding: Folding, options: RunOptions, step: LearnedStep | None) -> ClassScan:
        """The scan of rows with folds, to which a learned step is applied."""
        scan = replace(self._task(classes), folding=folding, memory_limit=options.memory_limit)
        return replace(scan, options=replace(scan.options, learned=step))

    def _sampled(self, stats: ClassStats, report: Report) -> int:
        """How many rows the scoring scan keeps; refuse models that cannot be calibrated before it."""
        if self.calibration is None or (self.calibration == AUTO and stats.n_folds < LEAST_FOLDS):
            return 0
        check_enough_classes(self.calibration, stats)
        path = weight_path(stats, self._family(), None, **self._options())
        check_calibrated(replace(path.shell(), intercept_=path.intercepts))
        return sample_size(len(stats.classes), report.bytes / stats.n_rows)

    def _calibrate(self, sample: SampledRows, candidate: Candidate) -> None:
        """Calibrate the model of all rows by scores of models without each fold, at the same point."""

        def model_without(fold: int) -> LinearModel:
            return candidate.model_outside(fold, self.best_params_, self._n_threads)

        assert self.calibration is not None
        self._learned["_model"] = calibrated_out_of_fold(self._now("_model"), sample, model_without, self.calibration)

    def refit(self, **options: Any) -> Self:
        """Change parameters without reading the data again; the grid and its scores stay.

        `rule` chooses again among the scores; other parameters (`priors`, `smoothing`, ..) change only the final model.
        The result is not calibrated until `fit` or `calibrate` is called.
        """
        check_is_fitted(self, "stats_")
        if options.get("calibration") is not None:
            raise ValueError(f"calibration={options['calibration']!r} needs scores of the rows; use fit, or calibrate")
        wanted = {**vars(self), **options}
        changed = [name for name in _JUDGED if name in options or not np.array_equal(wanted[name], self._judged[name])]
        if changed:
            raise ValueError(f"{changed[0]}={wanted[changed[0]]!r} needs new scores of the rows; use fit")
        with all_or_nothing(self):
            self.rule = arguments.one_of("rule", options.pop("rule", self.rule), RULES)
            check_rule(self.rule, self._grid(), as_scorer(self.scoring), self.scheme)
            self._choose()
            return super().refit(**options)

    def _keep(self, stats: Any, report: Report, decay: float = 1.0) -> None:
        super()._keep(stats, report, decay)
        self._judged = {name: vars(self)[name] for name in _JUDGED}

    def _choose(self) -> None:
        point = self._scores.best(self.rule)
        self.best_params_, self.best_score_ = self._scores.grid[point], float(self._scores.mean[point])
        self.stats_: ClassStats = self._mapped.get(self.best_params_.get("map", ""), self.stats_)
        self._columns = self.stats_.options.learned
        self.cv_results_ = self._scores.table(self.repeats)
        self.__dict__.pop("n_features_per_class_", None)
        if self._scores.class_scores is not None:
            self.n_features_per_class_ = self._scores.class_features()
        if self.rule == "per_split":
            multilabel = self.stats_.multilabel
            rows = as_scheme(self.scheme, self.classes_, self.reference, multilabel).row_names(self.classes_)
            self.n_features_per_class_, self.best_score_, self.best_params_ = self._scores.chosen_per_split(point, rows)

    def _warn_of_ends(self) -> None:
        self._scores.warn_of_penalties(self._scores.best(self.rule), self.n_features_in_)

    def _grid(self) -> Penalty | None:
        family = as_family(self.family)
        if family.covariant and self.calibration is not None:
            raise ValueError(
                f"calibration={self.calibration!r} is not for covariances, which know how features go together: their "
                "probabilities fit as they are; `calibrate` takes rows held back"
            )
        alone = self.penalty is None and (family.covariant or is_own(family))  # these take no penalty
        if alone or self._unpenalised:
            return None
        return L1(scale="score") if self.penalty is None else self.penalty

    @property
    def _unpenalised(self) -> bool:
        return isinstance(self.penalty, str) and self.penalty == UNPENALISED

    def _penalty(self) -> Penalty | None:
        grid = self._grid()
        return None if grid is None else at_point(grid, self.best_params_)

    def _chosen_family(self) -> Family:
        return self._family().at(self.best_params_)

    def _check_params(self) -> None:
        self._check_options(None if self._unpenalised else self.penalty)
        check_choice(self.scheme, self.folds, self.repeats, self.seed, self.scoring, self.rule)

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        others = {name: stats for name, stats in self._mapped.items() if stats is not self.stats_}
        judged = {"scores": self._scores, "scoring_report": vars(self.scoring_report_)}
        return {**super()._to_state(), **judged, **({"mapped": others} if others else {})}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        self = super()._from_state(state)
        self._scores, self.scoring_report_ = state["scores"], Report._from_state(state["scoring_report"])
        if others := state.get("mapped"):
            self._mapped = {**loaded_maps(others, self.stats_), map_name(self.stats_.options.learned): self.stats_}
        self._choose()
        return self


def warn_of_ends_chosen(estimator: LinearNBCV) -> None:
    """Warn of a penalty that is clearly best at an end of those tried."""
    estimator._warn_of_ends()


def judged_grid(estimator: LinearNBCV) -> tuple[GridScores, Penalty | None]:
    """The scores of all grid points, and the penalty that the grid belongs to."""
    return estimator._scores, estimator._grid()
