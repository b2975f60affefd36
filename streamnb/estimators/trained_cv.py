"""Classifiers of several reads whose penalties, and number of reads, are chosen by cross-validation in shared reads."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from itertools import product
from typing import Any, Self

import numpy as np

from streamnb.core import arguments, messages, persistence
from streamnb.estimators.trained import Posed, TrainedClassifier
from streamnb.estimators.trained_models import MarginClassifier, SoftmaxRegression
from streamnb.evaluation.scorers import as_scorer
from streamnb.passes.options import RunOptions
from streamnb.problem.schemes import as_scheme
from streamnb.scanning.class_scan import run_scan, with_folds
from streamnb.selection.grid_scores import GridScores, check_choice
from streamnb.selection.out_of_fold import check_calibration
from streamnb.selection.penalty_search import PenaltySearch, Turns, chosen, course_of
from streamnb.selection.shared_reads import Judge
from streamnb.stats.class_stats import ClassStats
from streamnb.training import objectives
from streamnb.training.descent import Penalties
from streamnb.training.fitting import Reads, Trainer, check_memory, checkpoint_folder, options_of

L2 = tuple(10.0**exponent for exponent in range(3, -3, -1))
RULES = "best", "parsimonious", "one_se"


class TrainedClassifierCV(TrainedClassifier):
    """The choice of penalties and of the number of reads, for any loss."""

    _history = (*TrainedClassifier._history, "held_out_score")
    _has_probabilities = False  # of margins, which judge decisions and rankings only
    calibration: Any = None  # of those that need one

    def __init__(
        self,
        l2: Any = None,
        l1: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = "roc_auc",
        rule: str = "best",
        seed: int = 0,
        start: Any = "auto",
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
    ):
        options = {"start": start, "tol": tol, "max_passes": max_passes, "transform": transform}
        super().__init__(l2, l1, **options, normalize=normalize, idf=idf, class_weight=class_weight)
        self._keep_choice(folds, scoring, rule, seed)

    def _keep_choice(self, folds: Any, scoring: Any, rule: str, seed: int) -> None:
        self.folds, self.scoring, self.rule, self.seed = folds, scoring, rule, seed

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Any = None,
        client: Any = None,
        checkpoint: Any = None,
        layer: str | None = None,
    ) -> Self:
        """Choose penalties and the number of reads, and fit to all rows: a scan, shared reads, and those of the fit.

        Parameters
        ----------
        X, y, sample_weight, progress, n_threads, client, layer
            As for `SoftmaxRegression.fit`. The bar says how far a read is, and of the penalty that is best so far the
            mean held-out score and the objective.
        groups : (n_rows,), optional
            Labels; rows of one group are in one fold.
        memory_limit : int or str, optional
            Bytes that class sums may take, and those that all open models together may; half of the free memory by
            default. Models that do not fit wait: they go in groups, each with reads of its own, and a warning says so
            beforehand. The choice is the same. `snb.plan(X, y, model=..)` tells it before any row is read.
        checkpoint : path, optional
            A folder that keeps what the scan and each read left, as large as the weights of all open models: a fit
            that was broken off goes on from there, to the same bits. It stays until you remove it.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it. There is one class only, in all rows or in those
            outside a fold; rows can be read only once, or a stream gave others in a later read.
        DataError
            Data cannot be read.
        MemoryError
            Sums, weights of one model or scores of all would take more than `memory_limit`.

        Warns
        -----
        StreamnbWarning
            A fold lacks a class; models go in groups; or the score still rose with the last read of `max_passes`.
        """
        options = RunOptions(progress, n_threads, memory_limit, client)
        with self._all_or_nothing():
            self._check_params()
            self._take_layer(layer)
            rows = self._opened(X, y, sample_weight, fresh=True, run=options)
            rows.check_read_again(type(self).__name__)
            options = replace(options, checkpoint=checkpoint_folder(checkpoint))
            before = self._apply(rows, options)
            scan, rows = with_folds(self._scan(options), rows, self.folds, groups, 1, self.seed)
            stats, scanned = run_scan(scan, rows, options_of(options, "scan"))
            n_used = self._n_held(stats)
            turns = self._turns(stats.n_features, self._n_rows(stats), len(stats.folds), options, n_used)
            turns.check(options)
            self._check_calibration(stats, options)
            whole = replace(stats, folds=(), folding=None)
            self._posed(whole, options)  # which refuses what no fold can learn from
            turns.announce(self.max_passes)
            self._scores, searched = self._search(stats, options).run(rows, options, turns)
            self._scores.warn_missing()
            self._choose()
            trained, scale = self._trained(whole, rows, options)
            held_out = course_of(self._scores, self._point)[: len(trained.history["seconds"])]
            history = {**trained.history, "held_out_score": held_out}
            self._keep(self._model_of(whole, trained, scale), history, trained.converged)
            self._calibrated = False
            settled = self._settle(stats, scanned, rows, options)
            self.report_ = before + scanned + searched + trained.report + settled
            if self.best_["max_passes"] == self.max_passes and not trained.converged:
                messages.warn(
                    f"max_passes={self.max_passes} reads were spent, and the last gave the best score; the model is "
                    "usable, more reads may make it better"
                )
        return self

    def plan_scan(self) -> tuple[tuple[str, ...], Any]:
        return super().plan_scan()[0], self.folds

    def plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        turns = self._turns(n_features, n_rows, n_folds, RunOptions(memory_limit=limit))
        most_reads = self._n_scans() + turns.n_groups * (self.max_passes + self._trainer.judged_later) + self.max_passes
        most_reads += 0 if self.calibration is None else self.max_passes + 1
        n_bytes = turns.n_models * turns.model_bytes
        return {
            "n_models": turns.n_models,
            "model_bytes": n_bytes,
            "n_groups": turns.n_groups,
            "most_reads": most_reads,
        }

    def _search(self, stats: ClassStats, options: RunOptions) -> PenaltySearch:
        """What is to be judged on these folds."""
        scorer = as_scorer(self.scoring)
        scheme = as_scheme(self._scheme, stats.classes, multilabel=stats.multilabel)
        needs = scorer.needs if self._has_probabilities else scorer.needs - {"probabilities"}

        @cache
        def posed(fold: int) -> Posed:
            rest = stats.without_fold(fold)
            seen = rest.classes[rest.weight > 0]
            if len(seen) < 2 and not rest.multilabel:
                raise ValueError(
                    f"y holds one class only ({seen.tolist()}) outside fold {fold}; take fewer folds, another seed, or "
                    "folds= that mix the classes"
                )
            return self._posed(rest, options)

        def trainer(fold: int, point: dict[str, Any]) -> tuple[Trainer, Reads]:
            return self._reads_at(posed(fold), point)

        grid = self._grid(self._n_rows(stats))
        judge = Judge(scheme, stats.classes, needs, len(grid) * len(stats.folds))
        return PenaltySearch(grid, stats, trainer, judge, scorer)

    def _check_calibration(self, stats: ClassStats, options: RunOptions) -> None:
        """Refuse, before models are trained, folds that calibration can do nothing with, or has no memory for."""
        if self.calibration is not None:
            check_calibration(self.calibration, self._scheme, len(stats.folds))
            n_rows = len(stats.folds) * self._n_rows(stats)
            check_memory(self._n_held(stats), n_rows, self._held, options.memory_limit)

    def _turns(
        self, n_features: int, n_rows: int, n_folds: int, options: RunOptions, n_used: int | None = None
    ) -> Turns:
        """How many models of n_rows rows of weights there are, and how many are open at a time."""
        return Turns.of(len(self._grid(n_rows)) * n_folds, n_features, n_rows, self._held, options, n_used)

    def _reads_at(self, posed: Posed, point: dict[str, Any]) -> tuple[Trainer, Reads]:
        """What trains at a point of the grid."""
        return self._reads(posed, _penalties(point), self.max_passes)

    def _grid(self, n_rows: int | None = None) -> list[dict[str, Any]]:
        """The points of the grid of penalties, for so many rows of weights."""
        return [dict(zip(self._kinds, point, strict=True)) for point in product(*map(self._strengths, self._kinds))]

    @property
    def _kinds(self) -> list[str]:
        return [name for name in ("l2", "l1") if name in self._get_param_names()]

    def _strengths(self, name: str) -> Sequence[float]:
        """The strengths of a penalty to choose from, from the largest on."""
        given = getattr(self, name)
        if given is None:
            return L2 if name == "l2" and ("l1" not in self._kinds or self.l1 is None) else (0.0,)
        if np.ndim(given) > 1 or not np.size(given):
            raise ValueError(f"{name}={given!r} should be a number, or a list of one number at least")
        found = {objectives.check_strength(name, value) for value in np.atleast_1d(given).tolist()}
        return sorted(found, reverse=True)

    def _asked(self) -> tuple[Penalties, int]:
        return _penalties(self.best_), self.best_["max_passes"]

    def _choose(self) -> None:
        scores, self._point = self._scores, chosen(self._scores, self.rule)
        self.best_, self.best_score_ = scores.grid[self._point], float(scores.mean[self._point])
        self.cv_results_ = scores.table()

    def _check_params(self) -> None:
        super()._check_params()
        if self.max_passes < 2:
            raise ValueError(
                f"max_passes={self.max_passes} should be at least 2: the second read judges the first step"
            )
        check_choice(self._scheme, self.folds, 1, self.seed, self.scoring, self.rule)
        arguments.one_of("rule", self.rule, RULES)
        self._check_scoring()

    def _check_penalties(self) -> None:
        self._grid()

    def _check_scoring(self) -> None:
        given = self.scoring if isinstance(self.scoring, list | tuple) else [self.scoring]
        named = [one for one in given if isinstance(one, str) and "probabilities" in as_scorer(one).needs]
        if named and not self._has_probabilities:
            raise ValueError(
                f"scoring={named[0]!r} needs probabilities, and {type(self).__name__} scores by margins; take "
                "scoring='roc_auc' or 'accuracy', or SoftmaxRegressionCV"
            )

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def to_state(self) -> dict[str, Any]:
        return {**super().to_state(), "scores": self._scores}

    @classmethod
    def from_state(cls, state: dict[str, Any]) -> Self:
        scores = persistence.known(cls, state, "params", "fitted", "scores")["scores"]
        if not isinstance(scores, GridScores) or not all("max_passes" in point for point in scores.grid):
            raise ValueError(f"{cls.__name__} should have the scores of its penalties after each read")
        self = super().from_state({name: state[name] for name in ("params", "fitted")})
        self._scores = scores
        self._choose()
        return self


def judged_reads(estimator: TrainedClassifierCV, class_: Any = None) -> tuple[GridScores, int]:
    """The scores of all penalties after each read, or those of one class, and the point the rule takes by them."""
    scores = estimator._scores if class_ is None else estimator._scores.of_class(class_)
    return scores, chosen(scores, estimator.rule)


def _penalties(point: dict[str, Any]) -> Penalties:
    return Penalties(point["l2"], point.get("l1", 0.0))


@persistence.register
class SoftmaxRegressionCV(TrainedClassifierCV, SoftmaxRegression):
    """`SoftmaxRegression` whose penalties and number of reads are chosen by cross-validation in shared reads.

    Every penalty of the grid is trained without each fold. A read brings all of these models one step, and judges what
    they have come to on their folds: the rows are read about as often as one model needs, and the score is known after
    each read, so that the number of reads is chosen, too. A model is left where it is once it has converged, or once
    five reads, and half as many as its best took, gave no better score on its fold. Then the best penalty is fitted to
    all rows, in as many reads as were best. All is the same to the last bit for any chunks, threads and workers.

    Parameters
    ----------
    l2, l1 : float or list of float, optional
        Strengths to choose from; the product of both lists is judged. By default 0.01, 0.1, .., 1000 for l2, 0 where l1
        is given, and 0 for l1.
    folds : int or (n_rows,) ints
        Number of folds, or the fold of each row, numbered from 0; see `fold_numbers`.
    scoring : str, callable or a list of these
        As for `LinearNBCV`; the first of a list chooses, and of what is equally good by it, the next.
    rule : {"best", "parsimonious", "one_se"}
        The penalty and number of reads with the highest mean score; or, of those whose mean is within 1 % of it, or
        within one standard error of it, that with the fewest features, then the fewest reads.
    seed : int
    start, tol, max_passes, transform, normalize, idf, class_weight
        As for `SoftmaxRegression`, of each model; `max_passes` is at least 2.

    Attributes
    ----------
    best_ : dict
        What was chosen, such as ``{"l2": 1.0, "l1": 0.0, "max_passes": 6}``: ``SoftmaxRegression(**model.best_)``
        gives the same weights.
    best_score_ : float
        Its mean score.
    cv_results_ : dict of (G,) arrays
        A row for each penalty after each read: params, param_l2, param_l1, param_max_passes, mean_test_score,
        std_test_score, rank_test_score, split<s>_test_score, class_test_score_<label>, n_features (that are used, the
        mean over folds). NaN where a fold lacks a class; means are over the others.
    history_ : dict of (n_passes_,) arrays
        Of the fit to all rows, a value a read: objective, gradient_norm, seconds, and held_out_score, the mean score of
        this penalty after as many reads.
    report_ : Report
        Of the scan and of all reads, shared ones and those of the last fit.
    classes_, coef_, intercept_, n_passes_, converged_, n_features_in_, feature_names_in_
        As of `SoftmaxRegression`.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.SoftmaxRegressionCV([0.1, 10.0], scoring="accuracy").fit(X, y)
    >>> model.best_["l2"], model.best_score_ > 0.95
    (0.1, True)
    """

    _has_probabilities = True


@persistence.register
class MarginClassifierCV(TrainedClassifierCV, MarginClassifier):
    """`MarginClassifier` whose penalties and number of reads are chosen by cross-validation in shared reads.

    Parameters and attributes are those of `SoftmaxRegressionCV`, and:

    Parameters
    ----------
    scoring
        Scores are margins: one that needs probabilities is refused, and a function of an `Evaluation` gets one without.
    calibration : {None, "sigmoid", "isotonic"}
        As for `MarginClassifier`, by the models without each fold, five at least, at what was chosen: they are trained
        once more, in as many reads as the model. The choice is the same.
    """

    def __init__(
        self,
        l2: Any = None,
        l1: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = "roc_auc",
        rule: str = "best",
        seed: int = 0,
        start: Any = "auto",
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        class_weight: Any = None,
        calibration: str | None = None,
    ):
        options = {"start": start, "tol": tol, "max_passes": max_passes, "transform": transform}
        options |= {"normalize": normalize, "idf": idf, "class_weight": class_weight, "calibration": calibration}
        MarginClassifier.__init__(self, l2, l1, **options)
        self._keep_choice(folds, scoring, rule, seed)
