"""streamnb: every regularised naive linear Bayes model from one scan of the data.

The heavy parts are imported on first use (PEP 562), so ``import streamnb`` costs next to nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.2.0"

_HOMES = {
    "scan": "scanning.class_scan",
    "plan": "scanning.planning",
    "accumulate": "scanning.user_tasks",
    "PassTask": "passes.contract",
    "set_scratch": "core.scratch",
    "fold_numbers": "rows.splits",
    "ClassStats": "stats.class_stats",
    "svmlight": "rows.in_svmlight",
    "write_csr": "rows.writing",
    "convert": "encoding.converting",
    "table": "encoding.table",
    "text": "encoding.text",
    "codegram": "encoding.codegrams",
    "codegram_names": "encoding.codegrams",
    "Family": "problem.family",
    "Gaussian": "problem.families",
    "Poisson": "problem.families",
    "Bernoulli": "problem.families",
    "Multinomial": "problem.multinomial",
    "Categorical": "problem.multinomial",
    "Binomial": "problem.families",
    "Geometric": "problem.families",
    "NegativeBinomial": "problem.families",
    "Gamma": "problem.positive",
    "InverseGaussian": "problem.positive",
    "Laplace": "problem.families",
    "ChiSquared": "problem.families",
    "Dirichlet": "problem.together",
    "Beta": "problem.together",
    "Mixed": "problem.mixed",
    "BetaPrior": "problem.priors",
    "DirichletPrior": "problem.priors",
    "GammaPrior": "problem.priors",
    "NormalInverseGamma": "problem.priors",
    "L1": "problem.penalties",
    "L2": "problem.penalties",
    "TopK": "problem.penalties",
    "Decorrelation": "problem.penalties",
    "Separable": "problem.penalties",
    "Custom": "problem.penalties",
    "UNLABELLED": "problem.references",
    "solve": "solving.solving",
    "tau_for": "solving.taus",
    "rank_features": "selection.features",
    "sample_rows": "selection.class_sample",
    "ReliefF": "selection.sampled_searches",
    "TreeFeatures": "selection.sampled_searches",
    "FCBF": "selection.redundancy",
    "ForwardSelection": "selection.wrappers",
    "IncrementalSelection": "selection.wrappers",
    "BackwardElimination": "selection.wrappers",
    "ExhaustiveSearch": "selection.wrappers",
    "FeatureRanking": "selection.feature_ranking",
    "WeightPath": "solving.weight_paths",
    "LinearModel": "models.linear",
    "PortableModel": "models.portable",
    "Evaluation": "evaluation.evaluation",
    "evaluate": "evaluation.evaluating",
    "balancing_shift": "models.decision_rule",
    "compare": "searching.comparing",
    "Comparison": "searching.comparison",
    "AdditiveClassifier": "estimators.additive",
    "LinearNB": "estimators.linear_nb",
    "LinearNBCV": "estimators.linear_nb_cv",
    "SoftmaxRegression": "estimators.trained_models",
    "MarginClassifier": "estimators.trained_models",
    "LabelSpace": "estimators.least_squares",
    "LabelSpaceCV": "estimators.least_squares",
    "LeastSquaresClassifier": "estimators.least_squares",
    "StackedNB": "estimators.stacked_nb",
    "CrammerSingerSVM": "estimators.crammer_singer",
    "CrammerSingerSVMCV": "estimators.crammer_singer",
    "GeneralizedNB": "estimators.trained_models",
    "SoftmaxRegressionCV": "estimators.trained_models",
    "MarginClassifierCV": "estimators.trained_models",
    "LeastSquaresClassifierCV": "estimators.least_squares",
    "FeatureSelector": "estimators.selector",
    "Bins": "estimators.bins",
    "CategoryCounters": "estimators.category_counters",
    "HashedText": "estimators.hashed",
    "Hashed": "estimators.hashed",
    "MultinomialNB": "estimators.discrete_nb",
    "ComplementNB": "estimators.discrete_nb",
    "BernoulliNB": "estimators.discrete_nb",
    "PoissonNB": "estimators.discrete_nb",
    "GaussianNB": "estimators.gaussian_nb",
    "CategoricalNB": "estimators.categorical_nb",
    "TreeNB": "estimators.tree_nb",
    "OutputCodeNB": "estimators.class_sets",
    "HierarchyNB": "estimators.class_sets",
    "LinearDiscriminantAnalysis": "estimators.discriminant_analysis",
    "QuadraticDiscriminantAnalysis": "estimators.discriminant_analysis",
    "search": "searching.searching",
    "Search": "searching.search_result",
    "warm": "searching.warming",
    "load": "core.persistence",
    "AdditiveDisplay": "plotting",
    "RegularizationPathDisplay": "plotting",
    "ScoreDisplay": "plotting",
    "RocDisplay": "plotting",
    "SearchDisplay": "plotting",
    "SelectionDisplay": "plotting",
    "ReliabilityDisplay": "plotting",
    "ConfusionMatrixDisplay": "plotting",
    "TellingFeaturesDisplay": "plotting",
    "TreeDisplay": "plotting",
    "DataError": "core.messages",
    "StreamnbWarning": "core.messages",
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
