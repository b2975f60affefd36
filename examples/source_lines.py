"""From a million source lines, as text, to a classifier with its whole regularisation path, in one scan.

Which package does a piece of Python source come from? The rows are the source on this machine (see source_text.py),
written once as JSON lines. Words and pairs of words are hashed as the file is read; naive Bayes and its whole path of
L1 penalties come out of a single scan, softmax regression of a few reads more:

    python examples/source_lines.py [--rows 550000] [--taus 20] [--texts build/source_lines] [--out build]
"""

import argparse
import json
import shutil
import sys
import warnings
import zlib
from pathlib import Path
from time import perf_counter
from typing import NamedTuple

import numpy as np
import source_text
from matplotlib.figure import Figure
from peak_memory import PeakMemory
from scipy.special import logsumexp
from source_text import Sampling

import streamnb as snb

FAMILY = "poisson"
WORDS = (1, 2)  # single words and pairs
N_FEATURES = 2**18
N_NAMES = 100_000  # tokens that are kept as names of columns
READS = 4  # of softmax regression, beside the scan
AUC_SHARE = 0.95  # of the best macro AUC: what the model that is kept must reach
N_SHOWN = 8  # packages and tokens shown


class Point(NamedTuple):
    """One model of the path and how it does on the held-out rows."""

    tau: float
    n_kept: int
    accuracy: float
    auc: float


def main():
    started = perf_counter()
    options = parse_options()
    options.out.mkdir(parents=True, exist_ok=True)
    folder = keep_texts(options.texts, options.rows)
    train, held_out = opened(folder / "train.jsonl", keep_tokens=N_NAMES), opened(folder / "held_out.jsonl")

    snb.LinearNB(FAMILY).fit(held_out)  # compiles, so that the scan's time is its own
    model = fit_in_one_scan(train)
    path = snb.solve(model.stats_, FAMILY, snb.L1(scale="score", n_taus=options.taus))  # reads no data
    y = labels_of(folder / "held_out.jsonl")
    points = score_path(model, path, held_out, y)
    read_more(train, held_out, y)
    model.refit(penalty=snb.L1(chosen_tau(points), scale="score"))
    show_telling_tokens(model)

    model.save(options.out / "source_lines.model")
    plot_path(points, options.out / "source_lines.png")
    print(f"\nWrote {options.out / 'source_lines.model'} and {options.out / 'source_lines.png'}")
    print(f"Done in {perf_counter() - started:.0f} s.")


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=550_000, help="about how many rows to use (default %(default)s)")
    parser.add_argument("--taus", type=int, default=20, help="penalties on the path (default %(default)s)")
    parser.add_argument("--texts", type=Path, default=Path("build/source_lines"), help="kept for the next run")
    parser.add_argument("--out", type=Path, default=Path("build"), help="folder for the model and the picture")
    return parser.parse_args()


# ---- rows in ---------------------------------------------------------------------------------------------------------


