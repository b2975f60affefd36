"""Label space transformation: least squares to the main components of many labels, which borrow from each other."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np

from streamnb.core import arguments, memory, persistence
from streamnb.core.blas import one_thread
from streamnb.estimators.least_squares import LeastSquaresClassifier, LeastSquaresClassifierCV, PosedByProducts
from streamnb.estimators.trained_on import Posed
from streamnb.passes.options import RunOptions
from streamnb.rows.source import Source
from streamnb.scanning.class_scan import ClassScan
from streamnb.selection.penalty_search import Turns
from streamnb.solving.label_axes import LabelAxes, check_pairs
from streamnb.solving.least_squares import LeastSquaresPath
from streamnb.stats.class_stats import ClassStats
from streamnb.training.descent import Penalties
from streamnb.training.fitting import Reads, Trainer
from streamnb.training.label_space import ComponentsByGradients, ComponentsByProducts

HALVINGS = 5  # numbers of components to choose from where none are given
PARTS = 13  # arrays as large as the weights of components, while these are found: those of conjugate gradients, and 3
BEFORE, BESIDE = 4, 2  # arrays as large as the weights of all labels: before components are found, and meanwhile


@dataclass(frozen=True, eq=False)
class PosedLabels(Posed):
    """What a model is trained on, with the axes of the labels, and where products tell it, the weights by l2."""

    axes: LabelAxes
    path: LeastSquaresPath | None
    known: dict[float, np.ndarray] = field(default_factory=dict)

    def weights(self, l2: float) -> np.ndarray:
        """Those of all components, (n_features + 1, M); each penalty is solved for once."""
        if l2 not in self.known:
            assert self.path is not None
            weights = self.path.weights(l2)[0]
            with one_thread():
                of_components = weights @ self.axes.axes.T
                self.known[l2] = np.vstack([of_components, -self.path.mean @ of_components])
        return self.known[l2]


@persistence.register
class LabelSpace(LeastSquaresClassifier):
    r"""Least squares to the main components of the labels of multi-label rows (PLST, about the mean).

    Of labels that go together, rare ones gain from common ones. One scan leaves the sums of products G of features and
    Q of labels, Q_uv the weight of rows that bear u and v, c = diag Q, and S the sums s_u of the rows of each label::

        C = Q - c c' / N,  V the M eigenvectors of C with the largest eigenvalues, (L, M)
        W = (G - s s' / N + l2 I)^-1 (S - s c' / N) V V',  b = c / N - W' s / N

    and a row has the labels where W' x + b is above 1/2: F. Tai and H.-T. Lin, Multilabel classification with principal
    label space transformation, Neural Computation 24 (2012), whose form is not about the mean, and errs more. With all
    components it is `LeastSquaresClassifier`, each label by itself. Weights and scores are those of labels coded as 1
    and -1, twice as large, so that scores above 0 are predicted, as everywhere here.

    Parameters
    ----------
    n_components : int, optional
        M, at most the number of labels L, which is the default.
    l2 : float
        Strength of the penalty on the weights.
    solver : {"products", "conjugate_gradients"}
        "products": the one scan sums those of features two by two, and nothing is read again: for up to some thousand
        features, 8 n (n + 1) bytes. "conjugate_gradients": one step a read for all components together, any number of
        features.
    tol, max_passes, transform, normalize, idf, calibration
        As for `LeastSquaresClassifier`.

    Attributes
    ----------
    classes_, coef_, intercept_, n_passes_, converged_, history_, report_
        As of `LeastSquaresClassifier`; `coef_` (L, n_features) is of labels, not of components.

    Examples
    --------
    One direction is enough for these three labels:

    >>> import numpy as np
    >>> import streamnb as snb
    >>> Y = np.array([[1, 0, 0], [1, 1, 0], [1, 0, 1], [1, 1, 0]])
    >>> model = snb.LabelSpace(n_components=1, l2=1e-6).fit(np.eye(4), Y)
    >>> int((model.predict(np.eye(4)) != Y).sum())
    0
    """

    _fixed: ClassVar = {"l1": 0.0, "class_weight": None, "start": "auto", "standardize": False}

    def __init__(
        self,
        n_components: Any = None,
        l2: float = 1.0,
        *,
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        calibration: str | None = None,
        solver: str = "products",
    ):
        self.n_components, self.l2, self.solver = n_components, l2, solver
        self.tol, self.max_passes = tol, max_passes
        self.transform = transform
        self.normalize, self.idf, self.calibration = normalize, idf, calibration

    def _check_params(self) -> None:
        super()._check_params()
        self._check_components()

    def _check_components(self) -> None:
        if self.n_components is not None:
            arguments.positive_integer("n_components", self.n_components)

    def _opened_as_given(self, given: Any, options: RunOptions | None = None, layer: str | None = None) -> Source:
        shape = getattr(given[1], "shape", None) if len(given) > 1 else None
        n_labels = 0 if shape is None else shape[1] if len(shape) == 2 else 1
        if shape is not None:  # what can be told before the scan
            self._check_labels(n_labels)
        rows = super()._opened_as_given(given, options, layer)
        if shape is not None and rows.n_features is not None and options is not None:
            check_pairs(n_labels, self._most(n_labels), options.memory_limit)
            self._check_room(rows.n_features, 0, n_labels, 1, options)
        return rows

    def _check_memory(self, stats: ClassStats, n_rows: int, options: RunOptions) -> None:
        n_labels = len(stats.classes)
        self._check_room(stats.n_features, self._n_held(stats), n_labels, n_rows // n_labels, options)

    def _check_room(self, n_features: int, n_used: int, n_labels: int, n_models: int, options: RunOptions) -> None:
        """Refuse weights of all labels, and beside them those of components in the features used, of so many models."""
        whole, most = 8.0 * (n_features + 1) * n_labels * n_models, self._most(n_labels)
        if self._by_products:
            needed = self._held * whole
        else:
            of_components = 8.0 * PARTS * (n_used + 1) * most * n_models
            needed = max(BEFORE * whole, BESIDE * whole + of_components)
        if needed > (may := memory.allowed(options.memory_limit)):
            what = f"{most:,} components of {n_labels:,} labels, and weights of these by {n_features:,} features,"
            cure = "give a larger memory_limit, or take fewer n_components, labels or features (snb.FeatureSelector)"
            memory.refuse(what, needed, may, cure)

    def _check_labels(self, n_labels: int) -> None:
        """Refuse labels that are no indicator, and more components than there are labels."""
        if n_labels < 2:
            raise ValueError(
                f"y is one label a row; {type(self).__name__} is for a 2-D indicator of labels (n_rows, n_labels), two "
                "at least: take snb.LeastSquaresClassifier for classes"
            )
        most = 0 if self.n_components is None else int(np.max(self.n_components))
        if most > n_labels:
            raise ValueError(f"n_components={most} is more than the {n_labels} labels of y; give as many at most")

    def _scan(self, options: RunOptions) -> ClassScan:
        return replace(super()._scan(options), labels=True)

    @property
    def _held(self) -> int:
        return ComponentsByProducts.held if self._by_products else PARTS

    def _most(self, n_labels: int) -> int:
        """The number of components, or the largest of several."""
        return n_labels if self.n_components is None else int(np.max(self.n_components))

    def _posed(self, stats: ClassStats, options: RunOptions) -> Posed:
        self._check_labels(len(stats.classes) if stats.multilabel else 1)
        posed = super()._posed(stats, options)
        axes = LabelAxes.of(stats, self._most(len(stats.classes)), options.memory_limit)
        path = posed.path if isinstance(posed, PosedByProducts) else None
        return PosedLabels(posed.task, posed.sums, posed.scale, None, axes, path)

    def _reads(
        self, posed: Posed, penalties: Penalties, max_passes: int, n_components: int | None = None
    ) -> tuple[Trainer, Reads]:
        assert isinstance(posed, PosedLabels)
        axes = posed.axes.first(self._chosen(len(posed.axes.base)) if n_components is None else n_components)
        trainer: Trainer
        if posed.path is None:
            trainer = ComponentsByGradients(posed.task, posed.sums, posed.scale, penalties, axes)
        else:
            weights = posed.weights(penalties.l2)[:, : len(axes.scatter)]
            trainer = ComponentsByProducts(posed.task, weights, posed.scale, axes)
        return trainer, trainer.reads(float(self.tol), max_passes)

    def _chosen(self, n_labels: int) -> int:
        """The number of components of the model."""
        return self._most(n_labels)


@persistence.register
class LabelSpaceCV(LeastSquaresClassifierCV, LabelSpace):
    """`LabelSpace` whose number of components and l2 are chosen by cross-validation: a scan of folds, and one to score.

    Of products all models follow without a read: those of a fold from one eigendecomposition of its features and one of
    its labels. By conjugate gradients all are trained in shared reads, and the number of these is chosen, too.

    Parameters
    ----------
    n_components : int or list of int, optional
        To choose from; by default all labels, half of them, and so on, down to a sixteenth.
    l2 : float or list of float, optional
        To choose from; 0.01, 0.1, .., 1000 by default. The product of both lists is judged.
    folds, scoring, rule, seed
        As for `LeastSquaresClassifierCV`; "parsimonious" and "one_se" take the fewest components that are good enough.
    tol, max_passes, transform, normalize, idf, calibration, solver
        As for `LabelSpace`.

    Attributes
    ----------
    best_ : dict
        What was chosen, such as ``{"l2": 1.0, "n_components": 12, "max_passes": 1}``; of products "max_passes" is 1,
        and has no meaning.
    best_score_, cv_results_, history_, report_
        As of `LeastSquaresClassifierCV`.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import make_multilabel_classification
    >>> X, Y = make_multilabel_classification(n_samples=300, n_classes=8, random_state=0)
    >>> model = snb.LabelSpaceCV([2, 4, 8], [1.0, 10.0]).fit(X, Y)
    >>> len(model.cv_results_["params"]), model.best_score_ > 0.75
    (6, True)
    """

    def __init__(
        self,
        n_components: Any = None,
        l2: Any = None,
        *,
        folds: Any = 5,
        scoring: Any = "roc_auc",
        rule: str = "best",
        seed: int = 0,
        tol: float = 1e-4,
        max_passes: int = 50,
        transform: Any = None,
        normalize: str | None = None,
        idf: bool = False,
        calibration: str | None = None,
        solver: str = "products",
    ):
        options = {"tol": tol, "max_passes": max_passes, "transform": transform, "normalize": normalize}
        options |= {"idf": idf, "calibration": calibration, "solver": solver}
        LabelSpace.__init__(self, n_components, l2, **options)
        self._keep_choice(folds, scoring, rule, seed)

    def _check_components(self) -> None:
        if np.ndim(self.n_components) > 1 or (self.n_components is not None and not np.size(self.n_components)):
            raise ValueError(f"n_components={self.n_components!r} should be a number, or a list of one at least")
        for number in [] if self.n_components is None else np.ravel(self.n_components).tolist():
            arguments.positive_integer("n_components", number)

    def _grid(self, n_rows: int | None = None) -> list[dict[str, Any]]:
        if self.n_components is not None:
            numbers = sorted(set(np.ravel(self.n_components).tolist()))
        else:
            numbers = sorted({max((n_rows or 1) >> halving, 1) for halving in range(HALVINGS)})
        return [{**point, "n_components": number} for point in super()._grid() for number in numbers]

    def _turns(
        self, n_features: int, n_rows: int, n_folds: int, options: RunOptions, n_used: Any = None, beside: int = 0
    ) -> Turns:
        n_models, most = len(self._grid(n_rows)) * n_folds, self._most(n_rows)
        return Turns.of(n_models, n_features, most, self._held, options, n_used, beside)

    def _reads_at(self, posed: Posed, point: dict[str, Any], max_passes: int) -> tuple[Trainer, Reads]:
        return self._reads(posed, Penalties(point["l2"], 0.0), max_passes, point["n_components"])

    def _chosen(self, n_labels: int) -> int:
        return self.best_["n_components"]
