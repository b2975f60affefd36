import numpy as np
from benchopt import BaseObjective
from benchopt.stopping_criterion import SufficientProgressCriterion


class Objective(BaseObjective):
    """l2-penalised logistic regression of two classes; labels are -1 and 1."""

    name = "Logistic regression"
    min_benchopt_version = "1.6"
    parameters = {"l2": [1.0, 100.0]}
    sampling_strategy = "iteration"
    stopping_criterion = SufficientProgressCriterion(patience=6, strategy="iteration")

    def set_data(self, X, y, X_test, y_test):
        self.X, self.y, self.X_test, self.y_test = X, y, X_test, y_test

    def get_objective(self):
        return {"X": self.X, "y": self.y, "l2": self.l2}

    def evaluate_result(self, weights, intercept):
        loss = np.logaddexp(0.0, -self.y * (self.X @ weights + intercept)).sum()
        margins = self.y_test * (self.X_test @ weights + intercept)
        return {
            "value": loss + self.l2 / 2 * weights @ weights,
            "test_log_loss": np.logaddexp(0.0, -margins).mean(),
            "test_accuracy": (margins > 0).mean(),
        }

    def get_one_result(self):
        return {"weights": np.zeros(self.X.shape[1]), "intercept": 0.0}
