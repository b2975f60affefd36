"""Models of normal rows over a grid of shrinkages, each computed when it is needed."""

from operator import index
from typing import Any

import numpy as np

from streamnb.core import arguments, messages, persistence
from streamnb.encoding.learning import check_applied
from streamnb.models.linear import LinearModel
from streamnb.models.quadratic import CovarianceModel
from streamnb.problem.family import Family
from streamnb.problem.schemes import Scheme, as_scheme
from streamnb.problem.smoothing import log_class_priors
from streamnb.solving.covariances import Basis, Covariances
from streamnb.stats.class_stats import ClassStats


@persistence.register
class CovariancePath:
    """The models of all shrinkages (a, g) of a `Gaussian` with covariances; none is kept.

    Attributes
    ----------
    grid : list of dict
        The points, such as ``{"a": 0.2, "g": 0.01}``, with the "map" of the columns if the family has one.
    n_features, n_features_per_class : (G,) and (G, R) int
        Number of features that are not constant.
    """

    penalty = None

    def __init__(self, stats: ClassStats, family: Family, scheme: Scheme, priors: Any, options: dict[str, Any]):
        self.stats, self.family, self.scheme, self.asked = stats, family, scheme, options
        self.points = family.points
        mapped = {"map": family.map_names[0]} if family.map_names else {}
        self.grid: list[dict[str, Any]] = [{**mapped, "a": a, "g": g} for a, g in self.points]
        self.covariances, self.n_rows = Covariances(stats), scheme.n_rows(len(stats.classes))
        self.log_priors = log_class_priors(priors, stats, options.get("estimate", "posterior_mean"))

    def __len__(self) -> int:
        return len(self.grid)

    def __repr__(self) -> str:
        return f"<CovariancePath: {len(self):,} models of {self.family!r}, {self.scheme.name}>"

    @property
    def n_features(self) -> np.ndarray:
        return np.full(len(self), len(self.covariances.kept))

    @property
    def n_features_per_class(self) -> np.ndarray:
        return np.full((len(self), self.n_rows), len(self.covariances.kept))

    @property
    def saturated(self) -> np.ndarray:
        """0 for every point, as no branch of solutions ends."""
        return np.zeros(len(self), np.int64)

    def shell(self) -> LinearModel:
        """Return a model without weights: the transforms of rows and the meaning of scores."""
        nothing = np.zeros((self.stats.n_features, 0))
        return LinearModel(self.stats.classes, nothing, np.zeros(0), self.scheme, self.stats.options)

    def __getitem__(self, i: int) -> CovarianceModel:
        point = self.points[index(i)]
        (basis,) = self.covariances.bases((point,))
        if np.isnan(basis.inverse).any():
            self.covariances.refuse_singular(point)
        return self._model(basis)

    def _model(self, basis: Basis) -> CovarianceModel:
        known, n_classes = self.covariances, len(self.stats.classes)
        kept, n = known.kept, self.stats.n_features
        roots = np.zeros((len(basis.axes), n, n))
        roots[:, kept[:, None], kept] = basis.axes * np.sqrt(basis.inverse[:, None, :, 0])
        log_dets = np.broadcast_to(basis.log_dets[:, 0], n_classes).copy()
        offsets = self.log_priors - log_dets / 2.0
        linear = len(roots) == 1
        weights, halves = _of_one(known.means, known.centre, roots[0], n_classes == 2)
        weights[:, ~known.seen if n_classes > 2 else np.full(1, not known.seen.all())] = 0.0
        intercept = offsets if n_classes > 2 else np.array([_difference(*offsets[::-1])])
        if linear:
            intercept = intercept - np.where(np.isfinite(intercept), halves, 0.0)
        return CovarianceModel(
            self.stats.classes,
            weights if linear else np.zeros_like(weights),
            intercept,
            self.scheme,
            self.stats.options,
            privacy_=self.stats.privacy,
            means=known.means,
            roots=roots,
            log_dets=log_dets,
        )

    def save(self, path: Any) -> None:
        """Write statistics and family to one file, from which `snb.load` makes the same models."""
        persistence.save(path, self)

    def _to_state(self) -> dict[str, Any]:
        options = {"priors": self.asked.get("priors"), "estimate": self.asked.get("estimate", "posterior_mean")}
        return {"stats": self.stats, "family": self.family, **options}

    @classmethod
    def _from_state(cls, state: dict[str, Any]) -> Any:
        kinds = {"stats": ClassStats, "family": Family, "priors": Any, "estimate": Any}
        stats, family, priors, estimate = persistence.parts(cls, state, **kinds)
        if not family.covariant:
            raise ValueError("a path of covariances should have a family with covariances")
        options = {"priors": priors, "estimate": estimate}
        return covariance_path(stats, family, as_scheme("joint", stats.classes, None, stats.multilabel), options)


def _of_one(means: np.ndarray, centre: np.ndarray, root: np.ndarray, two: bool) -> tuple[np.ndarray, np.ndarray]:
    """Return weights (n_features, R) for one covariance, and half their products with sums of means, (R,)."""
    apart = means[1:] - means[:1] if two else means - centre
    sums = means[1:] + means[:1] if two else means + centre
    weights = root @ (apart @ root).T
    return np.ascontiguousarray(weights), np.einsum("kj,jk->k", sums, weights) / 2.0


def _difference(a: float, b: float) -> float:
    """Return a - b, where either may be -inf."""
    return 0.0 if a == b else float(a - b)


def covariance_path(stats: ClassStats, family: Family, scheme: Scheme, options: dict[str, Any]) -> CovariancePath:
    """Return the path of a family with covariances; raise an error for options that do not apply to these."""
    if len(family.map_names) > 1:
        n_maps = len(family.map_names)
        raise ValueError(f"family={family!r} has {n_maps} maps, and statistics are of one; give one of them")
    if family.map_names:
        check_applied(family.map_names, stats.options.columns)
    arguments.one_of("estimate", options.get("estimate", "posterior_mean"), ["posterior_mean", "mle"])
    missing = [moment for moment in family.moments if moment not in stats.moments]
    if missing:
        stats.table(missing[0])  # raises the error
    if (stats.weight > 0.0).sum() < 2:
        raise ValueError(f"y holds rows of one class only, {messages.listed(stats.classes[stats.weight > 0.0])}")
    return CovariancePath(stats, family, scheme, options.get("priors"), options)
