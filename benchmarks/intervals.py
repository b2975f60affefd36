"""Intervals of metrics: how often they hold the true value, and what they cost.

`python -m benchmarks.intervals` draws 2,000 samples of each setting and prints, for each metric, the share of its 95 %
intervals that hold the value of the population; then the error of areas from histograms, and the time of `evaluate`
with intervals beside that without. `--draws 100` is quicker.
"""

import argparse
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

import streamnb as snb

METRICS: dict[str, dict[str, Any]] = {
    "accuracy": {},
    "balanced_accuracy": {},
    "precision": {"average": "macro"},
    "recall": {"average": "macro"},
    "specificity": {"average": "macro"},
    "f_score": {"average": "macro"},
    "matthews_corrcoef": {},
    "cohen_kappa": {},
    "log_loss": {},
    "brier": {},
    "expected_calibration_error": {},
    "roc_auc": {},
    "average_precision": {},
}
SINGLE = {"balanced_accuracy", "matthews_corrcoef", "cohen_kappa"}
POPULATION = 1_000_000
ENOUGH = 0.93, 0.97  # coverage that is asked for


@dataclass(frozen=True)
class Setting:
    """Rows to draw: how many, of which classes, and how well scores tell them."""

    title: str
    n_rows: int
    shares: tuple[float, ...] = (0.6, 0.4)
    signal: float = 1.5
    levels: float = 0.0  # scores are rounded to multiples of it
    n_groups: int = 0
    multilabel: bool = False
    exact_rows: int = 10_000
    weighted: bool = False
    overconfident: float = 1.5  # factor of log-odds, so that probabilities are off

    def drawn(self, rng: np.random.Generator, n_rows: int, n_groups: int) -> dict[str, Any]:
        """Rows as `Evaluation.add` takes them."""
        K, n = len(self.shares), n_rows
        groups = rng.integers(0, n_groups, n) if n_groups else None
        shift = 1.2 * rng.normal(size=(n_groups, K))[groups] if n_groups else 0.0
        noise = rng.normal(size=(n, K)) + shift
        if self.multilabel:
            labels = (rng.random((n, K)) < self.shares).astype(int)
            scores = noise + self.signal * labels
        else:
            labels = rng.choice(K, n, p=self.shares)
            scores = noise + self.signal * np.eye(K)[labels]
        scores = np.round(scores / self.levels) * self.levels if self.levels else scores
        weight = rng.choice([0.5, 1.0, 2.5], n) if self.weighted else None
        return {"codes": labels, "weight": weight, "groups": groups, **self._outputs(scores)}

    def _outputs(self, scores: np.ndarray) -> dict[str, Any]:
        # the true log-odds of class k are signal * score_k - signal^2 / 2 + ln share_k, less those of the others
        shares = np.asarray(self.shares)
        logs = self.overconfident * (self.signal * scores - self.signal**2 / 2.0)
        if self.multilabel:
            odds = logs + np.log(shares / (1.0 - shares))
            return {"predicted": (odds > 0.0).astype(int), "ranking": odds, "log_proba": -np.logaddexp(0.0, -odds)}
        logs += np.log(shares)
        logs -= np.logaddexp.reduce(logs, axis=1, keepdims=True)
        ranking = logs[:, 1] - logs[:, 0] if len(shares) == 2 else logs - np.log(-np.expm1(np.minimum(logs, -1e-12)))
        return {"predicted": logs.argmax(axis=1), "ranking": ranking, "log_proba": logs}

    def judged(self, rows: dict[str, Any], **options: Any) -> snb.Evaluation:
        """The evaluation of such rows."""
        needs = {"confusion", "ranking", "probabilities", "reliability"} | (
            {"multilabel"} if self.multilabel else set()
        )
        evaluation = snb.Evaluation(len(self.shares), needs, multilabel=self.multilabel, **options)
        evaluation.add(**rows)
        return evaluation

    def coverage(self, n_draws: int, population: int) -> dict[str, float]:
        """The share of intervals of each metric that hold the value of the population."""
        rng = np.random.default_rng(0)
        # rows of many groups have the values of the population of groups
        whole = self.judged(self.drawn(rng, population, population // 10 if self.n_groups else 0))
        metrics = {name: options for name, options in METRICS.items() if not (self.multilabel and name in SINGLE)}
        true = {name: getattr(whole, name)(**options) for name, options in metrics.items()}
        held = dict.fromkeys(metrics, 0)
        for _ in range(n_draws):
            options = {"interval": 0.95, "grouped": self.n_groups > 0, "exact_rows": self.exact_rows}
            one = self.judged(self.drawn(rng, self.n_rows, self.n_groups), **options)
            for name, options in metrics.items():
                low, high = one.interval(name, **options)
                held[name] += low <= true[name] <= high
        return {name: n / n_draws for name, n in held.items()}


FIVE = (0.35, 0.25, 0.2, 0.15, 0.05)
SETTINGS = [
    Setting("50 rows", 50),
    Setting("300 rows", 300),
    Setting("5,000 rows", 5000),
    Setting("rare: 20 of 1,000", 1000, (0.98, 0.02)),
    Setting("rare: 25 of 5,000", 5000, (0.995, 0.005), signal=2.5),
    Setting("ties, 300 rows", 300, levels=1.0),
    Setting("nearly right, 300 rows", 300, signal=3.0),
    Setting("5 classes, 300 rows", 300, FIVE),
    Setting("5 classes, histograms", 3000, FIVE, exact_rows=500),
    Setting("fractional weights, 500 rows", 500, weighted=True),
    Setting("30 groups, 300 rows", 300, n_groups=30),
    Setting("200 groups, 2,000 rows", 2000, n_groups=200),
    Setting("5 classes, 100 groups, 1,000 rows", 1000, FIVE, n_groups=100),
    Setting("3 labels a row, 300 rows", 300, (0.5, 0.3, 0.1), multilabel=True),
]


def print_coverage(n_draws: int, population: int) -> None:
    """Print the coverage of each metric in each setting, in percent."""
    short = {"expected_calibration_error": "ece", "average_precision": "avg prec", "balanced_accuracy": "balanced"}
    names = [short.get(name, name.replace("_", " ")[:9]) for name in METRICS]
    print(f"coverage of 95 % intervals in percent, {n_draws:,} draws")
    print(f"{'':34}" + "".join(f"{name:>10}" for name in names))
    found, enough = {name: 0 for name in METRICS}, {name: 0 for name in METRICS}
    for setting in SETTINGS:
        coverage = setting.coverage(n_draws, population)
        print(f"{setting.title:34}" + "".join(f"{100 * coverage.get(n, np.nan):10.1f}" for n in METRICS), flush=True)
        for name, share in coverage.items():
            found[name] += 1
            enough[name] += ENOUGH[0] <= share <= ENOUGH[1]
    print(f"{'settings within 93 to 97':34}" + "".join(f"{enough[n]:>7}/{found[n]:<2}" for n in METRICS))
    print(f"{sum(enough.values())} of {sum(found.values())} within 93 to 97 %\n")


def print_binning(n_rows: int) -> None:
    """Print how far areas and their intervals from histograms are from those of the rows."""
    rng, setting = np.random.default_rng(1), Setting("", n_rows)
    rows = setting.drawn(rng, n_rows, 0)
    exact, binned = (setting.judged(rows, interval=0.95, exact_rows=n) for n in (n_rows, 0))
    print(f"{n_rows:,} rows from a histogram of 2,048 bins, less the same of the rows")
    for name in ("roc_auc", "average_precision"):
        ends = np.subtract(binned.interval(name), exact.interval(name))
        print(f"  {name:20} {getattr(binned, name)() - getattr(exact, name)():+.1e}, its interval {ends}")
    print(f"  bound of the error of roc_auc: {binned.roc_auc_error:.1e}\n")


def best(action: Callable[[], Any], times: int) -> float:
    """CPU seconds of the fastest of some runs."""
    seconds = []
    for _ in range(times):
        start = time.process_time()
        action()
        seconds.append(time.process_time() - start)
    return min(seconds)


def print_costs(n_rows: int, times: int) -> None:
    """Print the time of `evaluate` and of printing, with intervals and without."""
    print("CPU seconds of evaluate and its printed form without intervals; times as long with intervals, in groups")
    for K, n in ((2, n_rows), (5, n_rows), (20, n_rows // 4)):
        rows = Setting("", n, tuple(np.full(K, 1.0 / K))).drawn(np.random.default_rng(K), n, 0)
        columns = {"y_pred": rows["predicted"], "proba": np.exp(rows["log_proba"]), "scores": rows["ranking"]}
        judged = partial(snb.evaluate, rows["codes"], **columns, classes=range(K))
        seconds = [
            best(lambda judged=judged, given=given: str(judged(**given)), times)
            for given in ({}, {"interval": 0.95}, {"interval": 0.95, "groups": np.arange(n) // 10})
        ]
        alone, grouped = seconds[1] / seconds[0], seconds[2] / seconds[0]
        print(f"  {K:3} classes, {n:9,} rows: {seconds[0]:6.3f}  {alone:.2f}  {grouped:.2f}", flush=True)


def main() -> None:
    """Print everything."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--draws", type=int, default=2000)
    parser.add_argument("--rows", type=int, default=1_000_000, help="of the population, and of what is timed")
    given = parser.parse_args()
    print_coverage(given.draws, given.rows)
    print_binning(given.rows)
    print_costs(given.rows, 3)


if __name__ == "__main__":
    main()
