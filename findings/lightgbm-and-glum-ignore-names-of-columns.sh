#!/usr/bin/env bash
# LightGBM 4.7.0 and glum 3.4.1: a data frame whose columns are those of the fit in another order is predicted by
# position, without a word, though both know the names. One would expect the same predictions, or an error as from XGBoost
# 3.2.0 and scikit-learn. It matters here because files and queries give columns in orders of their own. LightGBM has
# `validate_features`, which is off. Seen: "LightGBM: 85 of 400 rows decided otherwise; glum: means up to 1.19e+04 times
# as large". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet lightgbm==4.7.0 glum==3.4.1 xgboost-cpu==3.2.0 pandas==3.1.1 scikit-learn==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
import glum
import lightgbm
import numpy as np
import pandas as pd
import xgboost

rng = np.random.default_rng(0)
rows = pd.DataFrame({"a": rng.normal(size=400), "b": 10 * rng.normal(size=400)})
moved, y = rows[["b", "a"]], (rows["a"] + rows["b"] / 10 > 0).astype(int)

trees = lightgbm.LGBMClassifier(n_estimators=20, n_jobs=1, verbose=-1).fit(rows, y)
otherwise = (trees.predict(rows) != trees.predict(moved)).sum()
linear = glum.GeneralizedLinearRegressor(family="poisson", alpha=0.1).fit(rows, y)
times = (linear.predict(moved) / linear.predict(rows)).max()
print(f"LightGBM: {otherwise} of 400 rows decided otherwise; glum: means up to {times:.3g} times as large")
assert otherwise > 40 and (trees.predict(moved) == trees.predict(moved.to_numpy())).all(), otherwise
assert times > 2 and np.array_equal(linear.predict(moved), linear.predict(moved.to_numpy())), times
try:
    xgboost.XGBClassifier(n_estimators=2, n_jobs=1).fit(rows, y).predict(moved)
except ValueError as error:
    print(f"XGBoost: {error}".splitlines()[0])
    assert "feature_names mismatch" in str(error), error
else:
    raise SystemExit("XGBoost predicts by position, too")
PYTHON
