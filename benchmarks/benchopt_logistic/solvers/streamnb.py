import warnings

from benchopt import BaseSolver

import streamnb as snb


class Solver(BaseSolver):
    """One scan and `n_iter` reads of the rows."""

    name = "streamnb"
    requirements = ["streamnb"]

    def set_objective(self, X, y, l2):
        self.X, self.y, self.l2 = X, y, l2

    def warm_up(self):
        self.run_once(1)  # compiles kernels

    def run(self, n_iter):
        model = snb.SoftmaxRegression(self.l2, tol=1e-10, max_passes=max(n_iter, 1))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that it has not converged, which is the point here
            self.model = model.fit(self.X, self.y, n_threads=1, progress=False)

    def get_result(self):
        return {"weights": self.model.coef_[0], "intercept": self.model.intercept_[0]}