def keep_texts(folder, n_rows):
    """The folder of training and held-out rows: of an earlier run if it asked for the same, else written now."""
    recipe = {"rows": n_rows, "code": zlib.crc32(Path(source_text.__file__).read_bytes())}
    note = folder / "recipe.json"
    if folder.exists() and not note.exists():
        sys.exit(f"{folder} is no folder of this example: remove it, or name another place with --texts")
    if note.exists() and json.loads(note.read_text()) == recipe:
        print(f"Using the rows kept in {folder}.")
        return folder
    started = perf_counter()
    shutil.rmtree(folder, ignore_errors=True)
    unfinished = folder.with_name(folder.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    unfinished.mkdir(parents=True)
    files = source_text.find_files()
    sampling = Sampling.about(n_rows, files)
    for part, own_files in zip(("train", "held_out"), source_text.split(files), strict=True):
        source_text.write(unfinished / f"{part}.jsonl", own_files, sampling)
    (unfinished / "recipe.json").write_text(json.dumps(recipe))
    unfinished.rename(folder)
    print(f"Collected source as JSON lines in {perf_counter() - started:.1f} s")
    return folder


def opened(path, **options):
    return snb.text(path, text="text", y="package", words=WORDS, n_features=N_FEATURES, **options)


def labels_of(path):
    with path.open(encoding="utf-8") as lines:
        return np.array([json.loads(line)["package"] for line in lines])


# ---- one scan, and a few reads more ----------------------------------------------------------------------------------


def fit_in_one_scan(rows):
    """Plain naive Bayes, with the statistics that every other model of the run is solved from."""
    print(f"\n{rows.n_rows:,} training rows, {rows.nbytes / 1e6:.0f} MB of JSON lines")
    started = perf_counter()
    with PeakMemory() as memory:
        model = snb.LinearNB(FAMILY).fit(rows, progress=True)
    seconds, report = perf_counter() - started, model.report_
    print(
        f"One scan: {seconds:.1f} s, {rows.n_rows / seconds:,.0f} rows/s, {rows.nbytes / seconds / 1e6:.0f} MB/s; "
        f"reading and hashing {report.seconds_reading:.1f} s, summing {report.seconds_computing:.1f} s, of all threads"
    )
    print(
        f"Memory: the fit added {memory.growth / 1e6:.0f} MB, class sums among them {model.stats_.nbytes / 1e6:.0f} MB"
    )
    return model


def read_more(rows, held_out, y):
    """The last line of the table: a model that is trained, in a few reads of the same text."""
    started = perf_counter()
    with warnings.catch_warnings(action="ignore", category=snb.StreamnbWarning):  # that the reads were spent
        model = snb.SoftmaxRegression(l2=1.0, max_passes=READS).fit(rows)
    show(Point(0.0, *score(model, held_out, y)), "softmax")
    print(f"softmax: softmax regression, {model.n_passes_} reads more in {perf_counter() - started:.1f} s")


# ---- the path --------------------------------------------------------------------------------------------------------


def score_path(plain, path, held_out, y):
    """Print and return a table of plain naive Bayes and the model of every tau."""
    print(f"\n{len(y):,} held-out rows of {len(np.unique(y))} packages, {len(path)} models from the same scan")
    print(f"{'tau':>12} {'features':>9} {'accuracy':>9} {'macro AUC':>10}")
    points = [show(Point(0.0, *score(plain, held_out, y)), "plain")]
    for i in range(len(path)):
        points.append(show(Point(path.grid[i]["l1"], *score(path[i], held_out, y))))
    return points


def show(point, name=None):
    print(f"{name or f'{point.tau:.4g}':>12} {point.n_kept:>9,} {point.accuracy:>9.4f} {point.auc:>10.4f}")
    return point


def score(model, X, y):
    """Features kept, accuracy, and area under the ROC curve of a package against the rest, mean over packages."""
    n_kept = np.count_nonzero(np.any(model.coef_ != 0, axis=0))
    judged = snb.evaluate(y, scores=log_odds(model.decision_function(X)), classes=model.classes_)
    return n_kept, judged.accuracy(), judged.roc_auc()


def log_odds(scores):
    """Posterior log-odds of each class against all others, without the rounding of probabilities near 1."""
    rows, best = np.arange(len(scores)), scores.argmax(axis=1)
    others = scores.copy()
    others[rows, best] = -np.inf
    gap = logsumexp(scores, axis=1, keepdims=True) - scores
    gap[rows, best] = np.inf  # replaced below
    odds = -gap - np.log1p(-np.exp(-gap))
    odds[rows, best] = scores[rows, best] - logsumexp(others, axis=1)
    return odds


def chosen_tau(points):
    """Tau with the fewest features among those whose macro AUC comes near the best."""
    least = AUC_SHARE * max(point.auc for point in points)
    chosen = min((point for point in points if point.auc >= least), key=lambda point: point.n_kept)
    print(f"Kept: tau = {chosen.tau:.4g}, the fewest features with {AUC_SHARE:.0%} of the best AUC on these rows")
    return chosen.tau


# ---- what came out ---------------------------------------------------------------------------------------------------


def show_telling_tokens(model):
    """Print the words that add most to the mean score of a package."""
    names = model.feature_names_in_
    words = [j for j, name in enumerate(names) if name.startswith("text: ") and " " not in name.split('"')[1]]
    share = model.stats_.sum / model.stats_.sum.sum(axis=1, keepdims=True)
    telling = (model.coef_ * share)[:, words]
    print("\nTelling tokens:")
    for k in np.argsort(-model.stats_.weight)[:N_SHOWN]:
        best = [i for i in np.argsort(-telling[k])[:N_SHOWN] if telling[k, i] > 0]
        print(f"{model.classes_[k]:>12}  {'  '.join(names[words[i]].split(chr(34))[1] for i in best)}")


def plot_path(points, file):
    """Scores (left) and features kept (right) against tau."""
    tau, n_kept, accuracy, auc = np.array([point for point in points if point.tau > 0]).T
    figure = Figure(figsize=(8, 5), layout="constrained")
    left = figure.subplots()
    right = left.twinx()
    left.semilogx(tau, auc, "o-", color="C0", label="macro AUC")
    left.semilogx(tau, accuracy, "s-", color="C1", label="accuracy")
    left.axhline(points[0].accuracy, color="C1", linestyle=":", label="accuracy, plain naive Bayes")
    right.loglog(tau, n_kept, "-", color="0.5", label="features kept")
    left.set(xlabel="tau (L1 penalty, scale of the score test)", ylabel="on held-out files", ylim=(0, 1))
    right.set_ylabel("features kept")
    figure.legend(loc="outside upper center", ncols=4)
    figure.savefig(file, dpi=120)


if __name__ == "__main__":
    main()
