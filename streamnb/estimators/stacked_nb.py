"""StackedNB: naive Bayes models of several families, and a second model that weighs their margins."""

from __future__ import annotations

import warnings
from dataclasses import asdict, dataclass, replace
from itertools import compress
from typing import Any, Self

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.utils.validation import check_is_fitted

from streamnb.core import memory, messages, persistence, row_checks
from streamnb.encoding.learning import matrix, to_learn
from streamnb.encoding.opening import opened
from streamnb.encoding.records import Unusual
from streamnb.estimators.classifier import Classifier, check_parameters, fitted_model, model_and_rows
from streamnb.estimators.incremental import fitted_from
from streamnb.estimators.linear_nb import LinearNB, scan_for
from streamnb.estimators.linear_nb_cv import LinearNBCV
from streamnb.estimators.preparation import OF_ROWS, fitting, opened_to_fit, restore_rows, state_of_rows
from streamnb.estimators.trained import TrainedClassifierCV
from streamnb.estimators.trained_models import LeastSquaresClassifier, SoftmaxRegression
from streamnb.models.linear import LinearModel, scaled
from streamnb.models.on_demand import UnheldModel
from streamnb.passes.contract import Report, RunOptions
from streamnb.passes.passes import Pass
from streamnb.passes.run import run_reads
from streamnb.problem.families import as_family
from streamnb.problem.family import Family
from streamnb.rows.boundary import surveyed
from streamnb.rows.preparing import LearnedStep
from streamnb.rows.row_blocks import Chunk
from streamnb.rows.source import PreparedSource, Source
from streamnb.rows.splits import Folding
from streamnb.scanning.class_scan import folding_of, run_scans
from streamnb.selection.score_table import check_choice
from streamnb.stats.class_stats import ClassStats

TOL = 1e-2  # of the gradient: margins of several families are nearly collinear, and the last digits take long
_FITTED = "final", "step", "report", *OF_ROWS
_NAMED = "family of a LinearNB"  # the key in files of a family that was given with further parameters


