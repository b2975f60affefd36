"""Estimators that differ from what scikit-learn expects where they have to, which docs/guide.md says."""

import pytest
from sklearn.utils.estimator_checks import parametrize_with_checks

import streamnb as snb

MODELS = {
    snb.StackedNB(["gaussian", "bernoulli"]): dict.fromkeys(
        [f"check_sample_weight_equivalence_on_{kind}_data" for kind in ("dense", "sparse")],
        "folds are of rows, whatever their weights",
    ),
    snb.CategoryCounters(folds=2): dict.fromkeys(
        ["check_transformer_general", "check_transformer_data_not_an_array"],
        "fit_transform encodes a row by the rows of other folds",
    ),
    snb.Hashed(64): {},
}


def differs(estimator):
    return next(failed for model, failed in MODELS.items() if repr(model) == repr(estimator))


@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")
@parametrize_with_checks([*MODELS], expected_failed_checks=differs)
def test_scikit_learn_checks(estimator, check):
    check(estimator)
