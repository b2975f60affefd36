"""What a search judges where nobody says what: candidates that suit such rows, as far as these tell."""

from typing import Any

from streamnb.estimators.trained_cv_models import MarginClassifierCV, SoftmaxRegressionCV
from streamnb.problem.families import Gaussian
from streamnb.rows.in_tables import TableSource
from streamnb.rows.source import Source
from streamnb.searching.axes import DEFAULTS
from streamnb.searching.encodings import Encoded

FEW_FEATURES = 300  # whose products of two take little beside reading
WIDE = 4096  # features, which dense rows seldom have
FEW_VALUES = 0.5  # of those that dense rows have
TF_IDF: dict[str, Any] = {"transform": "log1p", "idf": True, "normalize": "l2"}


def usual_for(encoded: Encoded) -> tuple[list[Any], list[Any]]:
    """Families and models."""
    families, rows = DEFAULTS["families"], encoded.rows
    if isinstance(rows, TableSource):
        return ["auto"], [SoftmaxRegressionCV()]
    if is_sparse(rows):
        return families, [MarginClassifierCV(**TF_IDF), SoftmaxRegressionCV(**TF_IDF)]
    if rows.n_features is not None and rows.n_features <= FEW_FEATURES:
        families = [*families, Gaussian(covariance="full", shrinkage="auto")]
    return families, [SoftmaxRegressionCV()]


def is_sparse(rows: Source) -> bool:
    """Whether most values of the rows are not stored; rows that do not tell are dense unless they are wide."""
    if rows.n_values is None or not rows.n_rows or not rows.n_features:
        return rows.n_features is not None and rows.n_features > WIDE
    return rows.n_values < FEW_VALUES * rows.n_rows * rows.n_features
