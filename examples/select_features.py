"""Which of 64 pixels tell handwritten digits apart? Nine criteria from one scan, and a model on what they choose.

    python examples/select_features.py

Ranking reads no data: the statistics of the scan are enough for every criterion. The last part puts a selector
before a classifier in a scikit-learn pipeline.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline

import streamnb as snb
from streamnb import FeatureSelector
from streamnb.selection.criteria import CRITERIA
from streamnb.selection.features import rank_features

KEPT = 16


def picture(chosen):
    """The chosen pixels (64,) bool as eight lines of text."""
    return ["".join("#" if pixel else "." for pixel in line) for line in chosen.reshape(8, 8)]


def main():
    X, y = load_digits(return_X_y=True)
    stats = snb.scan(X, y, binarize=7.5)  # a pixel is present in the darker half of its range
    print(stats, end="\n\n")
    print(f"The {KEPT} best pixels by each criterion:")
    for by in CRITERIA:
        chosen = np.isin(np.arange(64), rank_features(stats, by).ranking[:KEPT])
        print(f"\n{by}", *picture(chosen), sep="\n")

    print(f"\nAccuracy of Poisson naive Bayes in five folds, {KEPT} pixels of 64 chosen inside each fold:")
    for by in CRITERIA:
        model = make_pipeline(FeatureSelector(by, KEPT, binarize=7.5), snb.LinearNB("poisson"))
        print(f"{by:>24} {cross_val_score(model, X, y).mean():.3f}")
    print(f"{'all pixels':>24} {cross_val_score(snb.LinearNB('poisson'), X, y).mean():.3f}")


if __name__ == "__main__":
    main()
