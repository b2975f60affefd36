"""The lists of candidates of a search: checks, combinations as settings of naive Bayes, and defaults."""

import numbers
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np
import scipy.sparse as sp

from streamnb.additive.classifier import AdditiveClassifier
from streamnb.core import arguments
from streamnb.encoding.learning import to_learn
from streamnb.estimators.linear_nb import LinearNB
from streamnb.estimators.preparation import check_coded
from streamnb.estimators.stacked_nb import StackedNB
from streamnb.estimators.trained_models import LabelSpaceCV, MarginClassifierCV, SoftmaxRegressionCV
from streamnb.problem.families import Gaussian, as_family
from streamnb.problem.family import Family
from streamnb.problem.penalties import L1, Penalty, as_penalty
from streamnb.problem.smoothing import Smoothing
from streamnb.rows.preparing import NORMS, QUANTILE_NORMAL, RowOptions
from streamnb.rows.source import Source
from streamnb.rows.tables import NumberSource, TableSource
from streamnb.rows.texts import TextSource
from streamnb.searching.encodings import Encoded, check_list, check_once, word
from streamnb.searching.rounds import Judging
from streamnb.selection.score_table import check_choice
from streamnb.solving.normal_models import is_own

Axes = dict[str, list[Any]]  # candidates by the name of their argument

SCHEMES = ("joint", "ovr", "ovo")
DEFAULTS: Axes = {  # in the order in which combinations are tried
    "families": ["multinomial", "bernoulli", "gaussian"],
    "transforms": [None],
    "normalize": [None],
    "idf": [False],
    "smoothing": ["auto"],
    "penalties": [None, L1(scale="score")],
    "schemes": ["joint"],
}
PARAMETERS = {  # of `LinearNB`, in the order in which results have them
    "families": "family",
    "penalties": "penalty",
    "schemes": "scheme",
    "smoothing": "smoothing",
    "transforms": "transform",
    "normalize": "normalize",
    "idf": "idf",
}

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

PREPARED: Axes = {"transforms": ["log1p"], "idf": [True], "normalize": ["l2"]}  # tf-idf, as axes of a search
OF_COUNTS: list[Axes] = [  # a pseudo-count of 1 on rare words would drown the counts of small classes
    {"families": ["multinomial", "bernoulli"], "smoothing": [0.01], "penalties": [None]},
    {"families": ["multinomial"], "smoothing": [0.1], "penalties": [None], **PREPARED},
]


@dataclass(frozen=True, eq=False)
class Setting:
    """A setting of naive Bayes: a family, a penalty whose whole grid is judged, and the preparation of rows."""

    family: Family
    penalty: Penalty | None
    scheme: str
    smoothing: Any
    transform: Any
    normalize: str | None
    idf: bool
    words: dict[str, str]

    def on(self, names: Any, kinds: Any) -> "Setting":
        """The setting for columns of these names and kinds, if there are any; refused where it does not fit them."""
        family = self.family.named(names, kinds)
        for member in family.members:
            Smoothing.of(member, self.smoothing, "posterior_mean")
        return replace(self, family=family)

    @property
    def rows(self) -> RowOptions:
        """The preparation of rows."""
        return RowOptions(self.transform, self.normalize, 0.0, self.family.centre)

    @property
    def options(self) -> dict[str, Any]:
        """The arguments of `solve` other than family and penalty."""
        return {"scheme": self.scheme, "smoothing": self.smoothing, "idf": self.idf}

    @property
    def name(self) -> str:
        """The setting as text, without defaults."""
        defaults = {parameter: _word(axis, DEFAULTS[axis][0]) for axis, parameter in PARAMETERS.items()}
        parts = [self.words["family"], *([] if self.penalty is None else [self.words["penalty"]])]
        others = [name for name in self.words if name not in ("family", "penalty")]
        changed = [name for name in others if self.words[name] != defaults.get(name)]
        return ", ".join([*parts, *(f"{name}={self.words[name]}" for name in changed)])


def _word(axis: str, value: Any) -> str:
    """A candidate as text."""
    return repr(value) if axis == "smoothing" else word(value)


def settings_of(
    axes: Mapping[str, list[Any]], judging: Judging, words: Mapping[str, str]
) -> tuple[list[Setting], dict[str, str]]:
    """Every valid combination, and the reasons why others are invalid.

    `axes` take the place of the defaults; `words` describe earlier steps on the rows.
    """
    candidates = {axis: axes.get(axis, default) for axis, default in DEFAULTS.items()}
    settings, left_out = [], {}
    for values in product(*candidates.values()):
        chosen = dict(zip(candidates, values, strict=True))
        family = as_family(chosen["families"])
        if family.covariant or is_own(family):  # it takes neither penalty nor smoothing, and is judged once
            if any(chosen[axis] is not candidates[axis][0] for axis in ("penalties", "smoothing")):
                continue
            chosen["penalties"] = None
        of_setting = {parameter: _word(axis, chosen[axis]) for axis, parameter in PARAMETERS.items()}
        parameters = {parameter: chosen[axis] for axis, parameter in PARAMETERS.items()}
        setting = Setting(**{**parameters, "family": family}, words={**of_setting, **words})
        try:
            check_coded(family, setting.transform, setting.normalize, setting.idf or None)
            check_choice(setting.scheme, judging.folds, 1, judging.seed, judging.scoring, "best")
            settings.append(setting)
        except ValueError as error:
            left_out[setting.name] = str(error)
    return settings, left_out


