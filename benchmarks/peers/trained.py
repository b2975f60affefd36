"""What models of several reads cost beside the cheapest of their kind: one fit, one scan, and fits that compile."""

import tempfile
import time
import warnings
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import numpy as np

import streamnb as snb
from benchmarks import compiling
from benchmarks.peers.table import SECONDS, SLOWER, Row, Size, ratio
from streamnb.passes.contract import RunOptions
from streamnb.passes.run import run
from streamnb.rows.opening import opened
from streamnb.rows.preparing import RowOptions
from streamnb.solving.objectives import Logistic
from streamnb.solving.reading import ReadTask

COLD = {"SoftmaxRegression": (3, 2), "LinearNBCV": (5, 4), "search": (10, 8)}  # floor and goal
OPTIONS = {"progress": False}


def trained_rows(size: Size, _: Path) -> Iterator[Row]:
    yield from chosen_rows(size)
    yield gradient_row(size)
    for name in list(COLD) if size.repeats > 1 else list(COLD)[:1]:
        with tempfile.TemporaryDirectory() as cache:
            taken = compiling.seconds(compiling.FITS[name], cache)
        yield Row(f"{name} of digits, no kernels kept, CPU seconds", "nothing", *COLD[name], taken, SECONDS)


def chosen_rows(size: Size) -> Iterator[Row]:
    rng, n_rows = np.random.default_rng(0), 2 * size.shared_rows
    for n_classes in (2, 5):
        X, weights = rng.normal(size=(n_rows, 100)), rng.normal(0.0, 0.3, (100, n_classes))
        y = (X @ weights + rng.gumbel(size=(n_rows, n_classes))).argmax(axis=1)
        for one, several in (
            (snb.SoftmaxRegression(), snb.SoftmaxRegressionCV(np.geomspace(0.1, 1000.0, 5), folds=5)),
            (snb.MarginClassifier(), snb.MarginClassifierCV(np.geomspace(0.1, 1000.0, 5), folds=5)),
        ):
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # that few reads were spent
                several.fit(X[:2000], y[:2000], **OPTIONS)  # compiles
                figure = ratio(
                    lambda: several.fit(X, y, **OPTIONS),  # noqa: B023 - called at once
                    lambda: one.fit(X, y, **OPTIONS),  # noqa: B023
                    1,
                    time.process_time,
                )
            what = f"{type(several).__name__}, 5 folds x 5 penalties, {n_rows:,} x 100 dense, K = {n_classes}"
            yield Row(what, f"one fit of {type(one).__name__}", 8, 4, figure, SLOWER)


def gradient_row(size: Size) -> Row:
    rng, n_rows = np.random.default_rng(0), 20 * size.shared_rows
    X, y = rng.poisson(0.8, (n_rows, 250)).astype(np.uint8), rng.integers(0, 2, n_rows)
    task = ReadTask.at_zero(Logistic(), RowOptions(), np.arange(2), (250, 1))
    task = replace(task, weights=rng.normal(size=(251, 1)) / 50.0, grid=np.full(251, 2.0**32), top=2.0**32)
    figure = ratio(
        lambda: run(task, opened(X, y), RunOptions(**OPTIONS)),
        lambda: snb.LinearNB("poisson").fit(X, y, **OPTIONS),
        size.repeats,
        time.process_time,
    )
    return Row(f"a gradient of {n_rows:,} x 250 uint8 in memory, K = 2", "fit of LinearNB", 1.5, 1, figure, SLOWER)
