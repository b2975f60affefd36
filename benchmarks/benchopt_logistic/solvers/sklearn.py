import warnings

from benchopt import BaseSolver
from sklearn.linear_model import LogisticRegression


class Solver(BaseSolver):
    name = "sklearn"
    requirements = ["scikit-learn"]
    parameters = {"solver": ["lbfgs", "newton-cholesky", "liblinear"]}

    def set_objective(self, X, y, l2):
        self.X, self.y, self.l2 = X, y, l2

    def skip(self, X, y, l2):
        if self.solver == "newton-cholesky" and X.shape[1] > 5_000:
            return True, "a Hessian of all features is too large"
        return False, None

    def run(self, n_iter):
        model = LogisticRegression(C=1.0 / self.l2, solver=self.solver, tol=1e-12, max_iter=max(n_iter, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not converged, which is the point here
            self.model = model.fit(self.X, self.y)

    def get_result(self):
        return {"weights": self.model.coef_[0], "intercept": self.model.intercept_[0]}
