"""From probabilities to decisions: a tumour that is missed costs more than a false alarm.

    python examples/decisions.py

The same fitted model decides by the likeliest class, by losses, by class weights, by an intercept that balances
sensitivity and specificity, or not at all where it is unsure. Only `fit` reads training rows.
"""

from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split

import streamnb as snb

LOSS = [[0, 1], [20, 0]]  # [true, decided]: benign called malignant costs 1, malignant called benign 20


def main():
    X, y = load_breast_cancer(return_X_y=True)
    y = 1 - y  # 1 is malignant
    X, X_test, y, y_test = train_test_split(X, y, test_size=0.4, random_state=0)
    X, X_val, y, y_val = train_test_split(X, y, test_size=0.3, random_state=0)
    print(f"{'':<34} missed  false alarms  unsure  cost")

    def show(name):
        decided = model.predict(X_test)
        missed, alarms = (((decided == s) & (y_test == 1 - s)).sum() for s in (0, 1))
        unsure, cost = (decided == -1).sum(), LOSS[1][0] * missed + LOSS[0][1] * alarms
        print(f"{name:<34} {missed:6d} {alarms:13d} {unsure:7d} {cost:5d}")

    # The 30 features repeat each other, which would drive all probabilities to 0 and 1; the best four do so less.
    model = snb.LinearNB("gaussian", snb.TopK(4, by="score")).fit(X, y)
    show("likeliest class")
    shift = snb.balancing_shift(model.decision_function(X_val), y_val)
    model.refit(intercept_shift=shift)
    show(f"intercept shifted by {shift:.2f}")
    model.refit(class_weight="balanced")  # drops the shift, which belonged to other scores
    show("class_weight='balanced'")
    model.refit(class_weight={1: 20.0})
    show("class_weight={1: 20}")
    model.refit(class_weight=None, priors="uniform")
    show("priors='uniform'")
    model.refit(priors=None, loss=LOSS)
    show("least expected loss")
    model.refit(threshold=0.5, reject_label=-1)
    show("the same, unsure above 0.5")
    model.refit(loss=None, threshold=0.99)
    show("likeliest class, unsure below 99 %")


if __name__ == "__main__":
    main()
