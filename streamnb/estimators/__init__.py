"""The scikit-learn contract on top of scan and solve: thin, no arithmetic."""

from streamnb.estimators.categorical_nb import CategoricalNB
from streamnb.estimators.discrete_nb import BernoulliNB, ComplementNB, MultinomialNB, PoissonNB
from streamnb.estimators.gaussian_nb import GaussianNB
from streamnb.estimators.linear_nb import LinearNB
from streamnb.estimators.linear_nb_cv import LinearNBCV
from streamnb.estimators.selector import FeatureSelector
from streamnb.persistence import load

__all__ = [
    "BernoulliNB",
    "CategoricalNB",
    "ComplementNB",
    "FeatureSelector",
    "GaussianNB",
    "LinearNB",
    "LinearNBCV",
    "MultinomialNB",
    "PoissonNB",
    "load",
]
