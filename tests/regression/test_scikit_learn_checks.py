"""Regressions do what scikit-learn expects of its estimators."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import streamnb as snb

SAME_WEIGHTS = [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")]
NOT_SAME = {
    "folds": dict.fromkeys(SAME_WEIGHTS, "folds are of rows, whatever their weights"),
    "solver": dict.fromkeys(
        ["check_fit_score_takes_y", "check_n_features_in_after_fitting"],
        "conjugate gradients keep no sums to which rows could be added",
    ),
}
MODELS = {
    snb.Ridge(): {},
    snb.Ridge(solver="conjugate_gradients", tol=1e-8): NOT_SAME["solver"],
    snb.ElasticNetCV(folds=3, n_alphas=5): NOT_SAME["folds"],
    snb.Lasso(): {},
    snb.ForwardRegression(folds=3): NOT_SAME["folds"],
    snb.PoissonRegressor(): {},
    snb.GammaRegressor(): {},
    snb.TweedieRegressor(1.5): {},
    snb.AdditiveRegressor(l2=1.0, interactions=1, pair_factor=1.0, folds=3, min_count=1): NOT_SAME["folds"],
    snb.PoissonRegressorCV(folds=3, n_alphas=3): NOT_SAME["folds"],
}


def not_same(estimator):
    return next(failed for model, failed in MODELS.items() if repr(model) == repr(estimator))


@pytest.mark.filterwarnings("ignore:y holds the whole numbers:streamnb.StreamnbWarning")
@parametrize_with_checks([*MODELS], expected_failed_checks=not_same)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
