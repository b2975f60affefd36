"""Rows as they lie: tables, texts and svmlight files, whose columns are made as they are read."""

import json
import tempfile
import warnings
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet
from sklearn.datasets import dump_svmlight_file

import streamnb as snb
from benchmarks.peers.problems import counts, labels


class Table:
    """`LinearNB("auto").fit` of a table of categories and numbers, by its path."""

    params = (["parquet", "csv"],)
    param_names = ("kind",)
    rows = 50_000

    def setup(self, kind):
        rng = np.random.default_rng(0)
        late = rng.random(self.rows) < 0.3
        columns = {
            "plane": [f"N{plane}" for plane in rng.integers(0, 1000, self.rows)],
            "hour": rng.integers(5, 24, self.rows),
            "distance": rng.normal(800.0, 300.0, self.rows),
            "late": late,
        }
        self.folder = tempfile.TemporaryDirectory()
        self.path = str(Path(self.folder.name, f"flights.{kind}"))
        write = pa.parquet.write_table if kind == "parquet" else pa.csv.write_csv
        write(pa.table(columns), self.path)
        self.time_fit()  # compiles outside the clock

    def teardown(self, *_):
        self.folder.cleanup()

    def time_fit(self, *_):
        snb.LinearNB("auto").fit(self.path, "late")


class Text:
    """JSON lines: words and pairs of them, hashed, for one read; for three, in which they are kept."""

    rows = 10_000

    def setup(self):
        rng = np.random.default_rng(0)
        words = np.array([f"word{number}" for number in range(5000)])
        self.folder = tempfile.TemporaryDirectory()
        path = Path(self.folder.name, "news.jsonl")
        with path.open("w") as file:
            for label, places in enumerate(rng.zipf(1.5, (self.rows, 40)) % len(words)):
                file.write(json.dumps({"body": " ".join(words[places]), "section": label % 20}) + "\n")
        self.path = str(path)
        self.time_fit()
        self.time_three_reads()

    def teardown(self):
        self.folder.cleanup()

    def text(self):
        return snb.text(self.path, "body", "section", words=(1, 2), n_features=2**15)

    def time_fit(self):
        snb.LinearNB("multinomial").fit(self.text())

    def time_three_reads(self):
        with warnings.catch_warnings(action="ignore"):  # that all reads were spent
            snb.LeastSquaresClassifier(max_passes=3, tol=0.0).fit(self.text())


class Svmlight:
    """`LinearNB.fit` of a svmlight file of counts."""

    rows, n_features = 10_000, 2**12

    def setup(self):
        self.folder = tempfile.TemporaryDirectory()
        self.path = str(Path(self.folder.name, "rows.svm"))
        dump_svmlight_file(counts(self.rows, self.n_features, "zipf"), labels(self.rows, 20), self.path)
        self.time_fit()

    def teardown(self):
        self.folder.cleanup()

    def time_fit(self):
        snb.LinearNB("multinomial").fit(self.path)
