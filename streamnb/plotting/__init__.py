"""Displays in scikit-learn's convention: a `from_...` method makes a display and draws it, `plot` draws it again.

They need matplotlib, ``pip install streamnb[plot]``, and no other room does. Once drawn, a display has `ax_` and
`figure_`. Keywords that `plot` does not name go to matplotlib's lines (or bars).
"""

from streamnb.plotting.candidates import SearchDisplay
from streamnb.plotting.forest import DifferencesDisplay, SlicesDisplay
from streamnb.plotting.regression_paths import RegressionPathDisplay
from streamnb.plotting.reliability import ReliabilityDisplay
from streamnb.plotting.roc import RocDisplay
from streamnb.plotting.scores import ConfusionMatrixDisplay, ScoreDisplay
from streamnb.plotting.selected import SelectionDisplay
from streamnb.plotting.telling import TellingFeaturesDisplay
from streamnb.plotting.terms import AdditiveDisplay
from streamnb.plotting.trees import TreeDisplay
from streamnb.plotting.weights import RegularizationPathDisplay

__all__ = [
    "AdditiveDisplay",
    "ConfusionMatrixDisplay",
    "DifferencesDisplay",
    "RegressionPathDisplay",
    "RegularizationPathDisplay",
    "ReliabilityDisplay",
    "RocDisplay",
    "ScoreDisplay",
    "SearchDisplay",
    "SelectionDisplay",
    "SlicesDisplay",
    "TellingFeaturesDisplay",
    "TreeDisplay",
]
