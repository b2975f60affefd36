"""The scikit-learn contract on top of scan and solve: thin, no arithmetic."""

from streamnb.estimators.linear_nb import LinearNB
from streamnb.estimators.selector import FeatureSelector
from streamnb.persistence import load

__all__ = ["FeatureSelector", "LinearNB", "load"]
