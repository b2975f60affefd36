"""How strong a penalty? The whole grid judged by repeated cross-validation, in two scans of the data.

    python examples/cross_validation.py

`cv_results_` is a table, a row a grid point. The rules choose differently from it without another look at the data.
"""

from sklearn.datasets import load_digits

import streamnb as snb

COLUMNS = {"param_l1": "tau", "n_features": "features", "mean_test_score": "mean AUC", "std_test_score": "deviation"}


def main():
    X, y = load_digits(return_X_y=True)
    grid = snb.L1([0.0, 10.0, 30.0, 100.0, 200.0, 300.0, 500.0, 1000.0, 2000.0])
    model = snb.LinearNBCV("gaussian", grid, folds=5, repeats=3).fit(X, y)
    results = model.cv_results_  # pandas.DataFrame(results) works, too
    print(*(f"{title:>10}" for title in COLUMNS.values()))
    for row in zip(*(results[name] for name in COLUMNS)):
        print(*(f"{value:10.4g}" for value in row))

    print()
    for rule in ("best", "one_se", "parsimonious"):
        model.refit(rule=rule)
        kept = int((model.coef_ != 0).any(axis=0).sum())
        print(f"{rule:<13} tau = {model.best_params_['l1']:6g}  {kept:2d} features  mean AUC {model.best_score_:.4f}")

    print("\nThe fewest pixels that tell a digit from the others within 1 % of its best AUC:")
    for digit, n in zip(model.classes_, model.n_features_per_class_):
        print(f"{digit}: {n:2d}  {'#' * n}")

    grid = snb.L1([0.0, 100.0, 300.0]) + snb.L2([0.0, 1000.0, 5000.0, 20000.0])
    model = snb.LinearNBCV("gaussian", grid, scoring="neg_log_loss").fit(X, y)
    print(f"\nA product of two grids by log loss: {model.best_params_}, log loss {-model.best_score_:.3f}")


if __name__ == "__main__":
    main()
