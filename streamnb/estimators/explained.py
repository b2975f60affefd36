"""What a classifier says of itself: telling features, two classes beside each other, one row."""

from __future__ import annotations

from typing import Any

from streamnb.core.types import Rows
from streamnb.estimators.preparation import names_of_columns
from streamnb.explaining import feature_tables, normals
from streamnb.models.linear import LinearModel


def top_features(self: Any, n_features: int = 10) -> Any:
    """The features that matter most for each class, whether they speak for it or against it.

    Parameters
    ----------
    n_features : int
        How many of each class, at most; those of weight 0 are not listed.

    Returns
    -------
    pandas.DataFrame
        With the columns "class", "feature" (its name, or its number) and "weight", a class after the other, the
        largest absolute weight first. The weight is that of a unit of the feature in the score of the class less
        the mean of those in the scores of the other classes, ``w_k - sum_{c != k} w_c / (K - 1)``; for two classes
        half of that, the one of `coef_` or its opposite; for labels of a 2-D y and for scheme="ovr" and
        "reference" that of the class against the rest or the reference. Where classes have variances or
        covariances of their own, scores are quadratic, and a weight is how far the feature by itself lies from
        that of other classes on average, ``ln(s_c / s_k) + (s_k^2 + (mu_k - mu_c)^2) / (2 s_c^2) - 1 / 2``: what it
        adds to the log-odds of a row of the class, in the mean (the divergence of Kullback and Leibler 1951).

    Raises
    ------
    ValueError
        Scores are not sums over features, or scheme="ovo", whose weights are of pairs of classes.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X, y = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 1.0, 1.0]]), ["cat", "dog", "cat"]
    >>> snb.LinearNB().fit(X, y).top_features(1)[["class", "feature"]].values.tolist()
    [['cat', 0], ['dog', 0]]
    """
    model = self._explained()
    return _kind(model).strongest_features(model, names_of_columns(self), n_features)


def contrast(self: Any, class_: Any, against: Any, n_features: int = 10) -> Any:
    """The features that speak for one class against another, and those that speak for the other.

    Parameters
    ----------
    class_, against : label
    n_features : int
        How many of each, at most.

    Returns
    -------
    pandas.DataFrame
        With the columns "class" (for which the feature speaks), "feature" and "weight", what a unit of it adds to
        the score of `class_` less that of `against`; first those of `class_`, the largest first. Under
        scheme="ovo" weights are those of the pair. Of quadratic scores the divergences of `top_features`, of rows
        of `class_`, and then, with a minus, of rows of `against`.

    Raises
    ------
    ValueError
        A label is none of the classes, or scores are not sums over features.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X, y = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 1.0, 1.0]]), ["cat", "dog", "cat"]
    >>> snb.LinearNB().fit(X, y).contrast("dog", "cat", 1)[["class", "feature"]].values.tolist()
    [['dog', 1], ['cat', 0]]
    """
    model = self._explained()
    return _kind(model).contrasting_features(model, names_of_columns(self), class_, against, n_features)


def explain(self: Any, X: Rows, class_: Any = None, against: Any = None) -> Any:
    """What made the score of one row: how much each of its features adds to it.

    Parameters
    ----------
    X : (1, n_features)
        One row, in any form that `predict` takes.
    class_ : label, optional
        Whose score; by default the class of the highest one.
    against : label, optional
        Explain the score of `class_` less that of this class. Under scheme="ovo" their pair; the second choice by
        default.

    Returns
    -------
    pandas.DataFrame
        With the columns "feature", "value" (what the weight is multiplied by: after transform, normalisation and
        idf), "weight" and "contribution", their product; "(intercept)" first, then the largest absolute
        contributions. They add up to ``attrs["score"]``, the score of ``attrs["class"]`` as `decision_function`
        has it; `decision_function` of two classes has that of `classes_[1]`. Of quadratic scores "mean", that of
        the class, stands in place of "weight", and contributions are ``-d_j (Sigma^-1 d)_j / 2``, d = x - mean:
        the parts of Mahalanobis' distance (Garthwaite and Koch 2016); logs of determinants are in the intercept.

    Raises
    ------
    ValueError
        Several rows, a label that is none of the classes, or scores that are not sums over features.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X, y = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 1.0, 1.0]]), ["cat", "dog", "cat"]
    >>> found = snb.LinearNB().fit(X, y).explain([[0.0, 2.0, 0.0]])
    >>> found["feature"].tolist(), found.attrs["class"]
    (['(intercept)', 1], 'dog')
    """
    self._explained()
    model, rows = self._ready(X)
    return _kind(model).contributions(model, names_of_columns(self), rows, class_, against)


def _kind(model: LinearModel) -> Any:
    """The module that explains such scores."""
    return feature_tables if normals.normals_of(model) is None else normals
