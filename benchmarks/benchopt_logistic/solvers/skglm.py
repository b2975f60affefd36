import warnings

from benchopt import BaseSolver
from skglm import SparseLogisticRegression


class Solver(BaseSolver):
    """Proximal Newton steps by coordinate descent."""

    name = "skglm"
    requirements = ["skglm"]

    def set_objective(self, X, y, l2):
        self.X, self.y, self.l2 = X, y, l2

    def warm_up(self):
        self.run_once(1)  # compiles kernels

    def run(self, n_iter):
        alpha = self.l2 / len(self.y)
        model = SparseLogisticRegression(alpha, l1_ratio=0.0, tol=1e-12, max_iter=max(n_iter, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not converged, which is the point here
            self.model = model.fit(self.X, self.y)

    def get_result(self):
        return {"weights": self.model.coef_.ravel(), "intercept": float(self.model.intercept_)}
