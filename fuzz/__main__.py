"""Look for inputs that break streamnb, led by the lines of it that they reach.

    python -m fuzz                          each harness for 20 seconds
    python -m fuzz stores -s 600            one of them for ten minutes
    python -m fuzz stores crash-1a2b..      once more with the input that failed

Kernels are interpreted, so that their lines are seen too and an index out of bounds is an error. A harness has a
process of its own: whatever ends it, or keeps it for longer than 60 seconds, is noticed.
"""

import argparse
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from random import Random

HARNESSES = ["arrays", "stores", "files", "options"]
SEEDS = [bytes(1), *(Random(i).randbytes(2**i) for i in range(3, 9))]


def main():
    parser = argparse.ArgumentParser(prog="fuzz", description=__doc__.splitlines()[0])
    parser.add_argument("harness", nargs="?", choices=HARNESSES, help="all of them by default")
    parser.add_argument("failed", nargs="?", help="a file with an input that failed before")
    parser.add_argument("-s", "--seconds", type=int, default=20, help="for each harness")
    options = parser.parse_args()
    names = [options.harness] if options.harness else HARNESSES
    sys.exit(max([run(name, options.failed, options.seconds) for name in names]))


def run(name, failed, seconds):
    """Start one harness, from a few seeds; the exit code is 0 unless an input failed."""
    with tempfile.TemporaryDirectory(prefix="streamnb-fuzz-") as folder:
        for i, seed in enumerate(SEEDS):
            Path(folder, f"seed-{i}").write_bytes(seed)
        limits = ["-timeout=60", "-rss_limit_mb=4096", "-max_len=512", "-len_control=0", f"-artifact_prefix={name}-"]
        what = [failed] if failed else [f"-max_total_time={seconds}", folder]
        print(f"---- {name}", flush=True)
        interpreted = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
        return subprocess.run([sys.executable, "-m", "fuzz.harness", name, *limits, *what], env=interpreted).returncode


if __name__ == "__main__":
    main()
