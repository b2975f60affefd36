"""How ten digits become two-sided problems: all classes against the pooled model, each against the rest, pairs, ...

    python examples/schemes.py

All schemes are read off the same sums. Unregularised, `joint` and `reference` are the same classifier, ordinary naive
Bayes; under a penalty they differ, for it pulls a class to other things.
"""

from sklearn.datasets import load_digits
from sklearn.metrics import log_loss
from sklearn.model_selection import train_test_split

import streamnb as snb

SCHEMES = {"joint": {}, "ovr": {}, "ovo": {}, "reference": {"reference": 0}}


def main():
    X, y = load_digits(return_X_y=True)
    X, X_test, y, y_test = train_test_split(X, y, random_state=0)
    model = snb.LinearNB("poisson").fit(X, y)
    for penalty in (None, snb.L1(6.0, scale="score")):
        print(f"\npenalty={penalty}\n{'scheme':<10} rows of weights  not zero  accuracy  log loss")
        for scheme, options in SCHEMES.items():
            model.refit(penalty=penalty, scheme=scheme, **{"reference": None, **options})  # reads no data
            rows, kept = model.coef_.shape[0], (model.coef_ != 0).mean()
            print(f"{scheme:<10} {rows:15d} {kept:9.0%} {model.score(X_test, y_test):9.3f}", end="")
            if hasattr(model, "predict_proba"):  # pairs vote, which gives no probabilities
                print(f" {log_loss(y_test, model.predict_proba(X_test)):9.3f}")
            else:
                print(f" {'none':>9}")


if __name__ == "__main__":
    main()
