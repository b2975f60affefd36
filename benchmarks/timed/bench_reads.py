"""Models that read the rows several times, and the search for a model: reads that many models share."""

import warnings

import streamnb as snb
from benchmarks.peers.problems import topics


class Reads:
    """Classifiers of a few reads, in a fixed number of them."""

    params = (["SoftmaxRegression", "MarginClassifier", "LeastSquaresClassifier"], [20])
    param_names = ("model", "n_classes")
    rows, n_features = 2_000, 2**12

    def setup(self, model, n_classes):
        self.X, self.y = topics(self.rows, self.n_features, n_classes)
        self.model = getattr(snb, model)(normalize="l2", max_passes=5, tol=0.0)
        self.time_fit()  # compiles outside the clock

    def time_fit(self, *_):
        with warnings.catch_warnings(action="ignore"):  # that all reads were spent
            self.model.fit(self.X, self.y)


class SharedReads:
    """Three penalties on three folds, in shared reads."""

    rows, n_features = 2_000, 2**12

    def setup(self):
        self.X, self.y = topics(self.rows, self.n_features, 20)
        self.model = snb.SoftmaxRegressionCV([0.1, 1.0, 10.0], folds=3, max_passes=5, scoring="accuracy")
        self.time_fit()

    def time_fit(self):
        self.model.fit(self.X, self.y)


class Search:
    """Naive Bayes in eight settings, in two reads and the last fit."""

    rows, n_features = 2_000, 2**12

    def setup(self):
        self.X, self.y = topics(self.rows, self.n_features, 20)
        self.time_search()

    def time_search(self):
        settings = {"families": ["multinomial", "poisson"], "transforms": [None, "log1p"], "idf": [False, True]}
        settings["penalties"] = [None]
        snb.search(self.X, self.y, **settings, folds=3, scoring="accuracy", show=False)