@persistence.register
class StackedNB(Classifier):
    """Naive Bayes models of several families, and a second model that weighs their margins.

    Naive Bayes margins are overconfident, each family in its own way; together they predict better than the best alone.
    One scan sums the rows of all folds for all families. The second level learns from the margins that each row gets
    from the models fitted without its fold, side by side (Wolpert 1992, Stacked generalization, Neural Networks 5).
    Margins are computed while rows are read and never stored. So the label of a row does not affect its margins, and
    the number of rows is not limited by memory. For new rows, margins are averaged over the models of all folds.

    Parameters
    ----------
    families : list of names, Family or LinearNB
        At least one; use ``snb.LinearNB("poisson", idf=True)`` for a first-level model with further parameters.
    final : None, family or classifier
        The second level, of (n_margins,) columns that may have any values: a name or a `Family` such as
        ``snb.Gaussian(covariance="full", shrinkage=(0.0, 0.1))``, or an estimator such as
        ``snb.SoftmaxRegression(l2=10.0)``, and for a 2-D y `LeastSquaresClassifier` or `LabelSpace`. By default
        ``SoftmaxRegression(tol=1e-2)``, for a 2-D y ``LeastSquaresClassifier(100.0, solver="products",
        standardize=True)``: each label is modelled on the margins of all labels. Margins reach tens and hundreds, so
        choose penalties accordingly. A classifier that chooses or calibrates by folds is refused: margins of other rows
        depend on the labels of rows that it would hold out. `snb.search` compares whole stacks.
    folds : int or (n_rows,) ints
        Number of folds, or the fold of each row, numbered from 0; see `fold_numbers`.
    seed : int

    Attributes
    ----------
    classes_ : (K,) labels, of a 2-D y numbers of its columns
    final_ : classifier, fitted to margins out of fold
    n_features_in_ : int
    feature_names_in_ : (n_features,), where columns have names
    report_ : Report
        Of the scan and of the reads of the second level.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_wine
    >>> X, y = load_wine(return_X_y=True)
    >>> model = snb.StackedNB(["gaussian", "multinomial", "poisson"]).fit(X, y)
    >>> model.score(X, y) > 0.97
    True
    """

    def __init__(self, families: Any, final: Any = None, *, folds: Any = 5, seed: int = 0):
        self.families, self.final, self.folds, self.seed = families, final, folds, seed

    # ---- fitting -----------------------------------------------------------------------------------------------------

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        groups: Any = None,
        progress: bool | None = None,
        n_threads: int | None = None,
        memory_limit: Any = None,
        client: Any = None,
        layer: str | None = None,
        keep: str = "auto",
    ) -> Self:
        """Fit both levels: one scan for all families, then the reads of the second level, one for most.

        Parameters
        ----------
        X, y, sample_weight, progress, n_threads, client, layer, keep
            As for `LinearNB.fit`; X is read at least twice.
        groups : (n_rows,), optional
            Labels, or the name of a column of X, which is then not a feature; rows of one group are in one fold.
        memory_limit : int or str, optional
            Bytes that the class sums of all families may take, then the weights of the models of all folds, then the
            second level; half of the free memory by default.

        Raises
        ------
        ValueError, TypeError
            An argument or a value is wrong: the message names it.
        DataError
            Data cannot be read.
        MemoryError
            Sums or weights would take more than `memory_limit`.

        Warns
        -----
        StreamnbWarning
            A class has no rows outside a fold, so that margins of the fold carry no information about it.
        """
        with fitting(self, progress, n_threads, memory_limit, client, keep) as options:
            self._check_params()
            opening = opened_to_fit(self, (X, y, sample_weight), options, layer, (groups, self.folds))
            rows = options.kept(run_reads(opening))
            rows.check_read_again(type(self).__name__)
            members = [self._member(family) for family in self.families]
            scans = [scan_for(member, rows) for member in members]
            share = memory.allowed(options.memory_limit) // len(scans)
            folding, folded = folding_of(rows, self.folds, groups, 1, self.seed)
            passes = [Pass(replace(scan, folding=folding, memory_limit=share)) for scan in scans]
            stats, report = run_reads(run_scans(passes, folded, options))
            out_of_fold = self._out_of_fold(stats, rows, groups, options)
            has_weight = [part.total_weight > 0.0 for part in stats[0].folds]  # in a search, one fold has no weight
            self._margins = MarginColumns.of(list(compress(out_of_fold.of_folds, has_weight)))
            self.final_ = self._final(stats[0].multilabel)
            self.final_.fit(*_columns(out_of_fold, folded, y, sample_weight), **options.fit_options)
            self.classes_, self.n_features_in_ = self.final_.classes_, self._margins.n_features
            self.report_ = report + self.final_.report_
        return self

    def _out_of_fold(self, stats: list[ClassStats], rows: Source, groups: Any, options: RunOptions) -> MarginsOutOfFold:
        """The map from each row to its margins by models that have not seen it."""
        folding = stats[0].folding
        assert folding is not None
        of_folds = []
        for fold in range(folding.n_folds):
            rest = [of_family.without_fold(fold) for of_family in stats]
            self._check_rest(fold, rest[0])
            members = [self._member(family) for family in self.families]
            with warnings.catch_warnings():  # classes without rows, warned about already
                warnings.simplefilter("ignore", messages.StreamnbWarning)
                pairs = zip(members, rest, strict=True)
                fitted = [fitted_from(member, other, Report(), (rows, None, None)) for member, other in pairs]
            of_folds.append([fitted_model(member) for member in fitted])
            if fold == 0:
                _check_memory(of_folds[0], folding.n_folds, options)
        columns = {"groups": groups if groups is not None else rows.own_groups, "given": self.folds}
        numbers = None if folding.by == "rows" else rows.whole_column(columns[folding.by], folding.by)
        return MarginsOutOfFold(of_folds, folding, numbers)

    def _check_rest(self, fold: int, rest: ClassStats) -> None:
        """Refuse a single class outside a fold, and warn about classes that its models do not know."""
        lacking = rest.classes[rest.weight == 0.0]
        if len(lacking) and not rest.multilabel and len(lacking) > len(rest.classes) - 2:
            raise ValueError(
                f"y holds one class only outside fold {fold}; use fewer folds, another seed, or folds= that mix the "
                "classes"
            )
        if len(lacking):
            messages.warn(
                f"outside fold {fold} no row has {messages.listed(lacking)}: the margins of its rows say nothing of "
                "that; fewer folds, or folds= that mix the labels, may help"
            )

    # ---- the two levels ----------------------------------------------------------------------------------------------

    def _member(self, family: Any) -> LinearNB:
        """An unfitted model of the first level."""
        return clone(family) if isinstance(family, LinearNB) else LinearNB(family)

    def _final(self, multilabel: bool) -> Any:
        """The unfitted model of the second level."""
        if self.final is None:
            return (
                LeastSquaresClassifier(100.0, solver="products", standardize=True)
                if multilabel
                else SoftmaxRegression(tol=TOL)
            )
        return clone(self.final) if isinstance(self.final, Classifier) else LinearNB(self.final)

    def _check_params(self) -> None:
        if not isinstance(self.families, list | tuple) or not len(self.families):
            raise TypeError(f"families={self.families!r} should be a list of one family at least, such as ['gaussian']")
        for family in self.families:
            _check_member(family)
        words = [repr(family) for family in self.families]
        if twice := [word for word in words if words.count(word) > 1]:
            raise ValueError(f"families has {twice[0]} twice; list each once")
        _check_final(self.final)
        check_choice("joint", self.folds, 1, self.seed, "accuracy", "best")

    # ---- predicting --------------------------------------------------------------------------------------------------

    def _ready(self, X: Any, *beside: Any, labelled: bool = False) -> tuple[LinearModel, Source]:
        check_is_fitted(self, "final_")
        rows = self._opened(X, *beside, labelled=labelled)
        if rows.one_row is not None:
            raise Unusual  # the margins of members are computed before
        margins = _columns(self._margins, rows, *beside, labelled=labelled)
        return model_and_rows(self.final_, *margins, labelled=labelled)

    def _fitted_model(self) -> LinearModel:
        check_is_fitted(self, "final_")
        return fitted_model(self.final_)

    def _gives_probabilities(self) -> bool:
        return hasattr(self.final_ if hasattr(self, "final_") else self._final(False), "predict_proba")

    def _calibrates(self) -> bool:
        return hasattr(self._final(False), "calibrate")

    def _set_model(self, model: LinearModel, calibrated: bool = False) -> None:
        self.final_._set_model(model, calibrated)

    def _explained(self) -> LinearModel:
        raise TypeError(
            "StackedNB weighs margins of several models, not columns of X: ask final_ how, and keep all with save(path)"
        )

    # ---- the rest of the contract ------------------------------------------------------------------------------------

    def _to_state(self) -> dict[str, Any]:
        families = [{_NAMED: f.get_params()} if isinstance(f, LinearNB) else f for f in self.families]
        final = True if isinstance(self.final, Classifier) else self.final
        params = {"families": families, "final": final, "folds": self.folds, "seed": self.seed}
        fitted = {"final": self.final_, "step": self._margins, "report": asdict(self.report_), **state_of_rows(self)}
        return {"params": params, "fitted": fitted}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Self:
        persistence.known(cls, state, "params", "fitted")
        params, fitted = state["params"], persistence.known(cls, state["fitted"], *_FITTED)
        final, step = fitted["final"], fitted["step"]
        if not isinstance(final, Classifier) or not isinstance(step, MarginColumns):
            raise ValueError(f"{cls.__name__} should have a classifier of margins, and the models that make these")
        families = [LinearNB(**f[_NAMED]) if isinstance(f, dict) else f for f in params["families"]]
        second = clone(final) if params["final"] is True else params["final"]
        self = cls(families, second, folds=params["folds"], seed=params["seed"])
        self._check_params()
        if getattr(final, "n_features_in_", None) != step.n_columns:
            raise ValueError(f"the second level should be of {step.n_columns} margins")
        self.final_, self._margins, self.report_ = final, step, Report._from_state(fitted["report"])
        self.classes_, self.n_features_in_ = final.classes_, step.n_features
        restore_rows(self, fitted, self._step_request(), None, step.n_features)
        return self

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_label = True
        tags.input_tags.positive_only = any(as_family(_family_of(f)).nonnegative for f in self.families)
        return tags


