"""Every benchmark runs, tiny."""

import inspect
import itertools
import json
import math
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import zarr

import benchmarks
import streamnb as snb
from benchmarks import (
    billion,
    commits,
    compiling,
    filter_speed,
    fit_memory,
    growth,
    intervals,
    keeping,
    private,
    scaling,
    simulated_cluster,
)
from benchmarks.peers import __main__ as peers
from benchmarks.peers import problems
from benchmarks.peers.table import HEAD, Size
from benchmarks.timed import (
    bench_models,
    bench_products,
    bench_reads,
    bench_scan,
    bench_sources,
    bench_start,
    bench_stores,
)
from streamnb.rows import row_blocks

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
    assert {path.stem for path in folder.glob("timed/bench_*.py")} == {
        module.__name__.split(".")[2] for module in MODULES
    }
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
        if hasattr(instance, "setup_cache"):
            params = instance.setup_cache(), *params
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
@pytest.mark.filterwarnings("ignore::streamnb.StreamnbWarning")  # so much noise for so few rows
def test_accuracy_of_private_models_is_measured_and_drawn(tmp_path, capsys):
    found = private.show_accuracy(["iris"], 1, None, tmp_path / "kept.json")
    assert found["iris"]["streamnb"]["none"] > 0.8 and "iris" in capsys.readouterr().out
    private.draw(found, tmp_path / "private.svg")
    assert "accuracy" in (tmp_path / "private.svg").read_text()


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
    monkeypatch.setattr(row_blocks, "SEGMENT_BYTES", row_blocks.SEGMENT_BYTES)  # which it changes
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


def test_speeds_of_filters_are_of_all_steps(tmp_path):
    rows = [{"text": f"a {word} of text {k}", "kind": word} for k in range(40) for word in ("net", "other")]
    files = filter_speed.Files(tmp_path, rows)
    for tool in (filter_speed.streamnb(lambda: snb.LinearNB("multinomial")), filter_speed.sgd):
        assert min(filter_speed.speeds([*tool(files)], files.nbytes, 1)) > 0
    kept = pa.input_stream(tmp_path / "kept.zst", compression="zstd").read().splitlines()
    assert [json.loads(line)["kind"] for line in kept] == ["net"] * 8


@pytest.mark.parametrize("kind", [kind for kind in fit_memory.KINDS if "cells" not in kind])
def test_files_are_made_and_fitted(kind, tmp_path):
    make, fit = fit_memory.KINDS[kind]
    make(tmp_path, 50)
    assert fit(tmp_path).stats_.n_rows == 50


@pytest.mark.parametrize("name", [name for name in billion.RUNS if "clicks" not in name])
def test_runs_of_a_billion_rows_are_made_and_run(name, tmp_path, monkeypatch):
    for size in ("DENSE_ROWS", "FILE_ROWS"):
        monkeypatch.setattr(billion, size, 512)
    n_rows = billion.RUNS[name].write(tmp_path / "rows", 2048)
    assert billion.RUNS[name].fit(tmp_path / "rows").report_.rows >= n_rows == 2048


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


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.process
def test_two_commits_are_compared(capfd):
    pytest.importorskip("asv")
    commits.main(["compare", "HEAD", "--bench", "Score.time_predict.*'joint', 2", "--rounds", "1"])
    assert "Score" in capfd.readouterr().out
    commits.main(["history", "1", "--bench", "Score.time_predict.*'joint', 2", "--rounds", "1"])
    head, _, row = capfd.readouterr().out.splitlines()[-3:]
    assert head.startswith("| milliseconds | 20") and row.startswith("| `Score.time_predict('joint', 2)` | ")


@pytest.mark.process
def test_the_package_of_each_commit_is_measured_and_not_the_installed_one(tmp_path):
    (tmp_path / "streamnb").mkdir()
    (tmp_path / "streamnb" / "__init__.py").write_text("raise SystemExit('the package of the commit')")
    run = [Path(pytest.importorskip("asv").__file__).with_name("benchmark.py"), "discover"]
    given = [Path(benchmarks.__file__).parent / "timed", tmp_path / "found.json"]
    told = subprocess.run([sys.executable, *run, *given], env=commits.environment(tmp_path), capture_output=True)
    assert b"the package of the commit" in told.stderr


@pytest.mark.slow
@pytest.mark.benchmark
def test_intervals_hold_what_they_should(monkeypatch, capsys):
    monkeypatch.setattr(intervals, "SETTINGS", intervals.SETTINGS[:2] + intervals.SETTINGS[-2:])
    intervals.print_coverage(20, 5000)
    intervals.print_binning(5000)
    intervals.print_costs(2000, 1)
    shown = capsys.readouterr().out
    assert "3 labels a row, 300 rows" in shown and "bound of the error of roc_auc" in shown and "20 classes" in shown


TINY = Size(
    n_rows=1200,
    chunk=300,
    repeats=1,
    features=(300,),
    laws=("zipf",),
    slow_rows=1000,
    memory_rows=1200,
    shared_rows=300,
    points=4,
    labels=3,
)


@pytest.mark.slow
@pytest.mark.benchmark
@pytest.mark.process
@pytest.mark.parametrize("part", peers.PARTS)
def test_every_row_has_a_figure(part, tmp_path):
    rows = list(peers.PARTS[part](TINY, tmp_path))
    assert rows
    for row in rows:
        assert str(row).count("|") == HEAD.splitlines()[0].count("|")
        if row.figure is None:
            assert (
                part in ("threads", "others", "additive", "corpora", "cells", "descriptions", "numbers", "regression")
                and row.verdict == "not installed"
            )
        else:
            assert math.isfinite(row.figure) and (row.figure > 0 or part == "cold")


@pytest.mark.parametrize("law", ["uniform", "zipf"])
def test_both_sides_are_given_the_same_rows(law, tmp_path):
    X, y = problems.counts(200, 50, law), problems.labels(200, 3)
    assert X.has_canonical_format
    expected = snb.scan(X, y, moments=["sum"]).sum
    for write in (problems.write_default, problems.write_own):
        path = write(tmp_path / write.__name__, X, y)
        assert (snb.scan(path, "y", moments=["sum"]).sum == expected).all()
        assert np.array_equal(zarr.open_group(path)["y"][:], y)
