"""AdditiveModel: what additive classifiers and regressors have in common, the choice of a model and its terms."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from numbers import Integral
from typing import Any

import numpy as np

from streamnb.additive.choice import LEAST_FACTOR, AdditiveRequest
from streamnb.additive.fit import ChosenTerms, CodedRows, FittedTerms
from streamnb.additive.terms import TermScores, TermTables, contributions_of_terms, term_of, term_table, terms_table
from streamnb.core import arguments, messages, persistence
from streamnb.core.arguments import Rows
from streamnb.encoding.bins import AbsentCountingSource, BinEdges, TermColumns
from streamnb.encoding.learning import learned_by_fold
from streamnb.encoding.table_encoding import TableEncoding
from streamnb.encoding.text import TextEncoding
from streamnb.estimators.parameters import Check, integer_from
from streamnb.estimators.preparation import Preparation, StepRequest, fitting, names_of
from streamnb.estimators.transformers import Bins
from streamnb.passes.contract import Reading, RunOptions
from streamnb.passes.run import run_reads
from streamnb.rows.preparing import RowOptions
from streamnb.rows.source import Source
from streamnb.selection.score_table import split_interval, warn_of_ends
from streamnb.stats.stability import ColumnProfile

L2 = 30.0, 10.0, 3.0, 1.0, 0.3, 0.1, 0.03
PAIR_FACTORS = 1.0, 3.0, 10.0
CHOSEN = {"l2": "f8", "pair_factor": "f8", "interactions": "i8"}


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


CHECKS: dict[str, Check] = {
    "pair_factor": lambda name, value: choices(name, value, PAIR_FACTORS),
    "min_count": integer_from(1),
    "resolutions": check_resolutions,
    "interactions": check_interactions,
    "monotone": check_monotone,
}


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


class AdditiveModel:
    """The choice of an additive model, and its terms as tables, as scores that may be edited, and by what they add."""

    interactions: Any
    l2: Any
    pair_factor: Any
    resolutions: Sequence[int]
    monotone: Any
    folds: Any
    seed: int
    tol: float
    max_passes: int
    _choose: Callable[..., Reading[ChosenTerms]]
    _opened: Callable[..., Source]
    _preparation: Preparation
    _tables: TermTables
    _judged: dict[str, Any]

    # ---- defined by a subclass ---------------------------------------------------------------------------------------

    def _train(self, chosen: ChosenTerms) -> Reading[None]:
        """Train the weights of all rows, and keep the model."""
        raise NotImplementedError

    def _of_terms(self) -> tuple[TermColumns, np.ndarray, TermTables]:
        """The step that makes the columns of terms, their weights (n_columns, R), and what is known of the terms."""
        raise NotImplementedError

    @property
    def _endings(self) -> list[str]:
        """The endings of the names of columns in tables of terms, one for each row of weights."""
        return [""]

    def _replace_weights(self, weights: np.ndarray) -> None:
        """Change the weights of the model."""
        raise NotImplementedError

    def _check_sums(self) -> None:
        """Raise where scores are no sums of terms."""

    def _profile(self) -> ColumnProfile | None:
        counts, starts = self._tables.counts, self._of_terms()[0].starts
        weight = float(counts[: starts[1]].sum())  # each row has a code of the first feature
        n_rows = round(weight) if self._tables.n_rows is None else self._tables.n_rows
        return ColumnProfile("sum", RowOptions(), n_rows, weight, counts) if weight > 0.0 else None

    def _fit(self, *given: Any, **how: Any) -> Reading[None]:
        """Choose a model of the rows, and train it."""
        yield from self._train((yield from self._choose(*given, **how)))

    # ---- rows --------------------------------------------------------------------------------------------------------

    def _coded(self, rows: Any, options: RunOptions) -> Reading[CodedRows]:
        """The rows as codes of their features."""
        if isinstance(rows.encoding, TableEncoding):
            return CodedRows.of_table(rows, rows.encoding)
        if isinstance(rows.encoding, TextEncoding):
            raise ValueError(
                f"X holds texts, and {type(self).__name__} has a score for each bin and each level of a table"
            )
        bins = Bins(int(max(self.resolutions)))
        steps = yield from learned_by_fold(bins, rows, options, type(self).__name__, None)
        assert isinstance(steps.whole, BinEdges)
        return CodedRows.of_numbers(rows, steps.whole, names_of(self))

    def _request(self, coded: CodedRows, groups: Any, settles: Any) -> AdditiveRequest:
        """What the parameters ask for, with names of features checked."""
        interactions, monotone = named_terms(self.interactions, self.monotone, coded)
        return AdditiveRequest(
            l2=choices("l2", self.l2, L2),
            pair_factors=choices("pair_factor", self.pair_factor, PAIR_FACTORS),
            going_on=[name for name in ("l2", "pair_factor") if getattr(self, name) is None],
            interactions=interactions,
            resolutions=sorted(self.resolutions)[:-1],
            monotone=monotone,
            folds=self.folds,
            groups=groups,
            seed=self.seed,
            tol=float(self.tol),
            max_passes=int(self.max_passes),
            settles=settles,
        )

    def _counting_absent(self, rows: Source) -> Source:
        """Rows of terms, with a warning of values that have none."""
        columns, _, tables = self._of_terms()
        return rows if rows.lazy else AbsentCountingSource(rows, columns, tables.features)

    # ---- the choice --------------------------------------------------------------------------------------------------

    def _keep_terms(self, found: FittedTerms) -> None:
        """Keep what a fit has found of the terms, and all points that were judged."""
        self._tables, judged = found.tables, found.judged
        points = {name: np.array([one.point[name] for one in judged], kind) for name, kind in CHOSEN.items()}
        place = [one is found.best for one in judged].index(True)
        self._keep_choice(points, np.array([one.scores for one in judged]), place)
        self._warn_of_ends()
        trained = found.trained
        if not trained.converged:
            messages.warn(
                f"max_passes={self.max_passes} reads were not enough: the gradient is {trained.left:.1e} of that "
                f"at the start, and tol={self.tol:g}; the model is usable, but more reads may improve it"
            )

    def _restore_terms(self, tables: Any, judged: Any) -> None:
        """Restore from a file what `_keep_terms` keeps."""
        judged = persistence.known(type(self), judged, *CHOSEN, "scores", "best")
        if not isinstance(tables, TermTables):
            raise ValueError(f"{type(self).__name__} should have tables of its terms, not {type(tables).__name__}")
        self._tables = tables
        columns, weights, _ = self._of_terms()
        tables.check(columns, weights.shape[1])
        scores = persistence.array("scores", judged["scores"], ["f8"], (None, None))
        points = {name: persistence.array(name, judged[name], [kind], (len(scores),)) for name, kind in CHOSEN.items()}
        best = arguments.whole_number("best", judged["best"])
        if not 0 <= best < len(scores):
            raise ValueError(f"best={best} should be one of the {len(scores)} points that were judged")
        self._keep_choice(points, scores, best)

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
        columns, weights, _ = self._of_terms()
        weights = weights.copy()
        weights[columns.starts[grid] : columns.starts[grid + 1]] = scores.reshape(-1, weights.shape[1])
        self._replace_weights(weights)

    # ---- terms -------------------------------------------------------------------------------------------------------

    @property
    def terms_(self) -> Any:
        """The terms, the most important first."""
        return terms_table(*self._of_terms())

    @property
    def term_scores_(self) -> TermScores:
        """The scores of each term by its name, or the names of its pair."""
        return TermScores(self._of_terms, self._write)

    def term(self, *features: Any) -> Any:
        """A term as a table.

        Parameters
        ----------
        features : str or int
            A name from `terms_`: of a feature, or of a pair, whose two names may also be given one after the other.

        Returns
        -------
        pandas.DataFrame
            A row for each step: "lower" and "upper", the ends of a bin of a number (NaN for missing values), or "level"
            (None for missing values, "rare" for rare ones); of a pair, of both features, with the names before them.
            In pairs, the less frequent levels of a feature are combined as "others". Then "score", "std", the standard
            deviation over the models without each fold, and "count", the weight of the training rows.

        Raises
        ------
        ValueError
            There is no such term.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> x = np.repeat([[1.0], [2.0]], 50, axis=0)
        >>> model = snb.AdditiveRegressor(l2=0.001).fit(x, 2.5 * x[:, 0])
        >>> model.term("x0")[["lower", "upper", "count"]].values.tolist()
        [[-inf, 1.5, 50.0], [1.5, inf, 50.0]]
        """
        columns, weights, tables = self._of_terms()
        name = features[0] if len(features) == 1 else features
        grid = term_of(columns, tables.features, name)
        return term_table(self._preparation.encoding, columns, weights, tables, grid, self._endings)

    def contributions(self, X: Rows, *, out: Any = None) -> Any:
        """Contribution of each term to the score of each row.

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
            `decision_function`. A NumPy array, or a lazy Dask array if X is one.

        Raises
        ------
        ValueError
            After isotonic calibration, scores are no longer sums of terms.

        Examples
        --------
        >>> import numpy as np, streamnb as snb
        >>> x = np.random.default_rng(0).uniform(-1, 1, (500, 2))
        >>> model = snb.AdditiveClassifier(1).fit(x, x[:, 0] > x[:, 1])
        >>> added = model.contributions(x)
        >>> added.shape, np.allclose(model.intercept_ + added.sum(axis=1), model.decision_function(x))
        ((500, 3), True)
        """
        self._check_sums()
        columns, weights, tables = self._of_terms()
        return contributions_of_terms(columns, weights, tables, self._opened(X, labelled=False), out)


def fit_in_race(
    estimator: AdditiveModel, given: Any, groups: Any, options: RunOptions, **race: Any
) -> Iterator[ChosenTerms]:
    """Choose a model as one of several candidates, and train it once it is asked to go on, as the best of them.

    `race` are the further arguments of its `_choose`. Where the scores of its first point settle that others win, it
    tries no other point.
    """
    with fitting(estimator, **{"keep": "auto", **options.fit_options}) as own:
        chosen = run_reads(estimator._choose(given, own, None, groups, **race))
        yield chosen
        run_reads(estimator._train(chosen))
