"""Trees of features: what each feature tells beside its parent, next to naive Bayes on the same bins.

One read learns the bins, one sums how often two of them meet; the tree, its weights and its picture need no other.
`python examples/trees.py`, and with `--picture tree.png` the tree of the last table is drawn.
"""

import argparse

from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import StratifiedKFold, cross_val_score

import streamnb as snb

BINS = 4
FOLDS = StratifiedKFold(5, shuffle=True, random_state=0)


def main() -> None:
    """Print the accuracy of both, and the pairs of features that tell most of each other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--picture", help="a file for the tree of the last table")
    picture = parser.parse_args().picture
    for load in (load_digits, load_wine, load_breast_cancer):
        X, y = load(return_X_y=True, as_frame=True)
        naive, tree = snb.LinearNB("categorical", transform=snb.Bins(BINS)), snb.TreeNB(transform=snb.Bins(BINS))
        accuracy = [cross_val_score(model, X, y, cv=FOLDS).mean() for model in (naive, tree)]
        tree.fit(X, y)
        print(f"{load.__name__[5:]}: {X.shape[0]:,} rows, {X.shape[1]} features, {len(tree.classes_)} classes")
        print("  accuracy of five folds: naive Bayes {:.3f}, tree {:.3f}".format(*accuracy))
        for parent, child, told in tree.edges_.sort_values("information").tail(3).values.tolist():
            print(f"  {parent} and {child} tell {told:.2f} nats of each other")
    if picture is not None:
        snb.TreeDisplay.from_estimator(tree).figure_.savefig(picture)


if __name__ == "__main__":
    main()
