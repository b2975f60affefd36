"""What a search tries: encodings of rows, lists of settings of naive Bayes, and defaults for rows of each kind."""

import numbers
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property, partial
from itertools import product
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

from streamnb.additive.classifier import AdditiveClassifier
from streamnb.core import arguments, row_checks
from streamnb.encoding.category_columns import CategoryColumns, LevelsSeen
from streamnb.encoding.learning import counted_values, prepared, step_of, to_learn, totals_of
from streamnb.encoding.opening import SvmlightEncoding, as_numbers, holds_raw_texts, opened
from streamnb.encoding.table import TableToLearn
from streamnb.encoding.text import TextEncoding, TextsToLearn, is_learned, text
from streamnb.estimators.linear_nb import LinearNB
from streamnb.estimators.preparation import check_coded
from streamnb.estimators.stacked_nb import StackedNB
from streamnb.estimators.trained_models import LabelSpaceCV, MarginClassifierCV, SoftmaxRegressionCV
from streamnb.passes.contract import Report, RunOptions
from streamnb.passes.run import run_reads
from streamnb.passes.statistic import Statistic
from streamnb.problem.families import Gaussian, as_family
from streamnb.problem.family import Family
from streamnb.problem.penalties import L1, Penalty, as_penalty
from streamnb.problem.smoothing import Smoothing
from streamnb.rows.preparing import NORMS, QUANTILE_NORMAL, LearnedStep, RowOptions
from streamnb.rows.source import OutsideFolds, Source
from streamnb.rows.table_opening import ANY, COMPLETE, is_table
from streamnb.rows.tables import NumberSource, TableSource
from streamnb.rows.texts import TextSource
from streamnb.searching.rounds import Judging
from streamnb.selection.score_table import check_choice
from streamnb.solving.normal_models import is_own

Given = tuple[Any, Any, Any]  # X, y and weights
AS_NUMBERS: dict[str, Any] = {"bins": None}  # tried by default beside `snb.table`'s


@dataclass(eq=False)
class Encoded:
    """Rows as given; subclasses encode them into columns.

    Attributes
    ----------
    rows : Source, before anything is learned
    given : X, y and weights
    words : dict, what sets it apart, by name
    options : dict, those of `snb.table` or `snb.text`
    transform : the transform that the rows are prepared by, if it is learned
    coded : family or None, the family whose category columns these are
    has_numbers : bool, whether the columns of a table have numbers
    n_reads : int, reads for learning the encoding
    nested : bool, whether each fold has its own encoding
    learns_again : bool, whether the model of all rows learns the encoding itself
    """

    rows: Source
    given: Given
    words: dict[str, str] = field(default_factory=dict)
    options: dict[str, Any] = field(default_factory=dict)
    transform: Any = None
    coded: Any = None
    has_numbers: bool = False
    n_reads: ClassVar[int] = 0
    nested: ClassVar[bool] = False
    learns_again: bool = field(default=False, init=False)

    def learn(self, judging: Judging, options: RunOptions) -> Report:
        """Learn the encoding, once; return the report of the read."""
        return Report()

    @property
    def unencoded(self) -> bool:
        """Whether rows are not encoded; a svmlight file has its own columns."""
        return not self.nested and isinstance(self.rows.encoding, SvmlightEncoding | None)

    @property
    def whole(self) -> Source:
        """All rows, encoded by what was learned from all of them."""
        return self.rows

    def outside(self, fold: int) -> Source:
        """All rows, encoded by what was learned from the rows outside a fold."""
        return self.rows

    def n_times(self, n_folds: int) -> int:
        """How often rows are read for models of all folds, which share reads but where Dask holds the rows."""
        return n_folds if self.nested and self.rows.lazy else 1

    def side_by_side(self, folds: Sequence[int]) -> list[tuple[Sequence[int], Source]]:
        """The rows encoded outside each of these folds: the folds that share a source, and the source."""
        if not self.nested:
            return [(folds, self.whole)]
        if self.rows.lazy:
            return [([fold], self.outside(fold)) for fold in folds]
        return [(folds, OutsideFolds({fold: self.outside(fold) for fold in folds}))]

    def family_of(self, family: Family, fold: int | None) -> Family:
        """The family for the columns of `outside(fold)`, or of `whole` for None."""
        return family

    @property
    def to_fit(self) -> Given:
        """X, y and weights to fit a model of all rows."""
        return (self.whole, None, None) if self.nested and not self.learns_again else self.given

    def finished(self, model: Any) -> Any:
        """The model of all rows as returned to the user: it takes rows as they were given."""
        return model


