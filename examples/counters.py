"""What codes of categories tell, and what they must not: shares of classes in and out of fold, on pure noise.

    python examples/counters.py

A column of 200 values, about eighty rows each, and a class that is a coin's toss: nothing can be learned. A tree is
trained on the codes of half of the rows, and judged on the codes of the others. Where a row was left out of its own
counts, its code tells its class: among rows of one value those of class 1 lie lower, and the tree finds that. A
thousand folds are nearly as bad, a few are not. Naive Bayes on counters is cross-validated here without reading the
rows again, by codes that know the labels of neither fold.
"""

import warnings

import numpy as np
from sklearn.metrics import roc_auc_score
from sklearn.tree import DecisionTreeClassifier

import streamnb as snb

N, N_VALUES, N_FOLDS = 16_000, 200, 5


def noise():
    rng = np.random.default_rng(0)
    return rng.integers(0, N_VALUES, (N, 1)).astype(float), rng.integers(0, 2, N)


def codes(X, y):
    """The share of class 1, in several ways."""
    yield "all rows, its own too", snb.CategoryCounters().fit(X, y).transform(X)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", snb.StreamnbWarning)  # it says what is shown here
        yield "all but the row", snb.CategoryCounters(oof="loo").fit_transform(X, y)
    for folds in (1000, 20, 5, 2):
        yield f"other folds of {folds}", snb.CategoryCounters(folds=folds).fit_transform(X, y)


def held_out(X, y):
    """AUC of naive Bayes on counters in cross-validation, from one pass: neither codes nor weights know the fold."""
    counters = snb.CategoryCounters(folds=N_FOLDS).fit(X, y)
    folds, scores = snb.fold_numbers(N, N_FOLDS), np.empty(N)
    for fold in range(N_FOLDS):
        model = snb.solve(counters.class_stats(without_fold=fold), "gaussian")[0]
        rows = folds == fold
        scores[rows] = model.predict_proba(counters.transform(X[rows], without_fold=fold))[:, 1]
    return roc_auc_score(y, scores)


def main():
    X, y = noise()
    train = np.arange(N) < N // 2
    print("pure noise; AUC of a tree on codes by   (.5 is right)")
    for name, found in codes(X, y):
        tree = DecisionTreeClassifier(min_samples_leaf=5, random_state=0).fit(found[train, 1:], y[train])
        print(f"  {name:<24} {roc_auc_score(y[~train], tree.predict_proba(found[~train, 1:])[:, 1]):.3f}")
    print(f"naive Bayes on counters, held-out folds: {held_out(X, y):.3f}")


if __name__ == "__main__":
    main()
