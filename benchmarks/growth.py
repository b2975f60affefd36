"""How cost grows: seconds against rows, nonzeros, features, classes, taus and folds, one thread, in memory.

`python -m benchmarks.growth` prints a table and draws docs/growth.svg. The seconds are the least of a few runs, those
that the process was at work, so that other work on the machine counts less.
"""

import argparse
import time
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import numpy as np

import streamnb as snb
from benchmarks.peers.models import whole_grid
from benchmarks.peers.problems import counts, labels

PICTURE = Path(__file__).parents[1] / "docs" / "growth.svg"
LAW = "uniform"
Line = tuple[str, str, list[int], list[float]]  # what is varied, what is timed, how much, seconds


def seconds(run: Callable, repeats: int = 5) -> float:
    """The least of a few runs, after one that compiles."""
    run()
    times = []
    for _ in range(repeats):
        start = time.process_time()
        run()
        times.append(time.process_time() - start)
    return min(times)


def scanning(n_rows: int, n_features: int = 2**14, n_classes: int = 20, per_row: int = 100) -> float:
    X, y = counts(n_rows, n_features, LAW, per_row), labels(n_rows, n_classes)
    return seconds(partial(snb.scan, X, y, moments=["sum"], n_threads=1))


def solving(n_rows: int, n_features: int = 2**14, n_classes: int = 20, n_taus: int = 20) -> float:
    X, y = counts(n_rows, n_features, LAW), labels(n_rows, n_classes)
    stats = snb.scan(X, y, moments=["sum"])
    last = snb.solve(stats, "poisson", snb.L1([1.0])).breakpoints().max()  # where no feature is left
    return seconds(whole_grid(stats, snb.L1(np.geomspace(last / 1000, last, n_taus))))


def choosing(n_rows: int, folds: int = 5, n_taus: int = 10) -> float:
    X, y = counts(n_rows, 2**12, LAW), labels(n_rows, 2)
    model = snb.LinearNBCV("poisson", snb.L1(np.geomspace(1, 100, n_taus)), folds=folds)
    return seconds(partial(model.fit, X, y, n_threads=1), 3)


def lines(rows: int, steps: int) -> Iterator[Line]:
    """Every quantity at `steps` values, each twice or four times the one before."""

    def line(varied: str, timed: str, values: list[int], run: Callable[[int], float]) -> Line:
        return varied, timed, values, [run(value) for value in values]

    by_four = [4**i for i in range(steps)]
    yield line("rows", "scan", [rows // 10 * f for f in by_four], scanning)
    yield line("nonzeros of a row", "scan", [5 * f for f in by_four], lambda n: scanning(rows, per_row=n))
    features = [2**10 * f for f in by_four]
    yield line("features", "scan", features, lambda n: scanning(rows, n))
    yield line("features", "solve, 20 taus", features, lambda n: solving(rows, n))
    classes = [4 * f for f in by_four]
    yield line("classes", "scan", classes, lambda K: scanning(rows, n_classes=K))
    yield line("classes", "solve, 20 taus", classes, lambda K: solving(rows, 2**12, K))
    yield line("taus", "solve", by_four, lambda n: solving(rows, n_taus=n))
    yield line("taus", "cross-validation, 5 folds", by_four, lambda n: choosing(rows, n_taus=n))
    yield line("folds", "cross-validation, 10 taus", [2 * 2**i for i in range(steps)], lambda n: choosing(rows, n))


def slope(values: list[int], times: list[float]) -> float:
    """The power with which the last step grows."""
    return float(np.log(times[-1] / times[-2]) / np.log(values[-1] / values[-2]))


def table(found: list[Line]) -> str:
    head = "| what grows | what is timed | from | to | seconds | | last step: power |"
    rows = [
        f"| {varied} | {timed} | {at[0]:,} | {at[-1]:,} | {times[0]:.4f} | {times[-1]:.4f} | {slope(at, times):.1f} |"
        for varied, timed, at, times in found
    ]
    return "\n".join([head, "| --- | --- | --- | --- | --- | --- | --- |", *rows])


def draw(found: list[Line], path: Path) -> None:
    from matplotlib import rc_context
    from matplotlib.figure import Figure

    names = list(dict.fromkeys(varied for varied, *_ in found))
    with rc_context({"svg.hashsalt": "streamnb", "svg.fonttype": "none", "font.size": 9}):
        figure = Figure(figsize=(9, 5.4), layout="constrained")
        for ax, name in zip(figure.subplots(2, 3, sharey=True).flat, names, strict=True):
            for varied, timed, at, times in found:
                if varied == name:
                    (drawn,) = ax.loglog(at, times, "o-", markersize=3, label=timed)
                    ax.loglog(at, np.array(at) * times[-1] / at[-1], ":", color=drawn.get_color(), linewidth=0.8)
            ax.set(xlabel=name, ylim=(3e-4, 2 * max(times[-1] for *_, times in found)))
            ax.minorticks_off()
            ax.legend(frameon=False, fontsize=8)
        figure.supylabel("seconds, one thread (dotted: in proportion)")
        figure.savefig(path, metadata={"Date": None})


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--rows", type=int, default=20_000)
    parser.add_argument("--steps", type=int, default=5)
    parser.add_argument("--picture", type=Path, default=PICTURE)
    options = parser.parse_args()
    found = list(lines(options.rows, options.steps))
    print(table(found))
    draw(found, options.picture)


if __name__ == "__main__":
    main()
