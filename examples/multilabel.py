"""Rows with any number of labels: what is true of a handwritten digit?

    python examples/multilabel.py

y is an indicator with a column for each label, dense or sparse. Each label is set against the rows without it, all
from one scan; `snb.evaluate` judges all of them at once.
"""

import numpy as np
from sklearn.datasets import load_digits
from sklearn.model_selection import train_test_split

import streamnb as snb

LABELS = {
    "even": [0, 2, 4, 6, 8],
    "prime": [2, 3, 5, 7],
    "has a loop": [0, 6, 8, 9],
    "is drawn in one stroke": [0, 1, 2, 3, 6, 7, 8, 9],
    "is zero": [0],
}


def main():
    X, digit = load_digits(return_X_y=True)
    y = np.column_stack([np.isin(digit, digits) for digits in LABELS.values()]).astype(int)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = snb.LinearNB("poisson", snb.L1(3.0, scale="score")).fit(X, y, classes=list(LABELS))
    found, scores = model.predict(X_test), model.decision_function(X_test)
    judged = snb.evaluate(y_test, found, scores=scores, proba=model.predict_proba(X_test), classes=list(LABELS))

    print(f"{'label':<24} rows  features  precision  recall  ROC AUC")
    columns = judged.precision(average=None), judged.recall(average=None), judged.roc_auc(average=None)
    for k, (precision, recall, auc) in enumerate(zip(*columns)):
        n_rows, n_features = y_test[:, k].sum(), np.count_nonzero(model.coef_[k])
        print(f"{model.classes_[k]:<24} {n_rows:4d} {n_features:9d} {precision:10.3f} {recall:7.3f} {auc:8.3f}")
    print(f"\nall labels right: {judged.subset_accuracy():.3f}; labels wrong: {judged.hamming_loss():.3f};")
    print(f"pairs of labels in the wrong order: {judged.ranking_loss():.3f}")


if __name__ == "__main__":
    main()
