"""Private models: accuracy against epsilon beside diffprivlib, a membership attack, and what a private scan costs.

`python -m benchmarks.private [--only accuracy attack time] [--sets ..] [--repeats 20] [--diffprivlib PYTHON]
[--keep FILE] [--picture FILE]`

Accuracy is of held-out rows, the mean over divisions of the rows (text: one division by file, other noise). "none" is
the same model of the same sums without noise. delta is 1e-5, in text 1e-6. diffprivlib (Holohan and others 2019), whose
models are private with delta = 0, needs an older scikit-learn, so it runs under an interpreter of its own.

- iris is diffprivlib's own example, with the bounds of its columns as it gives them. Those of the other tables are the
  ends of their columns, for both tools alike; in earnest they have to be known without looking at the rows.
- Text is 50,000 rows at most of 50 lines of the installed Python packages, hashed to 2^14 columns: of which of 20
  packages? Files are held out as a whole.
- Simulated text has 50,000 rows in 20 classes: 60 words a row, of a vocabulary of 2^14 words, each drawn with weight
  1 / (rank + 20), or with probability .1 one of 40 words of the class.
"""

import argparse
import json
import subprocess
import sys
import time
import warnings
from importlib.util import find_spec
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import scipy.sparse as sp
from sklearn.datasets import load_breast_cancer, load_digits, load_iris
from sklearn.feature_extraction.text import HashingVectorizer
from sklearn.model_selection import train_test_split

import streamnb as snb

EPSILONS = 0.1, 0.3, 1.0, 3.0, 10.0, None
N_FEATURES, MOST_VALUES = 1 << 14, 100
PACKAGES = "pandas scipy moto sklearn numba numpy matplotlib dask pip selenium fontTools mypy pygments pyarrow "
PACKAGES += "distributed onnx setuptools narwhals tornado hypothesis"
PER_ROW, MOST_ROWS, HELD_OUT = 50, 4_000, 0.2  # lines of a row, rows of a package, share of the files
IRIS = (4.3, 2.0, 1.0, 0.1), (7.9, 4.4, 6.9, 2.5)  # bounds of diffprivlib's example
N_PAIRS = 10_000
SETS = "iris", "digits", "breast cancer", "text of packages", "simulated text"
PEER = """
import json, sys, warnings
import numpy as np
from diffprivlib.models import GaussianNB, LogisticRegression
warnings.simplefilter("ignore")
sets, found = np.load(sys.argv[1]), []
for run in range(int(sets["n_runs"])):
    X, y, X_new, y_new = (sets[f"{part}{run}"] for part in ("X", "y", "X_new", "y_new"))
    norm = float(np.sqrt(X.shape[1]))
    for epsilon in json.loads(sys.argv[2]):
        models = {
            "GaussianNB": GaussianNB(epsilon=epsilon, bounds=(-1.0, 1.0), random_state=run),
            "LogisticRegression": LogisticRegression(epsilon=epsilon, data_norm=norm, random_state=run),
        }
        for name, model in models.items():
            try:
                found.append([name, epsilon, model.fit(X, y).score(X_new, y_new)])
            except Exception:  # of a class with no rows left by the noise
                found.append([name, epsilon, 1.0 / len(np.unique(y))])
print(json.dumps(found))
"""


# ---- rows ------------------------------------------------------------------------------------------------------------


def table(name):
    """A table of numbers with columns from -1 to 1, and its labels."""
    X, y = {"iris": load_iris, "digits": load_digits, "breast cancer": load_breast_cancer}[name](return_X_y=True)
    low, high = map(np.array, IRIS) if name == "iris" else (X.min(axis=0), X.max(axis=0))
    return np.clip((X - (low + high) / 2) / np.maximum((high - low) / 2, 1e-9), -1.0, 1.0), y


