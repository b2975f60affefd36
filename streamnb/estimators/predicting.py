"""Labels, probabilities and accuracy of rows of any kind: what every classifier has that says which model is its."""

from typing import Any

from sklearn.base import ClassifierMixin
from sklearn.utils.metaestimators import available_if

from streamnb.core.types import PerRow, Rows
from streamnb.models.linear import LinearModel
from streamnb.rows.source import Source


def _has_probabilities(estimator: "RowClassifier") -> bool:
    return estimator._gives_probabilities()


class RowClassifier(ClassifierMixin):
    """A classifier that decides by one model: a subclass says by which."""

    def _ready(self, X: Any, *beside: Any, labelled: bool = False) -> tuple[LinearModel, Source]:
        """The model, and the rows with their labels and weights, if these go with it."""
        raise NotImplementedError

    def _gives_probabilities(self) -> bool:
        return True

    def predict(self, X: Rows, *, out: Any = None) -> Any:
        """Labels, (n_rows,), or of a 2-D y a 0/1 indicator.

        The answer is of the kind of X: NumPy, or lazy Dask for Dask; `out` takes blocks.
        """
        model, rows = self._ready(X)
        return model.predict(rows, out=out)

    @available_if(_has_probabilities)
    def predict_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Class probabilities, (n_rows, K); of a 2-D y those of each label."""
        model, rows = self._ready(X)
        return model.predict_proba(rows, out=out)

    @available_if(_has_probabilities)
    def predict_log_proba(self, X: Rows, *, out: Any = None) -> Any:
        """Logs of the class probabilities, (n_rows, K)."""
        model, rows = self._ready(X)
        return model.predict_log_proba(rows, out=out)

    def score(self, X: Rows, y: PerRow = None, sample_weight: PerRow = None) -> float:
        """Accuracy; y may also be the name of an array beside X or of a column of X, as in `fit`."""
        model, rows = self._ready(X, y, sample_weight, labelled=True)
        return model.score(rows)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


def model_and_rows(estimator: RowClassifier, X: Any, *beside: Any, labelled: bool = True) -> tuple[LinearModel, Source]:
    """The model of a fitted classifier, and rows that go with it; `beside` are their labels and weights."""
    return estimator._ready(X, *beside, labelled=labelled)