def checked(given: Mapping[str, Any], no_bayes: bool = False) -> tuple[Axes, list[Any]]:
    """The candidates on the axes that are given, and the transforms among them that are learned from rows.

    Families may be an empty list with `no_bayes`.
    """
    axes: Axes = {"families": []} if no_bayes else {}
    for axis, values in given.items():
        if values is None or axis in axes:
            continue
        also = "; to leave out naive Bayes, give models= or others=" if axis == "families" else ""
        check_list(axis, values, repr(DEFAULTS[axis]), also)
        for value in values:
            _check(axis, value)
        check_once(axis, [word(value) for value in values])
        axes[axis] = values
    learned = [transform for transform in axes.get("transforms", []) if to_learn(transform) is not None]
    if learned:
        axes["transforms"] = [transform for transform in axes["transforms"] if to_learn(transform) is None]
    return axes, learned


def _check(axis: str, value: Any) -> None:
    if axis == "families":
        if as_family(value).map_names:
            raise ValueError(
                f"families has {value!r}, whose maps are learned from rows; give models=[snb.LinearNBCV(family)], and "
                "families without maps, or transforms"
            )
    elif axis == "transforms":
        if to_learn(value) is None:
            RowOptions(value)
    elif axis == "penalties":
        as_penalty(value, "penalties")
    elif axis == "smoothing" and isinstance(value, numbers.Real):
        arguments.finite_number(axis, value, minimum=0.0)
    elif axis in ("schemes", "normalize", "idf"):
        choices: Iterable[Any] = {"schemes": SCHEMES, "normalize": [None, *NORMS], "idf": [False, True]}[axis]
        arguments.one_of(axis, value, choices)


# ---- defaults --------------------------------------------------------------------------------------------------------


def default_candidates(encoded: Encoded) -> tuple[list[Axes], list[Any]]:
    """The default axes of naive Bayes, and the default models, for rows of this kind."""
    families, rows = DEFAULTS["families"], encoded.rows
    few = is_encoded_table(rows) or has_few_features(rows)
    standardized = SoftmaxRegressionCV(L2_OF_DEVIATIONS, max_passes=MANY_READS if few else 30, standardize=True)
    if _several_labels(encoded.given[1]):
        return _for_labels(encoded)
    additive = [] if encoded.options or encoded.transform is not None else [AdditiveClassifier()]
    if is_encoded_table(rows):
        plain = encoded.options.get("bins", True) is None
        softmax = standardized if plain else SoftmaxRegressionCV(L2, max_passes=30)
        return [{"families": ["auto"]}], [softmax, *additive]
    if is_sparse(rows):
        softmax = SoftmaxRegressionCV(L2_OF_TF_IDF, max_passes=20, **TF_IDF)
        # as many values in each row, on average a whole number, are hardly ever texts, but indicators of a table
        indicators = rows.n_values is not None and rows.n_rows and rows.n_values % rows.n_rows == 0
        l2 = L2_OF_INDICATORS if indicators else L2_OF_VALUES
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


def default_scoring(y: Any, schemes: Sequence[str], estimators: Iterable[Any], usual: Encoded | None) -> list[str]:
    """The first judges probabilities as well, unless a candidate has none or has rough ones before calibration.

    Those of margins are rough, and those of naive Bayes on sparse rows. `usual` are the rows of default candidates.
    """
    margins = any(isinstance(one, MarginClassifierCV) or not hasattr(one, "predict_proba") for one in estimators)
    sparse = usual is not None and not is_encoded_table(usual.rows) and is_sparse(usual.rows)
    return OF_DECISIONS if _several_labels(y) or margins or sparse or "ovo" in schemes else SCORING


def default_transforms(encoded: Encoded) -> list[Any]:
    """The default transforms that are learned from rows: the quantile-normal map for few features."""
    rows = encoded.rows
    as_given = rows.encoding is None and not is_sparse(rows)
    return [QUANTILE_NORMAL] if as_given and has_few_features(rows) else []


def is_encoded_table(rows: Source) -> bool:
    """Whether rows are of a table whose columns are encoded."""
    return isinstance(rows, TableSource) and not isinstance(rows, NumberSource)


def has_few_features(rows: Source) -> bool:
    """Whether a covariance of all features is cheap."""
    return rows.n_features is not None and rows.n_features <= FEW_FEATURES


def are_counts(encoded: Encoded) -> bool:
    """Whether sparse rows are of texts, or in memory and whole numbers above 1 among them: tf-idf suits them better."""
    if isinstance(encoded.rows, TextSource):
        return True
    values = encoded.given[0].tocsr().data if sp.issparse(encoded.given[0]) else np.zeros(0)
    return bool(values.min(initial=0.0) >= 0.0 and values.max(initial=0.0) > 1.0 and not np.any(np.mod(values, 1.0)))


def _several_labels(y: Any) -> bool:
    """Whether rows may have several labels, which inform each other."""
    return len(getattr(y, "shape", ())) == 2 and y.shape[1] > 1


def is_sparse(rows: Source) -> bool:
    """Whether most values of the rows are not stored; rows of unknown counts are dense unless they are wide."""
    if rows.n_values is None or not rows.n_rows or not rows.n_features:
        return rows.n_features is not None and rows.n_features > WIDE
    return rows.n_values < FEW_VALUES * rows.n_rows * rows.n_features
