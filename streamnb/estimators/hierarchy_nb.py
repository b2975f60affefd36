"""Naive Bayes of a hierarchy of labels, with all levels from the class sums of one scan."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, ClassVar

import numpy as np

from streamnb.core import arguments, persistence
from streamnb.estimators import class_sets
from streamnb.estimators.learned import learned
from streamnb.estimators.linear_nb import LinearNB
from streamnb.models.linear import LinearModel
from streamnb.models.nested import NestedModel
from streamnb.problem.hierarchy import Nested, check_hierarchy, nested
from streamnb.problem.penalties import Penalty


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
        Labels that do not occur in it have no parents.
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

    _fixed: ClassVar = class_sets.FIXED
    _takes_indicator = False
    _model_of_sets = class_sets.model_of_sets
    _predictive = class_sets.predictive
    __sklearn_tags__ = class_sets.sklearn_tags
    _indicator_advice = (
        "the lowest that is known of it. Where rows bear several, give snb.LinearNB an indicator with a 1 for each "
        "label above, too"
    )

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
        self.hierarchy, self.family, self.penalty = hierarchy, family, penalty
        self.smoothing, self.binarize = smoothing, binarize
        self.transform, self.normalize, self.idf, self.estimate = transform, normalize, idf, estimate

    def _check_params(self) -> None:
        check_hierarchy(self.hierarchy)
        super()._check_params()
        class_sets.check_family(self)

    @learned
    def _nested(self) -> tuple[np.ndarray, np.ndarray]:
        return nested(check_hierarchy(self.hierarchy), self.classes_)

    @learned
    def labels_(self) -> np.ndarray:
        """All labels, (L,)."""
        return self._nested[0]

    def _solved(self) -> LinearModel:
        labels, follows = self._now("_nested")
        model = self._model_of_sets(follows[:, np.searchsorted(labels, self.classes_)], labels)
        parts = {part.name: getattr(model, part.name) for part in fields(LinearModel)}
        return NestedModel(**parts | {"classes_": labels, "scheme": Nested(follows)})

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
        raise ValueError("calibrate is of one label a row or of an indicator, and labels of HierarchyNB follow")
