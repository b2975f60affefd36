"""Chooses the probability below which `annotate` labels a cell "unknown", on held-out cells and left-out classes."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, messages, row_checks
from streamnb.core.arguments import Bytes, PerRow, Rows
from streamnb.core.frames import pandas_for
from streamnb.passes.contract import RunOptions
from streamnb.rows.splits import fold_numbers

LEAST_CLASSES = 2  # that a model is fitted to


class BestClasses:
    """Keeps the likeliest class of each row, as the `out` of `predict_proba`, which is written block by block."""

    dtype = np.dtype(np.float64)

    def __init__(self, n_rows: int, n_classes: int):
        self.shape = (n_rows, n_classes)
        self.codes, self.probability = np.empty(n_rows, np.int64), np.empty(n_rows)

    def __setitem__(self, rows: slice, proba: np.ndarray) -> None:
        self.codes[rows], self.probability[rows] = proba.argmax(axis=1), proba.max(axis=1)


def choose_unknown_below(
    self: Any,
    X: Rows,
    y: PerRow,
    sample_weight: PerRow = None,
    *,
    named: float = 0.95,
    folds: int = 5,
    groups: PerRow = None,
    seed: int = 0,
    progress: bool | None = None,
    n_threads: int | None = None,
    memory_limit: Bytes = None,
    client: Any = None,
) -> Any:
    """Choose the threshold of ``annotate(unknown_below="auto")`` on folds, and measure what it finds.

    For each fold a model is fitted with the parameters of this one, without the rows of the fold. The threshold is the
    highest at which the share `named` of the held-out rows that are labelled right keep their label. A second model of
    each fold also lacks some of the classes. It gets a threshold in the same way, and rows of these classes show how
    often a new class would be "unknown". A class that looks like another one is often not, whatever the threshold.

    Parameters
    ----------
    X, y, sample_weight
        The rows of the fit, with labels; not in Dask. They are read for two fits and predictions of each fold.
    named : float
        The share of rightly labelled rows that should keep their label, from 0 to 1.
    folds : int
    groups : (n_rows,), optional
        Such as "obs/donor": rows of one group are in one fold, so that the threshold is one for new donors.
    seed : int
        Of folds, and of the classes that are left out together: one of `folds` parts.
    progress, n_threads, memory_limit, client
        As in `fit`.

    Returns
    -------
    pandas.DataFrame
        A row for each class. "right": the share of its held-out rows that is labelled right; "named": the share of
        these that keeps its label; "unseen": the share of its rows that is "unknown" to a model without the class. NaN
        where there is no such model, as too few classes would be left, or it labels no row right.

    Raises
    ------
    ValueError, TypeError
        An argument is wrong, the model has no probabilities or other classes than strings, or was calibrated after its
        fit, or no row is labelled right.

    Notes
    -----
    The threshold becomes `unknown_below_`, is saved with the model, and is dropped when the model changes. Models of
    folds are made by `fit`: class weights of `refit`, for instance, are not theirs.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> y = np.array(["B cell", "NK cell", "T cell"])[np.arange(90) % 3]
    >>> X = np.random.default_rng(0).poisson(np.where(y[:, None] == np.unique(y), 4.0, 1.0))
    >>> model = snb.SoftmaxRegression().fit(X, y)
    >>> table = model.choose_unknown_below(X, y, named=0.9)
    >>> table.columns.tolist(), 0.3 < model.unknown_below_ < 0.9
    (['right', 'named', 'unseen'], True)
    """
    check_is_fitted(self)
    check_unknown(self, "choose_unknown_below")
    if self.recalibrated_:
        raise ValueError(
            "the model was calibrated after its fit, and models of folds would not be; choose_unknown_below is for "
            "estimators that calibrate in fit, such as snb.LinearNBCV(calibration='sigmoid')"
        )
    named, pd = arguments.share("named", named), pandas_for("choose_unknown_below")
    options = RunOptions(progress, n_threads, memory_limit, client).fit_options
    rows = self._opened(X, y, sample_weight, labelled=True)
    if rows.lazy:
        raise TypeError("X is in Dask; give the Zarr store behind it, or rows in memory")
    labels = np.asarray(rows.whole_column(y, "y"))
    weight = np.ones(len(labels)) if sample_weight is None else rows.whole_column(sample_weight, "sample_weight")
    numbers = _folds(len(labels), folds, None if groups is None else rows.whole_column(groups, "groups"), seed)
    classes, codes = np.unique(labels, return_inverse=True)
    if len(other := np.setdiff1d(classes, self.classes_)):
        raise ValueError(f"y has {messages.listed(other)}, which the model does not know; give the rows of the fit")
    if len(lacking := np.setdiff1d(self.classes_, classes)):
        raise ValueError(f"y has no {messages.listed(lacking)}, which the model knows; give the rows of the fit")
    given, left_out = (X, labels, weight, options), _left_out_with(len(classes), folds, seed)
    right, probability = np.zeros(len(labels), bool), np.zeros(len(labels))
    tried, unknown = np.zeros((2, len(labels)), bool)  # by a model without the class, with a threshold of its own
    for fold in range(folds):
        held, unseen = numbers == fold, left_out[codes] == fold
        hits, best = _without(self, given, held, unseen & False)
        right[held], probability[held] = hits[held], best[held]
        if unseen.any():
            hits, best = _without(self, given, held, unseen)
            named_right = held & hits
            if named_right.any():
                below = _threshold(best[named_right], weight[named_right], named)
                tried[unseen], unknown[unseen] = True, best[unseen] < below
    self.unknown_below_ = _threshold(probability[right], weight[right], named)
    shares = {
        "right": _shares(right, np.ones(len(labels), bool), codes, weight),
        "named": _shares(probability >= self.unknown_below_, right, codes, weight),
        "unseen": _shares(unknown, tried, codes, weight),
    }
    return pd.DataFrame(shares, pd.Index(classes, name="class"))


def _without(
    estimator: Any, given: tuple[Any, ...], held: np.ndarray, unseen: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Fit a model without `held` rows and classes of `unseen` ones: which rows it labels right, and how surely."""
    X, labels, weight, options = given
    out = held | unseen
    trained = np.where(out, 0.0, weight)
    named = np.where(out, labels[np.argmin(out)], labels)  # some class that is trained: of others no row is left
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", messages.StreamnbWarning)
        try:
            model = clone(estimator).fit(X, named, trained, layer=estimator.layer_, **options)
        except ValueError as error:
            if not unseen.any():
                raise
            raise ValueError(
                f"no model can be fitted without the classes {messages.listed(np.unique(labels[unseen]))}: {error}. "
                "Parameters by class, such as priors, need all; give annotate a number, such as unknown_below=0.5"
            ) from error
    best = BestClasses(len(labels), len(model.classes_))
    model.predict_proba(X, out=best)
    return model.classes_[best.codes] == labels, best.probability


