"""The scikit-learn contract on top of scan and solve: thin, no arithmetic."""

from streamnb.estimators.linear_nb import LinearNB
from streamnb.persistence import load

__all__ = ["LinearNB", "load"]
