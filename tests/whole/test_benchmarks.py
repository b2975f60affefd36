"""Every benchmark runs, tiny."""

import inspect
import itertools
import json
import math
from dataclasses import replace
from pathlib import Path

import pytest

import benchmarks
from benchmarks import (
    bench_models,
    bench_products,
    bench_reads,
    bench_scan,
    bench_sources,
    bench_start,
    bench_stores,
    compiling,
    fit_memory,
    growth,
    keeping,
    scaling,
    simulated_cluster,
)
from streamnb.rows import sizes

MODULES = bench_models, bench_products, bench_reads, bench_scan, bench_sources, bench_start, bench_stores
KINDS = "time_", "peakmem_", "track_"
SMALL = {"rows": 1000, "n_features": 50}
CLASSES = [
    pytest.param(value, id=name, marks=[pytest.mark.process] * (module is bench_start))
    for module in MODULES
    for name, value in inspect.getmembers(module, inspect.isclass)
    if value.__module__ == module.__name__ and hasattr(value, "setup")
]


def test_all_modules_are_run():
    folder = Path(benchmarks.__file__).parent
    assert {path.stem for path in folder.glob("bench_*.py")} == {module.__name__.split(".")[1] for module in MODULES}
    assert json.loads((folder / "asv.conf.json").read_text())["environment_type"] == "existing"


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.parametrize("benchmark", CLASSES)
def test_benchmark_runs(benchmark, monkeypatch):
    for name, value in SMALL.items():
        if hasattr(benchmark, name):
            monkeypatch.setattr(benchmark, name, value)
    names = [name for name in dir(benchmark) if name.startswith(KINDS)]
    assert names
    for params in itertools.product(*getattr(benchmark, "params", ())):
        if max((p for p in params if isinstance(p, int)), default=0) > 10**4:
            continue  # the same loops on larger tables
        instance = benchmark()
        instance.setup(*params)
        try:
            answers = {name: getattr(instance, name)(*params) for name in names}
        finally:
            getattr(instance, "teardown", lambda *_: None)(*params)
        tracked = {name: answer for name, answer in answers.items() if name.startswith("track_")}
        assert all(answer >= 0 for answer in tracked.values())
        assert 0.1 < tracked.get("track_share_of_bytes_read", 1) < 1.1  # no chunk is read twice
        assert all(getattr(benchmark, name).unit for name in tracked)


@pytest.mark.slow
@pytest.mark.benchmark
def test_growth_is_measured_and_drawn(tmp_path):
    found = list(growth.lines(rows=200, steps=2))
    assert all(len(at) == len(times) == 2 and min(times) > 0 for _, _, at, times in found)
    assert len(growth.table(found).splitlines()) == len(found) + 2
    growth.draw(found, tmp_path / "growth.svg")
    assert all(varied in (tmp_path / "growth.svg").read_text() for varied, *_ in found)


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.cluster
@pytest.mark.process
def test_scaling_is_measured(monkeypatch, capsys):
    monkeypatch.setattr(sizes, "SEGMENT_BYTES", sizes.SEGMENT_BYTES)  # which it changes
    scaling.main(quick=True)
    shown = capsys.readouterr().out
    assert "40,000 rows" in shown and "core-seconds per nonzero" in shown


def test_a_simulated_scan_takes_what_its_parts_take():
    even = {"nonzeros": 1e9, "spread": 0.0, "slow": 0.0, "per_task": 0.0, "segment": 5e7}
    costs = simulated_cluster.Costs(**even)
    alone = simulated_cluster.simulate(costs, 1)
    assert alone.n_segments == 100
    assert alone.seconds == pytest.approx(alone.reading + alone.summing + alone.merging + alone.client)
    for n in (2, 10):
        outcome = simulated_cluster.simulate(costs, n)
        assert alone.seconds / n <= outcome.seconds < alone.seconds
        assert outcome.reading == pytest.approx(alone.reading) and outcome.summing == pytest.approx(alone.summing)
    assert simulated_cluster.simulate(replace(costs, store_bandwidth=1e7), 10).seconds >= 2.5e9 / 1e7
    assert len(simulated_cluster.table(costs, (1, 2)).splitlines()) == 4
    reads = simulated_cluster.simulate_reads(replace(costs, reads=3, read_times=2.0), 2)
    scan = simulated_cluster.simulate(costs, 2)
    assert reads.summing == pytest.approx(7 * scan.summing) and reads.reading == pytest.approx(4 * scan.reading)
    assert reads.seconds > 4 * scan.seconds


@pytest.mark.parametrize("kind", [kind for kind in fit_memory.KINDS if "cells" not in kind])
def test_files_are_made_and_fitted(kind, tmp_path):
    make, fit = fit_memory.KINDS[kind]
    make(tmp_path, 50)
    assert fit(tmp_path).stats_.n_rows == 50


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.process
def test_seconds_of_first_fits_that_compile(tmp_path):
    fit = "snb.scan(X, y)"
    assert compiling.seconds(fit, str(tmp_path)) > 0.0 and any(tmp_path.rglob("*.nbc"))


@pytest.mark.slow
@pytest.mark.benchmark
def test_seconds_of_reads_of_rows_that_are_kept(tmp_path):
    keeping.write_lines(tmp_path / "lines.jsonl", 80)
    assert math.isfinite(keeping.seconds_of_reads(tmp_path / "lines.jsonl", "memory"))
