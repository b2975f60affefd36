"""Naive Bayes of sets of classes, each against the rest, from the class sums of one scan.

The sets are the labels of a hierarchy, or the bits of error-correcting output codes.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any, ClassVar

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.estimators.linear_nb import LinearNB
from streamnb.estimators.parameters import keeps_parameters, learned, number_above_0
from streamnb.models.linear import LinearModel
from streamnb.models.on_demand import UnheldModel
from streamnb.problem.families import as_family
from streamnb.problem.penalties import Penalty
from streamnb.problem.schemes import Nested, TwoClasses, as_scheme, check_code, check_hierarchy, nested, random_code
from streamnb.stats.class_stats import ClassStats
from streamnb.stats.complements import unions

FIXED = {"scheme": "joint", "reference": None, "overlap": "refuse"}  # parameters that these models lack
FIXED |= dict.fromkeys(("priors", "feature_weight", "loss", "threshold", "reject_label"))


def check_family(estimator: Any) -> None:
    """Raise for families with covariances."""
    if any(member.covariant for member in as_family(estimator.family).members):
        raise ValueError(
            f"family={estimator.family!r} has covariances, which sums of classes do not have; "
            f"{type(estimator).__name__} takes families of features one by one"
        )


def model_of_sets(
    solve: Callable[[ClassStats], LinearModel], stats: ClassStats, members: np.ndarray, names: np.ndarray | None = None
) -> LinearModel:
    """Weights of each set, (n_features, n_sets), `members` (n_sets, K) bool, and its intercept."""
    of_sets = unions(stats, members)
    model = solve(of_sets if names is None else replace(of_sets, classes=names))
    if isinstance(model, UnheldModel):
        raise MemoryError(
            f"the weights of {len(members):,} sets of classes and {stats.n_features:,} features do not fit "
            "into memory_limit; give a larger one, fewer sets, or fewer features"
        )
    return model


@persistence.register
class HierarchyNB(LinearNB):
    """Naive Bayes of hierarchical labels, each against the rows without it, fitted in one scan.

    Each row has one label, the lowest one known, which implies all labels above it. The sums of a label are those of
    the labels below it, so that all levels come from the same scan; each label has its own weights under the penalty.
    `predict` adds the ancestors of each label with a positive score, and a label is at least as probable as each label
    below it.

    Parameters
    ----------
    hierarchy : {label: parent, or list of parents}
        Labels missing from it have no parents.
    family, penalty, smoothing, binarize, transform, normalize, idf, estimate
        As of `LinearNB`.

    Attributes
    ----------
    labels_ : (L,)
        All labels of the rows and of the hierarchy, sorted; the columns of `predict`.
    coef_ : (L, n_features)
    classes_ : (K,) labels of the rows
    intercept_, stats_, report_, n_features_in_, feature_names_in_
        As of `LinearNB`.

    Examples
    --------
    >>> import streamnb as snb
    >>> X = [[3, 0, 0], [2, 1, 0], [0, 3, 0], [0, 2, 1], [0, 0, 3], [1, 0, 4]]
    >>> y = ["cat", "cat", "dog", "dog", "oak", "oak"]
    >>> above = {"cat": "animal", "dog": "animal", "oak": "plant"}
    >>> model = snb.HierarchyNB(above).fit(X, y)
    >>> [model.labels_[row > 0].tolist() for row in model.predict([[4, 0, 0], [0, 0, 2]])]
    [['animal', 'cat'], ['oak', 'plant']]
    """

    _fixed: ClassVar = FIXED
    _takes_indicator = False
    _indicator_advice = (
        "the lowest that is known of it. Where rows bear several, give snb.LinearNB an indicator with a 1 for each "
        "label above, too"
    )

    @keeps_parameters
    def __init__(
        self,
        hierarchy: Any,
        family: Any = "multinomial",
        penalty: Penalty | None = None,
        *,
        smoothing: Any = 1.0,
        binarize: float = 0.0,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        estimate: str = "posterior_mean",
    ):
        pass

    def _check_params(self) -> None:
        check_hierarchy(self.hierarchy)
        super()._check_params()
        check_family(self)

    @learned
    def _nested(self) -> tuple[np.ndarray, np.ndarray]:
        return nested(check_hierarchy(self.hierarchy), self.classes_)

    @learned
    def labels_(self) -> np.ndarray:
        """All labels, (L,)."""
        return self._nested[0]

    @learned
    def _model(self) -> LinearModel:
        labels, follows = self._now("_nested")
        model = model_of_sets(self._solve, self._weighted, follows[:, np.searchsorted(labels, self.classes_)], labels)
        return replace(model, classes_=labels, scheme=Nested(follows))

    def _predictive(self) -> LinearModel:
        name = type(self).__name__
        raise ValueError(f"predictive=True needs one distribution per class; leave it out for {name}")

    def _portable(self) -> Any:
        raise ValueError("labels that follow from others are in no such file; save(path) keeps them")

    def _check_loaded(self, state: dict[str, Any]) -> None:
        super()._check_loaded(state)
        self._now("_nested")

    def _to_state(self) -> dict[str, Any]:
        return {**super()._to_state(), "model": None}  # follows from the statistics

    def calibrate(self, X: Any, y: Any = None, sample_weight: Any = None, *, method: str = "sigmoid") -> Any:
        """Not defined, as rows would need all of their labels."""
        arguments.one_of("method", method, ["sigmoid", "isotonic"])
        raise ValueError("calibrate needs one label a row or an indicator, and HierarchyNB derives further labels")


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

    _checks: ClassVar = {
        **LinearNB._checks,
        "code_size": number_above_0("bits for each class"),
        "seed": arguments.whole_number,
    }
    _fixed: ClassVar = FIXED
    _takes_indicator = False
    _predictive = HierarchyNB._predictive

    @keeps_parameters
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
        pass

    def _check_params(self) -> None:
        super()._check_params()
        check_family(self)

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

    @learned
    def _model(self) -> LinearModel:
        words, stats = self._now("code_"), self._weighted
        bits = model_of_sets(self._solve, self._weighted, words.T)
        known = np.isfinite(bits.intercept_)  # other bits are the same for all classes that have rows
        weights, intercept = bits.weights @ words.T, np.where(known, bits.intercept_, 0.0) @ words.T
        intercept = np.where(stats.weight > 0.0, intercept, -np.inf)
        scheme = as_scheme("joint", stats.classes)
        if isinstance(scheme, TwoClasses):
            weights, intercept = weights[:, 1:] - weights[:, :1], intercept[1:] - intercept[:1]
        weights = np.ascontiguousarray(weights)
        return replace(bits, classes_=stats.classes, weights=weights, intercept_=intercept, scheme=scheme)