def package_text():
    """Rows of packages: hashed words, numbers of packages, and which rows are held out."""
    folder = Path(find_spec("sklearn").origin).parents[1]
    texts, y, held_out, rng = [], [], [], np.random.default_rng(0)
    for k, name in enumerate(PACKAGES.split()):
        parts = {False: [], True: []}
        for file in sorted((folder / name).rglob("*.py")):
            lines = [line.strip() for line in file.read_text(errors="ignore").splitlines() if line.strip()]
            starts = range(0, len(lines) - PER_ROW + 1, PER_ROW)
            parts[bool(rng.random() < HELD_OUT)] += ["\n".join(lines[i : i + PER_ROW]) for i in starts]
        for out, rows in parts.items():
            some = rng.permutation(len(rows))[: MOST_ROWS // 10 if out else MOST_ROWS]
            texts += [rows[i] for i in some]
            y += [k] * len(some)
            held_out += [out] * len(some)
    words = HashingVectorizer(n_features=N_FEATURES, binary=True, norm=None, alternate_sign=False)
    return sp.csr_array(words.transform(texts)), np.array(y), np.array(held_out)


def simulated_text(n_rows=60_000, n_classes=20, n_words=60, n_topical=40):
    """Rows of words, of which some are of their class."""
    rng = np.random.default_rng(0)
    shares = 1.0 / (np.arange(N_FEATURES) + 20.0)
    topics = rng.permutation(np.arange(200, N_FEATURES))[: n_classes * n_topical].reshape(n_classes, n_topical)
    y = rng.integers(0, n_classes, n_rows)
    common = rng.choice(N_FEATURES, (n_rows, n_words), p=shares / shares.sum())
    own = topics[y[:, None], rng.integers(0, n_topical, (n_rows, n_words))]
    columns = np.where(rng.random((n_rows, n_words)) < 0.1, own, common)
    X = sp.csr_array(
        (np.ones(columns.size), columns.reshape(-1), np.arange(n_rows + 1) * n_words), (n_rows, N_FEATURES)
    )
    X.sum_duplicates()
    return X, y, np.arange(n_rows) >= 50_000


# ---- accuracy --------------------------------------------------------------------------------------------------------


def tables_accuracy(name, repeats, peer):
    """Mean accuracy by model and epsilon."""
    X, y = table(name)
    divided = [train_test_split(X, y, test_size=0.2, random_state=run, stratify=y) for run in range(repeats)]
    found = {}
    for X_old, X_new, y_old, y_new in divided:
        how = {"clip": snb.Clip(l2=1.0, step=2**-10), "classes": np.unique(y), "n_features": X.shape[1]}
        stats = snb.scan(X_old, y_old, normalize=None if name == "iris" else "l2", **how)
        for epsilon in EPSILONS:
            sums = stats if epsilon is None else stats.privatize(epsilon, 1e-5)
            right = snb.solve(sums, "gaussian", priors="uniform")[0].predict(X_new) == y_new
            found.setdefault(("streamnb", epsilon), []).append(right.mean())
    if peer:
        with TemporaryDirectory() as folder:
            names = "X", "X_new", "y", "y_new"
            arrays = {f"{part}{run}": rows for run, parts in enumerate(divided) for part, rows in zip(names, parts)}
            np.savez(file := Path(folder) / "sets.npz", n_runs=repeats, **arrays)
            arguments = file, json.dumps([epsilon for epsilon in EPSILONS if epsilon])
            for model, epsilon, score in json.loads(subprocess.check_output([peer, "-c", PEER, *map(str, arguments)])):
                found.setdefault((f"diffprivlib {model}", epsilon), []).append(score)
    return {key: float(np.mean(scores)) for key, scores in found.items()}


def text_accuracy(rows):
    """Accuracy by epsilon of multinomial naive Bayes with L1; tau is the level of the noise."""
    X, y, held_out = rows
    X_old, X_new = X[np.flatnonzero(~held_out)], X[np.flatnonzero(held_out)]
    how = {"clip": snb.Clip(presence=True, max_features=MOST_VALUES), "classes": np.unique(y), "n_features": N_FEATURES}
    stats, found = snb.scan(X_old, y[~held_out], moments=["sum"], **how), {}
    for epsilon in EPSILONS:
        sums = stats if epsilon is None else stats.privatize(epsilon)
        penalty = None if epsilon is None else snb.L1(sums.privacy.noise["sum"])
        right = snb.solve(sums, "multinomial", penalty)[0].predict(X_new) == y[held_out]
        found["streamnb", epsilon] = float(right.mean())
    return found


def show_accuracy(sets, repeats, peer, kept):
    """A table of accuracy by set, model and epsilon; what was measured before is kept in a file."""
    results = json.loads(kept.read_text()) if kept and kept.exists() else {}
    for name in sets:
        text = {"text of packages": package_text, "simulated text": simulated_text}.get(name)
        found = tables_accuracy(name, repeats, peer) if text is None else text_accuracy(text())
        for (model, epsilon), score in found.items():
            results.setdefault(name, {}).setdefault(model, {})[head(epsilon)] = score
        if kept:
            kept.write_text(json.dumps(results))
    print(f"{'':44}" + "".join(f"{head(epsilon):>8}" for epsilon in EPSILONS))
    for name, found in results.items():
        for model, scores in found.items():
            cells = (scores.get(head(epsilon)) for epsilon in EPSILONS)
            print(f"{name:18}{model:26}" + "".join(f"{'-' if cell is None else f'{cell:.3f}':>8}" for cell in cells))
    return results


def head(epsilon):
    return "none" if epsilon is None else f"{epsilon:g}"


def draw(results, path):
    """Accuracy against epsilon, a panel for each set."""
    import matplotlib

    matplotlib.use("svg")
    matplotlib.rcParams.update({"svg.hashsalt": "streamnb", "svg.fonttype": "none"})
    import matplotlib.pyplot as plt

    figure, axes = plt.subplots(
        1, len(results), figsize=(3.2 * len(results), 3.0), sharey=True, layout="constrained", squeeze=False
    )
    epsilons = [epsilon for epsilon in EPSILONS if epsilon]
    for ax, (name, found) in zip(axes[0], results.items()):
        for model in found:
            ax.plot(epsilons, [found[model][head(epsilon)] for epsilon in epsilons], marker="o", label=model)
        ax.axhline(found["streamnb"]["none"], color="0.6", linestyle=":", label="streamnb, no noise")
        ax.set(xscale="log", title=name, xlabel="epsilon")
    axes[0, 0].set_ylabel("accuracy")
    axes[0, 0].legend(fontsize=7)
    figure.savefig(path)


# ---- attack and time -------------------------------------------------------------------------------------------------


def show_attack():
    """Ten thousand pairs of neighbours: is one person in the sums? The likelihood ratio knows all others."""
    rng = np.random.default_rng(0)
    y = rng.integers(0, 2, 400)
    X = (rng.random((400, 8)) < 0.5).astype(float)
    how = {"clip": snb.Clip(presence=True, max_features=4), "classes": [0, 1], "n_features": 8, "moments": ["sum"]}
    person = np.zeros((1, 8))
    person[0, :4] = 1.0
    without = snb.scan(X, y, **how)
    sums = without, without + snb.scan(person, [1], **how)
    print(f"{'epsilon':>8}{'advantage':>12}{'bound':>8}{'without noise':>16}", flush=True)
    for epsilon in (0.3, 1.0, 3.0):
        there = rng.random(N_PAIRS) < 0.5
        scales = sums[0].privatize(epsilon).privacy.noise
        scores = np.array([ratio(sums[int(here)].privatize(epsilon), *sums, scales) for here in there])
        advantage = (scores[there] > 0).mean() - (scores[~there] > 0).mean()
        bare = [float(ratio(stats, *sums, scales) > 0) for stats in sums]
        bound = (np.exp(epsilon) - 1 + 2e-6) / (np.exp(epsilon) + 1)
        print(f"{epsilon:8g}{advantage:12.3f}{bound:8.3f}{bare[1] - bare[0]:16.1f}", flush=True)


def ratio(released, without, with_person, scales):
    """The logarithm of the likelihood ratio of Gaussian noise around both sums."""
    total = 0.0
    for name, scale in scales.items():
        found, one, two = (stats.table(name).value() for stats in (released, without, with_person))
        total += (((found - one) ** 2 - (found - two) ** 2) / (2.0 * scale**2)).sum()
    return total


def show_time(rounds=7):
    """Seconds of the processor of a private scan and of a plain one, side by side, and of the noise."""
    X, y, held_out = simulated_text()
    X, y = X[np.flatnonzero(~held_out)], y[~held_out]
    how = {"classes": np.unique(y), "moments": ["sum"], "n_threads": 1}
    clips = {f"at most {m} values": snb.Clip(presence=True, max_features=m) for m in (30, 100)}
    rng = np.random.default_rng(0)
    words = np.array([f"word{i}" for i in range(N_FEATURES)])
    texts = [" ".join(words[row]) for row in np.split(X.indices, X.indptr[1:-1])]
    for name, rows in (("CSR in memory", lambda: X), ("texts", lambda: snb.text(texts, n_features=N_FEATURES))):
        scans = {"plain": {}, **{clip: {"clip": given, "n_features": N_FEATURES} for clip, given in clips.items()}}
        scans["plain, l2"] = {"normalize": "l2"}
        scans["l2"] = {"normalize": "l2", "clip": snb.Clip(l2=1.0, step=2**-10), "n_features": N_FEATURES}
        seconds = {scan: [] for scan in scans}
        for _ in range(rounds):
            for scan in rng.permutation(list(scans)):
                start = time.process_time()
                snb.scan(rows(), y, **how, **scans[scan])
                seconds[scan].append(time.process_time() - start)
        best = {scan: min(each) for scan, each in seconds.items()}
        print(f"{name}: " + "; ".join(f"{scan} {s:.3f} s" for scan, s in best.items()))
    stats = snb.scan(X, y, **how, clip=clips["at most 30 values"], n_features=N_FEATURES)
    stats.privatize(2.0)
    start = time.process_time()
    stats.privatize(1.0)
    print(f"noise of {stats.sum.size:,} cells: {time.process_time() - start:.1f} s")


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument(
        "--only", nargs="+", choices=["accuracy", "attack", "time"], default=["accuracy", "attack", "time"]
    )
    parser.add_argument("--sets", nargs="*", choices=SETS, default=SETS)
    parser.add_argument("--keep", type=Path, help="a file to which accuracies are added")
    parser.add_argument("--diffprivlib", metavar="PYTHON", help="an interpreter that has diffprivlib")
    parser.add_argument("--repeats", type=int, default=20, help="divisions of each table")
    parser.add_argument("--picture", help="a file for the picture, such as docs/private.svg")
    options = parser.parse_args()
    warnings.simplefilter("ignore", snb.StreamnbWarning)
    if "accuracy" in options.only:
        results = show_accuracy(options.sets, options.repeats, options.diffprivlib, options.keep)
        if options.picture:
            draw(results, options.picture)
    if "attack" in options.only:
        show_attack()
    if "time" in options.only:
        show_time()


if __name__ == "__main__":
    sys.exit(main())
