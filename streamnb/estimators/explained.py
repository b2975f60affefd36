"""Explains classifiers by feature."""

from __future__ import annotations

from typing import Any

from streamnb.core.arguments import Rows
from streamnb.estimators.preparation import names_of_columns
from streamnb.explaining.feature_tables import contrasting_features, contributions, strongest_features


def top_features(self: Any, n_features: int = 10) -> Any:
    """The strongest features of each class, as evidence for it or against it.

    Parameters
    ----------
    n_features : int
        The largest number of features per class; weights of 0 are not listed.

    Returns
    -------
    pandas.DataFrame
        With the columns "class", "feature" (its name or number) and "weight", class by class, largest absolute weight
        first. Numbers in units of their own are compared by "per_deviation", a further column: the weight times the
        standard deviation of the feature over the rows of the fit. Models of counts (multinomial and the like) do not
        know it. The weight is that of the feature in the score of the class minus its mean weight in the scores of the
        other classes, ``w_k - sum_{c != k} w_c / (K - 1)``; for two classes half of that, the weight in `coef_` or its
        opposite; for labels of a 2-D y, scheme="ovr" and "reference", that of the class against the rest or the
        reference. Where classes have their own variances or covariances, scores are quadratic, and the weight is the
        mean over other classes of ``ln(s_c / s_k) + (s_k^2 + (mu_k - mu_c)^2) / (2 s_c^2) - 1 / 2``: what the feature
        by itself adds on average to the log-odds of a row of the class (the divergence of Kullback and Leibler 1951).

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
    return strongest_features(self._explained(), names_of_columns(self), n_features)


def contrast(self: Any, class_: Any, against: Any, n_features: int = 10) -> Any:
    """The features that are evidence for one class against another, and for the other class.

    Parameters
    ----------
    class_, against : label
    n_features : int
        The largest number of features for each of the two.

    Returns
    -------
    pandas.DataFrame
        With the columns "class" (the class favoured), "feature" and "weight", which a unit of the feature adds to the
        score of `class_` minus that of `against`; first the features for `class_`, largest first, in the order and with
        the column "per_deviation" of `top_features`. Under scheme="ovo"
        weights are those of the pair. For quadratic scores they are the divergences of `top_features`, for rows of
        `class_` and then, with a minus, for rows of `against`.

    Raises
    ------
    ValueError
        A label is not a class, or scores are not sums over features.

    Examples
    --------
    >>> import numpy as np, streamnb as snb
    >>> X, y = np.array([[3.0, 0.0, 1.0], [0.0, 4.0, 1.0], [2.0, 1.0, 1.0]]), ["cat", "dog", "cat"]
    >>> snb.LinearNB().fit(X, y).contrast("dog", "cat", 1)[["class", "feature"]].values.tolist()
    [['dog', 1], ['cat', 0]]
    """
    return contrasting_features(self._explained(), names_of_columns(self), class_, against, n_features)


def explain(self: Any, X: Rows, class_: Any = None, against: Any = None) -> Any:
    """Explain the score of one row by the contribution of each of its features.

    Parameters
    ----------
    X : (1, n_features)
        One row, in any form that `predict` takes.
    class_ : label, optional
        The class whose score is explained; by default the one with the highest score.
    against : label, optional
        Explain the score of `class_` minus that of this class. Under scheme="ovo" the score of the pair, by default
        with the class of the second highest score.

    Returns
    -------
    pandas.DataFrame
        With the columns "feature", "value" (after transform, normalisation and idf), "weight" and "contribution", the
        product of the two; "(intercept)" first, then the largest absolute contributions. They add up to
        ``attrs["score"]``, the score of ``attrs["class"]`` in `decision_function`, which for two classes is that of
        `classes_[1]`. For quadratic scores the column "mean", of the class, replaces "weight", and contributions are
        ``-d_j (Sigma^-1 d)_j / 2``, d = x - mean: parts of the Mahalanobis distance (Garthwaite and Koch 2016). Log
        determinants are part of the intercept.

    Raises
    ------
    ValueError
        There are several rows, a label is not a class, or scores are not sums over features.

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
    return contributions(model, names_of_columns(self), rows, class_, against)
