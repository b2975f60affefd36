"""Regressions of rows at several sites are those of all rows, to the last bit, by files alone."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

import streamnb as snb
from streamnb.estimators import newton
from tests.support.sites import SITES, folds_of, in_rounds, parts_of

N, rng = 240, np.random.default_rng(0)
ROWS = pd.DataFrame({"region": rng.choice(list("pqr"), N), "age": rng.normal(40.0, 12.0, N).round()})
ROWS["years"] = rng.uniform(0.1, 2.0, N)
ROWS["log_years"] = np.log(ROWS["years"])
MEANS = ROWS["years"] * np.exp(0.02 * ROWS["age"] + 0.3 * (ROWS["region"] == "p") - 1.0)
ROWS["claims"], ROWS["cost"] = rng.poisson(MEANS), rng.gamma(2.0, MEANS)
COUNTS, COSTS = ROWS.drop(columns=["cost", "years"]), ROWS.drop(columns=["claims", "log_years"])
PARTS = parts_of(COUNTS, (70, 150))
OF_COUNTS, OF_COSTS = {"y": "claims", "offset": "log_years"}, {"y": "cost", "sample_weight": "years"}
SCHEMA = sum(snb.schema(rows, **OF_COUNTS, task="regression") for rows in PARTS.values())
MODELS = {  # with folds or sites of the schema, where penalties are chosen
    "counts": (snb.PoissonRegressor(0.1, tol=1e-3), OF_COUNTS, {}),
    "costs": (snb.GammaRegressor(0.1, tol=1e-3), OF_COSTS, {}),
    "totals": (snb.TweedieRegressor(1.5, 0.1, tol=1e-3), OF_COUNTS, {}),
    "squares": (snb.TweedieRegressor(0, 0.1), OF_COSTS, {}),
    "counts, chosen": (snb.PoissonRegressorCV(n_alphas=3, folds=3, tol=1e-3), OF_COUNTS, {"folds": 3}),
    "costs, chosen": (snb.GammaRegressorCV(n_alphas=2, folds=3, tol=1e-3), OF_COSTS, {}),
    "totals by site": (snb.TweedieRegressorCV(1.5, n_alphas=2, tol=1e-3), OF_COUNTS, {"sites": SITES}),
}


@pytest.mark.parametrize("name", MODELS)
def test_a_regression_in_rounds_is_that_of_all_rows(name, tmp_path):
    model, given, split = MODELS[name]
    rows, params = COUNTS if given is OF_COUNTS else COSTS, model.get_params()
    parts, files = parts_of(rows, (70, 150)), {site: tmp_path / f"{site}.parquet" for site in SITES}
    for site, own in parts.items():
        own.to_parquet(files[site], index=False)
    schema = sum(snb.schema(file, **given, **split, task="regression") for file in files.values())
    found, _ = in_rounds(schema.fit(model), files, tmp_path)
    if "folds" in params:
        params["folds"] = np.repeat(range(3), [70, 80, 90]) if "sites" in split else folds_of(parts, 3)
    whole, offset = type(model)(**params).fit(rows, **given), {k: v for k, v in given.items() if k == "offset"}
    assert [*found.coef_, found.intercept_, found.report_.rows] == [*whole.coef_, whole.intercept_, whole.report_.rows]
    if "folds" in params:
        assert found.deviance_path_.tolist() == whole.deviance_path_.tolist()
        assert (
            found.predict(rows, **offset, interval=0.9).tolist() == whole.predict(rows, **offset, interval=0.9).tolist()
        )


def test_offsets_may_stand_beside_arrays_and_sums_of_products_need_one_round():
    X, y, offset, parts = ROWS[["age"]].to_numpy(), ROWS["claims"], ROWS["log_years"], [slice(70), slice(70, N)]
    for model, given in ((snb.PoissonRegressor(0.1), {"offset": offset}), (snb.Ridge(), {})):
        own = [{"X": X[some], "y": y[some], **{name: all_[some] for name, all_ in given.items()}} for some in parts]
        found, n_rounds = sum(snb.schema(**rows, task="regression") for rows in own).fit(model), 0
        while hasattr(found, "asks"):
            found, n_rounds = found.step(*(found.read(**rows, site=f"{i}") for i, rows in enumerate(own))), n_rounds + 1
        whole = type(model)(**model.get_params()).fit(X, y, **given)
        np.testing.assert_allclose(found.coef_, whole.coef_, rtol=1e-13)
    assert n_rounds == 1


def test_curvatures_at_sites_are_of_all_rows(tmp_path, monkeypatch):
    """Many rows in one place are sampled by their number, which begins anew at each site."""
    model = snb.PoissonRegressorCV(n_alphas=2, folds=3, tol=1e-3)
    whole = clone(model).set_params(folds=folds_of(PARTS, 3)).fit(COUNTS, **OF_COUNTS)
    for name in ("SAMPLED", "FEWEST_SAMPLED"):
        monkeypatch.setattr(newton, name, 8)
    found, _ = in_rounds(SCHEMA.fit(model), PARTS, tmp_path)
    assert found.deviance_path_.tolist() == whole.deviance_path_.tolist()
    assert model.fit(COUNTS, **OF_COUNTS).deviance_path_.tolist() != whole.deviance_path_.tolist()


def of_west(model, **changed):
    """Reads the rows of a site, with other columns or, where these are None, without them."""
    rows = PARTS["west"].assign(**changed).drop(columns=[name for name, value in changed.items() if value is None])
    return SCHEMA.fit(model).read(rows, site="west")


def of_arrays(**offset):
    return snb.schema(np.eye(3), [0.5, 1.0, 2.0], task="regression", **offset).fit(snb.PoissonRegressor())


POISSON, ARRAYS, COUNTED = snb.PoissonRegressor(), (np.eye(3), [0.5, 1.0, 2.0]), {"y": "claims", "task": "regression"}
WRONG = [
    (lambda: of_west(POISSON, claims=-2), "y has -2 at row 0; targets of a Poisson model should be at least 0"),
    (lambda: of_west(snb.GammaRegressor(), claims=0), "y has 0 at row 0; targets of a Gamma model should be above 0"),
    (lambda: of_west(POISSON, claims="two"), "a regression predicts numbers"),
    (lambda: of_west(POISSON, log_years=None), "offset='log_years' is not a column of X"),
    (lambda: of_west(POISSON, claims=None), "y='claims' is not a column of X"),
    (lambda: of_west(POISSON, age=None), "no column 'age'"),
    (lambda: of_arrays(offset=np.zeros(3)).read(*ARRAYS, site="here"), "offset is missing: the schema has one"),
    (lambda: of_arrays().read(*ARRAYS, offset=np.zeros(3), site="here"), "offset is given, and the schema has none"),
    (lambda: SCHEMA + snb.schema(PARTS["west"], **COUNTED), "differ in their offset: 'log_years' and None"),
    (lambda: SCHEMA + snb.schema(PARTS["west"], "claims"), "differ in their task: 'regression' and 'classification'"),
    (lambda: SCHEMA.fit(snb.LinearNB()), "LinearNB does not predict numbers with an offset"),
    (lambda: SCHEMA.fit(snb.Ridge()), "Ridge does not predict numbers with an offset"),
    (lambda: SCHEMA.fit(snb.AdditiveRegressor()), "of AdditiveRegressor keeps a sample .* use snb.SoftmaxRegressionCV"),
    (lambda: SCHEMA.scan(PARTS["west"]), "a scan sums rows by class, and the schema has numbers to predict"),
    (lambda: snb.schema(PARTS["west"], "claims", task="numbers"), "task='numbers' is unknown"),
    (lambda: snb.schema(PARTS["west"], "claims", offset="log_years"), "offset is given, and is for task='regression'"),
    (lambda: snb.schema(PARTS["west"], **COUNTED, offset="years"), "offset='years' is not a column of X"),
    (lambda: snb.schema(PARTS["west"], **COUNTED, moments="sum"), "moments, transform and normalize are for classes"),
    (lambda: snb.schema(PARTS["west"], task="regression"), "requires y to be passed"),
]


@pytest.mark.parametrize(("make", "message"), WRONG)
def test_what_is_wrong_is_named(make, message):
    with pytest.raises((ValueError, TypeError), match=message):
        make()


def test_sites_read_at_the_weights_of_the_round_for_its_loss():
    first, other = (SCHEMA.fit(model) for model in (snb.PoissonRegressor(), snb.TweedieRegressor(1.5)))
    answers = [first.read(rows, site=name) for name, rows in PARTS.items()]
    with pytest.raises(ValueError, match=f"north is ExposedSums: .*, and this one is {other.fingerprint}"):
        other.step(*answers)
    second = first.step(*answers)
    moved = replace(second, weights={**second.weights, "weights": second.weights["weights"] + 0.25})
    one, two = (each.read(PARTS["north"], site="north").total["parts"][0][0]["losses"] for each in (second, moved))
    assert second.asks == "JointRead" and (one != two).any()
