"""From a million source lines to a classifier with its whole regularisation path, in one scan.

Which package does a piece of Python source come from? The rows are the source on this machine (see source_text.py),
streamed once into a Zarr store. From there on everything comes out of a single scan of that store:

    python examples/source_lines.py [--rows 1500000] [--taus 30] [--store build/source_lines.zarr] [--out build]
"""

import argparse
import json
import shutil
import sys
import zlib
from pathlib import Path
from tempfile import TemporaryDirectory
from time import perf_counter
from typing import NamedTuple

import numpy as np
import source_text
import zarr
from matplotlib.figure import Figure
from peak_memory import PeakMemory
from scipy import sparse
from scipy.special import logsumexp
from sklearn.metrics import accuracy_score, roc_auc_score
from source_text import N_FEATURES, TOKEN_TAG, Sampling
from tqdm import tqdm

import streamnb as snb

FAMILY = "poisson"
MEMORY_SHARE = 1 / 4  # of the decoded size of the store: what the fit may add to the memory in use
FEWEST_ROWS = 1_000_000  # a smaller store is not asked to outweigh the tables of the model
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
    train, held_out = keep_store(options.store, options.rows)

    warm_up()
    model, fits_memory = fit_in_one_scan(train)
    path = snb.solve(model.stats_, FAMILY, snb.L1(scale="score", n_taus=options.taus))  # reads no data
    points = score_path(model, path, held_out)
    model.refit(penalty=snb.L1(chosen_tau(points), scale="score"))
    show_telling_tokens(model)

    model.save(options.out / "source_lines.model")
    plot_path(points, options.out / "source_lines.png")
    print(f"\nWrote {options.out / 'source_lines.model'} and {options.out / 'source_lines.png'}")
    print(f"Done in {perf_counter() - started:.0f} s.")
    return 0 if fits_memory else 1


def parse_options():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=1_500_000, help="about how many rows to use (default %(default)s)")
    parser.add_argument("--taus", type=int, default=30, help="penalties on the path (default %(default)s)")
    parser.add_argument("--store", type=Path, default=Path("build/source_lines.zarr"), help="kept for the next run")
    parser.add_argument("--out", type=Path, default=Path("build"), help="folder for the model and the picture")
    return parser.parse_args()


# ---- rows in ---------------------------------------------------------------------------------------------------------


def keep_store(store, n_rows):
    """Paths of the training and the held-out rows: of an earlier run if it asked for the same, else written now."""
    recipe = {"rows": n_rows, "code": zlib.crc32(Path(source_text.__file__).read_bytes())}
    note = store / "recipe.json"
    if store.exists() and not note.exists():
        sys.exit(f"{store} is not a store of this example: remove it, or name another place with --store")
    if note.exists() and json.loads(note.read_text()) == recipe:
        print(f"Using the rows kept in {store}.")
    else:
        shutil.rmtree(store, ignore_errors=True)
        write_store(store, n_rows, recipe)
    return store / "train", store / "held_out"


