"""Estimators do what scikit-learn expects, but for what docs/guide.md says."""

import warnings

import pytest
from sklearn.utils import estimator_checks
from sklearn.utils.estimator_checks import parametrize_with_checks

import streamnb as snb

EDGES = snb.Bins(edges=[-1.0, 0.0, 1.0])
SAME_WEIGHTS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
OF_FOLDS = dict.fromkeys(SAME_WEIGHTS, "folds are of rows, whatever their weights")
OTHER_FOLDS = dict.fromkeys(
    ["check_transformer_general", "check_transformer_data_not_an_array"],
    "fit_transform encodes a row by the rows of other folds",
)
# of the rows of the checks; some take reals for categories, or have folds without rows of a class
SAID = "max_passes|y holds the whole numbers|k=10|no (feature|column) varies|No features were selected"
NOISY = "MultinomialNB", "GaussianNB", "CategoricalNB", "LinearNBCV", "StackedNB", "CategoryCounters"
MODELS = {  # and the checks that they differ from
    snb.LinearNB(): {},
    snb.LinearNBCV("gaussian", snb.L1([0.0, 0.5]), folds=2, scoring="accuracy"): OF_FOLDS,
    snb.MultinomialNB(): {},
    snb.GaussianNB(): {},
    snb.CategoricalNB(): {},
    snb.TreeNB(): {},
    snb.GeneralizedNB(bins=EDGES, max_passes=8): {},
    snb.OutputCodeNB("gaussian", code_size=2): {},
    snb.StackedNB(["gaussian", "bernoulli"], folds=3): OF_FOLDS,
    snb.QuadraticDiscriminantAnalysis(reg_param=0.1): {},
    snb.SoftmaxRegression(max_passes=10): {},
    snb.CrammerSingerSVM(max_passes=8): {},
    snb.AdditiveClassifier(0, l2=1.0, pair_factor=3.0, resolutions=(4,), folds=3, tol=1e-2): {},
    snb.Ridge(): {},
    snb.Lasso(): {},
    snb.ElasticNetCV(folds=2, n_alphas=3): OF_FOLDS,
    snb.PoissonRegressor(): {},
    snb.AdditiveRegressor(l2=1.0, interactions=0, pair_factor=1.0, folds=2, min_count=1, tol=1e-2): OF_FOLDS,
    snb.FeatureSelector(): {},  # of counts
    snb.FeatureSelector("fcbf", 2): {},  # of any values, beside others
    snb.CategoryCounters(folds=2): OTHER_FOLDS,
    snb.Hashed(64): {},
    snb.Bins(): {},
}
ALIKE = {  # those that share all but their mathematics with one above, by it
    snb.MultinomialNB: ["BernoulliNB", "ComplementNB", "PoissonNB"],
    snb.QuadraticDiscriminantAnalysis: ["LinearDiscriminantAnalysis"],
    snb.SoftmaxRegression: ["LeastSquaresClassifier", "MarginClassifier"],
    snb.LinearNBCV: ["CrammerSingerSVMCV", "LeastSquaresClassifierCV", "MarginClassifierCV", "SoftmaxRegressionCV"],
    snb.ElasticNetCV: ["ForwardRegression", *(f"{kind}RegressorCV" for kind in ("Gamma", "Poisson", "Tweedie"))],
    snb.Lasso: ["ElasticNet"],
    snb.PoissonRegressor: ["GammaRegressor", "TweedieRegressor"],
}
OF_PARAMETERS = (  # the checks that fit once, or never
    "check_estimator_cloneable",
    "check_no_attributes_set_in_init",
    "check_parameters_default_constructible",
    "check_get_params_invariance",
    "check_set_params",
    "check_estimator_tags_renamed",
    "check_estimator_repr",
)
OF_OTHER_ROWS = {"HashedText", "KMerVectorizer", "Schema"}  # than numbers
OF_OTHER_LABELS = {"HierarchyNB", "LabelSpace", "LabelSpaceCV"}  # than one of any classes a row


def differs(estimator):
    return next(failed for model, failed in MODELS.items() if repr(model) == repr(estimator))


@parametrize_with_checks([*MODELS], expected_failed_checks=differs)
def test_scikit_learn_checks(estimator, check):
    with warnings.catch_warnings():
        said = "" if type(estimator).__name__ in NOISY else SAID
        warnings.filterwarnings("ignore", said, snb.StreamnbWarning)
        check(estimator)


@pytest.mark.parametrize("name", sorted(name for names in ALIKE.values() for name in names))
def test_parameters_of_those_that_another_stands_for(name):
    for check in OF_PARAMETERS:
        getattr(estimator_checks, check)(name, getattr(snb, name)())


def test_every_estimator_is_checked_or_another_in_its_place():
    estimators = {name for name in snb.__all__ if hasattr(getattr(snb, name), "fit")}
    checked, alike = {type(model).__name__ for model in MODELS}, {name for names in ALIKE.values() for name in names}
    assert estimators == checked | alike | OF_OTHER_ROWS | OF_OTHER_LABELS
    assert {kind.__name__ for kind in ALIKE} <= checked
