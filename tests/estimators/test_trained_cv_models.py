"""What the two models differ in: probabilities, and calibration."""

import pytest

import streamnb as snb
from tests.estimators.test_trained import X, Y


def test_margins_have_no_probabilities_to_be_judged_by_but_may_be_calibrated():
    with pytest.raises(ValueError, match="scoring='neg_log_loss' needs probabilities, and MarginClassifierCV"):
        snb.MarginClassifierCV(scoring="neg_log_loss").fit(X, Y)
    model = snb.MarginClassifierCV(1.0, max_passes=3, calibration="sigmoid", scoring="accuracy")
    assert model.get_params()["calibration"] == "sigmoid"
    assert "calibration" not in snb.SoftmaxRegressionCV().get_params()
