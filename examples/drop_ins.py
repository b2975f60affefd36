"""scikit-learn's naive Bayes estimators replaced: the same numbers, from any kind of rows.

    python examples/drop_ins.py

Only the import changes. Beyond scikit-learn's own, sparse rows work for Gaussian features, and the result of
`partial_fit` does not depend on how the rows are cut.
"""

import numpy as np
import scipy.sparse as sp
import sklearn.naive_bayes
from sklearn.datasets import load_digits

import streamnb as snb

OPTIONS = {
    "MultinomialNB": {"alpha": 0.5},
    "ComplementNB": {"norm": True},
    "BernoulliNB": {"binarize": 7.5},
    "GaussianNB": {"var_smoothing": 1e-3},
    "CategoricalNB": {"min_categories": 17},
}


def main():
    X, y = load_digits(return_X_y=True)
    print(f"{'estimator':<14} accuracy  rows that agree  largest difference of ln P")
    for name, options in OPTIONS.items():
        theirs = getattr(sklearn.naive_bayes, name)(**options).fit(X, y)
        ours = getattr(snb, name)(**options).fit(sp.csr_array(X), y)  # sparse
        agree = np.mean(ours.predict(X) == theirs.predict(X))
        difference = np.abs(ours.predict_log_proba(X) - theirs.predict_log_proba(X)).max()
        print(f"{name:<14} {ours.score(X, y):8.3f} {agree:16.1%} {difference:27.1e}")

    print("\nGaussianNB fitted in pieces of 100 rows, and at once:")
    for kind in (sklearn.naive_bayes.GaussianNB, snb.GaussianNB):
        whole, pieces = kind().fit(X, y), kind()
        for start in range(0, len(X), 100):
            pieces.partial_fit(X[start : start + 100], y[start : start + 100], classes=np.unique(y))
        same = np.array_equal(whole.var_, pieces.var_)
        print(f"{kind.__module__.split('.')[0]:<10} variances {'are the same bits' if same else 'differ'}")


if __name__ == "__main__":
    main()
