"""What the two models differ in: probabilities, and calibration."""

import numpy as np
import pytest
from sklearn.metrics import log_loss

import streamnb as snb
from tests.estimators.test_trained import X, Y


def test_margins_have_no_probabilities_to_be_judged_by_but_may_be_calibrated():
    with pytest.raises(ValueError, match="scoring='neg_log_loss' needs probabilities, and MarginClassifierCV"):
        snb.MarginClassifierCV(scoring="neg_log_loss").fit(X, Y)
    model = snb.MarginClassifierCV(1.0, max_passes=3, calibration="sigmoid", scoring="accuracy")
    assert model.get_params()["calibration"] == "sigmoid"
    assert "calibration" not in snb.SoftmaxRegressionCV().get_params()


@pytest.mark.filterwarnings("ignore:max_passes:streamnb.StreamnbWarning")
def test_joint_margins_are_judged_by_the_probabilities_that_the_model_gives():
    folds = snb.fold_numbers(len(Y), 3)
    asked = {"folds": folds, "scoring": ["neg_log_loss", "roc_auc"], "max_passes": 2}
    chosen = snb.MarginClassifierCV(1.0, scheme="joint", **asked).fit(X, Y)
    alone, at = snb.MarginClassifier(1.0, scheme="joint", max_passes=2), chosen.cv_results_["params"].tolist()
    losses = []
    for fold in range(3):
        model = alone.fit(X[folds != fold], Y[folds != fold])
        losses.append(-log_loss(Y[folds == fold], model.predict_proba(X[folds == fold]), labels=model.classes_))
    point = at.index({"l2": 1.0, "l1": 0.0, "max_passes": 2})
    assert chosen.cv_results_["mean_test_score"][point] == pytest.approx(np.mean(losses), rel=1e-9)