def write_store(store, n_rows, recipe):
    """Write both parts, under a name of their own until they are whole."""
    unfinished = store.with_name(store.name + ".unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    files = source_text.find_files()
    sampling = Sampling.about(n_rows, files)
    for part, own_files in zip(("train", "held_out"), source_text.split(files), strict=True):
        chunks = with_progress(source_text.hashed_chunks(own_files, sampling), f"Hashing text ({part})")
        snb.write_csr(unfinished / part, chunks, n_features=N_FEATURES)
    (unfinished / "recipe.json").write_text(json.dumps(recipe))
    unfinished.rename(store)


def with_progress(chunks, what):
    with tqdm(desc=what, unit=" rows", unit_scale=True) as bar:
        for X, y in chunks:
            yield X, y
            bar.update(len(y))


# ---- one scan --------------------------------------------------------------------------------------------------------


def warm_up():
    """Compile the kernels on a few rows, so that the scan's time and memory are its own."""
    rows = sparse.eye_array(100, N_FEATURES, format="csr", dtype=np.float32)
    with TemporaryDirectory() as folder:
        snb.write_csr(f"{folder}/few", [(rows, np.repeat(["a", "b"], 50))], n_features=N_FEATURES)
        snb.LinearNB(FAMILY).fit(f"{folder}/few", "y")


def fit_in_one_scan(store):
    """Plain naive Bayes, with the statistics that every other model of the run is solved from."""
    n_rows, decoded, on_disk = size_of(store)
    print(f"\n{n_rows:,} training rows, {decoded / 1e9:.2f} GB decoded, {on_disk / 1e9:.2f} GB on disk")
    started = perf_counter()
    with PeakMemory() as memory:
        model = snb.LinearNB(FAMILY).fit(store, "y", progress=True)
    seconds = perf_counter() - started
    report, budget = model.report_, decoded * MEMORY_SHARE
    print(
        f"One scan: {seconds:.1f} s, {n_rows / seconds:,.0f} rows/s, {decoded / seconds / 1e9:.2f} GB/s decoded, "
        f"reading {report.seconds_reading / seconds:.0%} of the time (while another thread sums)"
    )
    fits = memory.growth <= budget
    print(
        f"Memory: the fit added {memory.growth / 1e6:.0f} MB (peak {memory.peak / 1e6:.0f} MB); "
        f"a quarter of the decoded store is {budget / 1e6:.0f} MB: {'holds' if fits else 'does not hold'}"
    )
    return model, fits or n_rows < FEWEST_ROWS


def size_of(store):
    """Rows, decoded bytes and bytes on disk of a CSR store."""
    group = zarr.open_group(store, mode="r")
    decoded = sum(group[name].nbytes for name in ("data", "indices", "indptr"))
    return group.attrs["shape"][0], decoded, sum(file.stat().st_size for file in store.rglob("*") if file.is_file())


# ---- the path --------------------------------------------------------------------------------------------------------


def score_path(plain, path, store):
    """Print and return a table of plain naive Bayes and the model of every tau."""
    y = np.array(zarr.open_group(store, mode="r")["y"][:].tolist())
    print(f"\n{len(y):,} held-out rows of {len(np.unique(y))} packages, {len(path)} models from the same scan")
    print(f"{'tau':>12} {'features':>9} {'accuracy':>9} {'macro AUC':>10}")
    points = [show(Point(0.0, *score(plain, store, y)), "plain")]
    for i in range(len(path)):
        points.append(show(Point(path.grid[i]["l1"], *score(path[i], store, y))))
    return points


def show(point, name=None):
    print(f"{name or f'{point.tau:.4g}':>12} {point.n_kept:>9,} {point.accuracy:>9.4f} {point.auc:>10.4f}")
    return point


def score(model, X, y):
    """Features kept, accuracy, and area under the ROC curve of a package against the rest, mean over packages."""
    n_kept = np.count_nonzero(np.any(model.coef_ != 0, axis=0))
    scores = model.decision_function(X)
    accuracy = accuracy_score(y, model.classes_[scores.argmax(axis=1)])
    present = np.isin(model.classes_, y)
    truth = y[:, None] == model.classes_[present]
    return n_kept, accuracy, roc_auc_score(truth, log_odds(scores)[:, present], average="macro")


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
    names = source_text.feature_names()
    words = {column: name.removeprefix(TOKEN_TAG) for column, name in names.items() if name.startswith(TOKEN_TAG)}
    columns = [column for column, word in words.items() if word.isidentifier()]
    share = model.stats_.sum / model.stats_.sum.sum(axis=1, keepdims=True)
    telling = (model.coef_ * share)[:, columns]
    print("\nTelling tokens:")
    for k in np.argsort(-model.stats_.weight)[:N_SHOWN]:
        best = [i for i in np.argsort(-telling[k])[:N_SHOWN] if telling[k, i] > 0]
        print(f"{model.classes_[k]:>12}  {'  '.join(words[columns[i]] for i in best)}")


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
    sys.exit(main())
