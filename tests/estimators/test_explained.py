"""What a model cannot say of itself, or is asked wrongly."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import streamnb as snb
from tests.support.refusals import refused

RNG = np.random.default_rng(0)
Y = np.array(["a", "b", "c"])[np.arange(60) % 3]
X = RNG.poisson(1.5, (60, 5)).astype(float) + 3.0 * (np.arange(5) == np.arange(60)[:, None] % 3)


def test_what_cannot_be_explained_is_refused():
    model = snb.LinearNB().fit(X, Y)
    with refused(ValueError, "X has 60 rows; explain is of one"):
        model.explain(X)
    with refused(ValueError, "class_='q' is not a class"):
        model.explain(X[[0]], "q")
    with refused(ValueError, "against='q' is not a class"):
        model.contrast("a", "q")
    with refused(ValueError, "n_features=0"):
        model.top_features(0)
    with refused(ValueError, "scheme='ovo' has weights of pairs"):
        snb.LinearNB(scheme="ovo").fit(X, Y).top_features()
    with refused(ValueError, "isotonic"):
        snb.LinearNB().fit(X, Y).calibrate(X, Y, method="isotonic").explain(X[[0]])
    with refused(ValueError, "isotonic"):
        own = snb.LinearNB(snb.Gaussian(covariance="own")).fit(X, Y)
        own.calibrate(X, Y, method="isotonic").explain(X[[0]])


@pytest.mark.parametrize("model", [snb.LinearNB("gaussian", transform="quantile_normal"), snb.SoftmaxRegression(1.0)])
def test_values_before_a_learned_map_are_those_of_the_user(model):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40.0, 10.0, 400), "income": np.exp(rng.normal(10.0, 1.0, 400))})
    y = np.log(frame["income"]) + 0.02 * frame["age"] + 0.3 * rng.normal(size=400) > 11.0
    found = model.set_params(transform="quantile_normal").fit(frame, y).explain(frame.iloc[[7]]).set_index("feature")
    assert found["value"][["age", "income"]].tolist() == frame.iloc[7].tolist()
    np.testing.assert_allclose(found["transformed"] * found["weight"], found["contribution"])


@pytest.mark.parametrize(
    "model", [snb.SoftmaxRegression(), snb.MarginClassifierCV(folds=2), snb.LinearNB("gaussian"), snb.GaussianNB()]
)
def test_units_do_not_decide_which_number_is_strongest(model, tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"age": rng.normal(40.0, 10.0, 400), "income": rng.normal(30_000.0, 8_000.0, 400)})
    y = frame["income"] / 8_000.0 + 0.02 * frame["age"] + 0.3 * rng.normal(size=400) > 4.5
    model.fit(frame, y)
    model.save(tmp_path / "model.snb")
    for one in (model, snb.load(tmp_path / "model.snb")):
        table = one.top_features(1)
        assert table["feature"].tolist() == ["income", "income"]
        if "per_deviation" in table:
            np.testing.assert_allclose(table["per_deviation"], table["weight"] * frame["income"].std(ddof=0))
        assert one.contrast(True, False, 1)["feature"][0] == "income"
    other = clone(model).fit(frame.assign(income=frame["income"] * 1e3), y)
    assert other.top_features(1)["feature"].tolist() == ["income", "income"]