def reads_of_fit(stack: StackedNB) -> int:
    """How often the rows are read to fit a stack."""
    final = stack._final(False)
    return 2 + (0 if getattr(final, "solver", None) == "products" else getattr(final, "max_passes", 0))


def _check_memory(models: list[LinearModel], n_folds: int, options: RunOptions) -> None:
    """Refuse weights of the models of all folds, and of their means, that do not fit into memory."""
    n_columns, n_features = n_margins(models), models[0].n_features
    needed, may = 8 * (n_folds + 1) * n_columns * n_features, memory.allowed(options.memory_limit)
    if needed > may or any(isinstance(model, UnheldModel) for model in models):
        what = f"weights for {n_columns:,} margins of {n_features:,} features without each of {n_folds} folds"
        cure = "give a larger memory_limit, or fewer families, folds or features (snb.FeatureSelector)"
        memory.refuse(what, needed, may, cure)


def _columns(step: Margins, rows: Source, *beside: Any, labelled: bool = True) -> tuple[Source, ...]:
    """Margins of rows, with their labels and weights."""
    if rows.lazy:
        return (opened(matrix(step, rows), *beside, labelled=labelled),)
    return (PreparedSource(rows, step.applied, step.n_columns, "margins", step.at_once),)


def _family_of(given: Any) -> Any:
    return given.family if isinstance(given, LinearNB) else given


