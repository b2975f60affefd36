"""One call that finds a model: naive Bayes in many settings, models of several reads, and what scikit-learn has.

    python examples/searching.py [--rows 1797]

Handwritten digits, a fifth of them held back. The search is told nothing first, then what to try. The exact margin of
all classes and generalised naive Bayes are fitted by themselves in the end, with what certifies them.
"""

import argparse
import warnings

import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import streamnb as snb


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    parser.add_argument("--rows", type=int, default=1797, help="at most so many (default %(default)s)")
    n_rows = parser.parse_args().rows
    warnings.simplefilter("ignore")  # that few reads were spent, that settings are left out
    X, y = (part[:n_rows] for part in load_digits(return_X_y=True))
    held_out = snb.fold_numbers(len(y), 5) == 0
    train, test = (X[~held_out], y[~held_out]), (X[held_out], y[held_out])

    found = snb.search(*train, folds=3, show=False)
    tell("blind", found, test)

    asked = {"families": ["multinomial", "poisson"], "transforms": [None, "sqrt", ("l1:100", "log1p")]}
    asked |= {"smoothing": [0.1, 1.0], "models": [snb.MarginClassifierCV(transform="sqrt", normalize="l2")]}
    peer = make_pipeline(StandardScaler(), LogisticRegression(max_iter=200))
    found = snb.search(*train, **asked, others={"logistic regression": peer}, folds=3, show=False)
    tell("asked", found, test)

    svm = snb.CrammerSingerSVM(C=0.1, normalize="l2").fit(*train)
    print(f"margin of all classes: accuracy {svm.score(*test):.4f}, {svm.n_passes_} reads, gap {svm.gap_:.2g}")
    for l2 in (1e6, 10.0, 0.1):
        model = snb.GeneralizedNB(l2, bins=8, max_passes=100).fit(*train)
        print(f"naive Bayes on bins, corrected by l2={l2:g}: accuracy {model.score(*test):.4f}")


def tell(name, found, test):
    """Print the best candidates, and how the best does on rows held back."""
    print(f"{name}: {len(found.candidates)} candidates, {len(found.left_out)} left out")
    for judged in found.ranked[:5]:
        print(f"  {judged.mean('accuracy'):.4f} {judged.mean('roc_auc'):.4f} {judged.name[:80]}")
    print(f"  of rows held back {np.mean(found.best_.predict(test[0]) == test[1]):.4f}\n")


if __name__ == "__main__":
    main()
