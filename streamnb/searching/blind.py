"""What a search judges where nobody says what: candidates that suit such rows, as far as these tell."""

from typing import Any

from streamnb.estimators.label_space import LabelSpaceCV
from streamnb.estimators.linear_nb import LinearNB
from streamnb.estimators.stacked_nb import StackedNB
from streamnb.estimators.trained_cv_models import MarginClassifierCV, SoftmaxRegressionCV
from streamnb.problem.families import Gaussian
from streamnb.rows.in_tables import TableSource
from streamnb.rows.source import Source
from streamnb.searching.axes import DEFAULTS
from streamnb.searching.encodings import Encoded

FEW_FEATURES = 300  # whose products of two take little beside reading
WIDE = 4096  # features, which dense rows seldom have
FEW_READS = 10  # that texts need
FEW_VALUES = 0.5  # of those that dense rows have
TF_IDF: dict[str, Any] = {"transform": "log1p", "idf": True, "normalize": "l2"}


def usual_for(encoded: Encoded) -> tuple[list[Any], list[Any]]:
    """Families and models."""
    families, rows = DEFAULTS["families"], encoded.rows
    y = encoded.given[1]
    if len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1:  # labels, which borrow from each other
        return _for_labels(rows)
    if isinstance(rows, TableSource):
        return ["auto"], [SoftmaxRegressionCV()]
    if is_sparse(rows):
        return families, [MarginClassifierCV(**TF_IDF), SoftmaxRegressionCV(**TF_IDF)]
    if rows.n_features is not None and rows.n_features <= FEW_FEATURES:
        families = [*families, Gaussian(covariance="full", shrinkage="auto")]
    return families, [SoftmaxRegressionCV()]


def _for_labels(rows: Source) -> tuple[list[Any], list[Any]]:
    """The same for an indicator of labels: each by itself, and models of all together."""
    if is_sparse(rows):
        text = LinearNB(**TF_IDF)
        space = LabelSpaceCV(solver="conjugate_gradients", max_passes=FEW_READS, **TF_IDF)
        return ["multinomial", "bernoulli"], [space, StackedNB([text, "bernoulli"])]
    solver = "products" if rows.n_features is not None and rows.n_features <= WIDE else "conjugate_gradients"
    return DEFAULTS["families"], [LabelSpaceCV(solver=solver), StackedNB(["gaussian", "bernoulli"])]


def is_sparse(rows: Source) -> bool:
    """Whether most values of the rows are not stored; rows that do not tell are dense unless they are wide."""
    if rows.n_values is None or not rows.n_rows or not rows.n_features:
        return rows.n_features is not None and rows.n_features > WIDE
    return rows.n_values < FEW_VALUES * rows.n_rows * rows.n_features
