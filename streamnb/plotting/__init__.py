"""Displays in scikit-learn's convention: a `from_...` method makes a display and draws it, `plot` draws it again.

They need matplotlib, ``pip install streamnb[plot]``, and no other room does. Once drawn, a display has `ax_` and
`figure_`. Keywords that `plot` does not name go to matplotlib's lines (or bars).
"""

from streamnb.plotting.evaluations import ConfusionMatrixDisplay, ReliabilityDisplay, RocDisplay
from streamnb.plotting.forest import DifferencesDisplay, SearchDisplay, SlicesDisplay
from streamnb.plotting.numbers import DecileDisplay, PredictionErrorDisplay
from streamnb.plotting.scores import ScoreDisplay, SelectionDisplay
from streamnb.plotting.telling import TellingFeaturesDisplay
from streamnb.plotting.terms import AdditiveDisplay
from streamnb.plotting.trees import TreeDisplay
from streamnb.plotting.weights import RegressionPathDisplay, RegularizationPathDisplay

__all__ = [
    "AdditiveDisplay",
    "ConfusionMatrixDisplay",
    "DecileDisplay",
    "DifferencesDisplay",
    "PredictionErrorDisplay",
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
