"""The default search beside the classifiers of scikit-learn, all tuned on the same folds of the training rows.

`python -m benchmarks.search [FOLDER] [--names ..] [--rows 24000] [--folds 5] [--keep FILE]` takes the sets of
`benchmarks.blind`, and prints of each the accuracy and the mean area under the ROC curve on a fifth of the rows: those
of the classifier of scikit-learn that is best on the folds by accuracy, of the one best by area, and of
`snb.search(X, y)`. Seconds are those of the processor, of all threads. scikit-learn's get features that suit them, as
in `benchmarks.blind`: logistic regression, LinearSVC, linear and quadratic discriminant analysis of up to 300 dense
features, naive Bayes.
"""

import argparse
import json
import time
import warnings
from pathlib import Path

import numpy as np
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis, QuadraticDiscriminantAnalysis
from sklearn.linear_model import LogisticRegression
from sklearn.naive_bayes import BernoulliNB, GaussianNB, MultinomialNB
from sklearn.pipeline import make_pipeline
from sklearn.svm import LinearSVC

import streamnb as snb
from benchmarks.blind import OURS, judged, loaded, scaling, split

SLACK = 0.01
FEW = 300  # features, for covariances
C = 0.1, 1.0, 10.0, 100.0


def classifiers(X):
    """Each with its grid, as pipelines."""
    scale = scaling(X)
    found = {
        "logistic regression": [make_pipeline(scale, LogisticRegression(C=c, max_iter=200)) for c in C],
        "LinearSVC": [make_pipeline(scale, LinearSVC(C=c / 10.0)) for c in C],
    }
    if (X.data if sp.issparse(X) else X).min() >= 0.0:
        found["multinomial"] = [MultinomialNB(alpha=a) for a in (0.01, 0.1, 1.0)]
        found["Bernoulli"] = [BernoulliNB(alpha=a) for a in (0.01, 0.1, 1.0)]
    if not sp.issparse(X):
        found["Gaussian"] = [GaussianNB(var_smoothing=v) for v in (1e-9, 1e-5, 1e-2)]
        if X.shape[1] <= FEW:
            lda = [LinearDiscriminantAnalysis(solver="lsqr", shrinkage=s) for s in (None, "auto", 0.1, 0.5)]
            qda = [QuadraticDiscriminantAnalysis(reg_param=r) for r in (0.0, 0.01, 0.1, 0.5)]
            found["LDA"], found["QDA"] = ([make_pipeline(scale, one) for one in some] for some in (lda, qda))
    return found


def on_folds(model, X, y, folds):
    """Accuracy and area, the means over the folds; none of a model that cannot be fitted."""
    scores = []
    for fold in range(folds.max() + 1):
        rest, held = np.flatnonzero(folds != fold), np.flatnonzero(folds == fold)
        held = held[np.isin(y[held], y[rest])]
        try:
            scores.append(judged(clone(model).fit(X[rest], y[rest]), X[held], y[held]))
        except (ValueError, np.linalg.LinAlgError):
            return np.zeros(2)
    return np.mean(scores, axis=0)


def references(X, y, folds):
    """Of each kind the model best on the folds by accuracy, and that best by area."""
    tuned = []
    for name, models in classifiers(X).items():
        scores = [on_folds(model, X, y, folds) for model in models]
        best = int(np.argmax([score.sum() for score in scores]))  # of a kind, by the mean of both
        tuned.append((scores[best], name, models[best]))
    return [max(tuned, key=lambda one, which=which: one[0][which]) for which in (0, 1)]


def timed(function):
    began = time.process_time()
    return function(), time.process_time() - began


def of_references(rows_of_two, folds):
    """What the best two come to on the other rows, their names, and the seconds that finding them took."""
    X, y, X_test, y_test = rows_of_two
    best, seconds = timed(lambda: references(X, y, folds))
    values = [judged(clone(model).fit(X, y), X_test, y_test)[which] for which, (_, _, model) in enumerate(best)]
    return {"values": values, "names": [name for _, name, _ in best], "seconds": seconds}


def kept_references(keep, key, find):
    """The figures that were found before with this key, kept in a file; found now where they were not."""
    known = json.loads(keep.read_text()) if keep is not None and keep.exists() else {}
    if key not in known:
        known[key] = find()
        if keep is not None:
            keep.write_text(json.dumps(known, indent=1))
    return known[key]


def compare(name, data, rows, n_folds, keep):
    """One line; whether the search is within the slack of both."""
    X, y, X_test, y_test = split(*data, rows)
    folds = snb.fold_numbers(len(y), n_folds)
    key = f"{name}, {rows} rows, {n_folds} folds"
    theirs = kept_references(keep, key, lambda: of_references((X, y, X_test, y_test), folds))
    (accuracy, area), names = theirs["values"], theirs["names"]
    found, ours = timed(lambda: snb.search(X, y, folds=folds, show=False, progress=False))
    own = judged(found.best_, X_test, y_test)
    reached = own[0] >= accuracy - SLACK and own[1] >= area - SLACK
    print(
        f"| {name} | {X.shape[0]} x {X.shape[1]}, {len(np.unique(y))} | {accuracy:.4f} {names[0]} | {area:.4f} "
        f"{names[1]} | {theirs['seconds']:.0f} | {own[0]:.4f} | {own[1]:.4f} | {ours:.0f} | {found.ranked[0].name} | "
        f"{'yes' if reached else 'no'} |",
        flush=True,
    )
    return reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="has NAME.npz of other sets")
    parser.add_argument("--names", nargs="+", help="sets; all that are there unless given")
    parser.add_argument("--rows", type=int, default=24_000, help="at most (default %(default)s)")
    parser.add_argument("--folds", type=int, default=5)
    parser.add_argument("--keep", type=Path, help="a file that keeps what scikit-learn's come to, for further runs")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # of what converges late, and of folds that lack a class
    others = [] if options.folder is None else sorted(path.stem for path in options.folder.glob("*.npz"))
    found = {name: loaded(name, options.folder) for name in options.names or [*OURS, *others]}
    how = options.rows, options.folds, options.keep
    reached = [compare(name, data, *how) for name, data in found.items() if data is not None]
    print(f"{sum(reached)} of {len(reached)} are within {SLACK} of both")


if __name__ == "__main__":
    main()