class Learned(Encoded):
    """Rows whose encoding is learned in one pass, with totals that add up.

    Parameters
    ----------
    counts : Statistic of no rows, from whose total the encoding is learned
    rows : Source
    encoded : callable, returns the encoded rows from the total
    step_of : callable, optional
        For rows prepared by a step that `LinearNB` also learns: returns the step from the total.
    """

    n_reads = 1
    nested = True

    def __init__(
        self,
        counts: Statistic,
        rows: Source,
        encoded: Callable[..., Source],
        given: Given,
        step_of: Callable[[Any], Any] | None = None,
        **about: Any,
    ):
        super().__init__(rows, given, **about)
        self._counts, self._encoded, self._step_of = counts, encoded, step_of
        self.learns_again = step_of is not None
        self._total: Any = None
        self._outside: Sequence[Any] = ()

    def learn(self, judging: Judging, options: RunOptions) -> Report:
        if self._outside:
            return Report()
        folding, rows = judging.folding_of(self.rows)
        self._total, self._outside, report = run_reads(totals_of(self._counts, rows, options, folding))
        return report

    @cached_property
    def whole(self) -> Source:
        return self._encoded(self._total)

    def outside(self, fold: int) -> Source:
        return self._encoded(self._outside[fold], quiet=True)

    def family_of(self, family: Family, fold: int | None) -> Family:
        if self._step_of is None:
            return family
        check_coded(family, self.transform, None, None)
        if not family.coded:
            return family
        return family.widened(self._step_of(self._total if fold is None else self._outside[fold]).firsts)


class Transformed(Encoded):
    """Rows in memory, encoded by a transformer that is fitted without each fold."""

    nested = True

    def __init__(self, transformer: Any, given: Given, **about: Any):
        _, y, weight = given
        super().__init__(opened(np.zeros((len(y), 1)), y, weight), given, **about)
        self._transformer = transformer
        self._numbers = np.zeros(0, np.int64)
        self._fitted: Any = None

    def learn(self, judging: Judging, options: RunOptions) -> Report:
        self._numbers = judging.fold_of_each(len(self.given[1]))
        return Report()

    @cached_property
    def whole(self) -> Source:
        X, y, weight = self.given
        self._fitted = clone(self._transformer)
        return opened(_matrix(self._fitted.fit_transform(X, y)), y, weight)

    def outside(self, fold: int) -> Source:
        X, y, weight = self.given
        rest, held = np.flatnonzero(self._numbers != fold), np.flatnonzero(self._numbers == fold)
        transformer = clone(self._transformer)
        learned = _matrix(transformer.fit_transform(rows_at(X, rest), y[rest]))
        parts = [learned, _matrix(transformer.transform(rows_at(X, held)))]
        joined = sp.vstack(parts, format="csr") if sp.issparse(learned) else np.concatenate(parts)
        return opened(joined[np.argsort(np.concatenate([rest, held]))], y, weight)

    def finished(self, model: Any) -> Any:
        return make_pipeline(self._fitted, model)


def encoded_rows(given: Given, encodings: Any, transforms: list[Any], options: RunOptions) -> list[Encoded]:
    """The rows under each of `encodings`, and unencoded rows under each learned transform."""
    row_checks.check_repeated(given[1])
    numbers = ANY if transforms else COMPLETE
    raw = is_opened_table(given[0]) or (is_table(given[0]) and as_numbers(*given, numbers) is None)
    if encodings is None and raw:
        usual = _encoded({}, given, options)
        return [usual, _encoded(AS_NUMBERS, given, options)] if usual.has_numbers else [usual]
    encoded: list[Encoded] = []
    for encoding in [None] if encodings is None else _checked(encodings):
        if encoding is None and not raw:
            rows = opened(*given, numbers=numbers)
            read_once, rows = rows.read_once, options.kept(rows)
            encoded.append(Encoded(rows, (rows, None, None) if read_once else given))
            encoded += [of_transform(transform, encoded[-1], options) for transform in transforms]
        else:
            encoded.append(_encoded(encoding or {}, given, options))
    return encoded


def of_transform(transform: Any, unencoded: Encoded, options: RunOptions) -> Learned:
    """Rows prepared by a learned transform."""
    about = {"words": {"transform": word(transform)}, "transform": transform}
    return _stepped(counted_values(options), partial(step_of, transform), unencoded, **about)


def of_categories(family: Any, unencoded: Encoded, options: RunOptions) -> Learned:
    """Rows whose category numbers, as a family takes them, become indicator columns."""
    named = as_family(family).named(getattr(unencoded.rows.given, "columns", None))
    seen = LevelsSeen(named.coded_columns, options.memory_limit)
    return _stepped(seen, CategoryColumns.of, unencoded, coded=family)


def _stepped(counts: Statistic, step: Callable[[Any], LearnedStep], unencoded: Encoded, **about: Any) -> Learned:
    """Rows prepared by a step that `LinearNB` also learns."""

    def encoded(total: Any, quiet: bool = False) -> Source:
        return prepared(step(total), unencoded.rows)

    return Learned(counts, unencoded.rows, encoded, unencoded.given, step, **about)


