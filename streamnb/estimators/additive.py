"""Additive classifiers: a score for each bin and level of each feature, and for each cell of some pairs."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from numbers import Integral
from typing import Any, ClassVar, Self

import numpy as np

from streamnb.core import arguments, guesses, messages, persistence
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.encoding.bins import BinEdges
from streamnb.encoding.learning import learned_by_fold
from streamnb.encoding.opening import with_table
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.terms import AbsentCountingSource, TermColumns
from streamnb.encoding.text import TextEncoding
from streamnb.estimators.bins import Bins
from streamnb.estimators.parameters import integer_from
from streamnb.estimators.preparation import StepRequest, fitting, names_of, opened_to_read_again
from streamnb.estimators.term_scores import TermScores
from streamnb.estimators.trained import TrainedClassifier, learner_of
from streamnb.evaluation.scorers import as_scorer
from streamnb.explaining.feature_tables import number_of
from streamnb.explaining.terms import contributions_of_terms, term_of, term_table, terms_table
from streamnb.models.additive import TermTables
from streamnb.models.linear import LinearModel
from streamnb.passes.checkpoint import checkpoint_folder
from streamnb.passes.contract import Reading, RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.rows.table_opening import ANY
from streamnb.selection.additive_fit import LEAST_FACTOR, NUMBERS, AdditiveRequest, CodedRows, fit_terms
from streamnb.selection.fold_models import ModelGroups
from streamnb.selection.score_table import check_choice, warn_of_ends
from streamnb.selection.split_intervals import split_interval
from streamnb.stats.stability import ColumnProfile
from streamnb.training.fitting import DescentMethod
from streamnb.training.learner import Learner
from streamnb.training.objectives import softmax_of

L2 = 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03
PAIR_FACTORS = 1.0, 3.0, 10.0
CELLS_OF_PAIR = 32 * 32  # at most
READS_TO_CHOOSE = 3  # to learn bins or levels, to count them, and to draw a sample
CHOSEN = {"l2": "f8", "pair_factor": "f8", "interactions": "i8"}


def fit_in_race(
    model: AdditiveClassifier,
    given: Any,
    groups: Any,
    settles: Callable[[dict[str, np.ndarray]], bool],
    options: RunOptions,
) -> None:
    """Fit a model; where the scores of the first point settle that others win, no other point is tried."""
    with fitting(model, **{"keep": "auto", **options.fit_options}) as own:
        run_reads(model._fit(given, own, None, groups, settles))


def choices(name: str, given: Any, default: Sequence[float]) -> list[float]:
    """The positive numbers to choose from, descending."""
    if given is None:
        return sorted(default, reverse=True)
    values = [
        arguments.number_above_0(*one, "at 0 scores of steps grow without bound") for one in arguments.each(name, given)
    ]
    if not values:
        raise ValueError(f"{name}={given!r} should be a number above 0, or a list of one at least")
    return sorted(set(values), reverse=True)


def check_feature(argument: str, name: Any, features: Sequence[str]) -> str:
    """The name of a feature, given by name or number."""
    if isinstance(name, Integral) and not isinstance(name, bool) and 0 <= int(name) < len(features):
        return features[int(name)]
    if name not in features:
        raise ValueError(f"{argument} has {name!r}, which is not a feature; they are {messages.listed(features)}")
    return name


def check_resolutions(name: str, given: Any) -> None:
    """Refuse what is no list of numbers of steps."""
    if not isinstance(given, list | tuple) or not given:
        raise TypeError(f"{name}={given!r} should be numbers of steps, such as (4, 16, 64)")
    for number in given:
        arguments.positive_integer(name, number, 2)


def check_interactions(name: str, given: Any) -> None:
    """Refuse what is neither "auto", a number of pairs, nor a list of pairs."""
    if isinstance(given, str):
        arguments.one_of(name, given, ["auto"])
    elif isinstance(given, Sequence):
        for pair in given:
            if not isinstance(pair, Sequence) or isinstance(pair, str) or len(pair) != 2:
                raise TypeError(f"{name} has {pair!r}, which should be a pair of features")
            if pair[0] == pair[1]:
                raise ValueError(f"{name} has {pair!r}, a pair of a feature with itself")
    elif isinstance(given, Integral):
        arguments.positive_integer(name, given, 0)
    else:
        raise TypeError(f"{name}={given!r} should be 'auto', a number of pairs, or a list of pairs of features")


def check_monotone(name: str, given: Any) -> None:
    """Refuse what is no dict of features and directions."""
    if given is None:
        return
    if not isinstance(given, dict):
        raise TypeError(f"{name}={given!r} should be a dict, such as {{'age': 1}}")
    for feature, direction in given.items():
        if not isinstance(direction, Integral) or direction not in (1, -1):
            raise ValueError(f"{name} has {direction!r} for {feature!r}; it should be 1 to rise or -1 to fall")


def named_terms(interactions: Any, monotone: Any, coded: CodedRows) -> tuple[Any, dict[str, int]]:
    """Interactions and the directions of monotone features, by the names of features, checked against the rows."""
    features = coded.features
    directions = {check_feature("monotone", name, features): direction for name, direction in (monotone or {}).items()}
    for name in directions:
        if not coded.ordered[features.index(name)]:
            raise ValueError(f"monotone has {name!r}, whose values are categories, in no order that rises or falls")
    if isinstance(interactions, str | Integral):
        return interactions if isinstance(interactions, str) else int(interactions), directions
    pairs = [tuple(check_feature("interactions", name, features) for name in pair) for pair in interactions]
    for place, pair in enumerate(pairs):
        if pair[0] == pair[1]:
            raise ValueError(f"interactions has {pair}, a pair of a feature with itself")
        if {*pair} in [{*other} for other in pairs[:place]]:
            raise ValueError(f"interactions has {pair} twice")
        for name in {*pair} & directions.keys():
            raise ValueError(f"interactions has {name!r}, which is monotone; a pair could bend its curve")
    return pairs, directions


@dataclass(frozen=True)
class TermsRequest(StepRequest):
    """The request for columns of terms, which are learned by `fit`."""

    @property
    def learns(self) -> bool:
        return True

    def description(self, names: Any, n_features: int) -> str | None:
        return "terms"

    def check(self, step: Any) -> None:
        if not isinstance(step, TermColumns):
            raise ValueError(f"{self.who} should come with the columns of its terms, not {type(step).__name__}")


@persistence.register
class AdditiveClassifier(TrainedClassifier):
    r"""Additive model with pairs: a curve for each feature, and a surface for each of a few pairs of them.

    The score of class k is (Lou, Caruana, Gehrke, Hooker, KDD 2013)

        s_k(x) = b_k + sum_j f_jk(x_j) + sum_(i, j) f_ijk(x_i, x_j),

    probabilities are the softmax of the scores; two classes have one score. Each f is a step function: of the bins of
    a number, the levels of a category, and missing values. Its steps are sums over several resolutions, all penalised,
    so that a step with few rows stays near its neighbours. The weights minimise

        sum_i w_i (-ln p(y_i | x_i)) + l2 / 2 (\|mains\|^2 + pair_factor \|pairs\|^2).

    Penalties and pairs are chosen on folds of a sample of at most 65,536 rows; then the weights are trained on all
    rows, in a scan and a few reads. They are the same to the last bit for any chunks, threads and workers.

    Parameters
    ----------
    interactions : "auto", int, or list of (str or int, str or int)
        Pairs of features: how many, or which. "auto" adds 5, 10, 20, then 40 of them, as long as held-out scores rise.
        Pairs are ranked by what their cells add to the model without pairs, on rows outside each fold. Of given pairs
        those of tables are names of columns; others may be numbers.
    l2 : number, or list of them, optional
        The penalty, chosen from 30, 10, 3, 1, 0.3, 0.1 and 0.03 by default; where the largest or smallest is
        clearly the best, also from further ones, until scores fall.
    pair_factor : number, or list of them, optional
        The penalty of pairs is this multiple of that of single features; chosen from 1, 3 and 10, and further
        ones, by default.
    resolutions : tuple of int
        Numbers of steps of a number's curve. The largest is that of its bins, which have about equally many rows.
    min_count : int
        Levels of a column of a table with fewer rows, or less weight, share one step, also that of new levels.
    monotone : dict of {feature: 1 or -1}, optional
        Curves that may only rise (1) or fall (-1), for two classes: the fitted curve is made so by isotonic regression.
        Such features are in no pairs.
    folds : int or (n_rows,) ints
        As for `SoftmaxRegressionCV`.
    scoring : str or callable
        What is compared on the folds.
    seed : int
        Of the folds.
    tol, max_passes
        As for `SoftmaxRegression`, for the weights of all rows.

    Attributes
    ----------
    classes_ : (K,) labels, sorted
    terms_ : pandas.DataFrame
        "name" (of a pair a tuple of two), "kind" ("main" or "pair"), "importance" (the mean absolute score over the
        training rows) and "degrees of freedom", about the number of free steps; the most important first.
    term_scores_ : mapping of a name to an array
        The scores of a term, (n_steps, R) or (n_steps, n_steps, R). An array that is written back becomes part of the
        model and of its file.
    best_params_ : dict
        The "l2", "pair_factor" and number of "interactions" chosen.
    best_score_ : float
        The mean score of that choice on the folds.
    cv_results_ : dict of arrays
        All points that were judged: parameters, the score on each fold, its mean, and a 95 % interval of that,
        low_test_score and high_test_score, as in `LinearNBCV`.
    n_features_in_, feature_names_in_, history_, n_passes_, converged_, report_
        As of `SoftmaxRegression`.

    Notes
    -----
    Terms are pure (Lengerich et al., AISTATS 2020): weighted by the training rows, the scores of a feature have the
    mean 0, and those of a pair have it along each of its features. So nothing that a feature says by itself is in a
    pair. With more than two classes the scores of a step have the mean 0 over classes.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> x = np.random.default_rng(0).uniform(-1, 1, (2000, 2))
    >>> model = snb.AdditiveClassifier(interactions=1).fit(x, x[:, 0] * x[:, 1] > 0)
    >>> model.terms_["name"].tolist()[0], model.score(x, x[:, 0] * x[:, 1] > 0) > 0.95
    (('x0', 'x1'), True)
    """

    _checks: ClassVar = {
        **TrainedClassifier._checks,
        "pair_factor": lambda name, value: choices(name, value, PAIR_FACTORS),
        "min_count": integer_from(1),
        "resolutions": check_resolutions,
        "interactions": check_interactions,
        "monotone": check_monotone,
    }
    _saved = (*TrainedClassifier._saved, "terms", "judged")
    _tables: TermTables
    _judged_by: dict[str, np.ndarray]

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

    @property
    def best_(self) -> dict[str, Any]:
        """The former name of `best_params_`."""
        return guesses.renamed_best(self)

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
            Group labels, or the name of a column of X, which is no feature then; the rows of one group are in one fold.
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
            All reads were used before the gradient was small enough; or a penalty is clearly best at the end of those
            tried.
        """
        with fitting(self, progress, n_threads, memory_limit, client, keep, checkpoint) as options:
            run_reads(self._fit((X, y, sample_weight), options, layer, groups))
        return self

    def _fit(
        self,
        given: Any,
        options: RunOptions,
        layer: str | None = None,
        groups: Any = None,
        settles: Callable[[dict[str, np.ndarray]], bool] | None = None,
    ) -> Reading[None]:
        """Learn codes of the rows, sum them, draw a sample to choose by, and train the weights.

        `settles`, given the scores of the first point, says whether no other is tried.
        """
        self._check_params()
        beside, n_bins = (groups, self.folds), int(max(self.resolutions))
        given = with_table(given, ANY, beside=beside, bins=n_bins, min_count=self.min_count)
        rows = opened_to_read_again(self, given, options, layer, beside)
        coded = yield from self._coded(rows, options)
        options = replace(options, checkpoint=checkpoint_folder(options.checkpoint))
        request = replace(self._request(coded, groups), settles=settles)
        terms = yield from fit_terms(self._learner(), coded, rows, request, options)
        self._preparation = replace(self._preparation, step=terms.step, requested="terms")
        self._keep(terms.fitted)
        self._tables, self._judged_by = terms.tables, terms.best.each
        judged = {
            name: np.array([candidate.point[name] for candidate in terms.judged], kind) for name, kind in CHOSEN.items()
        }
        best = next(place for place, candidate in enumerate(terms.judged) if candidate is terms.best)
        self._keep_choice(judged, np.array([candidate.scores for candidate in terms.judged]), best)
        self._warn_of_ends()
        if terms.fitted.warning:
            messages.warn(terms.fitted.warning)

    def _coded(self, rows: Any, options: RunOptions) -> Reading[CodedRows]:
        """The rows as codes of their features."""
        if isinstance(rows.encoding, TableEncoding):
            return CodedRows.of_table(rows, rows.encoding)
        if isinstance(rows.encoding, TextEncoding):
            raise ValueError("X holds texts, and AdditiveClassifier has a score for each bin and each level of a table")
        bins = Bins(int(max(self.resolutions)))
        steps = yield from learned_by_fold(bins, rows, options, type(self).__name__, None)
        assert isinstance(steps.whole, BinEdges)
        return CodedRows.of_numbers(rows, steps.whole, names_of(self))

    def _request(self, coded: CodedRows, groups: Any) -> AdditiveRequest:
        """What the parameters ask for, with names of features checked."""
        interactions, monotone = named_terms(self.interactions, self.monotone, coded)
        points = [point["l2"] for point in self._grid()]
        factors = choices("pair_factor", self.pair_factor, PAIR_FACTORS)
        resolutions, scorer = sorted(self.resolutions)[:-1], as_scorer(self.scoring)
        how = monotone, self.folds, groups, self.seed, scorer
        going_on = [name for name in ("l2", "pair_factor") if getattr(self, name) is None]
        return AdditiveRequest(points, factors, going_on, interactions, resolutions, *how)

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

    def _plan_reads(self, n_features: int, n_rows: int, n_folds: int, limit: int) -> dict[str, int]:
        learner, options = self._learner(), RunOptions(memory_limit=limit)
        groups = ModelGroups.of(learner.method, len(self._grid()) * n_folds, n_features, n_rows, options)
        return groups.planned(READS_TO_CHOOSE + learner.n_scans + learner.most_reads)  # models of a sample take none

    def _opened(self, X: Any, *beside: Any, labelled: bool = True) -> Source:
        rows = super()._opened(X, *beside, labelled=labelled)
        return rows if rows.lazy else AbsentCountingSource(rows, self._of_terms()[1], self._tables.features)

    def _profile(self) -> ColumnProfile | None:
        counts, starts = self._tables.counts, self._of_terms()[1].starts
        weight = float(counts[: starts[1]].sum())  # each row has a code of the first feature
        return ColumnProfile("sum", RowOptions(), round(weight), weight, counts) if weight > 0.0 else None

    def _learner(self) -> Learner:
        return learner_of(self, DescentMethod(softmax_of))

    def _step_request(self) -> StepRequest:
        return TermsRequest(type(self).__name__)

    def _check_params(self) -> None:
        super()._check_params()
        check_choice("joint", self.folds, 1, self.seed, self.scoring, "best")

    def _keep_choice(self, points: dict[str, np.ndarray], scores: np.ndarray, best: int) -> None:
        """Keep the points judged, (G,) by name, their scores (G, folds), and which is the best."""
        self._judged: dict[str, Any] = {**points, "scores": scores, "best": best}
        self.best_params_ = {name: values[best].item() for name, values in points.items()}
        self.cv_results_ = {f"param_{name}": values for name, values in points.items()}
        self.cv_results_ |= {f"split{fold}_test_score": column for fold, column in enumerate(scores.T)}
        self.cv_results_["mean_test_score"] = np.nanmean(scores, axis=1)
        ends = split_interval(scores, scores.shape[1])
        self.cv_results_ |= dict(zip(("low_test_score", "high_test_score"), ends, strict=True))
        self.best_score_ = float(self.cv_results_["mean_test_score"][best])

    def _warn_of_ends(self) -> None:
        """Warn of penalties that are clearly best at the end of those tried."""
        points = [dict(zip(CHOSEN, values, strict=True)) for values in zip(*map(self._judged.get, CHOSEN), strict=True)]
        names, limits = {name: name for name in ("l2", "pair_factor")}, {"pair_factor": (LEAST_FACTOR, np.inf)}
        warn_of_ends(points, self._judged["scores"], self._judged["best"], names, limits)

    def _write(self, grid: int, scores: np.ndarray) -> None:
        """Replace the scores of a term."""
        _, columns, model, _ = self._of_terms()
        weights = model.weights.copy()
        weights[columns.starts[grid] : columns.starts[grid + 1]] = scores.reshape(-1, weights.shape[1])
        self._model = replace(model, weights=weights)

    # ---- terms -------------------------------------------------------------------------------------------------------

    @property
    def terms_(self) -> Any:
        """The terms, the most important first."""
        return terms_table(*self._of_terms()[1:])

    @property
    def term_scores_(self) -> TermScores:
        """The scores of each term by its name, or the names of its pair."""
        return TermScores(self._of_terms, self._write)

    def term(self, *features: Any, positive: Any = None) -> Any:
        """A term as a table.

        Parameters
        ----------
        features : str or int
            A name from `terms_`: of a feature, or of a pair, whose two names may also be given one after the other.
        positive : label, optional
            Of two classes, the one that scores speak for; the second by default.

        Returns
        -------
        pandas.DataFrame
            A row for each step: "lower" and "upper", the ends of a bin of a number (NaN for missing values), or "level"
            (None for missing values, "rare" for rare ones); of a pair, of both features, with the names before them.
            There the less frequent levels of a feature are together as "others". Then "score" (with more than two
            classes one column for each, such as "score A"), "std", the standard deviation over the models without each
            fold, and "count", the weight of the training rows.

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
        encoding, columns, model, tables = self._of_terms()
        name = features[0] if len(features) == 1 else features
        table = term_table(encoding, columns, model, tables, term_of(columns, tables.features, name))
        if positive is not None:
            if "score" not in table:
                raise ValueError(
                    f"positive={positive!r} is of two classes; these are {len(self.classes_)}, with a column each"
                )
            table["score"] = -table["score"] if number_of(model, "positive", positive) == 0 else table["score"]
        return table

    def contributions(self, X: Rows, *, out: Any = None) -> Any:
        """What each term adds to the score of each row.

        Parameters
        ----------
        X : (n_rows, n_features)
            Rows in any form that `predict` takes.
        out : array-like, optional
            Anything that takes slices of rows, such as a Zarr array: the result is written to it block by block.

        Returns
        -------
        (n_rows, n_terms) or (n_rows, n_terms, K)
            In the order of `terms_`; with more than two classes for each of them. With `intercept_` they add up to
            `decision_function`. The result is of the kind of X: NumPy, or lazy Dask for Dask.

        Raises
        ------
        ValueError
            Isotonic calibration has changed the scores, which are no sums of terms then.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> x = np.random.default_rng(0).uniform(-1, 1, (500, 2))
        >>> model = snb.AdditiveClassifier(1).fit(x, x[:, 0] > x[:, 1])
        >>> added = model.contributions(x)
        >>> added.shape, np.allclose(model.intercept_ + added.sum(axis=1), model.decision_function(x))
        ((500, 3), True)
        """
        _, columns, model, tables = self._of_terms()
        return contributions_of_terms(columns, model, tables, self._ready(X)[1], out)

    def _of_terms(self) -> tuple[Any, TermColumns, LinearModel, TermTables]:
        """The encoding, the step that makes the columns of terms, the model, and what is known of the terms."""
        model = self._fitted_model()
        assert isinstance(self._step, TermColumns)
        return self.encoding_, self._step, model, self._tables

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        return {**super()._to_state(), "terms": self._tables, "judged": self._judged}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        self, tables = super()._from_state(state), state["terms"]
        judged = persistence.known(cls, state["judged"], *CHOSEN, "scores", "best")
        if not isinstance(tables, TermTables):
            raise ValueError(f"{cls.__name__} should have tables of its terms, not {type(tables).__name__}")
        self._tables = tables
        tables.check(self._of_terms()[1], self._model.weights.shape[1])
        scores = persistence.array("scores", judged["scores"], ["f8"], (None, None))
        points = {name: persistence.array(name, judged[name], [kind], (len(scores),)) for name, kind in CHOSEN.items()}
        best = arguments.whole_number("best", judged["best"])
        if not 0 <= best < len(scores):
            raise ValueError(f"best={best} should be one of the {len(scores)} points that were judged")
        self._keep_choice(points, scores, best)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        tags.classifier_tags.multi_label = False
        return tags


def warn_of_ends_chosen(estimator: AdditiveClassifier) -> None:
    """Warn of penalties that are clearly best at the end of those tried."""
    estimator._warn_of_ends()


def judged_scores(estimator: AdditiveClassifier) -> dict[str, np.ndarray]:
    """The scores of the best point on each fold, by the name of the scorer, after a fit."""
    return estimator._judged_by
