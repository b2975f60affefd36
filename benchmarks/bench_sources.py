"""Rows as they lie: tables and texts, whose columns are made as they are read."""

import json
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet

import streamnb as snb


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
    """`LinearNB.fit` of JSON lines: words and pairs of them, hashed."""

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

    def teardown(self):
        self.folder.cleanup()

    def time_fit(self):
        snb.LinearNB("multinomial").fit(snb.text(self.path, "body", "section", words=(1, 2)))
