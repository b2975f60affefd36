"""streamnb: every regularised naive linear Bayes model from one scan of the data.

The heavy parts are imported on first use (PEP 562), so ``import streamnb`` costs next to nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.1.0"

_HOMES = {
    "scan": "scanning",
    "plan": "planning",
    "fold_numbers": "folds",
    "ClassStats": "stats.class_stats",
    "write_csr": "data.csr_store",
    "Family": "families",
    "Gaussian": "families",
    "Poisson": "families",
    "Bernoulli": "families",
    "Multinomial": "families",
    "Binomial": "families",
    "Geometric": "families",
    "NegativeBinomial": "families",
    "Gamma": "families",
    "InverseGaussian": "families",
    "Laplace": "families",
    "ChiSquared": "families",
    "Dirichlet": "dirichlet",
    "Beta": "dirichlet",
    "Mixed": "mixed",
    "BetaPrior": "priors",
    "DirichletPrior": "priors",
    "GammaPrior": "priors",
    "NormalInverseGamma": "priors",
    "L1": "penalties",
    "L2": "penalties",
    "TopK": "penalties",
    "Decorrelation": "penalties",
    "Separable": "penalties",
    "solve": "solving",
    "tau_for": "taus",
    "rank_features": "selecting",
    "FeatureRanking": "selecting",
    "WeightPath": "solving",
    "LinearModel": "model",
    "Evaluation": "evaluation",
    "evaluate": "metrics",
    "balancing_shift": "decisions",
    "compare": "comparing",
    "Comparison": "comparing",
    "LinearNB": "estimators.linear_nb",
    "LinearNBCV": "estimators.linear_nb_cv",
    "FeatureSelector": "estimators.selector",
    "MultinomialNB": "estimators.discrete_nb",
    "ComplementNB": "estimators.discrete_nb",
    "BernoulliNB": "estimators.discrete_nb",
    "PoissonNB": "estimators.discrete_nb",
    "GaussianNB": "estimators.gaussian_nb",
    "CategoricalNB": "estimators.categorical_nb",
    "load": "loading",
    "RegularizationPathDisplay": "plotting",
    "ScoreDisplay": "plotting",
    "RocDisplay": "plotting",
    "ConfusionMatrixDisplay": "plotting",
    "TellingFeaturesDisplay": "plotting",
    "DataError": "_checks",
    "StreamnbWarning": "_checks",
}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'streamnb' has no attribute {name!r}")
    value = getattr(import_module(f"streamnb.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
