"""Selections that are killed at any moment and begun again: `python -m tests.support.killed_corpora FOLDER N_KILLS`.

Each run is a fork of this process, so that nothing is imported or compiled anew. It prints how many runs were killed in
mid-run, and whether the parts are those of a run that nobody disturbed.
"""

import os
import random
import shutil
import signal
import sys
import time
from pathlib import Path

import streamnb as snb
from streamnb.corpora import reading
from tests.support.corpora import corpus, lines, model, written

SHARE = 0.3


def selected(fitted, rows, folder):
    return snb.select(fitted, rows, folder, "good", share=SHARE, text="text", n_threads=2)


def killed(fitted, rows, folder, seconds):
    """Run in a process of its own, which is killed after some time; whether it was still running."""
    child = os.fork()
    if not child:
        selected(fitted, rows, folder)
        os._exit(0)
    time.sleep(seconds)
    os.kill(child, signal.SIGKILL)
    return os.waitpid(child, 0)[1] == signal.SIGKILL


def main(folder, n_kills):
    folder, reading.PART_BYTES = Path(folder), 9000
    fitted, rows = model(), corpus(folder / "in", lines(800), 3)
    selected(fitted, rows, folder / "undisturbed")
    started = time.perf_counter()
    selected(fitted, rows, folder / "warm")
    seconds = time.perf_counter() - started
    n_killed, draw = 0, random.Random(0)
    while n_killed < n_kills:
        n_killed += killed(fitted, rows, folder / "kept", draw.uniform(0.0, seconds / 2))
        there = {path.name for path in (folder / "kept").glob("*")}
        if draw.random() < 0.2 or "part-00020.jsonl" in there:  # from the beginning, in time
            selected(fitted, rows, folder / "kept")
            same = written(folder / "kept") == written(folder / "undisturbed")
            if not same:
                break
            shutil.rmtree(folder / "kept")
    selected(fitted, rows, folder / "kept")
    same = written(folder / "kept") == written(folder / "undisturbed")
    print(n_killed, same, *[path.name for path in (folder / "kept").glob(".*")])


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]))