def _check_member(given: Any) -> None:
    """Refuse anything but a first-level model that learns only sums from the rows."""
    if isinstance(given, LinearNBCV):
        raise ValueError(f"families has {given!r}, which chooses by folds of its own; give LinearNB with one penalty")
    if isinstance(given, LinearNB):
        check_parameters(given)
    family = as_family(_family_of(given))
    learns = to_learn(vars(given)["transform"]) is not None if isinstance(given, LinearNB) else False
    if learns or family.coded or family.map_names:
        raise ValueError(
            f"families has {given!r}, which learns a transform of the columns from the rows; apply it before, such as "
            "by snb.Bins in a pipeline"
        )


def _check_final(given: Any) -> None:
    if given is None or isinstance(given, str | Family):
        if given is not None and as_family(given).nonnegative:
            raise ValueError(f"final={given!r} takes no negative values, which margins have; use 'gaussian'")
        return
    if not isinstance(given, Classifier):
        raise TypeError(f"final={given!r} should be a family, or an unfitted classifier of this package")
    if isinstance(given, LinearNBCV | TrainedClassifierCV) or getattr(given, "calibration", None) is not None:
        raise ValueError(
            f"final={given!r} chooses or calibrates by folds, and margins of other rows depend on labels that it would "
            "hold back; give one setting, compare stacks with snb.search, and calibrate(X, y) on held-out rows"
        )


MADE_BYTES = 16 << 20  # bytes of margins computed at once
FEW_ROWS = 256


def n_margins(models: list[LinearModel]) -> int:
    """Return how many margins the models compute for a row."""
    return sum(len(model.intercept_) for model in models)


def margins_of(models: list[LinearModel], chunk: Chunk) -> np.ndarray:
    """Return the scores of the rows of weights of all models for a block, (n_rows, n_margins).

    A class without rows in the fit of a model has margin 0 for all rows.
    """
    known = surveyed(chunk)
    margins = np.hstack([model.margins(*known) for model in models])
    return np.where(np.isfinite(margins), margins, 0.0)


