"""The terms of an additive classifier: as tables, as scores that may be edited, and by what they add to rows."""

from __future__ import annotations

from collections.abc import Callable, Iterator, MutableMapping
from typing import Any

import numpy as np

from streamnb.core import arguments
from streamnb.core.arguments import Rows
from streamnb.explaining.terms import contributions_of_terms, names_of_terms, term_of, term_table
from streamnb.models.additive import cells_of


class TermScores(MutableMapping[Any, np.ndarray]):
    """The scores of terms by name, or by a pair of names; an array that is written back changes the model.

    Parameters
    ----------
    parts : callable
        Returns the encoding, the columns, the model and the tables of the terms.
    write : callable
        Replaces the scores of a term, given its number.
    """

    def __init__(self, parts: Callable[[], Any], write: Callable[[int, np.ndarray], None]):
        self._parts, self._write = parts, write

    def __getitem__(self, name: Any) -> np.ndarray:
        _, columns, model, _ = self._parts()
        grid = self._grid(name)
        table = cells_of(columns, model.weights, grid)
        table = table[:, 0] if columns.features[grid, 1] < 0 else table
        table.flags.writeable = False  # an array changed in place would not change the model
        return table

    def __setitem__(self, name: Any, scores: Any) -> None:
        before, given = self[name], np.asarray(arguments.as_array("scores", scores), np.float64)
        if given.shape != before.shape or not np.isfinite(given).all():
            what = f"values of shape {given.shape}" if given.shape != before.shape else "values that are not finite"
            raise ValueError(f"term_scores_[{name!r}] is set to {what}; they should be finite, of shape {before.shape}")
        self._write(self._grid(name), given)

    def __delitem__(self, name: Any) -> None:
        raise TypeError("a term cannot be deleted; set it to zeros: term_scores_[name] = 0 * term_scores_[name]")

    def __iter__(self) -> Iterator[Any]:
        _, columns, _, tables = self._parts()
        return iter(names_of_terms(columns, tables.features))

    def __len__(self) -> int:
        return len(self._parts()[1].features)

    def _grid(self, name: Any) -> int:
        _, columns, _, tables = self._parts()
        try:
            return term_of(columns, tables.features, name)
        except ValueError as error:
            raise KeyError(str(error)) from None  # so that `in` and `get` work


def term(self: Any, *features: Any) -> Any:
    """A term as a table.

    Parameters
    ----------
    features : str or int
        A name from `terms_`: of a feature, or of a pair, whose two names may also be given one after the other.

    Returns
    -------
    pandas.DataFrame
        A row for each step: "lower" and "upper", the ends of a bin of a number (NaN for missing values), or "level"
        (None for missing values, "rare" for rare ones); of a pair, of both features, with the names before them. There
        the less frequent levels of a feature are together as "others". Then "score" (with more than two classes one
        column for each, such as "score A"), "std", the standard deviation over the models without each fold, and
        "count", the weight of the training rows.

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
    return term_table(encoding, columns, model, tables, term_of(columns, tables.features, name))


def contributions(self: Any, X: Rows, *, out: Any = None) -> Any:
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
