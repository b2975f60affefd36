"""The result of `compare_models`: differences with intervals, as text, as HTML and as a data frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from streamnb.core import notebook
from streamnb.core.frames import pandas_for
from streamnb.evaluation.breakdowns import LESS_IS_BETTER
from streamnb.evaluation.differences import Difference, Differences, holm
from streamnb.evaluation.evaluation import Evaluation
from streamnb.evaluation.intervals import described
from streamnb.evaluation.paired import PairedSums
from streamnb.passes.report import Report
from streamnb.plotting.forest import DifferencesDisplay

METRICS = "accuracy", "log_loss", "brier", "roc_auc"


@dataclass(frozen=True, eq=False, repr=False)
class ModelComparison:
    """Differences of models from a baseline on the same rows; prints as a table.

    Attributes
    ----------
    evaluations : dict of str to Evaluation
        The evaluation of each model, the baseline first.
    found : list of (model, metric, Difference)
    report : Report
        Of the read.
    notes : list of str
        What else to know of the intervals.

    Examples
    --------
    >>> import streamnb as snb
    >>> from sklearn.datasets import load_breast_cancer
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> models = {"bayes": snb.LinearNB("gaussian"), "bins": snb.LinearNB("bernoulli", transform=snb.Bins(8))}
    >>> models = {name: model.fit(X[::2], y[::2]) for name, model in models.items()}
    >>> snb.compare_models(models, X[1::2], y[1::2], metrics=["accuracy", "roc_auc"])
    Differences from 'bayes' on the same 284 rows, 95 % intervals of independent rows
                    difference      low     high  p (Holm)
    bins: accuracy     +0.0106  -0.0231  +0.0440    0.6776
    bins: roc_auc      -0.0031  -0.0077  +0.0015    0.3738
    P-values are corrected for 2 comparisons (Holm); each interval stands alone.
    """

    evaluations: dict[str, Evaluation]
    found: list[tuple[str, str, Difference]]
    report: Report
    notes: list[str]

    @classmethod
    def of(cls, names: Sequence[str], sums: PairedSums, metrics: Sequence[str], report: Report) -> ModelComparison:
        """The differences that follow from the sums of a pass."""
        differences = Differences(sums, names)
        found = [
            (name, metric, difference)
            for name in names[1:]
            for metric in metrics
            if (difference := differences.of(metric, name)) is not None
        ]
        if not found:
            raise ValueError(f"metrics={list(metrics)}: no model has any of these that the baseline {names[0]!r} has")
        notes = []
        if differences.n_sampled and any(metric == "roc_auc" for _, metric, _ in found):
            notes = [
                f"roc_auc: standard errors are from a sample of {differences.n_sampled:,} rows, and intervals wider by "
                "the error bound of the areas."
            ]
        return cls(dict(zip(names, sums.evaluations, strict=True)), found, report, notes)

    @property
    def baseline(self) -> str:
        """The model that the others are compared with."""
        return next(iter(self.evaluations))

    @property
    def p_adjusted(self) -> np.ndarray:
        """P-values corrected by Holm for all tests here, (n,)."""
        return holm(np.array([difference.p_value for _, _, difference in self.found]))

    @property
    def differences(self) -> Any:
        """A data frame: model, versus, metric, difference (model less baseline), low, high, p_value and p_adjusted."""
        rows = [
            (name, self.baseline, metric, *difference, adjusted)
            for (name, metric, difference), adjusted in zip(self.found, self.p_adjusted.tolist(), strict=True)
        ]
        columns = ["model", "versus", "metric", "difference", "low", "high", "p_value", "p_adjusted"]
        return pandas_for("differences").DataFrame(rows, columns=columns)

    def plot(self, metric: str | None = None, ax: Any = None, **kwargs: Any) -> DifferencesDisplay:
        """Draw the differences of one metric, the first by default, see `DifferencesDisplay`.

        Parameters
        ----------
        metric : str, optional
        ax : matplotlib axes, optional
        **kwargs
            Properties of the points.
        """
        metric = self.found[0][1] if metric is None else metric
        return DifferencesDisplay.from_differences(self.differences, metric=metric, ax=ax, **kwargs)

    def __repr__(self) -> str:
        return "\n".join([self._caption(), *notebook.aligned(self._table()), *self._notes()])

    def _repr_html_(self) -> str:
        return notebook.html(self._table(), self._notes(), self._caption())

    def _caption(self) -> str:
        first = self.evaluations[self.baseline]
        return f"Differences from {self.baseline!r} on the same {first.n_rows:,} rows, {described(first)}"

    def _table(self) -> list[list[str]]:
        """Cells, header first."""
        table = [["", "difference", "low", "high", "p (Holm)" if len(self.found) > 1 else "p"]]
        for (name, metric, difference), p_value in zip(self.found, self.p_adjusted.tolist(), strict=True):
            numbers = ["nan" if np.isnan(number) else f"{number:+.4f}" for number in difference[:3]]
            table.append([f"{name}: {metric}", *numbers, "< .0001" if p_value < 1e-4 else f"{p_value:.4f}"])
        return table

    def _notes(self) -> list[str]:
        notes = [*self.notes]
        lower = [metric for metric in LESS_IS_BETTER if any(metric == own for _, own, _ in self.found)]
        if lower:
            notes.insert(0, f"Lower is better: {', '.join(lower)}.")
        if len(self.found) > 1:
            notes.append(
                f"P-values are corrected for {len(self.found)} comparisons (Holm); each interval stands alone."
            )
        return notes
