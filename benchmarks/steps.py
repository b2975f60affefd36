"""Reads that softmax regression needs, with a sample of the rows and without one.

`python -m benchmarks.steps FOLDER [--names ..] [--rows 7200]` takes the arrays of `benchmarks.how_good`. Reads count,
the sample included, until on the rows held out the log loss is within .005 and the accuracy within .003 of those of the
weights to which training converges. Seconds are those of the processor for a fit of that many reads.
"""

import argparse
import time
import warnings
from pathlib import Path
from statistics import median

from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline

import streamnb as snb
from benchmarks.how_good.sets import read, scaling
from streamnb.solving.fitting import DescentMethod

LOSS, ACCURACY, MOST = 0.005, 0.003, 60
L2 = 1.0
WITH_SAMPLE = DescentMethod.samples


def reads_needed(X, y, X_test, y_test, sampled):
    """The reads until quality is that of the converged weights, and the seconds of a fit of that many reads."""
    DescentMethod.samples = WITH_SAMPLE if sampled else lambda *_: False

    def fitted(n_reads):
        began = time.process_time()
        model = snb.SoftmaxRegression(L2, max_passes=n_reads).fit(X, y, progress=False)
        return model, time.process_time() - began

    def quality(model):
        proba = model.predict_proba(X_test)
        return log_loss(y_test, proba, labels=model.classes_), (model.classes_[proba.argmax(axis=1)] == y_test).mean()

    loss, accuracy = quality(fitted(400)[0])
    for n_reads in range(2, MOST + 1):
        model, seconds = fitted(n_reads)
        own = quality(model)
        if own[0] <= loss + LOSS and own[1] >= accuracy - ACCURACY:
            return n_reads, seconds
    return MOST, seconds


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", type=Path, help="has NAME.npz of each set")
    parser.add_argument("--names", nargs="+")
    parser.add_argument("--rows", type=int, help="at most so many to learn from")
    options = parser.parse_args()
    found = []
    for name in options.names or sorted(path.stem for path in options.folder.glob("*.npz")):
        X, y, X_test, y_test = read(options.folder, name, options.rows)
        scale = make_pipeline(scaling(X)).fit(X)
        X, X_test = scale.transform(X), scale.transform(X_test)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            (new, seconds), (old, before) = (reads_needed(X, y, X_test, y_test, sampled) for sampled in (True, False))
        found.append((new, old))
        print(f"{name}: {new} reads, {seconds:.2f} s; without a sample {old} reads, {before:.2f} s", flush=True)
    print("median:", *(f"{median(reads):g}" for reads in zip(*found, strict=True)))


if __name__ == "__main__":
    main()
