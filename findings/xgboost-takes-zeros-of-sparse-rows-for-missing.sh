#!/usr/bin/env bash
# XGBoost 3.2.0: zeros that a SciPy matrix does not store are missing values, zeros of an array are zeros. A model that is
# fitted on sparse rows gives other probabilities of the same rows as an array, without a word. One would expect the same,
# as LightGBM and scikit-learn give. It matters here because counts are often fitted as sparse rows and predicted as one
# dense row. Seen: "the same rows, sparse and dense: accuracy 1.00 and 0.51; probabilities up to 0.95
# apart". This fails if that changes.
set -euo pipefail
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
python3 -m venv "$folder/venv"
"$folder/venv/bin/python" -m pip install --quiet xgboost-cpu==3.2.0 scipy==1.17.1 scikit-learn==1.9.1
"$folder/venv/bin/python" - <<'PYTHON'
import numpy as np
import scipy.sparse as sp
import xgboost

rng = np.random.default_rng(0)
dense = rng.poisson(0.5, size=(400, 3)).astype(float)
dense[:, 0] -= rng.random(400) < 0.3
y = (dense[:, 0] >= 0).astype(int)
sparse = sp.csr_array(dense)

model = xgboost.XGBClassifier(n_estimators=10, n_jobs=1).fit(sparse, y)
alike, other = model.score(sparse, y), model.score(dense, y)
furthest = abs(model.predict_proba(sparse) - model.predict_proba(dense)).max()
print(f"the same rows, sparse and dense: accuracy {alike:.2f} and {other:.2f}; probabilities up to {furthest:.2f} apart")
assert alike == 1.0 and other < 0.95 and furthest > 0.5, (alike, other, furthest)
PYTHON
