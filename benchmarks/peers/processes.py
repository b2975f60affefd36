"""What only a new process can tell: its peak of memory, and how long it takes to start."""

import json
import statistics
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

from benchmarks.peers.problems import counts, labels, write_own
from benchmarks.peers.table import MEMORY, SECONDS, Row, Size

FIT = """
import json, resource, sys, time
times = [time.process_time()]
import numpy
times.append(time.process_time())
import streamnb as snb
for _ in range(2):
    times.append(time.process_time())
    snb.LinearNB(sys.argv[2]).fit(sys.argv[1], sys.argv[3], progress=False)
times.append(time.process_time())
try:  # of this process alone; getrusage counts the one that started it
    peak = int(open("/proc/self/status").read().partition("VmHWM:")[2].split()[0])
except OSError:
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
print(json.dumps([*times, peak]))
"""


def fit_in_a_process(path: str, family: str = "multinomial", y: str = "y") -> list[float]:
    """The moments before numpy, before streamnb, before and after two fits; and the peak of memory in KiB."""
    ended = subprocess.run([sys.executable, "-c", FIT, path, family, y], capture_output=True, text=True, check=True)
    return json.loads(ended.stdout)


def memory_rows(size: Size, folder: Path) -> Iterator[Row]:
    X, y = counts(size.memory_rows, 2**14, "zipf"), labels(size.memory_rows, 20)
    paths = [write_own(folder / str(times), X, y, times=times) for times in (1, 10)]
    runs = [[fit_in_a_process(path)[-1] for path in paths] for _ in range(size.repeats)]
    peaks = [statistics.median(of_one) for of_one in zip(*runs, strict=True)]
    what = f"peak memory of the process of fit from Zarr, {10 * size.memory_rows:,} rows, {peaks[1] / 1024:.0f} MiB"
    yield Row(what, f"{size.memory_rows:,} rows", 1.05, 1.0, peaks[1] / peaks[0], MEMORY)


def cold_rows(size: Size, folder: Path) -> Iterator[Row]:
    path = write_own(folder / "rows", counts(size.chunk, 2**14, "zipf"), labels(size.chunk, 20))
    fit_in_a_process(path)  # from now on all kernels are kept
    starts = [fit_in_a_process(path) for _ in range(size.repeats)]
    imports = statistics.median(first - numpy for _, numpy, first, *_ in starts)
    fits = statistics.median((second - first) - (third - second) for _, _, first, second, third, _ in starts)
    yield Row("import streamnb", "nothing, after import numpy", 0.3, 0.1, imports, SECONDS)
    yield Row("first fit of a process, kernels kept", "the second fit", 2.5, 1.5, fits, SECONDS)