class Margins(LearnedStep):
    """Columns that are margins of models."""

    sparse = False

    @property
    def _models(self) -> list[LinearModel]:
        """One set of models."""
        raise NotImplementedError

    @property
    def n_features(self) -> int:
        return self._models[0].n_features

    @property
    def n_columns(self) -> int:
        return n_margins(self._models)

    @property
    def at_once(self) -> int:  # type: ignore[override]
        return max(MADE_BYTES // (8 * self.n_columns), FEW_ROWS)


@persistence.register
@dataclass(frozen=True, eq=False, repr=False)
class MarginColumns(Margins):
    """Margins for unseen rows: the mean over the models of all folds.

    Models of all rows would have margins on another scale than those that the second level was fitted on; for counts,
    margins grow with the number of rows.

    Attributes
    ----------
    members : list, for each family the models whose margins are averaged; linear ones are merged by mean weights
    """

    members: list[list[LinearModel]]

    @classmethod
    def of(cls, of_folds: list[list[LinearModel]]) -> MarginColumns:
        """Average the models of several folds, each a list by family."""
        return cls([_mean(list(models)) for models in zip(*of_folds, strict=True)])

    @property
    def _models(self) -> list[LinearModel]:
        return [models[0] for models in self.members]

    def applied(self, chunk: Chunk, survey: Any = None) -> np.ndarray:
        """Return the margins of the rows of a block."""
        row_checks.check_n_features(chunk.shape[1], self.n_features, "the models of the stack")
        of_models = [[margins_of([model], chunk) for model in models] for models in self.members]
        return np.hstack([sum(margins) / len(margins) for margins in of_models])

    def _check_loaded(self) -> None:
        if not self.members or not all(self.members):
            raise ValueError("members should be lists of at least one model")
        if len({model.n_features for models in self.members for model in models}) > 1:
            raise ValueError("all models of a stack should have the same features")


def _mean(models: list[LinearModel]) -> list[LinearModel]:
    """Merge linear models into one with the mean score; return other models unchanged."""
    first = models[0]
    linear = all(type(model) is LinearModel and model.second is None for model in models)
    if not linear or any(sp.issparse(model.weights) for model in models):
        return models
    weights, intercepts = np.zeros(first.weights.shape), np.array([model.intercept_ for model in models])
    for model in models:
        weights += scaled(model.weights, model.scale) / len(models)
    known = np.isfinite(intercepts)  # ignores folds without the class
    mean = np.where(known, intercepts, 0.0).sum(axis=0) / np.maximum(known.sum(axis=0), 1)
    return [replace(first, weights=weights, intercept_=mean, scale=None)]


@dataclass(frozen=True, eq=False, repr=False)
class MarginsOutOfFold(Margins):
    """Margins of each row by the models of the rows outside its fold.

    Attributes
    ----------
    of_folds : list, for each fold the models without it
    folding : Folding
    numbers : (n_rows,) or None
        Group or fold number of each row, if the folding is defined by these.
    """

    of_folds: list[list[LinearModel]]
    folding: Folding
    numbers: np.ndarray | None = None

    @property
    def _models(self) -> list[LinearModel]:
        return self.of_folds[0]

    def applied(self, chunk: Chunk, survey: Any = None) -> np.ndarray:
        """Return the margins of the rows of a block, each by the models of its fold."""
        first, n_rows = chunk.first_row, chunk.shape[0]
        numbers = None if self.numbers is None else self.numbers[first : first + n_rows]
        folds = self.folding.numbers(first, n_rows, numbers, 0)
        out = np.empty((n_rows, self.n_columns))
        for fold in np.unique(folds).tolist():
            rows = np.flatnonzero(folds == fold)
            out[rows] = margins_of(self.of_folds[fold], chunk.picked(rows))
        return out
