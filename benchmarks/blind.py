"""Beside tuned logistic regression: one candidate that chooses among the models of several reads by its training rows.

`python -m benchmarks.blind [FOLDER] [--names ..] [--rows 24000]` prints a line for each data set: accuracy, the mean
area under the ROC curve over classes, on a fifth of the rows, and CPU seconds of both. Digits, wine and breast cancer
come with scikit-learn; others are read from FOLDER/NAME.npz, which has y and X, or of CSR rows data, indices, indptr
and shape (np.savez). What is not there is left out. `--after 3 6 11` prints what each model comes to after so many
reads instead.

Both get the same features: tf-idf of counts, columns of unit variance or, where a fifth of the values are zeros,
columns divided by their largest value. Logistic regression chooses C by a third of its rows held out.
"""

import argparse
import json
import time
import warnings
from pathlib import Path
from typing import NamedTuple

import numpy as np
import scipy.sparse as sp
from sklearn import datasets
from sklearn.feature_extraction.text import TfidfTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, StandardScaler

import streamnb as snb

OURS = {"digits": datasets.load_digits, "breast_cancer": datasets.load_breast_cancer, "wine": datasets.load_wine}
MODELS = "SoftmaxRegression", "MarginClassifier", "LeastSquaresClassifier"
L2 = 10.0, 1.0, 0.1, 0.01  # 1 / C of the reference
MOST_READS = 200  # until converged, as many as the reference
MEMORY = "2GB"  # that all open models may take; others wait
COMPARED = 3_000  # rows that tell which model
MANY_WEIGHTS = 100_000  # of which there are fewer models
FEWEST = 10  # rows of a class, which others are left out for
SLACK = 0.003  # below logistic regression, that counts as reached


def loaded(name: str, folder: Path | None):
    """X and y of a set, None where it is not there."""
    if name in OURS:
        return OURS[name](return_X_y=True)
    if folder is None or not (path := folder / f"{name}.npz").exists():
        return None
    with np.load(path, allow_pickle=False) as kept:
        if "X" in kept:
            return kept["X"].astype(np.float32), kept["y"]
        return sp.csr_matrix((kept["data"], kept["indices"], kept["indptr"]), shape=kept["shape"]), kept["y"]


def split(X, y, most: int):
    """Training and test rows of at most so many, without classes of few rows and columns that no training row has.

    Neither model would learn a weight for these.
    """
    some = np.random.default_rng(0).permutation(len(y))[:most]
    labels, n_rows = np.unique(y[some], return_counts=True)
    some = some[np.isin(y[some], labels[n_rows >= FEWEST])]
    cut = len(some) * 4 // 5
    train, test = np.sort(some[:cut]), np.sort(some[cut:])
    test = test[np.isin(y[test], np.unique(y[train]))]
    used = slice(None) if not sp.issparse(X) else np.flatnonzero(X[train].getnnz(axis=0))
    return X[train][:, used], y[train], X[test][:, used], y[test]


def scaling(X):
    """What suits these features."""
    if sp.issparse(X) and X.max() > 1.0:
        return TfidfTransformer(sublinear_tf=True)
    n_zeros = np.prod(X.shape) - (X.nnz if sp.issparse(X) else np.count_nonzero(X))
    return MaxAbsScaler() if n_zeros > 0.2 * np.prod(X.shape) else StandardScaler()


def candidate(X, y):
    """One of three models with its penalty and number of reads, chosen on folds of these rows.

    On many rows some thousand say which model, and all of them the rest. Where ending early is not surely better, the
    model of all rows reads them until it has converged.
    """
    some = np.sort(np.random.default_rng(2).permutation(len(y))[:COMPARED])
    labels, n_rows = np.unique(y[some], return_counts=True)
    some = some if len(some) == len(y) else some[np.isin(y[some], labels[n_rows >= FEWEST])]
    best = chosen([point for kind in MODELS for point in points(kind, X[some], y[some])])
    if len(some) < len(y):
        best = chosen(points(best.kind, X, y))
    return getattr(snb, best.kind)(best.l2, max_passes=MOST_READS if best.all_reads else best.reads).fit(X, y)


