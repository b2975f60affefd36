"""Files of regressions: their sums, from which the weights follow, or weights that were found without sums."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

import numpy as np
from sklearn.utils.validation import check_is_fitted

from streamnb.core import arguments, persistence
from streamnb.estimators import preparation
from streamnb.estimators.exporting import checked_meta
from streamnb.estimators.preparation import StepRequest
from streamnb.passes.report import Report
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
        fitted |= {"stats_": self.stats_, "decay_": self.decay_}
    else:
        fitted |= {name: getattr(self, name) for name in _WIDE}
    return {"params": self._used, "fitted": fitted | self._state_of_rows()}


def from_state(cls: Any, state: dict[str, Any]) -> Any:
    """The regression from its saved state."""
    self, fitted = cls(**state["params"]), persistence.known(cls, state["fitted"], *_FITTED)
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
