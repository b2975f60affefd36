"""The default candidates of a search, by the kind of rows."""

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.estimators.additive import AdditiveClassifier
from streamnb.estimators.least_squares import LabelSpaceCV
from streamnb.estimators.linear_nb import LinearNB
from streamnb.estimators.stacked_nb import StackedNB
from streamnb.estimators.trained_models import MarginClassifierCV, SoftmaxRegressionCV
from streamnb.problem.families import Gaussian
from streamnb.rows.preparing import QUANTILE_NORMAL
from streamnb.rows.raw import TableSource, TextSource
from streamnb.rows.source import Source
from streamnb.searching.axes import DEFAULTS
from streamnb.searching.encodings import Encoded

FEW_FEATURES = 300  # products of feature pairs cost little compared with reading
FEW_CURVES = 50  # dense columns, of each of which an additive model takes longer than others
WIDE = 4096  # features; dense rows seldom have more
FEW_READS = 10  # enough for texts
MANY_READS = 100  # of few columns, where a small l2 converges late
FEW_VALUES = 0.5  # share of stored values below which rows are sparse
L2 = [30.0, 10.0, 3.0, 1.0, 0.3, 0.1]
L2_OF_VALUES, L2_OF_INDICATORS = [1.0], [10.0, 1.0]
L2_OF_DEVIATIONS = [1000.0, 100.0, 30.0, 10.0, 3.0, 1.0, 0.1, 0.01]  # for columns divided by standard deviations
L2_OF_TF_IDF = [0.1, 0.03]  # for rows of length 1
L2_OF_DIRECTIONS = [1.0, 0.3, 0.1, 0.03, 0.01]  # for dense rows of length 1
TF_IDF: dict[str, Any] = {"transform": "log1p", "idf": True, "normalize": "l2"}
SCORING = ["overall", "accuracy", "roc_auc", "neg_log_loss"]
OF_DECISIONS = ["accuracy_and_roc_auc", "accuracy", "roc_auc"]  # where probabilities are rough before calibration

Axes = dict[str, list[Any]]
PREPARED: Axes = {"transforms": ["log1p"], "idf": [True], "normalize": ["l2"]}  # tf-idf, as axes of a search
OF_COUNTS: list[Axes] = [  # a pseudo-count of 1 on rare words would drown the counts of small classes
    {"families": ["multinomial", "bernoulli"], "smoothing": [0.01], "penalties": [None]},
    {"families": ["multinomial"], "smoothing": [0.1], "penalties": [None], **PREPARED},
]


def default_candidates(encoded: Encoded) -> tuple[list[Axes], list[Any]]:
    """The default axes of naive Bayes, and the default models, for rows of this kind."""
    families, rows = DEFAULTS["families"], encoded.rows
    few = isinstance(rows, TableSource) or has_few_features(rows)
    standardized = SoftmaxRegressionCV(L2_OF_DEVIATIONS, max_passes=MANY_READS if few else 30, standardize=True)
    y = encoded.given[1]
    if len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1:  # multi-label: labels inform each other
        return _for_labels(encoded)
    additive = [] if encoded.options or encoded.transform is not None else [AdditiveClassifier()]
    if isinstance(rows, TableSource):
        plain = encoded.options.get("bins", True) is None
        softmax = standardized if plain else SoftmaxRegressionCV(L2, max_passes=30)
        return [{"families": ["auto"]}], [softmax, *additive]
    if is_sparse(rows):
        softmax = SoftmaxRegressionCV(L2_OF_TF_IDF, max_passes=20, **TF_IDF)
        l2 = L2_OF_INDICATORS if is_like_indicators(rows) else L2_OF_VALUES
        as_given = [] if are_counts(encoded) else [SoftmaxRegressionCV(l2, max_passes=20)]
        return OF_COUNTS, [softmax, *as_given]
    models = [standardized]
    if rows.n_features is not None and rows.n_features <= FEW_CURVES:
        models += additive
    elif encoded.transform is None:  # pixels and embeddings: the direction of a row says more than its length
        models.append(SoftmaxRegressionCV(L2_OF_DIRECTIONS, max_passes=30, normalize="l2"))
    if has_few_features(rows):
        full = Gaussian(covariance="full", shrinkage="auto")
        families = ["gaussian", full] if encoded.transform == QUANTILE_NORMAL else [*families, full]
    return [{"families": families}], models


def scoring_of(given: Any, y: Any, schemes: Any, named: Iterable[Any], usual: Sequence[Encoded]) -> Any:
    """The scorings as given; by default the first judges probabilities as well, unless a candidate has none.

    Those of margins, and of naive Bayes on sparse rows, are rough before calibration. Candidates are the `named`
    estimators, and the default ones for `usual` rows.
    """
    if given is not None:
        return given
    labels = len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1
    estimators = [*named, *(model for one in usual for model in default_candidates(one)[1])]
    margins = any(isinstance(one, MarginClassifierCV) or not hasattr(one, "predict_proba") for one in estimators)
    sparse = bool(usual) and not isinstance(usual[0].rows, TableSource) and is_sparse(usual[0].rows)
    return OF_DECISIONS if labels or margins or sparse or "ovo" in schemes else SCORING


def default_transforms(encoded: Encoded) -> list[Any]:
    """The default transforms that are learned from rows: the quantile-normal map for few features."""
    rows = encoded.rows
    as_given = rows.encoding is None and not is_sparse(rows)
    return [QUANTILE_NORMAL] if as_given and has_few_features(rows) else []


def has_few_features(rows: Source) -> bool:
    """Whether a covariance of all features is cheap."""
    return rows.n_features is not None and rows.n_features <= FEW_FEATURES


def _for_labels(encoded: Encoded) -> tuple[list[Axes], list[Any]]:
    """The default candidates for multi-label rows: models of each label alone, and of all labels together."""
    rows = encoded.rows
    if encoded.transform == QUANTILE_NORMAL:
        return [{"families": ["gaussian"]}], []
    if is_sparse(rows):
        text = LinearNB(**TF_IDF)
        space = LabelSpaceCV(solver="conjugate_gradients", max_passes=FEW_READS, **TF_IDF)
        return [{"families": ["multinomial", "bernoulli"]}], [space, StackedNB([text, "bernoulli"])]
    solver = "products" if rows.n_features is not None and rows.n_features <= WIDE else "conjugate_gradients"
    models = [LabelSpaceCV(solver=solver), StackedNB(["gaussian", "bernoulli"])]
    return [{"families": DEFAULTS["families"]}], models


def are_counts(encoded: Encoded) -> bool:
    """Whether sparse rows are of texts, or in memory and whole numbers above 1 among them: tf-idf suits them better."""
    if isinstance(encoded.rows, TextSource):
        return True
    values = encoded.given[0].tocsr().data if sp.issparse(encoded.given[0]) else np.zeros(0)
    return bool(values.min(initial=0.0) >= 0.0 and values.max(initial=0.0) > 1.0 and not np.any(np.mod(values, 1.0)))


def is_like_indicators(rows: Source) -> bool:
    """Whether all rows may have equally many values, as indicators of a table's columns do; texts hardly ever do."""
    if rows.n_values is None or not rows.n_rows:
        return False
    return rows.n_values % rows.n_rows == 0


def is_sparse(rows: Source) -> bool:
    """Whether most values of the rows are not stored; rows of unknown counts are dense unless they are wide."""
    if rows.n_values is None or not rows.n_rows or not rows.n_features:
        return rows.n_features is not None and rows.n_features > WIDE
    return rows.n_values < FEW_VALUES * rows.n_rows * rows.n_features
