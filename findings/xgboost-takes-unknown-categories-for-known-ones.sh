#!/usr/bin/env bash
# XGBoost 3.2.0: a category of a pandas column that the fit did not have is predicted as a known one, without a word,
# where it stands before or between the known ones in alphabetical order; behind them it is an error. One would expect
# an error for both, or the prediction for missing values, as LightGBM gives. It matters here because new values are
# common in columns of categories, and part of them get the scores of others. Seen: "red 0.29, blue 0.71, green 0.29",
# and an error for "yellow". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet xgboost-cpu==3.2.0 pandas==3.1.1 scikit-learn==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
import pandas as pd
import xgboost


def frame(*colours):
    return pd.DataFrame({"colour": pd.Categorical(colours)})


model = xgboost.XGBClassifier(n_estimators=2, enable_categorical=True, n_jobs=1)
model.fit(frame(*["red", "blue"] * 20), [0, 1] * 20)
red, blue, green = (model.predict_proba(frame(colour))[0, 1] for colour in ("red", "blue", "green"))
print(f"red {red:.2f}, blue {blue:.2f}, green {green:.2f}")
assert green == red < blue, (red, blue, green)
try:
    model.predict_proba(frame("yellow"))
except xgboost.core.XGBoostError as error:
    print(str(error).strip().splitlines()[0].split(": ", 1)[1])
    assert "Found a category not in the training set" in str(error), error
else:
    raise SystemExit("a category behind the known ones is taken, too")
PYTHON
