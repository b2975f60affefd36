"""streamnb: every regularised naive linear Bayes model from one scan of the data.

The heavy parts are imported on first use (PEP 562), so ``import streamnb`` costs next to nothing.
"""

from importlib import import_module
from typing import Any

__version__ = "0.4.0"

_NAMES = {  # public names by module
    "scanning.class_scan": "scan",
    "scanning.planning": "plan",
    "scanning.describing": "describe Description",
    "scanning.user_tasks": "accumulate drive",
    "passes.contract": "PassTask",
    "passes.statistic": "Statistic",
    "passes.passes": "Pass",
    "passes.fit": "together of_fold cross_validated searched",
    "core.scratch": "set_scratch",
    "rows.splits": "fold_numbers",
    "rows.train_test": "train_test_split",
    "stats.class_stats": "ClassStats",
    "rows.clipping": "Clip",
    "rows.in_svmlight": "svmlight",
    "rows.writing": "write_csr",
    "encoding.converting": "convert",
    "encoding.table": "table",
    "encoding.text": "text",
    "encoding.sequences": "sequences",
    "encoding.codegrams": "codegram codegram_names",
    "problem.family": "Family",
    "problem.families": "Gaussian Poisson Bernoulli Binomial Geometric NegativeBinomial Gamma InverseGaussian Laplace "
    "ChiSquared Dirichlet Beta",
    "problem.multinomial": "Multinomial Categorical",
    "problem.mixed": "Mixed",
    "problem.smoothing": "BetaPrior DirichletPrior GammaPrior NormalInverseGamma",
    "problem.penalties": "L1 L2 TopK Decorrelation Separable Custom",
    "problem.sides": "UNLABELLED",
    "solving.weight_paths": "solve WeightPath",
    "selection.cross_validation": "fold_likelihood",
    "solving.l1_grid": "tau_for",
    "selection.features": "rank_features ReliefF TreeFeatures FCBF",
    "selection.feature_ranking": "sample_rows FeatureRanking",
    "selection.wrappers": "ForwardSelection IncrementalSelection BackwardElimination ExhaustiveSearch",
    "models.linear": "LinearModel",
    "models.portable": "PortableModel PortableRegression",
    "evaluation.evaluation": "Evaluation",
    "evaluation.evaluating": "evaluate",
    "models.decision_rule": "balancing_shift",
    "searching.comparing": "compare Comparison",
    "searching.comparing_models": "compare_models ModelComparison",
    "additive.classifier": "AdditiveClassifier",
    "additive.regressor": "AdditiveRegressor",
    "estimators.linear_nb": "LinearNB",
    "estimators.linear_nb_cv": "LinearNBCV",
    "estimators.trained_models": "SoftmaxRegression SoftmaxRegressionCV MarginClassifier MarginClassifierCV "
    "LeastSquaresClassifier LeastSquaresClassifierCV LabelSpace LabelSpaceCV GeneralizedNB",
    "estimators.penalised": "Ridge Lasso ElasticNet",
    "estimators.chosen": "ElasticNetCV ForwardRegression",
    "estimators.generalized": "PoissonRegressor GammaRegressor TweedieRegressor PoissonRegressorCV GammaRegressorCV "
    "TweedieRegressorCV",
    "estimators.target_sums": "TargetSums",
    "estimators.errors": "RegressionEvaluation",
    "estimators.stacked_nb": "StackedNB",
    "estimators.crammer_singer": "CrammerSingerSVM CrammerSingerSVMCV",
    "estimators.selector": "FeatureSelector",
    "estimators.transformers": "Bins HashedText KMerVectorizer Hashed",
    "estimators.category_counters": "CategoryCounters",
    "estimators.drop_ins": "MultinomialNB ComplementNB BernoulliNB PoissonNB GaussianNB",
    "estimators.categorical_nb": "CategoricalNB",
    "estimators.tree_nb": "TreeNB",
    "estimators.class_sets": "OutputCodeNB HierarchyNB",
    "estimators.discriminant_analysis": "LinearDiscriminantAnalysis QuadraticDiscriminantAnalysis",
    "corpora.predictions": "write_predictions",
    "corpora.selecting": "select",
    "estimators.annotating": "write_markers",
    "searching.searching": "search",
    "searching.search_result": "Search",
    "searching.warming": "warm",
    "reporting.report": "report",
    "core.persistence": "load",
    "scanning.schema": "schema Schema",
    "reporting.terms": "AdditiveDisplay",
    "reporting.weights": "RegressionPathDisplay RegularizationPathDisplay",
    "reporting.scores": "ScoreDisplay SelectionDisplay",
    "reporting.evaluations": "RocDisplay ReliabilityDisplay ConfusionMatrixDisplay DecileDisplay "
    "PredictionErrorDisplay",
    "reporting.forest": "SearchDisplay DifferencesDisplay SlicesDisplay",
    "reporting.telling": "TellingFeaturesDisplay TreeDisplay",
    "core.messages": "DataError StreamnbWarning",
}
_HOMES = {name: module for module, names in _NAMES.items() for name in names.split()}

__all__ = ["__version__", *_HOMES]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        hint = import_module("streamnb.core.guesses").hint(name)
        raise AttributeError(f"module 'streamnb' has no attribute {name!r}{hint}")
    value = getattr(import_module(f"streamnb.{_HOMES[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
