"""Additive models beside boosted trees and explainable boosting machines: held-out log loss, CPU time, explanations."""

import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from sklearn.datasets import load_breast_cancer
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import streamnb as snb
from benchmarks.peers.table import BETTER, SLOWER, Row, Size, ratio

EXPLAINED = 10_000  # rows
PAIRS = 10
MOST_ROWS = 20_000


def additive_rows(size: Size, _: Path) -> Iterator[Row]:
    """One thread, the choice of penalties and pairs included; a higher log loss of theirs is better for ours."""
    for what, X, y in (("breast cancer", *load_breast_cancer(return_X_y=True)), waves(min(size.n_rows, MOST_ROWS))):
        X, X_new, y, y_new = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
        shown = f"AdditiveClassifier, {what}, {X.shape[0]:,} x {X.shape[1]}"
        many = np.resize(X_new, (min(EXPLAINED, size.n_rows), X.shape[1]))
        fit = fitting(snb.AdditiveClassifier(), X, y, n_threads=1)
        ours, seconds = fit(), cpu(fit)  # the first one compiles
        for peer, made in PEERS.items():
            model, explain = made()
            if model is None:
                yield Row(f"{shown}: fit, one thread", peer, *BOUNDS[peer], None)
                continue
            took = cpu(fitting(model, X, y))
            yield Row(f"{shown}: fit, one thread", peer, *BOUNDS[peer], took / seconds)
            losses = [log_loss(y_new, one.predict_proba(X_new)) for one in (model, ours)]
            what_of = f"{shown}: log loss {losses[1]:.3f}, theirs / ours"
            yield Row(what_of, f"{peer}: {losses[0]:.3f}", 0.97, 1, losses[0] / losses[1], BETTER)
            sides = partial(explain, model, many), partial(ours.contributions, many)
            times = ratio(*sides, min(size.repeats, 3), time.process_time)
            yield Row(f"{shown}: explanation of {len(many):,} rows, one thread", peer, 5, 20, times)


def number_rows(size: Size, folder: Path) -> Iterator[Row]:
    """`AdditiveRegressor` of a Parquet file with all choices, and LightGBM, which reads it by pandas; one thread."""
    n_rows = 15 * size.n_rows // 2
    _, X, score = waves_of(n_rows)
    y = score + np.random.default_rng(1).normal(size=n_rows)
    pd.DataFrame(X.astype(np.float32)).add_prefix("x").assign(y=y).to_parquet(folder / "numbers.parquet")
    shown = f"AdditiveRegressor, {n_rows:,} x {X.shape[1]} from Parquet, choices included, one thread, CPU"
    try:
        from lightgbm import LGBMRegressor
    except ImportError:
        yield Row(shown, LIGHTGBM, 2, 1, None, SLOWER)
        return
    fit = partial(snb.AdditiveRegressor().fit, folder / "numbers.parquet", "y", n_threads=1, progress=False)
    fit()  # compiles

    def theirs() -> None:
        table = pd.read_parquet(folder / "numbers.parquet")
        target = table.pop("y")
        LGBMRegressor(n_jobs=1, verbose=-1).fit(table, target)

    yield Row(shown, LIGHTGBM, 2, 1, cpu(fit) / cpu(theirs), SLOWER)


def lightgbm() -> tuple[Any, Callable[..., Any]]:
    """A model to fit, None where the package is not installed, and how rows are explained."""
    try:
        from lightgbm import LGBMClassifier
    except ImportError:
        return None, lambda model, rows: None
    return LGBMClassifier(n_jobs=1, verbose=-1), lambda model, rows: model.predict(rows, pred_contrib=True)


def explainable_boosting() -> tuple[Any, Callable[..., Any]]:
    """The same of an explainable boosting machine."""
    try:
        from interpret.glassbox import ExplainableBoostingClassifier
    except ImportError:
        return None, lambda model, rows: None
    model = ExplainableBoostingClassifier(interactions=PAIRS, n_jobs=1)
    return model, lambda model, rows: model.explain_local(rows)


LIGHTGBM, BOOSTING = "LightGBM", f"interpret-core, {PAIRS} interactions"
PEERS = {LIGHTGBM: lightgbm, BOOSTING: explainable_boosting}
BOUNDS: dict[str, tuple[float | None, float | None]] = {LIGHTGBM: (None, None), BOOSTING: (20, 100)}


def waves(n_rows: int) -> tuple[str, np.ndarray, np.ndarray]:
    """Rows whose classes follow curves of some columns and two pairs of them."""
    name, X, odds = waves_of(n_rows)
    return name, X, (np.random.default_rng(1).logistic(size=n_rows) < odds).astype(int)


def waves_of(n_rows: int) -> tuple[str, np.ndarray, np.ndarray]:
    X = np.random.default_rng(0).normal(size=(n_rows, 10))
    score = np.sin(2.0 * X[:, 0]) + np.abs(X[:, 1]) + X[:, 2] * X[:, 3] + np.sin(3.0 * X[:, 4]) * X[:, 5] - 0.8
    return "curves and pairs", X, score


def fitting(model: Any, X: np.ndarray, y: np.ndarray, **options: Any) -> Callable[[], Any]:
    return lambda: model.fit(X, y, **options)


def cpu(run: Callable[[], Any]) -> float:
    started = time.process_time()
    run()
    return time.process_time() - started
