"""Generalized naive Bayes: naive Bayes on bins, corrected for evidence that features share."""

from __future__ import annotations

from typing import Any

from streamnb.core import persistence
from streamnb.estimators.bins import Bins
from streamnb.estimators.preparation import StepRequest
from streamnb.estimators.trained import TrainedClassifier, learner_of
from streamnb.training.generalized import CorrectionsMethod
from streamnb.training.learner import Learner
from streamnb.training.objectives import softmax_of


@persistence.register
class GeneralizedNB(TrainedClassifier):
    r"""Naive Bayes on bins of each feature, with jointly trained corrections (Larsen 2005).

    The score of class k is

        ln P_k + c_k + sum_j ln p(bin of x_j | k) + b_{jk}(bin of x_j),

    where the first and third term are those of naive Bayes, and the corrections b and c minimise

        sum_i w_i (-ln p(y_i | x_i)) + l2 / 2 (\|b\|^2 + \|c\|^2),   where sum_i w_i b_{jk}(bin of x_ij) = 0.

    For large l2 this is naive Bayes; as l2 falls to 0 it becomes additive logistic regression, in which a duplicated
    feature counts once. One pass learns the bins, one sums them, and each further read makes a step.

    Parameters
    ----------
    l2 : float
        Strength of the penalty, 0 or above.
    bins : int or Bins
        Bins of each feature: a number of quantiles, or a `Bins` to learn them. Quantiles count rows, not their weights.
    smoothing : float
        Added to the weight of each bin in each class, above 0.
    tol, max_passes, class_weight
        As for `SoftmaxRegression`.

    Attributes
    ----------
    coef_ : (1, n_columns) for two classes; else (K, n_columns), naive Bayes plus corrections, one column per bin
    column_names_ : (n_columns,) such as "x3 in (509, 733]"
    classes_, intercept_, n_passes_, converged_, history_, report_, n_features_in_, feature_names_in_
        As of `SoftmaxRegression`; the first read is that of naive Bayes itself.

    Notes
    -----
    For a 2-D y, each label has the log-odds of its rows against all others, with its own corrections.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> model = snb.GeneralizedNB(l2=0.1, bins=4, tol=0.01).fit(X, y)
    >>> model.score(X, y) > 0.95
    True
    """

    def __init__(
        self,
        l2: float = 1.0,
        bins: Any = 16,
        *,
        smoothing: float = 1.0,
        tol: float = 1e-4,
        max_passes: int = 50,
        class_weight: Any = None,
    ):
        self.l2, self.bins, self.smoothing = l2, bins, smoothing
        self.tol, self.max_passes, self.class_weight = tol, max_passes, class_weight

    def _learner(self) -> Learner:
        return learner_of(self, CorrectionsMethod(softmax_of, self.smoothing))

    def _step_request(self) -> StepRequest:
        return StepRequest(type(self).__name__, self.bins if isinstance(self.bins, Bins) else Bins(self.bins))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags
