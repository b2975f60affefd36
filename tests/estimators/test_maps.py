"""Maps of columns chosen with the shrinkage: each is what its transform alone would be, in one scan of all."""

import numpy as np
import pytest

import streamnb as snb
from tests.support.refusals import refuses

rng = np.random.default_rng(0)
Y = np.arange(120) % 3
X = np.column_stack([rng.lognormal(Y, 0.5, 120), rng.lognormal(1.0, 0.7, 120), rng.normal(Y - 2.0, 1.0)])
POINTS = [(0.0, 0.1), (1.0, 0.0)]
FAMILY = snb.Gaussian(covariance="full", shrinkage=POINTS, maps="auto")


def fitted(**options):
    return snb.LinearNBCV(FAMILY, folds=3, scoring="accuracy", **options).fit(X, Y)


def test_each_map_is_judged_as_it_would_be_alone(tmp_path):
    model, plain = fitted(return_train_score=True), snb.Gaussian(covariance="full", shrinkage=POINTS)
    logs = np.column_stack([np.log1p(X[:, :2]), X[:, 2]])  # the last column has values below -1
    mapped = {"none": (X, None), "log1p": (logs, None), "quantile_normal": (X, "quantile_normal")}
    for name, (rows, transform) in mapped.items():
        alone = snb.LinearNBCV(plain, folds=3, scoring="accuracy", transform=transform, return_train_score=True)
        alone.fit(rows, Y)
        own = model.cv_results_["param_map"] == name
        for column in ("mean_test_score", "mean_train_score"):
            np.testing.assert_array_equal(model.cv_results_[column][own], alone.cv_results_[column])
    assert model.best_params_["map"] != "none"  # the data are lognormal
    one = snb.LinearNB(FAMILY.at(model.best_params_)).fit(X, Y)
    np.testing.assert_allclose(one.predict_proba(X), model.predict_proba(X), rtol=1e-9)
    np.testing.assert_array_equal(snb.solve(one.stats_, FAMILY.at(model.best_params_))[0].predict(X), one.predict(X))


def test_it_chooses_anew_and_is_saved_without_the_rows(tmp_path):
    model = fitted()
    before = model.predict_proba(X)
    model.save(tmp_path / "m.snb")
    loaded = snb.load(tmp_path / "m.snb")
    np.testing.assert_array_equal(loaded.predict_proba(X), before)
    for each in (model, loaded):
        means = each._scores.scores
        means[:] = 0.0
        means[[point["map"] == "none" for point in each._scores.grid].index(True)] = 1.0
        each.refit(rule="one_se")
        assert each.best_params_["map"] == "none"
    np.testing.assert_array_equal(loaded.predict_proba(X), model.predict_proba(X))
    parts = snb.LinearNB(FAMILY.at({"a": 1.0, "g": 0.0, "map": "log1p"})).partial_fit(X[:60], Y[:60])
    parts.partial_fit(X[60:], Y[60:]).forget(X[60:], Y[60:])
    assert parts.stats_.n_rows == 60


def test_families_with_maps_stand_beside_others():
    found = snb.compare(
        *(X, Y), families=["gaussian", FAMILY], penalties=["plain"], scheme="joint", folds=3, show=False
    )
    assert len(found.to_frame()["family"].unique()) == 2


def test_what_does_not_go_together_is_refused():
    with pytest.raises(ValueError, match="3 maps to try, but LinearNB fits one model"):
        snb.LinearNB(snb.Gaussian(covariance="full", maps="auto")).fit(X, Y)
    refuses(ValueError, "transform='sqrt' does not work with maps", snb.LinearNBCV(FAMILY, transform="sqrt").fit, X, Y)
    one = snb.LinearNB(snb.Gaussian(covariance="full", maps="log1p")).fit(X, Y)
    with pytest.raises(ValueError, match="maps='none' is applied in the scan, which had 'log1p'"):
        one.refit(family=snb.Gaussian(covariance="full"))
    refuses(ValueError, "row 0, column 0 is -", lambda: one.predict(X - 100.0))
    refuses(ValueError, "3 maps, and statistics are of one", lambda: snb.solve(one.stats_, FAMILY))
