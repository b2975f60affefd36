"""Which package does a file belong to? Tens of thousands of classes, a quarter of a million features, one scan.

    python examples/which_package.py [--rows 100000] [--contents FILE ..] [--memory 2GB]

The rows are the paths of Debian's file lists, 7.3 million; the classes its packages, 63,000; the features the parts and
words of a path, hashed to 2^18 columns. A dense table of class sums would take over 130 GB: streamnb keeps the cells
that some path touches, and computes the weights that a prediction needs. One path in a thousand is held out.

`apt-get update` fetches the file lists (50 MB) into a folder of their own, which needs Debian or Ubuntu and a network;
nothing of the system is changed. Without them, it says so. --contents reads files that are there already.
"""

import argparse
import re
from contextlib import nullcontext
from itertools import islice
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter

import apt_lists
import numpy as np
from peak_memory import PeakMemory
from sklearn.feature_extraction.text import HashingVectorizer

import streamnb as snb

N_FEATURES = 1 << 18
BLOCK = 50_000  # paths
HELD_OUT = 1000  # one path in so many
AT_ONCE = 500  # held-out paths scored at once: each has a number for every package
SMOOTHING = 0.01
WORD = re.compile(r"[a-zA-Z]+|\d+")


def main():
    options = parse_options()
    with nullcontext() if options.contents else TemporaryDirectory() as folder:
        files = options.contents or file_lists(Path(folder))
        if not files:
            print("No file lists of Debian: apt-get is missing, or could not fetch them (is there a network?)")
            return
        with PeakMemory() as memory:
            learn_and_judge(Paths(files, options.rows), options)
    print(f"Peak memory {memory.peak / 2**30:.2f} GiB")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=int, help="at most so many paths (default: all)")
    parser.add_argument("--contents", type=Path, nargs="+", help="file lists, in place of fetching them")
    parser.add_argument("--memory", default="2GB", help="of the class sums (default %(default)s)")
    return parser.parse_args()


def learn_and_judge(paths, options):
    started = perf_counter()
    stats = snb.scan(paths.blocks(), moments=["sum"], memory_limit=options.memory)
    seconds = perf_counter() - started
    n_classes = len(stats.classes)
    print(f"{stats.n_rows:,} paths of {n_classes:,} packages, {N_FEATURES:,} features")
    print(f"One scan: {seconds:.0f} s, {stats.n_rows / seconds:,.0f} rows/s; class sums {stats.nbytes / 1e6:,.1f} MB")
    print(f"A dense table would need {8 * n_classes * N_FEATURES / 1e9:,.1f} GB")
    started = perf_counter()
    model = snb.solve(stats, "multinomial", smoothing=SMOOTHING, memory_limit=options.memory)[0]
    first = among_ten = 0
    for start in range(0, len(paths.held_out), AT_ONCE):
        some = paths.held_out[start : start + AT_ONCE]
        scores = model.decision_function(features([path for path, _ in some]))
        best = model.classes_[np.argpartition(scores, -min(10, n_classes), axis=1)[:, -10:]]
        packages = np.array([package for _, package in some])
        first += np.count_nonzero(model.classes_[scores.argmax(axis=1)] == packages)
        among_ten += np.count_nonzero(best == packages[:, None])
    n, seconds = max(len(paths.held_out), 1), perf_counter() - started
    print(f"{n:,} held-out paths: {first / n:.1%} right, {among_ten / n:.1%} among the first ten; {seconds:.0f} s")


# ---- rows ------------------------------------------------------------------------------------------------------------


class Paths:
    """The paths of file lists and their packages; those held out are put aside on the way."""

    def __init__(self, files, most):
        self._files, self._most = files, most
        self.held_out = []

    def blocks(self):
        """Chunks of rows to learn from."""
        rows = islice(self._rows(), self._most)
        while some := list(islice(rows, BLOCK)):
            self.held_out += some[HELD_OUT // 2 :: HELD_OUT]
            del some[HELD_OUT // 2 :: HELD_OUT]
            yield features([path for path, _ in some]), [package for _, package in some]

    def _rows(self):
        for file in self._files:
            with file.open(encoding="utf-8") as lines:
                for line in lines:
                    path, packages = line.rsplit(None, 1)
                    yield path, packages.split(",")[0].rpartition("/")[2]  # section/name, of the first that has it


def parts_and_words(path):
    return path.split("/") + WORD.findall(path)


def features(paths):
    hashing = {"n_features": N_FEATURES, "alternate_sign": False, "norm": None, "dtype": np.float32}
    return HashingVectorizer(analyzer=parts_and_words, **hashing).transform(paths)


def file_lists(folder):
    """Debian's file lists as plain text; none where they cannot be had."""
    index = "Acquire::IndexTargets::deb"
    settings = {
        f"{index}::Contents::MetaKey": "$(COMPONENT)/Contents-$(ARCHITECTURE)",
        f"{index}::Contents::ShortDescription": "Contents",
        f"{index}::Contents::Description": "$(RELEASE)/$(COMPONENT) $(ARCHITECTURE) Contents",
        f"{index}::Packages::DefaultEnabled": "false",
        f"{index}::Translations::DefaultEnabled": "false",
    }
    return sorted(apt_lists.fetched(folder, settings).glob("*_Contents-*"))


if __name__ == "__main__":
    main()
