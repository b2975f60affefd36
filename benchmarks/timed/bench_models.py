"""What follows the scan: weights, the choice of a penalty, scores, files."""

import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

import streamnb as snb
from benchmarks.peers.models import whole_grid
from benchmarks.peers.problems import counts, labels

FAMILIES = ["poisson", "bernoulli", "multinomial", "gaussian"]


def problem(rows, n_features, n_classes):
    return counts(rows, n_features, "zipf"), labels(rows, n_classes)


class Solve:
    """A whole path of weights from class sums, in blocks of columns."""

    params = (FAMILIES, [20], [1, 100])
    param_names = ("family", "n_classes", "n_taus")
    rows, n_features = 2_000, 2**14

    def setup(self, family, n_classes, n_taus):
        X, y = problem(self.rows, self.n_features, n_classes)
        stats = snb.scan(X, y, moments=["sum", "sum_sq", "above"])
        self.run = whole_grid(stats, snb.L1(np.geomspace(1, 1000, n_taus)), family)
        self.run()

    def time_solve(self, *_):
        self.run()


class Choice:
    """`LinearNBCV`: two scans, and all models of all folds judged on the rows that these did not see."""

    params = ([2, 20], [5, 50])
    param_names = ("n_classes", "n_taus")
    rows, n_features = 2_000, 2**12

    def setup(self, n_classes, n_taus):
        self.X, self.y = problem(self.rows, self.n_features, n_classes)
        self.model = snb.LinearNBCV("poisson", snb.L1(np.geomspace(1, 100, n_taus)), folds=5)
        self.time_fit()

    def time_fit(self, *_):
        self.model.fit(self.X, self.y)


class Score:
    """Scores of rows in memory."""

    params = (["joint", "ovr", "ovo"], [2, 100])
    param_names = ("scheme", "n_classes")
    rows, n_features = 10_000, 2**12

    def setup(self, scheme, n_classes):
        self.X, y = problem(self.rows, self.n_features, n_classes)
        self.model = snb.LinearNB("poisson", scheme=scheme).fit(self.X, y)
        self.time_predict()

    def time_predict(self, *_):
        self.model.predict(self.X)


class File:
    """A model to a file and back."""

    params = ([2, 100],)
    param_names = ("n_classes",)
    rows, n_features = 2_000, 2**14

    def setup(self, n_classes):
        self.folder = tempfile.TemporaryDirectory()
        self.path = Path(self.folder.name, "model.snb")
        self.model = snb.LinearNB("poisson").fit(*problem(self.rows, self.n_features, n_classes))
        self.time_save()

    def teardown(self, *_):
        self.folder.cleanup()

    def time_save(self, *_):
        self.model.save(self.path)

    def time_load(self, *_):
        snb.load(self.path)


class Report:
    """`report` of a Parquet file beside `evaluate` of it with the same intervals."""

    timeout = 300.0
    rows = 1_000_000

    def setup_cache(self):
        """A folder with a model and the file."""
        folder, rng = Path(tempfile.mkdtemp()), np.random.default_rng(0)
        numbers = {f"x{j}": rng.normal(0.0, 1.0, self.rows) for j in range(8)}
        table = pd.DataFrame(numbers).assign(city=rng.choice([*"abcdefgh"], self.rows))
        odds = table["x0"] + table["x1"] + (table["city"] == "a")
        table.assign(late=rng.random(self.rows) < 1.0 / (1.0 + np.exp(-odds))).to_parquet(folder / "rows.parquet")
        snb.LinearNB().fit(folder / "rows.parquet", "late").save(folder / "m.snb")
        return folder

    def setup(self, folder):
        self.model, self.path = snb.load(folder / "m.snb"), folder / "rows.parquet"
        snb.report(self.model, self.path, "late", folder / "report.html", force=True)  # compiles, and imports

    def time_evaluate(self, folder):
        repr(self.model.evaluate(self.path, "late", interval=0.95))

    def time_report(self, folder):
        snb.report(self.model, self.path, "late", folder / "report.html", force=True)
