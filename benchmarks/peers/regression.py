"""Lasso and ridge paths with cross-validation beside scikit-learn's, Poisson regression, and fits from Zarr."""

import importlib.util
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import zarr
from sklearn.linear_model import LassoCV, PoissonRegressor, RidgeCV, TweedieRegressor
from sklearn.model_selection import PredefinedSplit

import streamnb as snb
from benchmarks.peers.problems import LZ4
from benchmarks.peers.table import DIGITS, MEMORY, SLOWER, Row, Size, ratio, ratios
from streamnb.rows.labels import TARGETS
from streamnb.rows.opening import opened

N_FEATURES, N_FOLDS = 200, 5
LEAST = 1 << 22  # bytes that sums of that many features and folds need


def regression_rows(size: Size, folder: Path) -> Iterator[Row]:
    """One thread and the same folds and penalties on both sides, and in the end the same error."""
    X, y = linear(size.n_rows * 5 // 4)
    folds = np.random.default_rng(1).permutation(len(y)) % N_FOLDS
    shown = f"{len(y):,} x {N_FEATURES} float32, {2 * size.points} penalties x {N_FOLDS} folds"
    for name, l1_ratio, make, bounds in (("lasso", 1.0, lasso, (15, 30)), ("ridge", 0.0, ridge, (3, 10))):
        ours = snb.ElasticNetCV(l1_ratio, n_alphas=2 * size.points, folds=folds)
        ours.fit(X, y, n_threads=1)
        theirs, error_of = make(ours, folds)
        once = min(size.repeats, 1 if name == "ridge" else 3)
        own, peers = partial(ours.fit, X, y, n_threads=1), partial(theirs.fit, X, y)
        times = ratios(peers, [own], once, time.process_time)
        apart = abs(error_of(theirs) / ours.mse_path_.mean(axis=1).min() - 1.0)
        what = f"{name}, {shown}, one thread; least mean errors differ by {apart:.0e}"
        yield Row(what, type(theirs).__name__, *bounds, times[0])
    yield from poisson_rows(X, size)
    yield from coefficient_rows(X[: size.slow_rows, :20])
    yield from claim_rows(size, folder)
    model = snb.ElasticNetCV(1.0)
    for codec, options in (("zstd", {}), ("lz4", {"compressors": LZ4})):
        store = zarr.create_array(folder / codec, data=X, chunks=(min(10_000, len(y)), N_FEATURES), **options)
        limit = max(X.nbytes // 4, LEAST)
        fit = partial(model.fit, store, y, memory_limit=limit)
        times = ratio(fit, reading(store, y), size.repeats, time.perf_counter)
        what = f"lasso from dense Zarr, {codec}, {shown}, memory_limit={limit / 1e6:.0f} MB"
        yield Row(what, "reading it", 1.5, 1.15, times, SLOWER)


def poisson_rows(X: np.ndarray, size: Size) -> Iterator[Row]:
    """One thread and the same penalty on all sides, and in the end about the same weights."""
    rng = np.random.default_rng(2)
    counts = rng.poisson(np.exp(0.1 * (X[:, :5].sum(axis=1) - 2.0))).astype(float)
    ours = snb.PoissonRegressor(alpha=0.001)
    fit = partial(ours.fit, X, counts, n_threads=1, progress=False)
    shown = f"PoissonRegressor, {len(X):,} x {N_FEATURES} float32, one thread, CPU"
    for name, theirs in (
        ("PoissonRegressor of scikit-learn", partial(PoissonRegressor, alpha=0.001)),
        ("glum", glum_poisson),
    ):
        try:
            model = theirs()
        except ImportError:
            yield Row(shown, name, None, None, None)
            continue
        (times,) = ratios(partial(model.fit, X, counts), [fit], min(size.repeats, 3), time.process_time)
        apart = abs(model.coef_ - ours.coef_).max()
        yield Row(f"{shown}; weights differ by {apart:.0e}", name, 1, 3, times)


FAMILIES = {"Poisson": 1.0, "Gamma": 2.0, "Tweedie": 1.5}


def coefficient_rows(X: np.ndarray) -> Iterator[Row]:
    """Digits in which weights agree: minus the logarithm of the largest distance."""
    X, rng = X.astype(np.float64), np.random.default_rng(3)
    means = np.exp(0.1 * (X[:, :5].sum(axis=1) - 2.0))
    amounts = means * rng.gamma(2.0, 0.5, len(X))
    targets = {"Poisson": rng.poisson(means) * 1.0, "Gamma": amounts, "Tweedie": np.where(amounts < 0.4, 0.0, amounts)}
    for name, power in FAMILIES.items():
        ours = snb.TweedieRegressor(power, 0.01, tol=1e-10).fit(X, targets[name], progress=False)
        free = snb.TweedieRegressor(power, 0.0, tol=1e-10).fit(X, targets[name], progress=False)
        for peer, fit, own in (
            ("scikit-learn", sklearn_weights, ours),
            ("glum", glum_weights, ours),
            ("statsmodels", statsmodels_weights, free),
        ):
            shown = f"{name} regression, {len(X):,} x {X.shape[1]}, alpha={own.alpha:g}: weights"
            try:
                theirs = fit(X, targets[name], power)
            except ImportError:
                yield Row(shown, peer, 6, 8, None, DIGITS)
                continue
            apart = max(np.abs(theirs - own.coef_).max(), 1e-16)
            yield Row(shown, peer, 6, 8, -np.log10(apart), DIGITS)


def sklearn_weights(X: np.ndarray, y: np.ndarray, power: float) -> np.ndarray:
    how = {"alpha": 0.01, "link": "log", "solver": "newton-cholesky", "tol": 1e-12, "max_iter": 1000}
    return TweedieRegressor(power=power, **how).fit(X, y).coef_


def glum_weights(X: np.ndarray, y: np.ndarray, power: float) -> np.ndarray:
    from glum import GeneralizedLinearRegressor, TweedieDistribution

    how = {"alpha": 0.01, "l1_ratio": 0.0, "link": "log", "gradient_tol": 1e-12, "max_iter": 1000}
    return GeneralizedLinearRegressor(family=TweedieDistribution(power), **how).fit(X, y).coef_


def statsmodels_weights(X: np.ndarray, y: np.ndarray, power: float) -> np.ndarray:
    """Without a penalty."""
    import statsmodels.api as sm

    family = sm.families.Tweedie(var_power=power, link=sm.families.links.Log())
    return sm.GLM(y, sm.add_constant(X), family).fit(tol=1e-14, maxiter=200).params[1:]


# ---- claims ----------------------------------------------------------------------------------------------------------

LEVELS = 2, 3, 5, 8, 12, 20, 30, 50
TIMES, FEWER = 8, 4  # rows of the table, and of the peer
FIT = """
import sys, time
name, path = sys.argv[1:]
def ours():
    import streamnb as snb
    model = snb.PoissonRegressorCV(n_alphas=10, folds=5)
    model.fit(path, "claims", offset="log_years", progress=False, n_threads=1)
def glum():
    import pandas as pd
    from glum import GeneralizedLinearRegressorCV
    table = pd.read_parquet(path)
    claims, offset = table.pop("claims").to_numpy(), table.pop("log_years").to_numpy()
    model = GeneralizedLinearRegressorCV(family="poisson", l1_ratio=0, n_alphas=10, cv=5, n_jobs=1)
    model.fit(table, claims, offset=offset)
locals()[name]()
peak = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])  # Linux
print(time.process_time(), peak)
"""


def claim_rows(size: Size, folder: Path) -> Iterator[Row]:
    """Counts with exposures, 10 penalties and 5 folds, from Parquet: CPU time and peak of processes, imports included.

    The peer has fewer rows, and its figures are multiplied by how many fewer.
    """
    n_rows = TIMES * size.n_rows
    against = f"glum, {n_rows // FEWER:,} rows, x {FEWER}"
    for numbers, heavy in (("4 numbers", False), ("4 numbers, one lognormal,", True)):
        shown = f"PoissonRegressorCV, {n_rows:,} rows of 8 categories and {numbers} with exposures, "
        shown += "10 penalties x 5 folds"
        if importlib.util.find_spec("glum") is None:
            yield Row(shown, against, 5, 10, None)
            continue
        paths = [write_claims(folder / f"{n}.parquet", n, heavy) for n in (n_rows, n_rows // FEWER)]
        fitted_alone("ours", paths[1])  # from now on all kernels are kept
        (cpu, peak), (cpu_of_peer, peak_of_peer) = fitted_alone("ours", paths[0]), fitted_alone("glum", paths[1])
        yield Row(f"{shown}, CPU", against, 5, 10, FEWER * cpu_of_peer / cpu)
        yield Row(f"{shown}, peak {peak / 1024:.0f} MiB", against, 0.2, 0.1, peak / (FEWER * peak_of_peer), MEMORY)


def fitted_alone(name: str, path: Path) -> tuple[float, float]:
    """CPU seconds and KiB of a process that fits."""
    command = [sys.executable, "-c", FIT, name, str(path)]
    ended = subprocess.run(command, capture_output=True, text=True, check=True)
    cpu, peak = ended.stdout.split()
    return float(cpu), float(peak)


def write_claims(path: Path, n_rows: int, heavy: bool = False) -> Path:
    """A table of claims; the last number is lognormal where it is `heavy`: few rows bear most of its squares."""
    rng = np.random.default_rng(0)
    table = {f"x{j}": rng.normal(size=n_rows) for j in range(3)}
    table["x3"] = rng.lognormal(0.0, 2.0, n_rows) if heavy else rng.gamma(2.0, 2.0, n_rows)
    risk = np.log(table["x3"]) if heavy else table["x3"]
    score = 0.2 * table["x0"] + 0.05 * risk - 0.1 * table["x1"] - 2.5
    for n_levels in LEVELS:
        codes = rng.integers(0, n_levels, n_rows).astype(np.int8)
        levels = [f"level {k}" for k in range(n_levels)]
        table[f"of {n_levels}"] = pa.DictionaryArray.from_arrays(codes, levels)
        score += rng.normal(0.0, 0.3, n_levels)[codes]
    years = rng.uniform(0.1, 1.0, n_rows)
    table |= {"log_years": np.log(years), "claims": rng.poisson(years * np.exp(score)).astype(float)}
    pq.write_table(pa.table(table), path, row_group_size=250_000)
    return path


def glum_poisson() -> Any:
    from glum import GeneralizedLinearRegressor

    return GeneralizedLinearRegressor(family="poisson", alpha=0.001, l1_ratio=0.0)


def reading(X: Any, y: np.ndarray) -> Callable[[], None]:
    def run():
        for _ in opened(X, y, labelled=TARGETS).blocks():
            pass

    return run


def linear(n_rows: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows that move together, and a number to which a fifth of the columns adds."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n_rows, N_FEATURES)).astype(np.float32)
    X += 0.7 * np.roll(X, 1, axis=1)
    weights = np.where(np.arange(N_FEATURES) % 5 == 0, rng.normal(size=N_FEATURES), 0.0)
    return X, X @ weights + 3.0 * rng.normal(size=n_rows)


def lasso(ours: Any, folds: np.ndarray) -> tuple[Any, Any]:
    """The peer, and its least mean error."""
    return LassoCV(alphas=ours.alphas_, cv=PredefinedSplit(folds)), lambda model: model.mse_path_.mean(axis=1).min()


def ridge(ours: Any, folds: np.ndarray) -> tuple[Any, Any]:
    """The same; its penalty is not divided by the number of rows."""
    alphas = ours.alphas_ * len(folds) * (1.0 - 1.0 / N_FOLDS)
    peer = RidgeCV(alphas, cv=PredefinedSplit(folds), scoring="neg_mean_squared_error")
    return peer, lambda model: -model.best_score_
