"""Covariances of classes beside tuned logistic regression, chosen by the training rows alone.

`python -m benchmarks.blind_covariance [FOLDER] [--names ..] [--rows 24000]` prints a line for each data set, as
`benchmarks.blind` does, with its features, split and reference. The candidate is `LinearNBCV` with
``Gaussian(covariance="full", shrinkage="auto", maps="auto")``; of more than 200 columns with 9 shrinkages and 3 folds.
"""

import argparse
import warnings
from pathlib import Path

from sklearn.pipeline import make_pipeline

import streamnb as snb
from benchmarks.blind import OURS, both, judged, loaded, reference, scaling, split, timed

FEW = [(a, g) for a in (0.2, 0.5, 1.0) for g in (1e-3, 1e-2, 0.1)]
WIDE = 200


def candidate(X, y):
    """The best shrinkage and map by accuracy and area on five folds, three of wide rows."""
    wide = X.shape[1] > WIDE
    family = snb.Gaussian(covariance="full", shrinkage=FEW if wide else "auto", maps="auto")
    return snb.LinearNBCV(family, scoring=both, folds=3 if wide else 5).fit(X, y)


def compare(name: str, data, most: int) -> None:
    X, y, X_test, y_test = split(*data, most)
    scale = make_pipeline(scaling(X))
    X, X_test = scale.fit_transform(X), scale.transform(X_test)
    theirs, seconds = timed(reference, X, y)
    ours, own = timed(candidate, X, y)
    (accuracy, area), (own_accuracy, own_area) = judged(theirs, X_test, y_test), judged(ours, X_test, y_test)
    print(
        f"{name:14} {X.shape[0]:6} x {X.shape[1]:4} | {accuracy:.4f} {area:.4f} {seconds:6.1f} s | "
        f"{own_accuracy:.4f} {own_area:.4f} {own:6.1f} s  {ours.best_}",
        flush=True,
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="has NAME.npz of other sets")
    parser.add_argument("--names", nargs="+", help="sets; all of scikit-learn unless given")
    parser.add_argument("--rows", type=int, default=24_000, help="at most (default %(default)s)")
    options = parser.parse_args()
    warnings.simplefilter("ignore")
    for name in options.names or OURS:
        if (data := loaded(name, options.folder)) is not None:
            compare(name, data, options.rows)


if __name__ == "__main__":
    main()