def check_unknown(model: Any, who: str) -> None:
    """Raise where no label can be "unknown": without probabilities, or with classes that are no strings."""
    if not hasattr(model, "predict_proba") or model.classes_.dtype.kind not in "UO":
        raise ValueError(f"{who} is for models with predict_proba and with classes that are strings")


def _folds(n_rows: int, folds: int, groups: Any, seed: int) -> np.ndarray:
    """The fold of each row; groups, if any, are spread evenly, as some folds may otherwise have none of a few."""
    of_rows, what = np.arange(n_rows), "rows"
    if groups is not None:
        row_checks.check_lengths(n_rows, len(groups), "groups")
        of_rows, what = np.unique(row_checks.check_labels(groups, "groups"), return_inverse=True)[1], "groups"
    if (n_groups := of_rows.max() + 1) < arguments.positive_integer("folds", folds, 2):
        raise ValueError(f"folds={folds} are more than the {n_groups} {what}; take fewer")
    return fold_numbers(n_groups, folds, seed=seed)[of_rows]


def _left_out_with(n_classes: int, folds: int, seed: int) -> np.ndarray:
    """The fold whose model does not know each class, (n_classes,); -1 where too few would be left."""
    if n_classes - -(-n_classes // folds) < LEAST_CLASSES:
        return np.full(n_classes, -1)
    return fold_numbers(n_classes, folds, seed=seed)


def _threshold(probability: np.ndarray, weight: np.ndarray, named: float) -> float:
    """The highest threshold that at least the share `named` of rows with these probabilities reaches."""
    if not len(probability):
        raise ValueError("no held-out row is labelled right, so that no threshold can be chosen; look at score(X, y)")
    falling = np.argsort(-probability)
    reached = np.cumsum(weight[falling])
    return float(probability[falling[min(np.searchsorted(reached, named * reached[-1]), len(falling) - 1)]])


def _shares(hit: np.ndarray, counts: np.ndarray, codes: np.ndarray, weight: np.ndarray) -> np.ndarray:
    """The share of hits in each class, (n_classes,), of the rows that count."""
    n, hits = (np.bincount(codes, np.where(rows, weight, 0.0)) for rows in (counts, counts & hit))
    return np.divide(hits, n, out=np.full(len(n), np.nan), where=n > 0.0)
