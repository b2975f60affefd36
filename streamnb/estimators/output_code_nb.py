"""Naive Bayes of error-correcting output codes, with all bits from the class sums of one scan."""

from __future__ import annotations

from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.estimators import class_sets
from streamnb.estimators.learned import learned
from streamnb.estimators.linear_nb import LinearNB
from streamnb.models.linear import LinearModel
from streamnb.problem.output_codes import check_code, random_code
from streamnb.problem.penalties import Penalty
from streamnb.problem.schemes import TwoClasses, as_scheme


@persistence.register
class OutputCodeNB(LinearNB):
    """Error-correcting output codes (Dietterich and Bakiri 1995) over naive linear Bayes, fitted in one scan.

    Each class has a code word. Each bit is a two-class problem, the classes whose words have the bit against all
    others. Its sums are sums of class sums, so that all bits come from the same scan. With p_b the probability of bit
    b, the predicted class is the one whose word w maximises ``sum_b [w_b ln p_b + (1 - w_b) ln(1 - p_b)]`` (loss-based
    decoding, Allwein, Schapire and Singer 2000). As ``ln p - ln(1 - p)`` is the margin, which is linear, these scores
    are linear up to a term common to all classes: ``coef_ = code_ @ weights of the bits``.

    Parameters
    ----------
    family, penalty, smoothing, binarize, transform, normalize, idf, estimate
        As of `LinearNB`; the penalty acts on the weights of each bit.
    code_size : float
        Bits per class, such as 1.5. Of several random codes, the one with the largest minimum distance is kept.
    code : (K, n_bits) of 0 and 1, optional
        Words in the order of `classes_`, in place of random ones.
    seed : int
        Seed of the random words.

    Attributes
    ----------
    code_ : (K, n_bits) bool
    coef_ : (1, n_features) for two classes; else (K, n_features)
    classes_, intercept_, stats_, report_, n_features_in_, feature_names_in_
        As of `LinearNB`.

    Notes
    -----
    scikit-learn's OutputCodeClassifier reads the rows once for each bit, and takes the nearest word by the distance of
    probabilities.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_digits
    >>> X, y = load_digits(return_X_y=True)
    >>> model = snb.OutputCodeNB("bernoulli", code_size=6, binarize=7).fit(X, y)
    >>> model.code_.shape, model.score(X, y) > 0.8
    ((10, 60), True)
    """

    _fixed: ClassVar = class_sets.FIXED
    _takes_indicator = False
    _model_of_sets = class_sets.model_of_sets
    _predictive = class_sets.predictive
    __sklearn_tags__ = class_sets.sklearn_tags

    def __init__(
        self,
        family: Any = "multinomial",
        penalty: Penalty | None = None,
        *,
        code_size: float = 1.5,
        code: Any = None,
        seed: int = 0,
        smoothing: Any = 1.0,
        binarize: float = 0.0,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        estimate: str = "posterior_mean",
    ):
        self.family, self.penalty = family, penalty
        self.code_size, self.code, self.seed = code_size, code, seed
        self.smoothing, self.binarize = smoothing, binarize
        self.transform, self.normalize, self.idf, self.estimate = transform, normalize, idf, estimate

    def _check_params(self) -> None:
        super()._check_params()
        class_sets.check_family(self)
        arguments.number_above_0("code_size", self.code_size, "bits for each class")
        arguments.whole_number("seed", self.seed)

    @learned
    def code_(self) -> np.ndarray:
        """The word of each class, (K, n_bits) bool."""
        n_classes = len(self.classes_)
        if self.code is None:
            return random_code(n_classes, self.code_size, self.seed)
        return check_code(self.code, n_classes)

    def _check_loaded(self, state: dict[str, Any]) -> None:
        super()._check_loaded(state)
        if self.code is not None:
            check_code(self.code, len(self.classes_))

    def _solved(self) -> LinearModel:
        words, stats = self._now("code_"), self._weighted
        bits = self._model_of_sets(words.T)
        weights, intercept = bits.weights @ words.T, bits.intercept_ @ words.T
        intercept = np.where(stats.weight > 0.0, intercept, -np.inf)
        scheme = as_scheme("joint", stats.classes)
        if isinstance(scheme, TwoClasses):
            weights, intercept = weights[:, 1:] - weights[:, :1], intercept[1:] - intercept[:1]
        weights = np.ascontiguousarray(weights)
        return replace(bits, classes_=stats.classes, weights=weights, intercept_=intercept, scheme=scheme)