class Point(NamedTuple):
    """A model after some reads; its scores in each split are (3, n_splits): of both, accuracy and area."""

    kind: str
    l2: float
    reads: int
    all_reads: bool
    scores: np.ndarray


def points(kind, X, y):
    """Penalties and numbers of reads of a model, judged on folds that all classes are in."""
    n_weights = X.shape[1] * len(np.unique(y))
    folds = folds_of(y, 10 if len(y) < 1_000 else 5 if n_weights < MANY_WEIGHTS else 3)
    search = getattr(snb, f"{kind}CV")(L2, folds=folds, scoring=[both, "accuracy", "roc_auc"])
    table = search.fit(X, y, memory_limit=MEMORY).cv_results_
    scores = np.array([splits(table, score) for score in ("score", "accuracy", "roc_auc")])
    l2, reads = table["param_l2"], table["param_max_passes"]
    last = np.append(l2[1:] != l2[:-1], True)
    return [Point(kind, l2[i], int(reads[i]), bool(last[i]), scores[:, i]) for i in range(len(l2))]


def folds_of(y, n_folds):
    """The fold of each row, all classes in each."""
    folds = np.zeros(len(y), dtype=np.int64)
    for number, (_, held) in enumerate(StratifiedKFold(n_folds, shuffle=True, random_state=0).split(y, y)):
        folds[held] = number
    return folds


def after_reads(X, y, numbers):
    """Print accuracy and area on three folds after so many reads, of each model at the better of two penalties."""
    for kind in MODELS:
        search = getattr(snb, f"{kind}CV")([0.1, 1.0], folds=folds_of(y, 3), scoring=["accuracy", "roc_auc"])
        table = search.set_params(max_passes=max(numbers)).fit(X, y, memory_limit=MEMORY).cv_results_
        of_each = [np.flatnonzero(table["param_l2"] == l2) for l2 in search.l2]
        for number in numbers:  # a model that was closed before stays as it was
            points = [rows[table["param_max_passes"][rows] <= number][-1] for rows in of_each]
            best = max(points, key=lambda point: table["mean_test_accuracy"][point])
            accuracy, area = (table[f"mean_test_{score}"][best] for score in ("accuracy", "roc_auc"))
            print(f"{kind:24} {number:4} reads, l2={table['param_l2'][best]:g} | {accuracy:.4f} {area:.4f}", flush=True)


def chosen(judged):
    """The best point where it is surely better than the plain one: softmax regression, l2 of 1, all reads.

    The best is that of the highest mean of accuracy and area, neither of which may be less than that of the plain one.
    Nor does it end early, unless that is surely better than to read on.
    """
    plain = next(point for point in judged if point.l2 == 1.0 and point.all_reads)
    no_less = [point for point in judged if (point.scores.mean(axis=1) >= plain.scores.mean(axis=1)).all()]
    best = max(no_less, key=lambda point: point.scores[0].mean())
    if not better(best, plain):
        return plain
    last = next(point for point in judged if (point.kind, point.l2, point.all_reads) == (best.kind, best.l2, True))
    return best if better(best, last) else last


def splits(table, name):
    """Scores of points in each split."""
    return np.array([table[key] for key in table if key.startswith("split") and key.endswith(f"_test_{name}")]).T


def better(a, b) -> bool:
    """Whether a point is better by two standard errors of the difference in the same splits: few rows tell little."""
    difference = a.scores[0] - b.scores[0]
    return bool(difference.mean() > 2.0 * difference.std(ddof=1) / np.sqrt(len(difference)))


def both(judged) -> float:
    """The mean of accuracy and of the area under the curve."""
    return 0.5 * (judged.accuracy() + judged.roc_auc())


