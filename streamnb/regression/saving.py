"""Files of regressions: their sums, from which the weights follow, weights that were found without, and exports."""

from __future__ import annotations

from dataclasses import asdict, replace
from typing import Any

import numpy as np
from sklearn.linear_model import LinearRegression
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, persistence
from streamnb.estimators import preparation
from streamnb.estimators.exporting import checked_meta
from streamnb.estimators.preparation import StepRequest
from streamnb.export.writing import RegressionWeights, linear_regression_of, write
from streamnb.passes.contract import Report
from streamnb.regression.target_sums import TargetSums

_WIDE = "n_features_in_", "coef_", "intercept_", "alpha_", "n_passes_", "converged_"  # of models without sums
_FITTED = "stats_", "report_", "decay_", *_WIDE, *preparation.OF_ROWS


def save(self: Any, path: Any, *, meta: Any = None) -> None:
    """Write to one file, no pickle; read it with `snb.load`. `meta`, a dict, is kept as `meta_`."""
    check_is_fitted(self)
    if meta is not None:
        self.meta_ = checked_meta(meta)
    persistence.save(path, self)


def to_state(self: Any) -> dict[str, Any]:
    """Parameters of the fit and what follows from rows, for a file."""
    fitted: dict[str, Any] = {"report_": asdict(self.report_)}
    if hasattr(self, "stats_"):
        fitted |= {"stats_": replace(self.stats_, encoding=None), "decay_": self.decay_}
    else:
        fitted |= {name: getattr(self, name) for name in _WIDE}
    return {"params": self._used, "fitted": fitted | self._state_of_rows()}


def from_state(cls: Any, state: dict[str, Any]) -> Any:
    """The regression from its saved state."""
    params, fitted = persistence.parts(cls, state, params=dict[str, Any], fitted=dict[str, Any])
    self, fitted = cls(**params), persistence.known(cls, fitted, *_FITTED)
    self._check_params()
    self._n_threads = 1
    report = persistence.restored(Report, fitted["report_"])
    if "stats_" not in fitted:
        _restore_wide(self, fitted)
        self.report_, self._used = report, self.get_params(deep=False)
        self._restore_rows(fitted, StepRequest(cls.__name__), None, self.n_features_in_)
        return self
    stats, decay = fitted["stats_"], arguments.finite_number("decay_", fitted["decay_"], minimum=0.0)
    if not isinstance(stats, TargetSums) or decay > 1.0:
        raise ValueError(f"stats_ are of type {type(stats).__name__}, decay_ is {decay}")
    self._restore_rows(fitted, StepRequest(cls.__name__), None, stats.n_features)
    self._keep(stats, report, decay)
    self._finish()
    return self


def _restore_wide(self: Any, fitted: dict[str, Any]) -> None:
    """Restore a model without sums from a file."""
    weights, intercepts = np.atleast_2d(fitted["coef_"]), np.atleast_1d(fitted["intercept_"])
    if np.ndim(fitted["coef_"]) != np.ndim(fitted["intercept_"]) + 1:
        raise ValueError("coef_ should have one dimension more than intercept_")
    persistence.array(
        "coef_", weights, ["f8"], (len(intercepts), arguments.whole_number("n_features_in_", fitted["n_features_in_"]))
    )
    persistence.array("intercept_", intercepts, ["f8"], (None,))
    if not np.isfinite(weights).all() or not np.isfinite(intercepts).all():
        raise ValueError("coef_ and intercept_ should be finite")
    self.n_features_in_ = weights.shape[1]
    self._set_weights(weights.T, intercepts)
    self.alpha_ = arguments.finite_number("alpha_", fitted["alpha_"], minimum=0.0)
    self.n_passes_ = arguments.whole_number("n_passes_", fitted["n_passes_"])
    self.converged_ = arguments.one_of("converged_", fitted["converged_"], [True, False])


def export(self: Any, path: Any) -> None:
    """Write the weights, without sums, to a file that other programs predict with.

    Parameters
    ----------
    path : path or URL
        "m.onnx": an ONNX graph (``pip install streamnb[onnx]``) with the input "rows", float32 (n_rows,
        n_features), and the output "predictions", float64. "m.json": a list of weights for each target, intercepts and
        names of features. Rows of a model of a table have one number for each of its columns, in the order of the
        file's feature names.

    Raises
    ------
    ValueError
        The name has another ending, or a column of the table is not one of complete numbers. Nothing is written then.
    ImportError
        onnx is not installed.

    Examples
    --------
    >>> import json, pathlib, tempfile, streamnb as snb
    >>> model = snb.Ridge(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     model.export(f"{folder}/m.json")
    ...     sorted(json.loads(pathlib.Path(folder, "m.json").read_text()))
    ['feature_names', 'format', 'intercepts', 'version', 'weights']
    """
    write(path, lambda: _weights_of(self))


def to_sklearn(self: Any) -> LinearRegression:
    """The model as a fitted LinearRegression of scikit-learn, which does not need this package.

    Raises
    ------
    ValueError
        As for `export`.

    Examples
    --------
    >>> import streamnb as snb
    >>> model = snb.Ridge(alpha=0.0).fit([[0.0], [1.0], [2.0]], [1.0, 3.0, 5.0])
    >>> model.to_sklearn().predict([[3.0]]).round(6)
    array([7.])
    """
    return linear_regression_of(_weights_of(self))


def _weights_of(self: Any) -> RegressionWeights:
    check_is_fitted(self)
    weights, names = np.atleast_2d(self.coef_).T, getattr(self, "feature_names_in_", None)
    return RegressionWeights(weights, np.atleast_1d(self.intercept_), names).of_columns(self.encoding_)
