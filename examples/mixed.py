"""Columns of different kinds in one model: each group has a family of its own, named by column.

    python examples/mixed.py

Thirteen measurements of wines from three growers, one of them made into a yes-or-no column as data often has. Scores
of all columns add up, and one penalty ranks all of them together.
"""

from sklearn.datasets import load_wine
from sklearn.model_selection import cross_validate

import streamnb as snb

SYMMETRIC = ["ash", "alcalinity_of_ash", "hue"]


def main():
    wines = load_wine(as_frame=True)
    frame, y = wines.data, wines.target_names[wines.target]
    frame = frame.assign(strong=frame.pop("alcohol") > 13.0)
    families = {
        "gaussian": "gaussian",
        "inverse_gaussian": "inverse_gaussian",
        "mixed": snb.Mixed({"bernoulli": "strong", "gaussian": SYMMETRIC, "inverse_gaussian": ...}),  # ... is the rest
    }
    print("in five folds:   accuracy  log loss")
    for name, family in families.items():
        scores = cross_validate(snb.LinearNB(family), frame, y, scoring=["accuracy", "neg_log_loss"])
        print(f"{name:<16} {scores['test_accuracy'].mean():8.3f} {-scores['test_neg_log_loss'].mean():9.3f}")

    print("\nThe mixed model under one L1 penalty: what is left, and its weights")
    model = snb.LinearNB(families["mixed"]).fit(frame, y)
    model.refit(penalty=snb.L1(8.0, scale="score"))  # features whose z-score is below 8 have no weight; reads nothing
    print(" " * 30, *(f"{label:>9}" for label in model.classes_))
    for name, weights in zip(model.feature_names_in_, model.coef_.T):
        if weights.any():
            print(f"{name:<30}", *(f"{w:9.3f}" for w in weights))


if __name__ == "__main__":
    main()
