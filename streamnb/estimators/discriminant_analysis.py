"""Linear and quadratic discriminant analysis from one scan, with scikit-learn's parameters, attributes and results."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
import scipy.linalg
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin

from streamnb.core import arguments, persistence
from streamnb.core.arguments import Rows
from streamnb.estimators.incremental import IncrementalClassifier, unchanged
from streamnb.estimators.parameters import boolean, integer_from, learned, logs, number_from_0, one_of, optional
from streamnb.models.linear import LinearModel
from streamnb.models.quadratic import CovarianceModel
from streamnb.problem.schemes import Joint, as_scheme
from streamnb.rows.preparing import RowOptions
from streamnb.scanning.class_scan import ClassScan
from streamnb.solving import normal_models
from streamnb.solving.normal_models import Covariances
from streamnb.stats.second_moments import Products


class DiscriminantAnalysis(IncrementalClassifier):
    """Base class of both: means and covariances of classes from the sums of one scan."""

    solver: str
    shrinkage: Any
    priors: Any
    tol: float
    store_covariance: bool
    covariance_estimator: Any
    _checks: ClassVar = {"tol": number_from_0, "store_covariance": boolean}
    _gives_joint = True

    def _check_params(self) -> None:
        super()._check_params()
        if isinstance(self.priors, str):
            arguments.one_of("priors", self.priors, [None, "uniform", "an array of shape (n_classes,)"])
        elif self.priors is not None:
            np.asarray(self.priors, dtype=np.float64)  # raises unless numeric
        if self.covariance_estimator is not None:
            raise ValueError(
                f"covariance_estimator={self.covariance_estimator!r} needs the rows themselves, and one scan keeps "
                "sums; give shrinkage, or use scikit-learn's own class for rows that fit into memory"
            )
        if self.shrinkage is None or self.shrinkage == "empirical":
            return
        if self.solver == "svd":
            raise NotImplementedError("shrinkage not supported with 'svd' solver.")
        if isinstance(self.shrinkage, str):
            arguments.one_of("shrinkage", self.shrinkage, [None, "auto", "a number from 0 to 1"])
            return
        arguments.share("shrinkage", self.shrinkage)

    def _check_whole(self, stats: Any) -> None:
        if (n_seen := int((stats.weight > 0.0).sum())) < 2:
            raise ValueError(f"The number of classes has to be greater than one. Got {n_seen} class.")

    @learned
    def means_(self) -> np.ndarray:
        """Means of the classes, (K, n_features)."""
        return self._covariances.means

    @learned
    def _covariances(self) -> Covariances:
        return Covariances(self._weighted)

    @learned
    def priors_(self) -> np.ndarray:
        """Class probabilities, (K,)."""
        return self._prior()

    def _prior(self) -> np.ndarray:
        return arguments.check_priors(self.priors, self.classes_, self.class_count_ / self.class_count_.sum())

    def _products(self, classes: np.ndarray | None, pooled: bool) -> ClassScan:
        """The scan that sums products, over all classes together where that is enough."""
        squares = ("gram_sq",) if self.shrinkage == "auto" else ()
        return ClassScan(("sum", "gram", *squares), RowOptions(), classes, how=Products(pooled=pooled and not squares))

    def _shrunk(self, covariances: np.ndarray, together: bool = False) -> np.ndarray:
        """Covariances of the classes, or of all rows `together`, shrunk towards multiples of the identity."""
        return normal_models.shrunk(self._weighted, covariances, self.shrinkage, together)


@persistence.register
class LinearDiscriminantAnalysis(ClassNamePrefixFeaturesOutMixin, TransformerMixin, DiscriminantAnalysis):
    """Linear discriminant analysis: normal rows with one covariance for all classes.

    ``w_y = Sigma^-1 mu_y``, ``b_y = ln P(y) - mu_y' Sigma^-1 mu_y / 2``, for two classes their differences. Like
    scikit-learn's class of this name, from one scan of rows of any kind and size, with weights as frequencies; the
    directions of `scalings_` may have the opposite sign.

    Parameters
    ----------
    solver : {"svd", "lsqr", "eigen"}
        "svd" leaves out constant directions; the others support `shrinkage`.
    shrinkage : None, float or "auto"
        s in ``(1 - s) Sigma + s tr(Sigma) / n I``; "auto": by Ledoit and Wolf (2004), at four times the cost.
    priors : None, "uniform" or (K,)
        Class probabilities in the order of `classes_`; None: shares of the training weight.
    n_components : int, optional
        Columns of `transform`, at most ``min(K - 1, n_features)``.
    store_covariance : bool
        Whether `covariance_` is available with solver="svd" as well.
    tol : float
        For "svd": singular values up to this are taken as 0, with columns scaled to variance 1.
    covariance_estimator : None

    Attributes
    ----------
    classes_, coef_, intercept_, means_, priors_, covariance_, explained_variance_ratio_, scalings_, xbar_
        As in scikit-learn.
    stats_, report_, n_features_in_, feature_names_in_
        As of `GaussianNB`.

    Examples
    --------
    >>> import streamnb as snb
    >>> X = [[0, 0], [2, 0], [1, 3], [4, 4], [6, 4], [5, 7]]
    >>> model = snb.LinearDiscriminantAnalysis().fit(X, [0, 0, 0, 1, 1, 1])
    >>> model.coef_.round(6), model.intercept_.round(6)
    (array([[6., 2.]]), array([-24.]))
    """

    _checks: ClassVar = {
        **DiscriminantAnalysis._checks,
        "solver": one_of("svd", "lsqr", "eigen"),
        "n_components": optional(integer_from(1)),
    }

    def __init__(
        self,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        n_components: int | None = None,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ):
        self.solver, self.shrinkage, self.priors = solver, shrinkage, priors
        self.n_components, self.store_covariance, self.tol = n_components, store_covariance, tol
        self.covariance_estimator = covariance_estimator

    def _check_against(self, stats: Any) -> None:
        most = min(len(stats.classes) - 1, stats.n_features)
        if self.n_components is not None and len(stats.classes) > 1 and self.n_components > most:
            raise ValueError(
                f"n_components cannot be larger than min(n_features, n_classes - 1): n_components={self.n_components} "
                f"should be at most {most}"
            )

    def _check_whole(self, stats: Any) -> None:
        super()._check_whole(stats)
        if stats.n_rows == len(stats.classes):
            raise ValueError("The number of samples must be more than the number of classes.")

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        return self._products(classes, pooled=self.priors is None)

    def _prior(self) -> np.ndarray:
        if self.priors is None or isinstance(self.priors, str):
            return super()._prior()
        given = np.asarray(self.priors, dtype=np.float64)
        if (given < 0).any():
            raise ValueError("priors must be non-negative")
        if given.sum() > 0 and abs(given.sum() - 1.0) > 1e-5:
            warnings.warn("The priors do not sum to 1. Renormalizing", UserWarning, stacklevel=2)
        return arguments.check_priors(given / given.sum(), self.classes_, given)

    @learned
    def _model(self) -> LinearModel:
        coef, intercept = self._parts["coef"], self._parts["intercept"]
        if len(self.classes_) == 2:
            coef, intercept = coef[1:] - coef[:1], intercept[1:] - intercept[:1]
        return LinearModel(self.classes_, np.ascontiguousarray(coef.T), intercept, as_scheme("joint", self.classes_))

    @learned
    def coef_(self) -> np.ndarray:
        """Weights: one row for two classes, else one for each."""
        return self._model.coef_

    @learned
    def intercept_(self) -> np.ndarray:
        """Intercepts, one for each row of `coef_`."""
        return self._model.intercept_

    @learned
    def _parts(self) -> dict[str, Any]:
        """The results of the solver, by name."""
        return {"svd": self._by_svd, "lsqr": self._by_lsqr, "eigen": self._by_eigen}[self.solver]()

    @property
    def _within(self) -> np.ndarray:
        """The covariance within classes, weighted by the priors."""
        if self.priors is None and self.shrinkage != "auto":
            return self._shrunk(self._covariances.common[None], together=True)[0]
        return np.tensordot(self._now("priors_"), self._shrunk(self._covariances.own), 1)

    def _by_lsqr(self) -> dict[str, Any]:
        means, covariance = self._covariances.means, self._within
        coef = scipy.linalg.lstsq(covariance, means.T)[0].T
        intercept = logs(self._now("priors_")) - np.einsum("kj,kj->k", means, coef) / 2.0
        return {"coef": coef, "intercept": intercept, "covariance": covariance}

    def _by_eigen(self) -> dict[str, Any]:
        known, within = self._covariances, self._within
        apart = known.means - known.centre
        total = known.common + (apart * self.class_count_[:, None]).T @ apart / self.class_count_.sum()
        values, vectors = scipy.linalg.eigh(self._shrunk(total[None], together=True)[0] - within, within)
        vectors = vectors[:, np.argsort(values)[::-1]]
        coef = known.means @ vectors @ vectors.T
        intercept = logs(self._now("priors_")) - np.einsum("kj,kj->k", known.means, coef) / 2.0
        ratio = np.sort(values / values.sum())[::-1]
        return {"coef": coef, "intercept": intercept, "covariance": within, "ratio": ratio, "scalings": vectors}

    def _by_svd(self) -> dict[str, Any]:
        known, priors = self._covariances, self._now("priors_")
        sizes = np.sqrt(np.maximum(known.common.diagonal(), 0.0))
        sizes[~np.isin(np.arange(len(sizes)), known.kept) | (sizes == 0.0)] = 1.0
        values, vectors = np.linalg.eigh(known.common / sizes / sizes[:, None])
        kept = np.flatnonzero(np.sqrt(np.maximum(values, 0.0)) > self.tol)[::-1]
        if not len(kept):
            raise ValueError(f"no feature of X varies within the classes by more than tol={self.tol:g}")
        scalings = vectors[:, kept] / sizes[:, None] / np.sqrt(values[kept])
        centre = priors @ known.means
        apart = np.sqrt(self.class_count_.sum() * priors / max(len(priors) - 1, 1))[:, None] * (known.means - centre)
        _, sizes, axes = np.linalg.svd(apart @ scalings, full_matrices=False)
        scalings = scalings @ axes.T[:, : np.count_nonzero(sizes > self.tol * sizes[0])]
        coef, ratio = (known.means - centre) @ scalings, sizes**2 / (sizes**2).sum()
        intercept = logs(priors) - (coef**2).sum(axis=1) / 2.0
        coef = coef @ scalings.T
        intercept -= centre @ coef.T
        return {"coef": coef, "intercept": intercept, "ratio": ratio, "scalings": scalings, "xbar": centre}

    @learned
    def covariance_(self) -> np.ndarray:
        """The covariance within classes, (n_features, n_features)."""
        if self.solver == "svd" and not self.store_covariance:
            raise AttributeError("covariance_ of solver='svd' is there with store_covariance=True")
        return self._within

    @learned
    def explained_variance_ratio_(self) -> np.ndarray:
        """Share of each column of `transform` in the variance between classes."""
        return self._of_directions("ratio")[: self._n_components()]

    @learned
    def scalings_(self) -> np.ndarray:
        """Directions on which rows are projected, (n_features, n_directions)."""
        return self._of_directions("scalings")

    @learned
    def xbar_(self) -> np.ndarray:
        """The mean weighted by class probabilities, (n_features,), for solver="svd"."""
        return self._of_directions("xbar")

    def _of_directions(self, name: str) -> np.ndarray:
        if name not in self._parts:
            raise AttributeError(f"solver={self.solver!r} finds no {name}")
        return self._parts[name]

    def _n_components(self) -> int:
        most = min(len(self.classes_) - 1, self.n_features_in_)
        return most if self.n_components is None else self.n_components

    @property
    def _n_features_out(self) -> int:
        return min(self._n_components(), self.scalings_.shape[1])

    def transform(self, X: Rows, *, out: Any = None) -> Any:
        """Project rows onto the most discriminative directions, (n_rows, n_components)."""
        if self.solver == "lsqr":
            raise NotImplementedError("transform not implemented for 'lsqr' solver (use 'svd' or 'eigen').")
        _, rows = self._ready(X)
        scalings = np.ascontiguousarray(self.scalings_[:, : self._n_components()])
        shift = self.xbar_ @ scalings if self.solver == "svd" else np.zeros(scalings.shape[1])
        directions = LinearModel(self.classes_, scalings, -shift, Joint())
        return directions.answer(rows, unchanged, scalings.shape[1], np.dtype(np.float64), out)


@persistence.register
class QuadraticDiscriminantAnalysis(DiscriminantAnalysis):
    """Quadratic discriminant analysis: normal rows with a covariance for each class.

    ``ln P(y) - (ln det Sigma_y + (x - mu_y)' Sigma_y^-1 (x - mu_y)) / 2``, like scikit-learn's class (version 1.8 and
    later, which divides covariances by the number of rows), from one scan of rows of any kind and size.

    Parameters
    ----------
    solver : {"svd", "eigen"}
        "svd" supports `reg_param`, "eigen" `shrinkage`; both diagonalise covariances.
    shrinkage : None, float or "auto"
        s in ``(1 - s) Sigma_y + s tr(Sigma_y) / n I``; "auto" as for `LinearDiscriminantAnalysis`.
    priors : None, "uniform" or (K,)
        As for `LinearDiscriminantAnalysis`.
    reg_param : float
        r in ``(1 - r) Sigma_y + r I``.
    store_covariance : bool
        Whether `covariance_` is available.
    tol : float
        A variance up to this in any direction is an error.
    covariance_estimator : None

    Attributes
    ----------
    classes_, means_, priors_, covariance_, rotations_, scalings_
        As in scikit-learn.
    stats_, report_, n_features_in_, feature_names_in_
        As of `GaussianNB`.

    Examples
    --------
    >>> import streamnb as snb
    >>> X = [[0, 0], [2, 0], [1, 3], [4, 4], [6, 4], [5, 7]]
    >>> snb.QuadraticDiscriminantAnalysis().fit(X, [0, 0, 0, 1, 1, 1]).predict([[1, 1], [5, 5]]).tolist()
    [0, 1]
    """

    _checks: ClassVar = {
        **DiscriminantAnalysis._checks,
        "solver": one_of("svd", "eigen"),
        "reg_param": arguments.share,
    }

    def __init__(
        self,
        *,
        solver: str = "svd",
        shrinkage: Any = None,
        priors: Any = None,
        reg_param: float = 0.0,
        store_covariance: bool = False,
        tol: float = 1e-4,
        covariance_estimator: Any = None,
    ):
        self.solver, self.shrinkage, self.priors, self.reg_param = solver, shrinkage, priors, reg_param
        self.store_covariance, self.tol, self.covariance_estimator = store_covariance, tol, covariance_estimator

    def _task(self, classes: np.ndarray | None) -> ClassScan:
        return self._products(classes, pooled=False)

    def _check_whole(self, stats: Any) -> None:
        super()._check_whole(stats)
        alone = (stats.rows == 1) & (stats.weight > 0.0)
        if alone.any():
            label = stats.classes[alone][0]
            raise ValueError(f"y has only 1 sample in class {label}, covariance is ill defined.")

    @learned
    def _axes(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Variances and directions of each class."""
        axes, shrunk = [], self._shrunk(self._covariances.own)
        of_classes = zip(self.classes_, self.stats_.rows, self.class_count_, shrunk, strict=True)
        for label, n_rows, weight, covariance in of_classes:
            values, vectors = np.linalg.eigh(covariance)
            values = np.maximum(values[::-1], 0.0)
            if self.solver == "svd":
                values = (1.0 - self.reg_param) * values + self.reg_param
            if weight > 0.0 and (values <= self.tol).any():
                cure = "reg_param" if self.solver == "svd" else "shrinkage"
                raise np.linalg.LinAlgError(
                    f"The covariance matrix of class {label} is not full rank: it has {n_rows:,} rows for "
                    f"{len(covariance):,} features. Increase the value of `{cure}` to reduce the collinearity."
                )
            axes.append((values, vectors[:, ::-1]))
        return axes

    @learned
    def _model(self) -> LinearModel:
        roots = np.stack([vectors / np.sqrt(np.where(values > 0.0, values, 1.0)) for values, vectors in self._axes])
        log_dets = np.array([np.log(np.where(values > 0.0, values, 1.0)).sum() for values, _ in self._axes])
        offsets = np.where(self.class_count_ > 0.0, logs(self._now("priors_")), -np.inf) - log_dets / 2.0
        intercept, means = offsets if len(offsets) > 2 else offsets[1:] - offsets[:1], self._covariances.means
        nothing, scheme = np.zeros((means.shape[1], len(intercept))), as_scheme("joint", self.classes_)
        return CovarianceModel(self.classes_, nothing, intercept, scheme, means=means, roots=roots, log_dets=log_dets)

    @learned
    def rotations_(self) -> list[np.ndarray]:
        """Directions of each class, (n_features, n_features)."""
        return [vectors for _, vectors in self._axes]

    @learned
    def scalings_(self) -> list[np.ndarray]:
        """Variances in these directions, (n_features,)."""
        return [values for values, _ in self._axes]

    @learned
    def covariance_(self) -> list[np.ndarray]:
        """Covariances of the classes, (n_features, n_features) each."""
        if not self.store_covariance:
            raise AttributeError("covariance_ is there with store_covariance=True")
        return [vectors * values @ vectors.T for values, vectors in self._axes]