def reference(X, y):
    """Logistic regression."""
    some = np.random.default_rng(1).permutation(len(y))
    rest, held = some[len(y) // 3 :], some[: len(y) // 3]

    def fitted(C, rows):
        return LogisticRegression(C=C, max_iter=200).fit(X[rows], y[rows])

    best = max((1.0 / l2 for l2 in L2), key=lambda C: fitted(C, rest).score(X[held], y[held]))
    return fitted(best, np.arange(len(y)))


def judged(model, X, y):
    """Accuracy, and the mean area over classes; probabilities rank by their log-odds."""
    ranks = "decision_function" if hasattr(model, "decision_function") else "predict_joint_log_proba"
    scores, classes = getattr(model, ranks)(X), model.classes_
    scores = scores[:, 1] - scores[:, 0] if scores.ndim == len(classes) == 2 else scores
    if scores.ndim == 1:
        return (model.predict(X) == y).mean(), roc_auc_score(y == classes[1], scores)
    if hasattr(model, "predict_proba"):
        rest = [np.logaddexp.reduce(np.delete(scores, k, 1), axis=1) for k in range(len(classes))]
        scores = scores - np.array(rest).T
    areas = [roc_auc_score(y == c, scores[:, k]) for k, c in enumerate(classes) if 0 < (y == c).sum() < len(y)]
    return (model.predict(X) == y).mean(), np.mean(areas)


def timed(fit, *given):
    """What it fits, and the CPU seconds."""
    start = time.process_time()
    return fit(*given), time.process_time() - start


def of_reference(name: str, most: int, kept: Path | None, train, test):
    """Accuracy, area and seconds of logistic regression, those that were kept where they were."""
    known = json.loads(kept.read_text()) if kept is not None and kept.exists() else {}
    if f"{name} {most}" not in known:
        model, seconds = timed(reference, *train)
        known[f"{name} {most}"] = [*map(float, judged(model, *test)), seconds]
        if kept is not None:
            kept.write_text(json.dumps(known, indent=1))
    return known[f"{name} {most}"][:3]


def prepared(data, most: int):
    """Training and test rows with the features that both models get."""
    X, y, X_test, y_test = split(*data, most)
    scale = make_pipeline(scaling(X))
    return scale.fit_transform(X), y, scale.transform(X_test), y_test


def compare(name: str, data, most: int, kept: Path | None) -> bool:
    X, y, X_test, y_test = prepared(data, most)
    accuracy, area, seconds = of_reference(name, most, kept, (X, y), (X_test, y_test))
    ours, own = timed(candidate, X, y)
    own_accuracy, own_area = judged(ours, X_test, y_test)
    reached = own_accuracy >= accuracy - SLACK and own_area >= area - SLACK
    chosen = f"{type(ours).__name__} l2={getattr(ours, 'best_', vars(ours))['l2']:g}, {ours.n_passes_} reads"
    print(
        f"{name:14} {X.shape[0]:6} x {X.shape[1]:6} | {accuracy:.4f} {area:.4f} {seconds:6.1f} s | {own_accuracy:.4f} "
        f"{own_area:.4f} {own:6.1f} s {'reached' if reached else '':7} {chosen}",
        flush=True,
    )
    return reached


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("folder", type=Path, nargs="?", help="has NAME.npz of other sets")
    parser.add_argument("--names", nargs="+", help="sets; all that are there unless given")
    parser.add_argument("--rows", type=int, default=24_000, help="at most (default %(default)s)")
    parser.add_argument("--kept", type=Path, help="a JSON file that keeps what logistic regression came to")
    parser.add_argument("--after", type=int, nargs="+", help="only scores of each model after so many reads")
    options = parser.parse_args()
    warnings.simplefilter("ignore")  # that few reads were spent, that a fold lacks a class
    others = [] if options.folder is None else sorted(path.stem for path in options.folder.glob("*.npz"))
    names = options.names or [*OURS, *others]
    found = {name: data for name in names if (data := loaded(name, options.folder)) is not None}
    if options.after:
        for data in found.values():
            after_reads(*prepared(data, options.rows)[:2], options.after)
        return
    reached = [compare(name, data, options.rows, options.kept) for name, data in found.items()]
    print(
        f"{sum(reached)} of {len(reached)} reach its accuracy and area less {SLACK}; not there: {set(names) - {*found}}"
    )


if __name__ == "__main__":
    main()
