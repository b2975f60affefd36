"""Other tools for rows that do not fit: river, Vowpal Wabbit and Spark MLlib; no floors or goals are set for these."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import dump_svmlight_file

import streamnb as snb
from benchmarks.peers.problems import counts, labels
from benchmarks.peers.table import Row, Size

N_CLASSES = 20


def stored(X: sp.csr_array) -> Iterator[list[tuple[int, float]]]:
    """The columns and values of each row."""
    for start, stop in zip(X.indptr[:-1], X.indptr[1:]):
        yield list(zip(X.indices[start:stop].tolist(), X.data[start:stop].tolist()))


def river_fit(X: sp.csr_array, y: np.ndarray, _: Path) -> Callable[[], None]:
    from river.naive_bayes import MultinomialNB

    rows = [dict(row) for row in stored(X)]

    def run():
        model = MultinomialNB()
        for row, label in zip(rows, y.tolist()):
            model.learn_one(row, label)

    return run


def vowpal_fit(X: sp.csr_array, y: np.ndarray, _: Path) -> Callable[[], None]:
    """One pass over examples that are parsed already."""
    from vowpalwabbit import Workspace

    vowpal = Workspace(f"--oaa {N_CLASSES} -b 18 --quiet")
    lines = (f"{label + 1} | " + " ".join(f"{j}:{x:g}" for j, x in row) for label, row in zip(y, stored(X)))
    examples = [vowpal.parse(line) for line in lines]

    def run():
        for example in examples:
            vowpal.learn(example)

    return run


def spark_fit(X: sp.csr_array, y: np.ndarray, folder: Path) -> Callable[[], None]:
    """Rows in Spark's memory, two threads."""
    from pyspark.ml.classification import NaiveBayes
    from pyspark.sql import SparkSession

    path = str(folder / "rows.libsvm")
    dump_svmlight_file(X, y, path, zero_based=False)
    builder = SparkSession.builder.master("local[2]").config("spark.ui.enabled", "false")
    spark = builder.config("spark.driver.memory", "4g").getOrCreate()
    spark.sparkContext.setLogLevel("OFF")
    rows = spark.read.format("libsvm").option("numFeatures", str(X.shape[1])).load(path).repartition(2).cache()
    rows.count()
    return partial(NaiveBayes().fit, rows)


def other_rows(size: Size, folder: Path) -> Iterator[Row]:
    X, y = counts(size.slow_rows, 2**14, "zipf"), labels(size.slow_rows, N_CLASSES)
    tools = (
        ("river MultinomialNB.learn_one", river_fit, 1),
        (f"Vowpal Wabbit --oaa {N_CLASSES}, one pass", vowpal_fit, 1),
        ("Spark MLlib NaiveBayes", spark_fit, 2),
    )
    for name, tool, n_threads in tools:
        what = f"fit of rows in memory, {('one', 'two')[n_threads - 1]} thread{'s' * (n_threads - 1)}"
        try:
            theirs = tool(X, y, folder)
        except ImportError:
            yield Row(what, name, None, None, None)
            continue
        ours = partial(snb.LinearNB("multinomial").fit, X, y, n_threads=n_threads)
        yield Row(what, name, None, None, best(theirs) / best(ours))


def best(run: Callable) -> float:
    """Seconds of the faster of two runs: what starts up in the first is not held against anyone."""
    times = []
    for _ in range(2):
        start = time.perf_counter()
        run()
        times.append(time.perf_counter() - start)
    return min(times)
