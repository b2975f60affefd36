"""Trees of features: what each feature tells beside its parent, next to naive Bayes on the same bins.

One read learns the bins, one sums how often two of them meet; the tree, its weights and its picture need no other.
`python examples/trees.py`, and with `--picture tree.png` the tree of the last table is drawn.
"""

import argparse

from sklearn.datasets import load_breast_cancer, load_digits, load_wine
from sklearn.model_selection import train_test_split

import streamnb as snb

BINS = 4


def main() -> None:
    """Print the accuracy of both, and the pairs of features that tell most of each other."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--picture", help="a file for the tree of the last table")
    picture = parser.parse_args().picture
    for load in (load_digits, load_wine, load_breast_cancer):
        X, y = load(return_X_y=True, as_frame=True)
        train, test, of_train, of_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
        naive = snb.LinearNB("categorical", transform=snb.Bins(BINS)).fit(train, of_train)
        tree = snb.TreeNB(transform=snb.Bins(BINS)).fit(train, of_train)
        print(f"{load.__name__[5:]}: {X.shape[0]:,} rows, {X.shape[1]} features, {len(tree.classes_)} classes")
        print(f"  accuracy: naive Bayes {naive.score(test, of_test):.3f}, tree {tree.score(test, of_test):.3f}")
        for parent, child, told in tree.edges_.sort_values("information").tail(3).values.tolist():
            print(f"  {parent} and {child} tell {told:.2f} nats of each other")
    if picture is not None:
        snb.TreeDisplay.from_estimator(tree).figure_.savefig(picture)


if __name__ == "__main__":
    main()
