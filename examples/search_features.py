"""Which few of 64 pixels tell handwritten digits apart together? Searches beside a criterion, off the same two reads.

    python examples/search_features.py [picture.png]

A criterion ranks pixels one at a time, and neighbours that tell the same stand side by side at its top. Searches look
at several: they judge models of subsets on rows that these have not seen, and fit none of them. With a name for it the
accuracy against the number of pixels is drawn (needs matplotlib).
"""

import sys
from time import perf_counter

import numpy as np
from sklearn.datasets import load_digits

import streamnb as snb

KEPT = 12


def main():
    X, y = load_digits(return_X_y=True)
    held_out = snb.fold_numbers(len(y), 4, seed=1) == 0
    train, y_train = X[~held_out], y[~held_out]
    stats = snb.scan(train, y_train, binarize=7.5, folds=5, moments=["sum", "above", "gram_above"])
    candidates = snb.rank_features(stats, "mutual_info").ranking[:40]
    sample = snb.sample_rows(train, y_train, stats, rows=None, columns=candidates)

    print(f"Accuracy of Bernoulli naive Bayes with {KEPT} of 64 pixels, on rows held back:\n")
    found = {}
    for by in ("mutual_info", snb.FCBF(delta=0.05), snb.ForwardSelection(k=KEPT), snb.BackwardElimination(k=KEPT)):
        start = perf_counter()
        ranked = snb.rank_features(stats, by, family="bernoulli", sample=sample)
        seconds = perf_counter() - start
        pixels = np.sort(ranked.ranking[:KEPT])
        model = snb.LinearNB("bernoulli", binarize=7.5).fit(train[:, pixels], y_train)
        score = model.score(X[held_out][:, pixels], y[held_out])
        print(f"{ranked.by:>12} {score:.3f}  {seconds:5.2f} s  {' '.join(map(str, pixels))}")
        found[ranked.by] = ranked
    every = snb.LinearNB("bernoulli", binarize=7.5).fit(train, y_train).score(X[held_out], y[held_out])
    print(f"{'all pixels':>12} {every:.3f}")

    ahead = snb.rank_features(stats, "sfs", family="bernoulli", sample=sample)
    print(
        f"\n'sfs' would keep {len(ahead.chosen)} of {len(candidates)} candidates: {ahead.curve.mean(axis=1).max():.3f}"
    )
    if len(sys.argv) > 1:
        display = snb.SelectionDisplay.from_ranking(found["backward"], label="backward elimination")
        snb.SelectionDisplay.from_ranking(ahead, ax=display.ax_, label="forward selection")
        display.figure_.savefig(sys.argv[1], dpi=120)


if __name__ == "__main__":
    main()