def _encoded(encoding: Any, given: Given, options: RunOptions) -> Encoded:
    """The rows under one of `encodings`."""
    X, y, weight = given
    if not isinstance(encoding, dict):
        name = " ".join(repr(encoding).split())
        return Transformed(encoding, in_memory(X, y, weight, f"encodings={name}"), words={"encoding": name})
    X, y, weight, own = as_opened(given)
    if isinstance(X, Source):
        of_text = {"text": X.encoding.text} if isinstance(X.encoding, TextEncoding) and X.encoding.text else {}
        raise ValueError(
            f"encodings has {encoding!r}, but X is opened and encoded already: give search "
            f"what they were opened from (a path, texts, a data frame) and y, with encodings=[{of_text | encoding!r}]"
        )
    name = ", ".join(f"{option}={value!r}" for option, value in encoding.items()) or "as usual"
    about: dict[str, Any] = {"words": {"encoding": name}, "options": encoding}
    try:
        if not (holds_raw_texts(X) or isinstance(encoding.get("text"), str)):
            table = TableToLearn(X, y, weight, own | encoding)
            about["has_numbers"] = table.has_numbers and own.get("bins", 16) is not None
            return Learned(table.statistic, table.rows, table.encoded, given, **about)
        if is_learned(encoding.get("vocabulary")):
            texts = TextsToLearn.from_options(X, y, weight, encoding)
            return Learned(texts.statistic, texts.rows, texts.encoded, given, **about)
        rows = options.kept(text(X, y=y, weight=weight, **encoding))  # hashed, or with given tokens
        return Encoded(rows, (rows, None, None), **about)
    except TypeError as error:
        if "argument" not in str(error):
            raise
        raise ValueError(
            f"encodings has {encoding!r}: {error}; it should have options of snb.table or snb.text"
        ) from None


def in_memory(X: Any, y: Any, weight: Any, argument: str) -> Given:
    """Rows and labels in memory, in a form that any transformer takes and that can be indexed."""
    X = np.asarray(X) if isinstance(X, list) else X
    if not (isinstance(X, np.ndarray) or hasattr(X, "iloc") or sp.issparse(X)) or y is None or isinstance(y, str):
        raise TypeError(f"{argument} needs rows and labels in memory, X an array or a frame, not {type(X).__name__}")
    return sp.csr_array(X) if sp.issparse(X) else X, y.tocsr() if sp.issparse(y) else np.asarray(y), weight


def rows_at(X: Any, rows: np.ndarray) -> Any:
    """The rows of X with these numbers."""
    return X.iloc[rows] if hasattr(X, "iloc") else X[rows]


def _matrix(output: Any) -> Any:
    """The output of a transformer as CSR or as a float64 array."""
    return sp.csr_array(output) if sp.issparse(output) else np.asarray(output, np.float64)


def word(value: Any) -> str:
    """A candidate as text."""
    return "none" if value is None else value if isinstance(value, str) else repr(value)


def check_list(name: str, given: Any, example: str, also: str = "") -> None:
    """Refuse anything but a list of at least one candidate."""
    if not isinstance(given, list):
        raise TypeError(f"{name}={given!r} should be a list of candidates, such as {name}={example}")
    if not given:
        should = f"give at least one candidate, such as {name}={example}, or leave it out"
        raise ValueError(f"{name}=[] is empty; {should}{also}")


def check_once(name: str, words: list[str]) -> None:
    """Refuse candidates, given as text, if one occurs more than once."""
    twice = [word for word in words if words.count(word) > 1]
    if twice:
        raise ValueError(f"{name} has {twice[0]} twice; give each once")


def _checked(given: Any) -> list[Any]:
    """The given encodings, checked."""
    check_list("encodings", given, "[None, {'bins': 8}]")
    for one in given:
        if not (one is None or isinstance(one, dict) or (hasattr(one, "fit_transform") and hasattr(one, "transform"))):
            raise TypeError(
                f"encodings has {one!r}; each should be None for rows as they are, a dict of options of snb.table or "
                "snb.text, such as {'bins': 8}, or a transformer such as snb.CategoryCounters()"
            )
    check_once("encodings", list(map(repr, given)))
    return given


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


def is_opened_table(X: Any) -> bool:
    """Whether X is a table that the user opened, whose encoding may be learned anew."""
    return isinstance(X, TableSource) and X.opened_with is not None


def as_opened(given: Given) -> tuple[Any, Any, Any, dict[str, Any]]:
    """X, y and weights, and the options of `snb.table` by which the user opened X; none if X is not opened."""
    X, y, weight = given
    if not is_opened_table(X):
        return X, y, weight, {}
    tables, own_y, own_weight, options = X.opened_with
    return tables, own_y if y is None else y, own_weight if weight is None else weight, options


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
